package doctor

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// SwitchLabel names a logical switch for people, with its Neutron name.
func SwitchLabel(s *nb.LogicalSwitch) string {
	return label(s.Name, s.ExternalIDs["neutron:network_name"])
}

// RouterLabel names a logical router, as [SwitchLabel] does.
func RouterLabel(r *nb.LogicalRouter) string {
	return label(r.Name, r.ExternalIDs["neutron:router_name"])
}

// PortLabel names a logical switch port, as [SwitchLabel] does.
func PortLabel(p *nb.LogicalSwitchPortBrief) string {
	return label(p.Name, p.ExternalIDs["neutron:port_name"])
}

func label(name, friendly string) string {
	if friendly == "" || friendly == name {
		return name
	}
	return name + " (" + friendly + ")"
}

// NodeByPort maps bound logical ports to nodes. It is nil if the Southbound was not read, or ovn-northd has not written
// it yet.
func NodeByPort(z *snapshot.Zone) map[string]string {
	rows, err := z.Southbound()
	if err != nil || len(rows.PortBindings) == 0 {
		return nil
	}
	node := make(map[ovsdb.UUID]string, len(rows.Chassis))
	for c := range Each(rows.Chassis) {
		node[c.UUID] = cmp.Or(c.Hostname, c.Name)
	}
	bound := make(map[string]string, len(rows.PortBindings))
	for b := range Each(rows.PortBindings) {
		if len(b.Chassis) > 0 {
			bound[b.LogicalPort] = node[b.Chassis[0]]
		}
	}
	return bound
}

// HasIP reports whether a logical switch port has an address.
func HasIP(p *nb.LogicalSwitchPortBrief, a netip.Addr) bool {
	for _, own := range facts.PortAddresses(p) {
		if slices.ContainsFunc(own.IPs, func(n netip.Prefix) bool { return n.Addr() == a }) {
			return true
		}
	}
	return false
}

// ClosedSwitch reports whether the Northbound knows everything on a switch: it has clients, none with an unknown
// address, and no port to a physical network or another zone.
func ClosedSwitch(l *facts.Logical, s *nb.LogicalSwitch) bool {
	clients := false
	for _, p := range l.PortsOf[s.UUID] {
		switch {
		case p.Type != "" && p.Type != "router" && p.Type != "localport" && p.Type != "virtual", p.Addresses.Has("unknown"):
			return false
		}
		clients = clients || p.Type == ""
	}
	return clients
}

// PortByAddress maps addresses to logical switch ports.
func PortByAddress(l *facts.Logical) map[netip.Addr]string {
	out := make(map[netip.Addr]string, len(l.SwitchPorts))
	for i := range l.SwitchPorts {
		for _, a := range facts.PortAddresses(&l.SwitchPorts[i]) {
			for _, ip := range a.IPs {
				out[ip.Addr()] = l.SwitchPorts[i].Name
			}
		}
	}
	return out
}

// IsGatewayPort reports whether a logical router port is a distributed gateway port.
func IsGatewayPort(rp *nb.LogicalRouterPort) bool {
	return len(rp.GatewayChassis) > 0 || len(rp.HAChassisGroup) > 0 || rp.Options["redirect-chassis"] != ""
}

// Prefixes is a set of networks for many lookups: each costs one map access per prefix length.
type Prefixes struct {
	networks map[netip.Prefix]bool
	lengths  []int // of IPv4 and IPv6 together
}

// Add puts a network into the set.
func (s *Prefixes) Add(n netip.Prefix) {
	if s.networks == nil {
		s.networks = map[netip.Prefix]bool{}
	}
	s.networks[n.Masked()] = true
	if !slices.Contains(s.lengths, n.Bits()) {
		s.lengths = append(s.lengths, n.Bits())
	}
}

// Contains reports whether an address is in one of the networks.
func (s *Prefixes) Contains(a netip.Addr) bool {
	return slices.ContainsFunc(s.lengths, func(bits int) bool {
		n, err := a.Prefix(bits)
		return err == nil && s.networks[n]
	})
}
