package topology

import (
	"cmp"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/secret"
)

// A zoneBuilder joins the databases of one zone into the Graph.
type zoneBuilder struct {
	*Graph
	zone string
	nb   *nbTables
	sb   *sbTables

	switchOf map[ovsdb.UUID]*Switch // by the UUID of the Northbound row
	routerOf map[ovsdb.UUID]*Router
	ports    map[string]*Port // by name: the Port_Binding's logical_port
}

func (g *Graph) addZone(z zoneData) {
	b := &zoneBuilder{
		Graph: g, zone: z.name, nb: z.nb, sb: z.sb,
		switchOf: map[ovsdb.UUID]*Switch{},
		routerOf: map[ovsdb.UUID]*Router{},
		ports:    map[string]*Port{},
	}
	if b.nb != nil {
		b.northbound()
	}
	if b.sb != nil {
		b.southbound()
	}
	if z.services != nil {
		b.services(z.services)
	}
	b.peers()
	b.subnets()
}

func (b *zoneBuilder) northbound() {
	acls := byID(b.nb.ACLs, func(r *nb.ACL) ovsdb.UUID { return r.UUID })
	qos := byID(b.nb.QoS, func(r *nb.QoS) ovsdb.UUID { return r.UUID })
	dhcp := byID(b.nb.DHCP, func(r *nb.DHCPOptions) ovsdb.UUID { return r.UUID })
	ports := byID(b.nb.SwitchPorts, func(r *nb.LogicalSwitchPort) ovsdb.UUID { return r.UUID })
	for _, row := range b.nb.Switches {
		s := &Switch{
			UUID: string(row.UUID), Name: row.Name, Zone: b.zone,
			DisplayName: cmp.Or(row.ExternalIDs["neutron:network_name"], networkName(row.Name, row.ExternalIDs)),
			Transit:     row.OtherConfig["interconn-ts"] != "",
			Subnets:     list(row.OtherConfig["subnet"], ipv6Subnet(row.OtherConfig["ipv6_prefix"])),
			Ports:       []string{},
			ACLs:        aclsOf(row.ACLs, acls, decode.Holder{Kind: decode.SwitchHolder, Name: row.Name}, decode.Owner{}),
			DNS:         len(row.DNSRecords),
			QoS:         len(row.QoSRules),
			QoSRules:    qosOf(row.QoSRules, qos),
			OtherConfig: secret.Map(row.OtherConfig),
			ExternalIDs: secret.Map(row.ExternalIDs),
		}
		b.Switches = append(b.Switches, s)
		b.switchOf[row.UUID] = s
		b.switches[s.UUID] = s
		for p := range those(row.Ports, ports) {
			b.switchPort(s, p, dhcp)
		}
	}
	b.routersAndTheirs()
	b.loadBalancers()
	b.portGroups(acls)
}

func (b *zoneBuilder) switchPort(s *Switch, row *nb.LogicalSwitchPort, dhcp map[ovsdb.UUID]*nb.DHCPOptions) {
	p := b.newPort(SwitchPort, string(row.UUID), row.Name)
	p.Type = row.Type
	p.Switch = &Ref{UUID: s.UUID, Name: s.Name}
	p.Enabled = !isFalse(row.Enabled)
	p.PortSecurity = list(row.PortSecurity...)
	p.Parent = row.ParentName.Get()
	p.Tag = row.Tag.Get()
	p.Options = secret.Map(row.Options)
	p.DHCPv4 = dhcpOf(row.DHCPv4Options, dhcp)
	p.DHCPv6 = dhcpOf(row.DHCPv6Options, dhcp)
	p.owner(row.ExternalIDs)
	p.nbUp = row.Up
	p.addAddresses(row.Addresses)
	p.addAddresses(row.DynamicAddresses)
	if row.Type == "virtual" {
		p.addAddresses([]string{row.Options["virtual-ip"]})
	}
	p.requested = names(row.Options["requested-chassis"])
	if row.Type == "router" {
		p.peerName = row.Options["router-port"]
	}
	p.peerName = cmp.Or(p.peerName, row.Peer.Get())
	p.Gateway = b.haGroup(row.HAChassisGroup)
	b.ports[p.Name] = p
}

func (b *zoneBuilder) newPort(kind, uuid, name string) *Port {
	p := &Port{
		UUID: uuid, Name: name, Zone: b.zone, Kind: kind, Enabled: true,
		MACs: []string{}, Addresses: []string{}, Networks: []string{},
		PortSecurity: []string{}, PortGroups: []string{},
		RequestedChassis: []string{}, AdditionalChassis: []string{},
		Interfaces: []*Attachment{},
	}
	b.Ports = append(b.Ports, p)
	return p
}

func (b *zoneBuilder) routersAndTheirs() {
	ports := byID(b.nb.RouterPorts, func(r *nb.LogicalRouterPort) ovsdb.UUID { return r.UUID })
	routes := byID(b.nb.Routes, func(r *nb.StaticRoute) ovsdb.UUID { return r.UUID })
	policies := byID(b.nb.Policies, func(r *nb.Policy) ovsdb.UUID { return r.UUID })
	nats := byID(b.nb.NATs, func(r *nb.NAT) ovsdb.UUID { return r.UUID })
	gateways := byID(b.nb.Gateways, func(r *nb.GatewayChassis) ovsdb.UUID { return r.UUID })
	for _, row := range b.nb.Routers {
		r := &Router{
			UUID: string(row.UUID), Name: row.Name, Zone: b.zone,
			DisplayName: cmp.Or(row.ExternalIDs["neutron:router_name"], networkName(row.Name, row.ExternalIDs)),
			Enabled:     !isFalse(row.Enabled),
			Chassis:     row.Options["chassis"],
			Ports:       []string{},
			Routes:      []*Route{},
			Options:     secret.Map(row.Options),
			ExternalIDs: secret.Map(row.ExternalIDs),
		}
		b.Routers = append(b.Routers, r)
		b.routerOf[row.UUID] = r
		b.routers[r.UUID] = r
		for p := range those(row.Ports, ports) {
			b.routerPort(r, p, gateways)
		}
		for route := range those(row.StaticRoutes, routes) {
			r.Routes = append(r.Routes, newRoute(route))
		}
		slices.SortFunc(r.Routes, compareRoutes)
		for policy := range those(row.Policies, policies) {
			b.Policies = append(b.Policies, newPolicy(b.zone, r, policy))
		}
		for nat := range those(row.NAT, nats) {
			b.NAT = append(b.NAT, newNAT(b.zone, r, nat, ports))
		}
	}
}

func (b *zoneBuilder) routerPort(r *Router, row *nb.LogicalRouterPort, gateways map[ovsdb.UUID]*nb.GatewayChassis) {
	p := b.newPort(RouterPort, string(row.UUID), row.Name)
	p.Router = &Ref{UUID: r.UUID, Name: r.Name}
	p.Enabled = !isFalse(row.Enabled)
	p.MACs = list(row.MAC)
	p.LinkLocal = linkLocal(row.MAC)
	p.Networks = list(row.Networks...)
	for _, n := range row.Networks {
		if prefix, err := netip.ParsePrefix(n); err == nil {
			p.Addresses = append(p.Addresses, prefix.Addr().String())
		}
	}
	p.Options = secret.Map(row.Options)
	p.ExternalIDs = secret.Map(row.ExternalIDs)
	p.DisplayName = networkName(row.Name, row.ExternalIDs)
	p.peerName = row.Peer.Get()
	p.Gateway = b.haGroup(row.HAChassisGroup)
	for gc := range those(row.GatewayChassis, gateways) {
		if p.Gateway == nil {
			p.Gateway = &Gateway{}
		}
		p.Gateway.Chassis = append(p.Gateway.Chassis, GatewayChassis{Chassis: gc.ChassisName, Priority: gc.Priority})
	}
	b.ports[p.Name] = p
}

// haGroup returns the Gateway of an HA_Chassis_Group, nil if none is set.
func (b *zoneBuilder) haGroup(ref ovsdb.Set[ovsdb.UUID]) *Gateway {
	at := slices.IndexFunc(b.nb.HAGroups, func(group nb.HAChassisGroup) bool { return ref.Has(group.UUID) })
	if at < 0 {
		return nil
	}
	g := &Gateway{Group: b.nb.HAGroups[at].Name}
	for _, member := range b.nb.HAChassis {
		if b.nb.HAGroups[at].HAChassis.Has(member.UUID) {
			g.Chassis = append(g.Chassis, GatewayChassis{Chassis: member.ChassisName, Priority: member.Priority})
		}
	}
	return g
}

func newRoute(row *nb.StaticRoute) *Route {
	return &Route{
		UUID: string(row.UUID), Prefix: row.IPPrefix, NextHop: row.Nexthop,
		OutputPort: row.OutputPort.Get(),
		Policy:     cmp.Or(row.Policy.Get(), "dst-ip"),
		Table:      row.RouteTable,
		BFD:        len(row.BFD) > 0,
		Learned:    row.ExternalIDs["ic-learned-route"] != "",
	}
}

func compareRoutes(a, b *Route) int {
	return cmp.Or(
		strings.Compare(a.Table, b.Table),
		comparePrefixes(a.Prefix, b.Prefix),
		strings.Compare(a.Policy, b.Policy),
		CompareNames(a.NextHop, b.NextHop),
		strings.Compare(a.UUID, b.UUID))
}

// comparePrefixes sorts IPv4 before IPv6, then by address.
func comparePrefixes(a, b string) int {
	pa, erra := netip.ParsePrefix(a)
	pb, errb := netip.ParsePrefix(b)
	if erra != nil || errb != nil {
		return strings.Compare(a, b)
	}
	return cmp.Or(pa.Addr().Compare(pb.Addr()), cmp.Compare(pa.Bits(), pb.Bits()))
}

func newPolicy(zone string, r *Router, row *nb.Policy) *Policy {
	p := &Policy{
		UUID: string(row.UUID), Zone: zone,
		Name:     fmt.Sprintf("%s %d %s", r.Name, row.Priority, row.Match),
		Router:   Ref{UUID: r.UUID, Name: r.Name},
		Priority: row.Priority, Match: row.Match, Action: row.Action,
		NextHops:    list(row.Nexthops...),
		Owner:       decode.OwnerOf(row.ExternalIDs),
		Options:     secret.Map(row.Options),
		ExternalIDs: secret.Map(row.ExternalIDs),
	}
	if len(p.NextHops) == 0 {
		p.NextHops = list(row.Nexthop.Get()) // before OVN 21.03
	}
	slices.SortFunc(p.NextHops, CompareNames)
	return p
}

func newNAT(zone string, r *Router, row *nb.NAT, ports map[ovsdb.UUID]*nb.LogicalRouterPort) *NAT {
	n := &NAT{
		UUID: string(row.UUID), Zone: zone,
		Name:        fmt.Sprintf("%s %s %s %s", r.Name, row.Type, row.ExternalIP, row.LogicalIP),
		Router:      Ref{UUID: r.UUID, Name: r.Name},
		Type:        row.Type,
		ExternalIP:  row.ExternalIP,
		LogicalIP:   row.LogicalIP,
		ExternalMAC: row.ExternalMAC.Get(), LogicalPort: row.LogicalPort.Get(),
		ExternalPortRange: row.ExternalPortRange,
		Match:             row.Match,
		Owner:             decode.OwnerOf(row.ExternalIDs),
		Options:           secret.Map(row.Options),
		ExternalIDs:       secret.Map(row.ExternalIDs),
	}
	if id := row.GatewayPort.Get(); id != "" {
		n.GatewayPort = ports[id].Name
	}
	return n
}

func (b *zoneBuilder) portGroups(acls map[ovsdb.UUID]*nb.ACL) {
	names := map[ovsdb.UUID]*Port{}
	for _, p := range b.ports {
		names[ovsdb.UUID(p.UUID)] = p
	}
	for _, row := range b.nb.PortGroups {
		pg := &PortGroup{
			UUID: string(row.UUID), Name: row.Name, Zone: b.zone,
			Owner:       decode.GroupOwner(row.Name, row.ExternalIDs),
			Ports:       []string{},
			ExternalIDs: secret.Map(row.ExternalIDs),
		}
		pg.ACLs = aclsOf(row.ACLs, acls, decode.Holder{Kind: decode.GroupHolder, Name: row.Name}, pg.Owner)
		for p := range those(row.Ports, names) {
			pg.Ports = append(pg.Ports, p.Name)
			p.PortGroups = append(p.PortGroups, pg.Name)
		}
		slices.SortFunc(pg.Ports, CompareNames)
		b.PortGroups = append(b.PortGroups, pg)
	}
	for _, p := range b.ports {
		slices.SortFunc(p.PortGroups, CompareNames)
	}
}

// aclsOf returns the ACLs of a switch or a port group, which is held for an owner.
func aclsOf(ids []ovsdb.UUID, rows map[ovsdb.UUID]*nb.ACL, holder decode.Holder, owner decode.Owner) []*ACL {
	out := []*ACL{}
	for row := range those(ids, rows) {
		out = append(out, &ACL{
			UUID: string(row.UUID), Name: row.Name.Get(),
			Direction: row.Direction, Priority: row.Priority, Tier: row.Tier,
			Match: row.Match, Action: row.Action, Log: row.Log,
			Owner:   decode.ACLOwner(row.ExternalIDs, holder, owner),
			Options: secret.Map(row.Options), ExternalIDs: secret.Map(row.ExternalIDs),
		})
	}
	slices.SortFunc(out, func(a, b *ACL) int {
		return cmp.Or(
			strings.Compare(a.Direction, b.Direction),
			cmp.Compare(a.Tier, b.Tier),
			cmp.Compare(b.Priority, a.Priority),
			strings.Compare(a.Match, b.Match),
			strings.Compare(a.UUID, b.UUID))
	})
	return out
}

// qosOf returns the QoS rules of a switch.
func qosOf(ids []ovsdb.UUID, rows map[ovsdb.UUID]*nb.QoS) []*QoS {
	var out []*QoS
	for row := range those(ids, rows) {
		out = append(out, &QoS{
			UUID: string(row.UUID), Direction: row.Direction, Priority: row.Priority, Match: row.Match, Action: row.Action, Bandwidth: row.Bandwidth,
			Owner: decode.OwnerOf(row.ExternalIDs), ExternalIDs: secret.Map(row.ExternalIDs),
		})
	}
	slices.SortFunc(out, func(a, b *QoS) int {
		return cmp.Or(
			strings.Compare(a.Direction, b.Direction),
			cmp.Compare(b.Priority, a.Priority),
			strings.Compare(a.Match, b.Match),
			strings.Compare(a.UUID, b.UUID))
	})
	return out
}

func dhcpOf(ref ovsdb.Set[ovsdb.UUID], rows map[ovsdb.UUID]*nb.DHCPOptions) *DHCP {
	row, ok := rows[ref.Get()]
	if !ok {
		return nil
	}
	return &DHCP{UUID: string(row.UUID), CIDR: row.Cidr, Options: secret.Map(row.Options)}
}

func byID[T any](rows []T, id func(*T) ovsdb.UUID) map[ovsdb.UUID]*T {
	m := make(map[ovsdb.UUID]*T, len(rows))
	for i := range rows {
		m[id(&rows[i])] = &rows[i]
	}
	return m
}

// those returns the rows that a column refers to, skipping unread ones.
func those[T any](column []ovsdb.UUID, rows map[ovsdb.UUID]T) iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, id := range column {
			if row, ok := rows[id]; ok && !yield(row) {
				return
			}
		}
	}
}

// isFalse is for columns whose absence means true.
func isFalse(b ovsdb.Set[bool]) bool { return len(b) > 0 && !b[0] }

// list returns the non-empty values, never nil.
func list(values ...string) []string {
	out := []string{}
	for _, v := range values {
		if v != "" {
			out = append(out, v)
		}
	}
	return out
}

// names splits a comma-separated list.
func names(text string) []string {
	var out []string
	for n := range strings.SplitSeq(text, ",") {
		if n = strings.TrimSpace(n); n != "" {
			out = append(out, n)
		}
	}
	return out
}

// ipv6Subnet returns other_config:ipv6_prefix as a network; the length, always 64, may be missing.
func ipv6Subnet(prefix string) string {
	if prefix == "" || strings.Contains(prefix, "/") {
		return prefix
	}
	return prefix + "/64"
}
