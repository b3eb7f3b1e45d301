package ovssim

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A translation is one pass of a packet.
type translation struct {
	*tracer
	bridge *bridge
	table  int
	cookie uint64
	missed bool // no other flow of the table matched

	packet   frame       // as modified by the actions
	base     frame       // as the datapath has it so far
	priority uint64      // the packet's original one
	mask     packet.Flow // the bits examined or written
	stack    []saved
	set      []op // the action set
	out      []string
	size     int // of out and what is around it, in bytes; unless counted, an upper bound
	counted  bool
	sizes    map[string]int // of long actions around others
	around   []level
	slow     []string // why the datapath cannot do all of it

	nodes *[]*openflow.Node // where the next line goes

	depth, resubmits int
	exit             bool // stop this list of actions and those around it
	failure          string
	freezing         bool // the rest waits for a recirculation
	hash             string
	pause            *openflow.Controller // the controller action that resumes it; nil: none
	wasMPLS          bool
	tracked          bool // connection tracking has seen the packet
	nat              *openflow.NAT
	grouped          bool       // the action set has a group
	clauses          []int      // conjunction flows that led to the last lookup's result
	came             netip.Addr // where the packet's tunnel ended
	wrapped          bool       // it continues as a tunnel's payload
	sentTunnel       string     // the tunnel key set in the datapath
	inSet            bool
	wrapping         wrapping
}

// report adds a line.
func (x *translation) report(kind openflow.NodeKind, text string) *openflow.Node {
	if len(x.room) == 0 {
		x.room = make([]openflow.Node, 64) // one by one they cost more than everything else
	}
	n := &x.room[0]
	x.room = x.room[1:]
	n.Kind, n.Text, n.Table = kind, text, -1
	*x.nodes = append(*x.nodes, n)
	x.lines++
	return n
}

// expect allocates space for the lines below a node.
func (x *translation) expect(n *openflow.Node, lines int) {
	if len(x.links) < lines {
		x.links = make([]*openflow.Node, max(lines, 128))
	}
	n.Children = x.links[:0:lines]
	x.links = x.links[lines:]
}

func (x *translation) detail(format string, args ...any) {
	x.report(openflow.NodeDetail, fmt.Sprintf(format, args...))
}

func (x *translation) warn(format string, args ...any) {
	x.report(openflow.NodeWarning, fmt.Sprintf(format, args...))
}

func (x *translation) fault(format string, args ...any) {
	x.report(openflow.NodeError, fmt.Sprintf(format, args...))
}

// below runs f with its lines below a node.
func (x *translation) below(n *openflow.Node, f func()) {
	nodes := x.nodes
	x.nodes = &n.Children
	f()
	x.nodes = nodes
}

// emit adds a datapath action.
func (x *translation) emit(action string) {
	x.out = append(x.out, action)
	if x.counted {
		x.size += x.sizeOf(action)
	} else {
		x.size += mostOf(action)
	}
}

// emitAround adds a datapath action around others, which has so many bytes of its own.
func (x *translation) emitAround(format string, own int, inside []string) {
	action := fmt.Sprintf(format, join(inside))
	if len(action) > mostParsed {
		for _, a := range inside {
			own += x.sizeOf(a)
		}
		if x.sizes == nil {
			x.sizes = map[string]int{}
		}
		x.sizes[action] = own
	}
	x.emit(action)
}

// sizeOf returns how many bytes a datapath action takes.
func (x *translation) sizeOf(action string) int {
	if n, ok := x.sizes[action]; ok {
		return n
	}
	return size(action)
}

// larger reports whether the actions take more than so many bytes.
func (x *translation) larger(bytes int) bool {
	if x.size > bytes && !x.counted {
		x.count()
	}
	return x.size > bytes
}

// count finds out how large the actions are.
func (x *translation) count() {
	x.counted, x.size = true, 0
	for _, l := range append(x.around, level{x.out, 0}) {
		x.size += l.begun
		for _, action := range l.out {
			x.size += x.sizeOf(action)
		}
	}
}

// A level is actions around others, and how many bytes of the action that has those come before them.
type level struct {
	out   []string
	begun int
}

// nested runs f and returns the datapath actions that it adds, behind so many bytes of the action that they are in.
func (x *translation) nested(begun int, f func()) []string {
	before, size, counted := x.out, x.size, x.counted
	x.around = append(x.around, level{before, begun})
	x.out = nil
	x.size += begun
	f()
	added := x.out
	x.around = x.around[:len(x.around)-1]
	x.out, x.size = before, size
	if x.counted && !counted {
		x.count()
	}
	return added
}

// begin starts a pass: at the lookup in the first table, where it was frozen, or with actions.
func (x *translation) begin(r *resumption) {
	x.nodes = &x.enters(x.home).Children
	if r.id != 0 {
		thaw := x.report(openflow.NodeThaw, "thaw")
		x.below(thaw, func() {
			x.report(openflow.NodeThaw, fmt.Sprintf("Resuming from table %d", r.table)).Table = r.table
		})
		x.table = r.table
	} else if id := r.packet.number(recircID); id != 0 {
		x.fault("Recirculation context not found for ID %x", id)
		x.failure = "No recirculation context"
		return
	}
	entry := x.home.ports[uint32(x.base.number(inPort))]
	if r.id != 0 {
		entry = nil // it was received before
	}
	ops := r.ops
	if !r.packetOut {
		number := x.lookup(x.table, x.packet.number(inPort), true)
		ops = number.ops
		x.cookie, x.missed = number.cookie, number.miss
		x.nodes = &x.found(number).Children
	}
	if entry != nil && (x.owns(entry) || !x.receives(entry)) || !x.decapsulated() {
		return
	}
	x.do(ops, true, false)
	if x.failure != "" {
		return
	}
	if entry != nil && !entry.tree.forwards {
		x.out = nil // NORMAL has learned from the packet
		return
	}
	x.conclude()
}

// enters reports that the packet goes through a bridge.
func (x *translation) enters(b *bridge) *openflow.Node {
	n := x.report(openflow.NodeBridge, b.title)
	n.Bridge = b.name
	return n
}

// miss is what a lookup executes without a match: nothing.
var miss = program{}

// lookup finds the program that the packet matches in a table, as if it had come in by a port.
func (x *translation) lookup(table int, port uint64, received bool) *program {
	p := &x.packet.Flow
	if own := x.packet.number(inPort); own != port {
		name := p.InPort()
		p.Set(inPort, packet.Uint(port))
		defer p.SetInPort(name)
	}
	if x.packet.number(nwFrag)&1 != 0 {
		// Ports of fragments count as unknown, even in the first fragment.
		src, dst := p.Get(tpSrc), p.Get(tpDst)
		p.Set(tpSrc, packet.Value{})
		p.Set(tpDst, packet.Value{})
		defer func() {
			p.Set(tpSrc, src)
			p.Set(tpDst, dst)
		}()
	}
	x.table = table
	var index int
	if index, x.clauses = x.bridge.classifier.Lookup(table, p, &x.mask); index < 0 {
		return &miss
	}
	return x.bridge.program(index)
}

// found reports what a lookup found.
func (x *translation) found(p *program) *openflow.Node {
	if p != &miss {
		n := x.report(openflow.NodeTable, p.text)
		n.Step = &p.step
		x.expect(n, max(1, 2*len(p.ops))) // most are followed by their effects
		for _, i := range x.clauses {
			x.detail("conj. %s", x.bridge.classifier.Flow(i).Match.String())
		}
		x.clauses = nil
		return n
	}
	text, step := "No match.", openflow.Step{Table: x.table, Miss: openflow.MissDrop, MatchText: "No match."}
	if x.bridge != x.home {
		// Open vSwitch reports its internal flow for these.
		text = "reg0=0x2, priority 0"
		step.MatchText = "reg0=0x2"
	}
	n := x.report(openflow.NodeTable, fmt.Sprintf("%d. %s", x.table, text))
	n.Step = &step
	return n
}

// within reports whether the limits allow another lookup.
func (x *translation) within() bool {
	switch {
	case x.depth >= maxDepth:
		x.fault("over max translation depth %d", maxDepth)
		x.failure = "Recursion too deep"
	case x.resubmits >= maxResubmits:
		x.fault("over %d resubmit actions", maxResubmits)
		x.failure = "Too many resubmits"
	case x.larger(mostActions) || x.lines > maxLines:
		x.fault("resubmits yielded over 64 kB of actions")
		x.exit = true
	case stackSize(x.stack) >= maxStack:
		x.fault("resubmits yielded over 64 kB of stack")
		x.failure = "Stack too deep"
	default:
		return true
	}
	return false
}

// resubmit looks the packet up and executes what it finds.
func (x *translation) resubmit(port uint64, table int, original bool, last bool, execute func(ops []op, last bool)) {
	if x.wasMPLS {
		x.freeze()
		return
	}
	if !x.within() {
		return
	}
	from := x.table
	if original {
		if x.packet.number(ctProto) == 0 || !x.packet.ip() {
			x.fault("resubmit(ct) with non-tracked or non-IP packet!")
			return
		}
		x.swapTuple()
	}
	p := x.lookup(table, port, false)
	if original {
		x.swapTuple()
	}
	cookie, missed := x.cookie, x.missed
	x.below(x.found(p), func() {
		x.resubmits++
		if table <= from {
			x.depth++
			defer func() { x.depth-- }()
		}
		x.cookie, x.missed = p.cookie, p.miss
		execute(p.ops, last)
	})
	x.cookie, x.missed, x.table = cookie, missed, from
}

// swapTuple swaps the packet's addresses and ports with those of the original packet of its connection.
func (x *translation) swapTuple() {
	pairs := tuple4
	if x.packet.Meets(packet.NeedsIPv6) {
		pairs = tuple6
	}
	for _, f := range pairs {
		a, b := x.packet.Get(f[0]), x.packet.Get(f[1])
		x.packet.Set(f[0], b)
		x.packet.Set(f[1], a)
	}
}

var (
	tuple4 = [][2]*packet.Field{{ipSrc, &packet.CTNWSrc}, {ipDst, &packet.CTNWDst}, {nwProto, ctProto}, {tpSrc, &packet.CTTPSrc}, {tpDst, &packet.CTTPDst}}
	tuple6 = [][2]*packet.Field{{ipv6Src, &packet.CTIPv6Src}, {ipv6Dst, &packet.CTIPv6Dst}, {nwProto, ctProto}, {tpSrc, &packet.CTTPSrc}, {tpDst, &packet.CTTPDst}}
)

// freeze leaves the rest to a recirculation.
func (x *translation) freeze() {
	x.exit = true
	x.freezing = true
}

// conclude executes the action set, unless the rest waits for a recirculation.
func (x *translation) conclude() {
	if !x.freezing {
		x.actionSet()
	}
	if x.freezing {
		x.finish()
	}
}

// finish ends a frozen translation with a recirculation.
func (x *translation) finish() {
	x.commit()
	x.recirculate(0)
}

// recirculate adds the action that brings the packet back, unless the controller does.
func (x *translation) recirculate(table int) uint32 {
	id := x.recirculation(x.frozen(table))
	switch {
	case x.pause != nil && x.silent():
		return 0
	case x.pause != nil:
		x.emit(x.bridge.userspaceAction(*x.pause, false, id, x.cookie))
	default:
		if x.hash != "" {
			x.emit(x.hash)
		}
		x.emit("recirc(" + hex(uint64(id)) + ")")
	}
	x.freezing, x.hash, x.pause = false, "", nil
	return id
}

// frozen returns a key that is equal for passes that resume with the same state.
func (x *translation) frozen(table int) string {
	var words [32]uint64
	var room [512]byte
	b := append(append(room[:0], x.bridge.name...), 0, byte(table), bit(x.tracked), bit(x.wasMPLS), bit(x.pause != nil))
	for _, w := range frozenFields.Get().AppendValues(words[:0], &x.packet.Flow) {
		b = binary.BigEndian.AppendUint64(b, w)
	}
	for _, s := range x.stack {
		b = append(strconv.AppendInt(append(b, ','), int64(s.bits), 10), ':')
		b = append(b, s.value.Hex()...)
	}
	for i := range 64 {
		if x.packet.HasOption(i) {
			b = append(strconv.AppendInt(append(b, ';'), int64(i), 10), '=')
			b = append(b, x.packet.Get(packet.TunMetadata(i)).Hex()...)
		}
	}
	for _, o := range x.set {
		b = append(append(b, '\n'), o.text...)
	}
	return string(b)
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// frozenFields are the fields that a recirculation keeps.
var frozenFields = lazy.Value[packet.Pattern]{Make: func() packet.Pattern {
	var mask packet.Flow
	list := []*packet.Field{metadata, inPort, tunID, tunSrc, tunDst, tunIPv6Src, tunIPv6Dst, tunTOS, tunTTL, tunFlags, tunGBPID, tunGBPFlag}
	for i := range 32 {
		list = append(list, packet.Reg(i))
	}
	for _, f := range list {
		mask.Set(f, f.Mask())
	}
	return packet.NewPattern(&mask)
}}

// isolated runs f and restores what a copy of the packet may change.
func (x *translation) isolated(f func()) {
	packet, stack, set := x.packet, x.stack, x.set
	x.stack = append([]saved(nil), stack...)
	x.set = append([]op(nil), set...)
	f()
	x.packet, x.stack, x.set = packet, stack, set
}

// touchPart marks a sub-field as examined or written.
func (x *translation) touchPart(s packet.Subfield) { x.touch(s.Field, s.Mask()) }

// writes marks bits that an action writes. Since 4.0 the datapath does not match those of a tunnel for that.
func (x *translation) writes(f *packet.Field, bits packet.Value) {
	if !x.sw.eager || !f.IsOption() && !slices.Contains(tunnelHeaders, f) {
		x.touch(f, bits)
	}
}

// touch marks bits of the packet as examined or written.
func (x *translation) touch(f *packet.Field, bits packet.Value) { x.mask.SetMasked(f, bits, bits) }
