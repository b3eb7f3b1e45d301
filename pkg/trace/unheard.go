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
	places := map[netip.Addr]backendPlace{}
	for _, n := range nodes {
		v, err := g.view(ctx, n)
		if err != nil {
			continue
		}
		for _, link := range g.workloadLinks(v) {
			for _, text := range v.ports[link].Addresses {
				if a, err := netip.ParseAddr(text); err == nil {
					places[a] = backendPlace{v, link}
				}
			}
		}
	}
	var all []Unheard
	for _, lb := range g.graph.LoadBalancers {
		if lb.Protocol != "tcp" && lb.Protocol != "" {
			continue
		}
		for _, vip := range lb.VIPs {
			u := Unheard{LoadBalancer: lb, VIP: vip}
			if vip.Port != 0 && len(vip.Backends) > 0 && g.unheard(ctx, places, &u) {
				all = append(all, u)
			}
		}
	}
	return all, ctx.Err()
}

// A backendPlace is where a workload with an address is attached.
type backendPlace struct {
	node *nodeView
	link string
}

// unheard reports whether nobody listens on any backend of a virtual IP, and notes the ports.
func (g *Ground) unheard(ctx context.Context, places map[netip.Addr]backendPlace, u *Unheard) bool {
	for _, text := range u.VIP.Backends {
		backend, err := netip.ParseAddrPort(text)
		at, ok := places[backend.Addr()]
		if err != nil || !ok {
			return false
		}
		p := packet.Tuple{Src: backend.Addr().Next(), Dst: backend.Addr(), Proto: packet.ProtoTCP, SrcPort: 40000, DstPort: backend.Port()}
		refused := g.takes(ctx, at.node, at.link, p, "", false)
		if refused == nil || refused.Because.Kind != journey.NobodyListens && refused.Because.Kind != journey.NobodyBehind {
			return false
		}
		u.Ports, u.Nodes = append(u.Ports, at.node.ports[at.link].Name), append(u.Nodes, at.node.Name)
	}
	return true
}
