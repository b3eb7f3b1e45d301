package lab

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Truth is what happened to a packet.
type Truth struct {
	Sent      bool   // it left the sender's interface; false: no route, or unresolved next hop
	Forward   bool   // it was seen on the destination's interface; for a service on any of its pods'
	RoundTrip bool   // the reply was seen at the sender
	Rejected  bool   // a TCP reset or an ICMP error was seen at the sender
	Seen      string // host or pod where it was seen
	Answered  string // host or pod that replied over TCP or UDP
}

// A probe tries twice, so that a first packet lost to neighbour resolution does not count as a drop. It counts only
// time in which it could poll: on a busy machine a slow reply is not a lost one.
const (
	attempts = 2
	patience = 400 * time.Millisecond
	tick     = 5 * time.Millisecond
)

// Probe sends a packet and reports where it went. Addresses:
//
//   - from: a pod (its logical port, or NAMESPACE/POD), a node, or "internet";
//   - to: the same, a service NAMESPACE/NAME, or an IP address;
//   - proto: icmp, tcp or udp, which mean IPv4, and icmp6, tcp6 or udp6; with an IP address the address decides;
//   - port: of TCP and UDP; 0 is 8080, or the service's.
//
// TCP is a connection with a request and a reply, UDP a datagram and its echo. A delivered packet takes a few
// milliseconds, a lost one less than a second on a machine that is not overloaded. Any number may run at once.
func (s *State) Probe(ctx context.Context, from, to, proto string, port int) (Truth, error) {
	if p, ok := s.Topology.Pod(from); ok {
		from = p.host()
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

// A probe is one packet on its path.
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

	sentSYN []uint32          // initial sequence numbers of our connections: NAT keeps them
	sinkSYN map[uint32]string // those seen at the sinks, and where
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

// attempt sends once and waits for the outcome.
func (p *probe) attempt(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	replies := make(chan reply, 1)
	if p.proto == "icmp" {
		if err := p.ping(); err != nil {
			return err
		}
	} else {
		local := localPort()
		p.ports = append(p.ports, local)
		go func() { replies <- p.talk(ctx, local) }()
	}
	err := p.watch(ctx, replies)
	if p.proto != "icmp" && !p.truth.RoundTrip {
		cancel()
		err = errors.Join(err, p.take(<-replies))
	}
	return errors.Join(err, p.look())
}

// watch polls the captures until there is a reply, a rejection, or a timeout.
func (p *probe) watch(ctx context.Context, replies chan reply) error {
	last := time.Now()
	for left := p.state.Allow(patience); left > 0 && ctx.Err() == nil && !p.truth.RoundTrip && !p.truth.Rejected; {
		p.sender.wait(tick)
		if err := p.look(); err != nil {
			return err
		}
		select {
		case a := <-replies:
			replies <- a
			return p.take(a)
		default:
		}
		now := time.Now()
		left -= min(now.Sub(last), 2*tick) // the rest of a longer pause passed while no process could run
		last = now
	}
	return nil
}

func (p *probe) take(a reply) error {
	if a.from != "" {
		p.truth.RoundTrip, p.truth.Answered = true, a.from
	}
	return a.err
}

// look polls the captures: the sender's first, for the sequence numbers that identify our connections at the sinks.
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

// ping sends an ICMP echo request.
func (p *probe) ping() error {
	v6 := p.addr.Addr().Is6()
	family, proto, sa := unix.AF_INET6, protoICMPv6, unix.Sockaddr(&unix.SockaddrInet6{Addr: p.addr.Addr().As16()})
	if !v6 {
		family, proto, sa = unix.AF_INET, protoICMP, &unix.SockaddrInet4{Addr: p.addr.Addr().As4()}
	}
	err := p.state.InNamespace(p.from, func() error {
		fd, err := unix.Socket(family, unix.SOCK_RAW|unix.SOCK_CLOEXEC, proto)
		if err != nil {
			return err
		}
		defer func() { _ = unix.Close(fd) }()
		// An error is a result too: the sender's kernel has no route, and nothing will be seen.
		_ = unix.Sendto(fd, echoRequest(v6, p.seq, p.token), 0, sa)
		return nil
	})
	if err != nil {
		return fmt.Errorf("ping from %s: %w", p.from, err)
	}
	return nil
}

// localPort is chosen before connecting, so that a refusal can be matched to it. It is below the kernel's ephemeral
// range, and not reused while a switch may remember its connection: ovs-vswitchd 3.1 aborts in its userspace conntrack
// when a closed connection that NAT has seen starts again.
func localPort() uint16 { return uint16(12000 + (firstPort+taken.Add(1))%20000) }

// Ports are taken in turn, starting from the clock, so that consecutive programs probing one lab start differently.
var (
	firstPort = uint32(time.Now().UnixMilli() / 10)
	taken     atomic.Uint32
)

// A reply is the result over TCP or UDP: the host that sent it, or nothing, which is no error: the captures show what
// happened.
type reply struct {
	from string
	err  error
}

// talk sends requests over TCP or UDP until ctx ends.
func (p *probe) talk(ctx context.Context, local uint16) reply {
	d := net.Dialer{LocalAddr: &net.TCPAddr{Port: int(local)}}
	question := p.token
	if p.proto == "tcp" {
		question = append(slices.Clone(question), '\n')
	} else {
		d.LocalAddr = &net.UDPAddr{Port: int(local)}
	}
	var c net.Conn
	err := p.state.InNamespace(p.from, func() error {
		c, _ = d.DialContext(ctx, p.proto, p.addr.String())
		return nil
	})
	if err != nil || c == nil {
		return reply{err: err}
	}
	defer func() { _ = c.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Now()) })
	defer stop()
	if _, err := c.Write(question); err != nil {
		return reply{}
	}
	line := make([]byte, 512)
	n, err := c.Read(line)
	if err != nil {
		return reply{}
	}
	token, name, ok := strings.Cut(strings.TrimSpace(string(line[:n])), " ")
	if !ok || token != string(p.token) {
		return reply{err: fmt.Errorf("probe %s: the reply %q is not ours", p.addr, line[:n])}
	}
	return reply{from: name}
}
