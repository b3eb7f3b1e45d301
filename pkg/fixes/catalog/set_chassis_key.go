package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// SetChassisKey gives a node a setting that it needs to be a chassis.
var SetChassisKey = &fixes.Repair{
	Name: "set-chassis-key",
	Doc: `Give a node a setting that it needs to be a chassis

Sets system-id, ovn-remote, ovn-encap-type or ovn-encap-ip in Open_vSwitch.external_ids.
Without VALUE it takes the one that there is evidence for: the file system-id.conf,
the node's old rows in the Southbound, the settings of other nodes, the routes to
them. It refuses if there is none or if they differ, and for an encap address that
no link of the node has.`,
	Params: []fixes.Param{
		{Name: "KEY", Doc: "system-id, ovn-remote, ovn-encap-type or ovn-encap-ip"},
		{Name: "VALUE", Doc: "its value", Optional: true},
	},
	Local: true,
	Class: fixes.Ask,
	Risk:  fixes.Medium,
	Check: "missing-external-ids",
	Plan:  onSwitch(planChassisKey),
}

func planChassisKey(h *snapshot.Host, sw *snapshot.Switch, a fixes.Args) (*fixes.Plan, error) {
	key, value := a["KEY"], a["VALUE"]
	if !slices.Contains(facts.ChassisKeys, key) {
		return nil, fmt.Errorf("no key %q; there are %s", key, strings.Join(facts.ChassisKeys, ", "))
	}
	if _, err := rootRow(h, sw); err != nil {
		return nil, err
	}
	name, source, err := h.ChassisName()
	if err != nil {
		return nil, err
	}
	if old, from := sw.Setting(key, name); old != "" {
		return nil, fixes.Refuse("", "%s is set on %s: external_ids:%s=%s", key, h.Name, from, old)
	}
	if key == "system-id" && name != "" {
		return nil, fixes.Refuse("", "%s has its system-id from %s", h.Name, source)
	}
	if value == "" {
		instead := fmt.Sprintf("ovnctl fix set-chassis-key %s VALUE", key)
		switch proposed := facts.ProposeChassisKey(h.Deployment(), h, key); len(proposed) {
		case 0:
			return nil, fixes.Refuse(instead, "nothing shows what %s of %s should be", key, h.Name)
		case 1:
			value = proposed[0].Value
		default:
			return nil, fixes.Refuse(instead, "%s of %s could have more than one value: %s", key, h.Name, listProposals(proposed))
		}
	}
	if err := checkSetting(h, key, value); err != nil {
		return nil, err
	}
	return setPlan(h, idSet(sw, key, value, fmt.Sprintf("set %s of %s to %s", key, h.Name, value)), "the tunnels and ports of "+h.Name+", which becomes a chassis"), nil
}
