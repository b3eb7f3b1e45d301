package ovn

import (
	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A program is a flow's actions, ready to run: fields resolved once.
type program []instruction

// An instruction is one action.
type instruction struct {
	run    func(*walker, *instruction) control
	action ovnexpr.Action
	a, b   ovnexpr.Ref  // the action's fields: those written, then those read; else its arguments
	c      ovnexpr.Ref  // a third argument
	result ovnexpr.Ref  // of a function; Symbol is nil if there is none
	value  packet.Value // of a load
	mask   packet.Value
	port   string  // of a load of a port, by name
	body   program // of a nested action
	last   bool    // nothing comes after it
}

// control is how a pipeline continues after an instruction.
type control uint8

const (
	proceed control = iota // with the next instruction
	jump                   // in the table that the walker names
	stop                   // not at all
)

// program returns a flow's program, compiled once.
func (e *Engine) program(f *logicalflow.Flow) program {
	return f.Program(e.compile).(program)
}

func (e *Engine) compileFlow(f *logicalflow.Flow) any {
	c := compiler{text: f.Row.Actions, table: ovnexpr.SymbolsOf(ovnexpr.Profile{
		Version: e.net.Version(), Conntrack: f.Row.Tags["acl_ct_translation"] == "true",
	})}
	return c.compile(f.Actions())
}

type compiler struct {
	text  string
	table *ovnexpr.Symbols
}

// ref resolves a field. Annotated actions always resolve.
func (c *compiler) ref(f ovnexpr.Field) ovnexpr.Ref {
	r, _ := c.table.Resolve(f, c.text)
	return r
}

func (c *compiler) compile(actions ovnexpr.Actions) program {
	p := make(program, len(actions))
	for i, a := range actions {
		p[i] = c.instruction(a)
		p[i].action, p[i].last = a, i == len(actions)-1
	}
	return p
}

func (c *compiler) instruction(a ovnexpr.Action) instruction {
	switch a := a.(type) {
	case *ovnexpr.Drop:
		return instruction{run: (*walker).drop}
	case *ovnexpr.Plain:
		return instruction{run: plain(a.Name)}
	case *ovnexpr.Next:
		return instruction{run: (*walker).next}
	case *ovnexpr.Load:
		return c.load(a)
	case *ovnexpr.Move:
		return instruction{run: (*walker).move, a: c.ref(a.To), b: c.ref(a.From)}
	case *ovnexpr.Exchange:
		return instruction{run: (*walker).exchange, a: c.ref(a.A), b: c.ref(a.B)}
	case *ovnexpr.Push:
		return instruction{run: (*walker).push, a: c.ref(a.Field)}
	case *ovnexpr.Pop:
		return instruction{run: (*walker).pop, a: c.ref(a.Field)}
	case *ovnexpr.DecTTL:
		return instruction{run: (*walker).decTTL}
	case *ovnexpr.Nested:
		return instruction{run: (*walker).nested, body: c.compile(a.Actions)}
	case *ovnexpr.Call:
		return c.call(a)
	case *ovnexpr.Select:
		return instruction{run: (*walker).selectMember, a: c.ref(a.To)}
	case *ovnexpr.PutOptions:
		return instruction{run: (*walker).putOptions, result: c.ref(a.Result)}
	case *ovnexpr.CheckPacketLarger:
		return instruction{run: (*walker).checkLength, result: c.ref(a.Result)}
	case *ovnexpr.DHCPRelay:
		return instruction{run: (*walker).relayDHCP, result: c.ref(a.Result)}
	case *ovnexpr.BindVirtual:
		return instruction{run: (*walker).bindVirtual, a: c.ref(a.Parent)}
	}
	return c.connection(a)
}

// connection compiles conntrack actions and those without fields.
func (c *compiler) connection(a ovnexpr.Action) instruction {
	switch a := a.(type) {
	case *ovnexpr.CTNext:
		return instruction{run: (*walker).ctNext}
	case *ovnexpr.CTCommit:
		return instruction{run: (*walker).ctCommit, body: c.compile(a.Actions)}
	case *ovnexpr.CTCommitTo:
		return instruction{run: (*walker).ctCommitTo}
	case *ovnexpr.CTNAT:
		return instruction{run: (*walker).ctNAT}
	case *ovnexpr.CTLB:
		return instruction{run: (*walker).ctLB}
	case *ovnexpr.ForwardGroup:
		return instruction{run: (*walker).forwardGroup}
	case *ovnexpr.CommitECMP:
		return instruction{run: (*walker).commitECMP}
	case *ovnexpr.CommitAffinity:
		return instruction{run: (*walker).commitAffinity}
	case *ovnexpr.Mirror:
		return instruction{run: (*walker).mirror}
	case *ovnexpr.TriggerEvent:
		return instruction{run: (*walker).toController}
	case *ovnexpr.Log, *ovnexpr.Sample:
		return instruction{run: noted(Observed)}
	case *ovnexpr.SetQueue, *ovnexpr.SetMeter:
		return instruction{run: noted(Limited)}
	}
	return instruction{run: (*walker).strange}
}

func (c *compiler) load(a *ovnexpr.Load) instruction {
	in := instruction{run: (*walker).load, a: c.ref(a.To)}
	switch a.Value.Kind {
	case ovnexpr.Integer:
		in.value, in.mask = a.Bits(in.a)
	case ovnexpr.String:
		in.run, in.port = (*walker).loadPort, a.Value.Text
	default: // a template variable without a value on the chassis
		in.run = (*walker).strange
	}
	return in
}

func (c *compiler) call(a *ovnexpr.Call) instruction {
	in := instruction{run: functions.Get()[a.Name]}
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
