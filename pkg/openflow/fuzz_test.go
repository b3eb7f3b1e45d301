package openflow

import (
	"reflect"
	"strings"
	"testing"
)

func FuzzParseActions(f *testing.F) {
	for _, c := range actionTexts {
		f.Add(c.in)
	}
	f.Add(strings.Repeat("clone(", 100) + strings.Repeat(")", 100))
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseActions(s)
		if err != nil {
			return
		}
		again, err := ParseActions(a.String())
		if err != nil {
			t.Fatalf("ParseActions(%q) prints %q: %v", s, a, err)
		}
		if again.String() != a.String() {
			t.Fatalf("ParseActions(%q) prints %q, which prints %q", s, a, again)
		}
		third, err := ParseActions(again.String())
		if err != nil || !reflect.DeepEqual(again, third) {
			t.Fatalf("ParseActions(%q): %#v, then %#v", s, again, third)
		}
	})
}

func FuzzParseFlowEntry(f *testing.F) {
	for _, c := range flowEntries {
		f.Add(c.in)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e, err := ParseFlowEntry(s)
		if err != nil {
			return
		}
		again, err := ParseFlowEntry(e.String())
		if err != nil || again.String() != e.String() {
			t.Fatalf("ParseFlowEntry(%q) prints %q, then %q, %v", s, e, again, err)
		}
	})
}

func FuzzParseGroupEntry(f *testing.F) {
	f.Add("group_id=9,type=all,bucket=bucket_id:3,weight:1,watch_port:2,actions=output:2,bucket=drop")
	f.Add("group_id=1,type=select,selection_method=hash,selection_method_param=7,fields(ip_src,tcp_dst),bucket=actions=ct(nat)")
	f.Fuzz(func(t *testing.T, s string) {
		g, err := ParseGroupEntry(s)
		if err != nil {
			return
		}
		again, err := ParseGroupEntry(g.String())
		if err != nil || again.String() != g.String() {
			t.Fatalf("ParseGroupEntry(%q) prints %q, then %q, %v", s, g, again, err)
		}
	})
}

func FuzzParseTrace(f *testing.F) {
	f.Add(otherVersions)
	f.Add("bridge(\"b\")\n---\n 0. priority 0\n    clone(ct(nat),clone(output:1))\n    ct(nat)\n    nat\n    clone(output:1)\n    output:1\n")
	f.Add("bridge(\"b\")\n 0. ip\n    check_pkt_larger(5)->reg0[0]\n    output:1\n     -> tunneling to ::1 via x\n    bridge(\"x\")\n    output:1\n")
	f.Add("bridge(\"b\")\n" + strings.Repeat(" 0. priority 0\n", 3000))
	f.Fuzz(func(t *testing.T, s string) {
		tr, err := ParseTrace(s)
		if err != nil {
			return
		}
		for _, r := range Replay(tr, nil) {
			for _, e := range r.Events {
				_ = e.Kind.String() + e.Flow.String()
				if e.Parent >= len(r.Events) || e.Kind == EventOutput && e.Output.Kind.String() == "" {
					t.Fatalf("bad event %+v", e)
				}
			}
			_ = r.Agrees()
		}
		for _, p := range tr.Passes {
			checkPrint(t, p.Roots)
		}
	})
}

// checkPrint checks that what was read prints as something that reads as equal.
func checkPrint(t *testing.T, nodes []*Node) {
	for _, n := range nodes {
		if n.Action != nil {
			if a, err := ParseAction(n.Action.String()); err != nil || a.String() != n.Action.String() {
				t.Fatalf("action %q prints %q: %v", n.Text, n.Action, err)
			}
		}
		if n.Step != nil && n.Step.Match != nil {
			if m, err := ParseMatch(n.Step.Match.String()); err != nil || m.String() != n.Step.Match.String() {
				t.Fatalf("match %q prints %q: %v", n.Step.MatchText, n.Step.Match, err)
			}
		}
		checkPrint(t, n.Children)
	}
}
