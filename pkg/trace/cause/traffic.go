package cause

import (
	"fmt"
	"net/netip"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A traffic identifies a packet for people.
type traffic struct {
	src, dst netip.Addr
	proto    uint8
	dstPort  uint16
}

func trafficOf(p *packet.Flow) traffic {
	t := traffic{proto: uint8(p.Uint("nw_proto")), dstPort: uint16(p.Uint("tp_dst"))}
	switch p.Uint("eth_type") {
	case packet.EthIPv4:
		t.src, t.dst = address(p, "ip_src"), address(p, "ip_dst")
	case packet.EthIPv6:
		t.src, t.dst = address(p, "ipv6_src"), address(p, "ipv6_dst")
	case packet.EthARP:
		t.src, t.dst = address(p, "arp_spa"), address(p, "arp_tpa")
	}
	if !t.l4() {
		t.dstPort = 0
	}
	return t
}

// l4 reports whether the packet has ports.
func (t traffic) l4() bool { return packet.Tuple{Proto: t.proto}.HasPorts() }

// protocol returns the protocol's name: tcp, udp, sctp, icmp, or its number.
func (t traffic) protocol() string {
	switch t.proto {
	case packet.ProtoTCP:
		return "tcp"
	case packet.ProtoUDP:
		return "udp"
	case packet.ProtoSCTP:
		return "sctp"
	case packet.ProtoICMP, packet.ProtoICMPv6:
		return "icmp"
	}
	return fmt.Sprintf("protocol %d", t.proto)
}

func (t traffic) service() string {
	if t.l4() {
		return fmt.Sprintf("%s %d", t.protocol(), t.dstPort)
	}
	return t.protocol()
}

// ip returns the family's name in OVN expressions: ip4 or ip6.
func (t traffic) ip() string { return choose(t.dst.Is6(), "ip6", "ip4") }

func address(p *packet.Flow, field string) netip.Addr { return p.Addr(packet.MustField(field)) }

// NextHop returns the address that a router resolves: OVN keeps it in reg0, or xxreg0 for IPv6.
func NextHop(p *packet.Flow) netip.Addr {
	if p.Uint("eth_type") == packet.EthIPv6 {
		return address(p, "xxreg0")
	}
	return address(p, "reg0")
}

func endpoint(a netip.Addr, port uint16) string {
	if port == 0 {
		return a.String()
	}
	return netip.AddrPortFrom(a, port).String()
}
