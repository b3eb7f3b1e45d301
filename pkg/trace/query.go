package trace

import (
	"fmt"
	"net/netip"

	"github.com/ovnctl/ovnctl/pkg/flow"
	"github.com/ovnctl/ovnctl/pkg/trace/ofproto"
)

// A Query is the question of a trace.
type Query struct {
	From, To   string
	Protocol   string // icmp, tcp, udp; empty: what the service speaks, else icmp
	Port       int    // destination port; 0: the service's
	SourcePort int
	Family     int // 4 or 6; 0: either, IPv4 first
}

// packet is the first packet of the connection that the query asks for.
type packet struct {
	srcMAC, dstMAC string
	src, dst       netip.Addr
	protocol       string
	sport, dport   int
}

// flow returns the packet as ofproto/trace takes it, before it enters a port.
func (p packet) flow() (flow.Flow, error) {
	ip, src, dst := "ip", "nw_src", "nw_dst"
	protocol := p.protocol
	if p.dst.Is6() {
		ip, src, dst = "ipv6", "ipv6_src", "ipv6_dst"
		protocol += "6"
	}
	text := fmt.Sprintf("%s,dl_src=%s,dl_dst=%s,%s=%s,%s=%s,nw_ttl=64", protocol, p.srcMAC, p.dstMAC, src, p.src, dst, p.dst)
	switch p.protocol {
	case "tcp":
		text += fmt.Sprintf(",tp_src=%d,tp_dst=%d,tcp_flags=syn", p.sport, p.dport)
	case "udp":
		text += fmt.Sprintf(",tp_src=%d,tp_dst=%d", p.sport, p.dport)
	case "icmp":
		echo := 8
		if p.dst.Is6() {
			echo = 128
		}
		text += fmt.Sprintf(",icmp_type=%d,icmp_code=0", echo)
	default:
		return flow.Flow{}, fmt.Errorf("protocol %q: expected icmp, tcp or udp", p.protocol)
	}
	f, err := flow.Parse(text)
	if err != nil {
		return flow.Flow{}, fmt.Errorf("packet %s %s: %w", ip, text, err)
	}
	return f, nil
}

// String is the packet in words, as describe has it.
func (p packet) String() string {
	if p.protocol == "icmp" {
		return p.src.String() + " → " + p.dst.String()
	}
	return joinPort(p.src, uint16(p.sport)) + " → " + joinPort(p.dst, uint16(p.dport))
}

// describe is the packet in words: addresses, and ports where it has them.
func describe(p flow.Flow) string {
	t, ok := ofproto.TupleOf(&p)
	if !ok {
		return p.String()
	}
	switch t.Proto {
	case flow.ProtoTCP, flow.ProtoUDP, flow.ProtoSCTP:
		return netip.AddrPortFrom(t.Src, t.SrcPort).String() + " → " + netip.AddrPortFrom(t.Dst, t.DstPort).String()
	}
	return t.Src.String() + " → " + t.Dst.String()
}

func joinPort(a netip.Addr, port uint16) string { return netip.AddrPortFrom(a, port).String() }

// registerAddress reads an address that OVN keeps in a register.
func registerAddress(p flow.Flow, field string, size int) string {
	f, ok := flow.Lookup(field)
	if !ok {
		return ""
	}
	a, _ := netip.AddrFromSlice(p.Get(f).Bytes(size))
	return a.String()
}
