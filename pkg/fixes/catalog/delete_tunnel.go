package catalog

import (
	"fmt"
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
	Plan: onHost(func(h *snapshot.Host, a fixes.Args) (*fixes.Plan, error) {
		s, err := h.Switch()
		if err != nil {
			return nil, err
		}
		var names []string
		for _, p := range s.BridgeInterfaces() {
			if !facts.IsTunnel(p.Type) {
				continue
			}
			names = append(names, p.Port.Name)
			if p.Port.Name == a["PORT"] {
				return planDeleteTunnel(h, s, p)
			}
		}
		return nil, fmt.Errorf("no tunnel port %q; %s has %s", a["PORT"], h.Name, several(names))
	}),
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
	if ovn := all[i]; ovn.OFNumber() == 0 {
		// Open vSwitch failed to add OVN's tunnel while this one existed, and retries when any port changes.
		retry := fixes.Set{
			DB: "Open_vSwitch", What: "make Open vSwitch try port " + ovn.Port.Name + " again",
			Row: ovn.Port, Columns: fixes.Row{"other_config:ovnctl-retry": "true"}, Classic: []string{},
		}
		plan.Steps = append(plan.Steps, retry.Step(), retry.Back("remove the mark from port "+ovn.Port.Name))
	}
	return plan, nil
}
