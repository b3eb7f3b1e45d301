//go:build lab

package microflow_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math"
	"math/rand/v2"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/internal/turn"
	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
	"github.com/ovnctl/ovnctl/pkg/trace/microflow"
)

// deployments are where microflows begin, with the share of each in a hundred.
var deployments = []struct {
	topology lab.Topology
	share    int
}{
	{lab.Features(), 55}, {lab.OVNKubernetes(), 20}, {lab.KubeOVN(), 15}, {lab.MixedEncapsulation(), 10},
}

// TestMicroflows asks ovn-trace and package ovntrace the same and compares the answers byte for byte, but for the first
// line, which repeats the packet. Which backend of a load balancer and which member of a select() ovn-trace takes is left
// to it: the answer has to be the same for one of these choices. So it is with several flows of one priority, but then it
// counts if it is not the one expected. OVNCTL_SEED repeats a run, OVNCTL_MICROFLOWS says how many are compared.
func TestMicroflows(t *testing.T) { compareRelease(t, lab.System) }

// compareRelease compares on every deployment of a release, and bounds how many answers rest on flows of equal priority.
func compareRelease(t *testing.T, release string) {
	seed := turn.Seed(t)
	total := number(t, "OVNCTL_MICROFLOWS", 200)
	sum := &tally{stages: map[string]bool{}, all: map[string]bool{}}
	for _, d := range deployments {
		t.Run(d.topology.Name, func(t *testing.T) {
			l := labtest.Own(t, d.topology, lab.Options{Release: release})
			learn(t, l)
			c := newComparison(t, l, seed)
			c.run(t, int(total)*d.share/100)
			t.Logf("%s: %v", l.Release, &c.tally)
			sum.add(&c.tally)
		})
	}
	t.Logf("all: %v", sum)
	if sum.equal != sum.asked || sum.asked == 0 {
		t.Errorf("%d of %d microflows are answered as by ovn-trace", sum.equal, sum.asked)
	}
	if sum.tied*100 > sum.asked {
		t.Errorf("%d of %d answers rest on which of several flows of one priority, or of several VIPs of one address, is taken, want at most 1 %%", sum.tied, sum.asked)
	}
}

func number(t *testing.T, variable string, otherwise int64) int64 {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// A tally counts what a comparison saw.
type tally struct {
	asked, equal  int
	picked        int             // equal with a choice of backends or members other than the first
	tied          int             // equal with another of several flows of equal priority than expected
	refused       int             // answered with an error by both
	header        int             // equal in the first line, too
	aborted       int             // ovn-trace failed or did not end: it gave no answer to compare with
	stages, all   map[string]bool // seen, and that could be
	oracle, ours  time.Duration   // spent, over all who asked
	mu            sync.Mutex
	failuresShown int
}

func (c *tally) String() string {
	return fmt.Sprintf("%d of %d equal (%d by another pick than the first, %d by another flow of equal priority or VIP of one address, %d refused by both, %d equal in the first line, too); "+
		"%d more had no answer from ovn-trace; %d of %d stages seen, not %v; ovn-trace %.0f s, ovntrace %.1f s",
		c.equal, c.asked, c.picked, c.tied, c.refused, c.header, c.aborted, len(c.stages), len(c.all), c.unseen(), c.oracle.Seconds(), c.ours.Seconds())
}

// unseen are the stages that no packet came to.
func (c *tally) unseen() (names []string) {
	for s := range c.all {
		if !c.stages[s] {
			names = append(names, s)
		}
	}
	slices.Sort(names)
	return names
}

func (c *tally) add(o *tally) {
	c.asked, c.equal, c.picked, c.tied = c.asked+o.asked, c.equal+o.equal, c.picked+o.picked, c.tied+o.tied
	c.refused, c.header, c.aborted = c.refused+o.refused, c.header+o.header, c.aborted+o.aborted
	c.oracle, c.ours = c.oracle+o.oracle, c.ours+o.ours
	maps.Copy(c.stages, o.stages)
	maps.Copy(c.all, o.all)
}

// learn has routers and switches learn addresses: from packets that really flow, and as if some had.
func learn(t *testing.T, l *lab.Lab) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, p := range l.Topology.Pods[:2] {
		if _, err := l.Probe(ctx, p.Name, "internet", "icmp", 0); err != nil {
			t.Fatal(err)
		}
	}
	if l.Topology.Name == lab.Features().Name {
		learnRows(ctx, t, l)
		join(ctx, t, l, l.Topology.Pods[0].Name, "239.1.1.5")
	}
	// What the nodes learned is in the Southbound when they have done what comes after.
	run(ctx, t, l, "central", "ovn-nbctl", "--db="+l.NB(), "--timeout=50", "--wait=hv", "sync")
}

func run(ctx context.Context, t *testing.T, l *lab.Lab, host string, args ...string) string {
	t.Helper()
	out, err := l.Run(ctx, host, args...)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// learnRows writes what ports would have learned that are bound nowhere.
func learnRows(ctx context.Context, t *testing.T, l *lab.Lab) {
	t.Helper()
	sbctl := func(args ...string) string {
		return run(ctx, t, l, "central", append([]string{"ovn-sbctl", "--db=" + l.SB(), "--timeout=20", "--bare"}, args...)...)
	}
	for _, row := range [][3]string{
		{"rel-flood", "10.2.7.50", "00:00:00:02:07:50"},
		{"rel-snoop", "fd00:10:2:6::50", "00:00:00:02:06:50"},
		{"g1-out", "198.18.1.5", "00:00:00:02:0a:55"},
		{"g2-out", "198.18.1.4", "00:00:00:02:0a:54"},
		{"ro-1", "10.2.12.77", "00:00:00:02:0c:77"},
	} {
		datapath := sbctl("--columns=datapath", "list", "Port_Binding", row[0])
		sbctl("create", "MAC_Binding", "datapath="+datapath, "logical_port="+row[0], "ip="+strconv.Quote(row[1]), "mac="+strconv.Quote(row[2]))
	}
	for mac, port := range map[string]string{"00:00:00:02:04:77": "p-unknown", "00:00:00:02:0d:78": "r2-unknown"} {
		datapath := sbctl("--columns=tunnel_key", "list", "Datapath_Binding", sbctl("--columns=datapath", "list", "Port_Binding", port))
		sbctl("create", "FDB", "mac="+strconv.Quote(mac), "dp_key="+datapath, "port_key="+sbctl("--columns=tunnel_key", "list", "Port_Binding", port))
	}
}

// join has the kernel of a pod join a group, of which its switch hears.
func join(ctx context.Context, t *testing.T, l *lab.Lab, pod, group string) {
	t.Helper()
	run(ctx, t, l, pod, "ip", "addr", "add", group+"/32", "dev", "eth0", "autojoin")
	for known := ""; !strings.Contains(known, group); time.Sleep(50 * time.Millisecond) {
		known = run(ctx, t, l, "central", "ovn-sbctl", "--db="+l.SB(), "--bare", "--columns=address", "find", "IGMP_Group", "ports!=[]")
	}
}

// A comparison asks about one Southbound.
type comparison struct {
	lab     *lab.Lab
	network *logicalflow.Network
	draw    *draw
	tally
}

func newComparison(t *testing.T, l *lab.Lab, seed uint64) *comparison {
	t.Helper()
	db := ovsdbtest.Dial(t, "OVN_Southbound", l.SB())
	network, err := logicalflow.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	network.IgnoreTags() // as ovn-trace does
	h := fnv.New64a()
	_, _ = h.Write([]byte(l.Topology.Name))
	w := survey(t.Context(), t, db)
	return &comparison{lab: l, network: network, draw: newDraw(w, rand.New(rand.NewPCG(seed, h.Sum64()))), tally: tally{stages: map[string]bool{}, all: w.stages}}
}

// run compares n microflows, two at a time. For those without an answer to compare with it draws others.
func (c *comparison) run(t *testing.T, n int) {
	for missing := n; missing > 0 && !t.Failed(); missing = n - c.asked {
		flows := make(chan generated)
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				for m := range flows {
					c.compare(t, m)
				}
			})
		}
		for range missing {
			flows <- c.draw.draw()
		}
		close(flows)
		wg.Wait()
	}
}

// compare asks both.
func (c *comparison) compare(t *testing.T, m generated) {
	start := time.Now()
	wanted, aborted, err := c.ask(t.Context(), m)
	if err != nil {
		t.Errorf("ovn-trace %q: %v", m.args(), err)
		return
	}
	if aborted { // nothing to compare with, but package ovntrace has to end nevertheless
		a, _ := c.try(t.Context(), m, nil, math.MaxInt)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.aborted++; a.text == "" {
			t.Errorf("ovntrace %s: no answer", quoted(m.args()))
		}
		return
	}
	took := time.Since(start)
	start = time.Now()
	a := c.answer(t.Context(), m, body(wanted))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.oracle, c.ours = c.oracle+took, c.ours+time.Since(start)
	c.asked++
	for _, s := range stage.FindAllStringSubmatch(wanted, -1) {
		c.stages[s[1]] = true
	}
	if a.tied {
		c.tied++
	}
	if !a.equal {
		t.Fail()
		c.failuresShown++
		c.show(t, m, wanted, a.text)
		return
	}
	c.equal++
	if a.picked {
		c.picked++
	}
	if a.refused {
		c.refused++
	}
	if strings.HasPrefix(wanted, "#") && line(wanted) == line(a.text) {
		c.header++
	}
}

// stage finds the name of a step's stage.
var stage = regexp.MustCompile(`(?m)^ *[0-9]+\. ([a-z0-9_]+)[ :]`)

// ask runs ovn-trace, for at most some seconds of the processor's time: there are packets that it never finishes with.
func (c *comparison) ask(ctx context.Context, m generated) (answer string, aborted bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	cmd := c.lab.Command(ctx, "central", append([]string{"prlimit", "--cpu=3", "ovn-trace", "--db=" + c.lab.SB()}, m.args()...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	if cmd.ProcessState != nil && ctx.Err() == nil && cmd.ProcessState.ExitCode() < 0 {
		return "", true, nil // by a signal
	}
	if err != nil {
		err = fmt.Errorf("%w: %s", err, errs.String())
	}
	return out.String(), false, err
}

// line is the first line of an answer, body the rest if that is the packet's description.
func line(text string) string { s, _, _ := strings.Cut(text, "\n"); return s }

func body(text string) string {
	if strings.HasPrefix(text, "#") {
		_, text, _ = strings.Cut(text, "\n")
	}
	return text
}

// An answer is what package ovntrace says.
type answer struct {
	text    string // with the choices that make it equal, or else with the first of each
	equal   bool
	picked  bool
	tied    bool
	refused bool
}

// Bounds of what is tried for one microflow.
const (
	longest = time.Minute
	ahead   = 8 // choices beyond the one in question
)

// answer finds the choices with which the text is as wanted: one after the other it takes the one with which the text
// agrees for longest, since what comes before a choice does not depend on it.
func (c *comparison) answer(ctx context.Context, m generated, wanted string) answer {
	first, widths := c.try(ctx, m, nil, math.MaxInt)
	first.equal = body(first.text) == wanted
	if first.equal || len(widths) == 0 {
		return first
	}
	var fixed []int
	for until := time.Now().Add(longest); time.Now().Before(until); {
		best, agreed := 0, -1
		_, widths := c.try(ctx, m, fixed, len(fixed)+1)
		if len(widths) <= len(fixed) {
			break
		}
		for i := range widths[len(fixed)] {
			a, _ := c.try(ctx, m, append(fixed, i), len(fixed)+ahead)
			if n := agreement(body(a.text), wanted); n > agreed {
				best, agreed = i, n
			}
		}
		fixed = append(fixed, best)
	}
	a, _ := c.try(ctx, m, fixed, math.MaxInt)
	if a.equal = body(a.text) == wanted; a.equal {
		return a
	}
	return first
}

// agreement is how long two texts are the same.
func agreement(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// try makes the choices given, then always the first, and stops where there are more than so many. It returns of how
// many each choice was.
func (c *comparison) try(ctx context.Context, m generated, choices []int, most int) (a answer, widths []int) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	o, format := options(m.options)
	o.Choose = func(kind string, n int) int {
		i := 0
		if len(widths) < len(choices) {
			i = choices[len(widths)]
		}
		if widths = append(widths, n); len(widths) > most {
			stop()
		}
		random := kind == "backend" || kind == "select"
		a.picked = a.picked || random && i > 0
		a.tied = a.tied || !random && i > 0
		return i
	}
	r, err := microflow.Trace(ctx, c.network, m.datapath, m.text(), o)
	refusal := (*microflow.Refusal)(nil)
	switch {
	case errors.As(err, &refusal):
		a.text, a.refused = refusal.Text, true
	case r != nil && (err == nil || errors.Is(err, context.Canceled)):
		a.text = r.Text(format)
	default:
		a.text = "error: " + err.Error()
	}
	return a, widths
}

// options reads the options of ovn-trace.
func options(args []string) (o microflow.Options, format microflow.Format) {
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		switch name {
		case "--ct":
			o.CT = append(o.CT, connState(value))
		case "--lb-dst":
			if b, err := netip.ParseAddrPort(value); err == nil {
				o.Backend = b
			} else {
				o.Backend = netip.AddrPortFrom(netip.MustParseAddr(value), 0)
			}
		case "--select-id":
			id, _ := strconv.ParseUint(value, 10, 16)
			o.SelectID = uint16(id)
		case "--no-friendly-names":
			o.FullNames = true
		case "--summary":
			format |= microflow.Summary
		case "--minimal":
			format |= microflow.Minimal
		case "--detailed":
			format |= microflow.Detailed
		case "--all":
			format |= microflow.Detailed | microflow.Summary | microflow.Minimal
		}
	}
	if format == 0 {
		format = microflow.Detailed
	}
	return o, format
}

// connState is a state of conntrack as bits, as OVS numbers them.
func connState(text string) uint32 {
	bits := uint32(0x20)
	for _, flag := range strings.Split(text, ",") {
		bits |= map[string]uint32{"new": 0x01, "est": 0x02, "rel": 0x04, "rpl": 0x08, "inv": 0x10, "trk": 0x20, "snat": 0x40, "dnat": 0x80}[flag]
	}
	return bits
}

// show says how to repeat a difference, with as few conditions as show it; only the first are worth reading.
func (c *comparison) show(t *testing.T, m generated, wanted, got string) {
	const most = 8
	if c.failuresShown > most {
		return
	}
	if m.broken == "" && c.failuresShown <= most/2 {
		m, wanted, got = c.minimise(t.Context(), m, wanted, got)
	}
	t.Errorf("ovn-trace %s\n(-ovn-trace +ovntrace)\n%s", quoted(m.args()), cmp.Diff(strings.SplitAfter(body(wanted), "\n"), strings.SplitAfter(body(got), "\n")))
}

// minimise leaves out conditions as long as the answers differ.
func (c *comparison) minimise(ctx context.Context, m generated, wanted, got string) (generated, string, string) {
	for i := len(m.conditions) - 1; i > 0; i-- {
		less := m
		less.conditions = slices.Delete(slices.Clone(m.conditions), i, i+1)
		w, aborted, err := c.ask(ctx, less)
		if err != nil || aborted {
			continue
		}
		if a := c.answer(ctx, less, body(w)); !a.equal && !a.refused && strings.HasPrefix(w, "#") {
			m, wanted, got = less, w, a.text
		}
	}
	return m, wanted, got
}

// quoted writes arguments for a shell.
func quoted(args []string) string {
	var s []string
	for _, a := range args {
		s = append(s, "'"+a+"'")
	}
	return strings.Join(s, " ")
}
