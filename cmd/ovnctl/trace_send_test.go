//go:build lab

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/internal/turn"
	"github.com/ovnctl/ovnctl/pkg/journey"
)

// A sendFault loses packets to a pod somewhere; PORT and NODE are the pod's.
type sendFault struct {
	name          string
	on            string // NODE, PORT or a host
	breaks, mends string
}

const linkOfPort = "$(ovs-vsctl --bare --columns=name find interface external_ids:iface-id=PORT)"

var sendFaults = []sendFault{
	{name: "ACL", on: "central", breaks: `s=$(ovn-nbctl lsp-get-ls PORT | cut -d' ' -f1); ovn-nbctl --wait=hv acl-add $s to-lport 9000 'outport == "PORT"' drop`,
		mends: `s=$(ovn-nbctl lsp-get-ls PORT | cut -d' ' -f1); ovn-nbctl --wait=hv acl-del $s to-lport 9000 'outport == "PORT"'`},
	{name: "port down", on: "NODE", breaks: "ip link set " + linkOfPort + " down", mends: "ip link set " + linkOfPort + " up"},
	{name: "tunnel", on: "NODE", breaks: "ovs-ofctl add-flow br-ex priority=60000,udp,tp_dst=6081,actions=drop", mends: "ovs-ofctl --strict del-flows br-ex priority=60000,udp,tp_dst=6081"},
	{name: "silent pod", on: "PORT", breaks: "sysctl -qw net.ipv4.icmp_echo_ignore_all=1 net.ipv6.icmp.echo_ignore_all=1", mends: "sysctl -qw net.ipv4.icmp_echo_ignore_all=0 net.ipv6.icmp.echo_ignore_all=0"},
}

// TestSend sends packets between pairs that are drawn, with and without faults, and captures on every interface of the lab:
// each place where ovnctl saw the packet is one where the capture has it, and no other; and it came through if the lab's own
// packets do. The seed is printed; OVNCTL_SEED sets it. OVNCTL_PAIRS says how many pairs are drawn on each topology.
func TestSend(t *testing.T) {
	seed := turn.Seed(t)
	t.Run("tcpdump", sendByTcpdump)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	putInPath(t, asOvnctl+"=1 exec "+self+` "$@"`)
	for _, topology := range []lab.Topology{lab.OVNKubernetes(), lab.OpenStack()} {
		t.Run(topology.Name, func(t *testing.T) {
			l := labtest.Own(t, topology, lab.Options{})
			d := &sendDraw{traceDraw: &traceDraw{lab: l}, rng: rand.New(rand.NewPCG(seed, 1)), results: map[journey.SentResult]int{}}
			all := candidates(topology)
			d.rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
			for i, p := range all[:min(len(all), drawnPairs(t, 10))] {
				d.try(t, p, i)
			}
			t.Logf("%d places compared, %v", d.places, d.results)
		})
	}
}

// sendByTcpdump sends between two nodes where the other one has tcpdump, and an ovnctl that cannot listen.
func sendByTcpdump(t *testing.T) {
	putInPath(t, "exit 2")
	l := labtest.Shared(t, lab.OVNKubernetes())
	d := &traceDraw{lab: l}
	for _, proto := range []string{"icmp", "tcp", "udp"} {
		p := tracePair{from: "shop/client", to: "shop/web-2", proto: proto, port: 8080, at: "node1"}
		for _, p.v6 = range []bool{false, true} {
			got := d.ovnctl(t.Context(), p.at, append(d.arguments(p), "--send", "--count=3", "-o", "json", "--nb", l.NB(), "--node-exec", l.Dir+"/enter {hostname}")...)
			sent := got.trace().Sent
			if sent == nil || sent.Result != journey.Answered || got.code != exitOK {
				t.Fatalf("%s: exit code %d: %s%s", p, got.code, got.stdout, got.stderr)
			}
			for _, s := range sent.Places {
				inside := s.Kind == journey.AtWorkload && s.Node == "node2"
				if inside != (s.Unwatched != "") || !inside && s.Seen != 3 {
					t.Errorf("%s: %+v", p, s)
				}
			}
		}
	}
}

// putInPath has the nodes of a lab find a script as ovnctl.
func putInPath(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ovnctl"), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

type sendDraw struct {
	*traceDraw
	rng     *rand.Rand
	places  int
	results map[journey.SentResult]int
}

// try sends one packet, every other time with a fault on its path.
func (d *sendDraw) try(t *testing.T, p tracePair, i int) {
	ctx, cancel := context.WithTimeout(t.Context(), lab.Allow(2*time.Minute))
	defer cancel()
	name := p.String()
	pod, isPod := d.lab.Topology.Pod(p.to)
	if isPod && i%2 == 1 {
		c := sendFaults[d.rng.IntN(len(sendFaults))]
		name += ", " + c.name
		fill := strings.NewReplacer("NODE", pod.Node, "PORT", pod.Name)
		if _, err := d.lab.Run(ctx, fill.Replace(c.on), "sh", "-ec", fill.Replace(c.breaks)); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if _, err := d.lab.Run(ctx, fill.Replace(c.on), "sh", "-ec", fill.Replace(c.mends)); err != nil {
				t.Fatal(err)
			}
		}()
	}
	t.Run(name, func(t *testing.T) { d.compareSent(ctx, t, p) })
}

func (d *sendDraw) compareSent(ctx context.Context, t *testing.T, p tracePair) {
	args := append(d.arguments(p), "--send", "--yes", "-o", "json", "--nb", d.lab.NB(), "--node-exec", d.lab.Dir+"/enter {hostname}")
	tap := d.tap(t)
	got := d.ovnctl(ctx, p.at, args...)
	tap.end()
	sent := got.trace().Sent
	if sent == nil {
		t.Fatalf("%s\nnothing sent: %s%s", strings.Join(args, " "), got.stdout, got.stderr)
	}
	mark, err := hex.DecodeString(fmt.Sprintf("%06s", strings.TrimPrefix(sent.Mark, "0x")))
	if err != nil {
		t.Fatal(err)
	}
	last := -1
	for i, s := range sent.Places {
		real := tap.has(mark, s)
		if real {
			last = i
		}
		if s.Unwatched != "" {
			t.Errorf("place %d was not watched: %s", i, s.Unwatched)
		} else if real != (s.Seen > 0) {
			t.Errorf("place %d, %+v: the capture has it: %v", i, s, real)
		}
		d.places++
	}
	if last < 0 && sent.Result != journey.NotSent {
		t.Error("the capture has it nowhere")
	}
	if sent.Result != journey.Refused && sent.Last != last {
		t.Errorf("last seen at place %d, the capture has it at %d", sent.Last, last)
	}
	want := exitFound
	if sent.Result == journey.Answered {
		want = exitOK
	}
	if got.code != want {
		t.Errorf("exit code %d, want %d", got.code, want)
	}
	d.results[sent.Result]++
	d.compareProbe(ctx, t, p, sent)
	if t.Failed() {
		t.Logf("%s\n%+v\n%s%s", strings.Join(args, " "), *sent, got.stderr, tap.list(mark))
	}
}

// compareProbe compares with the lab's own packets. A service may choose another backend for them.
func (d *sendDraw) compareProbe(ctx context.Context, t *testing.T, p tracePair, sent *journey.Sent) {
	if p.where == "vip" {
		return
	}
	proto := p.proto
	if p.v6 {
		proto += "6"
	}
	truth, err := d.lab.Probe(ctx, p.from, p.to, proto, p.port)
	if err != nil {
		t.Fatal(err)
	}
	if through := truth.Forward && (truth.RoundTrip || truth.Rejected); through != (sent.Result == journey.Answered) {
		t.Errorf("%s, and of the lab's own packet %+v", sent.Result, truth)
	}
}

// A tap captures everything on all interfaces of all hosts and pods.
type tap struct {
	fds    []int
	mu     sync.Mutex
	frames []tapped
	done   chan struct{}
	ended  sync.WaitGroup
}

type tapped struct {
	host, link string
	out        bool
	frame      []byte
}

func (d *sendDraw) tap(t *testing.T) *tap {
	t.Helper()
	w := &tap{done: make(chan struct{})}
	hosts := []string{}
	for _, n := range d.lab.Topology.Nodes {
		hosts = append(hosts, n.Name)
	}
	for _, p := range d.lab.Topology.Pods {
		hosts = append(hosts, p.Name)
	}
	for _, host := range hosts {
		names := map[int]string{}
		fd := -1
		err := d.lab.InNamespace(host, func() error {
			links, err := net.Interfaces()
			if err != nil {
				return err
			}
			for _, l := range links {
				names[l.Index] = l.Name
			}
			fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, unix.ETH_P_ALL<<8)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 4<<20); err != nil {
			t.Fatal(err)
		}
		w.fds = append(w.fds, fd)
		w.ended.Go(func() { w.read(fd, host, names) })
	}
	return w
}

func (w *tap) read(fd int, host string, names map[int]string) {
	defer unix.Close(fd)
	buf := make([]byte, 2048)
	for ending := false; ; {
		n, from, err := unix.Recvfrom(fd, buf, 0)
		if err != nil {
			if ending {
				return
			}
			select {
			case <-w.done:
				ending = true // once more, for what is queued
			default:
				_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 50)
			}
			continue
		}
		if at, ok := from.(*unix.SockaddrLinklayer); ok {
			w.mu.Lock()
			w.frames = append(w.frames, tapped{host, names[at.Ifindex], at.Pkttype == unix.PACKET_OUTGOING, slices.Clone(buf[:n])})
			w.mu.Unlock()
		}
	}
}

func (w *tap) end() {
	close(w.done)
	w.ended.Wait()
}

// has reports whether the capture has a packet with the mark at a place.
func (w *tap) has(mark []byte, s journey.Watchpoint) bool {
	host, link := s.Node, s.Link
	if s.Kind == journey.AtWorkload || s.Kind == journey.AtKernel && s.Port != "" { // no sender here filters what comes in
		host, link = s.Port, ""
	}
	return slices.ContainsFunc(w.frames, func(f tapped) bool {
		if f.host != host || f.out != s.Leave || link != "" && f.link != link || !bytes.Contains(f.frame, mark) {
			return false
		}
		is, tunnelled := sentKind(f.frame)
		return tunnelled == (s.Kind == journey.AtTunnel) && (is == isReply) == s.Reply && is != isNothing
	})
}

const (
	isNothing = iota
	isPacket
	isReply
)

// sentKind tells a packet that was sent from what came of it, and whether it is in a Geneve tunnel over IPv4.
func sentKind(b []byte) (kind int, tunnelled bool) {
	b = append(slices.Clone(b), make([]byte, 200)...)
	at := 14 // of the IP header
	if b[12] == 0x81 {
		at += 4
	}
	if b[at-2] == 8 && b[at+9] == 17 && binary.BigEndian.Uint16(b[at+22:]) == 6081 {
		tunnelled = true
		at += 20 + 8 + 8 + 4*int(b[at+28]&0x3f) + 14
	}
	proto, t := b[at+9], b[at+20:]
	if b[at]>>4 == 6 {
		proto, t = b[at+6], b[at+40:]
	}
	switch {
	case proto == 1 && t[0] == 8, proto == 58 && t[0] == 128, proto == 6 && t[13] == 2,
		proto == 17 && slices.Contains(append([]int{53, 80, 30080}, lab.Ports...), int(binary.BigEndian.Uint16(t[2:]))):
		return isPacket, tunnelled
	case proto == 6 && t[13] != 0x12 && t[13] != 0x14: // the sender's kernel resets a connection that it does not know; data may look like a mark
		return isNothing, tunnelled
	}
	return isReply, tunnelled
}

func (w *tap) list(mark []byte) string {
	var text strings.Builder
	for _, f := range w.frames {
		if bytes.Contains(f.frame, mark) {
			fmt.Fprintf(&text, "%s %s out=%v %x\n", f.host, f.link, f.out, f.frame[:min(len(f.frame), 110)])
		}
	}
	return text.String()
}
