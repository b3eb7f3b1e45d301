package host

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
	"github.com/ovnctl/ovnctl/pkg/trace"
)

var PodNetworkBroken = &doctor.Check{
	Name:     "pod-network-broken",
	Category: "node-os",
	Doc: `A pod cannot use its port

The port of a pod or VM in the integration bridge is down or passes nothing; or the pod's own network
contradicts its logical port: a permanent neighbour entry with a wrong MAC address, a mask that makes
neighbours of pods on other nodes, a route that refuses another pod, a packet filter that drops everything.`,
	Causes: []string{"vswitchd-not-running", "pod-veth-vanished", "port-no-such-device", "pod-address-mismatch", "duplicate-iface-id-local", "integration-bridge-empty"},
	Settle: true,
	Run: func(p *doctor.Pass) {
		for _, h := range p.Hosts {
			lost, ok := doctor.Need(p, doctor.NodeObject(h.Name), func() ([]trace.Loss, error) { return podLosses(h) })
			for i := range lost {
				if ok {
					podBroken(p, h, &lost[i])
				}
			}
		}
	},
}

// Pods are read one by one: on another host each takes round trips.
const (
	podsHere = 400
	podsFar  = 40
)

// podLosses looks at the workloads of a host.
func podLosses(h *snapshot.Host) ([]trace.Loss, error) {
	return snapshot.Derive(h, "pods", func() ([]trace.Loss, error) {
		d, n := h.Deployment(), facts.SwitchingOn(h)
		if n == nil {
			return nil, nil
		}
		g, err := facts.GraphOf(d)
		if err != nil {
			return nil, err
		}
		most := podsFar
		if h.Local {
			most = podsHere
		}
		ground := trace.NewGround(d.Cluster(), g)
		ground.ReadPods(func(_ *cluster.Node, link string) (*node.PodNet, error) { return h.Pod(link) })
		lost, err := ground.Workloads(d.Context(), n, most)
		if d.Context().Err() == nil {
			err = nil // what cannot be read is reported by other checks
		}
		return lost, err
	})
}

func podBroken(p *doctor.Pass, h *snapshot.Host, l *trace.Loss) {
	c := l.Because
	f := doctor.Finding{
		Object: doctor.PortObject(l.Port),
		Reason: string(c.Kind),
		Also:   []doctor.Object{doctor.NodeObject(h.Name)},
		Title:  fmt.Sprintf("port %s on %s: %s", l.Port, h.Name, l.Words),
		Effect: "packets from and to the pod are lost",
	}
	if c.Place == journey.InWorkload {
		f.Cause = "it was changed in the pod: by a container with the capability NET_ADMIN, or by hand"
	}
	source := doctor.Links().InPod()
	switch c.Kind {
	case journey.PortBlocked:
		f.Concern(doctor.LinkObject(h, c.Link))
		source = doctor.Command(fixes.Command("ovs-ofctl show %s", c.Bridge)).On(h.Name)
		f.Cause = "it was set with ovs-ofctl mod-port, and stays so until ovs-vswitchd starts again"
		f.Next = "on " + h.Name + ": " + fixes.Command("ovs-ofctl mod-port %s %s %s", c.Bridge, c.Link, map[string]string{"NO_RECV": "receive", "NO_FWD": "forward"}[c.Detail])
	case journey.LinkDown:
		f.Concern(doctor.LinkObject(h, c.Link))
		source = doctor.Link(c.Link).On(h.Name)
		f.Cause = "it was set down on the host"
		f.Fix = catalog.SetPortUp.With(c.Link)
	case journey.WrongNeighbour:
		source = doctor.Neighbours("eth0").InPod()
		f.Effect = "packets from the pod to " + c.Address.String() + ", or beyond it, are lost"
		f.Next = "in the pod: " + fixes.Command("ip neighbour del %s dev eth0", c.Address.String()) + ", or recreate the pod"
	case journey.NotOnLink:
		f.Effect = "the pod does not reach pods of other switches, " + c.Address.String() + " among them"
		f.Next = "recreate the pod: its address has the length of another network"
	case journey.RouteRefuses:
		source = doctor.Routes().InPod()
		f.Effect = "the pod does not reach " + c.Address.String()
		f.Next = "in the pod: " + fixes.Command("ip route get %s", c.Address.String()) + "; remove the route that it shows"
	case journey.Filtered:
		source = doctor.Command("nft list ruleset").InPod()
		f.Effect = "the pod receives nothing, not even replies"
		f.Next = "in the pod: nft list ruleset; accept what belongs to known connections (ct state established,related accept)"
	}
	f.Show(source.Says(l.Words))
	p.Report(f)
}
