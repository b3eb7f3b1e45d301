package ovs

import (
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// Conntrack remembers the connections that the packet of a trace has made, by zone. A zone belongs to
// one node; the host's own conntrack is a zone too. It starts empty: a trace is of a new connection,
// whatever the node's real table holds.
type Conntrack struct {
	zones   packet.Conntrack[Zone]
	learned []learned // and the flows that it would have installed
	later   bool      // see Later
}

// Later makes what is followed from now on a later packet: both ends have spoken in the connections that are known, and
// a packet that belongs to none is of a connection that was there before.
func (c *Conntrack) Later() {
	c.later = true
	for _, connections := range c.zones {
		for _, one := range connections {
			one.Replied = true
		}
	}
}

// Zone is one conntrack table: a numbered zone of a node's datapath, or the host's own.
type Zone struct {
	Node string
	ID   uint16
	Host bool
}

// A Tracked packet is what conntrack knows of a packet that it is shown.
type Tracked struct {
	State uint32             // ct_state
	Conn  *packet.Connection // nil for a packet that belongs to none
	Now   packet.Tuple       // the packet after translation; the packet itself if there is none
}

// Look shows a packet to a zone, as the ct action does. With nat, a connection that is translated translates the
// packet. tcpReply says that the packet is a TCP SYN and ACK, which starts no connection: without one, it is invalid.
func (c *Conntrack) Look(z Zone, p packet.Tuple, nat, tcpReply bool) Tracked {
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

// translate changes the packet to now and says so in the state, as the datapath does.
func (t *Tracked) translate(now packet.Tuple) {
	if now.From() != t.Now.From() {
		t.State |= packet.CTSourceNAT
	}
	if now.To() != t.Now.To() {
		t.State |= packet.CTDestinationNAT
	}
	t.Now = now
}

// Commit enters a packet as a connection that is translated to now (the packet itself for none). A
// connection that exists stays as it is and is returned.
func (c *Conntrack) Commit(z Zone, p, now packet.Tuple) *packet.Connection {
	if one, _ := c.zones.Find(z, p); one != nil {
		return one
	}
	return c.zones.Enter(z, p, now)
}
