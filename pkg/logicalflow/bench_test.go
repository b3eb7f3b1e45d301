//go:build lab

package logicalflow_test

import (
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab/scale"
	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// BenchmarkLookup looks a packet between two pods up in all tables of their switches and of the router between them, with all
// flows read. An operation is one table. The deployments differ by a hundred times in flows, the tables in what they hold.
func BenchmarkLookup(b *testing.B) {
	for _, size := range []struct {
		name string
		scale.Size
	}{
		{"tiny", scale.Size{Nodes: 5, Pods: 40, Services: 100, NodePorts: 2, Policies: 10}},
		{"small", scale.Small},
		{"large", scale.Large},
	} {
		b.Run(size.name, func(b *testing.B) { benchmarkLookup(b, scale.Start(b, size.Size)) })
	}
}

func benchmarkLookup(b *testing.B, d *scale.Deployment) {
	n, err := logicalflow.Open(b.Context(), ovsdbtest.Dial(b, "OVN_Southbound", d.SB.Remote()))
	if err != nil {
		b.Fatal(err)
	}
	p, tables := connection(b, n, d)
	look := func(t logicalflow.Table) {
		if _, err := n.Lookup(b.Context(), t, &p, nil); err != nil {
			b.Fatal(err)
		}
	}
	for _, t := range tables {
		look(t) // reads
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		look(tables[i%len(tables)])
	}
}

// connection is a packet from a pod to one on another node, and the tables that it may meet.
func connection(b *testing.B, n *logicalflow.Network, d *scale.Deployment) (packet.Flow, []logicalflow.Table) {
	b.Helper()
	from, to := d.Pod(1, 0), d.Pod(0, 0)
	all := &everything{symbols: symbolsOf(n)}
	var p packet.Flow
	var tables []logicalflow.Table
	for _, pod := range []scale.Pod{to, from} {
		port, err := n.Port(b.Context(), pod.Port)
		if err != nil || port == nil {
			b.Fatal(port, err)
		}
		tables = append(tables, tablesOf(port.Datapath)...)
		all.set(&p, "inport", packet.Uint(uint64(port.Key())))
	}
	for _, datapath := range n.Datapaths() {
		if datapath.Name == "ovn_cluster_router" {
			tables = append(tables, tablesOf(datapath)...)
		}
	}
	src, dst := from.IPv4.As4(), to.IPv4.As4()
	all.set(&p, "eth.type", packet.Uint(packet.EthIPv4))
	all.set(&p, "ip.proto", packet.Uint(packet.ProtoTCP))
	all.set(&p, "ip4.src", packet.FromBytes(src[:]))
	all.set(&p, "ip4.dst", packet.FromBytes(dst[:]))
	all.set(&p, "tcp.dst", packet.Uint(8080))
	return p, tables
}

// tablesOf are the tables of a datapath that ovn-northd uses.
func tablesOf(d *logicalflow.Datapath) []logicalflow.Table {
	var tables []logicalflow.Table
	for id := range 28 {
		tables = append(tables, logicalflow.Table{Datapath: d, Pipeline: logicalflow.Ingress, ID: id})
	}
	for id := range 10 {
		tables = append(tables, logicalflow.Table{Datapath: d, Pipeline: logicalflow.Egress, ID: id})
	}
	return tables
}
