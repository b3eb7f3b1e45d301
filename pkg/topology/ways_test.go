//go:build lab

package topology_test

import (
	"context"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// staying are zones whose nodes have databases that stay the same, and count how often those are read.
type staying struct {
	deployment
	only  []string // nodes
	reads map[string]int
}

func (s *staying) EachNode(f func(name, zone string, vswitch ovsdb.Reader)) {
	s.deployment.EachNode(func(name, zone string, vswitch ovsdb.Reader) {
		if slices.Contains(s.only, name) {
			f(name, zone, stays{vswitch, s, name})
		}
	})
}

type stays struct {
	ovsdb.Reader
	of   *staying
	name string
}

func (s stays) Stays() {}

func (s stays) Select(ctx context.Context, queries ...*ovsdb.Query) error {
	s.of.reads[s.name]++
	return s.Reader.Select(ctx, queries...)
}

// TestLoadWays: the bridges of a node are those of Load, are read again once nobody has them, and a node that was opened later is joined
// without reading the others again.
func TestLoadWays(t *testing.T) {
	n := newNetwork(t)
	n.sbctl("chassis-add n1 geneve 10.0.0.1\nchassis-add n2 geneve 10.0.0.2")
	n.nbctl("ls-add sw0\nlsp-add sw0 one\nlsp-add sw0 two\nlsp-add sw0 net\nlsp-set-type net localnet")
	for node, port := range map[string]string{"n1": "one", "n2": "two"} {
		n.vsctl(node, `
			add-br br-ex
			add-port br-ex eth1
			set Bridge br-ex external_ids:bridge-uplink=eth1
			add-port br-int tap0
			set Interface tap0 external_ids:iface-id=`+port+` ofport=4
			add-port br-int to-ex
			set Interface to-ex type=patch options:peer=to-int
			set Port to-ex external_ids:ovn-localnet-port=net
			add-port br-ex to-int
			set Interface to-int type=patch options:peer=to-ex
			add-port br-int ovn-peer-0
			set Interface ovn-peer-0 type=geneve options:remote_ip=10.0.0.9 options:key=flow`)
	}
	whole := load(t, n)
	source := &staying{deployment{n}, []string{"n1"}, map[string]int{}}
	g, err := topology.LoadWays(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	if len(g.Bridges)+len(g.Tunnels) > 0 {
		t.Errorf("it lists %d bridges and %d tunnels", len(g.Bridges), len(g.Tunnels))
	}
	same := func(g *topology.Graph, node string) []*topology.Bridge {
		t.Helper()
		got := g.BridgesOf(node)
		want := slices.DeleteFunc(slices.Clone(whole.Bridges), func(b *topology.Bridge) bool { return b.Node != node })
		byName := cmpopts.SortSlices(func(a, b *topology.Bridge) bool { return a.Name < b.Name })
		hidden := cmpopts.IgnoreUnexported(topology.Bridge{}, topology.Interface{})
		if diff := cmp.Diff(want, got, hidden, byName); diff != "" {
			t.Errorf("%s: other bridges (-Load +LoadWays)\n%s", node, diff)
		}
		return got
	}
	first := same(g, "n1")
	reads := source.reads["n1"]
	runtime.GC()
	if again := g.BridgesOf("n1"); again[0] != first[0] || source.reads["n1"] != reads {
		t.Error("bridges that somebody has were read again")
	}
	runtime.KeepAlive(first[:1])
	first = nil
	runtime.GC()
	if same(g, "n1"); source.reads["n1"] == reads {
		t.Error("bridges that nobody has were kept")
	}

	source.only = []string{"n1", "n2"}
	reads = source.reads["n1"]
	more, err := g.WithNodes(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	if source.reads["n1"] != reads {
		t.Error("WithNodes read the first node again")
	}
	same(more, "n1")
	same(more, "n2")
	for _, name := range []string{"one", "two", "net"} {
		want, got := port(t, whole, name), port(t, more, name)
		if diff := cmp.Diff(want.Interfaces, got.Interfaces); diff != "" {
			t.Errorf("port %s: other interfaces (-Load +LoadWays)\n%s", name, diff)
		}
	}
	if p := port(t, g, "two"); len(p.Interfaces) > 0 {
		t.Errorf("the Graph of one node has %v of the other", p.Interfaces)
	}
	if g.BridgesOf("n2") != nil || g.BridgesOf("nobody") != nil {
		t.Error("a node that was not read has bridges")
	}
}
