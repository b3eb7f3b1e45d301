package ovssim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A program is a flow, ready to execute and report.
type program struct {
	ops    []op
	cookie uint64
	text   string // for the lookup that finds it
	miss   bool   // it is for what no other flow matches
	step   openflow.Step
}

// An op is an action with its text.
type op struct {
	action openflow.Action
	text   string
	inside []op // of clone and ct
}

// program returns a flow's program.
func (b *bridge) program(index int) *program {
	if p := b.programs[index].Load(); p != nil {
		return p
	}
	e := b.classifier.Flow(index)
	p := &program{ops: compile(b.nameOutputs(e.Actions)), cookie: e.Cookie, miss: e.Priority == 0 && len(e.Match.Terms) == 0}
	match := e.Match.String()
	p.step = openflow.Step{Table: max(e.Table.Number, 0), MatchText: match, Match: &e.Match, Priority: e.Priority, Cookie: e.Cookie}
	p.text = fmt.Sprintf("%d. %spriority %d", p.step.Table, strings.TrimPrefix(match+", ", ", "), e.Priority)
	if e.Cookie != 0 {
		p.text += fmt.Sprintf(", cookie 0x%x", e.Cookie)
	}
	b.programs[index].Store(p)
	return p
}

// nameOutputs gives outputs the names of their ports, if the trace uses names.
func (b *bridge) nameOutputs(list openflow.Actions) openflow.Actions {
	if !b.named {
		return list
	}
	named := slices.Clone(list)
	for i, a := range named {
		if o, ok := a.(openflow.Output); ok && o.Src == nil {
			if p := b.ports[o.Port.Number]; p != nil {
				o.Port = p.id()
				named[i] = o
			}
		}
	}
	return named
}

// compile turns actions into ops. "drop" is the empty list.
func compile(list openflow.Actions) []op {
	ops := make([]op, 0, len(list))
	for _, a := range list {
		o := op{action: a, text: a.String()}
		switch a := a.(type) {
		case openflow.Drop:
			continue
		case openflow.Clone:
			o.inside = compile(a.Actions)
		case openflow.CT:
			if a.NAT != nil {
				o.inside = append(o.inside, op{action: *a.NAT, text: a.NAT.String()})
			}
			o.inside = append(o.inside, compile(a.Exec)...)
		}
		ops = append(ops, o)
	}
	return ops
}

// reversible reports whether a clone of the actions needs none in the datapath.
func reversible(ops []op) bool {
	for _, o := range ops {
		switch a := o.action.(type) {
		case openflow.CT, openflow.Meter, openflow.NAT:
			return false
		case openflow.Output:
			if a.MaxLen != 0 {
				return false
			}
		case openflow.Other:
			if a.Name == "encap" || a.Name == "decap" || a.Name == "dec_nsh_ttl" {
				return false
			}
		}
	}
	return true
}

// outputs returns the port that an action certainly sends to.
func outputs(a openflow.Action) (uint32, bool) {
	o, ok := a.(openflow.Output)
	if !ok || o.Src != nil || o.MaxLen != 0 {
		return packet.PortUnset, false
	}
	return o.Port.Number, true
}
