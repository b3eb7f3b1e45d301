package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// DropVXLAN makes a node use Geneve instead of VXLAN.
var DropVXLAN = &fixes.Repair{
	Name: "drop-vxlan",
	Doc: `Make a node use Geneve tunnels only

Replaces vxlan in external_ids:ovn-encap-type by geneve. One node that offers VXLAN
limits the number of networks of the whole deployment. It refuses if another chassis
would become unreachable.`,
	Params: []fixes.Param{{Name: "NODE", Doc: "the node, if it is not this one", Optional: true}},
	Local:  true,
	Class:  fixes.Ask,
	Risk:   fixes.High,
	Check:  "vxlan-encap-limits",
	Plan: onHost(func(h *snapshot.Host, a fixes.Args) (*fixes.Plan, error) {
		s, err := h.Switch()
		if err != nil {
			return nil, err
		}
		name, _, err := h.ChassisName()
		if err != nil {
			return nil, err
		}
		south, err := h.Southbound()
		if err != nil {
			return nil, err
		}
		for _, c := range facts.EncapsulationsOf(south).OnlyVXLAN {
			if c.Name != name {
				return nil, onlyVXLAN(c)
			}
		}
		is, key := s.Setting("ovn-encap-type", name)
		types := strings.Split(is, ",")
		if !slices.Contains(types, "vxlan") {
			return nil, fixes.Refuse("", "%s is %q on %s", key, is, h.Name)
		}
		types = slices.DeleteFunc(types, func(t string) bool { return strings.TrimSpace(t) == "vxlan" })
		if !slices.Contains(types, "geneve") {
			types = append(types, "geneve")
		}
		now := strings.Join(types, ",")
		return setPlan(h, idSet(s, key, now, fmt.Sprintf("set %s to %s", key, now)),
			"all traffic between "+h.Name+" and other nodes, for a second or two while its tunnels are created again",
			"whatever deploys the node (an operator, Ansible, Juju) may set it back"), nil
	}),
}

// onlyVXLAN refuses if a chassis would become unreachable.
func onlyVXLAN(c *sb.Chassis) error {
	return fixes.Refuse("give it Geneve first: on "+c.Hostname+": ovnctl fix drop-vxlan", "chassis %s has only VXLAN and would become unreachable", c.Hostname)
}
