package ovssim

import (
	"fmt"
	"maps"
	"math"
	"math/bits"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// outputAction sends the packet to the port that an output action names.
func (x *translation) outputAction(a openflow.Output, last, bucket bool) {
	number := a.Port.Number
	if p := x.bridge.find(a.Port); a.Port.Name != "" && p != nil {
		number = p.number
	}
	if a.Src != nil {
		n := x.packet.read(*a.Src)
		if n.BitLen() > 16 {
			x.warn("output port %s is out of range", n.Decimal())
			return
		}
		x.detail("output port is %s", n.Decimal())
		x.touchPart(*a.Src)
		number = uint32(n.Lo)
	}
	if a.MaxLen != 0 && !x.truncate(number, a.MaxLen) {
		return
	}
	x.output(number, last, a.MaxLen != 0, bucket, a.Src == nil)
	if a.MaxLen != 0 && !x.bridge.can.truncate {
		x.unsupported()
	}
}

// truncate truncates the copy of the packet that the next output sends.
func (x *translation) truncate(number, most uint32) bool {
	name := packet.PortID{Number: number}.String()
	switch number {
	case packet.PortTable, packet.PortNormal, packet.PortFlood, packet.PortAll, packet.PortController, packet.PortAny:
		x.warn("output_trunc does not support port: %s", name)
		return false
	}
	if number == uint32(x.packet.number(inPort)) {
		x.skipped()
		return false
	}
	if p := x.bridge.ports[number]; number != packet.PortInPort && (p == nil || p.patch) {
		x.fault("output_trunc does not support patch port %s", name)
		return false
	}
	x.emit(fmt.Sprintf("trunc(%d)", most))
	return true
}

func (x *translation) skipped() { x.warn("skipping output to input port") }

// output sends the packet to a port by its number.
func (x *translation) output(number uint32, last, truncated, bucket, explicit bool) {
	own := x.packet.number(inPort)
	switch number {
	case packet.PortInPort:
		x.send(uint32(own), last, truncated)
	case packet.PortTable:
		x.resubmit(own, 0, false, false, x.plain)
	case packet.PortNormal:
		x.normal(last)
	case packet.PortFlood:
		x.flood(false, last)
	case packet.PortAll:
		x.flood(true, last)
	case packet.PortController:
		reason := "action"
		switch {
		case bucket:
			reason = "group"
		case x.inSet:
			reason = "action_set"
		}
		c := openflow.Controller{MaxLen: 65535, Reason: reason}
		if !explicit {
			c.MaxLen = 0
		}
		x.controller(c)
	case packet.PortAny:
	default:
		if uint64(number) == own {
			x.skipped()
			return
		}
		x.send(number, last, truncated)
	}
}

// flood sends the packet to all ports but the one it came from.
func (x *translation) flood(all, last bool) {
	list := slices.DeleteFunc(x.bridge.sendingOrder(), func(n uint32) bool {
		return uint64(n) == x.packet.number(inPort) || x.bridge.ports[n].noFlood && !all
	})
	for i, n := range list {
		x.send(n, last && i == len(list)-1, false)
	}
}

// sendingOrder returns the numbers of the ports in the order in which FLOOD and ALL send to them: that of a hash table into which the ports
// were put bundle by bundle. It doubles when it has twice as many ports as buckets. What comes into a bucket last is first there.
func (b *bridge) sendingOrder() []uint32 {
	var numbers []uint32
	for _, u := range b.bundles {
		for _, p := range u.ports {
			numbers = append(numbers, p.number)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(b.ports)) {
		if b.ports[n].bundle == nil {
			numbers = append(numbers, n)
		}
	}
	table := make([][]uint32, 1)
	put := func(n uint32) {
		i := hashWords(n, 0) & uint32(len(table)-1)
		table[i] = append([]uint32{n}, table[i]...)
	}
	for i, n := range numbers {
		put(n)
		if buckets := max(4, 1<<bits.Len(uint(i+1)/2)); i > 0 && buckets > len(table) {
			old := table
			table = make([][]uint32, buckets)
			for _, n := range slices.Concat(old...) {
				put(n)
			}
		}
	}
	return slices.Concat(table...)
}

// send sends the packet out of a port: into the datapath, a tunnel or another bridge.
func (x *translation) send(number uint32, last, truncated bool) {
	p := x.bridge.ports[number]
	switch {
	case p == nil:
		x.warn("Nonexistent output port")
		return
	case p.noForward:
		x.detail("OFPPC_NO_FWD set, skipping output")
		return
	case !x.passesTree(p):
		return
	}
	if in := x.bridge.ports[uint32(x.packet.number(inPort))]; in != nil && in.bundle != nil && p.bundle != nil && in.bundle.protected && p.bundle.protected {
		x.warn("Flow is between protected ports, skipping output.")
		return
	}
	if x.packet.number(packetType) != typeEthernet && !p.patch && (p.tunnel == nil || !p.tunnel.layer3 && !p.tunnel.anyType) {
		x.warn("Trying to send non-Ethernet packet through legacy L2 port. Dropping packet.")
		return
	}
	if p.peer != nil {
		if truncated {
			x.fault("Cannot truncate output to patch port")
		}
		x.enter(p.peer, last)
		return
	}
	if p.tunnel != nil {
		x.packet = x.sendTunnel(p, last, truncated)
		return
	}
	if p.datapath == "" {
		return
	}
	x.commit()
	if number := x.terminates(p); number != "" {
		x.emit("tnl_pop(" + number + ")")
		return
	}
	x.emit(p.datapath)
}

// enter takes the packet into a port's bridge, as if it had come in there.
func (x *translation) enter(p *port, last bool) {
	pkt, tracked, mpls, stack, set, home := x.packet, x.tracked, x.wasMPLS, x.stack, x.set, x.bridge
	x.stack, x.set = nil, nil
	x.packet.SetInPort(packet.PortID{Number: p.number})
	x.packet.ClearRegisters()
	x.packet.ClearTunnel()
	x.packet.set(actsetOutput, packet.PortUnset)
	x.packet.ClearConntrack()
	x.tracked = false
	x.bridge = p.bridge
	top := x.enters(p.bridge)
	if !x.owns(p) && x.receives(p) {
		done := len(x.out)
		x.below(top, func() {
			x.resubmit(uint64(p.number), 0, false, last, x.clone)
			if p.tree.forwards {
				x.conclude()
			} else {
				x.out, x.freezing = x.out[:done], false
			}
		})
	}
	x.packet, x.tracked, x.wasMPLS, x.stack, x.set, x.bridge = pkt, tracked, mpls, stack, set, home
	// What ends there does not end here.
	x.exit, x.failure = false, ""
}

// controller sends the packet to the controller, without changing it.
func (x *translation) controller(c openflow.Controller) {
	x.commit()
	id := x.recirculation(fmt.Sprintf("controller %x %s", c.Userdata, x.frozen(x.table)))
	if x.missed && (c.Reason == "" || c.Reason == "action") {
		c.Reason = "explicit_miss"
	}
	action := x.bridge.userspaceAction(c, x.silent(), id, x.cookie)
	if c.MeterID != 0 {
		action = fmt.Sprintf("sample(sample=100.0%%,actions(meter(%d),%s))", c.MeterID, action)
	}
	x.emit(action)
}

// silent reports whether the controller gets nothing: a trace sends nothing, but below a tunnel header it assumes that it does.
func (x *translation) silent() bool { return !x.wrapped && !x.generate }

// userspaceAction returns the datapath action by which ovs-vswitchd sends the packet to the controller.
func (b *bridge) userspaceAction(c openflow.Controller, quiet bool, id uint32, cookie uint64) string {
	number := map[bool]int{true: 1}
	return fmt.Sprintf("userspace(pid=%d,controller(reason=%d,dont_send=%d,continuation=%d,recirc_id=%d,rule_cookie=%s,controller_id=%d,max_len=%d))",
		b.handler(), controllerReason(c.Reason), number[quiet], number[c.Pause], id, hex(cookie), c.ID, c.MaxLen)
}

// handler is the Netlink port that gets packets from the datapath: in the kernel that of the processor's handler.
func (b *bridge) handler() uint32 {
	if b.userspace {
		return 0
	}
	return math.MaxUint32
}

// controllerReason returns a reason's number (ovs-actions(7), "The controller action").
func controllerReason(name string) int {
	if n := slices.Index([]string{"no_match", "action", "invalid_ttl", "action_set", "group", "packet_out", "explicit_miss"}, name); n >= 0 {
		return n
	}
	return 1
}
