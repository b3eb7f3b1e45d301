package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ovnctl/ovnctl/internal/demo"
	"github.com/ovnctl/ovnctl/internal/turn"
	"github.com/ovnctl/ovnctl/pkg/archive"
	"github.com/ovnctl/ovnctl/pkg/archive/anonymize"
	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace"
)

// asCapture packs the files of a source as a capture.
func asCapture(t *testing.T, tree *archive.Tree) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "plain.tar.zst")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	w, err := archive.NewWriter(f, "test", 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	nodes, err := tree.Nodes()
	if err != nil {
		t.Fatal(err)
	}
	w.Describe(func(x *archive.Index) {
		if y := tree.Index(); y != nil {
			x.Started, x.Nodes, x.Databases, x.Failed, x.Notes = y.Started, y.Nodes, y.Databases, y.Failed, y.Notes
			return
		}
		for _, n := range nodes {
			x.Nodes = append(x.Nodes, archive.IndexNode{Name: n, Dir: n})
		}
	})
	var walk func(dir string)
	walk = func(dir string) {
		names, err := tree.List(dir)
		if err != nil {
			content, err := tree.ReadFile(dir, 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			node, _, _ := strings.Cut(dir, "/")
			if err := w.Keep(node, dir, "file "+dir, content); err != nil {
				t.Fatal(err)
			}
			return
		}
		for _, n := range names {
			if n != archive.IndexFile {
				walk(path.Join(dir, n))
			}
		}
	}
	walk(".")
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return name
}

// redact redacts a capture and returns it with what replaced its names.
func redact(t *testing.T, name string) (string, *anonymize.Redactor) {
	t.Helper()
	tree, err := archive.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close() //nolint:errcheck // only read
	to := filepath.Join(t.TempDir(), "redacted.tar.zst")
	f, err := os.Create(to)
	if err != nil {
		t.Fatal(err)
	}
	w, err := archive.NewWriter(f, "test", 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	r := anonymize.New()
	if err := r.Rewrite(tree, w); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return to, r
}

// redactable are what the tests of redaction redact: real deployments and captures of the lab. A short test has one
// real deployment.
func redactable(t *testing.T) map[string]*archive.Tree {
	t.Helper()
	all := map[string]*archive.Tree{}
	for name, d := range deployments {
		if testing.Short() && name != "kube-ovn" {
			continue
		}
		tree, err := archive.Open(t.Context(), "../../testdata/deployments/"+d.file+".tar.zst")
		if err != nil {
			t.Fatal(err)
		}
		all[name] = tree
	}
	for _, name := range []string{demo.Broken, demo.Healthy}[:fewer(t, 2, 1)] {
		b, _ := demo.Capture(name)
		tree, err := archive.Read(t.Context(), name, bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		all[strings.ReplaceAll(name, ":", "-")] = tree
	}
	t.Cleanup(func() {
		for _, tree := range all {
			_ = tree.Close()
		}
	})
	return all
}

// Every answer about a redacted capture is that about the plain one, with other names. The traces are drawn by OVNCTL_SEED.
func TestRedactAnswers(t *testing.T) {
	seed := turn.Seed(t)
	for name, tree := range redactable(t) {
		if testing.Short() && name != "kube-ovn" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			plain := asCapture(t, tree)
			redacted, r := redact(t, plain)
			for _, args := range [][]string{{"topology", "show"}, {"doctor"}, {"reach"}} {
				var want, got bytes.Buffer
				wantCode := run(t.Context(), append([]string{"--offline", plain, "-o", "json"}, args...), nil, &want, io.Discard)
				gotCode := run(t.Context(), append([]string{"--offline", redacted, "-o", "json"}, args...), nil, &got, io.Discard)
				if diff := cmp.Diff(redactCounts(t, want.Bytes()), redactCounts(t, got.Bytes())); diff != "" || wantCode != gotCode {
					t.Errorf("%q: exit code %d, and redacted %d (-plain +redacted):\n%s", args, wantCode, gotCode, diff)
				}
			}
			redactTraces(t, plain, redacted, r, rand.New(rand.NewPCG(seed, 0)))
		})
	}
}

// redactCounts counts the values of a document that are no names.
func redactCounts(t *testing.T, text []byte) map[string]int {
	t.Helper()
	var doc any
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, e := range v {
				switch {
				case slices.Contains([]string{"source", "options", "externalIds", "otherConfig", "evidence"}, key) && at != "":
				case slices.Contains([]string{"check", "result", "reason", "outcome", "type", "kind", "state", "direction", "action", "protocol", "repair"}, key):
					count[fmt.Sprintf("%s.%s=%v", at, key, e)]++
				default:
					walk(at+"."+key, e)
				}
			}
		case []any:
			count[at+"[]"] += len(v)
			for _, e := range v {
				walk(at, e)
			}
		}
	}
	walk("", doc)
	return count
}

func redactTraces(t *testing.T, plain, redacted string, r *anonymize.Redactor, rng *rand.Rand) {
	t.Helper()
	open := func(name string) (*cluster.Cluster, *topology.Graph) {
		c, err := cluster.Open(t.Context(), cluster.Config{Offline: name})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		g, err := topology.Load(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return c, g
	}
	wasCluster, was := open(plain)
	isCluster, is := open(redacted)
	ask := func(c *cluster.Cluster, g *topology.Graph, q trace.Query) string {
		answer, _, err := trace.Run(t.Context(), c, g, q)
		if err != nil {
			return "error"
		}
		text := fmt.Sprint(answer.Verdict.Outcome, " ", answer.Verdict.Stage, " ", answer.Verdict.Because.Kind)
		for _, way := range []*journey.Direction{answer.Forward, answer.Reply} {
			if way != nil {
				text += fmt.Sprintf(" %d hops", len(way.Hops))
			}
		}
		return text
	}
	names := was.Names(topology.KindPod, topology.KindVM)
	outcomes := map[string]int{}
	for range fewer(t, 100, 10) {
		q := trace.Query{From: names[rng.IntN(len(names))], To: names[rng.IntN(len(names))], SourcePort: 40000}
		q.Protocol, q.Port = "tcp", []int{22, 53, 80, 443, 5432, 8080}[rng.IntN(6)]
		if rng.IntN(3) == 0 {
			q.Protocol, q.Port = "icmp", 0
		}
		other := q
		other.From, other.To = r.Name(q.From), r.Name(q.To)
		if rng.IntN(8) == 0 {
			q.To = "203.0.113.10"
			other.To = r.Text(q.To)
		}
		want, got := ask(wasCluster, was, q), ask(isCluster, is, other)
		if want != got {
			t.Errorf("%+v: %s, and redacted %s", q, want, got)
		}
		outcomes[want]++
	}
	delete(outcomes, "error") // more than one port is called so
	if len(outcomes) < 2 {
		t.Errorf("outcomes %v: was anything traced?", outcomes)
	}
}

// fewer returns n, or a smaller number for a short test.
func fewer(t *testing.T, n, short int) int {
	t.Helper()
	if testing.Short() {
		return short
	}
	return n
}
