//go:build lab

package main

import (
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab/scale"
)

// BenchmarkReach asks all pairs of 2,000 pods, 4 million, from the start of the process to its end, and watches how long the
// Southbound server keeps another client waiting meanwhile.
func BenchmarkReach(b *testing.B) {
	d, program := scale.Start(b, scale.Small), buildOvnctl(b)
	for _, format := range []string{"table", "json"} {
		b.Run(format, func(b *testing.B) {
			ask := task{host(exitOK, program, "reach", "--tcp", "8080", "--max-pairs", "0", "--logical", "-o", format, "--nb", d.NB.Remote(), "--sb", d.SB.Remote())}
			var highest int64
			stop := echo(b, d.SB.Socket)
			start := time.Now()
			for b.Loop() {
				highest = max(highest, ask.peak(b))
			}
			b.ReportMetric(time.Since(start).Seconds()/float64(b.N), "s")
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64(highest)/(1<<20), "MiB")
			b.ReportMetric(milliseconds(stop()), "echo-ms")
		})
	}
}
