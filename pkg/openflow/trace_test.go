package openflow

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

var update = flag.Bool("update", false, "write the golden files anew")

// replies returns the replies that a switch gave, by file name.
func replies(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/trace/*.txt")
	if err != nil || len(files) < 30 {
		t.Fatalf("%d traces, %v", len(files), err)
	}
	texts := map[string]string{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[file] = string(b)
	}
	return texts
}

// TestParseTrace reads the replies of a real switch: every action and match of
// them must be understood and print as it was.
func TestParseTrace(t *testing.T) {
	for file, text := range replies(t) {
		tr, err := ParseTrace(text)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if n := strings.Count(text, "\nFlow: ") + 1; n != len(tr.Passes) {
			t.Errorf("%s: %d passes, want %d", file, len(tr.Passes), n)
		}
		compareLines(t, file, tr.String(), text)
		count := 0
		for _, p := range tr.Passes {
			count += checkNodes(t, file, p.Roots)
			if p.Flow == nil || p.Final == nil || p.Megaflow == "" || p.DatapathActions == "" {
				t.Errorf("%s: incomplete pass: %+v", file, p)
			}
		}
		if want := treeLines(text); count != want {
			t.Errorf("%s: %d nodes, want %d", file, count, want)
		}
	}
}

// treeLines counts the lines below "bridge" that are nodes.
func treeLines(text string) int {
	n, inside := 0, false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "Flow: "):
			inside = true
			continue
		case strings.HasPrefix(line, "Final flow: "):
			inside = false
		}
		if inside && strings.Trim(line, "-") != "" {
			n++
		}
	}
	return n
}

func checkNodes(t *testing.T, file string, nodes []*Node) int {
	count := len(nodes)
	for _, n := range nodes {
		switch {
		case n.Kind == NodeAction && (n.Action == nil || n.Action.String() != n.Text):
			t.Errorf("%s: action %q read as %v", file, n.Text, n.Action)
		case n.Kind == NodeTable && n.Step != nil && n.Step.Miss == Hit && (n.Step.Match == nil || n.Step.Match.String() != n.Step.MatchText):
			t.Errorf("%s: match %q read as %v", file, n.Step.MatchText, n.Step.Match)
		case n.Kind == NodeElided:
			t.Errorf("%s: elided line", file)
		}
		count += checkNodes(t, file, n.Children)
	}
	return count
}

// outline writes a tree of nodes with its nesting, for comparison.
func outline(nodes []*Node, indent string) string {
	var b strings.Builder
	for _, n := range nodes {
		fmt.Fprintf(&b, "%s%s\n%s", indent, n.Text, outline(n.Children, indent+" "))
	}
	return b.String()
}

// The words of other versions, after their documentation and sources.
const otherVersions = "Flow: ip,in_port=1\r\n" +
	"\r\n" +
	"bridge(\"br 0\")\r\n" +
	"-------------\r\n" +
	" 0. conj_id=7,in_port=\"eth 0\", priority 20, cookie 0xfeed\r\n" +
	"     -> conj. tcp, priority 20\r\n" + // 3.3 and later
	"    resubmit(,1)\r\n" +
	"     1. No match, and a \"packet-in\" is called for.\r\n" +
	"    brand_new(x=1)\r\n" +
	"     >> something odd\r\n" +
	"     >>>> output to nonexistent group 9 <<<<\r\n" +
	"    ...\r\n" +
	"    goto_table:2\r\n" +
	"2. Packets are IP fragments and the fragment handling mode is \"drop\".\r\n" +
	"\r\n" +
	"Final flow: unchanged\r\n" +
	"Megaflow: recirc_id=0,ip\r\n" +
	"Datapath actions: drop\r\n" +
	"Translation failed (Recursion too deep), packet is dropped.\r\n" +
	"This flow is handled by the userspace slow path because it:\r\n" +
	"  - Sends \"packet-in\" messages to the OpenFlow controller.\r\n" +
	"\r\n\r\n" +
	"===============================================================================\r\n" +
	"Trace reached the recirculation limit.  Sopping the trace here.\r\n" +
	"Queued but not processed: 3 recirculations.\r\n"

func TestParseTraceOtherVersions(t *testing.T) {
	tr, err := ParseTrace(otherVersions)
	if err != nil {
		t.Fatal(err)
	}
	if len(tr.Passes) != 1 {
		t.Fatalf("%d passes", len(tr.Passes))
	}
	p := tr.Passes[0]
	want := `bridge("br 0")
 0. conj_id=7,in_port="eth 0", priority 20, cookie 0xfeed
  conj. tcp, priority 20
  resubmit(,1)
  1. No match, and a "packet-in" is called for.
  brand_new(x=1)
  something odd
  output to nonexistent group 9
  ...
  goto_table:2
  2. Packets are IP fragments and the fragment handling mode is "drop".
`
	if got := outline(p.Roots, ""); got != want {
		t.Errorf("tree\n%s\nwant\n%s", got, want)
	}
	if p.Roots[0].Bridge != "br 0" {
		t.Errorf("bridge %q", p.Roots[0].Bridge)
	}
	kinds := ""
	for _, n := range p.Roots[0].Children[0].Children {
		kinds += fmt.Sprint(n.Kind, " ")
	}
	if want := fmt.Sprint(NodeDetail, NodeAction, NodeTable, NodeAction, NodeWarning, NodeError, NodeElided, NodeAction, NodeTable); strings.TrimSpace(kinds) != want {
		t.Errorf("kinds %s, want %s", kinds, want)
	}
	step := p.Roots[0].Children[0].Step
	if step.Table != 0 || step.Priority != 20 || step.Cookie != 0xfeed || step.Match == nil || step.Miss != Hit {
		t.Errorf("step %+v", step)
	}
	if p.Failure != "Recursion too deep" || len(p.SlowPath) != 1 || p.SlowPath[0] != `Sends "packet-in" messages to the OpenFlow controller` {
		t.Errorf("failure %q, slow path %q", p.Failure, p.SlowPath)
	}
	r := Replay(tr, nil)[0]
	if !r.Elided || r.Agrees() {
		t.Error("a trace with lines cut out must not agree")
	}
	misses := ""
	for _, e := range r.Events {
		if e.Kind == EventStep {
			misses += fmt.Sprint(e.Step.Miss, " ")
		}
	}
	if want := fmt.Sprint(Hit, MissController, MissFragment); strings.TrimSpace(misses) != want {
		t.Errorf("misses %s, want %s", misses, want)
	}
}

func TestParseTraceNothing(t *testing.T) {
	for _, text := range []string{"", "nope: unknown bridge\n", "Bad openflow flow syntax: x: unknown field x"} {
		if _, err := ParseTrace(text); !errors.Is(err, ErrNoTrace) {
			t.Errorf("ParseTrace(%q): %v", text, err)
		}
	}
}

// TestReplay executes the replies of a real switch. The flow after all actions
// must be the one it prints, every lookup must match the packet as it is then,
// and the packet that connection tracking takes must be the one that comes back.
func TestReplay(t *testing.T) {
	steps, forks := 0, 0
	for file, text := range replies(t) {
		tr, err := ParseTrace(text)
		if err != nil {
			t.Fatal(err)
		}
		var start *packet.Flow
		if strings.HasSuffix(file, "/receiver.txt") { // the reply does not print the tunnel key
			start = &packet.Flow{}
			*start = *tr.Passes[0].Flow
			field, _ := packet.Lookup("tun_id")
			start.Set(field, packet.Uint(9))
		}
		done := Replay(tr, start)
		for i, r := range done {
			if !r.Agrees() {
				t.Errorf("%s: pass %d ends with\n%s\nwant\n%s", file, i, r.Final.String(), r.Pass.Final.String())
			}
			steps += checkSteps(t, file, r)
			if r.Pass.Recirc == nil {
				continue
			}
			forks++
			checkFork(t, file, done, i)
		}
		golden(t, strings.TrimSuffix(file, ".txt")+".events", listing(done))
	}
	t.Logf("%d lookups matched, %d forks came back", steps, forks)
	if steps < 1500 || forks < 25 {
		t.Errorf("only %d steps and %d forks were checked", steps, forks)
	}
}

func checkSteps(t *testing.T, file string, r *Replayed) (n int) {
	for _, e := range r.Events {
		if e.Kind != EventStep || e.Step.Miss != Hit {
			continue
		}
		if _, conj := e.Step.Match.Field("conj_id"); conj {
			continue // the switch sets it for the lookup only
		}
		n++
		if !e.Step.Match.Matches(&e.Flow) {
			t.Errorf("%s: %s: %s does not match %s", file, e.Bridge, e.Node.Text, e.Flow.String())
		}
	}
	return n
}

// checkFork compares the packet that was sent to connection tracking with the
// one that the reply says came back, apart from what conntrack changes.
func checkFork(t *testing.T, file string, done []*Replayed, i int) {
	r := done[i]
	if r.Parent < 0 {
		t.Errorf("%s: pass %d has no parent", file, i)
		return
	}
	sent := done[r.Parent].Events[r.Event]
	if sent.Conntrack.Fork != i || sent.Kind != EventRecirculate {
		t.Errorf("%s: pass %d: %+v", file, i, sent)
	}
	if zone := r.Start.Uint("ct_zone"); zone != uint64(sent.Conntrack.Zone) {
		t.Errorf("%s: pass %d: zone %d, want %d", file, i, sent.Conntrack.Zone, zone)
	}
	if mark := uint32(r.Start.Uint("ct_mark")) & sent.Conntrack.MarkMask; mark != sent.Conntrack.Mark {
		t.Errorf("%s: pass %d: mark %#x, want %#x", file, i, sent.Conntrack.Mark, mark)
	}
	before, after := sent.Flow, r.Start
	if before.InPort() == (packet.PortID{}) { // unknown behind a patch port
		before.SetInPort(after.InPort())
	}
	for _, p := range []*packet.Flow{&before, &after} {
		p.ClearConntrack()
		field, _ := packet.Lookup("recirc_id")
		p.Set(field, packet.Value{})
		if r.Pass.Recirc.NATBefore != r.Pass.Recirc.NATAfter {
			for _, name := range []string{"ip_src", "ip_dst", "ipv6_src", "ipv6_dst", "tcp_src", "tcp_dst"} {
				field, _ := packet.Lookup(name)
				p.Set(field, packet.Value{})
			}
		}
	}
	if !before.Equal(&after) {
		t.Errorf("%s: pass %d: sent\n%s\ncame back\n%s", file, i, before.String(), after.String())
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\n got\n%s\nwant\n%s", file, got, want)
	}
}

// listing writes the events other than steps, a line each.
func listing(done []*Replayed) string {
	var b strings.Builder
	for i, r := range done {
		fmt.Fprintf(&b, "pass %d", i)
		if r.Parent >= 0 {
			fmt.Fprintf(&b, " from pass %d", r.Parent)
		}
		b.WriteString("\n")
		for _, e := range r.Events {
			if e.Kind != EventStep {
				b.WriteString("  " + describe(r, e) + "\n")
			}
		}
	}
	return b.String()
}

func describe(r *Replayed, e Event) string {
	s := e.Bridge
	if e.Parent >= 0 {
		s += fmt.Sprintf(" table %d", r.Events[e.Parent].Step.Table)
	}
	s += fmt.Sprintf(" clone %d: %s %s", e.Clone, e.Kind, e.Text)
	switch e.Kind {
	case EventOutput:
		o := e.Output
		s += fmt.Sprintf("%s %s", o.Kind, o.Port)
		if o.Peer != "" {
			s += " peer " + o.Peer
		}
		if o.TunnelDst.IsValid() {
			s += fmt.Sprintf(" from %s %s to %s %s", o.TunnelEthSrc, o.TunnelSrc, o.TunnelEthDst, o.TunnelDst)
		}
		if o.Reason != "" {
			s += " but " + o.Reason
		}
		s += " | " + e.Flow.String()
	case EventController:
		opcode, _ := e.Controller.Opcode()
		s += fmt.Sprintf("opcode %d pause %v %s", opcode, e.Controller.Pause, e.Controller.Reason)
	case EventRecirculate, EventCommit:
		ct := e.Conntrack
		s += fmt.Sprintf("zone %d mark %#x/%#x label %s/%s fork %d %s", ct.Zone, ct.Mark, ct.MarkMask, ct.Label, ct.LabelMask, ct.Fork, ct.Action)
	case EventGroup:
		s += fmt.Sprintf("%d buckets %v none %v", e.Group.ID, e.Group.Buckets, e.Group.NoBucket)
	case EventCheckPktLarger:
		s += fmt.Sprintf("%d %v", e.Larger.Size, e.Larger.Larger)
	}
	return s
}
