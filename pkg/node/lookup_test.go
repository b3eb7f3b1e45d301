//go:build lab

package node_test

import (
	"errors"
	"net/netip"
	"path/filepath"
	"slices"
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
			compareLookup(t, kernel, saved, node.RouteQuery{Dst: dst, Mark: mark}, outcomes)
		}
	}
	masquerade := node.RouteQuery{Dst: netip.MustParseAddr("10.77.1.1"), Src: netip.MustParseAddr("169.254.7.2")}
	if _, err := saved.Route(t.Context(), masquerade); err != nil {
		t.Error(err)
	}
	compareLookup(t, kernel, saved, masquerade, outcomes)
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

// The same of packets that arrive, with each of the settings by which the kernel refuses sources and forwards.
func TestLookupArriving(t *testing.T) {
	furnish(t)
	enter(t, "node1", "sysctl", "-qw", "net.ipv4.conf.all.rp_filter=0")
	kernel := local(t, "node1")
	outcomes := map[string]int{}
	for _, settings := range [][]string{
		{"net.ipv4.conf.va.rp_filter=0", "net.ipv4.conf.va.forwarding=1"}, {"net.ipv4.conf.va.rp_filter=1", "net.ipv4.conf.va.forwarding=1"},
		{"net.ipv4.conf.va.rp_filter=2", "net.ipv4.conf.va.forwarding=1"}, {"net.ipv4.conf.va.rp_filter=1", "net.ipv4.conf.va.forwarding=0"},
	} {
		enter(t, "node1", append([]string{"sysctl", "-qw"}, settings...)...)
		dir := filepath.Join(t.TempDir(), "node1")
		n, err := node.Recorder(kernel, archive.Directory(dir)).Network(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		saved := offline(t, dir)
		asked := []netip.Addr{netip.MustParseAddr("203.0.113.10"), netip.MustParseAddr("2001:db8:113::10")}
		for _, r := range n.Routes {
			asked = append(asked, r.Dst.Addr(), r.Dst.Addr().Next())
		}
		slices.SortFunc(asked, netip.Addr.Compare)
		asked = slices.Compact(asked)
		for i, dst := range asked {
			for j, src := range asked {
				if src.Is6() != dst.Is6() || (i+j)%17 != 0 {
					continue
				}
				for _, iif := range []string{"va", "ovn-k8s-mp0"} {
					compareLookup(t, kernel, saved, node.RouteQuery{Dst: dst, Src: src, Iif: iif}, outcomes)
				}
			}
		}
	}
	t.Log(outcomes)
	for _, want := range []string{"unicast", "local", "martian", "blackhole", "unreachable", "prohibit"} {
		if outcomes[want] == 0 {
			t.Errorf("no lookup had the answer %s", want)
		}
	}
}

// compareLookup asks the saved tables, and where they tell the kernel.
func compareLookup(t *testing.T, kernel, saved node.Host, q node.RouteQuery, outcomes map[string]int) {
	t.Helper()
	got, err := saved.Route(t.Context(), q)
	if errors.Is(err, node.ErrUnavailable) {
		outcomes["not told"]++
		return
	}
	if err != nil {
		t.Errorf("%s: %v", q, err)
		return
	}
	want, err := kernel.Route(t.Context(), q)
	if err != nil {
		t.Errorf("%s: %v, and the saved tables say %+v", q, err, got)
		return
	}
	outcomes[got.Type]++
	if got.Type != want.Type || got.Dev != want.Dev || got.Via != want.Via || got.Table != want.Table || got.Src.IsValid() && !q.Src.IsValid() && got.Src != want.Src { // the kernel names only a source that it chose
		t.Errorf("%s: the kernel says %+v, the saved tables %+v", q, want, got)
	}
}

// Over IPv4 the next hops of one route are used side by side, over IPv6 also those of several.
func TestNextHops(t *testing.T) {
	via := netip.MustParseAddr
	any4, any6 := netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")
	multipath := node.Route{Type: "unicast", Dst: any4, Table: 254, Hops: []node.NextHop{{Via: via("10.0.0.1"), Dev: "a"}, {Via: via("10.0.0.2"), Dev: "a"}, {Via: via("10.0.0.3"), Dev: "a", Flags: []string{"dead"}}}}
	single := func(dst netip.Prefix, a, protocol string) node.Route {
		return node.Route{Type: "unicast", Dst: dst, Table: 254, Via: via(a), Dev: "a", Protocol: protocol}
	}
	for _, test := range []struct {
		name        string
		routes      []node.Route
		sysctl      map[string]string
		answer, dst string
		want        []string
	}{
		{"multipath", []node.Route{multipath}, nil, "10.0.0.1", "192.0.2.1", []string{"10.0.0.1", "10.0.0.2"}},
		{"no answer", []node.Route{multipath}, nil, "", "192.0.2.1", []string{"10.0.0.1", "10.0.0.2"}},
		{"another answer", []node.Route{multipath}, nil, "10.0.0.9", "192.0.2.1", []string{"10.0.0.9"}},
		{"those that answer", []node.Route{multipath}, map[string]string{"net/ipv4/fib_multipath_use_neigh": "1"}, "10.0.0.1", "192.0.2.1", []string{"10.0.0.1"}},
		{"appended", []node.Route{single(any4, "10.0.0.1", ""), single(any4, "10.0.0.2", "")}, nil, "10.0.0.1", "192.0.2.1", []string{"10.0.0.1"}},
		{"IPv6 joined", []node.Route{single(any6, "fd00::1", "static"), single(any6, "fd00::2", "static")}, nil, "fd00::1", "2001:db8::1", []string{"fd00::1", "fd00::2"}},
		{"IPv6 announced", []node.Route{single(any6, "fd00::1", "static"), single(any6, "fe80::2", "ra")}, nil, "fd00::1", "2001:db8::1", []string{"fd00::1"}},
	} {
		n := &node.Network{Routes: test.routes, Sysctl: test.sysctl}
		var got []string
		var answer *node.Route
		if test.answer != "" {
			answer = &node.Route{Type: "unicast", Via: via(test.answer), Dev: "a"}
		}
		for _, hop := range n.NextHops(answer, via(test.dst)) {
			got = append(got, hop.Via.String())
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}
