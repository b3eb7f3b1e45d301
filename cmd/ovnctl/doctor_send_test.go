//go:build lab

package main

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/probe"
)

// A meshFault loses tunnel packets; stages are how far small packets come by sender and receiver, where not received.
type meshFault struct {
	name         string
	on           string
	breaks, undo string
	stages       map[[2]string]probe.Stage
	full         map[[2]string]probe.Stage
}

var meshFaults = []meshFault{
	{name: "none"},
	{
		name: "flow on the bridge of node3", on: "node3",
		breaks: "ovs-ofctl add-flow br-ex priority=60000,udp,tp_dst=6081,in_port=eth0,actions=drop", undo: "ovs-ofctl --strict del-flows br-ex priority=60000,udp,tp_dst=6081,in_port=eth0",
		stages: map[[2]string]probe.Stage{{"node1", "node3"}: probe.LostInner, {"node2", "node3"}: probe.LostInner},
	},
	{
		name: "flow that keeps packets on node3", on: "node3",
		breaks: "ovs-ofctl add-flow br-ex priority=60000,udp,tp_dst=6081,in_port=LOCAL,actions=drop", undo: "ovs-ofctl --strict del-flows br-ex priority=60000,udp,tp_dst=6081,in_port=LOCAL",
		stages: map[[2]string]probe.Stage{{"node3", "node1"}: probe.LostAt, {"node3", "node2"}: probe.LostAt},
	},
	{
		name: "MTU of the way to node2", on: "node2", breaks: "ip link set eth0 mtu 1400", undo: "ip link set eth0 mtu 1500",
		full: map[[2]string]probe.Stage{{"node1", "node2"}: probe.LostOn, {"node3", "node2"}: probe.LostOn},
	},
}

// What doctor --send says of each tunnel is what becomes of pods' packets there, and where they are lost is where the fault is.
func TestDoctorSend(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	putInPath(t, asOvnctl+"=1 exec "+self+` "$@"`)
	ctx := t.Context()
	d := &traceDraw{lab: labtest.Own(t, lab.OVNKubernetes(), lab.Options{})}
	pods := map[string]string{}
	for _, p := range d.lab.Topology.Pods {
		if p.Namespace == "shop" {
			pods[p.Node] = p.Name
		}
	}
	for _, f := range meshFaults {
		t.Run(f.name, func(t *testing.T) {
			if f.on != "" {
				if _, err := d.lab.Run(ctx, f.on, "sh", "-ec", f.breaks); err != nil {
					t.Fatal(err)
				}
				defer func() {
					if _, err := d.lab.Run(ctx, f.on, "sh", "-ec", f.undo); err != nil {
						t.Error(err)
					}
				}()
			}
			got := d.ovnctl(ctx, "node1", "doctor", "--send", "--only=tunnel-port-blocked", "-o", "json", "--nb", d.lab.NB(), "--node-exec", d.lab.Dir+"/enter {hostname}")
			var doc doctor.Document
			if err := json.Unmarshal(got.stdout, &doc); err != nil || doc.Tunnels == nil || len(doc.Tunnels.Tunnels) != 6 {
				t.Fatalf("%v: %s%s", err, got.stdout, got.stderr)
			}
			broken := false
			for _, m := range doc.Tunnels.Tunnels {
				way := [2]string{m.From, m.To}
				small, full := f.stages[way], f.full[way]
				if small == "" {
					small = probe.Received
				}
				if full == "" {
					full = small
				}
				broken = broken || m.Broken()
				if m.Small.Result != small || m.Full.Result != full {
					t.Errorf("%v: %+v, want %s and %s", way, m, small, full)
				}
				truth, err := d.lab.Probe(ctx, pods[m.From], pods[m.To], "icmp", 0)
				if err != nil {
					t.Fatal(err)
				}
				if truth.Forward != (m.Small.Result == probe.Received) {
					t.Errorf("%v: %s, and a pod's packet %+v", way, m.Small.Result, truth)
				}
			}
			want := exitOK
			if broken {
				want = exitFound
			}
			if got.code != want {
				t.Errorf("exit code %d, want %d", got.code, want)
			}
		})
	}
}
