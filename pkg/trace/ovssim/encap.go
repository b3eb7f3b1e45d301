package ovssim

import (
	"fmt"
	"strconv"

	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// Packet types (ovs-fields(7), "packet_type"): a namespace, and in that of Ethernet types one of these.
const (
	typeEthernet = 0
	etherTypes   = 1 << 16
	typeNSH      = etherTypes | packet.EthNSH
	typeUnknown  = 0xfffe // what is below is to be looked at
)

// bridged is the Ethernet type of Ethernet inside something else.
const bridged = 0x6558

// nextProtocols are the packet types that NSH can carry, with its numbers for them.
var nextProtocols = lazy.Value[map[uint64]uint64]{Make: func() map[uint64]uint64 {
	return map[uint64]uint64{etherTypes | packet.EthIPv4: 1, etherTypes | packet.EthIPv6: 2, typeEthernet: 3, typeNSH: 4}
}}

var nshFields = []*packet.Field{&packet.NSHFlags, &packet.NSHTTL, &packet.NSHMDType, &packet.NSHNP, &packet.NSHSPI, &packet.NSHSI, &packet.NSHC1, &packet.NSHC2, &packet.NSHC3, &packet.NSHC4}

var nshParts = []part{{"flags", &packet.NSHFlags, false}, {"ttl", &packet.NSHTTL, false}, {"spi", &packet.NSHSPI, true}, {"si", &packet.NSHSI, false},
	{"c1", &packet.NSHC1, true}, {"c2", &packet.NSHC2, true}, {"c3", &packet.NSHC3, true}, {"c4", &packet.NSHC4, true}}

// A wrapping is a header that the datapath has yet to push or pop.
type wrapping struct {
	push, pop bool
	metadata  string // of an NSH header of type 2
}

// encap pushes an Ethernet, NSH or MPLS header (ovs-actions(7), "The encap action").
func (x *translation) encap(a openflow.Other) {
	x.commit()
	p := &x.packet
	was := p.number(packetType)
	if len(a.Args) == 0 {
		return
	}
	name := a.Args[0].Key + a.Args[0].Value
	if len(a.Args[0].Sub) > 0 {
		name = a.Args[0].Key
	}
	switch name {
	case "ethernet":
		if was>>16 != etherTypes>>16 {
			x.drops("Dropping packet as encap(ethernet) is not supported for packet type ethernet.")
			return
		}
		p.set(packetType, typeEthernet)
		p.Set(ethSrc, packet.Value{})
		p.Set(ethDst, packet.Value{})
		p.set(ethType, was&0xffff)
	case "nsh":
		next, ok := nextProtocols.Get()[was]
		if !ok {
			x.drops("Dropping packet as encap(nsh) is not supported for packet type (%d,0x%x)", was>>16, was&0xffff)
			return
		}
		kind, metadata := uint64(1), ""
		for _, arg := range a.Args[0].Sub {
			switch arg.Key {
			case "md_type":
				kind, _ = strconv.ParseUint(arg.Value, 0, 8)
			case "tlv":
				metadata += tlv(arg.Sub)
			}
		}
		x.packet.clearNetwork()
		p.Set(ethSrc, packet.Value{})
		p.Set(ethDst, packet.Value{})
		p.setVLANs(tags{}, false) // they are in the payload now
		p.set(packetType, typeNSH)
		p.set(ethType, packet.EthNSH)
		for i, n := range []uint64{0, 63, kind, next, 0, 255, 0, 0, 0, 0} {
			p.set(nshFields[i], n)
		}
		x.wrapping.metadata = metadata
	case "mpls":
		x.encapMPLS(packet.EthMPLS)
	case "mpls_mc":
		x.encapMPLS(packet.EthMPLSMulticast)
	default:
		x.warn("encap(%s) is not simulated", name)
		return
	}
	x.wrapping.push = x.failure == ""
}

// drops reports why the translation ends.
func (x *translation) drops(format string, args ...any) {
	x.report(openflow.NodeAction, fmt.Sprintf(format, args...))
	x.failure = "Unsupported packet type"
}

// encapMPLS pushes a label onto whatever the packet is, its Ethernet header included.
func (x *translation) encapMPLS(t uint64) {
	p := &x.packet
	labels := x.countLabels()
	if len(labels) >= maxLabels {
		x.failure = "Too many MPLS labels"
		return
	}
	if !x.bridge.can.mpls {
		x.unsupported()
	}
	var list [maxLabels]uint32
	switch {
	case len(labels) == 0:
		list[0] = bottom | 64
	case isMPLS(p.number(packetType) & 0xffff):
		copy(list[:], append([]uint32{labels[0] &^ bottom}, labels...))
	}
	for _, f := range mplsFields[:min(3+len(labels), len(mplsFields))] {
		x.touch(f, f.Mask())
	}
	x.packet.clearNetwork()
	x.base.clearNetwork()
	p.Set(ethSrc, packet.Value{})
	p.Set(ethDst, packet.Value{})
	p.set(packetType, etherTypes|t)
	p.set(ethType, t)
	p.setEntries(list)
	if list[0] == 0 { // Open vSwitch forgets the labels of an Ethernet packet, here and in the datapath
		x.base.set(packetType, etherTypes|t)
		x.base.setEntries(list)
	}
}

// tlv returns a TLV of NSH, given as its class, type and value, in hexadecimal digits.
func tlv(args []openflow.Arg) string {
	if len(args) != 3 {
		return ""
	}
	class, _ := strconv.ParseUint(args[0].Value, 0, 16)
	kind, _ := strconv.ParseUint(args[1].Value, 0, 8)
	digits := args[2].Value
	if len(digits) > 2 && digits[:2] == "0x" {
		digits = digits[2:]
	}
	if len(digits)%2 == 1 {
		digits = "0" + digits
	}
	size := len(digits) / 2
	for len(digits)%8 != 0 {
		digits += "0"
	}
	return fmt.Sprintf("%04x%02x%02x%s", class, kind, size, digits)
}

// decap pops the outermost header. The argument is the type of what is below MPLS.
func (x *translation) decap(a openflow.Other) {
	x.commit()
	p := &x.packet
	switch was := p.number(packetType); was {
	case typeEthernet:
		if p.tags() > 0 {
			x.drops("Dropping packet, cannot decap Ethernet if VLAN is present.")
			return
		}
		p.set(packetType, etherTypes|p.number(ethType))
		p.Set(ethSrc, packet.Value{})
		p.Set(ethDst, packet.Value{})
	case typeNSH:
		np := nshFields[3]
		x.touch(np, np.Mask())
		for inside, number := range nextProtocols.Get() {
			if p.number(np) == number {
				p.set(packetType, inside)
				x.wrapping.pop = true
				x.freeze()
				return
			}
		}
		x.failure = "Unsupported packet type"
	case etherTypes | packet.EthMPLS, etherTypes | packet.EthMPLSMulticast:
		labels := x.countLabels()
		if !x.bridge.can.mpls {
			x.unsupported()
		}
		for i := range labels[min(1, len(labels)):] {
			f := []*packet.Field{mplsLSE1, mplsLSE2}[i]
			x.touch(f, f.Mask())
		}
		inside := below(a)
		p.setEntries([maxLabels]uint32{})
		p.set(packetType, inside)
		if p.set(ethType, inside&0xffff); inside == typeEthernet {
			p.set(ethType, bridged)
		}
		x.wrapping.pop = true
		x.freeze()
	default:
		x.drops("Dropping packet as the decap() does not support packet type (%d,0x%x)", was>>16, was&0xffff)
	}
}

// below returns the packet type that decap(packet_type(ns=…,type=…)) names.
func below(a openflow.Other) uint64 {
	if len(a.Args) == 0 || a.Args[0].Key != "packet_type" {
		return typeUnknown
	}
	var inside uint64
	for _, arg := range a.Args[0].Sub {
		n, _ := strconv.ParseUint(arg.Value, 0, 16)
		switch arg.Key {
		case "ns":
			inside |= n << 16
		case "type":
			inside |= n
		}
	}
	return inside
}

func (x *translation) decNSHTTL() bool {
	return x.countDown("NSH", x.packet.number(ethType) == packet.EthNSH, nshFields[1])
}

// commitWrapping pushes or pops a header in the datapath.
func (x *translation) commitWrapping() {
	p := &x.packet
	is, was := p.number(packetType), x.base.number(packetType)
	switch {
	case x.wrapping.push && is == typeEthernet:
		x.emit(fmt.Sprintf("push_eth(src=%s,dst=%s)", ethSrc.Print(p.Get(ethSrc)), ethDst.Print(p.Get(ethDst))))
		for _, f := range []*packet.Field{packetType, ethSrc, ethDst} {
			x.base.Set(f, p.Get(f))
		}
	case x.wrapping.push && isMPLS(is&0xffff):
		labels, have := p.labels(), x.base.labels()
		for i := len(labels) - len(have) - 1; i >= 0; i-- {
			x.emit(fmt.Sprintf("add_mpls(%s,eth_type=0x%x)", printEntry(labels[i]), is&0xffff))
		}
		x.rebase()
	case x.wrapping.push:
		text := ""
		for i, name := range []string{"flags", "ttl", "mdtype", "np", "spi", "si", "c1", "c2", "c3", "c4"} {
			if i >= 6 && p.number(nshFields[2]) != 1 {
				break
			}
			n := strconv.FormatUint(p.number(nshFields[i]), 10)
			if i == 4 || i >= 6 {
				n = hex128(p.Get(nshFields[i]))
			}
			text += "," + name + "=" + n
		}
		if p.number(nshFields[2]) == 2 {
			text += ",md2=0x" + x.wrapping.metadata
		}
		x.emit("push_nsh(" + text[1:] + ")")
		x.rebase()
	case x.wrapping.pop && was == typeNSH:
		x.emit("pop_nsh()")
	case x.wrapping.pop && isMPLS(was&0xffff):
		x.emit(fmt.Sprintf("pop_mpls(eth_type=0x%x)", p.number(ethType)))
		x.rebase()
	case is == was:
	case is>>16 == 1 && was == typeEthernet:
		x.emit("pop_eth")
		x.base.set(packetType, is)
		x.base.Set(ethSrc, packet.Value{})
		x.base.Set(ethDst, packet.Value{})
	}
	x.wrapping = wrapping{}
}

// rebase gives the datapath's packet the headers that were pushed or popped.
func (x *translation) rebase() {
	mark, priority := x.base.Get(pktMark), x.base.Get(skbPriority)
	x.base = x.packet
	x.base.Set(pktMark, mark) // these are not headers
	x.base.Set(skbPriority, priority)
}
