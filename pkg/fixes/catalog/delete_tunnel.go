package catalog

import (
	"slices"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// DeleteTunnel removes another manager's tunnel that conflicts with one of OVN's.
var DeleteTunnel = &fixes.Repair{
	Name: "delete-tunnel",
	Doc: `Remove a tunnel that conflicts with one of OVN's

Deletes a tunnel port that ovn-controller did not create and that asks for the same
tunnel as one of its own: Open vSwitch creates only one of the two.`,
	Params: []fixes.Param{
		{Name: "PORT", Doc: "the port"},
		{Name: "NODE", Doc: "the node, if it is not this one", Optional: true},
	},
	Local: true,
	Class: fixes.Ask,
	Risk:  fixes.Medium,
	Check: "tunnel-missing-to-chassis",
	Plan:  onTunnel(planDeleteTunnel),
}

func planDeleteTunnel(h *snapshot.Host, s *snapshot.Switch, p snapshot.BridgeInterface) (*fixes.Plan, error) {
	if facts.TunnelChassis(p) != "" {
		return nil, fixes.Refuse("", "port %s is ovn-controller's own tunnel: it would create it again", p.Port.Name)
	}
	all := s.BridgeInterfaces()
	i := slices.IndexFunc(all, func(o snapshot.BridgeInterface) bool { return facts.TunnelChassis(o) != "" && facts.SameTunnel(p, o) })
	if i < 0 {
		return nil, fixes.Refuse("", "port %s does not conflict with a tunnel of OVN's", p.Port.Name)
	}
	deletion, err := withoutPort(h, p)
	if err != nil {
		return nil, err
	}
	plan := &fixes.Plan{
		Title: "delete tunnel " + p.Port.Name, Host: h.Name,
		Touches:  "what another manager sends through " + p.Port.Name + "; OVN's tunnel to " + p.Options["remote_ip"] + " works again",
		Warnings: []string{"whatever created " + p.Port.Name + " (another network agent, a script) may create it again"},
		Steps: []fixes.Step{fixes.Rows{
			DB: "Open_vSwitch", What: "delete port " + p.Port.Name + " from bridge " + p.Bridge.Name, Changes: deletion,
			Classic: []string{fixes.Command("ovs-vsctl del-port %s %s", p.Bridge.Name, p.Port.Name)},
		}},
	}
	if ovn := all[i]; ovn.OFNumber() == 0 { // refused for this one
		plan.Steps = append(plan.Steps, tryAgain(ovn)...)
	}
	return plan, nil
}
