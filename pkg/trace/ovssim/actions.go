package ovssim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// do executes actions. Last means that nothing comes after them, bucket that they are a group bucket's.
func (x *translation) do(ops []op, last, bucket bool) {
	if len(ops) == 0 {
		x.report(openflow.NodeAction, "drop").Action = openflow.Drop{}
		return
	}
	for i := range ops {
		if x.failure != "" {
			return
		}
		o := &ops[i]
		if x.wasMPLS && !x.exit && !beforeMPLS(o.action) {
			x.freeze()
		}
		if x.exit {
			return
		}
		x.report(openflow.NodeAction, o.text).Action = o.action
		if larger, ok := o.action.(openflow.CheckPktLarger); ok && x.bridge.can.lengths {
			x.checkPktLarger(larger, ops[i+1:])
			return
		}
		if !x.action(o, last && i == len(ops)-1 && len(x.set) == 0, bucket) {
			return
		}
	}
}

// beforeMPLS reports whether an action can be executed on a packet whose last MPLS label was popped and whose payload
// was not parsed yet.
func beforeMPLS(a openflow.Action) bool {
	switch a := a.(type) {
	case openflow.Output, openflow.SetQueue, openflow.Group:
		return true
	case openflow.Modify:
		switch a.Name {
		case "mod_vlan_vid", "mod_vlan_pcp", "set_vlan_vid", "set_vlan_pcp", "mod_dl_src", "mod_dl_dst", "set_tunnel", "set_tunnel64":
			return true
		}
	case openflow.SetField:
		return a.Field.Needs <= packet.NeedsMPLS
	case openflow.Load:
		return a.Dst.Field.Needs <= packet.NeedsMPLS
	case openflow.Other:
		return a.Name == "enqueue"
	}
	return false
}

// action executes one action, and reports whether those after it are executed too.
func (x *translation) action(o *op, last, bucket bool) bool {
	switch a := o.action.(type) {
	case openflow.SetField:
		x.setField(a.Field, a.Value, a.Mask)
	case openflow.Load:
		x.setField(a.Dst.Field, a.Value.Shl(a.Dst.Lo), a.Dst.Mask())
	case openflow.Move:
		x.move(a)
	case openflow.Modify:
		x.modify(a)
	case openflow.WriteMetadata:
		x.packet.SetMasked(metadata, a.Value, a.Mask)
	case openflow.Push:
		x.touchPart(a.Src)
		x.stack = append(x.stack, saved{x.packet.read(a.Src), a.Src.Bits})
	case openflow.Pop:
		x.pop(a.Dst)
	case openflow.PushVLAN:
		x.touchTags(0)
		x.packet.pushTag(a.EthType)
	case openflow.PopVLAN:
		x.touchTags(1)
		x.packet.popTag()
	case openflow.DecTTL:
		return x.decTTL(a)
	case openflow.SetQueue:
		x.touch(skbPriority, skbPriority.Mask())
		x.packet.set(skbPriority, x.queuePriority(a.Queue))
	case openflow.PopQueue:
		x.touch(skbPriority, skbPriority.Mask())
		if x.packet.number(skbPriority) != x.priority {
			x.packet.set(skbPriority, x.priority)
			x.detail("queue = %s", packet.Uint(x.priority).Hex())
		}
	case openflow.Resubmit:
		x.resubmitAction(a, last)
	case openflow.GotoTable:
		x.resubmit(x.packet.number(inPort), a.Table.Number, false, last, x.plain)
	case openflow.Output:
		x.outputAction(a, last, bucket)
	case openflow.Controller:
		if a.Pause {
			x.pause = &a
			x.freeze()
			break
		}
		x.controller(a)
	case openflow.Group:
		return x.group(a.ID, last)
	case openflow.CT:
		x.conntrack(a, o.inside, last)
	case openflow.NAT:
		x.nat = &a
	case openflow.CTClear:
		if x.tracked {
			x.untrack()
			if x.bridge.can.clearCT {
				x.emit("ct_clear")
			}
		}
	case openflow.CheckPktLarger: // by ovs-vswitchd, which knows the length of each packet; a trace has none
		a.Dst.Set(&x.packet.Flow, packet.Value{})
		x.unsupported()
	case openflow.Clone:
		x.clone(o.inside, last)
	case openflow.Meter:
		x.emit("meter(" + strconv.FormatUint(uint64(a.ID), 10) + ")")
	case openflow.Learn:
		x.learn(a)
	case openflow.Conjunction:
		x.fault("executing no-op conjunction action")
	case openflow.Exit:
		x.exit = true
	case openflow.WriteActions:
		x.writeActions(compile(a.Actions))
		x.reportSet("is")
	case openflow.ClearActions:
		x.reportSet("was")
		x.set, x.grouped = nil, false
		x.packet.set(actsetOutput, packet.PortUnset)
	case openflow.Other:
		return x.other(a, last, bucket)
	}
	return true
}

// plain executes what a resubmit finds.
func (x *translation) plain(ops []op, last bool) { x.do(ops, last, false) }

func (x *translation) resubmitAction(a openflow.Resubmit, last bool) {
	port, table := x.packet.number(inPort), a.Table.Number
	if a.Port != nil && a.Port.Number != packet.PortInPort {
		port = uint64(a.Port.Number)
		if known := x.bridge.find(*a.Port); a.Port.Name != "" && known != nil {
			port = uint64(known.number)
		}
	}
	if a.Table == openflow.NoTable || table == 255 {
		table = x.table
	}
	x.resubmit(port, table, a.CT, last, x.plain)
}

func (x *translation) setField(f *packet.Field, v, mask packet.Value) {
	if !x.meets(f) {
		if f == ethSrc || f == ethDst { // a dump does not tell mod_dl_dst, which examines it even so
			x.touch(f, mask)
		}
		x.warn("unmet prerequisites for %s, set_field ignored", f.Name)
		return
	}
	if f.Needs >= packet.NeedsIPv4 && f.Needs <= packet.NeedsARP {
		// A dump does not tell mod_nw_dst, which examines it, from set_field, which does not.
		x.touch(nwProto, nwProto.Mask())
	}
	x.writes(f, mask)
	x.packet.revive(f)
	x.packet.SetMasked(f, v, mask)
	x.tagged()
}

// touchTags marks the tags from one on as examined.
func (x *translation) touchTags(first int) {
	tags := []*packet.Field{outer, inner}
	for _, f := range tags[min(first, x.packet.tags()):x.packet.tags()] {
		x.touch(f, f.Mask())
	}
}

// tagged sets the type of VLAN tags that were created by writing a field.
func (x *translation) tagged() {
	for i, tag := range []*packet.Field{outer, inner} {
		if x.packet.number(tag)&tagPresent == 0 {
			x.packet.tagTypes[i] = 0
		} else if x.packet.tagTypes[i] == 0 {
			x.packet.tagTypes[i] = 0x8100
		}
	}
}

func (x *translation) move(a openflow.Move) {
	if x.meets(a.Dst.Field) && x.meets(a.Src.Field) {
		x.touchPart(a.Src)
		x.writes(a.Dst.Field, a.Dst.Mask())
		value := x.packet.read(a.Src)
		x.packet.revive(a.Dst.Field)
		a.Dst.Set(&x.packet.Flow, value)
		x.tagged()
	}
	x.now(a.Dst)
}

// now reports a sub-field's new value.
func (x *translation) now(s packet.Subfield) {
	v := s.Get(&x.packet.Flow)
	var room [64]byte
	b := append(s.Append(room[:0]), " is now "...)
	if s.Bits == s.Field.Bits {
		b = s.Field.AppendMasked(b, v, s.Field.Mask())
	} else {
		b = append(b, v.Hex()...)
	}
	x.report(openflow.NodeDetail, string(b))
}

func (x *translation) pop(dst packet.Subfield) {
	if len(x.stack) == 0 {
		x.fault("stack underflow")
		return
	}
	top := x.stack[len(x.stack)-1]
	x.stack = x.stack[:len(x.stack)-1]
	x.touchPart(dst)
	dst.Set(&x.packet.Flow, top.value)
	x.tagged()
	x.now(dst)
}

func (x *translation) modify(a openflow.Modify) {
	p := &x.packet
	switch a.Name {
	case "mod_vlan_vid", "mod_vlan_pcp":
		x.touch(a.Field, a.Field.Mask())
		p.Set(a.Field, a.Value)
		x.tagged()
	case "set_vlan_vid", "set_vlan_pcp":
		if p.tags() > 0 {
			x.touch(a.Field, a.Field.Mask())
			p.Set(a.Field, a.Value)
		}
	case "mod_nw_tos":
		if p.ip() {
			x.touch(nwProto, nwProto.Mask())
			x.touch(nwTOS, packet.Uint(0xfc))
			p.SetMasked(nwTOS, a.Value, packet.Uint(0xfc))
		}
	case "mod_tp_src", "mod_tp_dst":
		if p.ip() && !p.laterFragment() {
			x.touch(nwProto, nwProto.Mask())
			x.touch(a.Field, a.Field.Mask())
			p.Set(a.Field, a.Value)
		}
	default:
		if p.Meets(a.Field.Needs) {
			if a.Field.Needs >= packet.NeedsIPv4 && a.Field.Needs <= packet.NeedsIP {
				x.touch(nwProto, nwProto.Mask())
			}
			x.touch(a.Field, a.Field.Mask())
			p.Set(a.Field, a.Value)
		}
	}
}

func (x *translation) decTTL(a openflow.DecTTL) bool {
	x.touch(nwTTL, nwTTL.Mask())
	x.touch(nwProto, nwProto.Mask())
	if !x.packet.ip() {
		return true
	}
	if ttl := x.packet.number(nwTTL); ttl > 1 {
		x.packet.set(nwTTL, ttl-1)
		return true
	}
	for _, id := range a.Controllers() {
		x.controller(openflow.Controller{MaxLen: 65535, Reason: "invalid_ttl", ID: id})
	}
	version := 6
	if x.packet.number(ethType) == packet.EthIPv4 {
		version = 4
	}
	x.warn("IPv%d decrement TTL exception", version)
	return false
}

// queuePriority returns the datapath's priority for a queue: in the kernel a class number of its scheduler, whose minor
// number starts at 1.
func (x *translation) queuePriority(queue uint32) uint64 {
	if x.bridge.userspace {
		return uint64(queue)
	}
	return 0x10000 | uint64(queue+1)&0xffff
}

// clone executes actions on a copy of the packet.
func (x *translation) clone(ops []op, last bool) {
	finish := func(last bool) {
		x.do(ops, last, false)
		x.conclude()
	}
	undone := reversible(ops)
	if last || undone && !x.sw.eager {
		x.isolated(func() { finish(last) })
		return
	}
	x.commit()
	around, own, can := x.aroundClone()
	base, mpls, tracked := x.base, x.wasMPLS, x.tracked
	begun := own
	if undone {
		begun = 0
	}
	var inside []string
	if undone || can {
		x.isolated(func() { inside = x.nested(begun, func() { finish(true) }) })
	}
	switch {
	case undone && !slices.ContainsFunc(inside, irreversible):
		for _, action := range inside {
			x.emit(action)
		}
		return
	case !can:
		x.fault("Failed to compose clone action")
		return
	case len(inside) > 0:
		x.emitAround(around, own, inside)
	}
	x.base, x.wasMPLS, x.tracked = base, mpls, tracked
}

// aroundClone returns what the datapath has around the actions on a copy, and how many bytes that is; false if it cannot have any.
func (x *translation) aroundClone() (format string, own int, can bool) {
	const needed = 3
	if x.bridge.can.clone {
		return "clone(%s)", attrHeader, true
	}
	return "sample(sample=100.0%%,actions(%s))", 3*attrHeader + 4, x.bridge.can.nesting > needed
}

// irreversible reports whether a datapath action changes what those behind it cannot undo.
func irreversible(action string) bool {
	name, _, _ := strings.Cut(action, "(")
	switch name {
	case "drop", "ct", "meter", "trunc", "recirc", "tnl_push", "tnl_pop", "push_nsh", "pop_nsh", "push_eth", "pop_eth":
		return true
	}
	return false
}

// checkPktLarger executes the remaining actions twice, once for each result.
func (x *translation) checkPktLarger(a openflow.CheckPktLarger, rest []op) {
	x.commit()
	base, mpls, tracked := x.base, x.wasMPLS, x.tracked
	var results [2]string
	for i := range results {
		x.isolated(func() {
			results[i] = join(x.nested(attrHeader, func() {
				a.Dst.Set(&x.packet.Flow, packet.Uint(uint64(1-i)))
				x.do(rest, true, false)
				x.conclude()
			}))
		})
		x.base, x.wasMPLS, x.tracked = base, mpls, tracked
		if i == 0 {
			defer func(exit bool) { x.exit = exit }(x.exit)
			x.exit = false
		}
	}
	for i, s := range results {
		if s == "" {
			results[i] = "drop"
		}
	}
	x.emit(fmt.Sprintf("check_pkt_len(size=%d,gt(%s),le(%s))", a.Size, results[0], results[1]))
}

// writeActions adds to the action set.
func (x *translation) writeActions(ops []op) {
	for _, o := range ops {
		if x.grouped {
			break
		}
		if port, ok := outputs(o.action); ok {
			x.packet.set(actsetOutput, uint64(port))
		}
		if _, ok := o.action.(openflow.Group); ok {
			x.packet.set(actsetOutput, packet.PortUnset)
			x.grouped = true
		}
	}
	x.set = append(x.set[:len(x.set):len(x.set)], ops...)
}

func (x *translation) reportSet(verb string) {
	list := ordered(x.set)
	if len(list) == 0 {
		x.detail("action set %s empty", verb)
		return
	}
	text := ""
	for i, o := range list {
		if i == 0 {
			text = o.text
			continue
		}
		text += "," + o.text
	}
	x.detail("action set %s: %s", verb, text)
}

// actionSet executes the action set and empties it.
func (x *translation) actionSet() {
	list := ordered(x.set)
	x.set = nil
	if len(list) == 0 {
		return
	}
	x.inSet = true
	x.below(x.report(openflow.NodeTable, "Executing action set:"), func() { x.do(list, true, false) })
	x.inSet = false
}

// ordered returns an action set in execution order: by kind, the last of each kind, and only one action that sends the
// packet away.
func ordered(set []op) []op {
	var kinds [setLast + 1][]op
	for _, o := range set {
		kind := setOrder(o.action)
		if kind != setSets {
			kinds[kind] = nil // the last one counts
		}
		kinds[kind] = append(kinds[kind], o)
	}
	list := slices.Concat(kinds[:setSends]...)
	for _, sends := range kinds[setSends:] {
		if len(sends) > 0 {
			return append(list, sends...)
		}
	}
	return nil // nothing sends the packet anywhere
}

// Kinds of actions in an action set that are not a kind of their own.
const (
	setSets  = 9
	setSends = 11
	setLast  = 15
)

// setOrder returns an action's place in the order of an action set (ovs-actions(7), "The Action Set").
func setOrder(a openflow.Action) int {
	switch a := a.(type) {
	case openflow.PopVLAN:
		return 0
	case openflow.PushVLAN:
		return 6
	case openflow.DecTTL:
		return 7
	case openflow.SetQueue:
		return 10
	case openflow.Group:
		return setSends
	case openflow.Output:
		return setSends + 1
	case openflow.Resubmit:
		return setSends + 2
	case openflow.CT:
		return setSends + 3
	case openflow.Other:
		switch a.Name {
		case "decap":
			return 1
		case "pop_mpls":
			return 2
		case "encap":
			return 4
		case "push_mpls":
			return 5
		case "dec_mpls_ttl":
			return 8
		}
	}
	return setSets
}
