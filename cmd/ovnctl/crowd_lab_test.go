//go:build lab

package main

import (
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab/scale"
)

// crowdSize has 40,000 logical flows.
var crowdSize = scale.Size{Nodes: 44, Pods: 40, Services: 1500, Policies: 10}

// BenchmarkCrowd runs 20 ovnctl at once on a Southbound of 40,000 logical flows, and watches how long another client
// waits for its echo meanwhile.
func BenchmarkCrowd(b *testing.B) {
	program := buildOvnctl(b)
	d := scale.Start(b, crowdSize)
	if old := os.Getenv("OVNCTL_OLD"); old != "" {
		program = old
	}
	for _, args := range [][]string{{"topology", "show"}, {"doctor"}} {
		b.Run(args[0], func(b *testing.B) {
			for b.Loop() {
				stop := echo(b, d.SB.Socket)
				start := time.Now()
				var all sync.WaitGroup
				for range 20 {
					all.Go(func() {
						cmd := exec.CommandContext(b.Context(), program, append(args, "--nb", d.NB.Remote(), "--sb", d.SB.Remote(), "--ovs", "unix:"+os.DevNull, "--timeout", "60")...)
						out, _ := cmd.Output()
						if code := cmd.ProcessState.ExitCode(); len(out) == 0 || code < 0 || code == exitUsage {
							b.Errorf("%v: exit %d", args, code)
						}
					})
				}
				all.Wait()
				b.ReportMetric(time.Since(start).Seconds(), "s")
				b.ReportMetric(stop().Seconds(), "longest-wait-s")
			}
		})
	}
}
