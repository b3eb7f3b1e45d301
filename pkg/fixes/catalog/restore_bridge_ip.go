package catalog

import (
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// RestoreBridgeIP gives a bridge its addresses and routes back.
var RestoreBridgeIP = &fixes.Repair{
	Name: "restore-bridge-ip",
	Doc: `Give a bridge its addresses and routes back

If the bridge's uplink has them, as after a boot, everything is moved: addresses of
both families with their flags, secondary ones, routes of all tables, rules that name
the uplink, static neighbours, settings. The bridge gets everything before the uplink
loses anything.

If no link has them, they come from the host's network files, or else from the tunnel
address of this chassis, with the prefix length and gateway that the Northbound or
another node knows. Nothing is guessed: if sources disagree, it refuses.

It changes the running system. The plan names what brings the fault back at the next boot.`,
	Params: []fixes.Param{{Name: "BRIDGE", Doc: "the bridge that lost its addresses"}},
	Class:  fixes.Ask,
	Risk:   fixes.High,
	Check:  "bridge-ip-lost-after-reboot",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		h, n, u, err := bridgeHere(d, a["BRIDGE"])
		if err != nil {
			return nil, err
		}
		bridge := u.Bridge.Name
		own := facts.Global(n, bridge)
		switch moves := uplinkHasAddresses(n, u); {
		case moves && u.Port == nil:
			return nil, fixes.Refuse(fmt.Sprintf("ovnctl fix attach-uplink %s %s, which also moves the addresses", bridge, u.Link()),
				"%s is not in bridge %s: without it the addresses would be cut off there", u.Link(), bridge)
		case moves:
			return planMove(h, n, u)
		case len(own) > 0:
			return nil, fixes.Refuse("", "bridge %s has %s", bridge, own[0].Prefix)
		}
		all, err := lostAddresses(d, h, n, u)
		if err != nil {
			return nil, err
		}
		if len(all) == 0 {
			return nil, fixes.Refuse("ip addr add ADDRESS/LENGTH dev "+bridge,
				"nothing shows which addresses %s had: neither a file of the host nor the tunnel address of this chassis", bridge)
		}
		l := n.Link(bridge)
		var changes []fixes.LinkChange
		if !l.Up {
			changes = append(changes, linkUp(l))
		}
		more, warnings := giveBack(n, l, all)
		addresses := strings.Join(namesOf(all, func(l lost) string { return l.prefix.String() }), ", ")
		return &fixes.Plan{
			Title:    "give bridge " + bridge + " its addresses and routes back",
			Host:     h.Name,
			Steps:    []fixes.Step{fixes.Network{Changes: append(changes, more...), What: fmt.Sprintf("give %s %s", bridge, addresses)}},
			Touches:  "all traffic of this host through " + bridge,
			Warnings: append(warnings, atBoot(h, u.Link(), bridge)...),
			Cuts:     true,
		}, nil
	},
}

// linkUp sets a link up.
func linkUp(l *node.Link) fixes.LinkChange {
	up := true
	return fixes.LinkChange{Up: &up, Link: l.Name, Index: l.Index}
}
