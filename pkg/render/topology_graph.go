package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/topology"
)

// A drawing is the topology as a graph, for Graphviz and Mermaid.
type drawing struct {
	vertices []vertex
	edges    []edge
	ids      map[string]string // object to vertex
}

type vertex struct {
	id    string
	shape shape
	label []string // lines
	down  bool
}

type edge struct {
	from, to string
	label    string
	dashed   bool // a tunnel
}

type shape int

const (
	shapeRouter shape = iota
	shapeSwitch
	shapePort
	shapeChassis
	shapeBridge
)

// draw builds the drawing: datapaths joined by their patches, ports on their switch, chassis joined by tunnels,
// bridges with their uplinks on their node.
func draw(t *topology.Topology) *drawing {
	d := &drawing{ids: map[string]string{}}
	for _, r := range t.Routers {
		d.vertex("router "+r.UUID, shapeRouter, false, r.Name)
	}
	for _, s := range t.Switches {
		d.vertex("switch "+s.UUID, shapeSwitch, false, append([]string{s.Name}, s.Subnets...)...)
	}
	for _, c := range t.Chassis {
		d.vertex("chassis "+c.Name, shapeChassis, false, chassisLabel(c))
		d.ids["node "+c.Node] = d.ids["chassis "+c.Name]
	}
	for _, n := range t.Nodes {
		if d.ids["node "+n.Name] == "" {
			d.vertex("node "+n.Name, shapeChassis, false, n.Name)
		}
	}
	d.ports(t)
	for _, b := range t.Bridges {
		label := []string{b.Name}
		for _, u := range b.Uplinks {
			label = append(label, "uplink "+u)
		}
		d.vertex("bridge "+b.UUID, shapeBridge, false, label...)
		d.edge("node "+b.Node, "bridge "+b.UUID, "", false)
	}
	for _, tunnel := range t.Tunnels {
		if len(tunnel.Chassis) == 2 {
			d.edge("chassis "+tunnel.Chassis[0], "chassis "+tunnel.Chassis[1], strings.Join(tunnel.Types, "/")+" "+tunnel.State, true)
		}
	}
	return d
}

func (d *drawing) ports(t *topology.Topology) {
	byUUID := map[string]*topology.Port{}
	for _, p := range t.Ports {
		byUUID[p.UUID] = p
	}
	for _, p := range t.Ports {
		switch {
		case p.Type == "chassisredirect":
		case p.Router != nil:
			peer := byUUID[refUUID(p.Peer)]
			switch {
			case peer == nil:
			case peer.Switch != nil:
				d.edge("router "+p.Router.UUID, "switch "+peer.Switch.UUID, strings.Join(p.Networks, " "), false)
			case peer.Router != nil && p.UUID < peer.UUID:
				d.edge("router "+p.Router.UUID, "router "+peer.Router.UUID, strings.Join(p.Networks, " "), false)
			}
		case p.Type == "router" || p.Switch == nil:
		default:
			d.vertex("port "+p.UUID, shapePort, p.State == topology.StateDown, append([]string{p.Label()}, p.Addresses...)...)
			d.edge("switch "+p.Switch.UUID, "port "+p.UUID, "", false)
			if p.Chassis != "" {
				d.edge("port "+p.UUID, "chassis "+p.Chassis, "", false)
			}
		}
	}
}

func (d *drawing) vertex(object string, s shape, down bool, label ...string) {
	id := fmt.Sprintf("n%d", len(d.vertices)+1)
	d.ids[object] = id
	d.vertices = append(d.vertices, vertex{id, s, label, down})
}

// edge joins two objects if both are drawn.
func (d *drawing) edge(from, to, label string, dashed bool) {
	if d.ids[from] != "" && d.ids[to] != "" {
		d.edges = append(d.edges, edge{d.ids[from], d.ids[to], label, dashed})
	}
}

func topologyDOT(w io.Writer, t *topology.Topology) error {
	shapes := map[shape]string{shapeRouter: "diamond", shapeSwitch: "box", shapePort: "ellipse", shapeChassis: "box3d", shapeBridge: "component"}
	d := draw(t)
	var b strings.Builder
	b.WriteString("graph topology {\n  node [fontname=\"sans-serif\"];\n")
	for _, v := range d.vertices {
		color := ""
		if v.down {
			color = ", color=red"
		}
		fmt.Fprintf(&b, "  %s [shape=%s, label=%s%s];\n", v.id, shapes[v.shape], dotString(v.label), color)
	}
	for _, e := range d.edges {
		var attrs []string
		if e.label != "" {
			attrs = append(attrs, "label="+dotString([]string{e.label}))
		}
		if e.dashed {
			attrs = append(attrs, "style=dashed")
		}
		fmt.Fprintf(&b, "  %s -- %s", e.from, e.to)
		if len(attrs) > 0 {
			fmt.Fprintf(&b, " [%s]", strings.Join(attrs, ", "))
		}
		b.WriteString(";\n")
	}
	b.WriteString("}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// dotString returns lines as a quoted DOT string.
func dotString(lines []string) string {
	escaped := make([]string, len(lines))
	for i, l := range lines {
		escaped[i] = strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(Clean(l))
	}
	return `"` + strings.Join(escaped, `\n`) + `"`
}

func topologyMermaid(w io.Writer, t *topology.Topology) error {
	brackets := map[shape][2]string{
		shapeRouter: {"{{", "}}"}, shapeSwitch: {"[", "]"}, shapePort: {"(", ")"}, shapeChassis: {"[[", "]]"}, shapeBridge: {"[/", "/]"},
	}
	d := draw(t)
	var b strings.Builder
	b.WriteString("graph LR\n")
	down := false
	for _, v := range d.vertices {
		class := ""
		if v.down {
			class, down = ":::down", true
		}
		fmt.Fprintf(&b, "  %s%s%s%s%s\n", v.id, brackets[v.shape][0], mermaidString(v.label), brackets[v.shape][1], class)
	}
	for _, e := range d.edges {
		line := "---"
		if e.dashed {
			line = "-.-"
		}
		if e.label != "" {
			line += "|" + mermaidString([]string{e.label}) + "|"
		}
		fmt.Fprintf(&b, "  %s %s %s\n", e.from, line, e.to)
	}
	if down {
		b.WriteString("  classDef down stroke:red\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// mermaidString returns lines as a quoted Mermaid label, whose escapes are HTML's with # instead of &.
func mermaidString(lines []string) string {
	escaped := make([]string, len(lines))
	for i, l := range lines {
		escaped[i] = strings.NewReplacer(`#`, "#35;", `"`, "#quot;", "&", "#amp;", "<", "#lt;", ">", "#gt;", "`", "#96;").Replace(Clean(l))
	}
	return `"` + strings.Join(escaped, "<br>") + `"`
}
