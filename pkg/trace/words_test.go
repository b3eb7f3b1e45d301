package trace

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// TestPacket builds the packets that ofproto/trace is given.
func TestPacket(t *testing.T) {
	tests := []struct {
		packet     string
		sport      int
		src, dst   string
		want, text string
	}{
		{"tcp", 40000, "10.0.0.1", "10.0.0.2", "tcp,dl_src=02:00:00:00:00:01,dl_dst=02:00:00:00:00:02,nw_src=10.0.0.1,nw_dst=10.0.0.2,nw_ttl=64,tp_src=40000,tp_dst=80,tcp_flags=syn", "10.0.0.1:40000 → 10.0.0.2:80"},
		{"udp", 40000, "fd00::1", "fd00::2", "udp6,dl_src=02:00:00:00:00:01,dl_dst=02:00:00:00:00:02,ipv6_src=fd00::1,ipv6_dst=fd00::2,nw_ttl=64,tp_src=40000,tp_dst=80", "[fd00::1]:40000 → [fd00::2]:80"},
		{"icmp", 0, "10.0.0.1", "10.0.0.2", "icmp,dl_src=02:00:00:00:00:01,dl_dst=02:00:00:00:00:02,nw_src=10.0.0.1,nw_dst=10.0.0.2,nw_ttl=64,icmp_type=8,icmp_code=0", "10.0.0.1 → 10.0.0.2"},
		{"icmp", 0, "fd00::1", "fd00::2", "icmp6,dl_src=02:00:00:00:00:01,dl_dst=02:00:00:00:00:02,ipv6_src=fd00::1,ipv6_dst=fd00::2,nw_ttl=64,icmp_type=128,icmp_code=0", "fd00::1 → fd00::2"},
	}
	for _, test := range tests {
		p := Packet{Src: addr(test.src), Dst: addr(test.dst), Protocol: test.packet, SourcePort: test.sport, Port: 80}
		got := p.frame("02:00:00:00:00:01", "02:00:00:00:00:02")
		want, err := packet.Parse(test.want)
		if err != nil || got.String() != want.String() || !got.Equal(&want) {
			t.Errorf("%s: %s, want %s (%v)", test.text, got.String(), want.String(), err)
		}
		if p.String() != test.text || describe(got) != test.text {
			t.Errorf("in words %q and %q, want %q", p, describe(got), test.text)
		}
	}
}

// TestJoin puts hops behind each other; a packet that was held up goes on in its hop.
func TestJoin(t *testing.T) {
	hop := func(name string, stages ...string) journey.Hop {
		h := journey.Hop{Datapath: name, From: name + "-in", To: name + "-" + stages[len(stages)-1]}
		for _, s := range stages {
			h.Steps = append(h.Steps, journey.Step{Stage: s})
		}
		return h
	}
	a, b := hop("r1", "routing", "arp"), hop("r1", "output")
	merged := hop("r1", "routing", "arp", "output")
	tests := []struct {
		name         string
		before, hops []journey.Hop
		heldUp       bool
		want         []journey.Hop
	}{
		{"begin", nil, []journey.Hop{a}, false, []journey.Hop{a}},
		{"begin held up", nil, []journey.Hop{a}, true, []journey.Hop{a}},
		{"behind", []journey.Hop{a}, []journey.Hop{b}, false, []journey.Hop{a, b}},
		{"goes on", []journey.Hop{a}, []journey.Hop{b}, true, []journey.Hop{merged}},
		{"elsewhere", []journey.Hop{a}, []journey.Hop{hop("r2", "x")}, true, []journey.Hop{a, hop("r2", "x")}},
		{"no more", []journey.Hop{a}, nil, true, []journey.Hop{a}},
	}
	for _, test := range tests {
		got := join(test.before, test.hops, test.heldUp)
		if diff := cmp.Diff(test.want, got, cmpopts.IgnoreFields(journey.Step{}, "Before")); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
		if len(test.before) > 0 && len(test.before[0].Steps) != 2 {
			t.Errorf("%s: what was before has changed", test.name)
		}
	}
}

// TestSentence says where a packet ended.
func TestSentence(t *testing.T) {
	hops := []journey.Hop{{Kind: "switch", Datapath: "node1"}}
	at := func(o journey.Outcome, c journey.Cause) journey.Verdict {
		return journey.Verdict{Outcome: o, Port: "shop_web", Node: "n1", Because: c}
	}
	tests := []struct {
		v    journey.Verdict
		hops []journey.Hop
		want string
	}{
		{journey.Verdict{Outcome: journey.Delivered}, nil, "the packet reaches shop/web"},
		{journey.Verdict{Outcome: journey.Dropped}, nil, "the packet is dropped"},
		{journey.Verdict{Outcome: journey.Dropped, Stage: "ls_out_acl", Datapath: "node1", Node: "n1"}, hops, "the packet is dropped in ls_out_acl of switch node1 on n1"},
		{journey.Verdict{Outcome: journey.Dropped, Datapath: "node1", Node: "n1"}, hops, "the packet is dropped in switch node1 on n1"},
		{journey.Verdict{Outcome: journey.Rejected, Stage: "ls_in_lb", Datapath: "other", Node: "n1"}, hops, "the packet is rejected in ls_in_lb on n1"},
		{journey.Verdict{Outcome: journey.Consumed, Node: "n1"}, hops, "the packet is taken by ovn-controller on n1"},
		{at(journey.Dropped, journey.Cause{Place: journey.InWorkload, Workload: journey.Pod}), nil, "the packet is dropped in the pod at port shop_web on n1"},
		{at(journey.Dropped, journey.Cause{Place: journey.InWorkload, Workload: journey.VM}), nil, "the packet is dropped in the VM at port shop_web on n1"},
		{at(journey.Dropped, journey.Cause{Place: journey.OnHost}), hops, "the packet is dropped by the host's own network on n1"},
		{at(journey.Dropped, journey.Cause{Place: journey.Outside}), hops, "the packet is dropped by the network outside"},
		{journey.Verdict{Outcome: journey.Unknown}, nil, "what becomes of the packet is unknown"},
		{at(journey.Unknown, journey.Cause{Place: journey.OnHost}), nil, "what becomes of the packet on n1 is unknown"},
	}
	for _, test := range tests {
		v := test.v
		say(&v, test.hops, "shop/web", "the packet")
		if v.Sentence != test.want {
			t.Errorf("%q, want %q", v.Sentence, test.want)
		}
		if place := string(v.Because.Place); place != "" && v.Stage != place {
			t.Errorf("%q: the stage is %q, want %q", test.want, v.Stage, place)
		}
	}
	branches := []journey.Branch{
		{Backend: "10.0.0.1:80", Verdict: journey.Verdict{Outcome: journey.Delivered}},
		{Backend: "10.0.0.2:80", Verdict: journey.Verdict{Outcome: journey.Dropped}},
		{Backend: "10.0.0.3:80", Verdict: journey.Verdict{Outcome: journey.Dropped}},
	}
	worst := journey.Verdict{Outcome: journey.Dropped, Sentence: "the packet is dropped"}
	if got, want := overall(worst, branches), "1 of 3 backends reply; through 10.0.0.2:80, the packet is dropped"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestBetter says which of several copies of a packet counts.
func TestBetter(t *testing.T) {
	end := func(o journey.Outcome, stray bool) *ending {
		return &ending{verdict: journey.Verdict{Outcome: o}, stray: stray}
	}
	inOrder := []*ending{end(journey.Delivered, false), end(journey.Unknown, false), end(journey.Dropped, false), end(journey.Dropped, true)}
	for i, a := range inOrder {
		for j, b := range inOrder {
			if got := better(a, b); got != (i < j) {
				t.Errorf("%d better than %d: %v", i, j, got)
			}
		}
	}
}

// TestNextWords keeps what a shell would act on out of the next command.
func TestNextWords(t *testing.T) {
	for owner, want := range map[decode.Owner]string{
		{Kind: "NetworkPolicy", Namespace: "shop", Name: "web"}:                         "kubectl -n shop describe networkpolicy web",
		{Kind: "NetworkPolicy", Namespace: "bank", Role: decode.DefaultDeny}:            "kubectl -n bank get networkpolicy",
		{Kind: "NetworkPolicy", Namespace: "shop", Name: "$(reboot)"}:                   "",
		{Kind: "NetworkPolicy", Namespace: "-o", Name: "x"}:                             "",
		{Kind: "NetworkPolicy", Namespace: "a;b", Role: decode.DefaultDeny}:             "",
		{Kind: "NetworkPolicy", Namespace: "shop", Role: decode.Internal}:               "",
		{CMS: decode.OVNKubernetes, Kind: "Node", Name: "node1", Role: decode.Internal}: "",
		{}: "",
	} {
		if got := showOwner(owner); got != want {
			t.Errorf("%v: %q, want %q", owner, got, want)
		}
	}
	ask := journey.Request{From: journey.Endpoint{Text: "a b"}, To: journey.Endpoint{Text: "$(x)"}, Protocol: "tcp", Port: 80, Family: 6}
	if got, want := repeat(ask), "ovnctl trace 'a b' '$(x)' --tcp=80 -6"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestPrivate(t *testing.T) {
	for a, want := range map[string]bool{"10.0.0.1": true, "172.31.0.1": true, "100.64.0.1": true, "fd00::1": true, "8.8.8.8": false, "2001:db8::1": false, "100.128.0.1": false} {
		if got := private(addr(a)); got != want {
			t.Errorf("%s: %v, want %v", a, got, want)
		}
	}
}

func addr(text string) netip.Addr { return netip.MustParseAddr(text) }
