package openflow

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

func FuzzParseActions(f *testing.F) {
	for _, c := range actionTexts {
		f.Add(c.in)
	}
	f.Add(strings.Repeat("clone(", 100) + strings.Repeat(")", 100))
	f.Add("A:->->")
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
	f.Add("bridge(\"b\")\n---\n 0. priority 0\n    ct(nat)\n         ct(nat)\n     output:1\n") // ct inside of ct, which no switch prints
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
		_ = tr.String()
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

func FuzzParseDump(f *testing.F) {
	for _, pattern := range []string{"datapath", "conntrack", "meters", "fdb", "tlv-map", "ports-desc"} {
		for _, line := range seeds(pattern) {
			f.Add(line)
		}
	}
	f.Add("OFPST_FLOW reply (OF1.5) (xid=0x2): flags=[more]\n table=1, ip,tun_metadata1 actions=drop\n group_id=1,type=all,bucket=actions=1\n\n")
	f.Add("A (xid=0x0): flags=\r\r")
	f.Add("port  VLAN  MAC  Age\n cookie=0x1, actions=drop\n cookie=0x2, actions=drop\n")
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseDump(s)
		if pieces, ok := parsePieces(flowPieces(s, 3)); ok && (err != nil || pieces.String() != d.String()) {
			t.Fatalf("ParseDump(%q) is %q, %v, in pieces %q", s, d, err, pieces)
		}
		if err != nil {
			return
		}
		again, err := ParseDump(d.String())
		if err != nil || again.String() != d.String() {
			t.Fatalf("ParseDump(%q) prints %q, then %q, %v", s, d, again, err)
		}
	})
}

// seeds are parts of a dump: itself where it is short, else its first lines.
func seeds(name string) []string {
	b, err := os.ReadFile("testdata/dump/" + name + ".txt")
	if err != nil {
		return nil
	}
	lines := strings.SplitAfter(string(b), "\n")
	if len(lines) < 12 {
		return []string{string(b)}
	}
	return lines[:10]
}

func FuzzParseConnection(f *testing.F) {
	for _, line := range seeds("conntrack") {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := ParseConnection(s)
		if err != nil {
			return
		}
		again, err := ParseConnection(c.String())
		if err != nil || again.String() != c.String() {
			t.Fatalf("ParseConnection(%q) prints %q, then %q, %v", s, c, again, err)
		}
	})
}

func FuzzParseDatapathFlow(f *testing.F) {
	for _, line := range seeds("datapath") {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseDatapathFlow(s)
		if err != nil {
			return
		}
		again, err := ParseDatapathFlow(d.String())
		if err != nil || again.String() != d.String() {
			t.Fatalf("ParseDatapathFlow(%q) prints %q, then %q, %v", s, d, again, err)
		}
	})
}

// A Reader that knows much must read a flow as one that knows nothing.
func FuzzReader(f *testing.F) {
	for _, c := range flowEntries {
		f.Add(c.in, "udp,tp_src=5,icmp_type=7,metadata=0x5 actions=resubmit(,8),ct(commit,nat)")
	}
	f.Fuzz(func(t *testing.T, first, second string) {
		var r Reader
		_, _ = r.FlowEntry("")
		for _, line := range []string{first, second, first, second} {
			want, wantErr := ParseFlowEntry(line)
			got, err := r.FlowEntry(line)
			if (err == nil) != (wantErr == nil) || err == nil && got.String() != want.String() {
				t.Fatalf("Reader reads %q as %q, %v; want %q, %v", line, got, err, want, wantErr)
			}
		}
	})
}

func FuzzStripColors(f *testing.F) {
	for _, line := range seeds("colors") {
		f.Add(line)
	}
	f.Add("commit,\x1b[36m\x1b[m\x1b[K)") // a colour between the comma and the end of colours, which no switch prints
	f.Fuzz(func(t *testing.T, s string) {
		plain := StripColors(s)
		if got := regexp.MustCompile(`,?\x1b\[[0-9;]*[mK]`).ReplaceAllString(s, ""); len(plain) > len(s) || len(plain) < len(got) {
			t.Fatalf("StripColors(%q) = %q", s, plain)
		}
	})
}

// FuzzSwitchTexts reads any text as the switch's ports, learned addresses and meters; what is printed reads as the same again.
func FuzzSwitchTexts(f *testing.F) {
	f.Add(" 1(eth0): addr:0a:00:00:00:00:01\n     config:     0\n     state:      LIVE\n     current:    10GB-FD\n     speed: 10000 Mbps now, 0 Mbps max\n")
	f.Add("    1     0  0a:00:00:00:00:01    3\n")
	f.Add("meter=1 kbps burst stats bands=\ntype=drop rate=100 burst_size=10\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, p := range ParsePortDescs(text) {
			_ = p.String()
		}
		if e, err := ParseFDBEntry(text); err == nil {
			if again, err := ParseFDBEntry(e.String()); err != nil || again != e {
				t.Errorf("%q is %q, and again %q: %v", text, e, again, err)
			}
		}
		if m, err := ParseMeterEntry(text); err == nil {
			if again, err := ParseMeterEntry(m.String()); err != nil || again.String() != m.String() {
				t.Errorf("%q is %q, and again %q: %v", text, m, again, err)
			}
		}
	})
}
