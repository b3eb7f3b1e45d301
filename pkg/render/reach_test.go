//go:build lab

package render_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/document"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
	"github.com/ovnctl/ovnctl/pkg/reach"
	"github.com/ovnctl/ovnctl/pkg/render"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// reachGraph is a Northbound with pods on one switch, by their namespaces.
func reachGraph(t *testing.T, pods ...string) *topology.Graph {
	t.Helper()
	server := ovsdbtest.Start(t, ovsdbtest.Northbound)
	args := []string{"--db=" + server.Remote(), "--timeout=20", "ls-add", "net"}
	for i, pod := range pods {
		namespace, name, _ := strings.Cut(pod, "/")
		port := namespace + "_" + name
		args = append(args, "--", "lsp-add", "net", port,
			"--", "lsp-set-addresses", port, fmt.Sprintf("0a:58:0a:00:%02x:%02x 10.0.%d.%d", i>>8, i&255, i>>8, i&255),
			"--", "set", "Logical_Switch_Port", port, "external_ids:pod=true", "external_ids:namespace="+namespace)
	}
	ovsdbtest.Run(t, "ovn-nbctl", args...)
	db := server.Dial()
	g, err := topology.Load(t.Context(), &cluster.Cluster{Zones: []*cluster.Zone{{NB: db}}})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// guarded is a rule: nobody outside gets into namespace bank, but shop's to vaults, and nothing replies to ops.
func guarded(_ context.Context, from, to topology.Match, _ reach.Question) (reach.Cause, *reach.Likeness, error) {
	src, dst := from.Port.Pod, to.Port.Pod
	switch {
	case strings.HasPrefix(dst, "bank/") && !strings.HasPrefix(src, "bank/") && !(strings.HasPrefix(src, "shop/") && strings.Contains(dst, "vault")):
		return reach.Cause{Kind: journey.Denied, Outcome: journey.Dropped, Stage: "ls_out_acl_eval", Text: `dropped by ACL "NP:bank:Ingress"`,
			Object: &decode.Object{Kind: "ACL", Name: "NP:bank:Ingress", UUID: "1", Owner: decode.Owner{Namespace: "bank", Role: decode.DefaultDeny}}}, nil, nil
	case strings.HasPrefix(src, "ops/"):
		return reach.Cause{Outcome: journey.Rejected, Reply: true, Text: "a router answers\x1b[31m", Object: &decode.Object{Kind: "routing policy", Name: "no-ops", UUID: "2"}}, nil, nil
	}
	return reach.Cause{Outcome: journey.Delivered}, nil, nil
}

func guardedResult(t *testing.T, pods ...string) *reach.Result {
	t.Helper()
	plan, err := reach.Between(reachGraph(t, pods...), nil, nil, reach.Question{Protocol: "tcp", Port: 8080, SourcePort: 40000}, 0)
	if err != nil {
		t.Fatal(err)
	}
	r, err := plan.Run(t.Context(), guarded, reach.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var fewPods = []string{"shop/client", "shop/web-1", "bank/vault-1", "bank/ledger", "ops/debug"}

// TestReach compares every text with the one that was looked at; OVNCTL_UPDATE=1 writes them anew.
func TestReach(t *testing.T) {
	var many []string
	for i := range 200 {
		many = append(many, fmt.Sprintf("%s/%s-%d", []string{"shop", "bank", "bank", "ops", "team"}[i%5], []string{"web", "vault", "ledger", "tool", "x"}[i%5], i))
	}
	few, lots := guardedResult(t, fewPods...), guardedResult(t, many...)
	tests := []struct {
		name, format string
		result       *reach.Result
		style        render.Style
	}{
		{"few.table", "table", few, render.Style{}},
		{"few.narrow", "table", few, render.Style{Width: 60}},
		{"few.color", "table", few, render.Style{Color: true, Width: 100}},
		{"few.ascii", "table", few, render.Style{ASCII: true}},
		{"few.list", "list", few, render.Style{}},
		{"few.expect", "expect", few, render.Style{}},
		{"few.csv", "csv", few, render.Style{}},
		{"few.md", "md", few, render.Style{}},
		{"few.json", "json", few, render.Style{}},
		{"few.yaml", "yaml", few, render.Style{}},
		{"many.table", "table", lots, render.Style{Width: 100}},
		{"many.list", "list", lots, render.Style{Width: 100}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := reachText(t, test.result, test.format, test.style)
			file := filepath.Join("testdata", "reach", test.name)
			if os.Getenv("OVNCTL_UPDATE") != "" {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Error(diff)
			}
			if !test.style.Color {
				safe(t, got, true)
			}
		})
	}
}

func reachText(t *testing.T, r *reach.Result, format string, s render.Style) string {
	t.Helper()
	var b bytes.Buffer
	doc := reach.Document{Envelope: document.New("Reach", nil, []string{"a note"}), Result: r}
	view := render.ReachView{Notes: doc.Notes, Next: []string{"ovnctl trace shop/client bank/ledger --tcp=8080"}}
	if err := render.Reach(&b, s, format, doc, view); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestReachDocuments reads the documents back: they say the same, with and without pairs.
func TestReachDocuments(t *testing.T) {
	for _, pods := range [][]string{fewPods, {"shop/alone"}} {
		r := guardedResult(t, pods...)
		var fromJSON, fromYAML any
		if err := json.Unmarshal([]byte(reachText(t, r, "json", render.Style{})), &fromJSON); err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal([]byte(reachText(t, r, "yaml", render.Style{})), &fromYAML); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(fromYAML)
		if err != nil {
			t.Fatal(err)
		}
		var again any
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(fromJSON, again); diff != "" {
			t.Error(diff)
		}
		n := len(pods) * (len(pods) - 1)
		if got := fromJSON.(map[string]any)["pairs"].([]any); len(got) != n {
			t.Errorf("%d pairs, want %d", len(got), n)
		}
		records, err := csv.NewReader(strings.NewReader(reachText(t, r, "csv", render.Style{}))).ReadAll()
		if err != nil || len(records) != n+1 {
			t.Errorf("%d records, want %d: %v", len(records), n+1, err)
		}
	}
}

// TestReachList compares a deployment with the list that was made of it, and then with one that has three lines changed.
func TestReachList(t *testing.T) {
	g := reachGraph(t, fewPods...)
	r := guardedResult(t, fewPods...)
	list := reachText(t, r, "expect", render.Style{})
	if e := check(t, g, list).Expect; e.Pairs != 20 || len(e.Differences) != 0 {
		t.Errorf("the list of what is: %+v", e)
	}
	changed := check(t, g, list+"ops/debug -> shop/ tcp/8080 drop\nbank/ -> ops/debug tcp/8080 deny\n* -> bank/vault-1 tcp/9090 allow\n")
	var got []string
	for _, d := range changed.Expect.Differences {
		got = append(got, fmt.Sprintf("%d %s %s %s %s", d.Line, d.From, d.To, d.Expected, d.Outcome))
	}
	want := []string{
		"22 ops/debug shop/client drop rejected",
		"22 ops/debug shop/web-1 drop rejected",
		"23 bank/ledger ops/debug deny delivered",
		"23 bank/vault-1 ops/debug deny delivered",
		"24 ops/debug bank/vault-1 allow dropped",
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if text := reachText(t, changed, "table", render.Style{}); !strings.Contains(text, "5 differences in 24 pairs") {
		t.Error(text)
	}
}

func check(t *testing.T, g *topology.Graph, list string) *reach.Result {
	t.Helper()
	rules, err := reach.ParseList(strings.NewReader(list), "list", reach.Question{})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := reach.Checking(g, "list", rules, nil, nil, reach.Question{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	r, err := plan.Run(t.Context(), guarded, reach.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}
