package catalog

import (
	"fmt"
	"strconv"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// MoveAddresses moves addresses and routes from an uplink to its bridge.
var MoveAddresses = &fixes.Repair{
	Name: "move-addresses",
	Doc: `Move addresses and routes from an uplink to its bridge

A link that is a port of a bridge hands everything that it receives to the bridge: the
host receives on the bridge, not on the link. Everything that the link has is moved, as
by restore-bridge-ip.`,
	Params: []fixes.Param{{Name: "BRIDGE", Doc: "the bridge that the link is a port of"}},
	Class:  fixes.Ask,
	Risk:   fixes.High,
	Check:  "ip-on-enslaved-nic",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		h, n, u, err := bridgeHere(d, a["BRIDGE"])
		if err != nil {
			return nil, err
		}
		switch {
		case u.Port == nil:
			return nil, fixes.Refuse("", "bridge %s has no uplink", u.Bridge.Name)
		case !uplinkHasAddresses(n, u):
			return nil, fixes.Refuse("", "the uplink of bridge %s has no address", u.Bridge.Name)
		}
		return planMove(h, n, u)
	},
}

// planMove moves everything that a bridge's uplink has to the bridge.
func planMove(h *snapshot.Host, n *node.Network, u facts.Uplink) (*fixes.Plan, error) {
	steps, warnings, err := moveSteps(h, n, u)
	if err != nil {
		return nil, err
	}
	return &fixes.Plan{
		Title:    fmt.Sprintf("move addresses and routes from %s to bridge %s", u.Link(), u.Bridge.Name),
		Host:     h.Name,
		Steps:    steps,
		Touches:  "all traffic of this host through " + u.Link(),
		Warnings: append(warnings, atBoot(h, u.Link(), u.Bridge.Name)...),
		Cuts:     true,
	}, nil
}

func moveSteps(h *snapshot.Host, n *node.Network, u facts.Uplink) ([]fixes.Step, []string, error) {
	from, err := link(n, u.Link())
	if err != nil {
		return nil, nil, err
	}
	to, err := link(n, u.Bridge.Name)
	if err != nil {
		return nil, nil, err
	}
	if err := checkFree(h, from, u.Bridge.Name); err != nil {
		return nil, nil, err
	}
	m := &move{n: n, from: from, to: to}
	if err := m.plan(); err != nil {
		return nil, nil, err
	}
	var steps []fixes.Step
	if from.MAC != "" && to.MAC != from.MAC && u.Bridge.OtherConfig["hwaddr"] == "" {
		// Neighbours and DHCP servers know the host by it. One that somebody set stays.
		steps = append(steps, fixes.Set{
			DB: "Open_vSwitch", What: fmt.Sprintf("give bridge %s the MAC address of %s", to.Name, from.Name),
			Row: u.Bridge, Columns: fixes.Row{"other_config:hwaddr": from.MAC},
			Classic: []string{fixes.Command("ovs-vsctl set Bridge %s other_config:hwaddr=%s", to.Name, strconv.Quote(from.MAC))},
		}.Step())
	}
	steps = append(steps, fixes.Network{Changes: m.changes, What: fmt.Sprintf("move addresses and routes from %s to %s", from.Name, to.Name)})
	return steps, m.warnings, nil
}
