package southbound

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var MACBindingStale = &doctor.Check{
	Name:     "mac-binding-stale",
	Category: "sb",
	Doc: `A router or switch sends to a stale MAC address

A MAC_Binding row is what a router has learned about a neighbour; it stays until another reply
arrives or it ages out. So does an FDB row of a switch. The check compares both with the
neighbour tables of nodes on the same segment, and with the addresses of OVN's own router ports
and interfaces.`,
	Causes: []string{"bridge-ip-lost-after-reboot", "ip-on-enslaved-nic", "uplink-not-in-bridge"},
	Begin: func(d *snapshot.Deployment) {
		for _, z := range d.Zones { // a server is slow after a reply as large as the Southbound
			go func() { _, _ = z.Learned() }()
		}
	},
	Settle: true,
	Run: func(p *doctor.Pass) {
		for z, south := range p.Southbounds() {
			learned, ok := doctor.Need(p, doctor.SouthboundObject, z.Learned)
			if !ok {
				continue
			}
			if len(learned.MACBindings) > 0 {
				staleNeighbours(p, z, south, learned.MACBindings)
			}
			wrongStatic(p, z, south, learned.MACBindings)
			if len(learned.FDB) > 0 {
				staleFDB(p, z, south, learned.FDB)
			}
		}
		if len(p.Zones) == 0 {
			p.Skip("no Southbound was read")
		}
	},
}

// A sighting is a neighbour's MAC address in a source other than the router's MAC_Binding.
type sighting struct {
	mac      string
	evidence doctor.Evidence
	sure     bool // the neighbour has replied recently, or belongs to OVN
}

// A segment is a switch with the addresses known on it.
type segment struct {
	routers map[netip.Addr]*sb.PortBindingBrief // other routers' ports on it, by address
	bridges []providerBridge                    // where it leaves OVN
}

// A providerBridge is the node's bridge that a localnet port without a VLAN leads to.
type providerBridge struct {
	host    *snapshot.Host
	bridge  string
	network *node.Network
	links   []string // on the segment: the bridge's own and its uplinks
}

// segments returns the switches that routers are connected to, by Datapath_Binding.
func segments(p *doctor.Pass, south *snapshot.Southbound) (map[ovsdb.UUID]*segment, map[string]*sb.PortBindingBrief) {
	named := doctor.PortBindings(south)
	all := map[ovsdb.UUID]*segment{}
	at := func(id ovsdb.UUID) *segment {
		if all[id] == nil {
			all[id] = &segment{routers: map[netip.Addr]*sb.PortBindingBrief{}}
		}
		return all[id]
	}
	for b := range doctor.Each(south.PortBindings) {
		if peer := named[b.Options["peer"]]; peer != nil && routerPort(b, peer) {
			for _, ip := range addresses(b) {
				at(peer.Datapath).routers[ip] = b
			}
		}
		if b.Type == "localnet" && len(b.Tag) == 0 {
			at(b.Datapath).bridges = append(at(b.Datapath).bridges, providerBridges(p, b.Options["network_name"])...)
		}
	}
	return all, named
}

// routerPort reports whether the first of two peers is the router's: it has networks, with prefix lengths.
func routerPort(b, peer *sb.PortBindingBrief) bool {
	return slices.ContainsFunc(b.MAC, func(s string) bool { return strings.Contains(s, "/") }) && b.Datapath != peer.Datapath
}

// addresses returns the IP addresses of a router's port.
func addresses(b *sb.PortBindingBrief) []netip.Addr {
	var out []netip.Addr
	for _, text := range b.MAC {
		for word := range strings.FieldsSeq(text) {
			if prefix, err := netip.ParsePrefix(word); err == nil {
				out = append(out, prefix.Addr())
			}
		}
	}
	return out
}

// macOf returns the MAC address of a router's port.
func macOf(b *sb.PortBindingBrief) string {
	if len(b.MAC) == 0 {
		return ""
	}
	mac, _, _ := strings.Cut(b.MAC[0], " ")
	return strings.ToLower(mac)
}

// providerBridges returns the bridges of all nodes that a provider network is mapped to.
func providerBridges(p *doctor.Pass, network string) []providerBridge {
	var out []providerBridge
	for _, h := range p.Hosts {
		sw, err := h.Switch()
		if err != nil {
			continue
		}
		name, _, _ := h.ChassisName()
		mappings, _ := sw.Setting("ovn-bridge-mappings", name)
		bridge, ok := facts.BridgeMapping(mappings, network)
		links, err := h.Network()
		if !ok || err != nil || sw.Bridge(bridge) == nil {
			continue
		}
		b := providerBridge{host: h, bridge: bridge, network: links, links: []string{bridge}}
		for _, i := range sw.BridgeInterfaces() {
			if i.Bridge.Name == bridge && doctor.KernelDevice(i) && len(i.Port.Tag) == 0 {
				b.links = append(b.links, i.Name)
			}
		}
		out = append(out, b)
	}
	return out
}

func staleNeighbours(p *doctor.Pass, z *snapshot.Zone, south *snapshot.Southbound, rows []sb.MACBinding) {
	on, named := segments(p, south)
	for row := range doctor.Each(rows) {
		ip, err := netip.ParseAddr(row.IP)
		port := named[row.LogicalPort]
		if err != nil || port == nil || onEachNode(ip) {
			continue
		}
		peer := named[port.Options["peer"]]
		if peer == nil || on[peer.Datapath] == nil {
			continue
		}
		seen := on[peer.Datapath].sightings(ip, port)
		agrees := slices.ContainsFunc(seen, func(s sighting) bool { return s.sure && s.mac == strings.ToLower(row.MAC) })
		differs := slices.DeleteFunc(seen, func(s sighting) bool { return s.mac == strings.ToLower(row.MAC) })
		if len(differs) == 0 || agrees {
			continue
		}
		sure := slices.IndexFunc(differs, func(s sighting) bool { return s.sure })
		if sure < 0 {
			p.Unknown(doctor.Object{Kind: "MAC binding", Name: row.LogicalPort + " " + row.IP},
				fmt.Errorf("port %s has %s at %s, but %s has it at %s, not confirmed recently: run ping -c1 %s on that node, then check again",
					row.LogicalPort, row.IP, row.MAC, differs[0].evidence.Source, differs[0].mac, row.IP))
			continue
		}
		p.Report(staleNeighbour(z, south, row, port, differs[sure]))
	}
}

// onEachNode reports whether an address is one of those that ovn-kubernetes has on each node: link-local ones, and
// fd69::/112, to which services and the traffic of user-defined networks are translated.
func onEachNode(ip netip.Addr) bool {
	return ip.Is4() && ip.IsLinkLocalUnicast() || masquerade.Contains(ip)
}

var masquerade = netip.MustParsePrefix("fd69::/112")

// wrongStatic reports static neighbours whose address something else answers for. Without override, they count only
// where nothing is learned.
func wrongStatic(p *doctor.Pass, z *snapshot.Zone, south *snapshot.Southbound, learned []sb.MACBinding) {
	north, err := z.Northbound()
	if err != nil || len(north.StaticMACBindings) == 0 {
		return
	}
	on, named := segments(p, south)
	for row := range doctor.Each(north.StaticMACBindings) {
		ip, err := netip.ParseAddr(row.IP)
		port := named[row.LogicalPort]
		superseded := !row.OverrideDynamicMAC && slices.ContainsFunc(learned, func(m sb.MACBinding) bool { return m.LogicalPort == row.LogicalPort && m.IP == row.IP })
		if err != nil || port == nil || superseded || onEachNode(ip) {
			continue
		}
		peer := named[port.Options["peer"]]
		if peer == nil || on[peer.Datapath] == nil {
			continue
		}
		seen := slices.DeleteFunc(on[peer.Datapath].sightings(ip, port), func(s sighting) bool { return !s.sure })
		if len(seen) == 0 || slices.ContainsFunc(seen, func(s sighting) bool { return s.mac == strings.ToLower(row.MAC) }) {
			continue
		}
		p.Report(doctor.Finding{
			Object:   doctor.Object{Kind: "MAC binding", Name: row.LogicalPort + " " + row.IP},
			Reason:   "static",
			Also:     []doctor.Object{doctor.PortObject(row.LogicalPort)},
			Title:    fmt.Sprintf("router port %s has %s statically at %s, but its MAC address is %s", row.LogicalPort, row.IP, row.MAC, seen[0].mac),
			Evidence: []doctor.Evidence{doctor.NBRow("Static_MAC_Binding", row.UUID, "logical_port=%s ip=%s mac=%s override_dynamic_mac=%t", row.LogicalPort, row.IP, row.MAC, row.OverrideDynamicMAC), seen[0].evidence},
			Cause:    "the row was written for another MAC address, and nothing corrects it: a static one is not relearned",
			Effect:   fmt.Sprintf("packets that the router sends to or through %s are lost", row.IP),
			Next:     fixes.Command("ovn-nbctl static-mac-binding-del %s %s", row.LogicalPort, row.IP),
		})
	}
}

// sightings returns the MAC addresses of an address on a segment, except the router's own port.
func (s *segment) sightings(ip netip.Addr, own *sb.PortBindingBrief) []sighting {
	if other := s.routers[ip]; other != nil && other.UUID != own.UUID && macOf(other) != "" {
		return []sighting{{macOf(other), doctor.SBRow("Port_Binding", other.UUID, "%s: %s", other.LogicalPort, strings.Join(other.MAC, " ")), true}}
	}
	var seen []sighting
	for _, b := range s.bridges {
		seen = append(seen, b.addresses(ip)...)
		seen = append(seen, b.neighbours(ip)...)
	}
	return seen
}

// addresses returns the node's links that have an address.
func (b *providerBridge) addresses(ip netip.Addr) []sighting {
	var seen []sighting
	for _, a := range b.network.Addresses {
		l := b.network.Link(a.Link)
		if l == nil || !slices.Contains(b.links, a.Link) || a.Prefix.Addr() != ip || a.Has("dadfailed") || a.Has("tentative") {
			continue
		}
		seen = append(seen, sighting{strings.ToLower(l.MAC), doctor.Link(a.Link).On(b.host.Name).Says("has address " + a.Prefix.String() + " and MAC " + l.MAC), true})
	}
	return seen
}

// neighbours returns the node's neighbour entries for an address.
func (b *providerBridge) neighbours(ip netip.Addr) []sighting {
	var seen []sighting
	for _, n := range b.network.Neighbours {
		if !slices.Contains(b.links, n.Link) || n.Addr.WithZone("") != ip || n.MAC == "" {
			continue
		}
		sure := false
		switch n.State {
		case "reachable", "delay", "probe":
			sure = true
		case "stale":
			sure = b.learned(n.MAC)
		case "permanent": // somebody wrote it, and nobody confirms it
			if sure = b.learned(n.MAC); !sure {
				continue
			}
		default:
			continue
		}
		table := doctor.Neighbours(n.Link).On(b.host.Name)
		seen = append(seen, sighting{strings.ToLower(n.MAC), table.Says(fmt.Sprintf("%s dev %s lladdr %s %s", n.Addr, n.Link, n.MAC, strings.ToUpper(n.State))), sure})
	}
	return seen
}

// learned reports whether the bridge has recently seen packets from a MAC address.
func (b *providerBridge) learned(mac string) bool {
	text, err := b.host.Control("ovs-vswitchd", "fdb/show", b.bridge)
	if err != nil {
		return false
	}
	dump, err := openflow.ParseDump(text)
	if err != nil {
		return false
	}
	for _, e := range dump {
		if f, ok := e.(openflow.FDBEntry); ok && strings.EqualFold(f.MAC, mac) && f.Age < 120 {
			return true
		}
	}
	return false
}

func staleNeighbour(z *snapshot.Zone, south *snapshot.Southbound, row *sb.MACBinding, port *sb.PortBindingBrief, s sighting) doctor.Finding {
	f := doctor.Finding{
		Object: doctor.Object{Kind: "MAC binding", Name: row.LogicalPort + " " + row.IP},
		Also:   []doctor.Object{doctor.PortObject(row.LogicalPort)},
		Title:  fmt.Sprintf("router port %s sends packets for %s to %s, but its MAC address is %s now", row.LogicalPort, row.IP, row.MAC, s.mac),
		Evidence: []doctor.Evidence{
			doctor.SBRow("MAC_Binding", row.UUID, "logical_port=%s ip=%s mac=%s%s", row.LogicalPort, row.IP, row.MAC, learnedAt(row.Timestamp)),
			s.evidence,
		},
		Cause:  "the neighbour changed its MAC address and did not announce it, or the announcement did not reach the router",
		Effect: fmt.Sprintf("packets that the router sends to or through %s are lost", row.IP),
		Fix:    catalog.DeleteMACBinding.With(row.LogicalPort, row.IP),
	}
	for i := range south.Chassis {
		if port.Chassis.Has(south.Chassis[i].UUID) {
			f.Also = append(f.Also, doctor.NodeObject(south.Chassis[i].Hostname))
		}
	}
	if l, err := facts.LogicalOf(z); err == nil && l.RouterPort[row.LogicalPort] != nil {
		if r := l.RouterOf[l.RouterPort[row.LogicalPort].UUID]; r != nil && r.Options["mac_binding_age_threshold"] == "" {
			f.Evidence = append(f.Evidence, doctor.NB("Logical_Router", r.Name).Says("options has no mac_binding_age_threshold: its MAC bindings never age out"))
		}
	}
	return f
}

func learnedAt(timestamp int) string {
	if timestamp == 0 {
		return ""
	}
	return fmt.Sprintf(" timestamp=%d", timestamp)
}

// An attached is an interface that records its MAC address, and its port.
type attached struct {
	binding *sb.PortBindingBrief
	host    *snapshot.Host
	name    string
}

// attachedMACs returns the bound interfaces of a zone's nodes by their MAC addresses.
func attachedMACs(p *doctor.Pass, z *snapshot.Zone, south *snapshot.Southbound) map[string][]attached {
	named := doctor.PortBindings(south)
	all := map[string][]attached{}
	for _, h := range p.Hosts {
		if h.Zone() != z {
			continue
		}
		sw, err := h.Switch()
		if err != nil {
			continue
		}
		for _, i := range sw.BridgeInterfaces() {
			mac := strings.ToLower(cmp.Or(i.ExternalIDs["attached-mac"], i.ExternalIDs["attached_mac"]))
			if b := named[i.ExternalIDs["iface-id"]]; mac != "" && b != nil && len(b.Chassis) > 0 {
				all[mac] = append(all[mac], attached{b, h, i.Name})
			}
		}
	}
	return all
}

// staleFDB finds MAC addresses that a switch has learned on a port other than their interface's.
func staleFDB(p *doctor.Pass, z *snapshot.Zone, south *snapshot.Southbound, rows []sb.FDB) {
	interfaces := attachedMACs(p, z, south)
	keys := map[int]ovsdb.UUID{}
	for _, d := range south.Datapaths {
		keys[d.TunnelKey] = d.UUID
	}
	for row := range doctor.Each(rows) {
		for _, at := range interfaces[strings.ToLower(row.MAC)] {
			if at.binding.Datapath != keys[row.DPKey] || at.binding.TunnelKey == row.PortKey || staticMAC(at.binding, row.MAC) {
				continue
			}
			where := fmt.Sprintf("the port with key %d", row.PortKey)
			if j := slices.IndexFunc(south.PortBindings, func(b sb.PortBindingBrief) bool {
				return b.Datapath == at.binding.Datapath && b.TunnelKey == row.PortKey
			}); j >= 0 {
				where = south.PortBindings[j].LogicalPort
			}
			p.Report(doctor.Finding{
				Object: doctor.Object{Kind: "FDB entry", Name: fmt.Sprintf("%d %s", row.DPKey, row.MAC)},
				Also:   []doctor.Object{doctor.PortObject(at.binding.LogicalPort), doctor.NodeObject(at.host.Name)},

				Title: fmt.Sprintf("a switch sends packets for %s to %s, but it is at %s", row.MAC, where, at.binding.LogicalPort),
				Evidence: []doctor.Evidence{
					doctor.SBRow("FDB", row.UUID, "dp_key=%d mac=%s port_key=%d%s", row.DPKey, row.MAC, row.PortKey, learnedAt(row.Timestamp)),
					doctor.OVS("Interface", at.name).On(at.host.Name).Says(fmt.Sprintf("attached-mac=%s iface-id=%s", row.MAC, at.binding.LogicalPort)),
				},
				Cause:  "the switch learned the address on another port, and has seen no packet from it since",
				Effect: "packets for it go to the wrong port until it sends one itself",
				Fix:    catalog.DeleteFDB.With(fmt.Sprint(row.DPKey), row.MAC),
			})
		}
	}
}

// staticMAC reports whether the Northbound gives a port this address: then learned rows are not used.
func staticMAC(b *sb.PortBindingBrief, mac string) bool {
	return slices.ContainsFunc(b.MAC, func(s string) bool { return strings.HasPrefix(strings.ToLower(s), strings.ToLower(mac)) })
}
