package catalog

import (
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// SetHostname gives a chassis the hostname under which the cluster knows its node.
var SetHostname = &fixes.Repair{
	Name: "set-chassis-hostname",
	Doc: `Give this chassis the hostname under which the cluster knows the node

Sets Open_vSwitch.external_ids:hostname, which ovn-controller writes to
Chassis.hostname.`,
	Params: []fixes.Param{{Name: "NAME", Doc: "the node's name in the cluster"}},
	Local:  true,
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "hostname-mismatch",
	Plan: onSwitch(func(h *snapshot.Host, sw *snapshot.Switch, a fixes.Args) (*fixes.Plan, error) {
		name := a["NAME"]
		if name == "" || strings.ContainsAny(name, " \t\n,/") {
			return nil, fmt.Errorf("%q is not a hostname", name)
		}
		if _, err := rootRow(h, sw); err != nil {
			return nil, err
		}
		if sw.ID("hostname") == name {
			return nil, fixes.Refuse("", "external_ids:hostname of %s is already %s", h.Name, name)
		}
		if south, err := h.Southbound(); err == nil {
			me, _, _ := h.ChassisName()
			for _, c := range south.Chassis {
				if c.Hostname == name && c.Name != me {
					return nil, fixes.Refuse("ovnctl doctor --only duplicate-chassis-stale", "chassis %s has the hostname %s", c.Name, name)
				}
			}
		}
		return setPlan(h, idSet(sw, "hostname", name, fmt.Sprintf("set the hostname of chassis %s to %s", h.Name, name)),
			"the gateways and ports that name chassis "+name, "it lasts: ovs-ctl record-hostname-if-not-set keeps it at boot"), nil
	}),
}
