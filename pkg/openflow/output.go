package openflow

import (
	"net/netip"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// output sends the packet to a port and follows it into other bridges.
func (m *machine) output(w *walk, n *Node, a Output) {
	out := &OutputEvent{Port: a.Port}
	if a.Src != nil {
		out.Port = packet.PortID{Number: uint32(a.Src.Get(&m.flow).Lo)}
	}
	switch out.Port {
	case packet.PortID{Number: packet.PortLocal}:
		out.Kind = ToLocal
	case packet.PortID{Number: packet.PortNormal}:
		out.Kind = ToNormal
	case packet.PortID{Number: packet.PortFlood}, packet.PortID{Number: packet.PortAll}:
		out.Kind = ToFlood
	case packet.PortID{Number: packet.PortTable}:
		out.Kind = ToTable
	case packet.PortID{Number: packet.PortInPort}:
		out.Port, out.InPort = m.flow.InPort(), true
	case packet.PortID{Number: packet.PortController}:
		m.emit(Event{Kind: EventController, Node: n, Controller: &ControllerEvent{}})
		return
	}
	for _, r := range w.remarks() {
		out.remark(r)
	}
	next := w.peek()
	patched := next != nil && next.Kind == NodeBridge
	if patched && out.Kind == ToPort {
		out.Kind, out.Peer = ToPatch, next.Bridge
	}
	m.emit(Event{Kind: EventOutput, Node: n, Output: out})
	if !patched {
		return
	}
	switch out.Kind {
	case ToNativeTunnel:
		outer := out.Outer()
		m.enter(w.take(), &outer)
	case ToPatch:
		m.enter(w.take(), nil)
	default:
		m.spread(w)
	}
}

// spread follows a packet into every bridge that NORMAL or FLOOD sends it to.
func (m *machine) spread(w *walk) {
	for n := w.peek(); n != nil; n = w.peek() {
		switch n.Kind {
		case NodeBridge:
			m.emit(Event{Kind: EventOutput, Node: n, Output: &OutputEvent{Kind: ToPatch, Peer: n.Bridge}})
			m.enter(w.take(), nil)
		case NodeDetail, NodeWarning:
			w.take()
		default:
			return
		}
	}
}

// refusals are words in a detail that mean the packet was not sent.
var refusals = []string{"skipping output", "skipping bpdu output", "Nonexistent output port", "routing failed", "neighbor cache miss",
	"decided against output", "Not tunneling", "lacks Ethernet address", "header build failed", "Dropping packet", "dropping", "Cannot truncate"}

func (out *OutputEvent) remark(n *Node) {
	out.Details = append(out.Details, n.Text)
	for _, words := range refusals {
		if strings.Contains(n.Text, words) {
			out.Reason = n.Text
		}
	}
	switch {
	case n.Text == "output to native tunnel":
		out.Kind = ToNativeTunnel
	case n.Text == "output to kernel tunnel":
		out.Kind = ToKernelTunnel
	case strings.HasPrefix(n.Text, "tunneling to "):
		dst, via, _ := strings.Cut(n.Text[len("tunneling to "):], " via ")
		out.Kind, out.Peer = ToNativeTunnel, via
		out.TunnelDst = address(dst)
	case strings.HasPrefix(n.Text, "tunneling from "):
		if f := strings.Fields(n.Text); len(f) == 7 {
			out.TunnelEthSrc, out.TunnelSrc = f[2], address(f[3])
			out.TunnelEthDst, out.TunnelDst = f[5], address(f[6])
		}
	}
}

// address parses an address; an IPv4-mapped IPv6 address becomes IPv4.
func address(s string) netip.Addr {
	a, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Addr{}
	}
	return a.Unmap()
}

// Outer is the outer header of a tunnelled packet, as far as known.
func (out *OutputEvent) Outer() packet.Flow {
	var p packet.Flow
	set := func(name, value string) {
		f, _ := packet.Lookup(name)
		if v, _, err := f.ParseValue(value); err == nil {
			p.Set(f, v)
		}
	}
	set("eth_src", out.TunnelEthSrc)
	set("eth_dst", out.TunnelEthDst)
	switch {
	case out.TunnelDst.Is4():
		set("eth_type", "0x800")
		set("ip_src", out.TunnelSrc.String())
		set("ip_dst", out.TunnelDst.String())
	case out.TunnelDst.Is6():
		set("eth_type", "0x86dd")
		set("ipv6_src", out.TunnelSrc.String())
		set("ipv6_dst", out.TunnelDst.String())
	}
	return p
}
