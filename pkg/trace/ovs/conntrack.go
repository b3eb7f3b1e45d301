package ovs

import (
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// Conntrack holds the connections that a trace's packet has made, by zone. A zone belongs to one node; the host's own
// conntrack is a zone too. It starts empty: a trace follows a new connection, whatever the node's real table holds.
type Conntrack struct {
	zones   packet.Conntrack[Zone]
	learned []learned         // flows that learn actions would have installed
	shown   map[station]place // where learning switches would have addresses
	later   bool              // see Later

	// Invalid has every zone find what is followed now invalid, as packets with a wrong checksum are; Judged is set when one does.
	Invalid, Judged bool

	// Full reports whether a zone takes no new connections; nil: none is.
	Full func(Zone) bool
}

// Later treats what is followed from now on as later packets: in known connections both ends have sent, and a packet
// without a connection belongs to one that existed before.
func (c *Conntrack) Later() {
	c.later = true
	for _, connections := range c.zones {
		for _, one := range connections {
			one.Replied = true
		}
	}
}

// Forget forgets the connections, not the learned flows.
func (c *Conntrack) Forget() { clear(c.zones) }

// Zone is one conntrack table: a numbered zone of a node's datapath, or the host's own.
type Zone struct {
	Node string
	ID   uint16
	Host bool
}

// Tracked is what conntrack knows about a packet.
type Tracked struct {
	State uint32             // ct_state
	Conn  *packet.Connection // nil for a packet without a connection
	Now   packet.Tuple       // the packet after translation; unchanged if there is none
}

// Look shows a packet to a zone, as the ct action does. With nat, a translated connection translates the packet. With
// tcpReply the packet is a TCP SYN and ACK, which starts no connection: without one it is invalid.
func (c *Conntrack) Look(z Zone, p packet.Tuple, nat, tcpReply bool) Tracked {
	if c.Invalid {
		c.Judged = true
		return Tracked{State: packet.CTTracked | packet.CTInvalid, Now: p}
	}
	one, reply := c.zones.Find(z, p)
	t := Tracked{State: packet.CTTracked | packet.CTNew, Conn: one, Now: p}
	switch {
	case one != nil:
		one.Replied = one.Replied || reply
		t.State = one.State(reply)
		if nat {
			t.translate(one.Translated(reply))
		}
	case c.later:
		t.State = packet.CTTracked | packet.CTEstablished
	case tcpReply:
		t.State = packet.CTTracked | packet.CTInvalid
	}
	return t
}

// full reports whether a zone takes no new connections.
func (c *Conntrack) full(z Zone) bool { return c.Full != nil && c.Full(z) }

// translate changes the packet to now and sets the state bits for that, as the datapath does.
func (t *Tracked) translate(now packet.Tuple) {
	if now.From() != t.Now.From() {
		t.State |= packet.CTSourceNAT
	}
	if now.To() != t.Now.To() {
		t.State |= packet.CTDestinationNAT
	}
	t.Now = now
}

// Commit adds a packet as a connection translated to now (the packet itself if not translated). An existing connection
// is returned unchanged.
func (c *Conntrack) Commit(z Zone, p, now packet.Tuple) *packet.Connection {
	if one, _ := c.zones.Find(z, p); one != nil {
		return one
	}
	return c.zones.Enter(z, p, now)
}
