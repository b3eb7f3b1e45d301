package catalog

import (
	"fmt"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// SetBridgeUp sets a bridge's link up and restores what was lost with it.
var SetBridgeUp = &fixes.Repair{
	Name: "set-bridge-up",
	Doc: `Set a bridge's link up and restore its routes

When a link is set down the kernel drops its routes and its IPv6 addresses. Those of
the host's network files are restored, and the gateway that the Northbound or another
node knows. Nothing is guessed: the plan names what no source knows. An uplink that is
down is set up, too.`,
	Params: []fixes.Param{{Name: "BRIDGE", Doc: "the bridge that is down"}},
	Local:  true,
	Class:  fixes.Ask,
	Risk:   fixes.High,
	Check:  "bridge-link-down",
	Plan: onUplink(func(h *snapshot.Host, n *node.Network, u facts.Uplink, _ fixes.Args) (*fixes.Plan, error) {
		l := n.Link(u.Bridge.Name)
		if l.Up {
			return nil, fixes.Refuse("", "the link of bridge %s is up", l.Name)
		}
		all, err := lostAddresses(h, n, u)
		if err != nil {
			return nil, err
		}
		files, err := fromFiles(h, u)
		if err != nil {
			return nil, err
		}
		for _, own := range facts.Global(n, l.Name) {
			x := lost{prefix: own.Prefix}
			if i := slices.IndexFunc(files, func(f lost) bool { return f.prefix == own.Prefix }); i >= 0 {
				x = files[i]
			}
			if len(x.gateways) == 0 {
				x.gateways, x.sources = gatewaysOf(h, u, own.Prefix)
			}
			if len(x.gateways) > 1 {
				x.gateways = nil // this repair does not choose; the plan says so
			}
			all = append(all, x)
		}
		more, warnings := giveBack(n, l, all)
		return &fixes.Plan{
			Title: "set bridge " + l.Name + " up",
			Host:  h.Name,
			Steps: []fixes.Step{fixes.Network{
				Changes: append(setUp(n, u), more...),
				What:    fmt.Sprintf("set %s up, with its routes", l.Name),
			}},
			Touches:  "all traffic of this host through " + l.Name,
			Warnings: warnings,
			Cuts:     true,
		}, nil
	}),
}
