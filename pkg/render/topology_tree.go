package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// FewServices is how many services the tree of a whole topology lists with their addresses.
const FewServices = 24

// How many of each are listed; the rest is only counted.
const (
	fewRules    = 4  // NAT rules and policies of a router
	fewVIPs     = 12 // per service
	fewBackends = 4  // per virtual address
	fewTunnels  = 8  // per chassis
)

// tree writes the topology for operators: what there is and what is wrong, then the logical network, then the nodes.
func (t *topologyText) tree(w io.Writer, s Style) error {
	sections := []struct {
		title string
		roots []*Tree
	}{
		{"", lines(t.summary())},
		{"Problems", rows(t.troubles())},
		{"Logical", t.logical()},
		{"Load balancers", t.balancers()},
		{"Port groups", t.portGroups()},
		{"Physical", t.physical()},
		{"Notes", texts2lines(t.view.Notes)},
		{"Read from", texts2lines(t.view.From)},
		{"The same with the classic tools", texts2lines(t.Commands)},
	}
	gap := ""
	for _, section := range sections {
		if len(section.roots) == 0 {
			continue
		}
		head := gap
		if section.title != "" {
			head += s.paint(section.title, Title) + "\n"
		}
		if _, err := io.WriteString(w, head); err != nil {
			return err
		}
		if err := WriteTree(w, s, section.roots...); err != nil {
			return err
		}
		gap = "\n"
	}
	return nil
}

func lines(in []Line) []*Tree {
	var out []*Tree
	for _, l := range in {
		out = append(out, Branch(l))
	}
	return out
}

func rows(in [][]Line) []*Tree {
	var out []*Tree
	for _, cells := range in {
		out = append(out, &Tree{Cells: cells, Columns: "rows"})
	}
	return out
}

func texts2lines(in []string) []*Tree {
	var out []*Tree
	for _, text := range in {
		out = append(out, Branch(Text(text)))
	}
	return out
}

func (t *topologyText) logical() []*Tree {
	var out []*Tree
	for _, gateway := range []bool{false, true} { // distributed routers first
		for _, r := range t.Routers {
			if (r.Chassis != "") == gateway {
				out = append(out, t.router(r))
			}
		}
	}
	for _, s := range t.Switches {
		out = append(out, t.switchTree(s))
	}
	return out
}

func (t *topologyText) router(r *topology.Router) *Tree {
	kind := "distributed"
	if r.Chassis != "" {
		kind = "on " + t.label(r.Chassis)
	}
	tree := Branch(heading("router", r.Name, r.DisplayName), Text(kind), t.facts(r.Zone, r.TunnelKey, r.UUID))
	if !r.Enabled {
		tree.Cells = append(tree.Cells, Text("disabled", Bad))
	}
	for _, p := range t.onRouter[r.UUID] {
		if p.Type == "chassisredirect" && t.byUUID[refUUID(p.Peer)] != nil {
			continue // shown with its router port
		}
		t.port(tree, p)
	}
	t.nat(tree, r)
	t.routes(tree, r)
	t.policies(tree, r)
	return tree
}

func (t *topologyText) switchTree(s *topology.Switch) *Tree {
	tree := Branch(heading("switch", s.Name, s.DisplayName), Text(strings.Join(s.Subnets, " ")))
	var routers []string
	for _, p := range t.onSwitch[s.UUID] {
		if p.Type == "router" && !t.focus[s.UUID] {
			if peer := t.byUUID[refUUID(p.Peer)]; peer != nil && peer.Router != nil {
				routers = append(routers, peer.Router.Name)
			}
		}
	}
	if len(routers) > 0 {
		tree.Cells = append(tree.Cells, Text("→ "+strings.Join(routers, ", ")))
	}
	if len(s.ACLs) > 0 {
		tree.Cells = append(tree.Cells, counted(nil, len(s.ACLs), "ACL", "ACLs"))
	}
	if s.Transit {
		tree.Cells = append(tree.Cells, Text("between zones"))
	}
	tree.Cells = append(tree.Cells, t.facts(s.Zone, s.TunnelKey, s.UUID))
	for _, p := range t.onSwitch[s.UUID] {
		if p.Type == "router" && !t.focus[s.UUID] && !t.focus[p.UUID] && p.State == topology.StateUp {
			continue
		}
		t.port(tree, p)
	}
	if t.part() {
		addACLs(tree, askedFor(t, s.ACLs, func(a *topology.ACL) string { return a.UUID }))
		t.qos(tree, s.QoSRules)
	}
	return tree
}

func heading(kind, name, display string) Line {
	return append(Line{{Text: kind + " "}}, nameLine(name, display)...)
}

// nameLine returns a name, after its display name.
func nameLine(name, display string) Line {
	if display == "" {
		return Text(name, Name)
	}
	return Line{{Text: display, Look: Name}, {Text: " (" + name + ")", Look: Faint}}
}

// facts returns the numbers that only the detailed view shows.
func (t *topologyText) facts(zone string, key int, uuid string) Line {
	words := []string{when(t.zones, behind("zone", zone))}
	if t.focus[uuid] {
		words = append(words, numbered("key", key), uuid)
	}
	return Text(phrase(", ", words...), Faint)
}

func refUUID(r *topology.Ref) string {
	if r == nil {
		return ""
	}
	return r.UUID
}

// port adds the line of a port to the tree of its switch or router.
func (t *topologyText) port(tree *Tree, p *topology.Port) {
	kind := portType(p)
	if p.Kind == topology.RouterPort && p.Type != "chassisredirect" {
		kind = ""
	}
	name := Text(p.Label(), Name)
	if kind != "" {
		name = append(Text(kind+" "), name...)
	}
	addresses := p.Addresses
	if p.Kind == topology.RouterPort {
		addresses = p.Networks
	}
	where := t.where(p)
	line := tree.AddTo("ports", name, Text(strings.Join(addresses, " ")), where)
	if p.State != topology.StateUp && (p.State != topology.StateNone || len(where) == 0) {
		state := Text(p.State, stateLook(p.State))
		if p.State == topology.StateNone {
			state = Text("on every chassis", Faint)
		}
		if p.State != topology.StateDown { // down ports are listed above, with the reason
			line.Cells = append(line.Cells, state)
		} else {
			line.Cells = append(line.Cells, Text("down: "+p.Reason, Bad))
		}
	}
	if t.focus[p.UUID] {
		t.portDetail(line, p)
	}
}

// where returns where a port is: its chassis and interface, or its peer.
func (t *topologyText) where(p *topology.Port) Line {
	switch {
	case p.Type == "localnet":
		return t.localnet(p)
	case p.Type == "chassisredirect":
		return t.gateway(p.Gateway)
	case p.Peer != nil:
		l := t.across(p)
		if p.Gateway != nil {
			l = append(l, Span{Text: ", gateway "})
			l = append(l, t.gateway(p.Gateway)...)
		}
		return l
	case p.Chassis == "":
		return nil
	}
	l := Text(t.label(p.Chassis))
	for _, a := range p.Interfaces {
		if a.Node == t.node(p.Chassis) {
			l = append(l, Span{Text: " " + a.Interface, Look: Faint})
		}
	}
	return l
}

func (t *topologyText) node(chassis string) string {
	for _, c := range t.Document.Chassis {
		if c.Name == chassis {
			return c.Node
		}
	}
	return ""
}

func (t *topologyText) across(p *topology.Port) Line {
	peer := t.byUUID[p.Peer.UUID]
	switch {
	case peer == nil:
		return Text("→ " + p.Peer.Name)
	case peer.Switch != nil:
		return Line{{Text: "→ switch "}, {Text: peer.Switch.Name, Look: Name}}
	case peer.Router != nil:
		return Line{{Text: "→ router "}, {Text: peer.Router.Name, Look: Name}}
	}
	return nil
}

// gateway lists the chassis that hosts a gateway and those that may.
func (t *topologyText) gateway(g *topology.Gateway) Line {
	if g == nil {
		return nil
	}
	l := Text("nowhere", Bad)
	if len(g.Chassis) > 0 && g.Chassis[0].Exists == nil {
		l = Text("unknown, no Southbound was read", Warn)
	}
	if g.Active != "" {
		l = Text(t.label(g.Active))
		if g.Expected != "" && g.Active != g.Expected {
			l = Text(t.label(g.Active), Warn)
		}
	}
	var may []string
	for _, c := range g.Chassis {
		word := fmt.Sprintf("%s priority %d", t.label(c.Chassis), c.Priority)
		if c.Exists != nil && !*c.Exists {
			word += " missing"
		}
		may = append(may, word)
	}
	if len(may) > 1 || len(may) == 1 && (g.Chassis[0].Chassis != g.Active || t.part()) {
		l = append(l, Span{Text: " (configured: " + strings.Join(may, ", ") + ")"})
	}
	return l
}

// localnet lists the bridges through which a localnet port leaves.
func (t *topologyText) localnet(p *topology.Port) Line {
	network := p.Options["network_name"]
	l := Text("network " + network)
	if p.Tag != 0 {
		l = append(l, Span{Text: fmt.Sprintf(", VLAN %d", p.Tag)})
	}
	for i, a := range p.Interfaces {
		sep := " → "
		if i > 0 {
			sep = ", "
		}
		l = append(l, Span{Text: sep + a.Node + " " + a.PeerBridge})
		for _, b := range t.bridges[a.Node] {
			if b.Name == a.PeerBridge && len(b.Uplinks) > 0 {
				l = append(l, Span{Text: " uplink " + strings.Join(b.Uplinks, " ")})
			}
		}
	}
	return l
}

// portDetail adds everything about a port.
func (t *topologyText) portDetail(line *Tree, p *topology.Port) {
	add := func(word, text string) {
		if text != "" {
			line.AddTo("facts", Text(word), Text(text))
		}
	}
	if p.State == topology.StateDown || p.State == topology.StateUnknown {
		line.AddTo("facts", Text("state"), append(Text(p.State, stateLook(p.State)), Span{Text: ": " + p.Why}))
	}
	add("name", otherName(p))
	add("uuid", p.UUID)
	add("mac", strings.Join(p.MACs, " "))
	add("takes", when(p.UnknownAddresses, "unknown addresses"))
	add("key", when(p.TunnelKey != 0, fmt.Sprint(p.TunnelKey)))
	add("within", when(p.Parent != "", fmt.Sprintf("%s, VLAN %d", p.Parent, p.Tag)))
	if p.Peer != nil {
		add("peer", p.Peer.Name)
	}
	add("chassis", p.Chassis)
	add("requested", t.labels(p.RequestedChassis))
	add("additional", t.labels(p.AdditionalChassis))
	for _, a := range p.Interfaces {
		add("interface", attachmentText(a))
	}
	add("security", strings.Join(p.PortSecurity, "; "))
	for _, d := range []*topology.DHCP{p.DHCPv4, p.DHCPv6} {
		if d != nil {
			add("dhcp", d.CIDR)
		}
	}
	add("groups", strings.Join(p.PortGroups, ", "))
	add("device", p.Device)
}

func (t *topologyText) labels(chassis []string) string {
	var out []string
	for _, c := range chassis {
		out = append(out, t.label(c))
	}
	return strings.Join(out, ", ")
}

func attachmentText(a *topology.Attachment) string {
	return phrase(", ", fmt.Sprintf("%s on %s %s", a.Interface, a.Node, a.Bridge), numbered("ofport", a.OFPort),
		behind("link", a.LinkState), behind("to", a.PeerBridge), a.Error)
}

func (t *topologyText) nat(tree *Tree, r *topology.Router) {
	var rules []*topology.NAT
	for _, n := range t.NAT {
		if n.Router.UUID == r.UUID {
			rules = append(rules, n)
		}
	}
	if len(rules) > fewRules && !t.focus[r.UUID] && !t.focus[rules[0].UUID] {
		tree.Add(counted(nil, len(rules), "NAT rule", "NAT rules"))
		return
	}
	for _, n := range rules {
		tree.AddTo("rules", Text(n.Type), Text(natText(n)), Text(natPlace(n)))
	}
}

func natText(n *topology.NAT) string {
	if n.Type == "snat" {
		return n.LogicalIP + " → " + n.ExternalIP
	}
	return n.ExternalIP + " → " + n.LogicalIP
}

func natPlace(n *topology.NAT) string {
	return phrase(" ", behind("at", n.LogicalPort), behind("by", n.GatewayPort), n.ExternalMAC, behind("for", ownName(n.Owner)))
}

// routes lists the default routes; others are only counted unless the router was asked for.
func (t *topologyText) routes(tree *Tree, r *topology.Router) {
	more := 0
	for _, route := range r.Routes {
		if !t.focus[r.UUID] && !strings.HasSuffix(route.Prefix, "/0") {
			more++
			continue
		}
		tree.AddTo("rules", Text("route"), Text(routeText(route)), Text(routePlace(route)))
	}
	switch {
	case more == len(r.Routes):
		if more > 0 {
			tree.Add(counted(nil, more, "static route", "static routes"))
		}
	case more > 0:
		tree.Add(counted(nil, more, "more static route", "more static routes"))
	}
}

func routeText(r *topology.Route) string {
	return when(r.Policy == "src-ip", "from ") + r.Prefix + " → " + r.NextHop
}

// ownName returns the object of the CMS that a row was made for; empty if it serves the CMS itself.
func ownName(o decode.Owner) string {
	if o.Role != decode.Own {
		return ""
	}
	return o.String()
}

func routePlace(r *topology.Route) string {
	return phrase(" ", behind("by", r.OutputPort), behind("table", r.Table), when(r.Learned, "learned"), when(r.BFD, "BFD"))
}

func (t *topologyText) policies(tree *Tree, r *topology.Router) {
	var policies []*topology.Policy
	for _, p := range t.Policies {
		if p.Router.UUID == r.UUID {
			policies = append(policies, p)
		}
	}
	if len(policies) > fewRules && !t.focus[r.UUID] && !t.focus[policies[0].UUID] {
		tree.Add(counted(nil, len(policies), "router policy", "router policies"))
		return
	}
	for _, p := range policies {
		tree.AddTo("rules", Text(fmt.Sprintf("policy %d", p.Priority)), Text(policyAction(p)), Text(phrase("  ", p.Match, behind("for", ownName(p.Owner)))))
	}
}

func policyAction(p *topology.Policy) string {
	return phrase(" ", p.Action, strings.Join(p.NextHops, ", "))
}
