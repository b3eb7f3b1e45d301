package openflow

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A Connection is a conntrack entry: a line of ovs-appctl dpctl/dump-conntrack (ovs-dpctl(8)).
type Connection struct {
	Proto       string // "tcp", "udp", "icmp", "icmpv6", "sctp", or a number
	Orig, Reply Tuple  // the first packet, and its reply
	Start, Stop string // with -s: the times, as written
	ID          *uint32
	Zone        uint16
	Status      *string // with -m: "SEEN_REPLY|CONFIRMED", "0"
	Timeout     *uint32 // with -s: seconds until it expires
	Mark        uint32
	Labels      packet.Value
	State       Attrs // protoinfo: state=ESTABLISHED
	Helper      string
	Parent      *Tuple // of a related connection
	parent      string // "parent"; in Open vSwitch 2.x "master"
	More        Attrs  // added by later versions
}

// A Tuple is one direction of a connection as dump-conntrack prints it. Unlike a [packet.Tuple] it has counters and,
// for ICMP, the identifier, type and code.
type Tuple struct {
	Src, Dst         netip.Addr
	SrcPort, DstPort uint16
	ICMP             *ICMPTuple
	Packets, Bytes   uint64 // with -s; 0: not counted
}

// An ICMPTuple is what ICMP has for ports.
type ICMPTuple struct {
	ID         uint16
	Type, Code uint8
	Brief      bool // only the identifier was written
}

// ParseConnection reads a line of dpctl/dump-conntrack.
func ParseConnection(line string) (Connection, error) {
	var c Connection
	line = strings.TrimSpace(line)
	if len(line) > maxActions {
		return c, &SyntaxError{Text: line, Msg: "connection too long"}
	}
	if i := strings.IndexAny(line, " \t\r\n"); i >= 0 {
		return c, &SyntaxError{Text: line, Offset: i, Msg: "unexpected space"}
	}
	list, err := parseAttrs(line, 0)
	if err != nil {
		return c, in(err, line)
	}
	if len(list) < 3 || list[0].Name != "" || list[0].open != 0 || list[0].Value == "" || list[1].Name != "orig" || list[2].Name != "reply" {
		return c, &SyntaxError{Text: line, Msg: "proto,orig=(…),reply=(…) expected"}
	}
	c.Proto = list[0].Value
	at := len(c.Proto) + 1
	for _, a := range list[1:] {
		if err := c.attr(a); err != nil {
			return c, in(within(err, at), line)
		}
		at += len(a.String()) + 1
	}
	return c, nil
}

func (c *Connection) attr(a Attr) (err error) {
	switch a.Name {
	case "orig":
		c.Orig, err = parseTuple(a)
	case "reply":
		c.Reply, err = parseTuple(a)
	case "start":
		c.Start = a.Value
	case "stop":
		c.Stop = a.Value
	case "id":
		c.ID, err = optional(a.Value)
	case "zone":
		err = read(&c.Zone, a.Value, 0)
	case "status":
		c.Status = &a.Value
	case "timeout":
		c.Timeout, err = optional(a.Value)
	case "mark":
		err = read(&c.Mark, a.Value, 0)
	case "labels":
		c.Labels, _, err = packet.CTLabel.ParseValue(a.Value)
		err = within(err, 0)
	case "protoinfo":
		c.State = append(Attrs{}, a.List...)
	case "helper":
		c.Helper = a.Value
	case "parent", "master":
		c.parent = a.Name
		var t Tuple
		t, err = parseTuple(a)
		c.Parent = &t
	default:
		if !a.assigned || strings.TrimSpace(a.Name) == "" {
			return fault(0, "name=value expected")
		}
		c.More = append(c.More, a)
	}
	return err
}

func optional(s string) (*uint32, error) {
	n := new(uint32)
	return n, read(n, s, 0)
}

func parseTuple(a Attr) (Tuple, error) {
	var t Tuple
	icmp := ICMPTuple{Brief: true}
	for _, part := range a.List {
		var err error
		switch part.Name {
		case "src":
			t.Src, err = tupleAddr(part.Value)
		case "dst":
			t.Dst, err = tupleAddr(part.Value)
		case "sport":
			err = read(&t.SrcPort, part.Value, 0)
		case "dport":
			err = read(&t.DstPort, part.Value, 0)
		case "id":
			t.ICMP = &icmp
			err = read(&icmp.ID, part.Value, 0)
		case "type":
			icmp.Brief = false
			err = read(&icmp.Type, part.Value, 0)
		case "code":
			err = read(&icmp.Code, part.Value, 0)
		case "packets":
			err = read(&t.Packets, part.Value, 0)
		case "bytes":
			err = read(&t.Bytes, part.Value, 0)
		default:
			return t, fault(0, "unknown part of a tuple "+part.String())
		}
		if err != nil {
			return t, err
		}
	}
	return t, nil
}

func tupleAddr(s string) (netip.Addr, error) {
	a, err := netip.ParseAddr(s)
	if err != nil || a.Zone() != "" {
		return a, fault(0, "bad address "+strconv.Quote(s))
	}
	return a, nil
}

// Untimed returns the connection without what changes over time: counters, times and identifiers.
func (c Connection) Untimed() Connection {
	c.Start, c.Stop, c.ID, c.Timeout = "", "", nil, nil
	for _, t := range []*Tuple{&c.Orig, &c.Reply} {
		t.Packets, t.Bytes = 0, 0
	}
	return c
}

// String writes the line as dpctl/dump-conntrack does.
func (c Connection) String() string {
	var b strings.Builder
	add := func(ok bool, texts ...string) {
		for _, s := range texts {
			if ok {
				b.WriteString(s)
			}
		}
	}
	b.WriteString(c.Proto + ",orig=(" + c.Orig.String() + "),reply=(" + c.Reply.String() + ")")
	add(c.Start != "", ",start=", c.Start)
	add(c.Stop != "", ",stop=", c.Stop)
	if c.ID != nil {
		add(true, ",id=", decimal(uint64(*c.ID)))
	}
	add(c.Zone != 0, ",zone=", decimal(uint64(c.Zone)))
	if c.Status != nil {
		add(true, ",status=", *c.Status)
	}
	if c.Timeout != nil {
		add(true, ",timeout=", decimal(uint64(*c.Timeout)))
	}
	add(c.Mark != 0, ",mark=", decimal(uint64(c.Mark)))
	add(!c.Labels.IsZero(), ",labels=", c.Labels.Hex())
	add(c.State != nil, ",protoinfo=(", c.State.String(), ")")
	add(c.Helper != "", ",helper=", c.Helper)
	if c.Parent != nil {
		add(true, ",", c.parentName(), "=(", c.Parent.String(), ")")
	}
	add(c.More != nil, ",", c.More.String())
	return b.String()
}

func (c Connection) parentName() string {
	if c.parent == "" {
		return "parent"
	}
	return c.parent
}

// String writes the tuple as dpctl/dump-conntrack does.
func (t Tuple) String() string {
	s := "src=" + printAddr(t.Src) + ",dst=" + printAddr(t.Dst)
	switch {
	case t.ICMP == nil:
		s += ",sport=" + decimal(uint64(t.SrcPort)) + ",dport=" + decimal(uint64(t.DstPort))
	case t.ICMP.Brief:
		s += ",id=" + decimal(uint64(t.ICMP.ID))
	default:
		s += ",id=" + decimal(uint64(t.ICMP.ID)) + ",type=" + decimal(uint64(t.ICMP.Type)) + ",code=" + decimal(uint64(t.ICMP.Code))
	}
	if t.Packets != 0 || t.Bytes != 0 {
		s += ",packets=" + decimal(t.Packets) + ",bytes=" + decimal(t.Bytes)
	}
	return s
}

// printAddr writes an address as inet_ntop(3) does.
func printAddr(a netip.Addr) string {
	switch {
	case !a.IsValid():
		return "0.0.0.0"
	case a.Is4():
		return a.String()
	}
	return packet.IPv6Src.Print(packet.FromAddr(a))
}

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }
