package doctor

import (
	"net/netip"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// logicals calls f for each zone whose Northbound can be read; of the others it
// is unknown what the check asks.
func (p *Pass) Northbounds(f func(*snapshot.Zone, *snapshot.Logical)) {
	for _, z := range p.Zones {
		l, err := z.Logical()
		if err != nil {
			p.Unknown(Object{Kind: "database", Name: "OVN_Northbound"}, err)
			continue
		}
		f(z, l)
	}
}

// named is the name of a row with the one that people gave it in Neutron.
func named(name string, ids map[string]string) string {
	for _, key := range []string{"neutron:port_name", "neutron:network_name", "neutron:router_name"} {
		if friendly := ids[key]; friendly != "" && friendly != name {
			return name + " (" + friendly + ")"
		}
	}
	return name
}

func NamedSwitch(s *nb.LogicalSwitch) string { return named(s.Name, s.ExternalIDs) }
func NamedRouter(r *nb.LogicalRouter) string { return named(r.Name, r.ExternalIDs) }
func NamedPort(p *nb.LogicalSwitchPortBrief) string {
	return named(p.Name, pick(p.ExternalIDs, "neutron:port_name"))
}

// pick is one key of a map, as a map.
func pick(m map[string]string, key string) map[string]string { return map[string]string{key: m[key]} }

// boundTo is the node that holds each logical port, by the port's name; of ports
// that nobody holds there is none. Without a Southbound, or with one that ovn-northd
// has not written yet, it is nil.
func NodeOfPort(z *snapshot.Zone) map[string]string {
	rows, err := z.Southbound()
	if err != nil || len(rows.PortBindings) == 0 {
		return nil
	}
	chassis := make(map[ovsdb.UUID]string, len(rows.Chassis))
	for i := range rows.Chassis {
		c := &rows.Chassis[i]
		chassis[c.UUID] = c.Hostname
		if c.Hostname == "" {
			chassis[c.UUID] = c.Name
		}
	}
	bound := make(map[string]string, len(rows.PortBindings))
	for i := range rows.PortBindings {
		b := &rows.PortBindings[i]
		if len(b.Chassis) > 0 {
			bound[b.LogicalPort] = chassis[b.Chassis[0]]
		}
	}
	return bound
}

// on are the objects of a port and of the node that holds it.
func PortAndNode(port, node string) []Object {
	also := []Object{{Kind: "port", Name: port}}
	if node != "" {
		also = append(also, Object{Kind: "node", Name: node})
	}
	return also
}

func Enabled(set []bool) bool { return len(set) == 0 || set[0] }

func HasIP(p *nb.LogicalSwitchPortBrief, a netip.Addr) bool {
	for _, own := range snapshot.PortAddresses(p) {
		if slices.ContainsFunc(own.IPs, func(n netip.Prefix) bool { return n.Addr() == a }) {
			return true
		}
	}
	return false
}

// closedSwitch says whether all that is on a switch is in the Northbound: it has clients, none of unknown
// address, and leads to no physical network and no other zone.
func ClosedSwitch(l *snapshot.Logical, s *nb.LogicalSwitch) bool {
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

// holders are the switch ports by the addresses that they have.
func PortOfAddress(l *snapshot.Logical) map[netip.Addr]string {
	out := make(map[netip.Addr]string, len(l.SwitchPorts))
	for i := range l.SwitchPorts {
		for _, a := range snapshot.PortAddresses(&l.SwitchPorts[i]) {
			for _, ip := range a.IPs {
				out[ip.Addr()] = l.SwitchPorts[i].Name
			}
		}
	}
	return out
}

// isGatewayPort says whether a router port is bound to a chassis by itself.
func IsGatewayPort(rp *nb.LogicalRouterPort) bool {
	return len(rp.GatewayChassis) > 0 || len(rp.HAChassisGroup) > 0 || rp.Options["redirect-chassis"] != ""
}
