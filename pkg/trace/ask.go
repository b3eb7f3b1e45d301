package trace

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/escape"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// A question is a query with its names resolved.
type question struct {
	Query
	request  journey.Request
	from, to topology.Match
	packet   Packet
	backends []topology.Backend // of a virtual IP
}

// ask resolves the names of a query and builds its packet.
func (t *tracer) ask(ctx context.Context, q Query) (*question, error) {
	from, err := t.graph.ResolveOne(q.From, topology.Endpoints...)
	if err != nil {
		return nil, err
	}
	to, err := t.graph.ResolveOne(q.To, topology.Endpoints...)
	if err != nil {
		return nil, err
	}
	to = t.graph.ReceiverFrom(from, to, q.To)
	from = t.graph.SenderTo(from, to.Port)
	if err := t.fillService(&q, to); err != nil {
		return nil, err
	}
	if q.Protocol == "" {
		q.Protocol = "icmp"
	}
	if protocolNumber(q.Protocol) == 0 {
		return nil, fmt.Errorf("protocol %q: expected icmp, tcp or udp", q.Protocol)
	}
	if err := canSend(from); err != nil {
		return nil, err
	}
	src, dst, err := t.addresses(ctx, q, from, to)
	if err != nil {
		return nil, err
	}
	family := 4
	if dst.Is6() {
		family = 6
	}
	ask := &question{Query: q, from: from, to: to}
	ask.request = journey.Request{
		From: t.endpoint(q.From, from, src), To: t.endpoint(q.To, to, dst),
		Protocol: q.Protocol, Port: q.Port, SourcePort: q.SourcePort, Family: family, State: "new",
	}
	ask.request.Length, ask.request.DSCP = q.Length, q.DSCP
	switch {
	case q.Backend.Port() != 0:
		ask.request.Backend = q.Backend.String()
	case q.Backend.Addr().IsValid():
		ask.request.Backend = q.Backend.Addr().String()
	}
	if q.Protocol == "icmp" {
		ask.request.SourcePort = 0
	}
	if backends, ok := t.graph.Backends(dst, q.Port, q.Protocol); ok {
		ask.backends = backends
	}
	ask.packet = Packet{Src: src, Dst: dst, Protocol: q.Protocol, SourcePort: q.SourcePort, Port: q.Port, DSCP: q.DSCP}
	return ask, nil
}

// canSend returns an error if an end does not start connections.
func canSend(from topology.Match) error {
	switch from.Kind {
	case topology.KindService:
		return &topology.NameError{Text: from.Name, Reason: "a service sends no packets\nhint: name the pod that sends"}
	case topology.KindNAT:
		behind := "name who is behind it: " + escape.Line(from.NATs[0].LogicalIP)
		return &topology.NameError{Text: from.Name, Reason: "a translated address sends no packets of its own\nhint: " + behind + ", or external:" + escape.Line(from.NATs[0].ExternalIP) + " if it is another's"}
	case topology.KindRPort:
		return &topology.NameError{Text: from.Name, Reason: "a router port starts no connections\nhint: name a port of a switch"}
	}
	return nil
}

// fillService fills in the port of NAME:PORT, and the service's port and protocol where the query leaves them open.
func (t *tracer) fillService(q *Query, to topology.Match) error {
	if q.Port == 0 && q.Protocol != "icmp" {
		q.Port = to.L4Port
	}
	if to.Kind != topology.KindService {
		q.assumeTCP()
		return nil
	}
	var offers []string
	for _, lb := range to.Balancers {
		for _, v := range lb.VIPs {
			offer := fmt.Sprintf("--%s %d", lb.Protocol, v.Port)
			if v.Port == 0 || !slices.ContainsFunc(to.Addresses, func(a netip.Addr) bool { return a.String() == v.Address }) || slices.Contains(offers, offer) {
				continue
			}
			if (q.Port == 0 || q.Port == v.Port) && (q.Protocol == "" || q.Protocol == lb.Protocol) {
				offers = append(offers, offer)
			}
		}
	}
	switch {
	case q.Protocol != "" && (q.Protocol == "icmp" || q.Port != 0):
		return nil
	case len(offers) == 1:
		_, err := fmt.Sscanf(offers[0], "--%s %d", &q.Protocol, &q.Port)
		return err
	case len(offers) > 1:
		return &topology.NameError{Text: q.To, Reason: "the service has several ports\nhint: say which: " + strings.Join(escape.Lines(offers), ", ")}
	}
	q.assumeTCP() // the service has no such port
	return nil
}

// assumeTCP has a query that names a port alone ask for TCP.
func (q *Query) assumeTCP() {
	if q.Protocol == "" && q.Port != 0 {
		q.Protocol = "tcp"
	}
}

// addresses chooses a source and a destination of one family.
func (t *tracer) addresses(ctx context.Context, q Query, from, to topology.Match) (src, dst netip.Addr, err error) {
	sources, targets := t.addressesOf(ctx, from), t.addressesOf(ctx, to)
	for _, v6 := range []bool{false, true} {
		if q.Family == 4 && v6 || q.Family == 6 && !v6 {
			continue
		}
		ofFamily := func(a netip.Addr) bool { return a.Is6() == v6 }
		s, d := slices.IndexFunc(sources, ofFamily), slices.IndexFunc(targets, ofFamily)
		if s >= 0 && d >= 0 {
			src, dst = sources[s], targets[d]
			if from.Kind == topology.KindNode {
				src = t.nodeSource(ctx, from, dst, src)
			}
			return src, dst, nil
		}
	}
	family := ""
	if q.Family != 0 {
		family = fmt.Sprintf(" IPv%d", q.Family)
	}
	text := q.From
	if len(sources) > 0 {
		text = q.To
	}
	return src, dst, &topology.NameError{Text: text, Reason: fmt.Sprintf("the ends have no%s addresses of the same family\nhint: %s has %v, %s has %v", family, escape.Line(q.From), sources, escape.Line(q.To), targets)}
}

// Addresses returns an end's addresses as the databases know them; for a node, those on the underlay.
func (d *deployment) Addresses(m topology.Match) []netip.Addr {
	switch {
	case m.Kind != topology.KindNode:
		return m.Addresses
	case m.Chassis == nil:
		return nil
	}
	return slices.Clone(d.hosts.byChassis[m.Chassis.Name].addresses)
}

// Source returns the address that the databases expect m to send from to dst; not valid if m has none of that family.
func (d *deployment) Source(m topology.Match, dst netip.Addr) netip.Addr {
	if m.Kind == topology.KindNode && m.Chassis != nil && !d.onUnderlay(dst) && d.onOverlay(dst) {
		return d.hosts.byChassis[m.Chassis.Name].source(dst.Is6())
	}
	addrs := d.Addresses(m)
	if i := slices.IndexFunc(addrs, func(a netip.Addr) bool { return a.Is6() == dst.Is6() }); i >= 0 {
		return addrs[i]
	}
	return netip.Addr{}
}

// addressesOf lists the addresses of an end, including those that a node's kernel knows.
func (t *tracer) addressesOf(ctx context.Context, m topology.Match) []netip.Addr {
	addrs := t.Addresses(m)
	v := t.kernel(ctx, m)
	if v == nil {
		return addrs
	}
	net, err := v.net(ctx)
	if err != nil {
		return addrs
	}
	// Add the other addresses of the link with the tunnel address, for the other family.
	for _, known := range slices.Clone(addrs) {
		i := slices.IndexFunc(net.Addresses, func(a node.Address) bool { return a.Prefix.Addr() == known })
		if i < 0 {
			continue
		}
		for _, a := range net.Addresses {
			if a.Link == net.Addresses[i].Link && a.Scope == "global" && !slices.Contains(addrs, a.Prefix.Addr()) {
				addrs = append(addrs, a.Prefix.Addr())
			}
		}
	}
	return addrs
}

// nodeSource returns the address that a node's kernel sends from; if the kernel is unreachable, the one that the
// databases expect.
func (t *tracer) nodeSource(ctx context.Context, m topology.Match, dst, otherwise netip.Addr) netip.Addr {
	src := t.Source(m, dst)
	if v := t.kernel(ctx, m); v != nil {
		if route, err := v.Host.Route(ctx, node.RouteQuery{Dst: dst}); err == nil && route.Src.IsValid() {
			src = route.Src
		}
	}
	if !src.IsValid() {
		return otherwise
	}
	return src
}

// kernel returns the node of a match; nil if it is not to be read or is unreachable.
func (t *tracer) kernel(ctx context.Context, m topology.Match) *nodeView {
	if m.Kind != topology.KindNode || t.noNodes {
		return nil
	}
	return t.inReach(ctx, t.nodeOf(m))
}

// A Query is the question of a trace.
type Query struct {
	From, To   string
	Protocol   string // icmp, tcp, udp; empty: the service's, else icmp
	Port       int    // destination port; 0: the service's
	SourcePort int
	Family     int // 4 or 6; 0: either, IPv4 preferred

	// Logical follows the logical flows only and reads no node.
	Logical bool
	// Backend limits the trace to one backend of a load balancer; not valid: all. Port 0 means any port.
	Backend netip.AddrPort
	// Length is the packet's length in bytes, Ethernet header included; 0: the shortest possible.
	Length int
	// DSCP is the packet's differentiated services codepoint, 0 to 63 (RFC 2474).
	DSCP int
	// Evidence reports, for each logical flow on the path, which parts of its match decided.
	Evidence bool
	// WhyNot proposes changes that would let a stopped packet pass.
	WhyNot bool
	// Name is the name that a DNS query asks for; empty: not a DNS query.
	Name string
	// Observe is how long to watch the counters of the flows on the path; 0: do not watch.
	Observe time.Duration
	// Standing is kept from one answer to the next if the question is asked again and again; nil: it is asked once.
	Standing *Standing
	// Progress is called with a description of what the trace waits for; may be nil.
	Progress func(text string)
}

// A Packet is the first packet of a connection, as requested.
type Packet struct {
	Protocol   string // icmp, tcp, udp
	Src, Dst   netip.Addr
	SourcePort int
	Port       int // destination port
	DSCP       int
}

// frame returns the packet as its sender puts it on the wire. Its protocol must be one of those of Packet.
func (p Packet) frame(srcMAC, dstMAC string) packet.Flow {
	var f packet.Flow
	t := p.tuple()
	setMAC(&f, "eth_src", srcMAC)
	setMAC(&f, "eth_dst", dstMAC)
	f.SetUint("eth_type", packet.EthIPv4)
	if t.Dst.Is6() {
		f.SetUint("eth_type", packet.EthIPv6)
	}
	f.SetUint("nw_proto", uint64(t.Proto))
	f.SetUint("nw_ttl", 64)
	f.SetUint("ip_dscp", uint64(p.DSCP))
	f.SetTuple(t)
	switch t.Proto {
	case packet.ProtoTCP:
		f.SetUint("tcp_flags", packet.TCPSYN)
	case packet.ProtoICMP:
		f.SetUint("icmp_type", 8) // echo request
	case packet.ProtoICMPv6:
		f.SetUint("icmp_type", 128)
	}
	return f
}

func (p Packet) tuple() packet.Tuple {
	proto := protocolNumber(p.Protocol)
	if p.Dst.Is6() && proto == packet.ProtoICMP {
		proto = packet.ProtoICMPv6
	}
	return packet.Tuple{Proto: proto, Src: p.Src, Dst: p.Dst, SrcPort: uint16(p.SourcePort), DstPort: uint16(p.Port)}
}

// protocolNumber returns the IPv4 number of a protocol of Packet; 0 if it is none.
func protocolNumber(name string) uint8 {
	switch name {
	case "icmp":
		return packet.ProtoICMP
	case "tcp":
		return packet.ProtoTCP
	case "udp":
		return packet.ProtoUDP
	}
	return 0
}

// String returns the packet in words; see describe.
func (p Packet) String() string { return p.tuple().String() }

// describe returns the packet in words: its addresses, and its ports if it has any.
func describe(p packet.Flow) string {
	if t, ok := p.Tuple(); ok {
		return t.String()
	}
	return p.String()
}

func joinPort(a netip.Addr, port uint16) string { return netip.AddrPortFrom(a, port).String() }
