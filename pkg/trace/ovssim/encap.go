package ovssim

import (
	"fmt"
	"strconv"

	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// Packet types (ovs-fields(7), "packet_type"): a namespace, and in that of Ethernet types one of these.
const (
	typeEthernet = 0
	etherTypes   = 1 << 16
	typeNSH      = etherTypes | packet.EthNSH
)

// nextProtocols are the packet types that NSH can carry, with its numbers for them.
var nextProtocols = map[uint64]uint64{etherTypes | packet.EthIPv4: 1, etherTypes | packet.EthIPv6: 2, typeEthernet: 3, typeNSH: 4}

var nshFields = fields("nsh_flags", "nsh_ttl", "nsh_mdtype", "nsh_np", "nsh_spi", "nsh_si", "nsh_c1", "nsh_c2", "nsh_c3", "nsh_c4")

var nshParts = []part{{"flags", nshFields[0], false}, {"ttl", nshFields[1], false}, {"spi", nshFields[4], true}, {"si", nshFields[5], false},
	{"c1", nshFields[6], true}, {"c2", nshFields[7], true}, {"c3", nshFields[8], true}, {"c4", nshFields[9], true}}

// A wrapping is a header that the datapath has yet to push or pop.
type wrapping struct {
	push, pop bool
	metadata  string // of an NSH header of type 2
}

// encap pushes an Ethernet or NSH header (ovs-actions(7), "The encap action").
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
			x.detail("Dropping packet as encap(ethernet) is not supported for packet type ethernet.")
			x.failure = "Unsupported packet type"
			return
		}
		p.set(packetType, typeEthernet)
		p.Set(ethSrc, packet.Value{})
		p.Set(ethDst, packet.Value{})
		p.set(ethType, was&0xffff)
	case "nsh":
		next, ok := nextProtocols[was]
		if !ok {
			x.detail("Dropping packet as encap(nsh) is not supported for packet type (%d,0x%x)", was>>16, was&0xffff)
			x.failure = "Unsupported packet type"
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
		x.clearNetwork()
		p.Set(ethSrc, packet.Value{})
		p.Set(ethDst, packet.Value{})
		p.set(packetType, typeNSH)
		p.set(ethType, packet.EthNSH)
		for i, n := range []uint64{0, 63, kind, next, 0, 255, 0, 0, 0, 0} {
			p.set(nshFields[i], n)
		}
		x.wrapping.metadata = metadata
	default:
		x.warn("encap(%s) is not simulated", name)
		return
	}
	x.wrapping.push = true
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

// decap pops the outermost header.
func (x *translation) decap() {
	x.commit()
	p := &x.packet
	switch was := p.number(packetType); was {
	case typeEthernet:
		if p.tags() > 0 {
			x.detail("Dropping packet, cannot decap Ethernet if VLAN is present.")
			x.failure = "Unsupported packet type"
			return
		}
		p.set(packetType, etherTypes|p.number(ethType))
		p.Set(ethSrc, packet.Value{})
		p.Set(ethDst, packet.Value{})
	case typeNSH:
		np := nshFields[3]
		x.touch(np, np.Mask())
		for inside, number := range nextProtocols {
			if p.number(np) == number {
				p.set(packetType, inside)
				x.wrapping.pop = true
				x.freeze()
				return
			}
		}
		x.failure = "Unsupported packet type"
	default:
		x.detail("Dropping packet as the decap() does not support packet type (%d,0x%x)", was>>16, was&0xffff)
		x.failure = "Unsupported packet type"
	}
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
		mark, priority := x.base.Get(pktMark), x.base.Get(skbPriority)
		x.base = *p
		x.base.Set(pktMark, mark) // these are not headers
		x.base.Set(skbPriority, priority)
	case x.wrapping.pop && was == typeNSH:
		x.emit("pop_nsh()")
	case is == was:
	case is>>16 == 1 && was == typeEthernet:
		x.emit("pop_eth")
		x.base.set(packetType, is)
		x.base.Set(ethSrc, packet.Value{})
		x.base.Set(ethDst, packet.Value{})
	}
	x.wrapping = wrapping{}
}
