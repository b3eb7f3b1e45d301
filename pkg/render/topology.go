package render

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/page"
	"github.com/ovnctl/ovnctl/pkg/picture"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// TopologyFormats are the formats that [Topology] writes, the default first.
var TopologyFormats = []string{"tree", "table", "wide", "json", "yaml", "md", "svg", "html", "dot", "mermaid"}

// A TopologyView controls how a Topology is shown as text.
type TopologyView struct {
	From  []string  // what was read, one per line
	Notes []string  // the document's notes that are not shown elsewhere
	Page  page.Page // of HTML, its head
	// Focus are the UUIDs of the objects asked for, which are shown in full. If empty, the whole topology is shown in
	// brief.
	Focus []string
	// Labels are the display names of the chassis, by name, including those not in the document.
	Labels map[string]string
}

// Topology writes a document in one of [TopologyFormats].
func Topology(w io.Writer, s Style, format string, doc *topology.Document, view TopologyView) error {
	switch format {
	case "json", "yaml":
		return Write(w, format, doc)
	case "svg":
		return picture.Topology(&doc.Topology).SVG(w)
	case "html":
		p := view.Page
		p.Map, p.Topology = picture.Topology(&doc.Topology), &doc.Topology
		return p.Write(w)
	case "dot":
		return topologyDOT(w, &doc.Topology)
	case "mermaid":
		return topologyMermaid(w, &doc.Topology)
	}
	t := newTopologyText(doc, view)
	switch format {
	case "tree":
		return t.tree(w, s)
	case "table":
		return t.tables(w, s, false)
	case "wide":
		return t.tables(w, s, true)
	case "md":
		return t.markdown(w)
	}
	return fmt.Errorf("no format %q for a topology", format)
}

// topologyText is a document with lookup data for its text.
type topologyText struct {
	*topology.Document
	view               TopologyView
	hosts              map[string]string // chassis name to label
	zones              bool              // more than one zone
	focus              map[string]bool   // by UUID
	onSwitch, onRouter map[string][]*topology.Port
	byUUID             map[string]*topology.Port
	bridges            map[string][]*topology.Bridge // by node
	display            map[string]string             // what users call switches and routers, by UUID
}

func newTopologyText(doc *topology.Document, view TopologyView) *topologyText {
	t := &topologyText{
		Document: doc, view: view,
		hosts:    map[string]string{},
		onSwitch: map[string][]*topology.Port{},
		onRouter: map[string][]*topology.Port{},
		byUUID:   map[string]*topology.Port{},
		bridges:  map[string][]*topology.Bridge{},
		focus:    map[string]bool{},
		display:  map[string]string{},
	}
	for _, uuid := range view.Focus {
		t.focus[uuid] = true
	}
	maps.Copy(t.hosts, view.Labels)
	zones := map[string]bool{}
	for _, c := range doc.Chassis {
		t.hosts[c.Name] = chassisLabel(c)
		zones[c.Zone] = true
	}
	for _, p := range doc.Ports {
		t.byUUID[p.UUID] = p
		switch {
		case p.Switch != nil:
			t.onSwitch[p.Switch.UUID] = append(t.onSwitch[p.Switch.UUID], p)
		case p.Router != nil:
			t.onRouter[p.Router.UUID] = append(t.onRouter[p.Router.UUID], p)
		}
		zones[p.Zone] = true
	}
	for _, s := range doc.Switches {
		t.display[s.UUID] = s.DisplayName
	}
	for _, r := range doc.Routers {
		t.display[r.UUID] = r.DisplayName
	}
	for _, b := range doc.Bridges {
		t.bridges[b.Node] = append(t.bridges[b.Node], b)
	}
	t.zones = len(zones) > 1
	return t
}

// part reports whether only a part was asked for.
func (t *topologyText) part() bool { return len(t.focus) > 0 }

// label returns the display name of a chassis.
func (t *topologyText) label(chassis string) string {
	if host := t.hosts[chassis]; host != "" {
		return host
	}
	return chassis
}

func chassisLabel(c *topology.Chassis) string {
	if c.Hostname != "" {
		return c.Hostname
	}
	return c.Name
}

// otherName returns a port's name if it differs from its label.
func otherName(p *topology.Port) string {
	if p.Label() == p.Name {
		return ""
	}
	return p.Name
}

// portType returns the type of a port in a word.
func portType(p *topology.Port) string {
	switch {
	case p.Pod != "":
		return "pod"
	case p.IsVM():
		return "vm"
	case p.Kind == topology.RouterPort && p.Type != "chassisredirect":
		return "router port"
	case p.Type == "chassisredirect":
		return "gateway"
	case p.Type == "router":
		return "to router"
	case p.Type == "":
		return "port"
	}
	return p.Type
}

func stateLook(state string) Look {
	switch state {
	case topology.StateUp:
		return Good
	case topology.StateDown:
		return Bad
	case topology.StateUnknown:
		return Warn
	}
	return Faint
}

// portStates counts the ports by state, or by type if they have no state.
func (t *topologyText) portStates() Line {
	count := map[string]int{}
	var types []string
	for _, p := range t.Ports {
		word := p.State
		if p.State == topology.StateNone {
			word = p.Type
		}
		if count[word]++; count[word] == 1 && p.State == topology.StateNone {
			types = append(types, word)
		}
	}
	states := Line{{Text: " ("}}
	add := func(state, word string, look Look) {
		if count[state] == 0 {
			return
		}
		if len(states) > 1 {
			states = append(states, Span{Text: ", "})
		}
		states = append(states, Span{Text: fmt.Sprintf("%d %s", count[state], word), Look: look})
	}
	add(topology.StateUp, "up", Good)
	add(topology.StateDown, "down", Bad)
	add(topology.StateUnknown, "unknown", Warn)
	slices.Sort(types)
	for _, word := range types {
		add(word, word, Plain)
	}
	add(topology.StateRemote, "in other zones", Plain)
	return append(states, Span{Text: ")"})
}

// summary counts the objects, one line per kind.
func (t *topologyText) summary() []Line {
	line := counted(nil, len(t.Switches), "switch", "switches")
	line = counted(line, len(t.Routers), "router", "routers")
	line = counted(line, len(t.Ports), "port", "ports")
	if len(t.Ports) > 0 {
		line = append(line, t.portStates()...)
	}
	lines := []Line{line}
	var acls int
	for _, s := range t.Switches {
		acls += len(s.ACLs)
	}
	for _, pg := range t.PortGroups {
		acls += len(pg.ACLs)
	}
	rules := counted(nil, len(t.LoadBalancers), "load balancer", "load balancers")
	rules = counted(rules, len(t.NAT), "NAT rule", "NAT rules")
	rules = counted(rules, len(t.Policies), "router policy", "router policies")
	rules = counted(rules, acls, "ACL", "ACLs")
	rules = counted(rules, len(t.PortGroups), "port group", "port groups")
	place := counted(nil, len(t.Document.Chassis), "chassis", "chassis")
	place = counted(place, len(t.Nodes), "node read", "nodes read")
	place = counted(place, len(t.Bridges), "bridge", "bridges")
	place = counted(place, len(t.Tunnels), "tunnel", "tunnels")
	lines = append(lines, rules, place)
	var out []Line
	for _, l := range lines {
		if len(l) > 0 {
			out = append(out, l)
		}
	}
	if len(out) == 0 {
		out = append(out, Text("nothing: the databases are empty"))
	}
	return out
}

func counted(l Line, n int, one, many string) Line {
	if n == 0 {
		return l
	}
	if len(l) > 0 {
		l = append(l, Span{Text: ", "})
	}
	word := many
	if n == 1 {
		word = one
	}
	return append(l, Span{Text: fmt.Sprintf("%d %s", n, word)})
}

// troubles returns the ports and tunnels that are down, and gateways not on their expected chassis, each with the
// reason.
func (t *topologyText) troubles() [][]Line {
	var out [][]Line
	for _, p := range t.Ports {
		held := p.Type == "chassisredirect" && p.State == topology.StateUp && p.Why != ""
		if p.State != topology.StateDown && !held {
			continue
		}
		state, look := "down", Bad
		if held {
			state, look = "moved", Warn
		}
		out = append(out, []Line{Text(state, look), Text(portType(p)), Text(p.Label(), Name), Text(p.Why)})
	}
	for _, tunnel := range t.Tunnels {
		if tunnel.State == topology.StateDown {
			out = append(out, []Line{Text("down", Bad), Text("tunnel"), Text(strings.ReplaceAll(tunnel.Name, " ", " – "), Name), Text(tunnel.Why)})
		}
	}
	return out
}
