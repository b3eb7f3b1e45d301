//go:build lab

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/internal/turn"
	"github.com/ovnctl/ovnctl/pkg/archive"
	"github.com/ovnctl/ovnctl/pkg/archive/anonymize"
	"github.com/ovnctl/ovnctl/pkg/blame"
	"github.com/ovnctl/ovnctl/pkg/compare"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/record"
)

// A recordedFault breaks a path.
type recordedFault struct {
	name     string
	path     []string // arguments of blame
	host     string
	do, undo []string
	// want is in what blame shows of the change behind it, or, of a fault that is only in the flows of a node, of the step where
	// the paths diverge.
	want   string
	byNode bool // only a look at the nodes shows it
}

func recordedFaults() []recordedFault {
	const (
		pod    = "shop/client shop/web-2 --tcp 8080"
		policy = "shop/client bank/vault-1 --tcp 8080"
	)
	nbctl := func(path, name, want, do, undo string) recordedFault {
		return recordedFault{name, strings.Fields(path), "central", append([]string{"ovn-nbctl"}, strings.Fields(do)...), append([]string{"ovn-nbctl"}, strings.Fields(undo)...), want, false}
	}
	on := func(node, path, name, want string, do, undo string) recordedFault {
		return recordedFault{name, strings.Fields(path), node, []string{"sh", "-c", do}, []string{"sh", "-c", undo}, want, strings.HasPrefix(do, "ovs-ofctl")}
	}
	return []recordedFault{
		nbctl(pod, "an ACL", "ACL to-lport 3000 drop",
			"--type=switch acl-add node2 to-lport 3000 tcp.dst==8080 drop", "--type=switch acl-del node2 to-lport 3000 tcp.dst==8080"),
		nbctl(pod, "a disabled port", "shop_web-2", "lsp-set-enabled shop_web-2 disabled", "lsp-set-enabled shop_web-2 enabled"),
		on("central", pod, "port security", "shop_client", `ovn-nbctl lsp-set-port-security shop_client 00:00:00:00:00:01`,
			`ovn-nbctl lsp-set-port-security shop_client "0a:58:0a:f4:01:06 10.244.1.6 fd00:10:244:1::6"`),
		nbctl(pod, "a routing policy", "policy 2000", "lr-policy-add ovn_cluster_router 2000 ip4.dst==10.244.2.5 drop", "lr-policy-del ovn_cluster_router 2000 ip4.dst==10.244.2.5"),
		nbctl(pod, "a disabled router port", "rtos-node2", "lrp-set-enabled rtos-node2 disabled", "lrp-set-enabled rtos-node2 enabled"),
		on("central", policy, "a changed NetworkPolicy", "NetworkPolicy bank/allow-shop",
			`for a in $(ovn-nbctl --bare --columns=_uuid find ACL external_ids:k8s.ovn.org/name=bank\\:allow-shop); do ovn-nbctl set ACL $a action=drop; done`,
			`for a in $(ovn-nbctl --bare --columns=_uuid find ACL external_ids:k8s.ovn.org/name=bank\\:allow-shop); do ovn-nbctl set ACL $a action=allow-related; done`),
		on("central", policy, "an emptied address set", "address set",
			`ovn-nbctl set Address_Set a2765800173249978847 addresses='[]'`,
			`ovn-nbctl set Address_Set a2765800173249978847 addresses='10.244.1.5 10.244.1.6 10.244.2.5 10.244.3.5'`),
		on("node2", pod, "an interface without its port", "shop_web-2",
			`ovs-vsctl remove Interface $(ovs-vsctl --bare --columns=name find Interface external_ids:iface-id=shop_web-2) external_ids iface-id`,
			`ovs-vsctl set Interface $(ovs-vsctl --bare --columns=name find Interface external_ids:ip_addresses='"10.244.2.5/24,fd00:10:244:2::5/64"') external_ids:iface-id=shop_web-2`),
		on("node2", pod, "a flow added by hand", "priority 60000",
			`ovs-ofctl -O OpenFlow15 add-flow br-int table=0,priority=60000,tcp,tp_dst=8080,actions=drop`,
			`ovs-ofctl -O OpenFlow15 --strict del-flows br-int table=0,priority=60000,tcp,tp_dst=8080`),
	}
}

// TestBlame records a lab under churn, breaks paths at random moments, and asks blame for each. Time is compressed: a fault lasts
// for seconds.
func TestBlame(t *testing.T) {
	l := labtest.Own(t, lab.OVNKubernetes(), lab.Options{})
	n := &onNode{lab: l, node: "central"}
	random := rand.New(rand.NewPCG(turn.Seed(t), 0))
	dir := filepath.Join(t.TempDir(), "record")
	ctx, stop := context.WithCancel(t.Context())
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	recorder := l.Program(ctx, "central", append([]string{self, "watch", "--keep", dir, "--nodes-every", "5", "--node-exec", l.Dir + "/enter {hostname}"}, l.Flags()...)...)
	recorder.Env = append(recorder.Env, asOvnctl+"=1")
	recorder.Cancel = func() error { return recorder.Process.Signal(os.Interrupt) }
	var said strings.Builder
	var mu sync.Mutex
	recorder.Stdout, recorder.Stderr = &lockedWriter{&mu, &said}, &lockedWriter{&mu, &said}
	text := func() string {
		mu.Lock()
		defer mu.Unlock()
		return said.String()
	}
	if err := recorder.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- recorder.Wait() }()
	end := sync.OnceFunc(func() {
		stop()
		<-ended //nolint:errcheck // it was told to end
	})
	defer end()
	looks := func(more int) {
		t.Helper()
		all := func() int {
			found, _ := filepath.Glob(filepath.Join(dir, "nodes/*.tar.zst")) // the pattern is valid
			return len(found)
		}
		want := all() + more
		for deadline := time.Now().Add(l.Allow(4 * time.Minute)); all() < want; time.Sleep(100 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("no further look at the nodes:\n%s", text())
			}
		}
	}
	looks(1)

	churning := make(chan int)
	churn, calm := context.WithCancel(t.Context())
	go func() { churning <- makeChurn(churn, t, l) }()
	type broken struct {
		recordedFault
		from, at, to time.Time
	}
	var all []broken
	faults := recordedFaults()
	for _, i := range drawnFaults(t, random, len(faults)) {
		b := broken{recordedFault: faults[i], from: time.Now()}
		time.Sleep(time.Duration(2000+random.IntN(4000)) * time.Millisecond)
		b.at = time.Now()
		say(t, l, b.host, b.do...)
		time.Sleep(l.Allow(8 * time.Second))
		if b.byNode {
			looks(2) // the first may have begun before
		}
		b.to = time.Now()
		say(t, l, b.host, b.undo...)
		say(t, l, "central", "ovn-nbctl", "--wait=hv", "--timeout=60", "sync")
		looks(1)
		all = append(all, b)
	}
	calm()
	t.Logf("%d changes of churn", <-churning)
	end()
	if text := text(); strings.Contains(text, "--keep:") {
		t.Errorf("the recorder complains:\n%s", text)
	}

	blamed := make([]blame.Document, len(all))
	for i, b := range all {
		t.Run(b.name, func(t *testing.T) {
			a := n.ovnctl(t, slices.Concat([]string{"blame", "-o", "json", "--offline", dir + "@" + b.to.Format(record.TimeFormat), "--since", b.from.Format(record.TimeFormat)}, b.path)...)
			var doc blame.Document
			if err := json.Unmarshal(a.stdout, &doc); err != nil || a.code != exitFound {
				t.Fatalf("exit %d, %v; %d of %d moments looked at: %s\n%s", a.code, err, doc.Looked, doc.Moments, doc.After.Sentence, a.stderr)
			}
			var text strings.Builder
			found := false
			for _, c := range doc.Changes {
				fmt.Fprintf(&text, "%s %s, was %s: %s\n", c.Time.Sub(b.at), c.TraceB.Verdict.Outcome, c.TraceA.Verdict.Outcome, c.TraceB.Verdict.Sentence)
				behind := changeTexts(c)
				fmt.Fprintf(&text, "  %s\n", strings.Join(behind, "\n  "))
				late := c.Time.Sub(b.at)
				found = found || c.TraceA.Verdict.Outcome == journey.Delivered && c.TraceB.Verdict.Outcome != journey.Delivered &&
					late > 0 && strings.Contains(strings.Join(behind, "\n"), b.want)
			}
			if !found {
				t.Errorf("%q is not named as what broke it; %d of %d moments looked at:\n%s", b.want, doc.Looked, doc.Moments, text.String())
			} else {
				t.Logf("%d of %d moments looked at:\n%s", doc.Looked, doc.Moments, text.String())
			}
			blamed[i] = doc
		})
	}

	redacted, names := redactedRecord(t, dir)
	for i, b := range all[:min(len(all), 4)] {
		t.Run("redacted "+b.name, func(t *testing.T) {
			args := []string{"blame", "-o", "json", "--offline", redacted + "@" + b.to.Format(record.TimeFormat), "--since", b.from.Format(record.TimeFormat)}
			for _, word := range b.path {
				if strings.Contains(word, "/") {
					word = names.Name(word)
				}
				args = append(args, word)
			}
			a := n.ovnctl(t, args...)
			var doc blame.Document
			if err := json.Unmarshal(a.stdout, &doc); err != nil || a.code != exitFound {
				t.Fatalf("exit %d, %v\n%s", a.code, err, a.stderr)
			}
			if got, want := changesText(doc), changesText(blamed[i]); got != want {
				t.Errorf("changes\n%swant\n%s", got, want)
			}
		})
	}
}

// changesText says when the verdict changed, what it was, and how many rows of which tables were behind that.
func changesText(doc blame.Document) string {
	var text strings.Builder
	for _, c := range doc.Changes {
		fmt.Fprintf(&text, "%s %s %s", c.Time, c.TraceA.Verdict.Outcome, c.TraceB.Verdict.Outcome)
		var behind []string
		for _, b := range c.Behind {
			behind = append(behind, fmt.Sprintf("%s %s %s", b.Change, b.Group, b.Kind))
		}
		slices.Sort(behind)
		fmt.Fprintf(&text, " %s\n", behind)
	}
	return text.String()
}

// redactedRecord redacts a record, looks for names of its end that are left, and returns the copy with what replaced the names.
func redactedRecord(t *testing.T, dir string) (string, *anonymize.Redactor) {
	t.Helper()
	o := &watchOptions{options: &options{stderr: io.Discard}}
	to, names := filepath.Join(t.TempDir(), "redacted"), anonymize.New()
	if err := o.redactRecord(t.Context(), dir, to, names); err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(t.TempDir(), "end.tar.zst")
	if code := run(t.Context(), []string{"capture", "--offline", dir, plain}, nil, io.Discard, io.Discard); code != exitOK {
		t.Fatalf("exit %d", code)
	}
	originals, f := namesOf(unpacked(t, plain)), finder{}
	if len(originals) < 300 {
		t.Fatalf("only %d names", len(originals))
	}
	for o := range originals {
		f.add(o)
	}
	r, err := record.Open(to)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // only read
	files := 0
	look := func(name string, content []byte) {
		content = bytes.ReplaceAll(content, []byte("ovsdb-client"), nil)
		for s, around := range f.in(append([]byte(name+"\n"), content...), true) {
			t.Errorf("%q is left in %s: %q", s, name, around)
		}
	}
	err = r.Files(t.Context(), func(f record.File, _ int) error {
		files++
		if f.Look == nil {
			look(f.Database, f.Log)
			return nil
		}
		for _, x := range append([]archive.IndexEntry{{Name: archive.IndexFile}}, f.Look.Index().Files...) {
			content, err := f.Look.ReadFile(x.Name, 1<<30)
			if err != nil {
				return err
			}
			look(x.Name, content)
		}
		return nil
	})
	if err != nil || files < 4 {
		t.Fatalf("%d files: %v", files, err)
	}
	return to, names
}

// drawnFaults are the faults of this run: those whose turn it is, in any order, or as many as OVNCTL_BLAMES says, drawn.
func drawnFaults(t *testing.T, random *rand.Rand, n int) (drawn []int) {
	if text := os.Getenv("OVNCTL_BLAMES"); text != "" {
		count, err := strconv.Atoi(text)
		if err != nil {
			t.Fatalf("OVNCTL_BLAMES=%s: not a number", text)
		}
		for range count {
			drawn = append(drawn, random.IntN(n))
		}
		return drawn
	}
	makes := turn.Takes(t, 3)
	return slices.DeleteFunc(random.Perm(n), func(i int) bool { return !makes(i) })
}

// changeTexts are the changes behind one of the verdict, and the steps where the paths diverge, in words.
func changeTexts(c blame.Change) []string {
	var texts []string
	for _, b := range c.Behind {
		texts = append(texts, strings.Join(strings.Fields(fmt.Sprintf("%s %s %s %s %s", b.Change, b.Group, b.Node, b.Kind, b.Name)), " ")+columnsText(b))
		if b.Owner != "" {
			texts = append(texts, b.Owner)
		}
	}
	if d := c.Divergence; d != nil {
		for _, s := range []*compare.PathStep{d.A, d.B} {
			if s != nil && s.Step != nil {
				texts = append(texts, fmt.Sprintf("at %s %s, priority %d %s", s.Datapath, s.Step.Stage, s.Step.Priority, s.Step.Match))
			}
		}
	}
	return texts
}

// makeChurn adds and removes ports and ACLs that no path of the test crosses, until the context ends, and returns how many times.
func makeChurn(ctx context.Context, t *testing.T, l *lab.Lab) (changes int) {
	name := func(i int) string { return fmt.Sprintf("churn-%d", i%20) }
	for ; ctx.Err() == nil; changes++ {
		cmd := l.Program(ctx, "central", "ovn-nbctl", "--if-exists", "ls-del", name(changes), "--", "--may-exist", "ls-add", name(changes+10),
			"--", "--may-exist", "lsp-add", name(changes+10), name(changes+10)+"-port")
		if out, err := cmd.CombinedOutput(); err != nil && ctx.Err() == nil {
			t.Errorf("churn: %v: %s", err, out)
		}
		time.Sleep(100 * time.Millisecond)
	}
	return changes
}
