package facts

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// Logical is a Northbound with its references followed: which port is on which
// switch, and which switch hangs on which router. The pointers lead into the
// rows of the Northbound.
type Logical struct {
	*snapshot.Northbound
	Switch map[ovsdb.UUID]*nb.LogicalSwitch // by its own UUID
	Router map[ovsdb.UUID]*nb.LogicalRouter // by its own UUID

	SwitchPort map[string]*nb.LogicalSwitchPortBrief // by name
	RouterPort map[string]*nb.LogicalRouterPort      // by name

	SwitchOf map[ovsdb.UUID]*nb.LogicalSwitch // by Logical_Switch_Port; where two have it, the first
	RouterOf map[ovsdb.UUID]*nb.LogicalRouter // by Logical_Router_Port; where two have it, the first

	PortsOf       map[ovsdb.UUID][]*nb.LogicalSwitchPortBrief // by Logical_Switch
	RouterPortsOf map[ovsdb.UUID][]*nb.LogicalRouterPort      // by Logical_Router

	// Links are the switch ports of type router by the name of the router port
	// that they lead to, whether there is one or not.
	Links map[string][]*nb.LogicalSwitchPortBrief
}

// LogicalOf follows the references of the zone's Northbound.
func LogicalOf(z *snapshot.Zone) (*Logical, error) {
	return snapshot.Derive(z, "", func() (*Logical, error) {
		rows, err := z.Northbound()
		if err != nil {
			return nil, err
		}
		return NewLogical(rows), nil
	})
}

// NewLogical follows the references of a Northbound.
func NewLogical(rows *snapshot.Northbound) *Logical {
	l := &Logical{
		Northbound: rows,
		Switch:     map[ovsdb.UUID]*nb.LogicalSwitch{},
		Router:     map[ovsdb.UUID]*nb.LogicalRouter{},
		SwitchPort: make(map[string]*nb.LogicalSwitchPortBrief, len(rows.SwitchPorts)),
		RouterPort: make(map[string]*nb.LogicalRouterPort, len(rows.RouterPorts)),
		SwitchOf:   make(map[ovsdb.UUID]*nb.LogicalSwitch, len(rows.SwitchPorts)),
		RouterOf:   make(map[ovsdb.UUID]*nb.LogicalRouter, len(rows.RouterPorts)),

		PortsOf:       map[ovsdb.UUID][]*nb.LogicalSwitchPortBrief{},
		RouterPortsOf: map[ovsdb.UUID][]*nb.LogicalRouterPort{},
		Links:         map[string][]*nb.LogicalSwitchPortBrief{},
	}
	ports := make(map[ovsdb.UUID]*nb.LogicalSwitchPortBrief, len(rows.SwitchPorts))
	for i := range rows.SwitchPorts {
		p := &rows.SwitchPorts[i]
		ports[p.UUID], l.SwitchPort[p.Name] = p, p
		if peer := RouterPortOf(p); peer != "" {
			l.Links[peer] = append(l.Links[peer], p)
		}
	}
	for i := range rows.Switches {
		s := &rows.Switches[i]
		l.Switch[s.UUID] = s
		for _, id := range s.Ports {
			if p := ports[id]; p != nil {
				l.PortsOf[s.UUID] = append(l.PortsOf[s.UUID], p)
				l.SwitchOf[id] = cmp.Or(l.SwitchOf[id], s)
			}
		}
	}
	routerPorts := make(map[ovsdb.UUID]*nb.LogicalRouterPort, len(rows.RouterPorts))
	for i := range rows.RouterPorts {
		p := &rows.RouterPorts[i]
		routerPorts[p.UUID], l.RouterPort[p.Name] = p, p
	}
	for i := range rows.Routers {
		r := &rows.Routers[i]
		l.Router[r.UUID] = r
		for _, id := range r.Ports {
			if p := routerPorts[id]; p != nil {
				l.RouterPortsOf[r.UUID] = append(l.RouterPortsOf[r.UUID], p)
				l.RouterOf[id] = cmp.Or(l.RouterOf[id], r)
			}
		}
	}
	return l
}

// RouterPortOf is the name of the router port that a switch port of type router
// leads to; empty: it leads to none.
func RouterPortOf(p *nb.LogicalSwitchPortBrief) string {
	if p.Type != "router" {
		return ""
	}
	return p.Options["router-port"]
}

// Gateways are the router ports that are linked to a switch.
func (l *Logical) Gateways(s *nb.LogicalSwitch) []*nb.LogicalRouterPort {
	var out []*nb.LogicalRouterPort
	for _, p := range l.PortsOf[s.UUID] {
		if rp := l.RouterPort[RouterPortOf(p)]; rp != nil {
			out = append(out, rp)
		}
	}
	return out
}

// An LPortAddress is one element of Logical_Switch_Port.addresses or port_security.
type LPortAddress struct {
	MAC string         // in lower case
	IPs []netip.Prefix // of port_security with a length; of addresses a whole address each
}

// ParseAddress reads an element of addresses or port_security that begins with a
// MAC address; "router", "unknown" and "dynamic" alone are none.
func ParseAddress(text string) (LPortAddress, bool) {
	words := strings.Fields(text)
	if len(words) == 0 || !isMAC(words[0]) {
		return LPortAddress{}, false
	}
	a := LPortAddress{MAC: strings.ToLower(words[0])}
	for _, w := range words[1:] {
		if p, err := netip.ParsePrefix(w); err == nil {
			a.IPs = append(a.IPs, p)
		} else if ip, err := netip.ParseAddr(w); err == nil {
			a.IPs = append(a.IPs, netip.PrefixFrom(ip, ip.BitLen()))
		}
	}
	return a, true
}

func isMAC(s string) bool {
	if len(s) != 17 {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case i%3 == 2:
			if c != ':' {
				return false
			}
		case c >= '0' && c <= '9', c >= 'a' && c <= 'f', c >= 'A' && c <= 'F':
		default:
			return false
		}
	}
	return true
}

// PortAddresses are the addresses of a switch port, those that OVN gave to it among them.
func PortAddresses(p *nb.LogicalSwitchPortBrief) []LPortAddress {
	var out []LPortAddress
	dynamic := false
	for _, text := range p.Addresses {
		dynamic = dynamic || strings.Contains(text, "dynamic")
		if a, ok := ParseAddress(text); ok {
			out = append(out, a)
		}
	}
	if dynamic {
		for _, text := range p.DynamicAddresses {
			if a, ok := ParseAddress(text); ok {
				out = append(out, a)
			}
		}
	}
	return out
}

// Networks are the addresses of a router port with their lengths.
func Networks(p *nb.LogicalRouterPort) []netip.Prefix {
	var out []netip.Prefix
	for _, text := range p.Networks {
		if n, err := netip.ParsePrefix(text); err == nil {
			out = append(out, n)
		}
	}
	return out
}

// Off reports whether a row's column enabled switches it off.
func Off(enabled ovsdb.Set[bool]) bool { return len(enabled) > 0 && !enabled[0] }

// SwitchAt is the switch that a router port is joined to, or nil.
func (l *Logical) SwitchAt(routerPort string) *nb.LogicalSwitch {
	for _, p := range l.Links[routerPort] {
		if ls := l.SwitchOf[p.UUID]; ls != nil {
			return ls
		}
	}
	return nil
}

// Localnets are the names of the physical networks that a switch is part of.
func (l *Logical) Localnets(ls *nb.LogicalSwitch) []string {
	var out []string
	if ls == nil {
		return nil
	}
	for _, p := range l.PortsOf[ls.UUID] {
		if p.Type == "localnet" && !slices.Contains(out, p.Options["network_name"]) {
			out = append(out, p.Options["network_name"])
		}
	}
	return out
}

// Unlinked are the router ports that lead nowhere: no switch port names them and
// they have no peer.
func (l *Logical) Unlinked() []*nb.LogicalRouterPort {
	var out []*nb.LogicalRouterPort
	for i := range l.RouterPorts {
		p := &l.RouterPorts[i]
		if len(l.Links[p.Name]) == 0 && len(p.Peer) == 0 && p.Options["requested-chassis"] == "" {
			out = append(out, p)
		}
	}
	return out
}

// Fits are those of some router ports that belong on a switch: the switch's ports
// have addresses in one of their networks, or its other routers have theirs there.
// A router port whose network is reached by another link of the switch already
// belongs there only if it is on another router.
func (l *Logical) Fits(s *nb.LogicalSwitch, ports []*nb.LogicalRouterPort) []*nb.LogicalRouterPort {
	if len(ports) == 0 {
		return nil
	}
	var here []netip.Addr
	for _, p := range l.PortsOf[s.UUID] {
		for _, a := range PortAddresses(p) {
			for _, ip := range a.IPs {
				here = append(here, ip.Addr())
			}
		}
	}
	if n, err := netip.ParsePrefix(s.OtherConfig["subnet"]); err == nil {
		here = append(here, n.Addr())
	}
	if a, err := netip.ParseAddr(s.OtherConfig["ipv6_prefix"]); err == nil {
		here = append(here, a)
	}
	gateways := l.Gateways(s)
	for _, g := range gateways {
		for _, n := range Networks(g) {
			here = append(here, n.Addr())
		}
	}
	var out []*nb.LogicalRouterPort
	for _, p := range ports {
		overlaps := slices.ContainsFunc(gateways, func(g *nb.LogicalRouterPort) bool {
			return l.RouterOf[g.UUID] == l.RouterOf[p.UUID] && overlapping(g, p)
		})
		if !overlaps && slices.ContainsFunc(Networks(p), func(n netip.Prefix) bool { return slices.ContainsFunc(here, n.Masked().Contains) }) {
			out = append(out, p)
		}
	}
	return out
}

func overlapping(a, b *nb.LogicalRouterPort) bool {
	for _, n := range Networks(a) {
		for _, m := range Networks(b) {
			if n.Overlaps(m) {
				return true
			}
		}
	}
	return false
}

// A LinkFault is what is wrong with a switch port that leads to a router.
type LinkFault string

// What can be wrong with a link, the first that applies.
const (
	LinkFine    LinkFault = ""
	LinkType    LinkFault = "it names a router port, but its type is not router"
	LinkNoName  LinkFault = "it names no router port"
	LinkNoPort  LinkFault = "it names a router port that does not exist"
	LinkAddress LinkFault = "its addresses are not those of the router port"
)

// CheckLink says what is wrong with a port's link to a router; of a port that has nothing to
// do with routers it is LinkFine.
func (l *Logical) CheckLink(p *nb.LogicalSwitchPortBrief) LinkFault {
	name := p.Options["router-port"]
	if p.Type != "router" {
		if name == "" || l.RouterPort[name] == nil || p.Type == "remote" {
			return LinkFine
		}
		return LinkType
	}
	rp := l.RouterPort[name]
	switch {
	case name == "":
		return LinkNoName
	case rp == nil:
		return LinkNoPort
	case !LeadsTo(p, rp):
		return LinkAddress
	}
	return LinkFine
}

// LeadsTo reports whether packets to a router port go through a switch port, by its addresses.
func LeadsTo(p *nb.LogicalSwitchPortBrief, rp *nb.LogicalRouterPort) bool {
	return slices.ContainsFunc(p.Addresses, func(text string) bool {
		a, ok := ParseAddress(text)
		return text == "router" || text == "unknown" || ok && strings.EqualFold(a.MAC, rp.MAC)
	})
}
