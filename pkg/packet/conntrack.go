package packet

import "slices"

// The bits of ct_state, where ovs-fields(7) has them.
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

// A Connection is one entry of a conntrack zone. Orig is the packet that made it, as it came into the zone; Reply is the
// reply to it, as it comes into the zone. They mirror each other unless the connection is translated.
type Connection struct {
	Orig, Reply Tuple
	Mark        uint32
	Label       Value
	Replied     bool // both ends have spoken
}

// State returns the ct_state of a packet of the connection.
func (c *Connection) State(reply bool) uint32 {
	switch {
	case reply:
		return CTTracked | CTEstablished | CTReply
	case c.Replied:
		return CTTracked | CTEstablished
	}
	return CTTracked | CTNew
}

// Translated returns what a packet of the connection becomes.
func (c *Connection) Translated(reply bool) Tuple {
	if reply {
		return c.Orig.Reverse()
	}
	return c.Reply.Reverse()
}

// SetOriginal writes the packet that made the connection of p: ct_nw_src and the fields beside it.
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

// A Conntrack holds the connections that the packets of a trace have made, by zone.
type Conntrack[Zone comparable] map[Zone][]*Connection

// Find returns the connection that a packet belongs to, nil if there is none, and whether it is a reply.
func (ct Conntrack[Zone]) Find(z Zone, t Tuple) (c *Connection, reply bool) {
	for _, c := range ct[z] {
		if t == c.Orig || t == c.Reply {
			return c, t != c.Orig
		}
	}
	return nil, false
}

// Enter makes a connection of a packet that is translated to now.
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
