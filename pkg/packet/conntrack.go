package packet

import "slices"

// The bits of ct_state, as in ovs-fields(7).
const (
	CTNew = 1 << iota
	CTEstablished
	CTRelated
	CTReply
	CTInvalid
	CTTracked
	CTSourceNAT
	CTDestinationNAT
)

// A Connection is an entry of a conntrack zone. Orig is the first packet as it entered the zone; Reply is the reply to
// it as it enters the zone. They mirror each other unless the connection is translated.
type Connection struct {
	Orig, Reply Tuple
	Mark        uint32
	Label       Value
	Replied     bool // both sides spoke
}

// State returns the ct_state of the connection's packets.
func (c *Connection) State(reply bool) uint32 {
	switch {
	case reply:
		return CTTracked | CTEstablished | CTReply
	case c.Replied:
		return CTTracked | CTEstablished
	}
	return CTTracked | CTNew
}

// Translated returns the translated tuple of a packet.
func (c *Connection) Translated(reply bool) Tuple {
	if reply {
		return c.Orig.Reverse()
	}
	return c.Reply.Reverse()
}

// SetOriginal writes the original tuple of p's connection: ct_nw_src and related fields.
func (p *Flow) SetOriginal(t Tuple) {
	src, dst := "ct_nw_src", "ct_nw_dst"
	if t.Src.Is6() {
		src, dst = "ct_ipv6_src", "ct_ipv6_dst"
	}
	p.Set(MustField(src), FromAddr(t.Src))
	p.Set(MustField(dst), FromAddr(t.Dst))
	p.SetUint("ct_nw_proto", uint64(t.Proto))
	p.SetUint("ct_tp_src", uint64(t.SrcPort))
	p.SetUint("ct_tp_dst", uint64(t.DstPort))
}

// A Conntrack holds the connections made by a trace's packets, by zone.
type Conntrack[Zone comparable] map[Zone][]*Connection

// Find returns the connection a packet belongs to, nil if none, and whether it is a reply.
func (ct Conntrack[Zone]) Find(z Zone, t Tuple) (c *Connection, reply bool) {
	for _, c := range ct[z] {
		if t == c.Orig || t == c.Reply {
			return c, t != c.Orig
		}
	}
	return nil, false
}

// Enter adds the connection of packet t, translated to now.
func (ct *Conntrack[Zone]) Enter(z Zone, t, now Tuple) *Connection {
	if *ct == nil {
		*ct = Conntrack[Zone]{}
	}
	c := &Connection{Orig: t, Reply: now.Reverse()}
	(*ct)[z] = append((*ct)[z], c)
	return c
}

// Clone returns an independent copy.
func (ct Conntrack[Zone]) Clone() Conntrack[Zone] {
	copied := make(Conntrack[Zone], len(ct))
	for z, connections := range ct {
		connections = slices.Clone(connections)
		for i, c := range connections {
			one := *c
			connections[i] = &one
		}
		copied[z] = connections
	}
	return copied
}
