package catalog

import (
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// RetryTunnel has Open vSwitch make a tunnel that it refused for one that is gone.
var RetryTunnel = &fixes.Repair{
	Name: "retry-tunnel",
	Doc: `Have Open vSwitch make a tunnel that it gave up

Sets a mark on the port of the tunnel and removes it: ovs-vswitchd tries its failed ports
again whenever its configuration changes. It refuses tunnels that work, and those that
failed for another reason than a tunnel that has been deleted since.`,
	Params: []fixes.Param{{Name: "PORT", Doc: "the port of the tunnel"}},
	Local:  true,
	Class:  fixes.Auto,
	Risk:   fixes.Low,
	Check:  "tunnel-missing-to-chassis",
	OneWay: tunnelStays,
	Plan: onTunnel(func(h *snapshot.Host, s *snapshot.Switch, t snapshot.BridgeInterface) (*fixes.Plan, error) {
		switch {
		case t.OFNumber() > 0:
			return nil, fixes.Refuse("", "Open vSwitch has made tunnel %s", t.Port.Name)
		case !facts.GivenUp(s, t):
			return nil, fixes.Refuse(fixes.Command("ovs-vsctl --columns=name,error,options list Interface %s", t.Name), "tunnel %s did not fail for a tunnel that is gone", t.Port.Name)
		default:
			return &fixes.Plan{
				Title: "make tunnel " + t.Port.Name + " again", Host: h.Name,
				NoUndo:  tunnelStays,
				Touches: "no traffic: there is none through " + t.Port.Name,
				Steps:   tryAgain(t),
			}, nil
		}
	}),
}

const tunnelStays = "nothing is left of the mark, and a tunnel that works is not taken away"

// tryAgain returns the steps that have Open vSwitch try a failed port again, as it does when the configuration changes.
func tryAgain(t snapshot.BridgeInterface) []fixes.Step {
	mark := fixes.Set{
		DB: "Open_vSwitch", What: "make Open vSwitch try port " + t.Port.Name + " again",
		Row: t.Port, Columns: fixes.Row{"other_config:ovnctl-retry": "true"}, Classic: []string{},
	}
	return []fixes.Step{mark.Step(), mark.Back("remove the mark from port " + t.Port.Name)}
}
