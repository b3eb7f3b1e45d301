//go:build lab

package topology_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ovnctl/ovnctl/internal/lab/scale"
	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
	"github.com/ovnctl/ovnctl/pkg/render"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// Between two pods all is as Load has it but for load balancers and ACLs; where a name may be a service they are there.
func TestLoadBetween(t *testing.T) {
	d := scale.Start(t, scale.Size{Nodes: 9, Pods: 230, Services: 40, NodePorts: 1, Policies: 1}) // more ports than come at once
	pod, service := d.Pod(0, 0), "team-0/svc-0"
	twin := d.Pod(1, 0) // a service is called like it
	ovsdbtest.Run(t, "ovn-nbctl", "--db="+d.NB.Remote(), "--", "--id=@lb", "create", "Load_Balancer", "name=twin",
		"vips:\"10.99.0.1:80\"=\"10.128.0.3:80\"", "external_ids:k8s.ovn.org/kind=Service",
		`external_ids:k8s.ovn.org/owner="`+twin.Namespace+"/"+twin.Name+`"`)
	c, err := cluster.Open(t.Context(), cluster.Config{NB: d.NB.Remote(), SB: d.SB.Remote(), Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	whole, err := topology.Load(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	const stray = "team-0_gone" // a port that ovn-northd has not deleted
	on := whole.SwitchOf(whole.PortByName(pod.Port))
	ovsdbtest.Run(t, "ovn-sbctl", "--db="+d.SB.Remote(), "create", "Port_Binding", "logical_port="+stray, "datapath="+on.Datapath, "tunnel_key=9999",
		`mac="0a:58:0a:80:09:09 10.128.9.9"`)
	if whole, err = topology.Load(t.Context(), c); err != nil || whole.PortByName(stray) == nil {
		t.Fatal("no stray port", err)
	}
	few, err := topology.LoadBrief(t.Context(), c, 1)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(few.LoadBalancers); n != len(whole.LoadBalancers) || len(few.LoadBalancers[0].VIPs) == 0 || len(few.LoadBalancers[n-1].VIPs) > 0 {
		t.Errorf("%d load balancers, want %d, the addresses of the first", n, len(whole.LoadBalancers))
	}
	brief, err := topology.LoadBrief(t.Context(), c, render.FewServices)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(treeOf(t, whole), treeOf(t, brief)); diff != "" { // of a load balancer only the owner names the service
		t.Errorf("-whole +brief:\n%s", diff)
	}
	name, other := pod.Namespace+"/"+pod.Name, d.Pod(2, 0).Namespace+"/"+d.Pod(2, 0).Name
	tests := []struct {
		from, to  string
		balancers bool
	}{
		{name, other, false},
		{"pod:" + name, "lsp:" + pod.Port, false},
		{name, service, true},
		{name, "svc:" + service, true},
		{name, d.VIP(0).String(), true},
		{name, "ip:192.0.2.1", true},
		{name, pod.Node, true}, // a node's address has node ports
		{name, twin.Namespace + "/" + twin.Name, true},
		{name, "nobody", true},
	}
	for _, test := range tests {
		g, err := topology.LoadBetween(t.Context(), c, test.from, test.to)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(g.LoadBalancers) > 0; got != test.balancers {
			t.Errorf("%s to %s: load balancers %v, want %v", test.from, test.to, got, test.balancers)
		}
		for what, diff := range map[string]string{
			"ports":    cmp.Diff(whole.Ports, g.Ports, cmpopts.IgnoreUnexported(topology.Port{})),
			"switches": cmp.Diff(whole.Switches, g.Switches, cmpopts.IgnoreUnexported(topology.Switch{})),
			"routers":  cmp.Diff(whole.Routers, g.Routers, cmpopts.IgnoreUnexported(topology.Router{})),
			"chassis":  cmp.Diff(whole.Chassis, g.Chassis, cmpopts.IgnoreUnexported(topology.Chassis{})),
			"NAT":      cmp.Diff(whole.NAT, g.NAT, cmpopts.IgnoreUnexported(topology.NAT{})),
		} {
			if diff != "" {
				t.Errorf("%s to %s: other %s (-Load +LoadBetween)\n%s", test.from, test.to, what, diff)
			}
		}
	}
}
