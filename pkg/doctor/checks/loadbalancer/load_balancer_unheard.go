package loadbalancer

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/trace"
)

var LoadBalancerUnheard = &doctor.Check{
	Name:     "load-balancer-unheard",
	Category: "lb",
	Doc: `Nothing listens on any backend of a load balancer

All backends of a virtual IP are in pods that can be looked into, and in none of them a socket listens
on the backend's port: connections are reset.`,
	Causes: []string{"pod-address-mismatch", "pod-network-broken", "lb-on-wrong-switch", "lb-health-check-dead"},
	Settle: true, // a container starts
	Ground: true,
	Run: func(p *doctor.Pass) {
		nodes := facts.Switching(p.Deployment)
		if len(nodes) == 0 { // before the topology is read for it
			p.Skip(noneToRead)
			return
		}
		ground, ok := doctor.Need(p, doctor.NorthboundObject, func() (*trace.Ground, error) { return doctor.GroundOf(p.Deployment) })
		if !ok {
			return
		}
		few := &fewPods{Pass: p, of: map[string]int{}}
		ground.ReadPods(few.read)
		found, err := ground.Unheard(p.Context(), nodes)
		if err != nil {
			p.Unknown(doctor.NorthboundObject, err)
			return
		}
		for _, u := range found {
			unheard(p, u)
		}
		switch {
		case few.count > 0 && few.unread != nil:
			p.Unknown(doctor.NorthboundObject, fmt.Errorf("%d of %d pods behind load balancers could not be looked into: %w", few.failed, few.failed+few.count, few.unread))
		case few.count == 0 && few.unread != nil:
			p.Skip("no pod behind a load balancer can be looked into: " + few.unread.Error())
		case few.count == 0:
			p.Skip(noneToRead)
		}
	},
}

const noneToRead = "no load balancer for TCP has backends in the pods of nodes that can be read"

// farPods is how many pods of a remote node are read: each takes round trips.
const farPods = 40

var errEnough = errors.New("enough pods of this node were read")

// fewPods reads pods as the other checks do, and of remote nodes only some.
type fewPods struct {
	*doctor.Pass
	of            map[string]int // by node
	count, failed int
	unread        error // why one could not be read
}

func (f *fewPods) read(n *cluster.Node, link string) (*node.PodNet, error) {
	h, err := f.Host(n.Name), errEnough
	var pod *node.PodNet
	if f.of[n.Name]++; h != nil && (h.Local || f.of[n.Name] <= farPods) {
		pod, err = h.Pod(link)
	}
	if err != nil {
		f.failed++
		f.unread = err
		return nil, err
	}
	f.count++
	return pod, nil
}

func unheard(p *doctor.Pass, u trace.Unheard) {
	vip := net.JoinHostPort(u.VIP.Address, strconv.Itoa(u.VIP.Port))
	name := cmp.Or(u.LoadBalancer.Name, u.LoadBalancer.UUID)
	f := doctor.Finding{
		Result: doctor.Warning,
		Object: doctor.Object{Kind: "virtual IP", Name: vip + " of load balancer " + name},
		Title:  fmt.Sprintf("nothing listens on any of the %d backends of %s", len(u.Ports), vip),
		Evidence: []doctor.Evidence{
			doctor.NB("Load_Balancer", name).Says(vip + "=" + strings.Join(u.VIP.Backends, ",")),
			doctor.Command("ss -ltn").InPod().Says("no socket on the port, in " + doctor.AtMost(u.Ports, 3)),
		},
		Cause:  "the port in the service is not the one that the program listens on, or the program does not run",
		Effect: "connections to " + vip + " are reset",
		Next:   "compare the targetPort of the service with what ss -ltn shows in the pod",
	}
	if u.LoadBalancer.Service != "" {
		f.Next = "compare the targetPort of service " + u.LoadBalancer.Service + " with what ss -ltn shows in the pod"
	}
	seen := map[string]bool{}
	for i, port := range u.Ports {
		f.Concern(doctor.PortObject(port))
		if !seen[u.Nodes[i]] {
			f.Concern(doctor.NodeObject(u.Nodes[i]))
		}
		seen[u.Nodes[i]] = true
	}
	p.Report(f)
}
