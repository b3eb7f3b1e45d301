package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/reach"
)

// What breaks pairs at the nodes, reach knows as trace does: in the demo, a node has lost its uplink.
func TestReachNodes(t *testing.T) {
	ask := func(doc any, args ...string) {
		t.Helper()
		var out, errs strings.Builder
		run(t.Context(), append([]string{"--offline", "demo", "-o", "json"}, args...), strings.NewReader(""), &out, &errs)
		if err := json.Unmarshal([]byte(out.String()), doc); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, errs.String())
		}
	}
	var result struct {
		Pairs  []reach.Pair
		Causes []reach.Cause
	}
	ask(&result, "reach", "ns/shop", "ns/shop", "--tcp", "8080")
	atNodes := 0
	for i, p := range result.Pairs {
		if p.Cause != nil && result.Causes[*p.Cause].Object.Kind == "node" {
			atNodes++
		}
		if testing.Short() && i%3 != 0 {
			continue
		}
		var followed struct{ Verdict journey.Verdict }
		ask(&followed, "trace", p.From, p.To, "--tcp", fmt.Sprint(p.Port))
		if p.Outcome != followed.Verdict.Outcome {
			t.Errorf("%s to %s: reach says %s, trace %s", p.From, p.To, p.Outcome, followed.Verdict.Outcome)
		}
	}
	if len(result.Pairs) < 10 || atNodes == 0 || atNodes == len(result.Pairs) {
		t.Errorf("%d of %d pairs fail at nodes", atNodes, len(result.Pairs))
	}
}
