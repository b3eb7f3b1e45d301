package catalog

import (
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// StandaloneBridge lets a bridge without flows and controller forward as a switch.
var StandaloneBridge = &fixes.Repair{
	Name: "standalone-bridge",
	Doc: `Let a bridge without flows and controller forward as a switch

Sets fail_mode of the bridge to standalone. ovs-vswitchd then deletes all flows of the
bridge, so it refuses for a bridge that has flows or a controller. It never touches the
integration bridge: changing its fail_mode would empty it for good.`,
	Params: []fixes.Param{{Name: "BRIDGE", Doc: "the bridge"}},
	Local:  true,
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "bridge-fail-mode-wrong",
	Plan: onBridge(func(h *snapshot.Host, sw *snapshot.Switch, b *vswitch.BridgeBrief, a fixes.Args) (*fixes.Plan, error) {
		chassis, _, err := h.ChassisName()
		if err != nil {
			return nil, err
		}
		switch {
		case b.Name == sw.IntegrationBridge(chassis), b.Name == "br-int", b.ExternalIDs["ovn-nb-cfg"] != "":
			return nil, fixes.Refuse("start ovn-controller, which sets it itself; if it runs and the bridge has no flows: ovnctl doctor --only integration-bridge-empty",
				"%s is the integration bridge: changing its fail_mode deletes all its flows for good", b.Name)
		case len(b.FailMode) == 0 || b.FailMode.Get() == "standalone":
			return nil, fixes.Refuse("", "bridge %s is already standalone", b.Name)
		case len(b.Controller) > 0:
			return nil, fixes.Refuse("see why it does not connect: ovs-vsctl list controller", "bridge %s has an OpenFlow controller, which programs it", b.Name)
		}
		flows, err := h.Flows(b.Name)
		if err != nil {
			return nil, err
		}
		if len(flows) > 0 {
			return nil, fixes.Refuse("", "bridge %s has %d flows, which a change of fail_mode would delete", b.Name, len(flows))
		}
		return setPlan(h, fixes.Set{
			DB: "Open_vSwitch", What: "let bridge " + b.Name + " forward as a switch", Row: b, Columns: fixes.Row{"fail_mode": []string{"standalone"}},
			Classic: []string{fixes.Command("ovs-vsctl set-fail-mode %s standalone", b.Name)},
		}, "all traffic through bridge "+b.Name+", which drops everything now",
			"it has no flows now; any that are added while this runs are deleted, and nothing restores them"), nil
	}),
}
