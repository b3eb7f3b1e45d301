package cause

import (
	"strings"

	"github.com/ovnctl/ovnctl/pkg/journey"
)

// Assumed returns what an assumption says, as it reads after "assuming:".
func Assumed(a journey.Assumption) string {
	nodes, objects := and(a.Nodes), and(a.Objects)
	switch a.Kind {
	case journey.PhysicalNetwork:
		return "the physical network between " + nodes
	case journey.OutsideNetwork:
		return "the network outside"
	case journey.NextHopAnswers:
		return objects + choose(len(a.Objects) == 1, " answers", " answer")
	case journey.NodesAsOVNSays:
		return "the flows of " + nodes
	case journey.HostNetworks:
		return "the host network of " + nodes
	case journey.Filters:
		return "the packet filter of " + and(append(append([]string{}, a.Nodes...), a.Objects...))
	case journey.Workloads:
		return "the inside of " + objects
	case journey.WithinRate:
		return "a rate within " + objects
	case journey.RoutingRules:
		return "the routing rules by protocol, port, mark or user of " + and(append(append([]string{}, a.Nodes...), a.Objects...))
	case journey.Encryption:
		return "the IPsec of " + and(append(append([]string{}, a.Nodes...), a.Objects...))
	case journey.Proxies:
		return "the proxy in " + objects
	case journey.TrafficControl:
		return "the traffic control of " + objects
	}
	return string(a.Kind)
}

// mostNamed is how many names a list shows.
const mostNamed = 4

// and lists names: "a, b and c".
func and(names []string) string {
	if len(names) > mostNamed {
		names = append(append([]string{}, names[:mostNamed-1]...), "others")
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
