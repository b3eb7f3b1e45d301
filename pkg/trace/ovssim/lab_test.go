//go:build lab

package ovssim_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/trace/ovssim"
)

var seed = flag.Uint64("seed", 0, "of the random packets; 0: another one each time")

// packets is how many traces a test compares: OVNCTL_TRACES, or a tenth of what
// the figures in docs/testing.md rest on.
func packets(t *testing.T) int {
	text := os.Getenv("OVNCTL_TRACES")
	if text == "" {
		return 300
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("OVNCTL_TRACES: %v", err)
	}
	return n
}

// TestTraces compares the traces of packets on all nodes and bridges of all
// topologies with those of the real ovs-vswitchd.
func TestTraces(t *testing.T) { compareTopologies(t, "") }

func compareTopologies(t *testing.T, release string) {
	list := append(slices.Collect(maps.Values(lab.Topologies())), lab.Features())
	slices.SortFunc(list, func(a, b lab.Topology) int { return cmp.Compare(a.Name, b.Name) })
	total := &score{t: t, reasons: map[string]int{}}
	n := packets(t)
	for _, topology := range list {
		t.Run(topology.Name, func(t *testing.T) {
			c := newComparison(t, labtest.Own(t, topology, lab.Options{Release: release}), total)
			c.run((n + len(list) - 1) / len(list))
		})
	}
	total.judge()
}

// A score counts what agreed.
type score struct {
	t                                *testing.T
	traces, passes, lookups          int
	texts                            int // that were equal but for ids and megaflows
	sequences, ties, finals, actions int // that were different
	orders                           int // of flooding that were found out
	reasons                          map[string]int
	evidence                         []string // of sequences and finals, which are never to differ
}

func (s *score) judge() {
	s.t.Logf("%d traces with %d passes and %d lookups: other tables or flows in %d, by flows of equal priority in %d, other final flows in %d, other datapath actions in %d (%.2f %%)",
		s.traces, s.passes, s.lookups, s.sequences, s.ties, s.finals, s.actions, 100*float64(s.actions)/float64(max(s.traces, 1)))
	s.t.Logf("the whole text was equal but for ids and megaflows in %d", s.texts)
	s.t.Logf("%d orders of flooding were found out", s.orders)
	for _, reason := range slices.Sorted(maps.Keys(s.reasons)) {
		s.t.Logf("%6d %s", s.reasons[reason], reason)
	}
	if s.sequences > 0 || s.finals > 0 || s.ties*100 > s.traces || s.actions*50 > s.traces {
		s.t.Errorf("too many differences\n%s", strings.Join(s.evidence[:min(len(s.evidence), 3)], "\n"))
	}
}

// A comparison asks the nodes of a lab.
type comparison struct {
	t     *testing.T
	lab   *lab.Lab
	rand  *rand.Rand
	score *score
	shown int
}

func newComparison(t *testing.T, l *lab.Lab, s *score) *comparison {
	number := *seed
	if number == 0 {
		number = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed %d", number)
	return &comparison{t: t, lab: l, rand: rand.New(rand.NewPCG(number, 1)), score: s}
}

// A subject is a node: the real switch and what was read of it.
type subject struct {
	node.Host
	name   string
	source *ovssim.Source
	sw     *ovssim.Switch
	floods map[string][]string // the order in which a bridge was seen to flood
}

func (c *comparison) subject(name string) *subject {
	host := node.Local(node.LocalConfig{OVSRunDir: filepath.Join(c.lab.Dir, name, "run/openvswitch"), Timeout: 20 * time.Second})
	s := &subject{Host: host, name: name, floods: map[string][]string{}}
	c.refresh(s)
	return s
}

// refresh reads a switch anew: it learns where MAC addresses are all the time.
func (c *comparison) refresh(s *subject) {
	source, errs := ovssim.Read(c.t.Context(), s.Host)
	if source == nil || len(errs) > 0 {
		c.t.Fatalf("%s: %v", s.name, errs)
	}
	for i := range source.Bridges {
		source.Bridges[i].Flood = s.floods[source.Bridges[i].Name]
	}
	s.source, s.sw = source, ovssim.NewSwitch(*source)
}

func (c *comparison) run(n int) {
	if pods := c.lab.Topology.Pods; len(pods) > 1 { // resolves gateways and tunnels
		for _, p := range pods {
			_, _ = c.lab.Probe(c.t.Context(), p.Name, "internet", "icmp", 0)
		}
	}
	nodes := c.lab.Topology.Nodes
	share := (n + len(nodes) - 1) / len(nodes)
	for _, host := range nodes {
		s := c.subject(host.Name)
		g := newGenerator(c.rand, c.lab.Topology, s.source)
		for i := range share {
			if i%50 == 49 {
				c.refresh(s)
			}
			bridge, packet, next := g.packet()
			c.compare(s, bridge, packet, next)
		}
	}
}

func (c *comparison) compare(s *subject, bridge string, p packet.Flow, next []string) {
	c.score.traces++
	const attempts = 4
	for attempt := range attempts {
		if attempt > 0 {
			c.refresh(s) // perhaps the switch has learned something meanwhile; a difference of the engine stays
		}
		want, reply := c.real(s, bridge, p, next)
		var o ovssim.Options
		for _, text := range next {
			state, err := packet.ParseCTState(text)
			if err != nil {
				c.t.Fatal(err)
			}
			o.Next = append(o.Next, state)
		}
		got, err := s.sw.Trace(bridge, p, o)
		if err != nil {
			c.t.Fatal(err)
		}
		d := difference(c.t, got, want)
		if d.kind != "" && strings.Contains(reply, "flooding") {
			d = c.reorder(s, bridge, p, o, want, d)
		}
		if d.kind != "" && attempt < attempts-1 {
			continue
		}
		c.score.passes += len(want.Passes)
		c.score.lookups += len(sequence(want))
		switch d.kind {
		case "sequence":
			c.score.sequences++
		case "tie":
			c.score.ties++
		case "final":
			c.score.finals++
		case "actions":
			c.score.actions++
		}
		if plain(got.String()) == plain(reply) {
			c.score.texts++
		} else if c.shown == 0 && d.kind == "" {
			c.shown++
			c.t.Logf("%s %s %s\nthe switch:\n%s\nours:\n%s", s.name, bridge, p.String(), reply, got)
		}
		if d.kind == "" {
			return
		}
		c.score.reasons[d.kind+": "+d.reason]++
		both := fmt.Sprintf("%s %s %s %q\n%s: %s\nthe switch:\n%s\nours:\n%s", s.name, bridge, p.String(), next, d.kind, d.text, reply, got)
		if d.kind == "sequence" || d.kind == "final" {
			c.score.evidence = append(c.score.evidence, both)
		}
		if c.shown++; c.shown <= 3 {
			c.t.Log(both)
		}
	}
}

// reorder looks for the order in which the bridges flood that explains a
// difference: it is that of addresses in the memory of ovs-vswitchd, and stays.
func (c *comparison) reorder(s *subject, bridge string, p packet.Flow, o ovssim.Options, want *openflow.Trace, d found) found {
	for i := range s.source.Bridges {
		b := &s.source.Bridges[i]
		was := b.Flood
		for _, order := range permutations(ports(s.source, b.Name)) {
			b.Flood = order
			s.sw = ovssim.NewSwitch(*s.source)
			if got, err := s.sw.Trace(bridge, p, o); err == nil && difference(c.t, got, want).kind == "" {
				c.score.orders++
				s.floods[b.Name] = order
				return found{}
			}
		}
		b.Flood = was
	}
	s.sw = ovssim.NewSwitch(*s.source)
	return d
}

func ports(s *ovssim.Source, bridge string) []string {
	var names []string
	for _, b := range s.Rows {
		for _, p := range s.Ports {
			if b.Name == bridge && slices.Contains(b.Ports, p.UUID) {
				names = append(names, p.Name)
			}
		}
	}
	if len(names) > 6 {
		return nil // a bridge that floods has few ports
	}
	return names
}

func permutations(list []string) [][]string {
	if len(list) < 2 {
		return [][]string{list}
	}
	var all [][]string
	for i := range list {
		rest := slices.Delete(slices.Clone(list), i, i+1)
		for _, p := range permutations(rest) {
			all = append(all, append([]string{list[i]}, p...))
		}
	}
	return all
}

func (c *comparison) real(s *subject, bridge string, p packet.Flow, next []string) (*openflow.Trace, string) {
	args := []string{bridge, p.String()}
	for _, state := range next {
		args = append(args, "--ct-next", state)
	}
	ctx, cancel := context.WithTimeout(c.t.Context(), 20*time.Second)
	defer cancel()
	reply, err := s.Control(ctx, "ovs-vswitchd", "ofproto/trace", args...)
	if err != nil {
		c.t.Fatalf("%s %q: %v", s.name, args, err)
	}
	t, err := openflow.ParseTrace(reply)
	if err != nil {
		c.t.Fatalf("%q: %v", args, err)
	}
	return t, reply
}

// A found is the first difference between two traces.
type found struct{ kind, reason, text string }

func difference(t *testing.T, got, want *openflow.Trace) found {
	a, b := sequence(got), sequence(want)
	for i := range max(len(a), len(b)) {
		x, y := "nothing", "nothing"
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if x == y {
			continue
		}
		kind := "sequence" // with the same priority, no rule says which of the flows is met
		if before, _, _ := strings.Cut(x, " cookie"); strings.HasPrefix(y, before+" cookie") {
			kind = "tie"
		}
		return found{kind, "tables", fmt.Sprintf("lookup %d is %s, want %s", i, x, y)}
	}
	for i, p := range want.Passes {
		q := got.Passes[i]
		if p.Final == nil || ended(t, q.Final) != ended(t, p.Final) {
			return found{"final", "flow", fmt.Sprintf("pass %d ends with\n%s\nwant\n%s", i, q.FinalText, p.FinalText)}
		}
	}
	if x, y := normalized(got), normalized(want); x != y {
		return found{"actions", kinds(x, y), fmt.Sprintf("\n%s\nwant\n%s", x, y)}
	}
	return found{}
}

// ended is a flow at the end of a pass, without the id of its recirculation.
func ended(t *testing.T, p *packet.Flow) string {
	q, err := packet.Parse(p.Trace()) // which hides some of it
	if err != nil {
		t.Fatal(err)
	}
	set(&q, "recirc_id", packet.Value{})
	return q.String()
}

// sequence lists the lookups of a trace in the order in which they are made.
func sequence(t *openflow.Trace) []string {
	var list []string
	var walk func(bridge string, nodes []*openflow.Node)
	walk = func(bridge string, nodes []*openflow.Node) {
		for _, n := range nodes {
			if n.Kind == openflow.NodeBridge {
				walk(n.Bridge, n.Children)
				continue
			}
			if s := n.Step; s != nil {
				list = append(list, fmt.Sprintf("%s table %d priority %d cookie 0x%x", bridge, s.Table, s.Priority, s.Cookie))
			}
			walk(bridge, n.Children)
		}
	}
	for i, p := range t.Passes {
		list = append(list, fmt.Sprintf("pass %d", i))
		walk("", p.Roots)
	}
	return list
}

var recirculation = regexp.MustCompile(`recirc\(0x[0-9a-f]+\)|recirc_id=[0-9]+|meter\([0-9]+\)`)

// continuation is where a packet for the controller would go on.
var continuation = regexp.MustCompile(`recirc_id=[0-9]+`)

// normalized is the datapath actions of all passes, with recirculations and
// meters, of which the datapath has its own numbers, numbered as they appear.
func normalized(t *openflow.Trace) string {
	ids := map[string]string{}
	var lines []string
	for _, p := range t.Passes {
		actions := continuation.ReplaceAllString(p.DatapathActions, "recirc_id=#")
		lines = append(lines, recirculation.ReplaceAllStringFunc(actions, func(s string) string {
			i := strings.IndexAny(s, "(=")
			n, _ := strconv.ParseUint(strings.TrimRight(s[i+1:], ")"), 0, 32)
			id := fmt.Sprint(s[:5], n)
			if ids[id] == "" {
				ids[id] = fmt.Sprintf("%s#%d", s[:5], len(ids)+1)
			}
			return ids[id]
		}))
	}
	return strings.Join(lines, "\n")
}

// plain is a trace's text without what is known to differ.
func plain(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "Megaflow: ") && !strings.HasPrefix(strings.TrimSpace(line), "-> conj. ") {
			lines = append(lines, line)
		}
	}
	return someID.ReplaceAllString(strings.TrimSpace(strings.Join(lines, "")), "$1#")
}

var someID = regexp.MustCompile(`(recirc\(|recirc_id=|meter\()(0x)?[0-9a-f]+`)

// kinds names the first words in which two lists of actions differ.
func kinds(a, b string) string {
	x, y := strings.Split(a, ","), strings.Split(b, ",")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			word := func(s string) string { return strings.TrimRight(s, "0123456789abcdef.:x") }
			return fmt.Sprintf("%s instead of %s", word(x[i]), word(y[i]))
		}
	}
	return "length"
}
