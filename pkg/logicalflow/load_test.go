//go:build lab

package logicalflow_test

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab/scale"
	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// A counter counts what is asked of a database.
type counter struct {
	ovsdb.Reader
	mu       sync.Mutex
	requests int
	rows     map[string]int // by table
}

func (c *counter) Select(ctx context.Context, queries ...*ovsdb.Query) error {
	err := c.Reader.Select(ctx, queries...)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests++
	if c.rows == nil {
		c.rows = map[string]int{}
	}
	for _, q := range queries {
		rows := reflect.ValueOf(q.Rows).Elem()
		table := reflect.Zero(rows.Type().Elem()).Interface().(ovsdb.Row).Table()
		c.rows[table] += rows.Len()
	}
	return err
}

// Of a deployment only that is read which a packet may meet: what it costs to look through a switch does not grow with
// the number of nodes.
func TestLoad(t *testing.T) {
	size := scale.Size{Nodes: 4, Pods: 5, Services: 10, Policies: 4}
	small := walked(t, scale.Start(t, size))
	size.Nodes = 12
	large := walked(t, scale.Start(t, size))
	t.Logf("4 nodes: %d requests, %v rows; 12 nodes: %d requests, %v rows", small.requests, small.rows, large.requests, large.rows)
	for _, table := range []string{"Port_Binding", "Port_Group", "Address_Set", "Multicast_Group"} {
		if large.rows[table] > small.rows[table] {
			t.Errorf("%s: %d rows of 12 nodes, %d of 4", table, large.rows[table], small.rows[table])
		}
	}
	// Each service has its flows, and so has the way to the other pods on the switch; few are of other nodes.
	if s, l := small.rows["Logical_Flow"], large.rows["Logical_Flow"]; l > s+s/10 {
		t.Errorf("Logical_Flow: %d rows of 12 nodes, %d of 4", l, s)
	}
	if large.requests > small.requests+5 {
		t.Errorf("%d requests of 12 nodes, %d of 4", large.requests, small.requests)
	}
}

// walked looks a packet up in all tables of a switch, and counts what that takes. A second packet takes nothing.
func walked(t *testing.T, d *scale.Deployment) *counter {
	t.Helper()
	c := &counter{Reader: ovsdbtest.Dial(t, "OVN_Southbound", d.SB.Remote())}
	n, err := logicalflow.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	walk := func() {
		port, err := n.Port(t.Context(), d.Pod(0, 0).Port)
		if err != nil || port == nil {
			t.Fatal(port, err)
		}
		p := packetOf(n, port)
		for _, pipeline := range []string{logicalflow.Ingress, logicalflow.Egress} {
			for id := range 40 {
				if _, err := n.Lookup(t.Context(), logicalflow.Table{Datapath: port.Datapath, Pipeline: pipeline, ID: id}, &p, nil); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	walk()
	first := c.requests
	walk()
	if c.requests != first {
		t.Errorf("%d requests for what was read already", c.requests-first)
	}
	return c
}

// packetOf is an IPv4 packet that came in by a port.
func packetOf(n *logicalflow.Network, port *logicalflow.Port) packet.Flow {
	var p packet.Flow
	all := &everything{symbols: symbolsOf(n)}
	all.set(&p, "eth.type", packet.Uint(packet.EthIPv4))
	all.set(&p, "inport", packet.Uint(uint64(port.Key())))
	all.set(&p, "outport", packet.Uint(uint64(port.Key())))
	return p
}

// Many may look up at the same time, while others still read.
func TestConcurrent(t *testing.T) {
	d := scale.Start(t, scale.Size{Nodes: 3, Pods: 6, Services: 12, Policies: 3})
	n, err := logicalflow.Open(t.Context(), ovsdbtest.Dial(t, "OVN_Southbound", d.SB.Remote()))
	if err != nil {
		t.Fatal(err)
	}
	answers := make([]string, 8)
	var wait sync.WaitGroup
	for i := range answers {
		wait.Go(func() {
			if i == 3 {
				if err := n.Preload(t.Context(), nil, nil); err != nil {
					t.Error(err)
				}
			}
			answers[i] = lookAround(t, n, d)
		})
	}
	wait.Wait()
	for _, a := range answers {
		if a != answers[0] || a == "" {
			t.Fatalf("one finds\n%s\nanother\n%s", answers[0], a)
		}
	}
}

// lookAround says which flows packets of all pods hit.
func lookAround(t *testing.T, n *logicalflow.Network, d *scale.Deployment) string {
	found := ""
	for node := range d.Nodes {
		for k := range d.Pods {
			port, err := n.Port(t.Context(), d.Pod(node, k).Port)
			if err != nil || port == nil {
				t.Error(port, err)
				return ""
			}
			p := packetOf(n, port)
			for id := range 30 {
				h, err := n.Lookup(t.Context(), logicalflow.Table{Datapath: port.Datapath, Pipeline: logicalflow.Ingress, ID: id}, &p, nil)
				if err != nil {
					t.Error(err)
					return ""
				}
				if h.Flow != nil {
					found += fmt.Sprintf("%p ", h.Flow) // the same one for all
				}
			}
		}
	}
	return found
}

// Template variables have the values of the chassis that the packet is on; without a chassis such a flow is not understood.
func TestTemplates(t *testing.T) {
	d := scale.Start(t, scale.Size{Nodes: 2, Pods: 1, Services: 1})
	db := ovsdbtest.Dial(t, "OVN_Southbound", d.SB.Remote())
	rows, err := ovsdb.Find[sb.DatapathBinding](t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	insertTemplate(t, d.SB, rows[0].UUID)
	n, err := logicalflow.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	var p packet.Flow
	all := &everything{symbols: symbolsOf(n)}
	all.set(&p, "eth.type", packet.Uint(packet.EthIPv4))
	all.set(&p, "ip4.dst", packet.Uint(0x0a000001))
	look := func(c *logicalflow.Chassis) logicalflow.Hit {
		h, err := n.Lookup(t.Context(), logicalflow.Table{Datapath: n.Datapath(rows[0].UUID), Pipeline: logicalflow.Ingress, ID: 30, Chassis: c}, &p, nil)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	here, there := n.ChassisByName("worker-0"), n.ChassisByName("worker-1")
	if h := look(here); h.Flow == nil || h.Flow.Row.Match != "ip4.dst == 10.0.0.1" || h.Flow.Actions().String() != "reg0 = 7;" {
		t.Errorf("on %s: %+v", here.Row.Name, h)
	}
	if h := look(there); h.Flow != nil || len(h.Unknown) > 0 {
		t.Errorf("on %s: %+v", there.Row.Name, h)
	}
	if h := look(nil); h.Flow != nil || len(h.Unknown) != 1 || h.Unknown[0].Err() == nil {
		t.Errorf("on no chassis: %+v", h)
	}
	if a, b := look(here).Flow, look(here).Flow; a != b {
		t.Error("two flows of one row on one chassis")
	}
}

func insertTemplate(t *testing.T, s *ovsdbtest.Server, datapath ovsdb.UUID) {
	t.Helper()
	s.Transact(
		`{"op":"insert","table":"Chassis_Template_Var","row":{"chassis":"worker-0","variables":["map",[["vip","10.0.0.1"],["n","7"]]]}}`,
		`{"op":"insert","table":"Chassis_Template_Var","row":{"chassis":"worker-1","variables":["map",[["vip","10.0.0.2"],["n","8"]]]}}`,
		fmt.Sprintf(`{"op":"insert","table":"Logical_Flow","row":{"logical_datapath":["uuid",%q],"pipeline":"ingress","table_id":30,"priority":50,`+
			`"match":"ip4.dst == ^vip","actions":"reg0 = ^n;"}}`, datapath))
}
