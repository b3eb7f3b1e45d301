package catalog

import (
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// RestoreBridgeIP gives a bridge its addresses and routes back.
var RestoreBridgeIP = &fixes.Repair{
	Name: "restore-bridge-ip",
	Doc: `Give a bridge its addresses and routes back

Where the bridge's uplink has them, as after a boot, all of it is moved: addresses
of both families with their flags, secondary ones, routes of all tables, rules that
name the uplink, static neighbours, settings. The bridge gets everything before the
uplink loses anything.

Where no link has them, they are taken from the host's network files, else from the
tunnel address of this chassis with the length and gateway that the Northbound or
another node knows. Nothing is guessed, and of two answers none is taken.

It changes the running system. What brings the fault back at the next boot is named.`,
	Params: []fixes.Param{{Name: "BRIDGE", Doc: "the bridge that lost its addresses"}},
	Class:  fixes.Ask,
	Risk:   fixes.High,
	Check:  "bridge-ip-lost-after-reboot",
	Plan:   planRestore,
}

func planRestore(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
	h, n, u, err := bridgeHere(d, a["BRIDGE"])
	if err != nil {
		return nil, err
	}
	if own := snapshot.Global(n, u.Bridge.Name); len(own) > 0 && !uplinkHolds(n, u) {
		return nil, fixes.Refuse("", "bridge %s has %s", u.Bridge.Name, own[0].Prefix)
	}
	if uplinkHolds(n, u) {
		if u.Port == nil {
			return nil, fixes.Refuse(fmt.Sprintf("ovnctl fix attach-uplink %s %s, which moves the addresses, too", u.Bridge.Name, u.Link()),
				"%s is not in bridge %s: without it the addresses would be cut off there", u.Link(), u.Bridge.Name)
		}
		return planMove(h, n, u)
	}
	all, err := lostAddresses(d, h, n, u)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, fixes.Refuse("ip addr add ADDRESS/LENGTH dev "+u.Bridge.Name,
			"nothing that can be read says which addresses %s had: no file of the host names one, nor does this chassis' tunnel address", u.Bridge.Name)
	}
	l := n.Link(u.Bridge.Name)
	var changes []fixes.LinkChange
	if !l.Up {
		up := true
		changes = append(changes, fixes.LinkChange{Up: &up, Link: l.Name, Index: l.Index})
	}
	more, warnings := giveBack(n, l, all)
	return &fixes.Plan{
		Title: "give bridge " + u.Bridge.Name + " its addresses and routes back",
		Host:  h.Name,
		Steps: []fixes.Step{fixes.Network{
			Changes: append(changes, more...), What: fmt.Sprintf("give %s %s", u.Bridge.Name, namesOf(all)),
		}},
		Touches:  "all traffic of this host through " + u.Bridge.Name,
		Warnings: append(warnings, atBoot(h, u.Link(), u.Bridge.Name)...),
		Cuts:     true,
	}, nil
}

func namesOf(all []lost) string {
	var names []string
	for _, l := range all {
		names = append(names, l.prefix.String())
	}
	return strings.Join(names, ", ")
}
