package trace

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// pod reads the network namespace behind a link, once. It is nil if that is unreachable: the workload is then assumed
// to be as OVN knows it.
func (v *nodeView) pod(ctx context.Context, link string) *node.PodNet {
	if pod, ok := v.pods[link]; ok {
		return pod
	}
	pod, err := v.Host.Pod(ctx, link)
	if err != nil || pod != nil && pod.Network == nil {
		pod = nil
	}
	// Interface numbers alone may match another container's namespace on the same host: the MAC address tells whether
	// it is this pod's.
	if port := v.ports[link]; pod != nil && port != nil && len(port.MACs) > 0 && !slices.Contains(port.MACs, pod.Link.MAC) {
		pod = nil
	}
	if v.pods == nil {
		v.pods = map[string]*node.PodNet{}
	}
	v.pods[link] = pod
	return pod
}

// inWorkload returns the verdict for a packet that cannot leave or enter the workload behind a link.
func (v *nodeView) inWorkload(link string, o journey.Outcome, c journey.Cause) *journey.Verdict {
	c.Place, c.Workload = journey.InWorkload, workloadOf(v.ports[link])
	return &journey.Verdict{Outcome: o, Node: v.Name, Because: c}
}

// workloadOf returns what is attached to a port.
func workloadOf(p *topology.Port) journey.Workload {
	switch {
	case p == nil:
		return journey.Other
	case p.Pod != "":
		return journey.Pod
	case p.Device != "":
		return journey.VM
	}
	return journey.Other
}

// sends checks whether the pod behind a link would send a packet at all. It is nil if it would.
func (v *nodeView) sends(ctx context.Context, link string, src, dst netip.Addr) *journey.Verdict {
	if verdict := v.takes(ctx, link, src); verdict != nil {
		return verdict
	}
	pod := v.pod(ctx, link)
	if pod == nil {
		return nil
	}
	route, err := pod.Route(ctx, node.RouteQuery{Dst: dst, Src: src})
	switch {
	case err != nil || route.Type == "local":
		return nil
	case route.Type == "none":
		return v.inWorkload(link, journey.Dropped, journey.Cause{Kind: journey.NoRoute, Address: dst})
	case route.Type != "unicast":
		return v.inWorkload(link, journey.Dropped, journey.Cause{Kind: journey.RouteRefuses, Address: dst, Detail: route.Type})
	case route.Dev != pod.Link.Name:
		return v.inWorkload(link, journey.Unknown, journey.Cause{Kind: journey.OtherInterface, Address: dst, Detail: route.Dev, Link: pod.Link.Name})
	}
	return nil
}

// takes checks whether the pod behind a link has an address. It is nil if it has.
func (v *nodeView) takes(ctx context.Context, link string, a netip.Addr) *journey.Verdict {
	pod := v.pod(ctx, link)
	if pod == nil {
		return nil
	}
	if !pod.Link.Up {
		return v.inWorkload(link, journey.Dropped, journey.Cause{Kind: journey.LinkDown, Link: pod.Link.Name})
	}
	if slices.ContainsFunc(pod.Network.Addresses, func(x node.Address) bool { return x.Prefix.Addr() == a }) {
		return nil
	}
	var has []string
	for _, x := range pod.Network.Addresses {
		if x.Link == pod.Link.Name && x.Scope == "global" && x.Prefix.Addr().Is4() == a.Is4() {
			has = append(has, x.Prefix.Addr().String())
		}
	}
	return v.inWorkload(link, journey.Dropped, journey.Cause{Kind: journey.AddressMissing, Address: a, Detail: strings.Join(has, ", ")})
}
