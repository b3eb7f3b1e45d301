package reach

import (
	"math/rand/v2"
	"runtime/debug"
	"syscall"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab/scale"
	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// BenchmarkReachAll asks all pairs of 2,000 pods, 4 million, on all cores, from the opening of the databases to the last answer, and
// follows 2,000 pairs drawn from them without classes: they must say the same. MiB is the most memory of the process, with what it
// held before.
func BenchmarkReachAll(b *testing.B) {
	d := scale.Start(b, scale.Small)
	b.Cleanup(func() { debug.SetGCPercent(100) })
	debug.SetGCPercent(GCPercent)
	ctx := b.Context()
	for b.Loop() {
		c, err := cluster.Open(ctx, cluster.Config{NB: d.NB.Remote(), SB: d.SB.Remote(), Timeout: time.Minute})
		if err != nil {
			b.Fatal(err)
		}
		g, err := topology.Load(ctx, c)
		if err != nil {
			b.Fatal(err)
		}
		plan, err := Between(g, nil, nil, Question{Protocol: "tcp", Port: 8080, SourcePort: 40000}, 0)
		if err != nil {
			b.Fatal(err)
		}
		read := time.Now()
		walk, classes, err := NewWalk(ctx, c, g, plan, nil, nil)
		if err != nil {
			b.Fatal(err)
		}
		follow := time.Now()
		r, err := plan.Run(ctx, walk, Options{Classes: classes})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		var used syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
			b.Fatal(err)
		}
		b.Logf("%+v, flows read and classes found in %.1f s, pairs followed in %.1f s", r.Summary, follow.Sub(read).Seconds(), time.Since(follow).Seconds())
		b.ReportMetric(float64(classes.count()), "classes")
		b.ReportMetric(float64(r.Followed), "followed")
		b.ReportMetric(float64(used.Maxrss)/1024, "MiB")
		for range 2000 {
			k := rand.IntN(plan.Pairs())
			if r.cells[k] == notAsked {
				continue
			}
			a := plan.pair(k)
			want, _, err := walk(ctx, plan.from[a.from].match, plan.to[a.to].match, plan.question)
			if err != nil {
				b.Fatal(err)
			}
			got := Cause{Outcome: "delivered"}
			if known := r.cause(r.cells[k]); known != nil {
				got = *known
			}
			if got.key() != want.key() {
				b.Errorf("%s to %s: %q, followed by itself %q", plan.from[a.from].Name, plan.to[a.to].Name, got.key(), want.key())
			}
		}
		_ = c.Close()
		b.StartTimer()
	}
}

// count returns how many classes there are, each that is alone counted as one.
func (c *Classes) count() int {
	seen := map[int32]bool{}
	for _, n := range c.of {
		seen[n] = true
	}
	return len(seen) + len(c.numbers) - len(c.of)
}
