package pcap

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// Link types, https://www.tcpdump.org/linktypes.html.
const (
	linkNull      = 0 // the address family in the byte order of the host
	linkEthernet  = 1
	linkRawBSD    = 12
	linkRaw       = 101
	linkLoop      = 108
	linkLinux     = 113
	linkIPv4      = 228
	linkIPv6      = 229
	linkLinuxLong = 276
)

const (
	etherIPv4     = 0x0800
	etherARP      = 0x0806
	etherVLAN     = 0x8100
	etherEthernet = 0x6558
	etherIPv6     = 0x86dd
	etherQinQ     = 0x88a8

	portGeneve = 6081
	portVXLAN  = 4789
)

// mostTunnels is how deep packets in tunnels are looked into.
const mostTunnels = 8

// text formats a packet from the outside in.
func text(p record) string {
	var w words
	if !w.frame(p.link, p.data) {
		w.WriteString("then unreadable data, ")
	}
	fmt.Fprintf(&w, "length %d", p.length)
	return w.String()
}

// words are what is said of a packet. The methods that read a header return false if data is missing or wrong.
type words struct {
	strings.Builder
	tunnels int // that the header is in
}

func (w *words) frame(link uint16, b []byte) bool {
	be := binary.BigEndian
	switch {
	case link == linkEthernet:
		return w.ethernet(b)
	case link == linkLinux && len(b) >= 16:
		return w.payload(be.Uint16(b[14:]), b[16:])
	case link == linkLinuxLong && len(b) >= 20:
		return w.payload(be.Uint16(b), b[20:])
	case (link == linkNull || link == linkLoop) && len(b) >= 4:
		return w.ip(b[4:])
	case link == linkRaw || link == linkRawBSD || link == linkIPv4 || link == linkIPv6:
		return w.ip(b)
	}
	fmt.Fprintf(w, "link type %d, ", link)
	return true
}

func (w *words) ethernet(b []byte) bool {
	if len(b) < 14 {
		return false
	}
	if w.tunnels > 0 { // the outer one is of no interest
		fmt.Fprintf(w, "%s > %s, ", net.HardwareAddr(b[6:12]), net.HardwareAddr(b[:6]))
	}
	return w.payload(binary.BigEndian.Uint16(b[12:]), b[14:])
}

// payload reads what an Ethernet type announces.
func (w *words) payload(kind uint16, b []byte) bool {
	for kind == etherVLAN || kind == etherQinQ {
		if len(b) < 4 {
			return false
		}
		fmt.Fprintf(w, "vlan %d, ", binary.BigEndian.Uint16(b)&0xfff)
		kind, b = binary.BigEndian.Uint16(b[2:]), b[4:]
	}
	switch {
	case kind == etherIPv4 || kind == etherIPv6:
		return w.ip(b)
	case kind == etherARP:
		return w.arp(b)
	case kind == etherEthernet:
		return w.ethernet(b)
	case kind < 1536: // a length: IEEE 802.3
		w.WriteString("802.3, ")
	default:
		fmt.Fprintf(w, "ethertype 0x%04x, ", kind)
	}
	return true
}

func (w *words) arp(b []byte) bool {
	if len(b) < 28 || b[4] != 6 || b[5] != 4 {
		w.WriteString("ARP, ")
		return len(b) >= 8
	}
	const reply = 2
	sender, target := netip.AddrFrom4([4]byte(b[14:])), netip.AddrFrom4([4]byte(b[24:]))
	if binary.BigEndian.Uint16(b[6:]) == reply {
		fmt.Fprintf(w, "ARP, Reply %s is-at %s, ", sender, net.HardwareAddr(b[8:14]))
	} else {
		fmt.Fprintf(w, "ARP, Request who-has %s tell %s, ", target, sender)
	}
	return true
}

// ip reads a header of either version.
func (w *words) ip(b []byte) bool {
	if len(b) == 0 {
		return false
	}
	switch b[0] >> 4 {
	case 4:
		return w.ipv4(b)
	case 6:
		return w.ipv6(b)
	}
	return false
}

func (w *words) ipv4(b []byte) bool {
	if len(b) < 20 || int(b[0]&0xf)*4 < 20 || int(b[0]&0xf)*4 > len(b) {
		return false
	}
	ends := [2]netip.Addr{netip.AddrFrom4([4]byte(b[12:])), netip.AddrFrom4([4]byte(b[16:]))}
	if w.tunnels > 0 {
		fmt.Fprintf(w, "ttl %d, ", b[8])
	}
	if total := int(binary.BigEndian.Uint16(b[2:])); total >= int(b[0]&0xf)*4 && total < len(b) {
		b = b[:total] // then comes the padding of a short frame
	}
	const more = 0x2000
	return w.transport("IP ", ends, b[9], binary.BigEndian.Uint16(b[6:])&(more-1), binary.BigEndian.Uint16(b[6:])&more != 0, b[b[0]&0xf*4:])
}

// Extension headers of IPv6.
const (
	extHopByHop    = 0
	extRouting     = 43
	extFragment    = 44
	extDestination = 60
)

func (w *words) ipv6(b []byte) bool {
	if len(b) < 40 {
		return false
	}
	ends := [2]netip.Addr{netip.AddrFrom16([16]byte(b[8:])), netip.AddrFrom16([16]byte(b[24:]))}
	if w.tunnels > 0 {
		fmt.Fprintf(w, "hlim %d, ", b[7])
	}
	protocol, size := b[6], int(binary.BigEndian.Uint16(b[4:]))
	b = b[40:]
	if size > 0 && size < len(b) {
		b = b[:size]
	}
	offset, more := uint16(0), false
	for offset == 0 {
		size := 8
		switch protocol {
		case extHopByHop, extRouting, extDestination:
			if len(b) >= 2 {
				size += int(b[1]) * 8
			}
		case extFragment:
			if len(b) >= 4 {
				offset, more = binary.BigEndian.Uint16(b[2:])>>3, b[3]&1 != 0
			}
		default:
			return w.transport("IP6 ", ends, protocol, offset, more, b)
		}
		if len(b) < size {
			return false
		}
		protocol, b = b[0], b[size:]
	}
	return w.transport("IP6 ", ends, protocol, offset, more, b)
}

const (
	protoICMP  = 1
	protoTCP   = 6
	protoUDP   = 17
	protoICMP6 = 58
	protoSCTP  = 132
)

// transport reads what an IP header is followed by. The offset of a fragment is in units of 8 bytes.
func (w *words) transport(version string, ends [2]netip.Addr, protocol byte, offset uint16, more bool, b []byte) bool {
	if offset != 0 || more {
		fmt.Fprintf(w, "fragment at %d, ", int(offset)*8)
	}
	w.WriteString(version)
	if offset != 0 {
		fmt.Fprintf(w, "%s > %s: proto %d, ", ends[0], ends[1], protocol)
		return true
	}
	switch protocol {
	case protoTCP, protoUDP, protoSCTP:
		if len(b) < 8 {
			return false
		}
		fmt.Fprintf(w, "%s.%d > %s.%d: ", ends[0], binary.BigEndian.Uint16(b), ends[1], binary.BigEndian.Uint16(b[2:]))
	default:
		fmt.Fprintf(w, "%s > %s: ", ends[0], ends[1])
	}
	switch protocol {
	case protoTCP:
		return w.tcp(b)
	case protoUDP:
		return w.udp(b)
	case protoSCTP:
		w.WriteString("SCTP, ")
		return true
	case protoICMP:
		return w.icmp(b)
	case protoICMP6:
		return w.icmp6(b)
	}
	fmt.Fprintf(w, "proto %d, ", protocol)
	return true
}

func (w *words) tcp(b []byte) bool {
	if len(b) < 20 {
		return false
	}
	flags := ""
	for i, sign := range "FSRP.UEW" {
		if b[13]&(1<<i) != 0 {
			flags += string(sign)
		}
	}
	fmt.Fprintf(w, "TCP, Flags [%s], seq %d, ack %d, ", orNone(flags), binary.BigEndian.Uint32(b[4:]), binary.BigEndian.Uint32(b[8:]))
	return true
}

func (w *words) udp(b []byte) bool {
	tunnel := w.geneve
	switch binary.BigEndian.Uint16(b[2:]) {
	case portGeneve:
	case portVXLAN:
		tunnel = w.vxlan
	default:
		w.WriteString("UDP, ")
		return true
	}
	if w.tunnels++; w.tunnels > mostTunnels {
		w.WriteString("another tunnel, ")
		return true
	}
	return tunnel(b[8:])
}

// vxlan reads a header of RFC 7348.
func (w *words) vxlan(b []byte) bool {
	if len(b) < 8 {
		return false
	}
	fmt.Fprintf(w, "VXLAN, flags [I], vni %d: ", binary.BigEndian.Uint32(b[4:])>>8)
	return w.ethernet(b[8:])
}

// ovnClass is OVN's Geneve option class.
const ovnClass = 0x102

// geneve reads a header of RFC 8926 and its options, and words them as tcpdump -v does.
func (w *words) geneve(b []byte) bool {
	if len(b) < 8 || len(b) < 8+int(b[0]&0x3f)*4 {
		return false
	}
	flags := ""
	if b[1]&0x40 != 0 {
		flags += "C"
	}
	if b[1]&0x80 != 0 {
		flags += "O"
	}
	fmt.Fprintf(w, "Geneve, Flags [%s], vni 0x%x", orNone(flags), binary.BigEndian.Uint32(b[4:])>>8)
	options, inner := b[8:][:b[0]&0x3f*4], b[8+int(b[0]&0x3f)*4:]
	var all []string
	for len(options) > 0 { // whole words of four bytes
		size := 4 + int(options[3]&0x1f)*4
		if size > len(options) {
			return false
		}
		all = append(all, geneveOption(options[:size]))
		options = options[size:]
	}
	if len(all) > 0 {
		fmt.Fprintf(w, ", options [%s]", strings.Join(all, ", "))
	}
	w.WriteString(": ")
	return w.payload(binary.BigEndian.Uint16(b[2:]), inner)
}

func geneveOption(b []byte) string {
	class, name, critical := binary.BigEndian.Uint16(b), "", ""
	if class == ovnClass {
		name = "Open Virtual Networking (OVN) "
	}
	if b[2]&0x80 != 0 {
		critical = "(C)"
	}
	return fmt.Sprintf("class %s(0x%x) type 0x%x%s len %d data %s", name, class, b[2], critical, len(b), hex.EncodeToString(b[4:]))
}

func orNone(flags string) string {
	if flags == "" {
		return "none"
	}
	return flags
}
