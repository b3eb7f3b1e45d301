package openflow

import (
	"strings"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// action executes the action in line n, which w has just passed.
func (m *machine) action(w *walk, n *Node) {
	switch a := n.Action.(type) {
	case SetField:
		m.set(a.Field, func() { m.flow.SetMasked(a.Field, a.Value, a.Mask) })
	case Load:
		m.set(a.Dst.Field, func() { a.Dst.Set(&m.flow, a.Value) })
	case Move:
		if m.flow.Meets(a.Src.Field.Needs) {
			m.set(a.Dst.Field, func() { a.Dst.Set(&m.flow, a.Src.Get(&m.flow)) })
		}
	case Modify:
		m.modify(a)
	case WriteMetadata:
		m.flow.SetMasked(&packet.Metadata, a.Value, a.Mask)
	case Push:
		m.stack = append(m.stack, saved{a.Src.Get(&m.flow), m.flow.InPort()})
	case Pop:
		if next := w.peek(); next == nil || next.Kind != NodeError { // not "stack underflow"
			m.pop(a.Dst)
		}
	case DecTTL:
		m.decTTL(n)
	case PushVLAN:
		m.pushVLAN()
	case PopVLAN:
		m.popVLAN()
	case CTClear:
		if m.tracked {
			m.untrack()
		}
	case CT:
		m.conntrack(w, n, a)
	case Clone:
		m.clone(w, a)
	case Output:
		m.output(w, n, a)
	case Controller:
		m.emit(Event{Kind: EventController, Node: n, Controller: &ControllerEvent{
			Userdata: a.Userdata, Pause: a.Pause, Reason: a.Reason, MeterID: a.MeterID}})
	case Group:
		m.group(w, n, a)
	case CheckPktLarger:
		m.checkPktLarger(w, n, a)
	case Drop:
		m.drop(n)
	case Resubmit, GotoTable, Meter, SetQueue, PopQueue, Note, Conjunction, Learn, Exit, WriteActions, ClearActions:
		// The following lines show what a resubmit found; the others change nothing visible in the packet.
	default:
		if port, ok := firstMember(n.Action); ok {
			m.output(w, n, Output{Port: port})
			return
		}
		if next := w.peek(); next != nil && next.Kind == NodeDetail && strings.Contains(next.Text, " is now ") {
			return // the reply shows what it did
		}
		m.emit(Event{Kind: EventUnknown, Node: n, Text: n.Text})
	}
}

// firstMember is the port that a bundle action sends to, as far as its arguments show: with active_backup, which OVN
// uses, the first member unless its link is down.
func firstMember(a Action) (packet.PortID, bool) {
	bundle, ok := a.(Other)
	if !ok || bundle.Name != "bundle" {
		return packet.PortID{}, false
	}
	for _, arg := range bundle.Args {
		if arg.Key == "members" || arg.Key == "slaves" {
			port, err := packet.ParsePort(arg.Value)
			return port, err == nil
		}
	}
	return packet.PortID{}, false
}

// drop handles "drop", printed for a flow without actions and also below a failed lookup, where the step already covers
// it.
func (m *machine) drop(n *Node) {
	if m.step >= 0 && m.events[m.step].Step.Miss != Hit {
		return
	}
	m.emit(Event{Kind: EventDrop, Node: n})
}

// set writes a field if the packet has it.
func (m *machine) set(f *packet.Field, write func()) {
	if m.flow.Meets(f.Needs) {
		write()
	}
}

func (m *machine) modify(a Modify) {
	switch a.Name {
	case "mod_nw_tos": // leaves ECN alone
		m.set(a.Field, func() { m.flow.SetMasked(a.Field, a.Value, packet.Uint(0xfc)) })
	case "mod_tp_src", "mod_tp_dst":
		if m.flow.Meets(packet.NeedsTCP) || m.flow.Meets(packet.NeedsUDP) || m.flow.Meets(packet.NeedsSCTP) {
			m.flow.Set(a.Field, a.Value)
		}
	default:
		m.set(a.Field, func() { m.flow.Set(a.Field, a.Value) })
	}
}

func (m *machine) pop(dst packet.Subfield) {
	if len(m.stack) == 0 {
		return
	}
	top := m.stack[len(m.stack)-1]
	m.stack = m.stack[:len(m.stack)-1]
	dst.Set(&m.flow, top.value)
	if dst.Field.Name == "in_port" && top.value == packet.Uint(uint64(top.port.Number)) {
		m.flow.SetInPort(top.port)
	}
}

func (m *machine) decTTL(n *Node) {
	if !m.flow.Meets(packet.NeedsIP) {
		return
	}
	if ttl := m.flow.Uint("nw_ttl"); ttl > 1 {
		m.flow.SetUint("nw_ttl", ttl-1)
		return
	}
	m.emit(Event{Kind: EventController, Node: n, Controller: &ControllerEvent{Reason: "invalid_ttl"}})
}

func (m *machine) pushVLAN() {
	m.flow.SetUint("vlan_tci1", m.flow.Uint("vlan_tci"))
	m.flow.SetUint("vlan_tci", 0x1000)
}

func (m *machine) popVLAN() {
	m.flow.SetUint("vlan_tci", m.flow.Uint("vlan_tci1"))
	m.flow.SetUint("vlan_tci1", 0)
}

// conntrack sends the packet to conntrack. The reply prints ct's nested actions on lines of their own, or "drop" if
// there are none.
func (m *machine) conntrack(w *walk, n *Node, a CT) {
	ct := &ConntrackEvent{Action: a, Zone: a.Zone, Fork: -1}
	if a.ZoneSrc != nil {
		ct.Zone = uint16(a.ZoneSrc.Get(&m.flow).Lo)
	}
	e := Event{Kind: EventCommit, Node: n, Conntrack: ct}
	if a.Table != NoTable {
		e.Kind = EventRecirculate
	}
	m.emit(e)
	event := len(m.events) - 1
	before := m.flow
	m.inside(w, a)
	ct.marks(&m.flow)
	forked := a.Table != NoTable
	for _, r := range w.remarks() {
		if strings.HasPrefix(r.Text, "Failed to trace the conntrack forked pipeline") {
			forked = false
		}
	}
	if forked {
		m.forks = append(m.forks, fork{m.pass, event, m.bridge, before, append([]saved(nil), m.stack...)})
	}
	m.untrack()
}

func (m *machine) untrack() {
	m.flow.ClearConntrack()
	m.tracked = false
}

// inside executes the lines of ct's nested actions.
func (m *machine) inside(w *walk, a CT) {
	lines := len(a.Exec)
	if a.NAT != nil {
		lines++
	}
	if n := w.peek(); lines == 0 && n != nil && n.Action == (Drop{}) {
		w.take()
	}
	for n := w.peek(); n != nil; n = w.peek() {
		if n.Kind == NodeDetail && strings.Contains(n.Text, " is now ") {
			m.remark(w.take())
			continue
		}
		if n.Kind != NodeAction || lines == 0 {
			return
		}
		w.take()
		if _, nat := n.Action.(NAT); !nat {
			m.action(w, n)
		}
		lines--
	}
}

// marks sets which bits of mark and label exec's actions write, and their values in p, the packet after them.
func (ct *ConntrackEvent) marks(p *packet.Flow) {
	var mask, label packet.Value
	write := func(f *packet.Field, bits packet.Value) {
		switch f.Name {
		case "ct_mark":
			mask = mask.Or(bits)
		case "ct_label":
			label = label.Or(bits)
		}
	}
	for _, a := range ct.Action.Exec {
		switch a := a.(type) {
		case SetField:
			write(a.Field, a.Mask)
		case Load:
			write(a.Dst.Field, a.Dst.Mask())
		case Move:
			write(a.Dst.Field, a.Dst.Mask())
		}
	}
	ct.Mark, ct.MarkMask = uint32(p.Uint("ct_mark")&mask.Lo), uint32(mask.Lo)
	ct.Label, ct.LabelMask = p.Get(&packet.CTLabel).And(label), label
}

// clone executes a clone's actions, which the reply prints on the following lines, and restores everything.
func (m *machine) clone(w *walk, a Clone) {
	if tracked := m.tracked; !a.Actions.reversible() {
		defer func() { m.tracked = tracked }()
	}
	m.isolated(func() {
		m.follow(w, a.Actions)
		// What the last nested action did.
		for n := w.peek(); n != nil && (n.Kind != NodeAction || m.elided); n = w.peek() {
			m.next(w)
		}
	})
}

// follow executes lines as long as they match a list of actions.
func (m *machine) follow(w *walk, list Actions) {
	for i, a := range list {
		n := m.expect(w, a)
		if n == nil {
			return
		}
		if larger, ok := a.(CheckPktLarger); ok {
			w.take()
			m.branches(n, larger, func() { m.followRest(w, list[i+1:]) })
			return
		}
		m.next(w)
	}
}

// followRest executes the actions after check_pkt_larger, for one of its results.
func (m *machine) followRest(w *walk, list Actions) {
	if n := w.peek(); len(list) == 0 && n != nil && n.Action == (Drop{}) {
		w.take()
	}
	m.follow(w, list)
	for n := w.peek(); n != nil && n.Kind != NodeAction; n = w.peek() {
		m.next(w)
	}
}

// reversible reports whether Open vSwitch can clone the actions without a datapath clone.
func (list Actions) reversible() bool {
	for _, a := range list {
		switch a.(type) {
		case CT, Meter, CheckPktLarger, Other:
			return false
		}
	}
	return true
}

// expect executes lines up to the action that must come next and returns it unexecuted. It returns nil if another comes
// instead, because an error ended the list.
func (m *machine) expect(w *walk, want Action) *Node {
	for n := w.peek(); n != nil; n = w.peek() {
		if n.Kind != NodeAction {
			m.next(w)
			continue
		}
		if n.Action == nil || n.Action.String() != want.String() {
			return nil
		}
		return n
	}
	return nil
}

// group executes a group's buckets, each on a copy of the packet.
func (m *machine) group(w *walk, n *Node, a Group) {
	g := &GroupEvent{ID: a.ID}
	for _, next := range w.rest {
		if next.Kind != NodeDetail && next.Kind != NodeBucket {
			break
		}
		if next.Kind == NodeBucket {
			digits := strings.TrimRight(strings.TrimPrefix(next.Text, "bucket "), ":")
			if id, err := number(digits, 31, 0); err == nil {
				g.Buckets = append(g.Buckets, int(id))
			}
		}
		if next.Text == "no live bucket" {
			g.NoBucket = true
		}
	}
	m.emit(Event{Kind: EventGroup, Node: n, Group: g})
}

// checkPktLarger follows both results. The reply prints the rest of the flow's actions twice: first as if the packet
// were larger, then as if not.
func (m *machine) checkPktLarger(w *walk, n *Node, a CheckPktLarger) {
	first, second := halves(w.rest)
	w.rest = nil
	lines := first
	m.branches(n, a, func() {
		if len(lines) != 1 || lines[0].Action != (Drop{}) { // nothing follows
			m.run(lines)
		}
		lines = second
	})
}

// branches calls rest once per result of check_pkt_larger.
func (m *machine) branches(n *Node, a CheckPktLarger, rest func()) {
	tracked := m.tracked
	for bit := uint64(1); ; bit-- {
		m.isolated(func() {
			a.Dst.Set(&m.flow, packet.Uint(bit))
			m.emit(Event{Kind: EventCheckPktLarger, Node: n, Larger: &LargerEvent{a.Size, bit == 1}})
			rest()
		})
		m.tracked = tracked
		if bit == 0 {
			return
		}
	}
}

// halves splits lines where their actions repeat. If they do not, there is only a first half.
func halves(lines []*Node) (first, second []*Node) {
	var at []int
	for i, n := range lines {
		if n.Kind == NodeAction {
			at = append(at, i)
		}
	}
	half := len(at) / 2
	if half == 0 || len(at)%2 == 1 {
		return lines, nil
	}
	for i := range half {
		if lines[at[i]].Text != lines[at[i+half]].Text {
			return lines, nil
		}
	}
	return lines[:at[half]], lines[at[half]:]
}
