package ovs

import (
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// Tuple is [packet.Tuple]. The ports of ICMP are 0: an echo and its reply are one connection, and a
// trace follows one echo.
type Tuple = packet.Tuple

// A Connection is one entry of a conntrack zone. Orig is the packet that made it, as it came into the
// zone; Reply is the reply to it, as it comes into the zone. They mirror each other unless
// the connection is translated.
type Connection struct {
	Orig, Reply Tuple
	Mark        uint32
	Label       packet.Value
	replied     bool
}

// Conntrack remembers the connections that the packet of a trace has made, by zone. A zone belongs to
// one node; the host's own conntrack is a zone too. It starts empty: a trace is of a new connection,
// whatever the node's real table holds.
type Conntrack struct {
	zones   map[Zone][]*Connection
	learned []learned // and the flows that it would have installed
	later   bool      // see Later
}

// Later makes what is followed from now on a later packet: both ends have spoken in the connections that are known, and
// a packet that belongs to none is of a connection that was there before.
func (c *Conntrack) Later() {
	c.later = true
	for _, conns := range c.zones {
		for _, conn := range conns {
			conn.replied = true
		}
	}
}

// Zone is one conntrack table: a numbered zone of a node's datapath, or the host's own.
type Zone struct {
	Node string
	ID   uint16
	Host bool
}

// A Tracked packet is what conntrack says of a packet that it is shown.
type Tracked struct {
	State Flags
	Conn  *Connection // nil for a packet that belongs to none
	Now   Tuple       // the packet after translation; the packet itself if there is none
}

// Flags is ct_state, with the bits where ovs-fields(7) has them.
type Flags uint8

// The bits of ct_state.
const (
	New Flags = 1 << iota
	Established
	Related
	ReplyDirection
	Invalid
	TrackedFlag
	SourceNAT
	DestinationNAT
)

// Look shows a packet to a zone, as the ct action does. With nat, a connection that is translated
// translates the packet. tcpReply says that the packet is a TCP SYN and ACK, which starts no
// connection: without one, it is invalid.
func (c *Conntrack) Look(z Zone, packet Tuple, nat, tcpReply bool) Tracked {
	for _, conn := range c.zones[z] {
		switch packet {
		case conn.Orig:
			t := Tracked{State: TrackedFlag | New, Conn: conn, Now: packet}
			if conn.replied {
				t.State = TrackedFlag | Established
			}
			if nat {
				t.translate(conn.Reply.Reverse())
			}
			return t
		case conn.Reply:
			conn.replied = true
			t := Tracked{State: TrackedFlag | Established | ReplyDirection, Conn: conn, Now: packet}
			if nat {
				t.translate(conn.Orig.Reverse())
			}
			return t
		}
	}
	switch {
	case c.later:
		return Tracked{State: TrackedFlag | Established, Now: packet}
	case tcpReply:
		return Tracked{State: TrackedFlag | Invalid, Now: packet}
	}
	return Tracked{State: TrackedFlag | New, Now: packet}
}

// translate changes the packet to now and says so in the state, as the datapath does.
func (t *Tracked) translate(now Tuple) {
	if now.Src != t.Now.Src || now.SrcPort != t.Now.SrcPort {
		t.State |= SourceNAT
	}
	if now.Dst != t.Now.Dst || now.DstPort != t.Now.DstPort {
		t.State |= DestinationNAT
	}
	t.Now = now
}

// Commit enters a packet as a connection that is translated to now (the packet itself for none). A
// connection that exists stays as it is and is returned.
func (c *Conntrack) Commit(z Zone, packet, now Tuple) *Connection {
	for _, conn := range c.zones[z] {
		if packet == conn.Orig || packet == conn.Reply {
			return conn
		}
	}
	conn := &Connection{Orig: packet, Reply: now.Reverse()}
	if c.zones == nil {
		c.zones = map[Zone][]*Connection{}
	}
	c.zones[z] = append(c.zones[z], conn)
	return conn
}
