package ovssim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// Options are the options of ofproto/trace.
type Options struct {
	// Next are the connection tracking states in which the packet comes back, in order, as --ct-next gives them. After
	// the last, it is the state of the packet's connection, trk|new if that is unknown.
	Next []uint32
	// Generate has the switch learn from the packet, as from a real one: flows by learn, and addresses by NORMAL. No other trace
	// may run meanwhile.
	Generate bool
	// Actions, if not nil, replace the first lookup, as in ofproto/trace-packet-out.
	Actions openflow.Actions
}

// Open vSwitch's limits.
const (
	maxDepth     = 64       // nested resubmits back to earlier tables
	maxResubmits = 64 * 64  // lookups per pass
	maxStack     = 64 << 10 // bytes
	maxPasses    = 4096     // recirculations per trace, since 3.5
	maxLines     = 1 << 18  // per trace; our limit
)

// Trace follows a packet through the tables of a bridge and of other bridges that it enters, and returns the reply that
// ofproto/trace would give. The bridge must be one of the switch.
func (sw *Switch) Trace(bridge string, p packet.Flow, o Options) (*openflow.Trace, error) {
	b := sw.bridge(bridge)
	if b == nil {
		return nil, fmt.Errorf("no bridge %s among %s", bridge, strings.Join(sw.bridgeNames(), ", "))
	}
	if port := p.InPort(); port.Name != "" && port.Number == 0 {
		known := b.find(port)
		if known == nil {
			return nil, fmt.Errorf("no port %s on bridge %s", port.Name, bridge)
		}
		p.SetInPort(packet.PortID{Number: known.number})
	} else if port.Number == 0 {
		p.SetInPort(packet.PortID{Number: packet.PortAny})
	}
	p.Set(actsetOutput, packet.Value{})
	t := tracer{sw: sw, home: b, next: slices.Clone(o.Next), generate: o.Generate}
	first := &resumption{packet: newPacket(p), bridge: b}
	if o.Actions != nil {
		first.ops, first.packetOut = compile(o.Actions), true
	}
	t.pass(first)
	t.release()
	for len(t.queue) > 0 && len(t.reply.Passes) < maxPasses && t.lines < maxLines {
		r := t.queue[0]
		t.queue = t.queue[1:]
		t.resume(r)
		t.pass(r)
		t.release()
	}
	return &t.reply, nil
}

// bridgeNames returns the bridges' names.
func (sw *Switch) bridgeNames() []string {
	var names []string
	for _, b := range sw.bridges {
		names = append(names, b.name)
	}
	return names
}

func (sw *Switch) bridge(name string) *bridge {
	for _, b := range sw.bridges {
		if b.name == name {
			return b
		}
	}
	return nil
}

// A tracer follows one packet through all its passes.
type tracer struct {
	sw     *Switch
	home   *bridge
	next   []uint32
	reply  openflow.Trace
	queue  []*resumption
	ids    map[string]uint32 // of recirculations, by what they resume
	lastID uint32
	lines  int

	generate bool      // the switch learns
	lessons  []*lesson // of the current pass

	room  []openflow.Node  // for future lines
	links []*openflow.Node // to such lines

	translation translation // the current pass
}

// A resumption is the starting state of a pass.
type resumption struct {
	packet    frame
	bridge    *bridge
	table     int
	id        uint32 // 0: the packet as it arrived
	zone      uint16
	nat       *openflow.NAT
	stack     []saved
	set       []op // the action set
	ops       []op // instead of the first lookup; nil: look up
	packetOut bool
	recirc    *openflow.Recirc

	connection *connection // whose state the packet has; nil: that of Options, or new
}

// A saved value is an entry of the push and pop stack.
type saved struct {
	value packet.Value
	bits  int
}

// stackSize returns how many bytes Open vSwitch needs for a stack.
func stackSize(list []saved) int {
	n := 0
	for _, s := range list {
		n += (s.bits+7)/8 + 1
	}
	return n
}

// resume gives the packet the fields that connection tracking would set.
func (t *tracer) resume(r *resumption) {
	recirc := &openflow.Recirc{ID: r.id, Conntrack: true}
	r.packet.set(ctZone, uint64(r.zone))
	r.packet.set(recircID, uint64(r.id))
	r.recirc = recirc
	if c := r.connection; c != nil {
		recirc.Connection = c.Connection
		recirc.NATBefore, recirc.NATAfter = c.resume(&r.packet, r.nat != nil)
		recirc.NAT = recirc.NATBefore != ""
		recirc.CTState = uint32(r.packet.number(ctState))
		return
	}
	recirc.CTState, recirc.Default = packet.CTTracked|packet.CTNew, true
	if len(t.next) > 0 {
		recirc.CTState, recirc.Default = t.next[0], false
		t.next = t.next[1:]
	}
	if r.nat != nil {
		recirc.NAT = true
		recirc.NATBefore, recirc.NATAfter = translate(&r.packet, r.nat)
	}
	r.packet.set(ctState, uint64(recirc.CTState))
}

// pass translates the packet from one recirculation to the next.
func (t *tracer) pass(r *resumption) {
	p := &openflow.Pass{Recirc: r.recirc}
	start := r.packet.Flow
	t.name(r.bridge, &start)
	p.Flow, p.FlowText = &start, start.Trace()
	x := &t.translation
	*x = translation{tracer: t, bridge: r.bridge, packet: r.packet, base: r.packet, stack: r.stack, set: r.set, nodes: &p.Roots,
		tracked: r.id != 0 || r.packet.number(ctState)&packet.CTTracked != 0}
	x.came = r.packet.destination()
	x.priority = r.packet.number(skbPriority)
	x.base.ClearTunnel()
	x.packet.set(actsetOutput, packet.PortUnset)
	x.received()
	x.begin(r)
	t.apply()
	final := x.packet.Flow
	final.Set(actsetOutput, packet.Value{})
	t.name(r.bridge, &final)
	if final.Equal(&start) {
		p.Final, p.FinalText = p.Flow, "unchanged"
	} else {
		p.Final, p.FinalText = &final, final.Trace()
	}
	p.DatapathActions, p.Failure = "drop", x.failure
	if x.failure == "" {
		x.forget(&start)
		if x.larger(mostActions - attrHeader) { // more than an attribute has room for
			x.unsupported()
		}
		if len(x.out) > 0 {
			p.DatapathActions = unwrapped(x.out)
		}
		p.SlowPath = x.slow
	}
	p.Megaflow = x.megaflow(&start)
	t.reply.Passes = append(t.reply.Passes, p)
}

// name gives in_port its name, if the trace uses names.
func (t *tracer) name(b *bridge, p *packet.Flow) {
	if port := b.ports[p.InPort().Number]; t.sw.names && port != nil {
		p.SetInPort(port.id())
	}
}

// unwrapped joins datapath actions. The last needs no clone: nothing comes after it.
func unwrapped(list []string) string {
	last := list[len(list)-1]
	if inside, ok := strings.CutPrefix(last, "clone("); ok {
		list = append(list[:len(list)-1:len(list)-1], strings.TrimSuffix(inside, ")"))
	}
	return join(list)
}

// recirculation returns the id under which a pass resumes; equal passes share one.
func (t *tracer) recirculation(key string) uint32 {
	id := t.ids[key]
	if id == 0 {
		t.lastID++
		id = t.lastID
		if t.ids == nil {
			t.ids = map[string]uint32{}
		}
		t.ids[key] = id
	}
	return id
}

// release forgets the ids under which no pass waits: an equal one that comes later gets another.
func (t *tracer) release() {
	maps.DeleteFunc(t.ids, func(_ string, id uint32) bool {
		return !slices.ContainsFunc(t.queue, func(r *resumption) bool { return r.id == id })
	})
}
