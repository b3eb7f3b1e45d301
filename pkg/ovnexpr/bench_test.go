//go:build lab

package ovnexpr

import (
	"math/rand/v2"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// The figures are of one logical flow: the mean over those of a lab and, where packets are asked about, over packets.
func BenchmarkLogicalFlow(b *testing.B) {
	l := labtest.Shared(b, lab.OVNKubernetes())
	flows, sets := rows(b, l, "Logical_Flow"), southboundSets(b, l)
	table := SymbolsOf(Profile{})
	parsed := make([]*Match, len(flows))
	conditions := make([]*Condition, len(flows))
	for i, row := range flows {
		var err error
		if parsed[i], err = ParseMatch(row.text("match")); err != nil {
			b.Fatal(err)
		}
		if conditions[i], err = parsed[i].Annotate(table, sets); err != nil {
			b.Fatal(err)
		}
	}
	g := generator{rand.New(rand.NewPCG(1, 1))}
	packets := make([]*packet.Flow, 64)
	for i := range packets {
		packets[i] = g.packet()
	}
	run := func(name string, f func(i int)) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				f(i)
			}
		})
	}
	run("parse match", func(i int) { _, _ = ParseMatch(flows[i%len(flows)].text("match")) })
	run("parse actions", func(i int) { _, _ = ParseActions(flows[i%len(flows)].text("actions")) })
	run("annotate", func(i int) { _, _ = parsed[i%len(flows)].Annotate(table, sets) })
	run("match", func(i int) { conditions[i%len(flows)].Matches(packets[i%len(packets)], testPorts) })
	run("decide", func(i int) { conditions[i%len(flows)].Evaluate(packets[i%len(packets)], testPorts) })
}
