//go:build lab

package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/internal/lab/scale"
	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/doctor/checks"
)

// BenchmarkDoctor is the time of all checks, from the first read to the last check, beside the slowest single read that one
// of them needs when it runs alone: on a node of the lab, on one with 50,000 flows, and on the databases of 50 nodes.
func BenchmarkDoctor(b *testing.B) {
	for name, flows := range map[string]int{"node": 0, "node with 50000 flows": 50_000} {
		b.Run(name, func(b *testing.B) {
			l := labtest.Own(b, lab.OVNKubernetes(), lab.Options{})
			addFlows(b, l, flows)
			benchmarkDoctor(b, func(ctx context.Context, args ...string) ([]byte, error) {
				cmd := l.Program(ctx, "node1", append([]string{program}, args...)...)
				return cmd.Output()
			})
		})
	}
	b.Run("databases", func(b *testing.B) {
		d := scale.Start(b, scale.Small)
		benchmarkDoctor(b, func(ctx context.Context, args ...string) ([]byte, error) {
			cmd := exec.CommandContext(ctx, program, append(args, "--nb", d.NB.Remote(), "--sb", d.SB.Remote())...)
			return cmd.Output()
		})
	})
}

// addFlows makes a node's integration bridge as large as that of a large cluster, by flows in a table to which no
// packet comes and of which OVN knows nothing.
func addFlows(b *testing.B, l *lab.Lab, flows int) {
	b.Helper()
	var text strings.Builder
	for i := range flows {
		fmt.Fprintf(&text, "table=250,priority=100,ip,reg0=0x%x/0xffff,metadata=0x%x,nw_src=10.%d.%d.%d,actions=load:0x%x->NXM_NX_REG15[],resubmit(,251)\n", i&0xffff, i%64+1, i>>16&255, i>>8&255, i&255, i)
	}
	cmd := l.Command(b.Context(), "node1", "ovs-ofctl", "add-flows", "br-int", "-")
	cmd.Stdin = strings.NewReader(text.String())
	if out, err := cmd.CombinedOutput(); flows > 0 && err != nil {
		b.Fatalf("%v: %s", err, out)
	}
}

func benchmarkDoctor(b *testing.B, run func(ctx context.Context, args ...string) ([]byte, error)) {
	b.Helper()
	stats := func(args ...string) doctor.Stats {
		out, err := run(b.Context(), append([]string{"doctor", "--stats", "-o", "json", "--fail-on", "never"}, args...)...)
		var doc struct{ Stats *doctor.Stats }
		if jsonErr := json.Unmarshal(out, &doc); jsonErr != nil || doc.Stats == nil {
			b.Fatalf("%v: %v\n%s", err, jsonErr, out)
		}
		return *doc.Stats
	}
	stats() // what is asked first finds cold caches
	type read struct{ check, what string }
	alone := map[read][]time.Duration{}
	look := func(check string) {
		for _, r := range stats("--only", check).Reads {
			of := read{check, r.What}
			alone[of] = append(alone[of], r.Took)
		}
	}
	for range 3 { // of which one is none that something else on the machine held up
		for _, c := range checks.All {
			look(c.Name)
		}
	}
	// By what is read: the check in which it is most alone, for some read other things beside it, behind which it waits.
	least := map[string]read{}
	for of, took := range alone {
		if known, ok := least[of.what]; !ok || slices.Min(took) < slices.Min(alone[known]) {
			least[of.what] = of
		}
	}
	var slowest read
	for _, of := range least {
		if alone[slowest] == nil || slices.Min(alone[of]) > slices.Min(alone[slowest]) {
			slowest = of
		}
	}
	var all []time.Duration
	for b.Loop() {
		for range 7 { // in turn: what else the machine does meets both
			all = append(all, stats().Took)
			look(slowest.check)
		}
	}
	median, single := middle(all), middle(alone[slowest])
	b.Logf("%d checks in %v; the slowest single read, %s of %s, alone %v", len(checks.All), median, slowest.what, slowest.check, single)
	b.ReportMetric(float64(median)/1e6, "doctor-ms")
	b.ReportMetric(float64(single)/1e6, "slowest-read-ms")
	b.ReportMetric(float64(median)/float64(single), "times")
}

func middle(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(all))[len(all)/2]
}
