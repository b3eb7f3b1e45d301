//go:build lab

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/turn"
	"github.com/ovnctl/ovnctl/pkg/journey"
)

// TestTraceTruth traces pairs of two deployments and sends the same packets: verdict and exit code must
// say what the packets did. The pairs are drawn by a seed, which is printed; OVNCTL_SEED sets it. OVNCTL_PAIRS says how many pairs of each are drawn at least.
func TestTraceTruth(t *testing.T) {
	for _, topology := range []lab.Topology{lab.OVNKubernetes(), lab.KubeOVN()} {
		t.Run(topology.Name, func(t *testing.T) { traceTruth(t, topology, "", drawnPairs(t, 60), traceClasses...) })
	}
	t.Run("mixed-encapsulation", func(t *testing.T) {
		traceTruth(t, lab.MixedEncapsulation(), "", 20, "same node", "cross node", "icmp", "tcp", "udp", "ipv6")
	})
}

// traceTruth compares at least pairs pairs on a topology, in every one of the classes.
func traceTruth(t *testing.T, topology lab.Topology, release string, pairs int, classes ...string) {
	ctx, cancel := context.WithTimeout(t.Context(), lab.Allow(10*time.Minute))
	defer cancel()
	l, err := lab.Up(ctx, topology, lab.Options{Release: release})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Down(); err != nil {
			t.Error(err)
		}
	})
	d := &traceDraw{lab: l, classes: classes, saved: t.TempDir()}
	d.agrees = d.liveAndSaved
	if err := l.Backup(ctx, d.saved); err != nil {
		t.Fatal(err)
	}
	all := slices.DeleteFunc(candidates(topology), func(p tracePair) bool { return !slices.Contains(classes, p.where) })
	d.draw(ctx, t, all, pairs)
	d.withoutReplies(ctx, t, all[:min(len(all), 24, pairs)])
	d.withoutFlows(ctx, t, all[slices.IndexFunc(all, func(p tracePair) bool { return p.where == "cross node" && !p.v6 })])
}

// draw compares at least pairs of all, in every class.
func (d *traceDraw) draw(ctx context.Context, t *testing.T, all []tracePair, pairs int) {
	t.Helper()
	seed := turn.Seed(t)
	d.planned, d.count, d.least = map[string]int{}, map[string]int{}, min(quota, pairs/3)
	rng := rand.New(rand.NewPCG(seed, 0))
	rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for rest := all; len(rest) > 0 && !d.enough(pairs); {
		var batch []tracePair
		for len(rest) > 0 && len(batch) < sideBySide {
			if d.wanted(rest[0], pairs) {
				d.planned[rest[0].where]++
				batch = append(batch, rest[0])
			}
			rest = rest[1:]
		}
		var wg sync.WaitGroup
		for _, p := range batch {
			wg.Go(func() { d.compare(ctx, t, p) })
		}
		wg.Wait()
	}
	for _, class := range d.classes {
		if d.count[class] < d.least {
			t.Errorf("class %s: %d pairs, want at least %d", class, d.count[class], d.least)
		}
	}
	t.Logf("%d pairs, %d agree with the packets", d.total, d.agreed)
	for _, class := range slices.Sorted(maps.Keys(d.count)) {
		t.Logf("  %-12s %d", class, d.count[class])
	}
}

// sideBySide is how many pairs are compared at a time: most of it is waiting for packets that do not come.
const sideBySide = 6

// quota is how many pairs of each class are compared at least, unless few are drawn.
const quota = 6

// traceClasses are the classes of a pair. A pair is in several: by where it goes, by its protocol, by its
// family, and denied if the packets say so.
var traceClasses = []string{"same node", "cross node", "vip", "external", "node", "icmp", "tcp", "udp", "ipv6", "denied"}

// A tracePair is a question that both the lab and ovnctl can answer.
type tracePair struct {
	from, to string // in the lab's names
	proto    string // icmp, tcp, udp
	v6       bool
	port     int
	where    string // the class by where it goes
	at       string // the node that the question is asked on
}

func (p tracePair) classes() []string {
	out := []string{p.where, p.proto}
	if p.v6 {
		out = append(out, "ipv6")
	}
	return out
}

func (p tracePair) String() string {
	return fmt.Sprintf("%s %s → %s port %d v6=%v", p.proto, p.from, p.to, p.port, p.v6)
}

// candidates are all pairs of a topology.
func candidates(t lab.Topology) []tracePair {
	var out []tracePair
	add := func(p tracePair) {
		for _, v6 := range []bool{false, true} {
			p.v6 = v6
			for _, proto := range []string{"icmp", "tcp", "udp"} {
				p.proto, p.port = proto, 0
				if proto != "icmp" {
					p.port = lab.Ports[len(out)%len(lab.Ports)]
				}
				out = append(out, p)
			}
		}
	}
	for _, from := range t.Pods {
		name := podName(from)
		for _, to := range t.Pods {
			where := "cross node"
			if from.Node == to.Node {
				where = "same node"
			}
			if from.Name != to.Name {
				add(tracePair{from: name, to: podName(to), where: where, at: from.Node})
			}
		}
		for _, n := range t.Nodes {
			add(tracePair{from: name, to: n.Name, where: "node", at: from.Node})
			add(tracePair{from: n.Name, to: name, where: "node", at: n.Name})
		}
		add(tracePair{from: name, to: "internet", where: "external", at: from.Node})
		for _, s := range t.Services {
			for _, v6 := range []bool{false, true} {
				out = append(out, tracePair{from: name, to: s.Name, proto: s.Protocol, v6: v6, port: s.Port, where: "vip", at: from.Node})
			}
		}
	}
	return out
}

// podName is what an operator calls a pod.
func podName(p lab.Pod) string {
	if !strings.Contains(p.Name, p.Namespace) {
		return p.Name // plain OVN knows no namespaces
	}
	return p.Namespace + "/" + p.Pod
}

type traceDraw struct {
	lab     *lab.Lab
	saved   string // offline directory
	classes []string
	planned map[string]int // by where they go
	least   int            // pairs of each class
	agrees  func(ctx context.Context, t *testing.T, p tracePair, want journey.Outcome) bool

	mu            sync.Mutex
	count         map[string]int
	total, agreed int
}

func (d *traceDraw) enough(pairs int) bool {
	for _, class := range d.classes {
		if d.count[class] < d.least {
			return false
		}
	}
	return d.total >= pairs
}

// wanted leaves room for the classes that are rare, and in the end takes only what is still missing.
func (d *traceDraw) wanted(p tracePair, pairs int) bool {
	if d.total < pairs {
		return len(d.classes) < len(traceClasses) || d.planned[p.where] < max(d.least, pairs/4)
	}
	missing := func(class string) bool { return slices.Contains(d.classes, class) && d.count[class] < d.least }
	return missing("denied") || slices.ContainsFunc(p.classes(), missing)
}

// compare sends the packets of a pair and asks whether ovnctl agrees.
func (d *traceDraw) compare(ctx context.Context, t *testing.T, p tracePair) {
	t.Helper()
	want, err := d.truth(ctx, p)
	if err != nil {
		t.Errorf("%s: %v", p, err)
		return
	}
	if !d.take(p, want) || !d.agrees(ctx, t, p, want) {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.agreed++
}

// liveAndSaved traces a pair live, and from what was saved meanwhile.
func (d *traceDraw) liveAndSaved(ctx context.Context, t *testing.T, p tracePair, want journey.Outcome) bool {
	t.Helper()
	args := append(d.arguments(p), "-o", "json")
	// A directory of its own: where a pod's namespace is found only while something runs in it, another trace may have read it.
	saved := t.TempDir()
	if err := os.CopyFS(saved, os.DirFS(d.saved)); err != nil {
		t.Error(err)
		return false
	}
	live := d.ovnctl(ctx, p.at, append(args, "--nb", d.lab.NB(), "--node-exec", d.lab.Dir+"/enter {hostname}", "--record", saved)...)
	if !live.says(d.again(ctx, p, want, live)) {
		t.Errorf("%s: packets say %s, ovnctl (exit %d) says %s\n%s", p, want, live.code, live.outcome(), live.text(d, p))
		return false
	}
	if found := live.trace().Disagreements; len(found) > 0 {
		t.Errorf("%s: nothing is broken, ovnctl says %+v", p, found)
		return false
	}
	offline := d.ovnctl(ctx, p.at, append(args, "--offline", saved)...)
	if offline.code != live.code || !bytes.Equal(offline.answer(t), live.answer(t)) {
		t.Errorf("%s: live says %s (exit %d), the saved replies %s (exit %d)\n%s", p, live.outcome(), live.code, offline.outcome(), offline.code, offline.stderr)
		return false
	}
	return true
}

// take counts a pair, unless it is one of which there are enough while denied ones are still missing.
func (d *traceDraw) take(p tracePair, want journey.Outcome) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if want == journey.Delivered && slices.Contains(d.classes, "denied") && d.count["denied"] < d.least && d.enoughBut("denied") {
		return false
	}
	d.total++
	for _, class := range p.classes() {
		d.count[class]++
	}
	if want != journey.Delivered {
		d.count["denied"]++
	}
	return true
}

func (d *traceDraw) enoughBut(but string) bool {
	for _, class := range d.classes {
		if class != but && d.count[class] < d.least {
			return false
		}
	}
	return true
}

// truth is what the packets of a pair do. A service is tried often enough to meet every backend.
func (d *traceDraw) truth(ctx context.Context, p tracePair) (journey.Outcome, error) {
	proto, tries := p.proto, 1
	if p.v6 {
		proto += "6"
	}
	if p.where == "vip" {
		tries = 16
	}
	outcome := journey.Delivered
	for range tries {
		if outcome != journey.Delivered {
			break
		}
		truth, err := d.lab.Probe(ctx, p.from, p.to, proto, p.port)
		if err == nil && truth.Rejected && truth.Forward {
			// Nobody rejects what arrives: while neighbours were asked for, the connection got out of step.
			truth, err = d.lab.Probe(ctx, p.from, p.to, proto, p.port)
		}
		if err != nil {
			return "", err
		}
		outcome = journey.Worst(outcome, outcomeOf(truth))
	}
	return outcome, nil
}

// again sends more packets where ovnctl says that some of those to a service do not arrive and all did: a probe that meets
// a denied backend tries once more, and may meet another. And where it says that they arrive and they did not: on a busy
// machine a packet is lost now and then, and what is denied stays so.
func (d *traceDraw) again(ctx context.Context, p tracePair, want journey.Outcome, got result) journey.Outcome {
	met := p.where == "vip" && want == journey.Delivered
	lost := want == journey.Dropped && got.outcome() == journey.Delivered
	for tries := 5; tries > 0 && (met || lost) && got.outcome() != want; tries-- {
		truth, err := d.truth(ctx, p)
		if err != nil {
			return want
		}
		want = truth
	}
	return want
}

func outcomeOf(t lab.Truth) journey.Outcome {
	switch {
	case t.Forward && t.RoundTrip:
		return journey.Delivered
	case t.Rejected && t.Sent: // an error of the sender's own kernel is no answer
		return journey.Rejected
	}
	return journey.Dropped
}

// arguments is the question as ovnctl takes it.
func (d *traceDraw) arguments(p tracePair) []string {
	name := func(x string) string {
		switch {
		case x == "internet" && p.v6:
			return lab.Internet6.String()
		case x == "internet":
			return lab.Internet4.String()
		}
		if _, ok := d.lab.Topology.Node(x); ok {
			return "node:" + x
		}
		return x
	}
	args := []string{"trace", name(p.from), name(p.to), "--" + p.proto}
	if s, ok := d.lab.Topology.Service(p.to, p.proto); ok {
		args[2] = "ip:" + s.VIP4.String()
		if p.v6 {
			args[2] = "ip:" + s.VIP6.String()
		}
	}
	if p.proto != "icmp" {
		args[3] += "=" + strconv.Itoa(p.port)
	}
	if p.v6 {
		args = append(args, "-6")
	}
	return args
}

// withoutReplies checks that of a saved directory without replies the nodes' flows are the answer, and that it says so.
func (d *traceDraw) withoutReplies(ctx context.Context, t *testing.T, pairs []tracePair) {
	dir := t.TempDir()
	if err := d.lab.Backup(ctx, dir); err != nil {
		t.Fatal(err)
	}
	agreed, simulated := 0, 0
	for _, p := range pairs {
		want, err := d.truth(ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		got := d.ovnctl(ctx, p.at, append(d.arguments(p), "-o", "json", "--offline", dir)...)
		if !got.says(want) {
			t.Errorf("%s from saved flows: packets say %s, ovnctl (exit %d) %s\n%s%s", p, want, got.code, got.outcome(), got.stdout, got.stderr)
			continue
		}
		agreed++
		if strings.Contains(string(got.stdout), `"simulated":`) {
			simulated++
		}
	}
	t.Logf("from saved flows alone %d of %d agree with the packets, %d of them by simulated switches", agreed, len(pairs), simulated)
	if 4*simulated < len(pairs) {
		t.Error("few are simulated") // ways over the host need its network, which is not saved
	}
}

// withoutFlows checks that of a saved directory without flows the logical flows are the answer, and that it says so.
func (d *traceDraw) withoutFlows(ctx context.Context, t *testing.T, p tracePair) {
	want, err := d.truth(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := d.lab.Backup(ctx, dir); err != nil {
		t.Fatal(err)
	}
	flows, err := filepath.Glob(filepath.Join(dir, "*", "flows-*"))
	if err != nil || len(flows) == 0 {
		t.Fatalf("no saved flows: %v", err)
	}
	for _, name := range flows {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	got := d.ovnctl(ctx, p.at, append(d.arguments(p), "-o", "json", "--offline", dir)...)
	if !got.says(want) || !strings.Contains(string(got.stdout), "by the logical flows alone") || got.trace().Forward.Producer != journey.LogicalFlows {
		t.Errorf("%s without saved flows: packets say %s, ovnctl (exit %d) %s\n%s%s", p, want, got.code, got.outcome(), got.stdout, got.stderr)
	}
}

// ovnctl runs this test binary as ovnctl on a node.
func (d *traceDraw) ovnctl(ctx context.Context, node string, args ...string) result {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	cmd := d.lab.Program(ctx, node, slices.Concat([]string{self}, args, d.lab.Flags())...)
	cmd.Env = append(cmd.Env, asOvnctl+"=1")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	r := result{args: args}
	if err := cmd.Run(); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			errs.WriteString(err.Error())
		}
	}
	r.code, r.stdout, r.stderr = cmd.ProcessState.ExitCode(), out.Bytes(), errs.Bytes()
	return r
}

func (r result) trace() journey.Trace {
	var t journey.Trace
	_ = json.Unmarshal(r.stdout, &t)
	return t
}

func (r result) outcome() journey.Outcome { return r.trace().Verdict.Outcome }

// says reports whether verdict and exit code are those of an outcome. A packet that waits for an
// address to be resolved has not arrived either.
func (r result) says(want journey.Outcome) bool {
	if want == journey.Delivered {
		return r.outcome() == want && r.code == exitOK
	}
	return r.outcome() == want && r.code == exitFound
}

// text is the same answer for people.
func (r result) text(d *traceDraw, p tracePair) string {
	i := slices.Index(r.args, "json")
	args := slices.Clone(r.args)
	args[i] = "tree"
	again := d.ovnctl(context.Background(), p.at, args...)
	return strings.Join(args, " ") + "\n" + string(again.stdout) + string(again.stderr)
}

// answer is the document without what may differ between live and saved: what was read, and what the logical flows say, since
// routers have learned MAC addresses from the packets after the databases were saved.
func (r result) answer(t *testing.T) []byte {
	t.Helper()
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(r.stdout, &doc); err != nil {
		t.Errorf("%s: %v\n%s%s", strings.Join(r.args, " "), err, r.stdout, r.stderr)
		return nil
	}
	delete(doc, "source")
	delete(doc, "notes")
	delete(doc, "logical")
	out, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// traceDocument checks a document that was printed: two runs are the same but for their source, and no list is null.
func traceDocument(t *testing.T, l *lab.Lab, ask faultAsk) {
	t.Helper()
	d := &traceDraw{lab: l}
	args := append(d.arguments(ask.tracePair), "-o", "json", "--show-commands", "--nb", l.NB(), "--node-exec", l.Dir+"/enter {hostname}")
	var runs [2]string
	for i := range runs {
		got := d.ovnctl(t.Context(), ask.at, args...)
		var doc map[string]json.RawMessage
		if err := json.Unmarshal(got.stdout, &doc); err != nil {
			t.Fatalf("%v\n%s%s", err, got.stdout, got.stderr)
		}
		delete(doc, "source")
		text, err := json.MarshalIndent(doc, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		runs[i] = string(text)
	}
	if runs[0] != runs[1] {
		t.Errorf("%s: two runs differ:\n%s\n%s", ask.tracePair, runs[0], runs[1])
	}
	for _, line := range strings.Split(runs[0], "\n") {
		name, isNull := strings.CutSuffix(strings.TrimSuffix(strings.TrimSpace(line), ","), ": null")
		switch name {
		case `"forward"`, `"reply"`, `"tunnel"`, `"logical"`, `"object"`, `"rule"`:
		default:
			if isNull {
				t.Errorf("%s: %s is null", ask.tracePair, name)
			}
		}
	}
}
