package ovs

import (
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// Reply returns the reply to p as it arrived: addresses and ports swapped, a request turned into its reply, and no
// trace of p's path. In_port, registers and metadata are zero. It reports false for a packet that is not IP.
func Reply(p packet.Flow) (packet.Flow, bool) {
	t, ok := p.Tuple()
	if !ok {
		return packet.Flow{}, false
	}
	src, dst := p.Uint("eth_src"), p.Uint("eth_dst")
	p.ClearConntrack()
	p.ClearRegisters()
	p.ClearTunnel()
	p.SetInPort(packet.PortID{})
	p.SetUint("eth_src", dst)
	p.SetUint("eth_dst", src)
	p.SetUint("nw_ttl", 64)
	p.SetTuple(t.Reverse())
	switch t.Proto {
	case packet.ProtoTCP:
		p.SetUint("tcp_flags", synACK)
		p.SetUint("ip_dscp", 0) // each end chooses its own; echo replies have that of the request
	case packet.ProtoUDP:
		p.SetUint("ip_dscp", 0)
	case packet.ProtoICMP:
		p.SetUint("icmp_type", 0)
	case packet.ProtoICMPv6:
		p.SetUint("icmp_type", 129)
	}
	return p, true
}

// synACK are the flags of the reply to a connection's first segment.
const synACK = packet.TCPSYN | packet.TCPACK

// isTCPReply reports whether p is a TCP segment that can only be a reply, and so starts no connection.
func isTCPReply(p *packet.Flow) bool {
	return p.Uint("nw_proto") == packet.ProtoTCP && p.Uint("tcp_flags")&synACK == synACK
}
