package packet

import "net/netip"

// A Tuple is what conntrack knows a packet by, for one direction.
type Tuple struct {
	Proto            uint8
	Src, Dst         netip.Addr
	SrcPort, DstPort uint16 // 0 where the protocol has none
}

// Reverse returns the tuple of the reply.
func (t Tuple) Reverse() Tuple {
	return Tuple{Proto: t.Proto, Src: t.Dst, Dst: t.Src, SrcPort: t.DstPort, DstPort: t.SrcPort}
}
