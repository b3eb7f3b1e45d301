package catalog

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// SetHairpinAddress sets from which address a load balancer sends a backend's own connections back to it.
var SetHairpinAddress = &fixes.Repair{
	Name: "set-hairpin-address",
	Doc: `Set the address from which a load balancer sends a backend its own connections

Sets Load_Balancer.options:hairpin_snat_ip. A backend that calls its own service gets the
packet back from this address; network policies of the cluster admit it.`,
	Params: []fixes.Param{
		{Name: "LOAD-BALANCER", Doc: "its name or UUID"},
		{Name: "ADDRESSES", Doc: "an address, or one of each family with a blank between"},
	},
	Class: fixes.Ask,
	Risk:  fixes.Medium,
	Check: "lb-on-wrong-switch",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		z, _, _, lb, err := findLoadBalancer(d, a["LOAD-BALANCER"])
		if err != nil {
			return nil, err
		}
		addresses := a["ADDRESSES"]
		for _, word := range strings.Fields(addresses) {
			if _, err := netip.ParseAddr(word); err != nil {
				return nil, fmt.Errorf("%q is no address", word)
			}
		}
		was, has := lb.Options["hairpin_snat_ip"]
		if was == addresses {
			return nil, fixes.Refuse("", "hairpin_snat_ip of load balancer %s is %q", lb.Name, addresses)
		}
		var before any
		if has {
			before = was
		}
		return setLoadBalancer(z, lb, "options:hairpin_snat_ip", before, addresses, strconv.Quote(addresses), "connections of its backends to themselves"), nil
	},
}
