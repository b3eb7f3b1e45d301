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
	"github.com/ovnctl/ovnctl/pkg/topology"
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
	Run: func(p *doctor.Pass) {
		g, ok := doctor.Need(p, doctor.NorthboundObject, func() (*topology.Graph, error) { return facts.GraphOf(p.Deployment) })
		if !ok {
			return
		}
		ground := trace.NewGround(p.Cluster(), g)
		ground.ReadPods(readFew(p))
		found, err := ground.Unheard(p.Context(), facts.Switching(p.Deployment))
		if err != nil {
			p.Unknown(doctor.NorthboundObject, err)
		}
		for _, u := range found {
			unheard(p, u)
		}
	},
}

// farPods is how many pods of a remote node are read: each takes round trips.
const farPods = 40

var errEnough = errors.New("enough pods of this node were read")

// readFew reads pods as the other checks do, and of remote nodes only some.
func readFew(p *doctor.Pass) func(*cluster.Node, string) (*node.PodNet, error) {
	read := map[string]int{}
	return func(n *cluster.Node, link string) (*node.PodNet, error) {
		h := p.Host(n.Name)
		if read[n.Name]++; h == nil || !h.Local && read[n.Name] > farPods {
			return nil, errEnough
		}
		return h.Pod(link)
	}
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
