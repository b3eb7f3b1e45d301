package probe

import (
	"testing"

	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/node"
)

// A pathRun is a run over the path of a trace between two pods on two nodes, all watched.
func pathRun() *run {
	delivered := journey.Verdict{Outcome: journey.Delivered}
	forward := &journey.Direction{Verdict: delivered, Hops: []journey.Hop{
		{Kind: "switch", Node: "node1", From: "client"},
		{Kind: "tunnel", Node: "node1"},
		{Kind: "bridge", Node: "node1", Datapath: "br-ex", From: "br-ex", To: "eth0"},
		{Kind: "bridge", Node: "node2", Datapath: "br-ex", From: "eth0"},
		{Kind: "switch", Node: "node2", To: "web"},
	}}
	back := &journey.Direction{Verdict: delivered, Hops: []journey.Hop{
		{Kind: "switch", Node: "node2", From: "web"},
		{Kind: "tunnel", Node: "node2"},
		{Kind: "bridge", Node: "node2", Datapath: "br-ex", From: "br-ex", To: "eth0"},
		{Kind: "bridge", Node: "node1", Datapath: "br-ex", From: "eth0"},
		{Kind: "switch", Node: "node1", To: "client"},
	}}
	r := &run{
		trace:  &journey.Trace{Verdict: delivered, Request: journey.Request{From: journey.Endpoint{Text: "client"}, To: journey.Endpoint{Text: "web"}}},
		packet: &Packet{Protocol: "icmp", Src: pod1, Dst: pod2, Size: 84, Mark: 0xabcdef00},
		nodes:  map[string]*watched{},
		paths:  []path{{delivered, watchpoints(journey.Request{}, forward, back)}},
	}
	for i := range r.paths[0].watchpoints {
		p := &r.paths[0].watchpoints[i]
		if p.Port != "" {
			p.Link = "veth-" + p.Port
		}
		r.nodes[p.Node] = &watched{name: p.Node, listening: &node.Listening{}}
	}
	return r
}

// sights adds what is seen at a place of the path.
func (r *run) sights(p journey.Watchpoint, what sightKind, index int) {
	s := sighting{node: p.Node, sight: sight{index: index, what: what, tunnel: p.Kind == journey.AtTunnel}}
	s.frame = node.Frame{Link: p.Link, Out: p.Leave, Pod: p.Kind == journey.AtWorkload}
	if p.Kind == journey.AtTunnel {
		s.frame.Link, s.sight.remote = "eth0", pod2
	}
	r.seen = append(r.seen, s)
}

// A packet that crosses two nodes is looked for at twelve places, its tunnel hop once at each end.
func TestWatchpoints(t *testing.T) {
	want := []string{
		"leaving the interface of client", "entering port client on node1 (veth-client)", "leaving node1 in the tunnel to node2",
		"entering node2 in the tunnel from node1", "leaving port web on node2 (veth-web)", "at the interface of web",
	}
	places := pathRun().paths[0].watchpoints
	if len(places) != 12 {
		t.Fatalf("%d places", len(places))
	}
	for i, w := range want {
		if got := Where(places[i]); got != w || places[i].Reply || !places[i].Expected {
			t.Errorf("place %d is %q, %+v", i, got, places[i])
		}
		if !places[i+6].Reply {
			t.Errorf("place %d is not the reply's", i+6)
		}
	}
}

// However far a packet comes, the answer names the last place where it was seen and the first where it was not.
func TestJudge(t *testing.T) {
	for seen := 0; seen <= 12; seen++ {
		r := pathRun()
		for _, p := range r.paths[0].watchpoints[:seen] {
			what := itself
			if p.Reply {
				what = reply
			}
			r.sights(p, what, 0)
		}
		sent := r.answer(outgoing{count: 1})
		if seen == 12 {
			if sent.Result != journey.Answered || sent.Missing != -1 || !sent.Agrees {
				t.Errorf("all seen: %+v", sent)
			}
			continue
		}
		if sent.Result != journey.Lost || sent.Last != seen-1 || sent.Missing != seen || sent.Agrees {
			t.Errorf("seen at %d places: %+v", seen, sent)
		}
	}
}

// An error that comes back is no reply, wherever the packet came to.
func TestJudgeRefused(t *testing.T) {
	r := pathRun()
	places := r.paths[0].watchpoints
	for _, p := range places[:3] {
		r.sights(p, itself, 0)
	}
	r.sights(places[10], failure, 0)
	r.sights(places[11], failure, 0)
	if sent := r.answer(outgoing{count: 1}); sent.Result != journey.Refused || sent.Last != 2 || sent.Missing != 3 {
		t.Errorf("%+v", sent)
	}
}

// An error about a packet whose path ends before who it is for, such as one that leaves OVN, is not of that one.
func TestJudgeRefusedOutside(t *testing.T) {
	r := pathRun()
	dropped := journey.Verdict{Outcome: journey.Dropped}
	r.trace.Verdict, r.paths[0].verdict = dropped, dropped
	for _, p := range r.paths[0].watchpoints[:6] {
		r.sights(p, itself, 0)
	}
	r.sights(r.paths[0].watchpoints[11], failure, 0)
	if sent := r.answer(outgoing{count: 1}); sent.Result != journey.Refused || !sent.Agrees {
		t.Errorf("%+v", sent)
	}
}

// An echo of some size comes through when its reply is back, a datagram when it is there; an error about it does not count.
func TestCameThrough(t *testing.T) {
	for _, c := range []struct {
		protocol string
		place    int
		what     sightKind
		came     bool
	}{
		{"icmp", 5, itself, false}, {"icmp", 11, reply, true}, {"icmp", 11, failure, false},
		{"udp", 4, itself, false}, {"udp", 5, itself, true}, {"udp", 11, failure, false},
	} {
		r := pathRun()
		r.packet.Protocol = c.protocol
		r.sights(r.paths[0].watchpoints[c.place], c.what, 7)
		if r.came(7) != c.came || r.came(8) || r.left(7) {
			t.Errorf("%+v: came %v", c, r.came(7))
		}
	}
}

// The DSCP is in the byte that IPv4 and IPv6 have for it (RFC 2474, section 3).
func TestDSCP(t *testing.T) {
	eachPacket(t, func(t *testing.T, p *Packet) {
		p.DSCP = 46
		b := p.bytes(0)
		class := b[1]
		if p.Dst.Is6() {
			class = b[0]<<4 | b[1]>>4
		}
		if class != 46<<2 || b[0]>>4 != 4 && b[0]>>4 != 6 {
			t.Errorf("traffic class %#x", class)
		}
	})
}
