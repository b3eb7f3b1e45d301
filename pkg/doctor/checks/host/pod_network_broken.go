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
	Causes: []string{"vswitchd-not-running", "pod-veth-vanished", "port-no-such-device", "pod-address-mismatch", "duplicate-iface-id-local", "port-flapping-two-chassis", "integration-bridge-empty"},
	Settle: true,
	Ground: true,
	Host: func(p *doctor.Pass, h *snapshot.Host) {
		looked, ok := doctor.Need(p, doctor.NodeObject(h.Name), func() (podsLooked, error) { return lookAtPods(h) })
		if !ok {
			return
		}
		for i := range looked.lost {
			podBroken(p, h, &looked.lost[i])
		}
		if looked.left > 0 {
			p.Unknown(doctor.NodeObject(h.Name), fmt.Errorf("%d pods of %s were not looked at: run ovnctl doctor on %s", looked.left, h.Name, h.Name))
		}
		if looked.read > 0 || looked.unread != nil {
			p.Applies(looked.read > 0, fmt.Sprintf("no pod's own network can be read: %v", looked.unread))
		}
	},
}

// Pods are read one by one: on another host each takes round trips.
const (
	podsHere = 400
	podsFar  = 40
)

// podsLooked is what was seen of a host's workloads.
type podsLooked struct {
	lost   []trace.Loss
	read   int   // whose own network was read
	left   int   // that were not looked at, as there are too many
	unread error // why the network of one could not be read
}

// lookAtPods looks at the workloads of a host.
func lookAtPods(h *snapshot.Host) (podsLooked, error) {
	return snapshot.Derive(h, "pods", func() (looked podsLooked, err error) {
		d, n := h.Deployment(), facts.SwitchingOn(h)
		if n == nil {
			return looked, nil
		}
		ground, err := doctor.GroundOf(d)
		if err != nil {
			return looked, err
		}
		most := podsFar
		if h.Local {
			most = podsHere
		}
		ground.ReadPods(func(_ *cluster.Node, link string) (*node.PodNet, error) {
			pod, err := h.Pod(link)
			if err != nil {
				looked.unread = err
			} else {
				looked.read++
			}
			return pod, err
		})
		looked.lost, looked.left, err = ground.Workloads(d.Context(), n, most)
		if d.Context().Err() == nil {
			err = nil // what cannot be read is reported by other checks
		}
		return looked, err
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
	case journey.MirrorOutput:
		f.Concern(doctor.LinkObject(h, c.Link))
		source = doctor.OVS("Mirror", c.Detail).On(h.Name)
		f.Cause = "the mirror was added, or its output chosen, by hand or by a tool"
		f.Next = "on " + h.Name + ": " + fixes.Command("ovs-vsctl clear mirror %s output_port", c.Detail) + ", or choose a port that carries nothing else"
	case journey.LinkDown:
		f.Concern(doctor.LinkObject(h, c.Link))
		source = doctor.Link(c.Link).On(h.Name)
		f.Cause = "it was set down on the host"
		f.Fix = catalog.SetPortUp.With(c.Link)
	case journey.WrongNeighbour:
		source = doctor.Neighbours("eth0").InPod()
		f.Effect = "packets from the pod to " + c.Address.String() + ", or beyond it, are lost"
		f.Next = "in the pod: " + fixes.Command("ip neighbour del %s dev eth0", c.Address.String()) + ", or recreate the pod"
	case journey.NoARP:
		f.Effect = "the pod sends nothing over IPv4 to anybody"
		f.Next = "in the pod: " + fixes.Command("ip link set %s arp on", c.Link) + ", or recreate the pod"
	case journey.NotOnLink:
		f.Effect = "the pod does not reach pods of other switches, " + c.Address.String() + " among them"
		f.Next = "recreate the pod: its address has the length of another network"
	case journey.RouteRefuses:
		source = doctor.Routes().InPod()
		f.Effect = "the pod does not reach " + c.Address.String()
		f.Next = "in the pod: " + fixes.Command("ip route get %s", c.Address.String()) + "; remove the route that it shows"
	case journey.OtherSource:
		source = doctor.Routes().InPod()
		f.Effect = "what the pod's programs send is dropped, unless they bind to the port's address"
		f.Next = "in the pod: " + fixes.Command("ip route get %s", c.Address.String()) + "; remove the address " + c.Other.String() + ", or the source of the route"
	case journey.OtherSourceNAT:
		source = doctor.Command("nft list ruleset").InPod()
		f.Effect = "what the pod's programs send is dropped"
		f.Next = "in the pod: nft list ruleset; remove the rule"
	case journey.QueueDrops:
		source = doctor.Command(fixes.Command("tc -s qdisc show dev %s", c.Link)).InPod()
		where := "in the pod: "
		if c.Place == "" {
			f.Concern(doctor.LinkObject(h, c.Link))
			source = doctor.Command(fixes.Command("tc -s qdisc show dev %s", c.Link)).On(h.Name)
			f.Cause = "the queueing discipline was set by hand or by a tool"
			where = "on " + h.Name + ": "
		}
		f.Next = where + fixes.Command("tc qdisc del dev %s root", c.Link)
	case journey.NoChecksum:
		source = doctor.Command("ethtool -k " + c.Link).InPod()
		f.Cause = "whatever made the pod's link left checksum offload on, as for a switch in the kernel"
		f.Effect = "what the pod sends by TCP and UDP is lost, ping works"
		f.Next = "in the pod: " + fixes.Command("ethtool -K %s tx off", c.Link) + ", and have the CNI plugin do that for each pod"
	case journey.Filtered:
		source = doctor.Command("nft list ruleset").InPod()
		f.Effect = "the pod receives nothing, not even replies"
		f.Next = "in the pod: nft list ruleset; accept what belongs to known connections (ct state established,related accept)"
	}
	f.Show(source.Says(l.Words))
	p.Report(f)
}
