package catalog

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
)

// SetHairpinAddress sets the source address of connections that a load balancer sends back to the backend that opened them.
var SetHairpinAddress = &fixes.Repair{
	Name: "set-hairpin-address",
	Doc: `Set the source address of a backend's connections to itself

Sets Load_Balancer.options:hairpin_snat_ip where there is none. A backend that calls its own service gets the
packet back from this address, which the cluster's network policies allow.`,
	Params: []fixes.Param{
		{Name: "LOAD-BALANCER", Doc: "its name or UUID"},
		{Name: "ADDRESSES", Doc: "an address, or one of each family with a space between them"},
	},
	Class: fixes.Ask,
	Risk:  fixes.Medium,
	Check: "lb-on-wrong-switch",
	Plan: loadBalancers.on("LOAD-BALANCER", func(f found[nb.LoadBalancer], a fixes.Args) (*fixes.Plan, error) {
		addresses := a["ADDRESSES"]
		for word := range strings.FieldsSeq(addresses) {
			if _, err := netip.ParseAddr(word); err != nil {
				return nil, fmt.Errorf("%q is not an address", word)
			}
		}
		if f.row.Options["hairpin_snat_ip"] == addresses {
			return nil, fixes.Refuse("", "hairpin_snat_ip of load balancer %s is %q", f.row.Name, addresses)
		}
		if has := f.row.Options["hairpin_snat_ip"]; has != "" {
			return nil, fixes.Refuse("", "hairpin_snat_ip of load balancer %s is %q: its owner set it", f.row.Name, has)
		}
		if owner := decode.CMSOf(f.row.ExternalIDs); owner == decode.Neutron || owner == decode.KubeOVN {
			return nil, fixes.Refuse("", "load balancer %s is of %s, which sets none: a backend gets its own packets from the virtual IP", f.row.Name, owner)
		}
		return setLoadBalancer(f, "options:hairpin_snat_ip", addresses, strconv.Quote(addresses), "connections of its backends to themselves"), nil
	}),
}
