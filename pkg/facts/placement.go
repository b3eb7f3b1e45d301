package facts

import (
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// Placement says which switches and routers have which load balancers, by
// themselves and by a group.
type Placement struct {
	*snapshot.Balancers
	LB    map[ovsdb.UUID]*nb.LoadBalancer      // by its own UUID
	VIPs  map[*nb.LoadBalancer][]VIP           // in order; of templates there are none
	Group map[ovsdb.UUID]*nb.LoadBalancerGroup // by its own UUID

	SwitchesOf map[ovsdb.UUID][]*nb.LogicalSwitch // that name a load balancer or a group
	RoutersOf  map[ovsdb.UUID][]*nb.LogicalRouter // that name a load balancer or a group
	GroupsOf   map[ovsdb.UUID][]*nb.LoadBalancerGroup
}

// PlacementOf follows the references to the zone's load balancers.
func PlacementOf(z *snapshot.Zone) (*Placement, error) {
	return snapshot.Derive(z, "", func() (*Placement, error) {
		l, err := LogicalOf(z)
		if err != nil {
			return nil, err
		}
		b, err := z.Balancers()
		if err != nil {
			return nil, err
		}
		return newPlacement(l, b), nil
	})
}

func newPlacement(l *Logical, b *snapshot.Balancers) *Placement {
	p := &Placement{
		Balancers:  b,
		LB:         make(map[ovsdb.UUID]*nb.LoadBalancer, len(b.LoadBalancers)),
		VIPs:       make(map[*nb.LoadBalancer][]VIP, len(b.LoadBalancers)),
		Group:      map[ovsdb.UUID]*nb.LoadBalancerGroup{},
		SwitchesOf: map[ovsdb.UUID][]*nb.LogicalSwitch{},
		RoutersOf:  map[ovsdb.UUID][]*nb.LogicalRouter{},
		GroupsOf:   make(map[ovsdb.UUID][]*nb.LoadBalancerGroup, len(b.LoadBalancers)),
	}
	for i := range b.LoadBalancers {
		lb := &b.LoadBalancers[i]
		p.LB[lb.UUID], p.VIPs[lb] = lb, VIPs(lb)
	}
	for i := range b.Groups {
		g := &b.Groups[i]
		p.Group[g.UUID] = g
		for _, id := range g.LoadBalancer {
			p.GroupsOf[id] = append(p.GroupsOf[id], g)
		}
	}
	for i := range l.Switches {
		s := &l.Switches[i]
		for _, ids := range []ovsdb.Set[ovsdb.UUID]{s.LoadBalancer, s.LoadBalancerGroup} {
			for _, id := range ids {
				p.SwitchesOf[id] = append(p.SwitchesOf[id], s)
			}
		}
	}
	for i := range l.Routers {
		r := &l.Routers[i]
		for _, ids := range []ovsdb.Set[ovsdb.UUID]{r.LoadBalancer, r.LoadBalancerGroup} {
			for _, id := range ids {
				p.RoutersOf[id] = append(p.RoutersOf[id], r)
			}
		}
	}
	return p
}

// Placed says whether any switch or router has a load balancer.
func (p *Placement) Placed(lb *nb.LoadBalancer) bool {
	if len(p.SwitchesOf[lb.UUID]) > 0 || len(p.RoutersOf[lb.UUID]) > 0 {
		return true
	}
	for _, g := range p.GroupsOf[lb.UUID] {
		if len(p.SwitchesOf[g.UUID]) > 0 || len(p.RoutersOf[g.UUID]) > 0 {
			return true
		}
	}
	return false
}

// Clients says whether something can be plugged into a switch: it has a port of no type.
func (l *Logical) Clients(s *nb.LogicalSwitch) bool {
	for _, p := range l.PortsOf[s.UUID] {
		if p.Type == "" {
			return true
		}
	}
	return false
}

// RoutersAt are the routers that a switch hangs on.
func (l *Logical) RoutersAt(s *nb.LogicalSwitch) []*nb.LogicalRouter {
	var out []*nb.LogicalRouter
	for _, g := range l.Gateways(s) {
		if r := l.RouterOf[g.UUID]; r != nil {
			out = append(out, r)
		}
	}
	return out
}

// A VIP is a virtual address of a load balancer with its backends.
type VIP struct {
	Key      string // as it is in the column vips
	Addr     netip.Addr
	Port     uint16 // 0: all
	Backends []netip.AddrPort
	Bad      string // why OVN cannot use it
}

// VIPs reads the virtual addresses of a load balancer, in order; of templates there are none.
func VIPs(lb *nb.LoadBalancer) []VIP {
	if lb.Options["template"] == "true" {
		return nil
	}
	out := make([]VIP, 0, len(lb.VIPs))
	for _, key := range sortedKeys(lb.VIPs) {
		out = append(out, readVIP(key, lb.VIPs[key]))
	}
	return out
}

func readVIP(key, backends string) VIP {
	v := VIP{Key: key}
	var ok bool
	if v.Addr, v.Port, ok = hostPort(key); !ok {
		v.Bad = "the virtual address " + key + " is none"
		return v
	}
	v.Backends = make([]netip.AddrPort, 0, 1+strings.Count(backends, ","))
	for word := range strings.SplitSeq(backends, ",") {
		word = strings.TrimSpace(word)
		if word == "" {
			continue
		}
		a, port, ok := hostPort(word)
		switch {
		case !ok:
			v.Bad = "the backend " + word + " is no address"
		case a.Is4() != v.Addr.Is4():
			v.Bad = "the backend " + word + " is of another family than the virtual address"
		case (port == 0) != (v.Port == 0):
			v.Bad = "of the virtual address and the backend " + word + " one has a port and the other has none"
		}
		if ok {
			v.Backends = append(v.Backends, netip.AddrPortFrom(a, port))
		}
	}
	return v
}

// hostPort reads "A", "A:PORT", "A6" or "[A6]:PORT".
func hostPort(text string) (netip.Addr, uint16, bool) {
	if ap, err := netip.ParseAddrPort(text); err == nil {
		return ap.Addr(), ap.Port(), true
	}
	a, err := netip.ParseAddr(strings.Trim(text, "[]"))
	return a, 0, err == nil
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
