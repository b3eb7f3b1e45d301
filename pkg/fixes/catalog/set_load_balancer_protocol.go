package catalog

import (
	"fmt"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
)

// SetLoadBalancerProtocol sets the protocol of a load balancer.
var SetLoadBalancerProtocol = &fixes.Repair{
	Name: "set-load-balancer-protocol",
	Doc: `Set the protocol of a load balancer

Sets Load_Balancer.protocol where there is none, or another than the name of the load balancer
has: without one OVN takes the ports for TCP.`,
	Params: []fixes.Param{
		{Name: "LOAD-BALANCER", Doc: "its name or UUID"},
		{Name: "PROTOCOL", Doc: "tcp, udp or sctp"},
	},
	Class: fixes.Ask,
	Risk:  fixes.Medium,
	Check: "lb-on-wrong-switch",
	Plan: loadBalancers.on("LOAD-BALANCER", func(f found[nb.LoadBalancer], a fixes.Args) (*fixes.Plan, error) {
		protocol := a["PROTOCOL"]
		if !slices.Contains([]string{"tcp", "udp", "sctp"}, protocol) {
			return nil, fmt.Errorf("protocol %q: not one of tcp, udp, sctp", protocol)
		}
		if f.row.Protocol.Get() == protocol {
			return nil, fixes.Refuse("", "the protocol of load balancer %s is %s", f.row.Name, protocol)
		}
		if len(f.row.Protocol) > 0 && facts.NamedProtocol(f.row) != protocol {
			return nil, fixes.Refuse("", "the protocol of load balancer %s is %s: its owner set it", f.row.Name, f.row.Protocol.Get())
		}
		return setLoadBalancer(f, "protocol", []string{protocol}, protocol, "connections to its virtual IPs"), nil
	}),
}
