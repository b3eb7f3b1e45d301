package lab

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Truth is what happened to a packet.
type Truth struct {
	Sent      bool   // it left the sender's interface; false: no route, or nobody answered for the next hop
	Forward   bool   // it was seen on the destination's interface; for a service on that of any of its pods
	RoundTrip bool   // the answer was seen at the sender
	Rejected  bool   // a TCP reset or an ICMP error was seen at the sender
	Seen      string // host or pod where it was seen
	Answered  string // host or pod that answered TCP or UDP
}

// A probe tries twice, so that a first packet lost to a neighbour not resolved yet is not taken for a drop.
const (
	attempts       = 2
	attemptTimeout = 400 * time.Millisecond
)

// Probe sends a packet and says where it went. Addresses:
//
//   - from: a pod (its logical port, or NAMESPACE/POD), a node, or "internet";
//   - to: the same, a service NAMESPACE/NAME, or an IP address;
//   - proto: icmp, tcp or udp, which mean IPv4, and icmp6, tcp6 or udp6; with an IP address the address decides;
//   - port: of TCP and UDP; 0 is 8080, or the service's.
//
// TCP is a connection with a question and an answer, UDP a datagram and its echo. A delivered packet takes a few
// milliseconds, a lost one less than a second. Any number may run at once.
func (s *State) Probe(ctx context.Context, from, to, proto string, port int) (Truth, error) {
	if p, ok := s.Topology.Pod(from); ok {
		from = p.Name
	}
	if !slices.Contains(s.Topology.hosts(), from) {
		return Truth{}, fmt.Errorf("probe from %s: no such pod or node; there are %s", from, strings.Join(s.Topology.hosts(), ", "))
	}
	dst, err := s.resolve(to, proto, port)
	if err != nil {
		return Truth{}, err
	}
	p := &probe{state: s, from: from, target: dst, sinkSYN: map[uint32]string{}}
	var token [12]byte
	_, _ = rand.Read(token[:])
	p.token, p.seq = []byte(hex.EncodeToString(token[:])), binary.BigEndian.Uint32(token[:])
	defer p.close()
	if err := p.open(); err != nil {
		return Truth{}, err
	}
	for range attempts {
		if err := p.attempt(ctx); err != nil {
			return p.truth, err
		}
		if p.truth.RoundTrip || p.truth.Rejected {
			break
		}
	}
	return p.truth, nil
}

// A target is where a probe goes, and where it may surface.
type target struct {
	proto string // icmp, tcp, udp
	addr  netip.AddrPort
	sinks []string
}

func (s *State) resolve(to, proto string, port int) (target, error) {
	kind := strings.TrimSuffix(proto, "6")
	if !slices.Contains([]string{"icmp", "tcp", "udp"}, kind) {
		return target{}, fmt.Errorf("probe %s: not a protocol; icmp, tcp and udp are, and icmp6, tcp6, udp6", proto)
	}
	t := target{proto: kind}
	v6 := kind != proto
	addr, err := netip.ParseAddr(to)
	if err != nil {
		if addr, port, t.sinks, err = s.named(to, kind, v6, port); err != nil {
			return target{}, err
		}
	} else {
		t.sinks = s.owners(addr, kind, port)
	}
	if port == 0 {
		port = Ports[0]
	}
	t.addr = netip.AddrPortFrom(addr, uint16(port))
	return t, nil
}

// named finds the address, port and hosts behind a name.
func (s *State) named(to, kind string, v6 bool, port int) (netip.Addr, int, []string, error) {
	pick := func(a4, a6 netip.Addr) netip.Addr {
		if v6 {
			return a6
		}
		return a4
	}
	var addr netip.Addr
	var sinks []string
	if p, ok := s.Topology.Pod(to); ok {
		addr, sinks = pick(p.IPv4.Addr(), p.IPv6.Addr()), []string{p.Name}
	} else if n, ok := s.Topology.Node(to); ok {
		addr, sinks = pick(n.IPv4.Addr(), n.IPv6.Addr()), []string{n.Name}
	} else if to == internet {
		addr, sinks = pick(Internet4, Internet6), []string{internet}
	} else if svc, ok := s.Topology.Service(to, kind); ok {
		addr, sinks = pick(svc.VIP4, svc.VIP6), svc.Backends
		if port == 0 {
			port = svc.Port
		}
	} else {
		return addr, 0, nil, fmt.Errorf("probe to %s: no such pod, node, service (%s) or address", to, kind)
	}
	if !addr.IsValid() {
		return addr, 0, nil, fmt.Errorf("probe to %s: has no address of that family", to)
	}
	return addr, port, sinks, nil
}

// owners are the hosts that an address belongs to: one, the pods of a service, or none.
func (s *State) owners(addr netip.Addr, kind string, port int) []string {
	for _, p := range s.Topology.Pods {
		if addr == p.IPv4.Addr() || addr == p.IPv6.Addr() {
			return []string{p.Name}
		}
	}
	if addr == Internet4 || addr == Internet6 {
		return []string{internet}
	}
	for _, svc := range s.Topology.Services {
		if (addr == svc.VIP4 || addr == svc.VIP6) && kind == svc.Protocol && port == svc.Port {
			return svc.Backends
		}
	}
	for _, svc := range s.Topology.Services {
		atGateway := func(n Node) bool { return addr == n.Gateway4 || addr == n.Gateway6 }
		if kind == svc.Protocol && port == svc.NodePort && slices.ContainsFunc(s.Topology.Nodes, atGateway) {
			return svc.Backends
		}
	}
	for _, n := range s.Topology.Nodes {
		if s.hasAddress(n.Name, addr) {
			return []string{n.Name}
		}
	}
	return nil
}

func (s *State) hasAddress(host string, addr netip.Addr) bool {
	found := false
	_ = s.InNamespace(host, func() error {
		addrs, err := net.InterfaceAddrs()
		for _, a := range addrs {
			if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr() == addr {
				found = true
			}
		}
		return err
	})
	return found
}

// A probe is one packet on its way.
type probe struct {
	state *State
	from  string
	target
	token  []byte // in the payload of UDP and ICMP
	seq    uint32 // ICMP echo identifier and sequence number
	sender *capture
	at     []*capture
	ports  []uint16 // local ports of our connections
	truth  Truth

	sentSYN []uint32          // sequence numbers with which our connections began: NAT leaves them alone
	sinkSYN map[uint32]string // those that surfaced, and where
}

func (p *probe) open() error {
	var err error
	if p.sender, err = p.state.capture(p.from); err != nil {
		return err
	}
	for _, host := range p.sinks {
		c, err := p.state.capture(host)
		if err != nil {
			return err
		}
		p.at = append(p.at, c)
	}
	return nil
}

func (p *probe) close() {
	if p.sender != nil {
		p.sender.close()
	}
	for _, c := range p.at {
		c.close()
	}
}

// attempt sends once and waits for what becomes of it.
func (p *probe) attempt(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	var err error
	if p.proto == "icmp" {
		err = p.ping(ctx)
	} else {
		err = p.talk(ctx)
	}
	return errors.Join(err, p.look())
}

// look reads the captures: the sender's first, for the sequence numbers that tell our connections at the sinks.
func (p *probe) look() error {
	if err := p.sender.drain(p.atSender); err != nil {
		return err
	}
	for _, c := range p.at {
		err := c.drain(func(pkt packet, sent bool) {
			if !sent {
				p.atSink(c.host, pkt)
			}
		})
		if err != nil {
			return err
		}
	}
	for _, seq := range p.sentSYN {
		if host, ok := p.sinkSYN[seq]; ok {
			p.truth.Forward, p.truth.Seen = true, host
		}
	}
	return nil
}

func (p *probe) ours(port uint16) bool { return slices.Contains(p.ports, port) }

func (p *probe) atSender(pkt packet, sent bool) {
	switch {
	case sent && pkt.proto == protoTCP && pkt.flags&(tcpSYN|tcpACK) == tcpSYN && p.ours(pkt.sport):
		p.truth.Sent = true
		p.sentSYN = append(p.sentSYN, pkt.seq)
	case sent && pkt.proto == protoUDP && bytes.HasPrefix(pkt.payload, p.token),
		sent && isEcho(pkt, echoRequest4, echoRequest6) && bytes.HasPrefix(pkt.payload, p.token):
		p.truth.Sent = true
	case sent:
	case isEcho(pkt, echoReply4, echoReply6) && bytes.HasPrefix(pkt.payload, p.token):
		p.truth.RoundTrip = true
	case pkt.proto == protoTCP && pkt.flags&tcpRST != 0 && p.ours(pkt.dport) && !p.truth.RoundTrip:
		p.truth.Rejected = true
	default:
		q, ok := pkt.quoted()
		if ok && (p.ours(q.sport) || isEcho(q, echoRequest4, echoRequest6) && q.seq == p.seq) {
			p.truth.Rejected = true
		}
	}
}

func (p *probe) atSink(host string, pkt packet) {
	switch {
	case pkt.proto == protoTCP && pkt.flags&(tcpSYN|tcpACK) == tcpSYN:
		p.sinkSYN[pkt.seq] = host
	case pkt.proto == protoUDP && bytes.Equal(pkt.payload, p.token),
		isEcho(pkt, echoRequest4, echoRequest6) && bytes.HasPrefix(pkt.payload, p.token):
		p.truth.Forward, p.truth.Seen = true, host
	}
}

func isEcho(p packet, v4, v6 byte) bool {
	return p.proto == protoICMP && p.icmp == v4 || p.proto == protoICMPv6 && p.icmp == v6
}

func (p *probe) ping(ctx context.Context) error {
	v6 := p.addr.Addr().Is6()
	family, proto, sa := unix.AF_INET, protoICMP, unix.Sockaddr(&unix.SockaddrInet4{Addr: p.v4()})
	if v6 {
		family, proto, sa = unix.AF_INET6, protoICMPv6, &unix.SockaddrInet6{Addr: p.addr.Addr().As16()}
	}
	fd := -1
	err := p.state.InNamespace(p.from, func() (err error) {
		fd, err = unix.Socket(family, unix.SOCK_RAW|unix.SOCK_CLOEXEC, proto)
		return err
	})
	if err != nil {
		return fmt.Errorf("ping from %s: %w", p.from, err)
	}
	defer func() { _ = unix.Close(fd) }()
	// An error here is an answer as well: the sender's kernel has no way to go, and nothing will be seen.
	_ = unix.Sendto(fd, echoRequest(v6, p.seq, p.token), 0, sa)
	for ctx.Err() == nil && !p.truth.RoundTrip && !p.truth.Rejected {
		p.sender.wait(5 * time.Millisecond)
		if err := p.sender.drain(p.atSender); err != nil {
			return err
		}
	}
	return nil
}

func (p *probe) v4() [4]byte {
	if p.addr.Addr().Is6() {
		return [4]byte{}
	}
	return p.addr.Addr().As4()
}

// dial opens a socket in the sender's namespace.
func (p *probe) dial(ctx context.Context) (net.Conn, error) {
	deadline, _ := ctx.Deadline()
	d := net.Dialer{Deadline: deadline}
	var c net.Conn
	var dialErr error
	local := p.localPort()
	if p.proto == "tcp" {
		d.LocalAddr = &net.TCPAddr{Port: int(local)}
	} else {
		d.LocalAddr = &net.UDPAddr{Port: int(local)}
	}
	p.ports = append(p.ports, local)
	err := p.state.InNamespace(p.from, func() error {
		c, dialErr = d.Dial(p.proto, p.addr.String())
		return nil
	})
	return c, errors.Join(err, dialErr)
}

// localPort is chosen before the connection begins, so that a refusal can be told to be ours. It lies below the kernel's own range.
func (p *probe) localPort() uint16 {
	var b [2]byte
	_, _ = rand.Read(b[:])
	return 12000 + binary.BigEndian.Uint16(b[:])%20000
}

// talk asks over TCP or UDP.
func (p *probe) talk(ctx context.Context) error {
	c, err := p.dial(ctx)
	if err != nil {
		return nil // not an error of the probe: the captures tell what happened
	}
	defer func() { _ = c.Close() }()
	question := p.token
	if p.proto == "tcp" {
		question = append(slices.Clone(question), '\n')
	}
	return p.ask(ctx, c, question)
}

// ask sends the token and takes the answer, which is the token and the name of who answers.
func (p *probe) ask(ctx context.Context, c net.Conn, question []byte) error {
	deadline, _ := ctx.Deadline()
	if err := c.SetDeadline(deadline); err != nil {
		return err
	}
	if _, err := c.Write(question); err != nil {
		return nil
	}
	answer := make([]byte, 512)
	n, err := bufio.NewReader(c).Read(answer)
	if err != nil {
		return nil
	}
	token, name, ok := strings.Cut(strings.TrimSpace(string(answer[:n])), " ")
	if !ok || token != string(p.token) {
		return fmt.Errorf("probe %s: the answer %q is not ours", p.addr, answer[:n])
	}
	p.truth.RoundTrip, p.truth.Answered = true, name
	return nil
}
