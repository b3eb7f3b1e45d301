package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/reach"
)

// What reach says stops packets is what trace says of one of the pairs: the last, for which another pair's cause may stand.
func TestDeploymentReach(t *testing.T) {
	for name, d := range deployments {
		t.Run(name, func(t *testing.T) {
			ask := func(into any, args ...string) {
				t.Helper()
				var out, errs strings.Builder
				args = append([]string{"--offline", "../../testdata/deployments/" + d.file + ".tar.zst", "-o", "json"}, args...)
				if code := run(t.Context(), args, strings.NewReader(""), &out, &errs); code != exitOK && code != exitFound {
					t.Fatalf("%q: exit code %d\n%s", args, code, errs.String())
				}
				if err := json.Unmarshal([]byte(out.String()), into); err != nil {
					t.Fatal(err)
				}
			}
			var all struct {
				Pairs  []reach.Pair
				Causes []reach.Cause
			}
			ask(&all, "reach", "--tcp", "8080")
			last := map[int]reach.Pair{}
			for _, p := range all.Pairs {
				if p.Cause != nil && all.Causes[*p.Cause].Object != nil {
					last[*p.Cause] = p
				}
			}
			most, tried := fewer(t, 12, 4), 0
			for i, c := range all.Causes {
				p, ok := last[i]
				if !ok || tried == most {
					continue
				}
				tried++
				var traced struct{ Verdict journey.Verdict }
				ask(&traced, "trace", p.From, p.To, "--tcp", "8080")
				if o := traced.Verdict.Object; o == nil || o.Text != c.Object.Text || traced.Verdict.Stage != c.Stage {
					t.Errorf("%s to %s: reach says %q in %s, trace %q in %s: %+v", p.From, p.To, c.Object.Text, c.Stage, traced.Verdict.Sentence, traced.Verdict.Stage, o)
				}
			}
			if tried == 0 {
				t.Error("no cause was tried")
			}
		})
	}
}
