package southbound

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
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
	Doc: `A router sends to a MAC address that its neighbour no longer has

A MAC_Binding is what a router has learned of a neighbour, and it stays until somebody
answers otherwise or it ages. So it is with the FDB of a switch. It is held against the
neighbour tables of nodes on the same segment and against the addresses of the
routers and interfaces that OVN itself has.`,
	Causes: []string{"bridge-ip-lost-after-reboot", "ip-on-enslaved-nic", "uplink-not-in-bridge"},
	Begin: func(d *snapshot.Deployment) {
		for _, z := range d.Zones { // after an answer as large as the Southbound's a server takes its time
			go func() { _, _ = z.Learned() }()
		}
	},
	Settle: true,
	Run: func(p *doctor.Pass) {
		for _, z := range p.Zones {
			south, err := z.Southbound()
			if err != nil {
				p.Unknown(doctor.Object{Kind: "database", Name: "OVN_Southbound"}, err)
				continue
			}
			learned, err := z.Learned()
			if err != nil {
				p.Unknown(doctor.Object{Kind: "database", Name: "OVN_Southbound"}, err)
				continue
			}
			if len(learned.MACBindings) > 0 {
				staleNeighbours(p, z, south, learned.MACBindings)
			}
			if len(learned.FDB) > 0 {
				staleFDB(p, z, south, learned.FDB)
			}
		}
		if len(p.Zones) == 0 {
			p.Skip("there is no Southbound here")
		}
	},
}

// A sighting is a MAC address of a neighbour as somebody other than the router knows it.
type sighting struct {
	mac    string
	source string
	says   string
	sure   bool // the neighbour has answered lately, or it is OVN's own
}

// A wire is a switch with what is known of the addresses on it.
type wire struct {
	routers map[netip.Addr]*sb.PortBindingBrief // ports of other routers on it, by address
	bridges []outside                           // where it leaves OVN
}

// An outside is the bridge of a node that a switch's localnet port leads to, without a VLAN.
type outside struct {
	host    *snapshot.Host
	bridge  string
	network *node.Network
	links   []string // the bridge's own and its uplinks: those that are on the segment
}

// segments are the switches that routers are on, by the Datapath_Binding.
func segments(p *doctor.Pass, south *snapshot.Southbound) (map[ovsdb.UUID]*wire, map[string]*sb.PortBindingBrief) {
	named := doctor.Bindings(south)
	all := map[ovsdb.UUID]*wire{}
	at := func(id ovsdb.UUID) *wire {
		if all[id] == nil {
			all[id] = &wire{routers: map[netip.Addr]*sb.PortBindingBrief{}}
		}
		return all[id]
	}
	for i := range south.PortBindings {
		b := &south.PortBindings[i]
		if peer := named[b.Options["peer"]]; peer != nil && routerPort(b, peer) {
			for _, ip := range addresses(b) {
				at(peer.Datapath).routers[ip] = b
			}
		}
		if b.Type == "localnet" && len(b.Tag) == 0 {
			for _, h := range p.Hosts {
				if o, ok := leaves(h, b.Options["network_name"]); ok {
					s := at(b.Datapath)
					s.bridges = append(s.bridges, o)
				}
			}
		}
	}
	return all, named
}

// routerPort says that of two peers the first is the router's: it has networks, with their prefix lengths.
func routerPort(b, peer *sb.PortBindingBrief) bool {
	return slices.ContainsFunc(b.MAC, func(s string) bool { return strings.Contains(s, "/") }) && b.Datapath != peer.Datapath
}

// addresses are those of a router's port.
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

// macOf is the MAC address of a router's port.
func macOf(b *sb.PortBindingBrief) string {
	if len(b.MAC) == 0 {
		return ""
	}
	mac, _, _ := strings.Cut(b.MAC[0], " ")
	return strings.ToLower(mac)
}

// leaves is where a provider network leaves OVN on a host.
func leaves(h *snapshot.Host, network string) (outside, bool) {
	sw, err := h.Switch()
	if err != nil {
		return outside{}, false
	}
	name, _, _ := h.ChassisName()
	mappings, _ := sw.Setting("ovn-bridge-mappings", name)
	bridge, ok := catalog.BridgeMapping(mappings, network)
	if !ok || sw.Bridge(bridge) == nil {
		return outside{}, false
	}
	o := outside{host: h, bridge: bridge, links: []string{bridge}}
	if o.network, err = h.Network(); err != nil {
		return outside{}, false
	}
	for _, plug := range sw.Plugs() {
		if plug.Bridge.Name == bridge && doctor.KernelDevice(plug) && len(plug.Port.Tag) == 0 {
			o.links = append(o.links, plug.Name)
		}
	}
	return o, true
}

func staleNeighbours(p *doctor.Pass, z *snapshot.Zone, south *snapshot.Southbound, rows []sb.MACBinding) {
	on, named := segments(p, south)
	for i := range rows {
		row := &rows[i]
		ip, err := netip.ParseAddr(row.IP)
		port := named[row.LogicalPort]
		if err != nil || port == nil {
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
				fmt.Errorf("port %s has %s at %s, %s has it at %s, and has not heard from it lately: ping -c1 %s on that node tells", row.LogicalPort, row.IP, row.MAC, differs[0].source, differs[0].mac, row.IP))
			continue
		}
		p.Report(staleNeighbour(z, south, row, port, differs[sure]))
	}
}

// sightings are what is known of an address on a segment, but for what the router's own port says.
func (s *wire) sightings(ip netip.Addr, own *sb.PortBindingBrief) []sighting {
	var seen []sighting
	if other := s.routers[ip]; other != nil && other.UUID != own.UUID && macOf(other) != "" {
		return []sighting{{macOf(other), fmt.Sprintf("Southbound Port_Binding %.8s (%s)", other.UUID, other.LogicalPort), strings.Join(other.MAC, " "), true}}
	}
	for _, o := range s.bridges {
		for _, link := range o.links {
			for _, a := range o.network.Addresses {
				if l := o.network.Link(link); a.Link == link && a.Prefix.Addr() == ip && l != nil && !a.Has("dadfailed") && !a.Has("tentative") {
					seen = append(seen, sighting{strings.ToLower(l.MAC), "link " + link + " of " + o.host.Name, "has address " + a.Prefix.String() + " and MAC " + l.MAC, true})
				}
			}
			for _, n := range o.network.Neighbours {
				if n.Link != link || n.Addr.WithZone("") != ip || n.MAC == "" {
					continue
				}
				sure := false
				switch n.State {
				case "reachable", "permanent", "delay", "probe":
					sure = true
				case "stale":
					sure = o.learned(n.MAC)
				default:
					continue
				}
				seen = append(seen, sighting{strings.ToLower(n.MAC), "neighbour table of " + o.host.Name, fmt.Sprintf("%s dev %s lladdr %s %s", n.Addr, link, n.MAC, strings.ToUpper(n.State)), sure})
			}
		}
	}
	return seen
}

// learned says whether the bridge has seen packets from a MAC address lately.
func (o outside) learned(mac string) bool {
	text, err := o.host.Control("ovs-vswitchd", "fdb/show", o.bridge)
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
		Also:   []doctor.Object{{Kind: "port", Name: row.LogicalPort}},
		Title:  fmt.Sprintf("router port %s sends to %s at %s, which is at %s now", row.LogicalPort, row.IP, row.MAC, s.mac),
		Evidence: []doctor.Evidence{
			{Source: doctor.SB("MAC_Binding", doctor.Short(row.UUID)), Says: fmt.Sprintf("logical_port=%s ip=%s mac=%s%s", row.LogicalPort, row.IP, row.MAC, learnedAt(row.Timestamp))},
			{Source: doctor.Other(s.source), Says: s.says},
		},
		Cause:  "the neighbour has changed its MAC address and not announced it, or the announcement did not reach the router",
		Effect: fmt.Sprintf("what the router sends to and through %s is lost", row.IP),
		Fix:    catalog.DeleteMACBinding.With(row.LogicalPort, row.IP),
	}
	if len(port.Chassis) > 0 {
		for i := range south.Chassis {
			if south.Chassis[i].UUID == port.Chassis.Get() {
				f.Also = append(f.Also, doctor.NodeObject(south.Chassis[i].Hostname))
			}
		}
	}
	if north, err := z.Northbound(); err == nil {
		for _, r := range north.Routers {
			if router := routerOf(north, row.LogicalPort); router == r.Name && r.Options["mac_binding_age_threshold"] == "" {
				f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.NB("Logical_Router", r.Name), Says: "options has no mac_binding_age_threshold: what it learns never ages"})
			}
		}
	}
	return f
}

// routerOf is the name of the router of a port.
func routerOf(north *snapshot.Northbound, port string) string {
	for _, p := range north.RouterPorts {
		if p.Name != port {
			continue
		}
		for _, r := range north.Routers {
			if r.Ports.Has(p.UUID) {
				return r.Name
			}
		}
	}
	return ""
}

func learnedAt(timestamp int) string {
	if timestamp == 0 {
		return ""
	}
	return fmt.Sprintf(" timestamp=%d", timestamp)
}

// staleFDB finds MAC addresses that a switch has learned behind another port than that of the interface which has it.
func staleFDB(p *doctor.Pass, z *snapshot.Zone, south *snapshot.Southbound, rows []sb.FDB) {
	type home struct {
		binding *sb.PortBindingBrief
		host    *snapshot.Host
		name    string
	}
	named := doctor.Bindings(south)
	homes := map[string][]home{}
	for _, h := range p.Hosts {
		if h.Zone() != z {
			continue
		}
		sw, err := h.Switch()
		if errors.Is(err, node.ErrUnavailable) || err != nil {
			continue
		}
		for _, plug := range sw.Plugs() {
			for _, key := range []string{"attached-mac", "attached_mac"} {
				if mac, b := strings.ToLower(plug.ExternalIDs[key]), named[plug.ExternalIDs["iface-id"]]; mac != "" && b != nil && len(b.Chassis) > 0 {
					homes[mac] = append(homes[mac], home{b, h, plug.Name})
				}
			}
		}
	}
	keys := map[int]ovsdb.UUID{}
	for _, d := range south.Datapaths {
		keys[d.TunnelKey] = d.UUID
	}
	for i := range rows {
		row := &rows[i]
		for _, at := range homes[strings.ToLower(row.MAC)] {
			if at.binding.Datapath != keys[row.DPKey] || at.binding.TunnelKey == row.PortKey || staticMAC(at.binding, row.MAC) {
				continue
			}
			where := fmt.Sprintf("the port with key %d", row.PortKey)
			for j := range south.PortBindings {
				if b := &south.PortBindings[j]; b.Datapath == at.binding.Datapath && b.TunnelKey == row.PortKey {
					where = b.LogicalPort
				}
			}
			p.Report(doctor.Finding{
				Object: doctor.Object{Kind: "FDB entry", Name: row.MAC},
				Also:   []doctor.Object{{Kind: "port", Name: at.binding.LogicalPort}, doctor.NodeObject(at.host.Name)},
				Title:  fmt.Sprintf("a switch sends what is for %s to %s, and it is behind %s", row.MAC, where, at.binding.LogicalPort),
				Evidence: []doctor.Evidence{
					{Source: doctor.SB("FDB", doctor.Short(row.UUID)), Says: fmt.Sprintf("dp_key=%d mac=%s port_key=%d%s", row.DPKey, row.MAC, row.PortKey, learnedAt(row.Timestamp))},
					{Source: doctor.OVS("Interface", at.name).On(at.host.Name), Says: fmt.Sprintf("attached-mac=%s iface-id=%s", row.MAC, at.binding.LogicalPort)},
				},
				Cause:  "the address was seen behind another port before, and nothing has come from it since",
				Effect: "what is for it goes to the wrong port until it sends something itself",
				Fix:    catalog.DeleteFDB.With(fmt.Sprint(row.DPKey), row.MAC),
			})
		}
	}
}

// staticMAC says whether the Northbound gives a port this address: then nothing that was learned counts.
func staticMAC(b *sb.PortBindingBrief, mac string) bool {
	return slices.ContainsFunc(b.MAC, func(s string) bool { return strings.HasPrefix(strings.ToLower(s), strings.ToLower(mac)) })
}
