//go:build lab

package cause

import (
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/trace/ovn"
)

// TestPaths explains the paths between all pods of three deployments. Of each hit all that decided held, stands where it is
// said, and is enough: the flow has no part that failed. What is delivered was stopped by nothing, what is not has a
// cause, and with an object behind it that is an ACL.
func TestPaths(t *testing.T) {
	for _, topology := range []lab.Topology{lab.OVNKubernetes(), lab.KubeOVN(), lab.OpenStack()} {
		t.Run(topology.Name, func(t *testing.T) {
			l := labtest.Own(t, topology, lab.Options{})
			pairs, stopped, steps := 0, 0, 0
			for _, from := range topology.Pods {
				f := fault{from: from.Name, proto: "tcp", port: 8080}
				d := f.open(t.Context(), t, l)
				for _, to := range topology.Pods {
					if to.Name == from.Name {
						continue
					}
					f.to = to.Name
					d.start, _ = f.packet(t.Context(), t, l, d.net)
					outcome, path := d.round(t.Context(), t, nil)
					pairs++
					steps += explained(t, d, path)
					found := d.explainer.Explain(t.Context(), path)
					if outcome == journey.Delivered != (found.Cause.Kind == "") {
						t.Errorf("%s to %s is %s: %q", from.Name, to.Name, outcome, Words(found.Cause))
					}
					if outcome == journey.Delivered {
						continue
					}
					stopped++
					if found.Object == nil || found.Object.Kind != "ACL" || !strings.Contains(Words(found.Cause), found.Object.Text) || found.Rule == nil {
						t.Errorf("%s to %s is %s: %+v", from.Name, to.Name, outcome, found)
					}
				}
			}
			t.Logf("%d pairs, %d of them stopped, %d steps", pairs, stopped, steps)
		})
	}
}

// explained checks what is said of each step of a path, and returns how many there are.
func explained(t *testing.T, d look, path *ovn.Path) int {
	t.Helper()
	steps := 0
	for _, v := range path.Visits {
		for i, s := range v.Steps {
			d.explainer.Object(t.Context(), v, i)
			if s.Flow == nil {
				continue
			}
			steps++
			rule := journey.Rule{Match: s.Flow.Row.Match, Decided: d.explainer.Decided(t.Context(), v, i)}
			marked(t, rule)
			for _, part := range rule.Decided {
				if !part.Holds {
					t.Errorf("%s: of %q, which was hit, %q did not hold", s.Flow.Stage(), rule.Match, part.Text)
				}
			}
			packet := v.Before(i)
			if missing := s.Flow.Missing(v.Datapath, &packet, d.explainer.engine.Resident(v)); len(missing) > 0 {
				t.Errorf("%s: %q was hit, and misses %d parts", s.Flow.Stage(), rule.Match, len(missing))
			}
		}
	}
	return steps
}
