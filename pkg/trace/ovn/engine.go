package ovn

import (
	"context"
	"sync"

	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// Options are what a packet's headers do not tell.
type Options struct {
	// Length is the packet's length in bytes, Ethernet header included, for check_pkt_larger; 0: a short packet.
	Length int
	// Query is the name that a DNS request asks for; empty: one unknown to OVN.
	Query string
	// Assume makes a next hop reply whose MAC address no row of the Southbound has: an OVN port with the address, or a
	// host outside where one is possible. In reality OVN asks for the address and then sends the packet on. Without
	// Assume the packet ends as [Resolving].
	Assume bool
	// Branches bounds how many combinations of choices [Engine.Every] follows; 0: 64.
	Branches int
	// Lookup finds the flow that a packet hits; nil: [logicalflow.Network.Lookup]. A different one shows the path in a
	// changed network.
	Lookup func(context.Context, logicalflow.Table, *packet.Flow, logicalflow.Resident) (logicalflow.Hit, error)
}

// An Engine follows packets through a network. It is safe for concurrent use.
type Engine struct {
	net      *logicalflow.Network
	options  Options
	compile  func(*logicalflow.Flow) any // compileFlow, kept to avoid allocating it for each step
	fields   *fields
	names    sync.Map // of string: *logicalflow.Port, nil if no port has the name
	keys     sync.Map // of portName: uint64
	holders  sync.Map // of *logicalflow.Datapath: *holders
	resolved sync.Map // of neighbour: arpReply
	physical physical
}

// New returns an engine.
func New(net *logicalflow.Network, o Options) *Engine {
	if o.Branches == 0 {
		o.Branches = 64
	}
	if o.Lookup == nil {
		o.Lookup = net.Lookup
	}
	e := &Engine{net: net, options: o, fields: newFields(symbols(net))}
	e.compile = e.compileFlow
	return e
}

// Follow follows a packet to its end. Connections hold the state of earlier packets and keep what this one commits; nil
// means an empty state that is discarded. With a nil chooser the first possibility is taken. The error reports what
// could not be read; no fate of the packet is an error.
func (e *Engine) Follow(ctx context.Context, s Start, c *Connections, choose Chooser) (*Path, error) {
	if c == nil {
		c = &Connections{}
	}
	r := &run{engine: e, fields: e.fields, ctx: ctx, path: &Path{Start: s}, connections: c, chooser: choose}
	r.enter(s)
	if end := r.path.End(); r.err == nil && end != nil && end.End.Reason == Learning {
		r.again()
	}
	if r.err != nil {
		return nil, r.err
	}
	return r.path, nil
}

// again follows the packet when its sender sends it again: a new connection, of a client that is now known.
func (r *run) again() {
	first := r.path
	for _, z := range r.entered {
		of := r.connections.zones[z]
		r.connections.zones[z] = of[:len(of)-1]
	}
	r.entered, r.taken, r.memory = nil, 0, memory{}
	r.path = &Path{Start: first.Start, First: first, Choices: first.Choices}
	r.enter(first.Start)
}

// Every follows a packet once for each combination of choices and yields each path with the connections that it left,
// which start as a copy of c. It reports whether there were more combinations than [Options] allow.
func (e *Engine) Every(ctx context.Context, s Start, c *Connections, each func(*Path, *Connections) error) (more bool, err error) {
	var prefix []int // choices to make; the rest are the first
	for range e.options.Branches {
		asked := 0
		left := c.Clone()
		w, err := e.Follow(ctx, s, left, func(Choice) int {
			asked++
			if asked <= len(prefix) {
				return prefix[asked-1]
			}
			return 0
		})
		if err != nil {
			return false, err
		}
		if err := each(w, left); err != nil {
			return false, err
		}
		if prefix = following(w.Choices); prefix == nil {
			return false, nil
		}
	}
	return true, nil
}

// following returns the next combination of choices after those made; nil after the last.
func following(made []Choice) []int {
	var open []Choice
	for _, c := range made {
		if c.Of > 1 { // single choices are not asked for
			open = append(open, c)
		}
	}
	for i := len(open) - 1; i >= 0; i-- {
		if open[i].Index+1 < open[i].Of {
			next := make([]int, i+1)
			for j := range next {
				next[j] = open[j].Index
			}
			next[i]++
			return next
		}
	}
	return nil
}

// A Choice is a decision that OVN leaves to a hash of the packet.
type Choice struct {
	// Action is *ovnexpr.CTLB (Backends), *ovnexpr.Select (Members) or *ovnexpr.ForwardGroup (Ports): Index is into that list.
	Action ovnexpr.Action
	Index  int
	Of     int // the number of possibilities
}

// A Chooser picks one of a choice's possibilities: an index below Choice.Of. An index out of range means 0.
type Chooser func(Choice) int

// choose makes a choice. Choices for OVN's own replies are left open.
func (w *walker) choose(a ovnexpr.Action, of int) int {
	c := Choice{Action: a, Of: of}
	if of > 1 && w.run.chooser != nil && !w.aside {
		if i := w.run.chooser(c); i >= 0 && i < of {
			c.Index = i
		}
	}
	if !w.aside {
		w.note(Note{Kind: Chosen, Action: a, Choice: len(w.run.path.Choices)})
		w.run.path.Choices = append(w.run.path.Choices, c)
	}
	return c.Index
}
