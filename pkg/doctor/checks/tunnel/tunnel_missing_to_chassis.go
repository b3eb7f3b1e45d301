package tunnel

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var TunnelMissingToChassis = &doctor.Check{
	Name:     "tunnel-missing-to-chassis",
	Category: "tunnel",
	Doc: `Two nodes have no tunnel between them

Every chassis needs a tunnel to every other one of its transport zones, of a type
that both speak. Chassis of other zones of an interconnect and VTEPs are left out.`,
	Causes: []string{
		"controller-not-running", "controller-not-caught-up", "vswitchd-not-running", "two-vswitchds", "missing-external-ids", "encap-ip-not-local",
		"duplicate-chassis-stale", "system-id-cloned", "kernel-module-missing", "conf-db-lost-or-corrupt", "dpdk-not-initialised",
	},
	Settle: true, // tunnels to a node that was just added are made within a moment
	Run:    missingTunnels,
}

func missingTunnels(p *doctor.Pass) {
	said := map[string]bool{} // pairs that no tunnel can join
	for _, south := range p.Southbounds() {
		peers := chassisPeers(south)
		noCommonType(p, peers, said)
		noCommonZone(p, south, peers, said)
	}
	for _, h := range p.Hosts {
		tunnelsOf(p, h, said)
	}
}

// A chassisPeer is a chassis with what its tunnels depend on.
type chassisPeer struct {
	*sb.Chassis
	encaps []sb.Encap
	types  string // of its encaps, sorted
	zones  string // its transport zones, sorted
}

func chassisPeers(south *snapshot.Southbound) []chassisPeer {
	encaps := map[ovsdb.UUID]sb.Encap{}
	for _, e := range south.Encaps {
		encaps[e.UUID] = e
	}
	var out []chassisPeer
	for i := range south.Chassis {
		c := &south.Chassis[i]
		if snapshot.Elsewhere(c) {
			continue
		}
		p := chassisPeer{Chassis: c, zones: strings.Join(slices.Sorted(slices.Values(c.TransportZones)), ",")}
		var types []string
		for _, u := range c.Encaps {
			if e, ok := encaps[u]; ok {
				p.encaps = append(p.encaps, e)
				types = append(types, e.Type)
			}
		}
		slices.Sort(types)
		p.types = strings.Join(slices.Compact(types), ",")
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b chassisPeer) int { return cmp.Compare(a.Hostname, b.Hostname) })
	return out
}

// common says whether two comma lists have a word in common.
func common(a, b string) bool {
	for w := range strings.SplitSeq(a, ",") {
		if slices.Contains(strings.Split(b, ","), w) {
			return true
		}
	}
	return false
}

func pair(a, b string) string { return min(a, b) + " " + max(a, b) }

// by groups chassis by what a function says of them.
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

func noCommonType(p *doctor.Pass, peers []chassisPeer, said map[string]bool) {
	groups := by(peers, func(c chassisPeer) string { return c.types })
	kinds := sortedKeys(groups)
	for i, a := range kinds {
		for _, b := range kinds[i+1:] {
			if a == "" || b == "" || common(a, b) {
				continue
			}
			few, many, fewTypes, manyTypes := groups[a], groups[b], a, b
			if len(few) > len(many) {
				few, many, fewTypes, manyTypes = many, few, manyTypes, fewTypes
			}
			apart := false
			for _, x := range few {
				for _, y := range many {
					if sameZone(x, y) {
						apart, said[pair(x.Name, y.Name)] = true, true
					}
				}
			}
			if !apart {
				continue
			}
			f := doctor.Finding{
				Object: doctor.NodeObject(few[0].Hostname),
				Also:   append(nodesAlso(few[1:]...), nodesAlso(many...)...),
				Title:  fmt.Sprintf("%s and %s have no type of tunnel in common", hostnames(few), hostnames(many)),
				Cause:  "external_ids:ovn-encap-type was set differently",
				Effect: "no packet gets from the ones to the others",
				Next:   fmt.Sprintf("on %s: ovs-vsctl set Open_vSwitch . external_ids:ovn-encap-type=%s", hostnames(few), withType(fewTypes, manyTypes)),
			}
			for _, c := range []chassisPeer{few[0], many[0]} {
				f.Evidence = append(f.Evidence, doctor.Other("Southbound Encap of "+c.Hostname).Says("types "+c.types))
			}
			p.Report(f)
		}
	}
}

// withType is what the few should speak: what the many do. A deployment with VXLAN among it has fewer networks.
func withType(few, many string) string {
	if strings.Contains(many, "geneve") {
		return "geneve"
	}
	return few + "," + many
}

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func sameZone(a, b chassisPeer) bool { return a.zones == b.zones || common(a.zones, b.zones) }

// noCommonZone finds chassis that no tunnel joins because of their transport
// zones. That may be meant; it is not where one switch has ports on both, nor where
// a chassis is in a zone with nobody and routers join its ports with others.
func noCommonZone(p *doctor.Pass, south *snapshot.Southbound, peers []chassisPeer, said map[string]bool) {
	groups := by(peers, func(c chassisPeer) string { return c.zones })
	if len(groups) < 2 {
		return
	}
	zones := sortedKeys(groups)
	shared := sharedBy(south, peers, func(dp ovsdb.UUID) ovsdb.UUID { return dp })
	joined := sharedBy(south, peers, joinedDatapaths(south))
	alone := map[string]bool{} // zones that no other chassis is in
	for _, a := range zones {
		alone[a] = !slices.ContainsFunc(zones, func(b string) bool { return a != b && common(a, b) })
	}
	for i, a := range zones {
		for _, b := range zones[i+1:] {
			if common(a, b) {
				continue
			}
			ports, ok := shared[pair(a, b)]
			if !ok && (alone[a] || alone[b]) {
				ports, ok = joined[pair(a, b)]
			}
			for _, x := range groups[a] {
				for _, y := range groups[b] {
					said[pair(x.Name, y.Name)] = true
				}
			}
			if !ok {
				continue
			}
			few, many := groups[a], groups[b]
			if len(few) > len(many) {
				few, many = many, few
			}
			p.Report(doctor.Finding{
				Object: doctor.NodeObject(few[0].Hostname),
				Also:   append(nodesAlso(few[1:]...), nodesAlso(many...)...),
				Title:  fmt.Sprintf("%s and %s share a network, but no transport zone", hostnames(few), hostnames(many)),
				Evidence: []doctor.Evidence{
					doctor.Other("Southbound Chassis of " + few[0].Hostname).Says("transport_zones=" + few[0].zones),
					doctor.Other("Southbound Chassis of " + many[0].Hostname).Says("transport_zones=" + many[0].zones),
					doctor.SB("Port_Binding", "").Says(ports + " are of one network"),
				},
				Cause:  "external_ids:ovn-transport-zones was set on some nodes and not on the others",
				Effect: "there is no tunnel between them, and so no way between the ports of that network",
				Next:   fmt.Sprintf("give them a zone in common, on %s: %s", hostnames(few), setZones(many[0].zones)),
			})
		}
	}
}

// setZones is the command that puts a node into transport zones.
func setZones(zones string) string {
	if zones == "" {
		return "ovs-vsctl remove Open_vSwitch . external_ids ovn-transport-zones"
	}
	return "ovs-vsctl set Open_vSwitch . external_ids:ovn-transport-zones=" + zones
}

// joinedDatapaths says for a datapath one that stands for all that routers join with it.
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

// sharedBy names, for two lists of zones, two ports of one network that are on
// chassis of the one and of the other.
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
		if of := seen[net]; of[zones[u]] == "" {
			of[zones[u]] = b.LogicalPort
			for z, port := range of {
				if key := pair(z, zones[u]); z != zones[u] && out[key] == "" {
					out[key] = min(port, b.LogicalPort) + " and " + max(port, b.LogicalPort)
				}
			}
		}
	}
	return out
}

// tunnelsOf looks at the tunnels that a host has.
func tunnelsOf(p *doctor.Pass, h *snapshot.Host, said map[string]bool) {
	node := doctor.NodeObject(h.Name)
	s, ok := doctor.Need(p, node, h.Switch)
	if !ok {
		return
	}
	z := h.Zone()
	if z == nil || !s.RunsOVN() {
		return
	}
	south, err := z.Southbound()
	if err != nil {
		return // said above
	}
	name, _, err := h.ChassisName()
	if err != nil {
		p.Unknown(node, err)
		return
	}
	peers := chassisPeers(south)
	self := slices.IndexFunc(peers, func(c chassisPeer) bool { return c.Name == name })
	if self < 0 {
		return // it is no chassis: missing-external-ids, duplicate-chassis-stale
	}
	tunnels := map[string][]snapshot.Plug{} // by chassis
	var others []snapshot.Plug
	for _, t := range s.Plugs() {
		if !catalog.IsTunnel(t.Type) {
			continue
		}
		if c := catalog.TunnelChassis(t); c != "" {
			tunnels[c] = append(tunnels[c], t)
		} else {
			others = append(others, t)
		}
	}
	var missing []chassisPeer
	for _, c := range peers {
		if c.Name == name || c.types == "" || said[pair(c.Name, name)] || !sameZone(c, peers[self]) {
			continue
		}
		if len(tunnels[c.Name]) == 0 {
			missing = append(missing, c)
			continue
		}
		for _, t := range tunnels[c.Name] {
			tunnel(p, h, c, t, others)
		}
	}
	if len(missing) > 0 {
		noTunnel(p, h, missing)
	}
}

// tunnel looks at one tunnel of OVN's.
func tunnel(p *doctor.Pass, h *snapshot.Host, c chassisPeer, t snapshot.Plug, others []snapshot.Plug) {
	f := doctor.Finding{
		Object:   doctor.Object{Kind: "tunnel", Name: t.Name, Node: h.Name},
		Also:     []doctor.Object{doctor.NodeObject(h.Name), doctor.NodeObject(c.Hostname), {Kind: "interface", Name: t.Name, Node: h.Name}},
		Evidence: []doctor.Evidence{doctor.OVS("Interface", t.Name).On(h.Name).Says(interfaceState(t))},
	}
	i := slices.IndexFunc(others, func(o snapshot.Plug) bool { return catalog.SameTunnel(o, t) })
	if i >= 0 {
		twin := others[i]
		f.Also = append(f.Also, doctor.Object{Kind: "interface", Name: twin.Name, Node: h.Name})
		f.Title = fmt.Sprintf("tunnel %s to %s has a twin %s that is not OVN's", t.Name, c.Hostname, twin.Name)
		f.Evidence = append(f.Evidence, doctor.OVS("Interface", twin.Name).On(h.Name).Says(interfaceState(twin)))
		f.Cause = "another network agent or a script has made a tunnel of the same type to the same address, and Open vSwitch makes only one of them"
		f.Effect = "no packet gets to " + c.Hostname
		f.Fix = catalog.DeleteTunnel.With(twin.Port.Name)
		if !h.Local {
			f.Fix = catalog.DeleteTunnel.With(twin.Port.Name, h.Name)
		}
		if t.OFNumber() > 0 {
			f.Result = doctor.Warning
			f.Effect = "which of the two works is decided anew whenever ovs-vswitchd starts; now it is OVN's"
		}
		p.Report(f)
		return
	}
	if len(t.Error) == 0 && (len(t.OFPort) == 0 || t.OFNumber() > 0) {
		return
	}
	f.Title = fmt.Sprintf("Open vSwitch could not make the tunnel %s to %s", t.Name, c.Hostname)
	f.Effect = "no packet gets to " + c.Hostname
	f.Cause = "Open vSwitch says why: " + cmp.Or(t.Error.Get(), "nothing")
	f.Next = fixes.Command("ovs-vsctl --columns=name,error,options list Interface %s", t.Name)
	p.Report(f)
}

func interfaceState(t snapshot.Plug) string {
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
		Title:  fmt.Sprintf("%s has no tunnel to %s", h.Name, hostnames(missing)),
		Cause:  "ovn-controller on " + h.Name + " does not run, or cannot make it: its log says why",
		Effect: "no packet gets from " + h.Name + " there",
		Next:   "on " + h.Name + ": grep -i tunnel /var/log/ovn/ovn-controller.log",
	}
	for _, c := range missing[:min(len(missing), 6)] {
		var ips []string
		for _, e := range c.encaps {
			ips = append(ips, e.Type+" "+e.IP)
		}
		f.Evidence = append(f.Evidence, doctor.Other("Southbound Encap of "+c.Hostname).Says(strings.Join(ips, ", ")+": no Port with external_ids:ovn-chassis-id="+c.Name+"@…"))
	}
	p.Report(f)
}
