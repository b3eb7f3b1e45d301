package ovs

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A learned flow is one that the packet has installed: ofproto/trace executes no learn action, so the reply would not
// hit it (ovs-actions(7), "The learn action").
type learned struct {
	node, bridge string
	table        int
	match        []learnedTerm
	actions      []string
}

type learnedTerm struct {
	field packet.Subfield
	value packet.Value
}

// learn stores the flow that a learn action installs for a packet. A flow with terms that are not understood is
// skipped.
func (c *Conntrack) learn(node, bridge string, action openflow.Learn, packet *packet.Flow) {
	l := learned{node: node, bridge: bridge}
	for _, a := range action.Args {
		if !l.add(a, packet) {
			return
		}
	}
	c.learned = append(c.learned, l)
}

func (l *learned) add(a openflow.LearnArg, pkt *packet.Flow) bool {
	switch {
	case a.Form == openflow.LearnAction:
		l.actions = append(l.actions, a.Key+":"+a.Value+"->"+a.Dst)
		return a.Key == "load" && !strings.Contains(a.Value, "[")
	case a.Key == "table":
		table, err := strconv.Atoi(a.Value)
		l.table = table
		return err == nil
	case a.Form == openflow.LearnFlag && !strings.HasSuffix(a.Key, "]"), slices.Contains(properties, a.Key):
		return true
	}
	field, err := packet.ParseSubfield(a.Key)
	if err != nil {
		return false
	}
	value := field.Get(pkt)
	switch {
	case strings.HasSuffix(a.Value, "]"):
		source, err := packet.ParseSubfield(a.Value)
		if err != nil {
			return false
		}
		value = source.Get(pkt)
	case a.Value != "":
		if value, _, err = field.Field.ParseValue(a.Value); err != nil {
			return false
		}
	}
	l.match = append(l.match, learnedTerm{field, value})
	return true
}

// properties are arguments of learn that do not affect the flow's match.
var properties = []string{"priority", "cookie", "idle_timeout", "hard_timeout", "fin_idle_timeout", "fin_hard_timeout", "send_flow_rem", "limit", "result_dst"}

// knows finds the learned flow that a packet hits in a table; nil if there is none.
func (c *Conntrack) knows(node, bridge string, table int, packet *packet.Flow) *learned {
	for i, l := range c.learned {
		if l.node == node && l.bridge == bridge && l.table == table &&
			!slices.ContainsFunc(l.match, func(t learnedTerm) bool { return t.field.Get(packet) != t.value }) {
			return &c.learned[i]
		}
	}
	return nil
}

// learn stores the flows that the pass would have installed.
func (r *reading) learn() {
	for _, e := range r.replayed.Events {
		if e.Kind != openflow.EventStep {
			continue
		}
		for _, n := range e.Node.Children {
			if action, ok := n.Action.(openflow.Learn); ok {
				r.ct.learn(r.node, e.Bridge, action, &e.Flow)
			}
		}
	}
}

// relearned returns the pass as it would be with the flows that the packet has installed: it starts with the actions of
// the step that looked one up, with the flow's actions in place of the lookup.
func (r *reading) relearned() (pass, bool) {
	for _, e := range r.replayed.Events {
		if e.Kind != openflow.EventStep || e.Step.Miss == openflow.Hit || e.Parent < 0 {
			continue
		}
		l := r.ct.knows(r.node, e.Bridge, e.Step.Table, &e.Flow)
		if l == nil {
			continue
		}
		return r.instead(e.Parent, func(n *openflow.Node) []string {
			if resubmit, ok := n.Action.(openflow.Resubmit); ok && resubmit.Table.Number == l.table {
				return l.actions
			}
			return []string{n.Text}
		}), true
	}
	return pass{}, false
}

// instead returns the pass that begins with other actions than those of a step.
func (r *reading) instead(step int, of func(*openflow.Node) []string) pass {
	var actions []string
	at := r.replayed.Events[step]
	for _, n := range at.Node.Children {
		if n.Kind == openflow.NodeAction {
			actions = append(actions, of(n)...)
		}
	}
	steps := append(r.before[:len(r.before):len(r.before)], r.steps(step)...)
	return pass{Start: Start{Bridge: at.Bridge, Packet: at.Flow, Actions: strings.Join(actions, ",")}, before: steps, told: r.told}
}
