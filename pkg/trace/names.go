package trace

import (
	"strings"

	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// names returns what users call the ports and datapaths on a trace's paths, by their names in OVN, where these say little:
// Neutron's UUIDs, and the ports and datapaths of OVN-Kubernetes' user-defined networks.
func (t *tracer) names(result *journey.Trace) map[string]string {
	n := namer{graph: t.graph, datapaths: map[string]string{}, names: map[string]string{}}
	for _, s := range t.graph.Switches {
		n.datapaths[s.Name] = s.DisplayName
	}
	for _, r := range t.graph.Routers {
		n.datapaths[r.Name] = r.DisplayName
	}
	n.verdict(result.Verdict)
	n.port(result.Request.From.Port)
	n.port(result.Request.To.Port)
	walks := []*journey.Walk{{Forward: result.Forward, Reply: result.Reply, Branches: result.Branches}}
	if result.Logical != nil {
		walks = append(walks, result.Logical)
	}
	for _, w := range walks {
		for _, d := range w.Directions() {
			n.direction(d)
		}
	}
	return n.names
}

// A namer collects the names on a path.
type namer struct {
	graph     *topology.Graph
	datapaths map[string]string // what users call them, by name in OVN
	names     map[string]string
}

func (n *namer) direction(d *journey.Direction) {
	n.verdict(d.Verdict)
	for _, h := range d.Hops {
		n.datapath(h.Datapath)
		n.port(h.From)
		n.port(h.To)
		if e := h.Tunnel; e != nil {
			n.datapath(e.Datapath)
			n.port(e.Inport)
			n.port(e.Outport)
		}
	}
}

func (n *namer) verdict(v journey.Verdict) {
	n.datapath(v.Datapath)
	n.port(v.Port)
}

func (n *namer) port(name string) {
	if p := n.graph.PortByName(name); p != nil && p.Called() != name {
		n.names[name] = p.Called()
	}
}

// datapath takes a datapath's name, before which the decoder may have put Neutron's.
func (n *namer) datapath(text string) {
	if called := n.datapaths[rowName(text)]; called != "" {
		n.names[text] = called
	}
}

// rowName returns the name that a datapath has in OVN: the decoder writes "web-net (neutron-3c7ad278-…)".
func rowName(datapath string) string {
	_, name, ok := strings.Cut(strings.TrimSuffix(datapath, ")"), " (")
	if !ok {
		return datapath
	}
	return name
}
