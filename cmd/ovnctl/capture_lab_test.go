//go:build lab

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/internal/turn"
	"github.com/ovnctl/ovnctl/pkg/archive"
	"github.com/ovnctl/ovnctl/pkg/doctor/checks"
)

// say runs a command on a host of the lab.
func say(t *testing.T, l *lab.Lab, host string, args ...string) string {
	t.Helper()
	out, err := l.Run(t.Context(), host, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// captured is a capture of a lab, taken on a host with all nodes in reach.
func captured(t *testing.T, n *onNode, args ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "lab.tar.zst")
	within := fmt.Sprintf("--within=%.0f", n.lab.Allow(8*time.Minute).Seconds())
	a := n.ovnctl(t, append([]string{"capture", file, within, "--node-exec", n.lab.Dir + "/enter {hostname}"}, args...)...)
	if a.code != exitOK {
		t.Fatalf("capture: exit %d\n%s%s", a.code, a.stdout, a.stderr)
	}
	return file
}

// document is what a command answers in JSON, without source and raw.
func topologyDocument(t *testing.T, a clusterAnswer) map[string]any {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(a.stdout, &doc); err != nil {
		t.Fatalf("%v\n%s%s", err, a.stdout, a.stderr)
	}
	delete(doc, "source")
	return without(doc, "raw").(map[string]any)
}

// without takes a field out of a document, wherever it is.
func without(v any, field string) any {
	switch v := v.(type) {
	case map[string]any:
		delete(v, field)
		for _, e := range v {
			without(e, field)
		}
	case []any:
		for _, e := range v {
			without(e, field)
		}
	}
	return v
}

// oneLook are the findings of checks that one look is enough for: saved data is one.
func oneLook(doc map[string]any) {
	twoLooks := map[any]bool{}
	for _, c := range checks.All {
		if c.Sample > 0 {
			twoLooks[c.Name] = true
		}
	}
	findings, _ := doc["findings"].([]any)
	doc["findings"] = slices.DeleteFunc(findings, func(f any) bool { return twoLooks[f.(map[string]any)["check"]] })
}

// What a capture answers is what the deployment answered: of traces too, which are simulated then. Their pairs are drawn by
// OVNCTL_SEED; OVNCTL_PAIRS says how many on each topology.
func TestCaptureAnswers(t *testing.T) {
	seed := turn.Seed(t)
	for _, topology := range []lab.Topology{lab.OVNKubernetes(), lab.KubeOVN(), lab.OpenStack()} {
		t.Run(topology.Name, func(t *testing.T) {
			l := labtest.Shared(t, topology)
			n := &onNode{lab: l, node: l.Centrals()[0]}
			for range 2 { // what ports that came up a moment ago lead to has to be everywhere: a capture is no snapshot
				if _, err := l.Run(t.Context(), "central", "ovn-nbctl", "--timeout=30", "--wait=hv", "sync"); err != nil {
					t.Fatal(err)
				}
			}
			exec := []string{"--node-exec", l.Dir + "/enter {hostname}"}
			questions := [][]string{{"topology", "show"}, {"reach"}, {"doctor"}}
			if topology.Name == lab.OVNKubernetes().Name {
				questions = append(questions,
					[]string{"trace", "shop/client", "bank/ledger", "--tcp", "8080", "--logical", "--why-not"},
					[]string{"trace", "shop/client", "svc:shop/web", "--tcp", "80", "--logical"},
					[]string{"trace", "shop/client", "203.0.113.10", "--logical"})
			}
			d := &traceDraw{lab: l}
			pairs := candidates(topology)
			rng := rand.New(rand.NewPCG(seed, 0))
			rng.Shuffle(len(pairs), func(i, j int) { pairs[i], pairs[j] = pairs[j], pairs[i] })
			for _, p := range pairs[:min(len(pairs), drawnPairs(t, 6))] {
				questions = append(questions, d.arguments(p))
			}
			t.Logf("%d questions", len(questions))
			var problems []string
			for range 5 { // the controllers of a lab that came up a moment ago may still be at work
				file := captured(t, n)
				problems = nil
				for _, q := range questions {
					live := n.ovnctl(t, slices.Concat(q, exec, []string{"-o", "json"})...)
					saved := n.ovnctl(t, slices.Concat(q, []string{"--offline", file, "-o", "json"})...)
					want, got := topologyDocument(t, live), topologyDocument(t, saved)
					oneLook(want)
					oneLook(got)
					if diff := cmp.Diff(want, got); diff != "" || live.code != saved.code {
						problems = append(problems, fmt.Sprintf("%q: exit %d live and %d saved (-live +saved):\n%s", q, live.code, saved.code, diff))
					}
				}
				if problems == nil {
					return
				}
			}
			t.Error(strings.Join(problems, "\n"))
		})
	}
}

// The index names every file with its hash, and the logical flows with how they were read.
func TestCaptureIndex(t *testing.T) {
	l := labtest.Shared(t, lab.OVNKubernetes())
	file := captured(t, &onNode{lab: l, node: "central"})
	tree, err := archive.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tree.Close() })
	x := tree.Index()
	if x == nil || x.Ended.IsZero() || len(x.Nodes) != 4 || len(x.Databases) != 2 {
		t.Fatalf("index %+v", x)
	}
	for _, f := range x.Files {
		b, err := tree.ReadFile(f.Name, 1<<30)
		if err != nil || fmt.Sprintf("%x", sha256.Sum256(b)) != f.SHA256 || len(b) != f.Size || f.What == "" || f.Time.IsZero() {
			t.Errorf("%+v: %v, %d bytes", f, err, len(b))
		}
	}
	flows := strings.Fields(say(t, l, "central", "ovn-sbctl", "--bare", "--columns=_uuid", "list", "Logical_Flow"))
	sb := x.Databases[1] // from the file of its server, which is here: of the requests few are left
	if sb.Rows != len(flows) || sb.LogicalFlows != "all" || len(sb.NBCfg) != 2 || sb.Pieces == 0 || sb.Pieces >= 10 || !sb.Snapshot || !x.Databases[0].Snapshot {
		t.Errorf("%d logical flows, and the index says %+v", len(flows), sb)
	}
	for _, want := range []string{
		"nb.db", "sb.db", "node1/conf.json", "node1/flows-br-int.txt", "node1/groups-br-int.txt", "node1/ports-br-int.txt", "node1/tlv-map-br-int.txt", "node1/meters-br-int.txt",
		"node1/network.json", "node1/firewall.json", "node1/processes.json", "node1/daemons.json", "node1/logs/ovn-controller.log",
	} {
		if !tree.Has(want) {
			t.Errorf("%s is missing", want)
		}
	}
	for _, what := range []string{"dpctl/dump-flows", "dpctl/dump-conntrack", "fdb/show", "ofproto/list-tunnels", "ovs/route/show", "ct-zone-list", "debug/dump-local-bindings"} {
		if !slices.ContainsFunc(x.Files, func(f archive.IndexEntry) bool { return f.Node == "node1" && strings.Contains(f.What, what) }) {
			t.Errorf("no %s of node1", what)
		}
	}
}

// Of nodes to which there is no way a capture says so.
func TestCaptureAlone(t *testing.T) {
	l := labtest.Shared(t, lab.OVNKubernetes())
	n := &onNode{lab: l, node: "node1"}
	file := filepath.Join(t.TempDir(), "alone.tar.zst")
	a := n.ovnctl(t, "capture", file, "-o", "json")
	var doc captureResult
	if err := json.Unmarshal(a.stdout, &doc); err != nil || a.code != exitOK || !slices.Equal(doc.Nodes, []string{"node1"}) {
		t.Errorf("exit %d, %v\n%s%s", a.code, err, a.stdout, a.stderr)
	}
	if a := n.ovnctl(t, "topology", "show", "--offline", file); a.code != exitOK || !strings.Contains(string(a.stdout), "ovn_cluster_router") {
		t.Errorf("offline: exit %d\n%s%s", a.code, a.stdout, a.stderr)
	}
}

// A capture that was killed, or cut anywhere, gives what came before and says so.
func TestCaptureCutShort(t *testing.T) {
	l := labtest.Shared(t, lab.OVNKubernetes())
	n := &onNode{lab: l, node: "central"}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, after := range []int64{30_000, 150_000} {
		file := filepath.Join(t.TempDir(), "killed.tar.zst")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := l.Program(ctx, "central", self, "capture", file, "--node-exec", l.Dir+"/enter {hostname}")
		cmd.Env = append(cmd.Env, asOvnctl+"=1")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for size := int64(0); size < after; time.Sleep(5 * time.Millisecond) {
			if fi, err := os.Stat(file); err == nil {
				size = fi.Size()
			}
			if ctx.Err() != nil {
				t.Fatal("the capture does not grow")
			}
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		a := n.ovnctl(t, "topology", "show", "--offline", file)
		if a.code != exitUnknown || !strings.Contains(string(a.stderr), "cut short") || !strings.Contains(string(a.stdout), "ovn_cluster_router") {
			t.Errorf("killed after %d bytes: exit %d\n%s%s", after, a.code, a.stdout, a.stderr)
		}
	}

	whole, err := os.ReadFile(captured(t, n))
	if err != nil {
		t.Fatal(err)
	}
	cut := filepath.Join(t.TempDir(), "cut.tar.zst")
	for i := range 20 {
		if err := os.WriteFile(cut, whole[:len(whole)*i/20], 0o600); err != nil {
			t.Fatal(err)
		}
		a := n.ovnctl(t, "trace", "shop/client", "shop/web-1", "--tcp", "8080", "--logical", "--offline", cut, "-o", "json")
		if strings.Contains(string(a.stderr), "panic") || a.code == exitFound {
			t.Errorf("cut at %d of 20: exit %d\n%s%s", i, a.code, a.stdout, a.stderr)
		}
	}
}

// The secrets of a deployment are in no byte of its capture.
func TestCaptureHidesSecrets(t *testing.T) {
	const secret = "Geheim0815"
	l := labtest.Own(t, lab.OVNKubernetes(), lab.Options{})
	for _, args := range [][]string{
		{"central", "ovn-nbctl", "set", "NB_Global", ".", "external_ids:api-Token=" + secret, "options:db_password=" + secret},
		{"central", "ovn-nbctl", "set", "Logical_Switch", "node1", "external_ids:k8s-secret=" + secret},
		{"central", "ovn-sbctl", "set", "SB_Global", ".", "options:my-psk=" + secret, "external_ids:client-key-data=" + secret},
		{"node1", "ovs-vsctl", "set", "open", ".", "external_ids:my-Token=" + secret, "other_config:password=" + secret},
		{"node2", "ovs-vsctl", "add-port", "br-int", "gre-psk", "--", "set", "interface", "gre-psk", "type=gre", "options:remote_ip=192.0.2.9", "options:psk=" + secret},
	} {
		say(t, l, args[0], args[1:]...)
	}
	for name, text := range map[string]string{
		"etc/default/openvswitch-switch": "OVS_CTL_OPTS=\"--db-password=" + secret + "\"\nAPI_TOKEN=" + secret + "\n",
		"var/log/ovn/ovn-controller.log": "2026-01-01T00:00:00.000Z|00001|x|INFO|token=" + secret + " psk: " + secret + "\n-----BEGIN PRIVATE KEY-----\n" + secret + "\n-----END PRIVATE KEY-----\n",
	} {
		name = filepath.Join(l.Dir, "node1", name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(f, text); err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
	}
	file := captured(t, &onNode{lab: l, node: "central"})
	out, err := exec.CommandContext(t.Context(), "zstd", "-dc", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	if i := bytes.Index(out, []byte(secret)); i >= 0 {
		t.Errorf("a secret: %q", out[max(0, i-300):i+20])
	}
	if n := bytes.Count(out, []byte("<hidden>")); n < 8 {
		t.Errorf("%d things hidden: were they read at all?", n)
	}
}

func TestCaptureUsage(t *testing.T) {
	dir := t.TempDir()
	there := filepath.Join(dir, "there")
	if err := os.WriteFile(there, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--logical-flows", "some"}, "expected all, local or none"},
		{[]string{"--offline", dir}, "neither a capture nor a record"},
		{[]string{"--record", dir}, "leave --record out"},
		{[]string{"-", "-o", "json"}, "without -o"},
		{[]string{"a", "b"}, "capture [FILE]"},
	} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), append([]string{"capture"}, c.args...), nil, &out, &errs); code != exitUsage || !strings.Contains(errs.String(), c.want) {
			t.Errorf("%q: exit %d, %s", c.args, code, errs.String())
		}
	}
	l := labtest.Shared(t, lab.OVNKubernetes())
	a := (&onNode{lab: l, node: "central"}).ovnctl(t, "capture", there)
	if a.code != exitUsage || !strings.Contains(string(a.stderr), "--force") {
		t.Errorf("a file that is there: exit %d, %s", a.code, a.stderr)
	}
}

// A redacted capture holds no name and no address that was there, and has the same answers.
func TestCaptureRedact(t *testing.T) {
	l := labtest.Shared(t, lab.OVNKubernetes())
	n := &onNode{lab: l, node: "central"}
	plain, file := captured(t, n), captured(t, n, "--redact")
	graph := func(at string) (doc struct {
		Switches, Routers []struct{ UUID, Name string }
		Ports             []struct {
			UUID, Name, Type, Pod string
			Addresses, MACs       []string
		}
		Nodes []struct{ Name string }
	}) {
		a := n.ovnctl(t, "topology", "show", "--offline", at, "-o", "json")
		if err := json.Unmarshal(a.stdout, &doc); err != nil {
			t.Fatalf("%v\n%s%s", err, a.stdout, a.stderr)
		}
		return doc
	}
	was, is := graph(plain), graph(file)
	if len(was.Ports) != len(is.Ports) || len(was.Switches) != len(is.Switches) || len(was.Routers) != len(is.Routers) || len(was.Nodes) != len(is.Nodes) || len(is.Nodes) != 3 {
		t.Fatalf("another network: %+v", is)
	}
	unpacked := func(at string) []byte {
		out, err := exec.CommandContext(t.Context(), "zstd", "-dc", at).Output()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	out, before := unpacked(file), unpacked(plain)
	originals := []string{"shop", "ledger", "vault", "fd00:10:244"}
	// Whole addresses: that a pseudonym begins as an original does happens once in 256 keys, and so that 10.244.0.0/16 stays.
	addresses := regexp.MustCompile(`\b(10\.244|172\.30\.0|203\.0\.113)\.[0-9.]*[0-9]\b`).FindAllString(string(before), -1)
	if len(addresses) == 0 {
		t.Fatal("the capture holds no address of the lab")
	}
	for _, node := range was.Nodes {
		originals = append(originals, node.Name)
	}
	for _, p := range was.Ports {
		originals = append(originals, p.MACs...)
		originals = append(originals, p.Addresses...)
	}
	for _, o := range originals {
		if i := bytes.Index(out, []byte(o)); o != "" && i >= 0 {
			t.Errorf("%q is in it: %q", o, out[max(0, i-100):min(len(out), i+100)])
		}
	}
	slices.Sort(addresses)
	for _, a := range slices.Compact(addresses) {
		if strings.HasSuffix(a, ".0.0") {
			continue
		}
		if at := regexp.MustCompile(`\b` + regexp.QuoteMeta(a) + `\b`).FindIndex(out); at != nil {
			t.Errorf("%s is in it: %q", a, out[max(0, at[0]-100):min(len(out), at[1]+100)])
		}
	}
	outcomes := func(at string) map[string]int {
		var pods []string
		for _, p := range graph(at).Ports {
			if p.Pod != "" {
				pods = append(pods, p.Name)
			}
		}
		count := map[string]int{}
		for _, from := range pods {
			for _, to := range pods {
				var doc struct {
					Verdict struct{ Outcome, Stage string }
				}
				a := n.ovnctl(t, "trace", "lsp:"+from, "lsp:"+to, "--tcp", "8080", "--logical", "--offline", at, "-o", "json")
				if err := json.Unmarshal(a.stdout, &doc); err != nil {
					t.Fatalf("%v\n%s%s", err, a.stdout, a.stderr)
				}
				count[doc.Verdict.Outcome+" "+doc.Verdict.Stage]++
			}
		}
		return count
	}
	want := outcomes(plain)
	if diff := cmp.Diff(want, outcomes(file)); diff != "" || len(want) < 2 {
		t.Errorf("outcomes (-plain +redacted):\n%s", diff)
	}
}

// What is read for a redacted capture has no name on the disk: whatever ends ovnctl, nothing is left behind.
func TestCaptureRedactLeavesNothing(t *testing.T) {
	l := labtest.Shared(t, lab.OVNKubernetes())
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	hearHangups(t)
	for _, signal := range []syscall.Signal{syscall.SIGHUP, syscall.SIGKILL} {
		dir, file := t.TempDir(), filepath.Join(t.TempDir(), "case.tar.zst")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := l.Program(ctx, "central", self, "capture", file, "--redact", "--node-exec", l.Dir+"/enter {hostname}")
		cmd.Env = append(cmd.Env, asOvnctl+"=1", "TMPDIR="+dir)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for spooled := false; !spooled; time.Sleep(5 * time.Millisecond) {
			links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", cmd.Process.Pid))
			for _, link := range links {
				target, _ := os.Readlink(link)
				fi, err := os.Stat(link)
				spooled = spooled || strings.HasPrefix(target, dir) && err == nil && fi.Size() > 10_000
			}
			if ctx.Err() != nil {
				t.Fatal("nothing is spooled")
			}
		}
		_ = cmd.Process.Signal(signal)
		_ = cmd.Wait()
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%v left %v, %v", signal, left, err)
		}
		if _, err := os.Stat(file); signal != syscall.SIGKILL && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v left an empty capture: %v", signal, err)
		}
	}
}
