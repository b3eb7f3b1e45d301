package facts

import (
	"errors"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// Placement is which switches and routers have which load balancers, directly and through groups.
type Placement struct {
	*snapshot.Balancers
	LB    map[ovsdb.UUID]*nb.LoadBalancer      // by its own UUID
	VIPs  map[*nb.LoadBalancer][]VIP           // in order; none for templates
	Group map[ovsdb.UUID]*nb.LoadBalancerGroup // by its own UUID

	SwitchesOf map[ovsdb.UUID][]*nb.LogicalSwitch // that refer to a load balancer or a group
	RoutersOf  map[ovsdb.UUID][]*nb.LogicalRouter // that refer to a load balancer or a group
	GroupsOf   map[ovsdb.UUID][]*nb.LoadBalancerGroup
}

// PlacementOf resolves the references to the zone's load balancers.
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

// Placed reports whether any switch or router has a load balancer.
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

// Clients reports whether a switch can have workloads: it has a port without type.
func (l *Logical) Clients(s *nb.LogicalSwitch) bool {
	for _, p := range l.PortsOf[s.UUID] {
		if p.Type == "" {
			return true
		}
	}
	return false
}

// RoutersAt returns the routers that a switch is connected to.
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
	Key      string // as in the column vips
	Addr     netip.Addr
	Port     uint16 // 0 for all
	Backends []netip.AddrPort
	Bad      string // why OVN cannot use it
}

// VIPs parses the virtual addresses of a load balancer, in order; none for templates.
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

// hostPort parses "A", "A:PORT", "A6" or "[A6]:PORT".
func hostPort(text string) (netip.Addr, uint16, bool) {
	if ap, err := netip.ParseAddrPort(text); err == nil {
		return ap.Addr(), ap.Port(), true
	}
	a, err := netip.ParseAddr(strings.Trim(text, "[]"))
	return a, 0, err == nil
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// A HealthMapping is an entry of Load_Balancer.ip_port_mappings: the port by which a backend is monitored, and the
// source address.
type HealthMapping struct {
	Key    string     // as in the column
	Port   string     // the logical port
	Source netip.Addr // zero if invalid
	Raw    string     // the source as written
}

// HealthMappings returns the entries of ip_port_mappings by backend.
func HealthMappings(lb *nb.LoadBalancer) map[netip.Addr]HealthMapping {
	out := make(map[netip.Addr]HealthMapping, len(lb.IPPortMappings))
	for key, value := range lb.IPPortMappings {
		backend, err := netip.ParseAddr(strings.Trim(key, "[]"))
		if err != nil {
			continue
		}
		m := HealthMapping{Key: key}
		m.Port, m.Raw, _ = strings.Cut(value, ":")
		if i := strings.IndexByte(value, '['); i > 0 { // a port's name may contain colons, an IPv6 address is in brackets
			m.Port, m.Raw = strings.TrimSuffix(value[:i], ":"), value[i:]
			if j := strings.IndexByte(m.Raw, ']'); j > 0 {
				m.Raw = m.Raw[:j+1]
			}
		} else if backend.Is4() {
			m.Raw, _, _ = strings.Cut(m.Raw, ":") // newer releases may append a zone
		}
		if a, err := netip.ParseAddr(strings.Trim(m.Raw, "[]")); err == nil {
			m.Source = a
		}
		out[backend] = m
	}
	return out
}

// PortOf returns the port without type that has an address, nil if none or more than one.
func (l *Logical) PortOf(a netip.Addr) *nb.LogicalSwitchPortBrief {
	var found *nb.LogicalSwitchPortBrief
	for i := range l.SwitchPorts {
		p := &l.SwitchPorts[i]
		if p.Type != "" || !hasAddress(p, a) {
			continue
		}
		if found != nil {
			return nil
		}
		found = p
	}
	return found
}

func hasAddress(p *nb.LogicalSwitchPortBrief, a netip.Addr) bool {
	for _, own := range PortAddresses(p) {
		for _, ip := range own.IPs {
			if ip.Addr() == a {
				return true
			}
		}
	}
	return false
}

// HealthSource returns what is wrong with an address as the source of a port's health checks; empty if nothing. The
// address must be unused on the port's switch: OVN itself replies for it there.
func (l *Logical) HealthSource(p *nb.LogicalSwitchPortBrief, a netip.Addr, bound func(port string) bool) string {
	s := l.SwitchOf[p.UUID]
	if s == nil {
		return "port " + p.Name + " is on no switch"
	}
	for _, g := range l.Gateways(s) {
		for _, n := range Networks(g) {
			if n.Addr() == a {
				return "it is the address of the router, port " + g.Name
			}
		}
	}
	for _, other := range l.PortsOf[s.UUID] {
		if other.Type == "" && hasAddress(other, a) && bound(other.Name) {
			return "it is the address of port " + other.Name + ", which is in use"
		}
	}
	return ""
}

// HealthSourceFor returns the address from which a port can be monitored: the one used for other ports on its switch.
func (l *Logical) HealthSourceFor(b *snapshot.Balancers, p *nb.LogicalSwitchPortBrief, v6 bool, bound func(port string) bool) netip.Addr {
	var common netip.Addr
	s := l.SwitchOf[p.UUID]
	if s == nil {
		return common
	}
	for i := range b.LoadBalancers {
		for _, m := range HealthMappings(&b.LoadBalancers[i]) {
			other := l.SwitchPort[m.Port]
			if other == nil || l.SwitchOf[other.UUID] != s || !m.Source.IsValid() || m.Source.Is6() != v6 || l.HealthSource(p, m.Source, bound) != "" {
				continue
			}
			if common.IsValid() && m.Source.Less(common) || !common.IsValid() {
				common = m.Source
			}
		}
	}
	return common
}

// A StaleConnection is a UDP flow that a host still sends to a removed backend of a virtual address.
type StaleConnection struct {
	snapshot.CTEntry
	LB  *nb.LoadBalancer
	VIP netip.AddrPort
	To  netip.AddrPort // the removed backend
}

// errNoZone means that a host's Northbound was not read.
var errNoZone = errors.New("the databases of this node's zone were not read: name them with --nb and --sb")

// StaleConnections returns the host's stale UDP flows, in the zones that ovn-controller tracks. TCP connections end
// by themselves and are meant to outlive a drained backend.
func StaleConnections(h *snapshot.Host) ([]StaleConnection, error) {
	return snapshot.Derive(h, "", func() ([]StaleConnection, error) {
		zone := h.Zone()
		if zone == nil {
			return nil, errNoZone
		}
		vips, err := datagrams(zone)
		if err != nil || len(vips) == 0 {
			return nil, err
		}
		entries, err := h.Conntrack()
		if err != nil || len(entries) == 0 {
			return nil, err
		}
		zones, err := h.CTZones()
		if err != nil {
			return nil, err
		}
		ours := map[int]bool{}
		for _, n := range zones {
			ours[n] = true
		}
		var out []StaleConnection
		for _, e := range entries {
			v, ok := vips[e.Orig.To()]
			if e.Protocol != "udp" || !ok || !ours[e.Zone] || slices.Contains(v.backends, e.Reply.From()) || e.Reply.From() == e.Orig.To() {
				continue
			}
			out = append(out, StaleConnection{e, v.lb, e.Orig.To(), e.Reply.From()})
		}
		return out, nil
	})
}

// datagrams returns the UDP virtual addresses with all their backends, from all load balancers.
func datagrams(z *snapshot.Zone) (map[netip.AddrPort]datagramVIP, error) {
	return snapshot.Derive(z, "", func() (map[netip.AddrPort]datagramVIP, error) {
		b, err := z.Balancers()
		if err != nil {
			return nil, err
		}
		out := map[netip.AddrPort]datagramVIP{}
		for i := range b.LoadBalancers {
			lb := &b.LoadBalancers[i]
			if lb.Protocol.Get() != "udp" {
				continue
			}
			for _, v := range VIPs(lb) {
				if v.Bad != "" || v.Port == 0 {
					continue
				}
				at := netip.AddrPortFrom(v.Addr, v.Port)
				d := out[at]
				if d.lb == nil {
					d.lb = lb
				}
				d.backends = append(d.backends, v.Backends...)
				out[at] = d
			}
		}
		return out, nil
	})
}

type datagramVIP struct {
	lb       *nb.LoadBalancer
	backends []netip.AddrPort
}

// NamedProtocol returns the protocol in a CMS's name of a load balancer; empty if none.
func NamedProtocol(lb *nb.LoadBalancer) string {
	owner := decode.CMSOf(lb.ExternalIDs)
	for _, protocol := range []string{"tcp", "udp", "sctp"} {
		upper := "_" + strings.ToUpper(protocol)
		switch {
		case owner == decode.OVNKubernetes && (strings.Contains(lb.Name, upper+"_") || strings.HasSuffix(lb.Name, upper)),
			owner == decode.KubeOVN && strings.Contains(lb.Name, "-"+protocol+"-"):
			return protocol
		}
	}
	return ""
}
