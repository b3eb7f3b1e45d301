package openflow

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// TestClassifier looks packets up among flows of every kind of priority and
// conjunction (ovs-fields(7), "Conjunctive Match Fields").
func TestClassifier(t *testing.T) {
	var flows []FlowEntry
	for _, line := range []string{
		"priority=10,ip actions=output:1",
		"priority=20,ip,nw_dst=10.0.0.0/8 actions=output:2",
		"priority=20,tcp,tp_dst=80 actions=output:3",
		"priority=30,ip,nw_src=10.0.0.1 actions=conjunction(7,1/2)",
		"priority=30,ip,nw_src=10.0.0.2 actions=conjunction(7,1/2),conjunction(8,1/2)",
		"priority=30,tcp,tp_dst=22 actions=conjunction(7,2/2)",
		"priority=30,conj_id=7,ip actions=output:7",
		"priority=40,ip,nw_src=10.0.0.9 actions=output:9",
		"priority=30,ip,nw_src=10.0.0.9 actions=conjunction(7,1/2)",
		"table=1,priority=5,tun_metadata0=NP actions=output:5",
		"table=1,priority=4 actions=output:4",
		"table=3,priority=10,metadata=0x1 actions=output:1",
		"table=3,priority=20,tcp actions=output:2",
		"table=3,priority=30,tcp,metadata=0x2 actions=output:3",
		"table=3,priority=40,udp,metadata=0x2/0x2 actions=output:4",
		"table=3,priority=10,metadata=0x1 actions=output:5", // in the place of the first one
	} {
		e, err := ParseFlowEntry(line)
		if err != nil {
			t.Fatal(err)
		}
		flows = append(flows, e)
	}
	c := NewClassifier(flows)
	for _, test := range []struct {
		table, want int // -1: no flow
		packet      string
	}{
		{0, -1, "arp"},
		{0, 0, "udp,nw_src=11.0.0.1,nw_dst=11.0.0.2"},
		{0, 1, "udp,nw_src=11.0.0.1,nw_dst=10.0.0.2"},
		{0, 2, "tcp,nw_dst=11.0.0.2,tp_dst=80"},
		{0, 6, "tcp,nw_src=10.0.0.1,nw_dst=11.0.0.2,tp_dst=22"}, // both clauses
		{0, 6, "tcp,nw_src=10.0.0.2,nw_dst=11.0.0.2,tp_dst=22"},
		{0, 0, "tcp,nw_src=10.0.0.1,nw_dst=11.0.0.2,tp_dst=23"}, // only one
		{0, 1, "tcp,nw_src=10.0.0.3,nw_dst=10.0.0.2,tp_dst=22"},
		{0, 7, "tcp,nw_src=10.0.0.9,nw_dst=11.0.0.2,tp_dst=22"}, // an ordinary flow above
		{1, 9, "arp"},
		{1, 10, "arp,tun_metadata0=5"},
		{2, -1, "arp"},
		{3, -1, "arp"}, // parted by metadata
		{3, -1, "arp,metadata=0x2"},
		{3, 12, "tcp"},
		{3, 12, "tcp,metadata=0x1"},
		{3, 15, "udp,metadata=0x1"},
		{3, 13, "tcp,metadata=0x2"},
		{3, 14, "udp,metadata=0x2"},
		{3, 14, "udp,metadata=0x3"},
	} {
		p, err := packet.Parse(test.packet)
		if err != nil {
			t.Fatal(err)
		}
		var mask packet.Flow
		if got, _ := c.Lookup(test.table, &p, &mask); got != test.want {
			t.Errorf("table %d, %s: flow %d, want %d", test.table, test.packet, got, test.want)
		}
	}
	both, _ := packet.Parse("tcp,nw_dst=10.0.0.2,tp_dst=80")
	if ties := c.ties(0, &both); len(ties) != 2 {
		t.Errorf("flows of equal priority: %v, want two", ties)
	}
	conj, _ := packet.Parse("tcp,nw_src=10.0.0.1,nw_dst=11.0.0.2,tp_dst=22")
	if _, clauses := c.Lookup(0, &conj, nil); len(clauses) != 2 {
		t.Errorf("clauses: %v, want two", clauses)
	}
}

// TestClassifierAgainstMatches looks packets up that look like what flows of a node
// ask for, and compares with asking the flows one after the other.
func TestClassifierAgainstMatches(t *testing.T) {
	draws, size := 500, 20_000
	if testing.Short() {
		draws, size = 50, 2_000
	}
	var flows []FlowEntry
	for _, line := range manyFlows(t, size) {
		e, err := ParseFlowEntry(line)
		if err != nil {
			t.Fatal(err)
		}
		if !e.Actions.conjunctive() {
			flows = append(flows, e)
		}
	}
	c := NewClassifier(flows)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	found := 0
	for range draws {
		// A packet that a flow asks for, often with some of what another one asks for.
		e := &flows[r.IntN(len(flows))]
		var p packet.Flow
		other := &flows[r.IntN(len(flows))]
		for _, t := range slices.Concat(other.Match.Terms[:r.IntN(len(other.Match.Terms)+1)], e.Match.Terms) {
			if t.Keyword != "" {
				k, _ := packet.LookupKeyword(t.Keyword)
				k.Apply(&p)
			} else if !t.Absent {
				p.SetMasked(t.Field, t.Value, t.Mask)
			}
		}
		want := -1
		for i := range flows {
			if f := &flows[i]; f.Table == e.Table && f.Match.Matches(&p) && (want < 0 || f.Priority > flows[want].Priority) {
				want = i
			}
		}
		got, _ := c.Lookup(max(e.Table.Number, 0), &p, nil)
		switch {
		case got == want:
		case got < 0 || want < 0 || flows[got].Priority != flows[want].Priority || !flows[got].Match.Matches(&p):
			t.Errorf("%s: flow %d, want %d", p.String(), got, want)
		}
		if got >= 0 {
			found++
		}
	}
	if found < draws/2 {
		t.Errorf("only %d packets matched", found)
	}
}
