package openflow

import (
	"encoding/binary"
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// Wire format of actions in OpenFlow 1.5 and the Open vSwitch extensions; ofp-actions.c has the numbers.
const (
	wireSetField     = 25
	wireCopyField    = 28
	wireExperimenter = 0xffff

	nicira       = 0x00002320
	wireNote     = 8
	wireResubmit = 14
	wirePush     = 27
	wirePop      = 28

	wireController = 37
	wireUserdata   = 3 // its userdata
)

// ParseWireActions parses actions in wire format, as OVN nests them in the userdata of controller actions. It stops at
// the first unknown action and returns those before it; ok reports whether that is all.
func ParseWireActions(b []byte) (actions Actions, ok bool) {
	for len(b) >= 8 {
		size := int(binary.BigEndian.Uint16(b[2:]))
		if size < 8 || size > len(b) {
			return actions, false
		}
		a := wireAction(b[:size])
		if a == nil {
			return actions, false
		}
		actions, b = append(actions, a), b[size:]
	}
	return actions, len(b) == 0
}

// wireAction reads an action of at least 8 bytes; nil if unknown.
func wireAction(b []byte) Action {
	kind := binary.BigEndian.Uint16(b)
	switch {
	case kind == wireSetField:
		return wireSet(b[4:])
	case kind == wireCopyField && len(b) >= 20:
		// Width, source and destination offsets, padding, their headers.
		bits := binary.BigEndian.Uint16(b[4:])
		src, ok := wireSubfield(b[12:], binary.BigEndian.Uint16(b[6:]), bits)
		dst, ok2 := wireSubfield(b[16:], binary.BigEndian.Uint16(b[8:]), bits)
		if ok && ok2 {
			return Move{src, dst}
		}
	case kind == wireExperimenter && len(b) >= 16 && binary.BigEndian.Uint32(b[4:]) == nicira:
		return wireExtension(binary.BigEndian.Uint16(b[8:]), b[10:])
	}
	return nil
}

func wireExtension(kind uint16, b []byte) Action {
	switch {
	case kind == wireNote:
		return Note{b}
	case kind == wireResubmit:
		r := Resubmit{Table: Table{Number: int(b[2])}}
		if port := binary.BigEndian.Uint16(b); port != packet.PortInPort {
			r.Port = &packet.PortID{Number: uint32(port)}
		}
		return r
	case (kind == wirePush || kind == wirePop) && len(b) >= 8:
		sub, ok := wireSubfield(b[2:], binary.BigEndian.Uint16(b), binary.BigEndian.Uint16(b[6:]))
		switch {
		case !ok:
		case kind == wirePush:
			return Push{sub}
		default:
			return Pop{sub}
		}
	case kind == wireController:
		return wireToController(b[6:])
	}
	return nil
}

// wireToController reads the properties of a controller action, each with a two-byte type and length, padded to eight;
// all but the userdata are skipped.
func wireToController(b []byte) Action {
	a := Controller{MaxLen: 0xffff}
	for len(b) >= 4 {
		kind, size := binary.BigEndian.Uint16(b), int(binary.BigEndian.Uint16(b[2:]))
		if size < 4 || size > len(b) {
			return nil
		}
		if kind == wireUserdata {
			a.Userdata = b[4:size]
		}
		b = b[min((size+7)&^7, len(b)):]
	}
	return a
}

// wireSet reads a field, its value and, if the header says so, a mask.
func wireSet(b []byte) Action {
	f, ok := WireField(b)
	if !ok {
		return nil
	}
	size, masked := int(b[3]), b[2]&1 != 0
	if masked {
		size /= 2
	}
	if size == 0 || size > 16 || len(b) < 4+int(b[3]) {
		return nil
	}
	a := SetField{Field: f, Value: packet.FromBytes(b[4 : 4+size]), Mask: f.Mask()}
	if masked {
		a.Mask = packet.FromBytes(b[4+size : 4+2*size])
	}
	return a
}

func wireSubfield(header []byte, lo, bits uint16) (packet.Subfield, bool) {
	f, ok := WireField(header)
	if !ok || bits == 0 || int(lo)+int(bits) > f.Bits {
		return packet.Subfield{}, false
	}
	return packet.Subfield{Field: f, Lo: int(lo), Bits: int(bits)}, true
}

// WireField finds a field by its four-byte header: a 16-bit class, a 7-bit number, a mask bit and an 8-bit length.
func WireField(header []byte) (*packet.Field, bool) {
	if len(header) < 4 {
		return nil, false
	}
	class, number := binary.BigEndian.Uint16(header), int(header[2]>>1)
	switch {
	case class == 1 && number < 16:
		return packet.Reg(number), true
	case class == 1 && number >= 40 && number < 104:
		return packet.TunMetadata(number - 40), true
	case class == 1 && number >= 111 && number < 115:
		return packet.Lookup(fmt.Sprintf("xxreg%d", number-111))
	case class == 0x8001 && number < 8:
		return packet.Lookup(fmt.Sprintf("xreg%d", number))
	}
	return packet.Lookup(wireNames.Get()[class][number])
}

// wireNames are the other fields that OVN writes or copies, by class and number as in meta-flow.h.
var wireNames = lazy.Value[map[uint16]map[int]string]{Make: func() map[uint16]map[int]string {
	return map[uint16]map[int]string{
		0: {
			0: "in_port", 1: "eth_dst", 2: "eth_src", 3: "eth_type", 4: "vlan_tci", 5: "ip_tos", 6: "ip_proto", 7: "ip_src", 8: "ip_dst",
			9: "tcp_src", 10: "tcp_dst", 11: "udp_src", 12: "udp_dst", 13: "icmp_type", 14: "icmp_code", 15: "arp_op", 16: "arp_spa", 17: "arp_tpa",
		},
		1: {
			16: "tun_id", 17: "arp_sha", 18: "arp_tha", 19: "ipv6_src", 20: "ipv6_dst", 21: "icmpv6_type", 22: "icmpv6_code", 23: "nd_target",
			24: "nd_sll", 25: "nd_tll", 29: "nw_ttl", 33: "pkt_mark", 107: "ct_mark", 108: "ct_label",
		},
		0x8000: {
			0: "in_port_oxm", 2: "metadata", 3: "eth_dst", 4: "eth_src", 5: "eth_type", 6: "vlan_vid", 10: "ip_proto", 11: "ip_src", 12: "ip_dst",
			13: "tcp_src", 14: "tcp_dst", 15: "udp_src", 16: "udp_dst", 17: "sctp_src", 18: "sctp_dst", 19: "icmp_type", 20: "icmp_code",
			21: "arp_op", 22: "arp_spa", 23: "arp_tpa", 24: "arp_sha", 25: "arp_tha", 26: "ipv6_src", 27: "ipv6_dst", 29: "icmpv6_type",
			30: "icmpv6_code", 31: "nd_target", 32: "nd_sll", 33: "nd_tll", 38: "tun_id",
		},
	}
}}
