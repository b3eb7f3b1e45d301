package trace

import (
	"context"
	"net/netip"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// An Unheard is a virtual IP on none of whose backends anything listens.
type Unheard struct {
	LoadBalancer *topology.LoadBalancer
	VIP          *topology.VIP
	Ports        []string // logical, of the backends
	Nodes        []string // of the ports
}

// Unheard returns the virtual IPs for TCP whose backends are all in workloads of some nodes, with nobody listening in any.
// One backend of which that is not known is taken to listen.
func (g *Ground) Unheard(ctx context.Context, nodes []*cluster.Node) ([]Unheard, error) {
	places := g.backendPlaces(nodes)
	var all []*backends
	for _, lb := range g.graph.LoadBalancers {
		if lb.Protocol != "tcp" && lb.Protocol != "" {
			continue
		}
		for _, vip := range lb.VIPs {
			if vip.Port != 0 && len(vip.Backends) > 0 {
				all = append(all, &backends{Unheard: Unheard{LoadBalancer: lb, VIP: vip}})
			}
		}
	}
	// First the first backend of each, of which most listen, then the second of the rest: so a node is looked at once for all that it has, and
	// is not kept in memory beside the others.
	for left := all; len(left) > 0; {
		on := map[*cluster.Node][]*backends{}
		for _, b := range left {
			if b.next(places) {
				on[b.at.node] = append(on[b.at.node], b)
			}
		}
		left = nil
		for _, n := range nodes {
			if len(on[n]) == 0 {
				continue
			}
			beside := g.Beside()
			v, err := beside.view(ctx, n)
			for _, b := range on[n] {
				if err == nil && b.refused(ctx, beside, v) && len(b.Ports) < len(b.VIP.Backends) {
					left = append(left, b)
				}
			}
		}
	}
	var found []Unheard
	for _, b := range all {
		if len(b.Ports) == len(b.VIP.Backends) {
			found = append(found, b.Unheard)
		}
	}
	return found, ctx.Err()
}

// A backendPlace is where a workload with an address is attached.
type backendPlace struct {
	node *cluster.Node
	port *topology.Port
	link string
}

// backendPlaces returns where the workloads of some nodes are attached, by their addresses.
func (g *Ground) backendPlaces(nodes []*cluster.Node) map[netip.Addr]backendPlace {
	named := make(map[string]*cluster.Node, len(nodes))
	for _, n := range nodes {
		named[n.Name] = n
	}
	places := map[netip.Addr]backendPlace{}
	for _, port := range g.graph.Ports {
		for _, at := range port.Interfaces {
			n := named[at.Node]
			if n == nil || !g.workloadOn(port, n.SystemID) {
				continue
			}
			for _, text := range port.Addresses {
				if a, err := netip.ParseAddr(text); err == nil {
					places[a] = backendPlace{n, port, at.Interface}
				}
			}
		}
	}
	return places
}

// backends are those of a virtual IP, asked one after the other: the ports of those that refused are noted.
type backends struct {
	Unheard
	backend netip.AddrPort
	at      backendPlace
}

// next goes on to the backend that was not asked yet; false if it is not in a workload of the nodes.
func (b *backends) next(places map[netip.Addr]backendPlace) (ok bool) {
	var err error
	b.backend, err = netip.ParseAddrPort(b.VIP.Backends[len(b.Ports)])
	b.at, ok = places[b.backend.Addr()]
	return ok && err == nil
}

// refused reports whether nobody listens on the backend, and notes its port.
func (b *backends) refused(ctx context.Context, g *Ground, v *nodeView) bool {
	p := packet.Tuple{Src: b.backend.Addr().Next(), Dst: b.backend.Addr(), Proto: packet.ProtoTCP, SrcPort: 40000, DstPort: b.backend.Port()}
	refused := g.takes(ctx, v, b.at.link, p, "", false)
	if refused == nil || refused.Because.Kind != journey.NobodyListens && refused.Because.Kind != journey.NobodyBehind {
		return false
	}
	b.Ports, b.Nodes = append(b.Ports, b.at.port.Name), append(b.Nodes, v.Name)
	return true
}
