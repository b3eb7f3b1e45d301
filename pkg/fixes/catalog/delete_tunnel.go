package catalog

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// DeleteTunnel removes a tunnel of another manager that stands in the way of one of OVN's.
var DeleteTunnel = &fixes.Repair{
	Name: "delete-tunnel",
	Doc: `Remove a tunnel that is in the way of one of OVN's

Deletes a tunnel port that ovn-controller has not made and that asks for the same
tunnel as one that it has made: Open vSwitch makes only one of them.`,
	Params: []fixes.Param{
		{Name: "PORT", Doc: "the port"},
		{Name: "NODE", Doc: "the node, if it is not this one", Optional: true},
	},
	Class: fixes.Ask,
	Risk:  fixes.Medium,
	Check: "tunnel-missing-to-chassis",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		h, err := hostOf(d, a["NODE"])
		if err != nil {
			return nil, err
		}
		s, err := h.Switch()
		if err != nil {
			return nil, err
		}
		var names []string
		for _, p := range s.Plugs() {
			if !IsTunnel(p.Type) {
				continue
			}
			names = append(names, p.Port.Name)
			if p.Port.Name == a["PORT"] {
				return planDeleteTunnel(d, h, s, p)
			}
		}
		return nil, fmt.Errorf("no tunnel port %q; %s has %s", a["PORT"], h.Name, several(names))
	},
}

func planDeleteTunnel(d *snapshot.Deployment, h *snapshot.Host, s *snapshot.Switch, p snapshot.Plug) (*fixes.Plan, error) {
	if TunnelChassis(p) != "" {
		return nil, fixes.Refuse("", "port %s is ovn-controller's own tunnel: it would make it again", p.Port.Name)
	}
	var twin *snapshot.Plug
	for _, o := range s.Plugs() {
		if TunnelChassis(o) != "" && SameTunnel(p, o) {
			twin = &o
		}
	}
	if twin == nil {
		return nil, fixes.Refuse("", "port %s is no twin of a tunnel of OVN's", p.Port.Name)
	}
	db, err := h.OVSDB()
	if err != nil {
		return nil, err
	}
	gone, err := fixes.DeleteRows(d.Context(), db, "Port", p.Port.UUID, fixes.Ref{Table: "Bridge", UUID: p.Bridge.UUID, Column: "ports"})
	if err != nil {
		return nil, err
	}
	plan := &fixes.Plan{
		Title: "delete tunnel " + p.Port.Name, Host: h.Name,
		Touches:  "what another manager sends through " + p.Port.Name + "; OVN's tunnel to " + p.Options["remote_ip"] + " works again",
		Warnings: []string{"whoever made " + p.Port.Name + " (another network agent, a script) may make it again"},
		Steps: []fixes.Step{fixes.Rows{
			DB: "Open_vSwitch", What: "delete port " + p.Port.Name + " from bridge " + p.Bridge.Name, Changes: gone,
			Classic: []string{fixes.Command("ovs-vsctl del-port %s %s", p.Bridge.Name, p.Port.Name)},
		}},
	}
	if twin.OFNumber() == 0 {
		// Open vSwitch tried the twin while this one was still there, and tries again at the next change of any port.
		const key = "other_config:ovnctl-retry"
		step := func(what string, before, after any) fixes.Rows {
			return fixes.Rows{
				DB: "Open_vSwitch", What: what,
				Changes: []fixes.Change{{Table: "Port", UUID: twin.Port.UUID, Before: fixes.Row{key: before}, After: fixes.Row{key: after}}},
			}
		}
		plan.Steps = append(plan.Steps,
			step("have Open vSwitch try port "+twin.Port.Name+" again", nil, "true"),
			step("take the mark on port "+twin.Port.Name+" away", "true", nil))
	}
	return plan, nil
}
