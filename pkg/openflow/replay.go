package openflow

import (
	"cmp"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A Replayed is an executed pass of a trace.
type Replayed struct {
	Pass   *Pass
	Parent int // index of the pass it was forked from; -1: none or unknown
	Event  int // index of the event in Parent that forked it; -1: unknown
	Start  packet.Flow
	Final  packet.Flow // after all actions, like the reply's "Final flow:"
	Events []Event
	Elided bool // lines are missing or extra, so Flow and Final are unreliable

	home  string // see machine
	stack []saved
}

// Replay executes the actions in a trace's reply on its initial flow and returns one Replayed per pass.
//
// The reply omits part of the flow: the tunnel key of a packet received from a tunnel. So start, if not nil, is the
// flow given to ofproto/trace; its tunnel key is used where the reply prints none. A pass that prints no flow at all
// uses the whole of start.
func Replay(t *Trace, start *packet.Flow) []*Replayed {
	var done []*Replayed
	var queue []fork // copies that will come back, in order
	room := maxEvents
	for i, p := range t.Passes {
		r := &Replayed{Pass: p, Parent: -1, Event: -1}
		var from fork
		switch {
		case p.Recirc == nil && start != nil:
			from.flow = *start
		case p.Recirc != nil && p.Recirc.Conntrack && len(queue) > 0:
			from, queue = queue[0], queue[1:]
			r.Parent, r.Event = from.pass, from.event
			done[from.pass].Events[from.event].Conntrack.Fork = i
		}
		r.home, r.stack = from.bridge, from.stack
		n := lookups(p.Roots)
		m := machine{flow: from.flow, stack: from.stack, home: from.bridge, step: -1, pass: i, room: room, events: make([]Event, 0, min(n+n/4+2, max(room, 0)))}
		if p.Flow != nil {
			m.flow = *p.Flow
			unhide(&m.flow, &from.flow)
		}
		r.Start = m.flow
		m.tracked = m.flow.Uint("ct_state")&packet.CTTracked != 0 || p.Recirc != nil && p.Recirc.Conntrack
		m.run(p.Roots)
		r.Final, r.Events, r.Elided = m.flow, m.events, m.elided
		room -= len(m.events)
		done = append(done, r)
		queue = append(queue, m.forks...)
	}
	return done
}

// lookups returns how many lookups lines show; most events are theirs.
func lookups(nodes []*Node) int {
	n := 0
	for _, node := range nodes {
		if node.Kind == NodeTable {
			n++
		}
		n += lookups(node.Children)
	}
	return n
}

// Again executes a pass that comes after conntrack on another packet: one that the flows do not tell from the first. It keeps the
// passes that the copies come back in.
func (r *Replayed) Again(p *packet.Flow) *Replayed {
	m := machine{flow: *p, stack: r.stack, home: r.home, step: -1, tracked: true, room: maxEvents, events: make([]Event, 0, len(r.Events))}
	m.run(r.Pass.Roots)
	again := *r
	again.Start, again.Final, again.Events, again.Elided = *p, m.flow, m.events, m.elided
	for i, e := range again.Events {
		if e.Conntrack != nil && i < len(r.Events) && r.Events[i].Conntrack != nil {
			e.Conntrack.Fork = r.Events[i].Conntrack.Fork
		}
	}
	return &again
}

// unhide gives a printed flow the tunnel key, which is not printed.
func unhide(printed, known *packet.Flow) {
	if printed.Uint("tun_id") == 0 && printed.Uint("tun_dst") == known.Uint("tun_dst") {
		printed.SetUint("tun_id", known.Uint("tun_id"))
	}
}

// maxEvents bounds Replay's events.
const maxEvents = 1 << 16

// A fork is a copy of the packet that conntrack will bring back.
type fork struct {
	pass, event int
	bridge      string
	flow        packet.Flow
	stack       []saved
}

// saved is a stack entry.
type saved struct {
	value packet.Value
	port  packet.PortID // of in_port, whose name is not in the value
}

// A machine executes the lines of one pass.
type machine struct {
	flow   packet.Flow
	stack  []saved
	home   string // bridge where the pass begins, unless the reply shows another
	bridge string
	step   int // index of the step whose actions are executed
	clones int
	pass   int
	events []Event
	forks  []fork
	elided bool
	// tracked: conntrack has seen the packet, so ct_clear has an effect. A clone that the switch does not pass to the
	// datapath leaves it changed.
	tracked bool
	room    int // remaining events
}

// A walk is a place in a list of lines.
type walk struct{ rest []*Node }

func (w *walk) peek() *Node {
	if len(w.rest) == 0 {
		return nil
	}
	return w.rest[0]
}

func (w *walk) take() *Node {
	n := w.rest[0]
	w.rest = w.rest[1:]
	return n
}

// remarks consumes the details, warnings and errors after an action.
func (w *walk) remarks() []*Node {
	var list []*Node
	for n := w.peek(); n != nil && (n.Kind == NodeDetail || n.Kind == NodeWarning || n.Kind == NodeError); n = w.peek() {
		list = append(list, w.take())
	}
	return list
}

func (m *machine) run(nodes []*Node) {
	w := &walk{nodes}
	for w.peek() != nil {
		m.next(w)
	}
}

func (m *machine) next(w *walk) {
	n := w.take()
	if len(m.events) >= m.room {
		m.elided = true
		return
	}
	switch n.Kind {
	case NodeTable:
		m.lookup(n)
	case NodeBridge:
		if m.bridge == "" {
			// Above a recirculation the reply prints the bridge where the trace began, even if the copy comes back in
			// another.
			m.bridge = cmp.Or(m.home, n.Bridge)
			m.run(n.Children)
			return
		}
		m.enter(n, nil)
	case NodeBucket:
		m.isolated(func() { m.run(n.Children) })
	case NodeError:
		m.emit(Event{Kind: EventError, Node: n, Text: n.Text})
	case NodeWarning:
		m.emit(Event{Kind: EventWarning, Node: n, Text: n.Text})
	case NodeDetail:
		m.remark(n)
	case NodeElided:
		m.elided = true
	case NodeAction:
		m.action(w, n)
	}
}

// emit adds an event with the current packet.
func (m *machine) emit(e Event) *Event {
	e.Bridge, e.Parent, e.Clone, e.Flow = m.bridge, m.step, m.clones, m.flow
	m.events = append(m.events, e)
	return &m.events[len(m.events)-1]
}

func (m *machine) lookup(n *Node) {
	if n.Step == nil { // the action set
		m.run(n.Children)
		return
	}
	m.emit(Event{Kind: EventStep, Node: n, Step: n.Step})
	outer := m.step
	m.step = len(m.events) - 1
	m.run(n.Children)
	m.step = outer
}

// isolated runs f and restores the packet and the stack.
func (m *machine) isolated(f func()) {
	packet, stack := m.flow, m.stack
	m.stack = append([]saved(nil), stack...)
	m.clones++
	f()
	m.clones--
	m.flow, m.stack = packet, stack
}

// enter follows the packet into another bridge. Metadata, registers, tunnel and conntrack state stay behind. outer, if
// not nil, is the outer packet.
func (m *machine) enter(n *Node, outer *packet.Flow) {
	tracked := m.tracked
	m.isolated(func() {
		bridge, step := m.bridge, m.step
		if outer != nil {
			m.flow = *outer
		}
		m.flow.ClearRegisters()
		m.flow.ClearTunnel()
		m.flow.ClearConntrack()
		m.flow.SetInPort(entrance(n))
		m.stack, m.bridge, m.tracked = nil, n.Bridge, false
		m.run(n.Children)
		m.bridge, m.step = bridge, step
	})
	m.tracked = tracked
}

// entrance is the packet's input port in a bridge, if the first lookup names it.
func entrance(bridge *Node) packet.PortID {
	for _, n := range bridge.Children {
		if n.Step == nil || n.Step.Match == nil {
			continue
		}
		term, _ := n.Step.Match.Field("in_port")
		return term.Port
	}
	return packet.PortID{}
}

// remark applies "-> FIELD is now VALUE".
func (m *machine) remark(n *Node) {
	name, value, ok := strings.Cut(n.Text, " is now ")
	if !ok {
		return
	}
	sub, err := packet.ParseSubfield(name)
	if err != nil {
		return
	}
	if v, _, err := sub.Field.ParseValue(value); err == nil && sub.Get(&m.flow) != v {
		sub.Set(&m.flow, v)
	}
}
