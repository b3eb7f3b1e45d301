package reach_test

import (
	"context"
	"fmt"
	"net/netip"
	"runtime"
	"runtime/debug"
	"syscall"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab/scale"
	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/reach"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace"
	"github.com/ovnctl/ovnctl/pkg/trace/ovn"
)

// BenchmarkReach asks pairs of pods, half of which a policy keeps apart, on one core and on all of them, and has the engine
// alone follow the same first packets on one core. A pair is a packet and, if that arrives, its answer: one way or two. A core
// is the time of a processor: the machine may have other things to do. What is read is there before the clock starts.
func BenchmarkReach(b *testing.B) {
	b.Run("small", func(b *testing.B) { benchmarkReach(b, scale.Small) })
	b.Run("large", func(b *testing.B) { benchmarkReach(b, scale.Large) })
}

func benchmarkReach(b *testing.B, size scale.Size) {
	d := scale.Start(b, size)
	ctx := b.Context()
	c, err := cluster.Open(ctx, cluster.Config{NB: d.NB.Remote(), SB: d.SB.Remote(), Timeout: time.Minute})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	b.Cleanup(func() { debug.SetGCPercent(100) })
	debug.SetGCPercent(reach.GCPercent)
	start := time.Now()
	g, err := topology.Load(ctx, c)
	if err != nil {
		b.Fatal(err)
	}
	// Of the pods of this deployment, the first half of the namespaces that a policy guards are followed by free ones.
	guarded, free := fmt.Sprintf("team-%d?/", size.Policies/10-1), fmt.Sprintf("team-%d?/", size.Nodes*size.Pods/100-1)
	plan, err := reach.Between(g, []string{guarded}, []string{guarded, free}, reach.Question{Protocol: "tcp", Port: 8080, SourcePort: 40000}, 0)
	if err != nil {
		b.Fatal(err)
	}
	walk, _, err := reach.NewWalk(ctx, c, g, plan, nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	r, err := plan.Run(ctx, walk, reach.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("%.1f s with all that is read for %+v", time.Since(start).Seconds(), r.Summary)
	if r.Summary.Delivered == 0 || r.Summary.Dropped == 0 || r.Summary.Unknown > 0 {
		b.Fatalf("%+v", r.Summary)
	}
	b.Run("engine", func(b *testing.B) { benchmarkEngine(b, c, g, plan) })
	for _, workers := range []int{1, runtime.GOMAXPROCS(0)} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			pairs, before := 0, processorTime(b)
			for b.Loop() {
				if _, err := plan.Run(ctx, walk, reach.Options{Workers: workers}); err != nil {
					b.Fatal(err)
				}
				pairs += plan.Pairs()
			}
			spent, wall := (processorTime(b) - before).Seconds(), b.Elapsed().Seconds()
			ways := float64(pairs) * float64(r.Summary.Pairs+r.Summary.Delivered) / float64(plan.Pairs())
			b.ReportMetric(float64(pairs)/wall, "pairs/s")
			b.ReportMetric(spent/wall, "cores")
			b.ReportMetric(ways/spent, "ways/core/s")
		})
	}
}

// benchmarkEngine follows the first packets of a plan.
func benchmarkEngine(b *testing.B, c *cluster.Cluster, g *topology.Graph, plan *reach.Plan) {
	ctx := b.Context()
	w, err := trace.NewWalker(ctx, c, g, ovn.Options{})
	if err != nil {
		b.Fatal(err)
	}
	net := w.Network(g.Zones[0])
	var starts []ovn.Start
	_, err = plan.Run(ctx, func(ctx context.Context, from, to topology.Match, q reach.Question) (reach.Cause, *reach.Likeness, error) {
		p, err := w.Packet(from, to, q.Protocol, q.SourcePort, q.Port, 4)
		if err != nil {
			return reach.Cause{}, nil, err
		}
		rounds, _, err := w.Rounds(ctx, from, p, netip.AddrPort{})
		if err != nil {
			return reach.Cause{}, nil, err
		}
		port, err := net.Port(ctx, from.Port.Name)
		starts = append(starts, ovn.Start{Port: port, Packet: rounds[0].Forward.Packet})
		return reach.Cause{Outcome: rounds[0].Outcome()}, nil, err
	}, reach.Options{Workers: 1})
	if err != nil {
		b.Fatal(err)
	}
	engine := ovn.New(net, ovn.Options{Assume: true})
	b.ResetTimer()
	before, ways := processorTime(b), 0
	for b.Loop() {
		for _, s := range starts {
			if _, err := engine.Follow(ctx, s, nil, nil); err != nil {
				b.Fatal(err)
			}
		}
		ways += len(starts)
	}
	b.ReportMetric(float64(ways)/(processorTime(b)-before).Seconds(), "ways/core/s")
}

// processorTime is what this process has used so far, on all cores.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
