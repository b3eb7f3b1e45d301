package node_test

import (
	"errors"
	"net/netip"
	"path/filepath"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/archive"
	"github.com/ovnctl/ovnctl/pkg/node"
)

// The saved tables of a host say of a packet what its kernel says, or that they do not tell.
func TestLookup(t *testing.T) {
	furnish(t)
	kernel := local(t, "node1")
	dir := filepath.Join(t.TempDir(), "node1")
	n, err := node.Recorder(kernel, archive.Directory(dir)).Network(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	saved := offline(t, dir)
	// The first address of whatever has a route, the one after, and some that have none.
	asked := []netip.Addr{netip.MustParseAddr("203.0.113.10"), netip.MustParseAddr("198.51.100.1"), netip.MustParseAddr("2001:db8:113::10")}
	for _, r := range n.Routes {
		asked = append(asked, r.Dst.Addr(), r.Dst.Addr().Next())
	}
	outcomes := map[string]int{}
	for _, dst := range asked {
		for _, mark := range []uint32{0, 7} {
			q := node.RouteQuery{Dst: dst, Mark: mark}
			got, err := saved.Route(t.Context(), q)
			if errors.Is(err, node.ErrUnavailable) {
				outcomes["not told"]++
				continue
			}
			if err != nil {
				t.Errorf("%s: %v", q, err)
				continue
			}
			want, err := kernel.Route(t.Context(), q)
			if err != nil {
				t.Errorf("%s: %v, and the saved tables say %+v", q, err, got)
				continue
			}
			outcomes[got.Type]++
			if got.Type != want.Type || got.Dev != want.Dev || got.Via != want.Via || got.Table != want.Table || got.Src.IsValid() && got.Src != want.Src {
				t.Errorf("%s: the kernel says %+v, the saved tables %+v", q, want, got)
			}
		}
	}
	t.Log(outcomes)
	for _, want := range []string{"unicast", "local", "broadcast", "blackhole", "unreachable", "prohibit"} {
		if outcomes[want] == 0 {
			t.Errorf("no lookup had the answer %s", want)
		}
	}
	for _, q := range []node.RouteQuery{{Dst: asked[0], Iif: "va"}, {Dst: asked[0], Src: asked[1]}, {Dst: netip.MustParseAddr("192.0.2.1")}} {
		if r, err := saved.Route(t.Context(), q); !errors.Is(err, node.ErrUnavailable) {
			t.Errorf("%s: %+v, %v: want ErrUnavailable", q, r, err)
		}
	}
}
