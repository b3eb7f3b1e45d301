package topology_test

import (
	"context"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// A network is a Northbound and a Southbound on real servers with a real
// ovn-northd between them, and the Open_vSwitch databases of nodes on which no
// daemon runs: the test is ovn-controller and ovs-vswitchd.
type network struct {
	t      *testing.T
	zone   string
	nb, sb *ovsdbtest.Server
	nodes  map[string]*ovsdbtest.Server // by system-id, which is the name too
}

func newNetwork(t *testing.T) *network {
	t.Helper()
	n := &network{
		t: t, nb: ovsdbtest.Start(t, ovsdbtest.Northbound), sb: ovsdbtest.Start(t, ovsdbtest.Southbound),
		nodes: map[string]*ovsdbtest.Server{},
	}
	ovsdbtest.Northd(t, n.nb, n.sb)
	return n
}

// nbctl runs lines of ovn-nbctl commands in one transaction and waits for
// ovn-northd.
func (n *network) nbctl(script string) {
	n.t.Helper()
	ovsdbtest.Run(n.t, "ovn-nbctl", append([]string{"--db=" + n.nb.Remote(), "--timeout=20", "--wait=sb"}, commands(script)...)...)
}

func (n *network) sbctl(script string) {
	n.t.Helper()
	ovsdbtest.Run(n.t, "ovn-sbctl", append([]string{"--db=" + n.sb.Remote(), "--timeout=20"}, commands(script)...)...)
}

// vsctl runs lines of ovs-vsctl commands on a node, which it makes if need be.
func (n *network) vsctl(node, script string) {
	n.t.Helper()
	if n.nodes[node] == nil {
		n.nodes[node] = ovsdbtest.Start(n.t, ovsdbtest.OpenvSwitch)
		n.vsctl(node, "init\nset Open_vSwitch . external_ids:system-id="+node+"\nadd-br br-int")
	}
	ovsdbtest.Run(n.t, "ovs-vsctl", append([]string{"--db=" + n.nodes[node].Remote(), "--timeout=20", "--no-wait"}, commands(script)...)...)
}

// commands splits a script of a command a line, its words as a shell would.
func commands(script string) []string {
	var args []string
	for line := range strings.Lines(script) {
		words := shellWords(strings.TrimSpace(line))
		if len(words) == 0 {
			continue
		}
		if len(args) > 0 {
			args = append(args, "--")
		}
		args = append(args, words...)
	}
	return args
}

// shellWords splits at blanks, but for those within single quotes.
func shellWords(line string) []string {
	var words []string
	for i, part := range strings.Split(line, "'") {
		switch {
		case i%2 == 0:
			fields := strings.Fields(part)
			if i > 0 && len(fields) > 0 && !strings.HasPrefix(part, " ") {
				words[len(words)-1] += fields[0]
				fields = fields[1:]
			}
			words = append(words, fields...)
		case i > 0 && len(words) > 0 && !strings.HasSuffix(line[:strings.Index(line, "'"+part+"'")], " "):
			words[len(words)-1] += part
		default:
			words = append(words, part)
		}
	}
	return words
}

// load reads zones, with all of their nodes, into one graph.
func load(t *testing.T, networks ...*network) *topology.Graph {
	t.Helper()
	g, err := topology.Load(context.Background(), deployment(networks))
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// A deployment is zones, with all of their nodes.
type deployment []*network

func (d deployment) EachZone(f func(name string, north, south ovsdb.Reader)) {
	for _, n := range d {
		f(n.zone, n.nb.Dial(), n.sb.Dial())
	}
}

func (d deployment) EachNode(f func(name, zone string, vswitch ovsdb.Reader)) {
	for _, n := range d {
		for name, s := range n.nodes {
			f(name, n.zone, s.Dial())
		}
	}
}

// port is the port of that name, which must be there.
func port(t *testing.T, g *topology.Graph, name string) *topology.Port {
	t.Helper()
	p := g.PortByName(name)
	if p == nil {
		t.Fatalf("no port %s", name)
	}
	return p
}
