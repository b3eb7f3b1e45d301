package trace

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/node"
)

// pod looks into the network namespace behind a link, once. It is nil where one cannot look: the pod is
// taken to be as OVN knows it then.
func (v *nodeView) pod(ctx context.Context, link string) *node.PodNet {
	if pod, ok := v.pods[link]; ok {
		return pod
	}
	pod, err := v.Host.Pod(ctx, link)
	if err != nil || pod != nil && pod.Network == nil {
		pod = nil
	}
	// Interface numbers alone may fit the namespace of another host on the same machine: the MAC address
	// tells whether it is this pod's.
	if macs := v.macs[link]; pod != nil && len(macs) > 0 && !slices.Contains(macs, pod.Link.MAC) {
		pod = nil
	}
	if v.pods == nil {
		v.pods = map[string]*node.PodNet{}
	}
	v.pods[link] = pod
	return pod
}

// inPod is a verdict about a packet that does not get out of a pod, or into it.
func (v *nodeView) inPod(o journey.Outcome, format string, args ...any) *journey.Verdict {
	return &journey.Verdict{Outcome: o, Node: v.Name, Stage: "pod", Cause: fmt.Sprintf(format, args...)}
}

// sends asks the pod behind a link whether it would send a packet at all. It is nil if it would.
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
		return v.inPod(journey.Dropped, "the pod has no route to %s", dst)
	case route.Type != "unicast":
		return v.inPod(journey.Dropped, "the pod's own route to %s is %q", dst, route.Type)
	case route.Dev != pod.Link.Name:
		return v.inPod(journey.Unknown, "the pod sends packets to %s by its interface %s, not by %s", dst, route.Dev, pod.Link.Name)
	}
	return nil
}

// takes asks the pod behind a link whether it has an address. It is nil if it has.
func (v *nodeView) takes(ctx context.Context, link string, a netip.Addr) *journey.Verdict {
	pod := v.pod(ctx, link)
	if pod == nil {
		return nil
	}
	if !pod.Link.Up {
		return v.inPod(journey.Dropped, "the pod's interface %s is down", pod.Link.Name)
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
	if len(has) == 0 {
		return v.inPod(journey.Dropped, "the pod does not have the address %s that OVN has for it", a)
	}
	return v.inPod(journey.Dropped, "the pod does not have the address %s that OVN has for it, but %s", a, strings.Join(has, ", "))
}
