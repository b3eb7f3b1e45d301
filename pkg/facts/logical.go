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

// Logical is a Northbound with resolved references: which port is on which switch, and which switch is connected to
// which router. The pointers refer to rows of the Northbound.
type Logical struct {
	*snapshot.Northbound
	Switch map[ovsdb.UUID]*nb.LogicalSwitch // by its own UUID
	Router map[ovsdb.UUID]*nb.LogicalRouter // by its own UUID

	SwitchPort map[string]*nb.LogicalSwitchPortBrief // by name
	RouterPort map[string]*nb.LogicalRouterPort      // by name

	SwitchOf map[ovsdb.UUID]*nb.LogicalSwitch // by Logical_Switch_Port; the first if two have it
	RouterOf map[ovsdb.UUID]*nb.LogicalRouter // by Logical_Router_Port; the first if two have it

	PortsOf       map[ovsdb.UUID][]*nb.LogicalSwitchPortBrief // by Logical_Switch
	RouterPortsOf map[ovsdb.UUID][]*nb.LogicalRouterPort      // by Logical_Router

	// Links are the switch ports of type router by the name of their router port, whether that exists or not.
	Links map[string][]*nb.LogicalSwitchPortBrief
}

// LogicalOf resolves the references of the zone's Northbound.
func LogicalOf(z *snapshot.Zone) (*Logical, error) {
	return snapshot.Derive(z, "", func() (*Logical, error) {
		rows, err := z.Northbound()
		if err != nil {
			return nil, err
		}
		return NewLogical(rows), nil
	})
}

// NewLogical resolves the references of a Northbound.
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

// RouterPortOf returns the router port of a switch port of type router; empty if none.
func RouterPortOf(p *nb.LogicalSwitchPortBrief) string {
	if p.Type != "router" {
		return ""
	}
	return p.Options["router-port"]
}

// PortWithMAC returns the port of a pod or VM with a MAC address; nil if none has it, or several do.
func (l *Logical) PortWithMAC(mac string) *nb.LogicalSwitchPortBrief {
	var found []*nb.LogicalSwitchPortBrief
	for i := range l.SwitchPorts {
		p := &l.SwitchPorts[i]
		has := func(a LPortAddress) bool { return a.MAC == strings.ToLower(mac) }
		if p.Type == "" && slices.ContainsFunc(PortAddresses(p), has) {
			found = append(found, p)
		}
	}
	if len(found) != 1 {
		return nil
	}
	return found[0]
}

// Gateways returns the router ports linked to a switch.
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
	IPs []netip.Prefix // with a prefix length in port_security; full addresses in addresses
}

// ParseAddress parses an element of addresses or port_security that begins with a MAC address; "router", "unknown"
// and "dynamic" alone are not parsed.
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

// PortAddresses returns the addresses of a switch port, including those assigned by OVN.
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

// Networks returns a router port's addresses with prefix lengths.
func Networks(p *nb.LogicalRouterPort) []netip.Prefix {
	var out []netip.Prefix
	for _, text := range p.Networks {
		if n, err := netip.ParsePrefix(text); err == nil {
			out = append(out, n)
		}
	}
	return out
}

// Off reports whether a row's column enabled disables it.
func Off(enabled ovsdb.Set[bool]) bool { return len(enabled) > 0 && !enabled[0] }

// SwitchAt returns the switch that a router port is joined to, or nil.
func (l *Logical) SwitchAt(routerPort string) *nb.LogicalSwitch {
	for _, p := range l.Links[routerPort] {
		if ls := l.SwitchOf[p.UUID]; ls != nil {
			return ls
		}
	}
	return nil
}

// Localnets returns the physical networks that a switch is part of.
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

// Unlinked returns the router ports that lead nowhere: no switch port names them and they have no peer.
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

// Fits returns the router ports that belong on a switch: the switch's ports have addresses in one of their networks,
// or its other routers do. A router port whose network the switch already reaches through another link belongs there
// only if it is on another router.
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

// A LinkFault is what is wrong with a switch port of type router.
type LinkFault string

// The faults of a link; the first that applies is used.
const (
	LinkFine    LinkFault = ""
	LinkType    LinkFault = "it names a router port, but its type is not router"
	LinkNoName  LinkFault = "it names no router port"
	LinkNoPort  LinkFault = "it names a router port that does not exist"
	LinkAddress LinkFault = "its addresses are not those of the router port"
)

// CheckLink returns what is wrong with a port's link to a router; LinkFine if the port has nothing to do with
// routers.
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

// LeadsTo reports whether packets to a router port pass a switch port, by its addresses.
func LeadsTo(p *nb.LogicalSwitchPortBrief, rp *nb.LogicalRouterPort) bool {
	return slices.ContainsFunc(p.Addresses, func(text string) bool {
		a, ok := ParseAddress(text)
		return text == "router" || text == "unknown" || ok && strings.EqualFold(a.MAC, rp.MAC)
	})
}
