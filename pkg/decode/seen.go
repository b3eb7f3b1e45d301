package decode

import "github.com/ovnctl/ovnctl/pkg/openflow"

// Seen is what a trace reply or a dump says of one OpenFlow flow of the
// integration bridge, as far as the decoder wants to know.
type Seen struct {
	Table    int
	Priority int
	Cookie   uint64
	// Metadata is the datapath's tunnel key that the flow matches on, 0 if it
	// matches on none.
	Metadata uint64
	// Resubmits are the tables of the flow's resubmit actions, in order, those
	// of nested actions included.
	Resubmits []int
}

// NewSeen takes from a flow what the decoder wants. A match of nil was not
// readable.
func NewSeen(table, priority int, cookie uint64, match *openflow.Match, actions openflow.Actions) Seen {
	seen := Seen{Table: table, Priority: priority, Cookie: cookie, Resubmits: resubmits(nil, actions)}
	if match != nil {
		if term, ok := match.Field("metadata"); ok && term.Mask == term.Field.Mask() {
			seen.Metadata = term.Value.Lo
		}
	}
	return seen
}

// SeenInTrace takes from a line of a trace that is a lookup what the decoder
// wants; it reports false for other lines and for lookups that found nothing.
func SeenInTrace(node *openflow.Node) (Seen, bool) {
	if node == nil || node.Step == nil || node.Step.Miss != openflow.Hit {
		return Seen{}, false
	}
	var actions openflow.Actions
	for _, child := range node.Children {
		if child.Kind == openflow.NodeAction && child.Action != nil {
			actions = append(actions, child.Action)
		}
	}
	step := node.Step
	return NewSeen(step.Table, step.Priority, step.Cookie, step.Match, actions), true
}

func resubmits(tables []int, actions openflow.Actions) []int {
	for _, action := range actions {
		switch action := action.(type) {
		case openflow.Resubmit:
			if action.Table != openflow.NoTable {
				tables = append(tables, action.Table.Number)
			}
		case openflow.Clone:
			tables = resubmits(tables, action.Actions)
		}
	}
	return tables
}

// SeenInBridge takes what the decoder wants from all lookups of a trace in one
// bridge, in their order.
func SeenInBridge(trace *openflow.Trace, bridge string) []Seen {
	var flows []Seen
	var walk func(nodes []*openflow.Node, in string)
	walk = func(nodes []*openflow.Node, in string) {
		for _, node := range nodes {
			if node.Kind == openflow.NodeBridge {
				in = node.Bridge
			}
			if seen, ok := SeenInTrace(node); ok && in == bridge {
				flows = append(flows, seen)
			}
			walk(node.Children, in)
		}
	}
	for _, pass := range trace.Passes {
		walk(pass.Roots, "")
	}
	return flows
}
