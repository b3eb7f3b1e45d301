package tunnel

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var TunnelMissingToChassis = &doctor.Check{
	Name:     "tunnel-missing-to-chassis",
	Category: "tunnel",
	Doc: `Two nodes have no tunnel between them

Every chassis needs a tunnel to every other chassis of its transport zones, of a type
that both have. Chassis of other zones of an interconnect and VTEPs are left out.`,
	Causes: []string{
		"controller-not-running", "controller-misdirected", "controller-not-caught-up", "vswitchd-not-running", "two-vswitchds", "missing-external-ids", "encap-ip-not-local",
		"duplicate-chassis-stale", "system-id-cloned", "kernel-module-missing", "conf-db-lost-or-corrupt", "dpdk-not-initialised",
	},
	Settle: true, // tunnels to a new node take a moment
	Host:   tunnelsOf,
	Run: func(p *doctor.Pass) {
		for z, south := range p.Southbounds() {
			for _, f := range apartIn(z, south) {
				p.Report(f)
			}
		}
	},
}

// apartIn returns the findings about chassis that cannot have a tunnel by their settings.
func apartIn(z *snapshot.Zone, south *snapshot.Southbound) []doctor.Finding {
	peers := peersOf(z, south)
	return append(noCommonType(peers), noCommonZone(south, peers)...)
}

// A chassisPeer is a chassis with the settings that its tunnels depend on.
type chassisPeer struct {
	*sb.Chassis
	encaps []sb.Encap
	types  string // of its encaps, sorted
	zones  string // its transport zones, sorted
}

// peersOf returns the chassis of a zone, those of other zones and VTEPs not among them. They are made once: each host's tunnels are compared with all.
func peersOf(z *snapshot.Zone, south *snapshot.Southbound) []chassisPeer {
	return slices.DeleteFunc(slices.Clone(everyPeer(z, south)), func(p chassisPeer) bool { return snapshot.Elsewhere(p.Chassis) })
}

// everyPeer is peersOf with the chassis of other zones and VTEPs.
func everyPeer(z *snapshot.Zone, south *snapshot.Southbound) []chassisPeer {
	peers, _ := snapshot.Derive(z, "", func() (out []chassisPeer, err error) {
		for c := range doctor.Each(south.Chassis) {
			p := chassisPeer{Chassis: c, encaps: south.EncapsOf(c), zones: strings.Join(slices.Sorted(slices.Values(c.TransportZones)), ",")}
			var types []string
			for _, e := range p.encaps {
				types = append(types, e.Type)
			}
			slices.Sort(types)
			p.types = strings.Join(slices.Compact(types), ",")
			out = append(out, p)
		}
		slices.SortFunc(out, func(a, b chassisPeer) int { return cmp.Compare(a.Hostname, b.Hostname) })
		return out, nil
	})
	return peers
}

// common reports whether two comma-separated lists share a word.
func common(a, b string) bool {
	words := strings.Split(b, ",")
	return slices.ContainsFunc(strings.Split(a, ","), func(w string) bool { return slices.Contains(words, w) })
}

func pair(a, b string) string { return min(a, b) + " " + max(a, b) }

// by groups chassis by a property.
func by(peers []chassisPeer, of func(chassisPeer) string) map[string][]chassisPeer {
	out := map[string][]chassisPeer{}
	for _, p := range peers {
		out[of(p)] = append(out[of(p)], p)
	}
	return out
}

func hostnames(peers []chassisPeer) string {
	var names []string
	for _, p := range peers {
		names = append(names, p.Hostname)
	}
	return doctor.AtMost(names, 6)
}

func nodesAlso(peers ...chassisPeer) []doctor.Object {
	var out []doctor.Object
	for _, p := range peers {
		out = append(out, doctor.NodeObject(p.Hostname))
	}
	return out
}

// disjoint yields each pair of chassis groups without a common value of a property, the smaller group first.
func disjoint(groups map[string][]chassisPeer) iter.Seq2[[]chassisPeer, []chassisPeer] {
	return func(yield func(few, many []chassisPeer) bool) {
		values := slices.Sorted(maps.Keys(groups))
		for i, a := range values {
			for _, b := range values[i+1:] {
				few, many := groups[a], groups[b]
				if len(few) > len(many) {
					few, many = many, few
				}
				if !common(a, b) && !yield(few, many) {
					return
				}
			}
		}
	}
}

// noCommonType reports chassis without a common tunnel type.
func noCommonType(peers []chassisPeer) (found []doctor.Finding) {
	groups := by(peers, func(c chassisPeer) string { return c.types })
	delete(groups, "")
	for few, many := range disjoint(groups) {
		meet := func(one chassisPeer) bool {
			return slices.ContainsFunc(many, func(other chassisPeer) bool { return sameZone(one, other) })
		}
		if !slices.ContainsFunc(few, meet) {
			continue
		}
		f := doctor.Finding{
			Object: doctor.NodeObject(few[0].Hostname),
			Also:   append(nodesAlso(few[1:]...), nodesAlso(many...)...),
			Reason: "no-common-type",
			Title:  fmt.Sprintf("%s and %s have no common tunnel type", hostnames(few), hostnames(many)),
			Cause:  "external_ids:ovn-encap-type was set differently",
			Effect: "no packet gets from one side to the other",
			Next:   fmt.Sprintf("on %s: ovs-vsctl set Open_vSwitch . external_ids:ovn-encap-type=%s", hostnames(few), fixes.Word(withType(few[0].types, many[0].types))),
		}
		for _, c := range []chassisPeer{few[0], many[0]} {
			f.Evidence = append(f.Evidence, doctor.SB("Encap", "").Says(c.Hostname+": types "+c.types))
		}
		found = append(found, f)
	}
	return found
}

// withType returns the types that the few should have: those of the many. With VXLAN a deployment can have fewer
// networks.
func withType(few, many string) string {
	if strings.Contains(many, "geneve") {
		return "geneve"
	}
	return few + "," + many
}

// noTypeOf reports whether two chassis have tunnel types, and none that both have.
func noTypeOf(a, b chassisPeer) bool {
	return a.types != "" && b.types != "" && !common(a.types, b.types)
}

func sameZone(a, b chassisPeer) bool { return a.zones == b.zones || common(a.zones, b.zones) }

// noCommonZone reports chassis without a tunnel because of their transport zones. That may be intended, but not if a
// switch has ports on both, or if a chassis is alone in its zones and routers connect its ports with others.
func noCommonZone(south *snapshot.Southbound, peers []chassisPeer) (found []doctor.Finding) {
	groups := by(peers, func(c chassisPeer) string { return c.zones })
	if len(groups) < 2 {
		return nil
	}
	zones := slices.Collect(maps.Keys(groups))
	alone := func(zone string) bool {
		return !slices.ContainsFunc(zones, func(other string) bool { return zone != other && common(zone, other) })
	}
	shared := sharedBy(south, peers, func(dp ovsdb.UUID) ovsdb.UUID { return dp })
	joined := sharedBy(south, peers, joinedDatapaths(south))
	for few, many := range disjoint(groups) {
		these, those := few[0].zones, many[0].zones
		ports, ok := shared[pair(these, those)]
		if !ok && (alone(these) || alone(those)) {
			ports, ok = joined[pair(these, those)]
		}
		if !ok {
			continue
		}
		found = append(found, doctor.Finding{
			Object: doctor.NodeObject(few[0].Hostname),
			Also:   append(nodesAlso(few[1:]...), nodesAlso(many...)...),
			Reason: "no-common-zone",
			Title:  fmt.Sprintf("%s and %s share a network, but no transport zone", hostnames(few), hostnames(many)),
			Evidence: []doctor.Evidence{
				doctor.SBRow("Chassis", few[0].UUID, "%s: transport_zones=%s", few[0].Hostname, these),
				doctor.SBRow("Chassis", many[0].UUID, "%s: transport_zones=%s", many[0].Hostname, those),
				doctor.SB("Port_Binding", "").Says(ports + " are on the same network"),
			},
			Cause:  "external_ids:ovn-transport-zones was set on some nodes and not on the others",
			Effect: "there is no tunnel between them, so ports of that network do not reach each other",
			Next:   fmt.Sprintf("give them a common zone, on %s: %s", hostnames(few), setZones(those)),
		})
	}
	return found
}

// setZones returns the command that sets a node's transport zones.
func setZones(zones string) string {
	if zones == "" {
		return "ovs-vsctl remove Open_vSwitch . external_ids ovn-transport-zones"
	}
	return "ovs-vsctl set Open_vSwitch . external_ids:ovn-transport-zones=" + zones
}

// joinedDatapaths maps a datapath to a representative of all that routers connect with it.
func joinedDatapaths(south *snapshot.Southbound) func(ovsdb.UUID) ovsdb.UUID {
	parent := map[ovsdb.UUID]ovsdb.UUID{}
	find := func(u ovsdb.UUID) ovsdb.UUID {
		for parent[u] != "" && parent[u] != u {
			u = parent[u]
		}
		return u
	}
	of := map[string]ovsdb.UUID{}
	for _, b := range south.PortBindings {
		if b.Options["peer"] != "" {
			of[b.LogicalPort] = b.Datapath
		}
	}
	for _, b := range south.PortBindings {
		if peer, ok := of[b.Options["peer"]]; ok {
			if x, y := find(b.Datapath), find(peer); x != y {
				parent[x] = y
			}
		}
	}
	return find
}

// sharedBy names, for each pair of zone lists, two ports of one network on chassis of the one and the other.
func sharedBy(south *snapshot.Southbound, peers []chassisPeer, network func(ovsdb.UUID) ovsdb.UUID) map[string]string {
	zones := map[ovsdb.UUID]string{}
	known := map[ovsdb.UUID]bool{}
	for _, c := range peers {
		zones[c.UUID], known[c.UUID] = c.zones, true
	}
	seen := map[ovsdb.UUID]map[string]string{} // by network and zones, a port
	out := map[string]string{}
	for _, b := range south.PortBindings {
		u := b.Chassis.Get()
		if b.Type != "" || !known[u] {
			continue
		}
		net := network(b.Datapath)
		if seen[net] == nil {
			seen[net] = map[string]string{}
		}
		if seen[net][zones[u]] != "" {
			continue
		}
		seen[net][zones[u]] = b.LogicalPort
		for z, port := range seen[net] {
			if key := pair(z, zones[u]); z != zones[u] && out[key] == "" {
				out[key] = min(port, b.LogicalPort) + " and " + max(port, b.LogicalPort)
			}
		}
	}
	return out
}

// tunnelsOf reports tunnels that a host lacks, or that do not work.
func tunnelsOf(p *doctor.Pass, h *snapshot.Host) {
	node := doctor.NodeObject(h.Name)
	s, ok := doctor.Need(p, node, h.Switch)
	if !ok {
		return
	}
	south := doctor.SouthboundOf(h)
	if south == nil || !s.RunsOVN() {
		return // reported above
	}
	name, _, err := h.ChassisName()
	if err != nil {
		p.Unknown(node, err)
		return
	}
	peers := peersOf(h.Zone(), south)
	self := slices.IndexFunc(peers, func(c chassisPeer) bool { return c.Name == name })
	if self < 0 {
		return // not a chassis: missing-external-ids, duplicate-chassis-stale
	}
	tunnels := map[string][]snapshot.BridgeInterface{} // by chassis
	var others []snapshot.BridgeInterface
	for _, t := range s.BridgeInterfaces() {
		if !facts.IsTunnel(t.Type) {
			continue
		}
		if c := facts.TunnelChassis(t); c != "" {
			tunnels[c] = append(tunnels[c], t)
		} else {
			others = append(others, t)
		}
	}
	var missing []chassisPeer
	for _, c := range peers {
		if c.Name == name || c.types == "" || noTypeOf(c, peers[self]) || !sameZone(c, peers[self]) {
			continue
		}
		if len(tunnels[c.Name]) == 0 {
			missing = append(missing, c)
			continue
		}
		for _, t := range tunnels[c.Name] {
			tunnel(p, h, s, c, t, others)
		}
	}
	if len(missing) > 0 {
		noTunnel(p, h, missing)
	}
}

// tunnel reports an OVN tunnel that conflicts with another, or that Open vSwitch could not create.
func tunnel(p *doctor.Pass, h *snapshot.Host, s *snapshot.Switch, c chassisPeer, t snapshot.BridgeInterface, others []snapshot.BridgeInterface) {
	f := doctor.Finding{
		Object:   tunnelObject(h, t.Name),
		Also:     []doctor.Object{doctor.NodeObject(h.Name), doctor.NodeObject(c.Hostname), doctor.InterfaceObject(h, t)},
		Evidence: []doctor.Evidence{doctor.OVS("Interface", t.Name).On(h.Name).Says(interfaceState(t))},
	}
	i := slices.IndexFunc(others, func(o snapshot.BridgeInterface) bool { return facts.SameTunnel(o, t) })
	if i >= 0 {
		other := others[i]
		f.Reason = "conflict"
		f.Also = append(f.Also, doctor.InterfaceObject(h, other))
		f.Title = fmt.Sprintf("tunnel %s to %s conflicts with tunnel %s, which is not OVN's", t.Name, c.Hostname, other.Name)
		f.Evidence = append(f.Evidence, doctor.OVS("Interface", other.Name).On(h.Name).Says(interfaceState(other)))
		f.Cause = "another network agent or a script made a tunnel of the same type to the same address, and Open vSwitch makes only one of them"
		f.Effect = "no packet gets to " + c.Hostname
		f.Fix = catalog.DeleteTunnel.With(other.Port.Name)
		if t.OFNumber() > 0 {
			f.Result = doctor.Warning
			f.Effect = "OVN's tunnel works now; after a restart of ovs-vswitchd the other may work instead"
		}
		p.Report(f)
		return
	}
	if len(t.Error) == 0 && (len(t.OFPort) == 0 || t.OFNumber() > 0) {
		return
	}
	f.Reason = "failed"
	f.Title = fmt.Sprintf("Open vSwitch could not make the tunnel %s to %s", t.Name, c.Hostname)
	f.Effect = "no packet gets to " + c.Hostname
	if facts.GivenUp(s, t) {
		f.Cause = "one change replaced the tunnel to the same address by this one, as when a chassis is replaced: Open vSwitch still had the old one when it made this one, and tries again only when its configuration changes"
		f.Fix = catalog.RetryTunnel.With(t.Port.Name)
	} else {
		f.Cause = "the error of Open vSwitch: " + cmp.Or(t.Error.Get(), "none")
		f.Next = fixes.Command("ovs-vsctl --columns=name,error,options list Interface %s", t.Name)
	}
	p.Report(f)
}

func interfaceState(t snapshot.BridgeInterface) string {
	says := fmt.Sprintf("type=%s options:remote_ip=%s ofport=%d", t.Type, t.Options["remote_ip"], t.OFPort.Get())
	if len(t.Error) > 0 {
		says += " error=" + t.Error.Get()
	}
	return says
}

func noTunnel(p *doctor.Pass, h *snapshot.Host, missing []chassisPeer) {
	f := doctor.Finding{
		Object: doctor.NodeObject(h.Name),
		Also:   nodesAlso(missing...),
		Reason: "missing",
		Title:  fmt.Sprintf("%s has no tunnel to %s", h.Name, hostnames(missing)),
		Cause:  "ovn-controller on " + h.Name + " is down, or cannot make it: see its log",
		Effect: "no packet gets from " + h.Name + " to them",
		Next:   "on " + h.Name + ": grep -i tunnel /var/log/ovn/ovn-controller.log",
	}
	for _, c := range missing[:min(len(missing), 6)] {
		var ips []string
		for _, e := range c.encaps {
			ips = append(ips, e.Type+" "+e.IP)
		}
		f.Evidence = append(f.Evidence, doctor.SB("Encap", "").Says(c.Hostname+": "+strings.Join(ips, ", ")), doctor.OVS("Port", "").On(h.Name).Says("none has external_ids:ovn-chassis-id="+c.Name+"@…"))
	}
	p.Report(f)
}

var EncapIPNotLocal = &doctor.Check{
	Name:     "encap-ip-not-local",
	Category: "tunnel",
	Doc: `A node does not have its tunnel address

ovn-encap-ip is an address that no link of the node has, or the Southbound has another one:
after a change of address, or on a clone.`,
	Causes: []string{
		"bridge-ip-lost-after-reboot", "uplink-not-in-bridge", "bridge-fail-mode-wrong", "vswitchd-not-running", "bridge-link-down", "controller-not-running",
		"duplicate-chassis-stale", "system-id-cloned", "missing-external-ids", "sb-rbac-denied", "tls-cert-expired-or-wrong-ca",
		"clients-refuse-rebuilt-db", "raft-no-quorum",
	},
	Settle: true,
	Host:   doctor.OnChassis(encapLocal),
}

func encapLocal(p *doctor.Pass, c *doctor.Chassis) {
	value, key := c.OVS.Setting("ovn-encap-ip", c.SystemID)
	if value == "" {
		return
	}
	network, ok := doctor.Need(p, doctor.NodeObject(c.Name), c.Network)
	if !ok {
		return
	}
	var missing, mine []string
	for s := range strings.SplitSeq(value, ",") {
		s = strings.TrimSpace(s)
		ip, err := netip.ParseAddr(s)
		if err != nil || facts.Holder(network, ip) == nil {
			missing = append(missing, s)
		}
		mine = append(mine, s)
	}
	f := doctor.Finding{
		Object:   doctor.NodeObject(c.Name),
		Evidence: []doctor.Evidence{doctor.Setting("external_ids:" + key).On(c.Name).Says(value)},
		Effect:   fmt.Sprintf("other nodes send packets for %s to an address that it does not have: traffic between nodes is lost", c.Name),
	}
	if c.Row != nil {
		f.Also = append(f.Also, doctor.ChassisObject(c.SystemID))
	}
	if len(missing) > 0 {
		f.Reason = "not-local"
		f.Title = fmt.Sprintf("the tunnel address %s of %s is on none of its links", strings.Join(missing, ", "), c.Name)
		f.Evidence = append(f.Evidence, doctor.Links().On(c.Name).Says(globalAddresses(network)))
		f.Cause = "the node's address changed, by DHCP or by hand, or its settings are those of another node"
		if ip, why, err := facts.EncapCandidate(p.Deployment, c.Host); err == nil && !strings.Contains(value, ",") {
			f.Evidence = append(f.Evidence, doctor.Routes().On(c.Name).Says(ip+": "+why))
			f.Fix = catalog.SetEncapIP.With(ip)
		} else {
			f.Next = "ovnctl fix set-encap-ip IP, with the address from which the other nodes are reachable"
			if err != nil {
				f.Evidence = append(f.Evidence, doctor.Routes().On(c.Name).Says(err.Error()))
			}
		}
		p.Report(f)
		return
	}
	if c.Row == nil {
		return
	}
	var there []string
	for _, e := range c.SB.EncapsOf(c.Row) {
		if !slices.Contains(there, e.IP) {
			there = append(there, e.IP)
		}
	}
	slices.Sort(mine)
	slices.Sort(there)
	if slices.Equal(slices.Compact(mine), there) {
		return
	}
	f.Reason = "southbound"
	f.Title = fmt.Sprintf("the Southbound has tunnel address %s for %s, which is set to %s", cmp.Or(strings.Join(there, ", "), "none"), c.Name, value)
	f.Evidence = append(f.Evidence, doctor.SB("Chassis", doctor.Short(c.Row.UUID)).Says("encaps "+strings.Join(there, ", ")))
	f.Cause = "ovn-controller has not written its setting, or another node writes the same row"
	f.Next = "ovn-appctl -t ovn-controller connection-status, then its log"
	p.Report(f)
}

// globalAddresses lists a node's global addresses, twelve at most.
func globalAddresses(n *node.Network) string {
	var out []string
	for _, a := range n.Addresses {
		if a.Scope == "global" {
			out = append(out, a.Prefix.String()+" on "+a.Link)
		}
	}
	return doctor.AtMost(out, 12)
}
