//go:build lab

package ovsdb_test

import (
	"fmt"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

const benchFlows = 100_000

// startFlows serves a Southbound with so many flows like those of northd.
func startFlows(b *testing.B, flows int) *ovsdbtest.Server {
	b.Helper()
	s := ovsdbtest.Start(b, ovsdbtest.Southbound)
	c := dial(b, ovsdb.Config{DB: s.DB, Remotes: s.Remote(), Timeout: time.Minute})
	var datapaths []ovsdb.UUID
	for i := range 50 {
		results, err := c.Transact(b.Context(), ovsdb.Insert("Datapath_Binding", "", map[string]any{"tunnel_key": i + 1}))
		if err != nil {
			b.Fatal(err)
		}
		datapaths = append(datapaths, results[0].UUID)
	}
	for i := 0; i < flows; {
		var ops []ovsdb.Operation
		for range 5000 {
			ops = append(ops, ovsdb.Insert("Logical_Flow", "", map[string]any{
				"logical_datapath": datapaths[i%len(datapaths)], "pipeline": []string{"ingress", "egress"}[i%2], "table_id": i % 24, "priority": 50 + i%2000,
				"match":   fmt.Sprintf("ct.new && ip4.dst == 10.%d.%d.%d && tcp.dst == %d", i>>16, i>>8&255, i&255, 1+i%60000),
				"actions": fmt.Sprintf("reg1 = 10.96.0.1; reg2[0..15] = 80; ct_lb_mark(backends=10.244.%d.%d:8080,10.244.1.7:8080);", i>>8&255, i&255),
				"external_ids": map[string]string{
					"source": "northd.c:7021", "stage-name": "ls_in_lb", "stage-hint": fmt.Sprintf("%08x", i),
				},
			}))
			i++
		}
		if _, err := c.Transact(b.Context(), ops...); err != nil {
			b.Fatal(err)
		}
	}
	ovsdbtest.Run(b, "ovs-appctl", "-T", "300", "-t", s.Control, "ovsdb-server/compact")
	return s
}

func BenchmarkFlows(b *testing.B) {
	s := startFlows(b, benchFlows)
	count := func(b *testing.B, r ovsdb.Reader) {
		b.Helper()
		rows, err := ovsdb.Find[sb.LogicalFlow](b.Context(), r)
		if err != nil || len(rows) != benchFlows {
			b.Fatalf("%d rows, %v", len(rows), err)
		}
	}
	perRow := func(b *testing.B, who int) func() {
		began := cpu(b, who)
		return func() {
			b.ReportMetric(benchFlows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
			b.ReportMetric((cpu(b, who)-began).Seconds()/float64(b.N), "cpu-s/op")
		}
	}
	b.Run("live", func(b *testing.B) {
		c := dial(b, ovsdb.Config{DB: s.DB, Remotes: s.Remote(), Timeout: time.Minute})
		defer perRow(b, syscall.RUSAGE_SELF)()
		b.ReportAllocs()
		for b.Loop() {
			count(b, c)
		}
	})
	b.Run("ovsdb-client dump", func(b *testing.B) {
		defer perRow(b, syscall.RUSAGE_CHILDREN)()
		for b.Loop() {
			if err := exec.Command("ovsdb-client", "dump", "-f", "csv", s.Remote(), s.DB, "Logical_Flow").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("open file", func(b *testing.B) {
		defer perRow(b, syscall.RUSAGE_SELF)()
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ovsdb.OpenFile(s.File); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("file", func(b *testing.B) {
		snap, err := ovsdb.OpenFile(s.File)
		if err != nil {
			b.Fatal(err)
		}
		defer perRow(b, syscall.RUSAGE_SELF)()
		b.ReportAllocs()
		for b.Loop() {
			count(b, snap)
		}
	})
	b.Run("one datapath of the file", func(b *testing.B) {
		snap, err := ovsdb.OpenFile(s.File)
		if err != nil {
			b.Fatal(err)
		}
		datapaths, err := ovsdb.Find[sb.DatapathBinding](b.Context(), snap)
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			rows, err := ovsdb.Find[sb.LogicalFlow](b.Context(), snap, ovsdb.Where("logical_datapath", "==", datapaths[0].UUID))
			if err != nil || len(rows) != benchFlows/len(datapaths) {
				b.Fatalf("%d rows, %v", len(rows), err)
			}
		}
	})
}

// cpu returns the processor time that this process, or its children, have used.
func cpu(b *testing.B, who int) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
