package microflow

import (
	"fmt"
	"slices"
	"strings"
)

// A Kind is the kind of a trace node; formats differ in the kinds that they show.
type Kind string

// Kinds of nodes.
const (
	Output         Kind = "output"         // what became of the packet
	Modify         Kind = "modify"         // a packet field changed
	Action         Kind = "action"         // an action of a logical flow
	Fault          Kind = "error"          // something that ovn-trace does not support
	Pipeline       Kind = "pipeline"       // a packet enters a pipeline
	Table          Kind = "table"          // the flow that it hits
	Transformation Kind = "transformation" // a packet is made from this one
)

// A Node is a line of a trace, with its children.
type Node struct {
	Kind  Kind    `json:"kind"`
	Text  string  `json:"text"`
	Hit   *Hit    `json:"flow,omitempty"` // for a table
	Nodes []*Node `json:"nodes,omitempty"`

	indent bool // below a multicast group
}

// A Hit is the JSON contract of the logical flow that a table's node hit.
type Hit struct {
	UUID     string   `json:"uuid"`
	Datapath string   `json:"datapath"`
	Pipeline string   `json:"pipeline"`
	Table    int      `json:"table"`
	Stage    string   `json:"stage"`
	Priority int      `json:"priority"`
	Match    string   `json:"match"`
	Actions  string   `json:"actions"`
	Ties     []string `json:"ties,omitempty"` // UUIDs of other matching flows of the same priority
}

func (n *Node) add(kind Kind, format string, args ...any) *Node {
	sub := &Node{Kind: kind, Text: fmt.Sprintf(format, args...)}
	n.Nodes = append(n.Nodes, sub)
	return sub
}

// line reports whether nodes of the kind are printed below their parent, wherever that is.
func (k Kind) line() bool { return k == Output || k == Modify || k == Action || k == Fault }

// details writes the nodes table by table.
func details(b *strings.Builder, nodes []*Node, level int) {
	for i, n := range nodes {
		if n.Kind == Modify {
			continue
		}
		deeper := 0
		if i < len(nodes)-1 || n.indent || n.Kind.line() {
			deeper = 1
		}
		margin := strings.Repeat(" ", 4*(level+deeper))
		if n.Kind == Pipeline || n.Kind == Transformation {
			fmt.Fprintf(b, "\n%s%s\n%s%s\n", margin, n.Text, margin, strings.Repeat("-", len(n.Text)))
		} else {
			fmt.Fprintf(b, "%s%s\n", margin, n.Text)
		}
		details(b, n.Nodes, level+2*deeper)
	}
}

// without returns the nodes with those of some kinds replaced by their children.
func without(nodes []*Node, kinds ...Kind) []*Node {
	var kept []*Node
	for _, n := range nodes {
		subs := without(n.Nodes, kinds...)
		if slices.Contains(kinds, n.Kind) {
			kept = append(kept, subs...)
			continue
		}
		kept = append(kept, &Node{Kind: n.Kind, Text: n.Text, Nodes: subs})
	}
	return kept
}

// blocks writes the nodes as nested blocks.
func blocks(b *strings.Builder, nodes []*Node, level int) {
	margin := strings.Repeat(" ", 4*level)
	for _, n := range nodes {
		if n.Kind == Action && strings.HasPrefix(n.Text, "next(") {
			continue
		}
		b.WriteString(margin + n.Text)
		if len(n.Nodes) > 0 {
			b.WriteString(" {\n")
			blocks(b, n.Nodes, level+1)
			b.WriteString(margin + "}")
		}
		if n.Kind != Action {
			b.WriteByte(';')
		}
		b.WriteByte('\n')
	}
}

// A Format is a set of the formats of ovn-trace.
type Format uint8

// Formats of ovn-trace.
const (
	Detailed Format = 1 << iota // table by table
	Summary                     // without tables
	Minimal                     // what is visible from outside
	All      = Detailed | Summary | Minimal
)

// Text returns the trace as ovn-trace prints it. No format means Detailed.
func (r *Result) Text(f Format) string {
	if f == 0 {
		f = Detailed
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", printPacket(&r.Flow))
	title := func(one Format, name string) bool {
		if f&one != 0 && f != one {
			fmt.Fprintf(&b, "# %s trace.\n", name)
		}
		return f&one != 0
	}
	root := []*Node{r.Root}
	if title(Detailed, "Detailed") {
		details(&b, root, 0)
	}
	if title(Summary, "Summary") {
		blocks(&b, without(root, Modify, Table), 0)
	}
	if title(Minimal, "Minimal") {
		blocks(&b, without(root, Action, Pipeline, Table, Output), 0)
	}
	return b.String()
}
