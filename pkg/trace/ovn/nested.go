package ovn

import (
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// Nested actions run on another packet: a copy, or one that ovn-controller makes.

// nested makes the packet of a nested action and runs the action's body on it.
func (w *walker) nested(in *instruction) control {
	name := in.action.(*ovnexpr.Nested).Name
	if name == "clone" {
		w.body(w.open(Cloned, name), in)
		return proceed
	}
	f, t := w.run.fields, w.tuple()
	child := w.open(Replied, name)
	child.aside = true
	child.settle()
	child.packet.ClearConntrack()
	switch name {
	case "arp":
		child.makeARP()
		return w.await(child, in)
	case "nd_ns":
		child.makeSolicitation()
		return w.await(child, in)
	case "nd_na", "nd_na_router":
		child.makeAdvertisement()
		w.end(journey.Consumed, Replying, nil)
	default:
		if isError(f, &w.packet, t) { // no errors about errors
			child.end(journey.Dropped, Finished, nil)
			w.end(journey.Dropped, DropAction, nil)
			return proceed
		}
		child.about = &t
		child.makeError(name)
		w.end(journey.Rejected, Refused, nil)
	}
	w.body(child, in)
	return proceed
}

// await ends the packet's path: it waits for the reply to a request. Since 24.03 flows also send it on, to no MAC
// address, which nobody accepts.
func (w *walker) await(question *walker, in *instruction) control {
	w.end(journey.Consumed, Resolving, nil)
	w.body(question, in)
	return stop
}

// body runs the body of a nested action on its packet.
func (w *walker) body(child *walker, in *instruction) {
	child.visit.Packet = child.packet
	if child.depth > maxDepth || len(w.run.path.Visits) > maxVisits {
		child.limit("the packet passes too many datapaths")
		return
	}
	child.execute(in.body)
	child.finish()
}

// isError reports whether a packet is itself an error or a reset.
func isError(f *fields, p *packet.Flow, t packet.Tuple) bool {
	return isICMPError(f, p) || t.Proto == packet.ProtoTCP && f.tcpFlags.Get(p).Lo&packet.TCPReset != 0
}

// put writes a field of the packet that a visit starts with.
func (w *walker) put(r ovnexpr.Ref, v uint64) { r.Set(&w.packet, packet.Uint(v)) }

// makeARP makes the packet an ARP request for its destination.
func (w *walker) makeARP() {
	f, p := w.run.fields, &w.packet
	var src, dst packet.Value
	if isIPv4(f, p) {
		src, dst = f.src4.Get(p), f.dst4.Get(p)
	}
	w.strip()
	w.put(f.ethType, packet.EthARP)
	w.put(f.arpOp, 1)
	f.arpSPA.Set(p, src)
	f.arpTPA.Set(p, dst)
	f.arpSHA.Set(p, f.ethSrc.Get(p))
	f.arpTHA.Set(p, packet.Value{})
}

// strip removes the headers above Ethernet.
func (w *walker) strip() {
	f := w.run.fields
	for _, r := range [...]ovnexpr.Ref{f.src4, f.dst4, f.src6, f.dst6, f.proto, f.ttl, f.frag, f.srcPort, f.dstPort, f.tcpFlags} {
		r.Set(&w.packet, packet.Value{})
	}
}

// makeSolicitation makes the packet a neighbour solicitation for its destination.
func (w *walker) makeSolicitation() {
	f, p := w.run.fields, &w.packet
	src, dst := f.src6.Get(p), f.dst6.Get(p)
	w.strip()
	w.put(f.ethType, packet.EthIPv6)
	f.src6.Set(p, src)
	group := packet.Value{Hi: 0xff02 << 48, Lo: 1<<32 | 0xff<<24 | dst.Lo&0xffffff} // ff02::1:ffXX:XXXX
	f.dst6.Set(p, group)
	w.put(f.ethDst, 0x3333<<32|group.Lo&0xffffffff)
	w.icmp6(135)
	f.ndTarget.Set(p, dst)
	f.ndSLL.Set(p, f.ethSrc.Get(p))
	f.ndTLL.Set(p, packet.Value{})
}

// makeAdvertisement makes the packet the reply to a neighbour solicitation.
func (w *walker) makeAdvertisement() {
	f, p := w.run.fields, &w.packet
	target, src := f.ndTarget.Get(p), f.src6.Get(p)
	ethSrc, ethDst := f.ethSrc.Get(p), f.ethDst.Get(p)
	f.ethSrc.Set(p, ethDst)
	f.ethDst.Set(p, ethSrc)
	f.src6.Set(p, target)
	f.dst6.Set(p, src)
	w.icmp6(136)
	f.ndTLL.Set(p, packet.Value{})
}

// icmp6 makes an IPv6 packet a neighbour discovery packet.
func (w *walker) icmp6(kind uint64) {
	f := w.run.fields
	w.put(f.proto, packet.ProtoICMPv6)
	w.put(f.ttl, 255)
	w.put(f.icmp6Type, kind)
	w.put(f.icmp6Code, 0)
}

// makeError makes the packet an error about itself, or a reset of its connection. A rejection goes back where the
// packet came from; for the others the body decides where they go.
func (w *walker) makeError(name string) {
	f, p := w.run.fields, &w.packet
	proto := f.proto.Get(p).Lo
	if name == "reject" {
		w.swap()
	}
	w.put(f.ttl, 255)
	w.put(f.frag, 0)
	switch {
	case name == "tcp_reset", name == "reject" && proto == packet.ProtoTCP:
		w.swapPorts()
		w.put(f.tcpFlags, packet.TCPReset|packet.TCPACK)
	case name == "sctp_abort", name == "reject" && proto == packet.ProtoSCTP:
		w.swapPorts()
	default:
		w.put(f.srcPort, 0)
		w.put(f.dstPort, 0)
		w.put(f.tcpFlags, 0)
		w.unreachable(name == "reject")
	}
}

// unreachable makes the packet an ICMP error: the port is unreachable, or else the host.
func (w *walker) unreachable(port bool) {
	f := w.run.fields
	if isIPv4(f, &w.packet) {
		w.put(f.proto, packet.ProtoICMP)
		w.put(f.icmpType, 3)
		w.put(f.icmpCode, 1)
		if port {
			w.put(f.icmpCode, 3)
		}
		return
	}
	w.put(f.proto, packet.ProtoICMPv6)
	w.put(f.icmp6Type, 1)
	w.put(f.icmp6Code, 3)
	if port {
		w.put(f.icmp6Code, 4)
	}
}

// swap reverses the packet's direction.
func (w *walker) swap() {
	f, p := w.run.fields, &w.packet
	for _, pair := range [...][2]ovnexpr.Ref{{f.ethSrc, f.ethDst}, {f.source(p), f.destination(p)}} {
		a, b := pair[0].Get(p), pair[1].Get(p)
		pair[0].Set(p, b)
		pair[1].Set(p, a)
	}
}

func (w *walker) swapPorts() {
	f, p := w.run.fields, &w.packet
	src, dst := f.srcPort.Get(p), f.dstPort.Get(p)
	f.srcPort.Set(p, dst)
	f.dstPort.Set(p, src)
}

// replyTTL is the initial TTL of hosts' packets.
const replyTTL = 64

// reply turns a packet into its receiver's reply; false if there is none.
func reply(f *fields, p *packet.Flow) bool {
	w := &walker{run: &run{fields: f}, packet: *p}
	switch {
	case isARP(f, p):
		return false // OVN and hosts reply before anything is followed
	case !isIPv4(f, p) && !isIPv6(f, p):
		return false
	}
	if !w.turnPayload() {
		return false
	}
	w.swap()
	w.put(f.ttl, replyTTL)
	w.packet.ClearRegisters()
	w.packet.ClearConntrack()
	*p = w.packet
	return true
}

// turnPayload reverses the header above IP; false if a host does not reply to it.
func (w *walker) turnPayload() bool {
	f, p := w.run.fields, &w.packet
	if to := w.tuple().Dst; to.IsMulticast() || packet.IsBroadcast(to) {
		return false
	}
	switch f.proto.Get(p).Lo {
	case packet.ProtoTCP:
		if f.tcpFlags.Get(p).Lo&packet.TCPReset != 0 {
			return false
		}
		w.swapPorts()
		if f.tcpFlags.Get(p).Lo&packet.TCPSYN != 0 {
			w.put(f.tcpFlags, synACK)
		} else {
			w.put(f.tcpFlags, packet.TCPACK)
		}
	case packet.ProtoUDP, packet.ProtoSCTP:
		w.swapPorts()
	case packet.ProtoICMP:
		if f.icmpType.Get(p).Lo != 8 {
			return false
		}
		w.put(f.icmpType, 0)
	case packet.ProtoICMPv6:
		if f.icmp6Type.Get(p).Lo != 128 {
			return false
		}
		w.put(f.icmp6Type, 129)
	}
	return true
}
