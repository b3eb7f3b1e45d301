package logical

import (
	"github.com/ovnctl/ovnctl/pkg/expr"
	"github.com/ovnctl/ovnctl/pkg/flow"
	"github.com/ovnctl/ovnctl/pkg/lflow"
)

// A program is the actions of a flow, ready to run: fields resolved once.
type program []instruction

// An instruction is one action.
type instruction struct {
	run    func(*walker, *instruction) control
	action expr.Action
	a, b   expr.Ref   // the fields of the action: what is written, then what is read; else its arguments
	c      expr.Ref   // a third argument
	result expr.Ref   // of a function; Symbol is nil if it has none
	value  flow.Value // of a load
	mask   flow.Value
	port   string  // of a load of a port, by name
	body   program // of a nested action
	last   bool    // nothing follows it
}

// control says how a pipeline goes on after an instruction.
type control uint8

const (
	proceed control = iota // with the next instruction
	jump                   // in the table that the walker names
	stop                   // not at all
)

// program returns the program of a flow, which is made once.
func (e *Engine) program(f *lflow.Flow) program {
	return f.Program(e.compile).(program)
}

func (e *Engine) compileFlow(f *lflow.Flow) any {
	c := compiler{text: f.Row.Actions, table: expr.SymbolsOf(expr.Profile{
		Version: e.net.Version(), Conntrack: f.Row.Tags["acl_ct_translation"] == "true",
	})}
	return c.compile(f.Actions())
}

type compiler struct {
	text  string
	table *expr.Symbols
}

// ref resolves a field. The actions were annotated, so that it resolves.
func (c *compiler) ref(f expr.Field) expr.Ref {
	r, _ := c.table.Resolve(f, c.text)
	return r
}

func (c *compiler) compile(actions expr.Actions) program {
	p := make(program, len(actions))
	for i, a := range actions {
		p[i] = c.instruction(a)
		p[i].action, p[i].last = a, i == len(actions)-1
	}
	return p
}

func (c *compiler) instruction(a expr.Action) instruction {
	switch a := a.(type) {
	case *expr.Drop:
		return instruction{run: (*walker).drop}
	case *expr.Plain:
		return instruction{run: plain(a.Name)}
	case *expr.Next:
		return instruction{run: (*walker).next}
	case *expr.Load:
		return c.load(a)
	case *expr.Move:
		return instruction{run: (*walker).move, a: c.ref(a.To), b: c.ref(a.From)}
	case *expr.Exchange:
		return instruction{run: (*walker).exchange, a: c.ref(a.A), b: c.ref(a.B)}
	case *expr.Push:
		return instruction{run: (*walker).push, a: c.ref(a.Field)}
	case *expr.Pop:
		return instruction{run: (*walker).pop, a: c.ref(a.Field)}
	case *expr.DecTTL:
		return instruction{run: (*walker).decTTL}
	case *expr.Nested:
		return instruction{run: (*walker).nested, body: c.compile(a.Actions)}
	case *expr.Call:
		return c.call(a)
	case *expr.Select:
		return instruction{run: (*walker).selectMember, a: c.ref(a.To)}
	case *expr.PutOptions:
		return instruction{run: (*walker).putOptions, result: c.ref(a.Result)}
	case *expr.CheckPacketLarger:
		return instruction{run: (*walker).checkLength, result: c.ref(a.Result)}
	case *expr.DHCPRelay:
		return instruction{run: (*walker).relayDHCP, result: c.ref(a.Result)}
	case *expr.BindVirtual:
		return instruction{run: (*walker).bindVirtual, a: c.ref(a.Parent)}
	}
	return c.connection(a)
}

// connection compiles actions of conntrack, and those that need no field.
func (c *compiler) connection(a expr.Action) instruction {
	switch a := a.(type) {
	case *expr.CTNext:
		return instruction{run: (*walker).ctNext}
	case *expr.CTCommit:
		return instruction{run: (*walker).ctCommit, body: c.compile(a.Actions)}
	case *expr.CTCommitTo:
		return instruction{run: (*walker).ctCommitTo}
	case *expr.CTNAT:
		return instruction{run: (*walker).ctNAT}
	case *expr.CTLB:
		return instruction{run: (*walker).ctLB}
	case *expr.ForwardGroup:
		return instruction{run: (*walker).forwardGroup}
	case *expr.CommitECMP:
		return instruction{run: (*walker).commitECMP}
	case *expr.CommitAffinity:
		return instruction{run: (*walker).commitAffinity}
	case *expr.Mirror:
		return instruction{run: (*walker).mirror}
	case *expr.TriggerEvent:
		return instruction{run: (*walker).toController}
	case *expr.Log, *expr.Sample:
		return instruction{run: noted(Observed)}
	case *expr.SetQueue, *expr.SetMeter:
		return instruction{run: noted(Limited)}
	}
	return instruction{run: (*walker).strange}
}

func (c *compiler) load(a *expr.Load) instruction {
	in := instruction{run: (*walker).load, a: c.ref(a.To)}
	switch a.Value.Kind {
	case expr.Integer:
		in.value, in.mask = a.Bits(in.a)
	case expr.String:
		in.run, in.port = (*walker).loadPort, a.Value.Text
	default: // a template variable that has no value on the chassis
		in.run = (*walker).strange
	}
	return in
}

func (c *compiler) call(a *expr.Call) instruction {
	in := instruction{run: functions[a.Name]}
	if in.run == nil {
		in.run = (*walker).strange
	}
	for i, arg := range a.Args {
		switch i {
		case 0:
			in.a = c.ref(arg)
		case 1:
			in.b = c.ref(arg)
		case 2:
			in.c = c.ref(arg)
		}
	}
	if a.Result != nil {
		in.result = c.ref(*a.Result)
	}
	return in
}
