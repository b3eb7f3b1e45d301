package ovssim

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// ReadConnections reads the connections that the switch tracks, live or saved. Without them each packet starts a new
// connection; an error names the datapath whose connections are missing.
func (s *Source) ReadConnections(ctx context.Context, h Host) []error {
	var problems []error
	s.Connections = map[string][]openflow.Connection{}
	asked := map[string]bool{}
	for _, row := range s.Rows {
		kind := datapathType(&row)
		if asked[kind] {
			continue
		}
		asked[kind] = true
		list, err := readConnections(ctx, h, kind+"@ovs-"+kind)
		if err != nil {
			problems = append(problems, err)
		}
		if err == nil || len(list) > 0 {
			s.Connections[kind] = list
		}
	}
	return problems
}

// datapathType returns the type of a bridge's datapath; each type has its own connections.
func datapathType(b *vswitch.Bridge) string {
	if b.DatapathType == "" {
		return "system"
	}
	return b.DatapathType
}

func readConnections(ctx context.Context, h Host, datapath string) ([]openflow.Connection, error) {
	const command = "dpctl/dump-conntrack"
	size, err := h.Control(ctx, "ovs-vswitchd", "dpctl/ct-get-nconns", datapath)
	if err == nil {
		n, err := strconv.Atoi(strings.TrimSpace(size))
		if err != nil || n > node.MostConnections {
			return nil, fmt.Errorf("%.20q connections of %s are too many to read (at most %d): ovs-vswitchd would serve nobody else meanwhile", strings.TrimSpace(size), datapath, node.MostConnections)
		}
	} else if !errors.Is(err, node.ErrUnavailable) {
		return nil, err
	}
	text, err := h.Control(ctx, "ovs-vswitchd", command, "-m", "-s", datapath)
	for _, args := range [][]string{{"-m", datapath}, {"-m"}, {}} { // as others save it
		if err == nil || !errors.Is(err, node.ErrUnavailable) {
			break
		}
		if reply, otherwise := h.Control(ctx, "ovs-vswitchd", command, args...); otherwise == nil {
			text, err = reply, nil
		}
	}
	if err != nil {
		return nil, err
	}
	var list []openflow.Connection
	for line := range strings.Lines(text) {
		c, bad := openflow.ParseConnection(line)
		if bad != nil {
			if err == nil {
				err = fmt.Errorf("%s of %s: %w", command, datapath, bad)
			}
			continue
		}
		list = append(list, c)
	}
	return list, err
}

// A zoneTuple is how a ct zone identifies a packet. ICMP has its type and code in place of ports: flows have no field
// for the identifier.
type zoneTuple struct {
	zone uint16
	packet.Tuple
}

// A connection is a conntrack entry, seen in one of its directions.
type connection struct {
	*openflow.Connection
	proto uint8
	reply bool
}

// A tracker finds connections by packet.
type tracker map[zoneTuple]connection

// newTracker indexes connections; of two with one tuple, possible with ICMP, the first counts.
func newTracker(list []openflow.Connection) tracker {
	t := tracker{}
	for i := range list {
		c := list[i].Untimed()
		proto, ok := protocols.Get()[c.Proto]
		if !ok {
			n, err := strconv.ParseUint(c.Proto, 10, 8)
			if err != nil {
				continue
			}
			proto = uint8(n)
		}
		for _, reply := range []bool{false, true} {
			key := tupleOf(c.Zone, proto, c.Orig, reply)
			if reply {
				key = tupleOf(c.Zone, proto, c.Reply, reply)
			}
			if _, taken := t[key]; !taken {
				t[key] = connection{&c, proto, reply}
			}
		}
	}
	return t
}

var protocols = lazy.Value[map[string]uint8]{Make: func() map[string]uint8 {
	return map[string]uint8{
		"tcp": packet.ProtoTCP, "udp": packet.ProtoUDP, "sctp": packet.ProtoSCTP, "icmp": packet.ProtoICMP, "icmpv6": packet.ProtoICMPv6,
	}
}}

func tupleOf(zone uint16, proto uint8, t openflow.Tuple, reply bool) zoneTuple {
	src, dst := t.SrcPort, t.DstPort
	if t.ICMP != nil {
		src, dst = uint16(t.ICMP.Type), uint16(t.ICMP.Code)
		if t.ICMP.Brief {
			src, dst = echo(proto, reply), 0
		}
	}
	return zoneTuple{zone, packet.Tuple{Proto: proto, Src: t.Src, Dst: t.Dst, SrcPort: src, DstPort: dst}}
}

// echo returns the type of an ICMP echo request or reply.
func echo(proto uint8, reply bool) uint16 {
	switch {
	case proto == packet.ProtoICMP && reply:
		return 0
	case proto == packet.ProtoICMP:
		return 8
	case reply:
		return 129
	}
	return 128
}

// find returns the connection of a packet in a zone; nil if the packet starts one. With force, a connection is
// forgotten if the packet is its reply.
func (t tracker) find(zone uint16, p *frame, force bool) *connection {
	if !p.ip() || p.laterFragment() {
		return nil
	}
	c, ok := t[zoneTuple{zone, p.zoneless()}]
	if !ok || force && c.reply || c.over() && p.number(nwProto) == packet.ProtoTCP && p.number(tcpFlags)&(packet.TCPSYN|packet.TCPACK) == packet.TCPSYN {
		return nil
	}
	return &c
}

// zoneless returns the packet's addresses and ports, for any protocol.
func (p *frame) zoneless() packet.Tuple {
	src, dst := p.AddrFields()
	return packet.Tuple{Proto: uint8(p.number(nwProto)), Src: p.Addr(src), Dst: p.Addr(dst), SrcPort: uint16(p.number(tpSrc)), DstPort: uint16(p.number(tpDst))}
}

// state returns the ct_state of a packet of the connection. A dump does not always show whether both ends have sent; if
// it does not, they have.
func (c connection) state() uint32 {
	state := uint32(packet.CTTracked)
	switch {
	case c.reply:
		state |= packet.CTEstablished | packet.CTReply
	case c.Status != nil && strings.Contains(*c.Status, "CONFIRMED") && !strings.Contains(*c.Status, "SEEN_REPLY"),
		c.protocolState() == "SYN_SENT":
		state |= packet.CTNew
	default:
		state |= packet.CTEstablished
	}
	if c.Parent != nil {
		state |= packet.CTRelated
	}
	return state
}

// over reports whether both ends have closed the connection.
func (c connection) over() bool {
	switch c.protocolState() {
	case "FIN_WAIT_2", "TIME_WAIT", "CLOSED":
		return true
	}
	return false
}

// protocolState returns the TCP state of the end that opened the connection.
func (c connection) protocolState() string {
	if s := c.State.Value("state_orig"); s != "" {
		return s
	}
	return c.State.Value("state")
}

// resume gives the packet its connection's fields. With translate it is translated like the connection; resume returns
// the packet's addresses before and after.
func (c connection) resume(p *frame, translate bool) (before, after string) {
	state := c.state()
	if translate {
		to := c.Reply
		if c.reply {
			to = c.Orig
		}
		was, from := addresses(p), p.zoneless()
		src, dst := p.AddrFields()
		p.Set(src, packet.FromAddr(to.Dst))
		p.Set(dst, packet.FromAddr(to.Src))
		if to.ICMP == nil {
			p.set(tpSrc, uint64(to.DstPort))
			p.set(tpDst, uint64(to.SrcPort))
		}
		now := p.zoneless()
		if from.From() != now.From() {
			state |= packet.CTSourceNAT
		}
		if from.To() != now.To() {
			state |= packet.CTDestinationNAT
		}
		if now := addresses(p); now != was {
			before, after = was, now
		}
	}
	p.set(ctState, uint64(state))
	p.SetOriginal(tupleOf(c.Zone, c.proto, c.Orig, false).Tuple)
	return before, after
}
