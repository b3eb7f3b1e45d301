package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/topology"
)

// A service is the load balancers with one name.
type service struct {
	name, kind string
	balancers  []*topology.LoadBalancer
}

// services returns the load balancers grouped by service, in order.
func (t *topologyText) services() []*service {
	var out []*service
	byName := map[string]*service{}
	for _, lb := range t.LoadBalancers {
		name, kind := lb.Service, "service"
		if name == "" {
			name, kind = lb.Name, "load balancer"
		}
		s := byName[kind+name]
		if s == nil {
			s = &service{name: name, kind: kind}
			byName[kind+name] = s
			out = append(out, s)
		}
		s.balancers = append(s.balancers, lb)
	}
	return out
}

// balancers returns the load balancers, by service. In brief, virtual addresses with the same backends share a line.
func (t *topologyText) balancers() []*Tree {
	var out []*Tree
	services := t.services()
	for i, s := range services {
		if i == FewServices {
			out = append(out, Branch(Text(fmt.Sprintf("%d more: -o wide lists all", len(services)-i))))
			break
		}
		tree := Branch(heading(s.kind, s.name, ""), Text(appliedTo(s.balancers[0]), Faint))
		if t.focus[s.balancers[0].UUID] {
			vipsInDetail(tree, s)
		} else {
			vipsInBrief(tree, s)
		}
		out = append(out, tree)
	}
	return out
}

func vipsInDetail(tree *Tree, s *service) {
	for _, lb := range s.balancers {
		if lb.Service != "" {
			tree.AddTo("vips", Text("name"), Text(lb.Name), Text(appliedTo(lb), Faint))
		}
		for _, v := range lb.VIPs {
			tree.AddTo("vips", Text(lb.Protocol), Text(v.String()), backends(v.Backends, len(v.Backends)))
		}
	}
}

func vipsInBrief(tree *Tree, s *service) {
	type group struct {
		protocol string
		vips     []string
		backends []string
	}
	var groups []*group
	byBackends := map[string]*group{}
	for _, lb := range s.balancers {
		for _, v := range lb.VIPs {
			key := fmt.Sprint(lb.Protocol, strings.Contains(v.Address, ":"), v.Backends)
			g := byBackends[key]
			if g == nil {
				g = &group{protocol: lb.Protocol, backends: v.Backends}
				byBackends[key] = g
				groups = append(groups, g)
			}
			if !slices.Contains(g.vips, v.String()) {
				g.vips = append(g.vips, v.String())
			}
		}
	}
	for i, g := range groups {
		if i == fewVIPs {
			tree.Add(Text(fmt.Sprintf("%d more", len(groups)-i), Faint))
			break
		}
		vips := Text(g.vips[0])
		if n := len(g.vips) - 1; n > 0 {
			vips = append(vips, Span{Text: fmt.Sprintf(" and %d more", n), Look: Faint})
		}
		tree.AddTo("vips", Text(g.protocol), vips, backends(g.backends, fewBackends))
	}
}

// backends lists the first few.
func backends(all []string, few int) Line {
	if len(all) == 0 {
		return Text("→ no endpoints", Warn)
	}
	shown := all[:min(len(all), few)]
	l := Text("→ " + strings.Join(shown, ", "))
	if n := len(all) - len(shown); n > 0 {
		l = append(l, Span{Text: fmt.Sprintf(" and %d more", n), Look: Faint})
	}
	return l
}

// appliedTo summarizes what has a load balancer.
func appliedTo(lb *topology.LoadBalancer) string {
	return phrase("; ", behind("on group", strings.Join(lb.Groups, ", ")),
		appliedToRefs(lb.Switches, "switch", "switches"), appliedToRefs(lb.Routers, "router", "routers"))
}

func appliedToRefs(refs []topology.Ref, one, many string) string {
	if len(refs) > 3 {
		return fmt.Sprintf("on %d %s", len(refs), many)
	}
	var names []string
	for _, r := range refs {
		names = append(names, r.Name)
	}
	if len(refs) == 1 {
		many = one
	}
	return behind("on "+many, strings.Join(names, ", "))
}

// portGroups are listed only if a part was asked for.
func (t *topologyText) portGroups() []*Tree {
	if !t.part() {
		return nil
	}
	var out []*Tree
	for _, pg := range t.PortGroups {
		tree := Branch(heading("port group", pg.Name, ""), counted(nil, len(pg.Ports), "port", "ports"))
		if owner := pg.Owner.String(); owner != "" {
			tree.Cells = append(tree.Cells, Text("for "+owner))
		}
		addACLs(tree, askedFor(t, pg.ACLs, func(a *topology.ACL) string { return a.UUID }))
		out = append(out, tree)
	}
	return out
}

// askedFor returns the rules of an object that was asked for, all if none of these is one's.
func askedFor[T any](t *topologyText, rules []T, uuid func(T) string) []T {
	is := func(rule T) bool { return t.focus[uuid(rule)] }
	if !slices.ContainsFunc(rules, is) {
		return rules
	}
	return slices.DeleteFunc(slices.Clone(rules), func(rule T) bool { return !is(rule) })
}

// qos adds the QoS rules of a switch: what they set, or the rate that they allow.
func (t *topologyText) qos(tree *Tree, rules []*topology.QoS) {
	for _, q := range askedFor(t, rules, func(q *topology.QoS) string { return q.UUID }) {
		var does []string
		for _, k := range slices.Sorted(maps.Keys(q.Action)) {
			does = append(does, fmt.Sprintf("%s %d", k, q.Action[k]))
		}
		if rate, ok := q.Bandwidth["rate"]; ok {
			does = append(does, fmt.Sprintf("at most %d kbps", rate))
		}
		cells := []Line{Text(fmt.Sprintf("QoS %s %d", q.Direction, q.Priority)), Text(strings.Join(does, ", ")), Text(q.Match)}
		if owner := q.Owner.String(); owner != "" {
			cells = append(cells, Text("for "+owner))
		}
		tree.AddTo("qos", cells...)
	}
}

func addACLs(tree *Tree, acls []*topology.ACL) {
	for _, a := range acls {
		tree.AddTo("acls", Text(fmt.Sprintf("ACL %s %d", a.Direction, a.Priority)), Text(a.Action, actionLook(a.Action)), Text(a.Match))
	}
}

func actionLook(action string) Look {
	if action == "drop" || action == "reject" {
		return Bad
	}
	return Good
}

// physical returns a tree for each chassis, and for each node that is not one.
func (t *topologyText) physical() []*Tree {
	nodes := map[string]*topology.Node{}
	for _, n := range t.Nodes {
		nodes[n.Name] = n
	}
	var out []*Tree
	for _, c := range t.Document.Chassis {
		tree := Branch(Line{{Text: "chassis "}, {Text: chassisLabel(c), Look: Name}}, t.chassisFacts(c))
		if n := nodes[c.Node]; n != nil {
			delete(nodes, c.Node)
			t.nodeTree(tree, n)
		}
		t.chassisTunnels(tree, c)
		if t.focus[c.UUID] || len(t.Switches)+len(t.Routers) == 0 {
			t.boundPorts(tree, c)
		}
		out = append(out, tree)
	}
	for _, n := range t.Nodes {
		if nodes[n.Name] == nil {
			continue
		}
		tree := Branch(Line{{Text: "node "}, {Text: n.Name, Look: Name}}, Text(t.nodeFacts(n)))
		t.nodeTree(tree, n)
		out = append(out, tree)
	}
	for _, tunnel := range t.Tunnels {
		if len(tunnel.Chassis) == 0 && tunnel.Why != "" {
			out = append(out, Branch(Text("tunnel "+tunnel.Name), Text(tunnel.Why, Warn)))
		}
	}
	return out
}

func (t *topologyText) chassisFacts(c *topology.Chassis) Line {
	var words []string
	for _, e := range c.Encaps {
		words = append(words, e.Type+" "+e.IP)
	}
	for _, m := range c.BridgeMappings {
		words = append(words, m.Network+":"+m.Bridge)
	}
	if c.Remote {
		words = append(words, "in another zone")
	} else {
		words = append(words, when(t.zones, behind("zone", c.Zone)))
	}
	l := Text(phrase(", ", words...))
	if chassisLabel(c) != c.Name {
		l = append(l, Span{Text: " " + c.Name, Look: Faint})
	}
	return l
}

func (t *topologyText) nodeFacts(n *topology.Node) string {
	return phrase(", ", behind("Open vSwitch", n.OVSVersion), n.SystemID,
		when(n.SystemID != "" && n.Chassis == "" && len(t.Document.Chassis) > 0, "no chassis of that name was read"))
}

// nodeTree adds the bridges of a node.
func (t *topologyText) nodeTree(tree *Tree, n *topology.Node) {
	for _, b := range t.bridges[n.Name] {
		words := counted(nil, len(b.Ports), "port", "ports")
		for _, w := range []string{b.DatapathType, b.FailMode} {
			if w != "" {
				words = append(words, Span{Text: ", " + w})
			}
		}
		if len(b.Uplinks) > 0 {
			words = append(words, Span{Text: ", uplink "}, Span{Text: strings.Join(b.Uplinks, " "), Look: Name})
		} else if len(b.Networks) > 0 {
			words = append(words, Span{Text: ", no uplink", Look: Bad})
		}
		branch := tree.AddTo("bridges", Line{{Text: "bridge "}, {Text: b.Name, Look: Name}}, words)
		for _, p := range b.Ports {
			if t.worthALine(n, b, p) {
				branch.AddTo("ports", bridgePort(p)...)
			}
		}
	}
}

// worthALine reports whether to show a bridge's port: every one if the bridge or its node was asked for or there is
// no OVN, otherwise those of ports asked for and faulty ones. The others are shown elsewhere.
func (t *topologyText) worthALine(n *topology.Node, b *topology.Bridge, p *topology.BridgePort) bool {
	if t.focus[b.UUID] || t.focus[n.UUID] || n.IntegrationBridge == "" || len(t.Ports) == 0 {
		return true
	}
	for _, i := range p.Interfaces {
		if i.Error != "" || i.OFPort < 0 {
			return true
		}
	}
	if p.LogicalPort == "" || !t.part() {
		return false
	}
	for uuid := range t.focus {
		if port := t.byUUID[uuid]; port != nil && port.Name == p.LogicalPort {
			return true
		}
	}
	return false
}

func bridgePort(p *topology.BridgePort) []Line {
	bond := len(p.Interfaces) > 1
	facts := []string{
		numbered("VLAN", p.Tag), behind("trunk", strings.Trim(fmt.Sprint(p.Trunks), "[]")),
		when(bond || p.BondMode != "", "bond "+p.BondMode), behind("for", p.LogicalPort),
	}
	cells := []Line{Text(p.Role), Text(p.Name, Name)}
	var ports Line
	for _, i := range p.Interfaces {
		facts = append(facts,
			when(bond, i.Name), when(bond && i.Name == p.BondActive, "active"), numbered("ofport", max(i.OFPort, 0)), when(i.Type != p.Role, i.Type),
			behind("peer", i.Options["peer"]), behind("remote_ip", i.Options["remote_ip"]), behind("key", i.Options["key"]),
			when(i.LinkState == "down" && p.Role != topology.RoleLocal, "link down")) // a bridge's own port is down if unused
		if i.Error != "" {
			ports = append(ports, Span{Text: i.Error, Look: Bad})
		} else if i.OFPort < 0 {
			ports = append(ports, Span{Text: "could not be opened", Look: Bad})
		}
	}
	return append(cells, Text(phrase(", ", facts...)), ports)
}

// chassisTunnels adds the tunnels of a chassis.
func (t *topologyText) chassisTunnels(tree *Tree, c *topology.Chassis) {
	type line struct {
		to    string
		end   topology.TunnelEnd
		state string
	}
	var all []line
	ok := map[string]int{}
	for _, tunnel := range t.Tunnels {
		if len(tunnel.Chassis) != 2 || tunnel.Chassis[0] != c.Name && tunnel.Chassis[1] != c.Name {
			continue
		}
		to := tunnel.Chassis[0]
		if to == c.Name {
			to = tunnel.Chassis[1]
		}
		for _, end := range tunnel.Ends {
			if end.Chassis == c.Name {
				all = append(all, line{to, end, tunnel.State})
			}
		}
	}
	for _, l := range all {
		if len(all) > fewTunnels && !t.focus[c.UUID] && l.state != topology.StateDown {
			ok[l.end.Type+" "+l.state]++
			continue
		}
		port := Text("")
		switch {
		case l.end.OFPort > 0:
			port = Text(fmt.Sprintf("%s, ofport %d, key %s", l.end.Port, l.end.OFPort, l.end.Key))
		case l.end.Error != "":
			port = Text(l.end.Error, Bad)
		case l.end.Node == "":
			port = Text("not read", Faint)
		}
		tree.AddTo("tunnels", Line{{Text: "tunnel → "}, {Text: t.label(l.to), Look: Name}}, Text(l.end.Type+" "+l.end.RemoteIP), port, Text(l.state, stateLook(l.state)))
	}
	for _, key := range sortedKeys(ok) {
		kind, state, _ := strings.Cut(key, " ")
		tree.Add(Text(fmt.Sprintf("%d %s tunnels", ok[key], kind)), Text(state, stateLook(state)))
	}
}

func (t *topologyText) boundPorts(tree *Tree, c *topology.Chassis) {
	for _, p := range t.Ports {
		if p.Chassis != c.Name {
			continue
		}
		place := ""
		for _, a := range p.Interfaces {
			if a.Node == c.Node {
				place = a.Interface
			}
		}
		tree.AddTo("ports", Text(portType(p)), Text(p.Label(), Name), Text(strings.Join(p.Addresses, " ")), Text(place), Text(p.State, stateLook(p.State)))
	}
}
