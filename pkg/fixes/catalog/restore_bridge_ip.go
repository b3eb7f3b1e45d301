package catalog

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/node"
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

// bridgeHere finds a bridge of the local host that can carry addresses.
func bridgeHere(d *snapshot.Deployment, bridge string) (*snapshot.Host, *node.Network, snapshot.Uplink, error) {
	var none snapshot.Uplink
	h, err := localHost(d)
	if err != nil {
		return nil, nil, none, err
	}
	u, err := uplinkOf(h, bridge)
	if err != nil {
		return nil, nil, none, err
	}
	n, err := h.Network()
	if err != nil {
		return nil, nil, none, err
	}
	if n.Link(bridge) == nil {
		return nil, nil, none, fixes.Refuse("start ovs-vswitchd first: ovnctl doctor --only vswitchd-not-running",
			"the kernel has no link %s: ovs-vswitchd, which makes it, does not run or has not made it yet", bridge)
	}
	return h, n, u, nil
}

// uplinkHolds says whether a bridge's uplink has addresses of its own.
func uplinkHolds(n *node.Network, u snapshot.Uplink) bool {
	return u.Link() != "" && n.Link(u.Link()) != nil && len(snapshot.Global(n, u.Link())) > 0
}

// MoveAddresses moves what an uplink has to its bridge.
var MoveAddresses = &fixes.Repair{
	Name: "move-addresses",
	Doc: `Move addresses and routes from an uplink to its bridge

A link that is a port of a bridge hands all that it receives to the bridge: the
host hears on the bridge, not on the link. All that the link has is moved, as
restore-bridge-ip does it.`,
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
		case !uplinkHolds(n, u):
			return nil, fixes.Refuse("", "the uplink of bridge %s has no address", u.Bridge.Name)
		}
		return planMove(h, n, u)
	},
}

// planMove moves all that a bridge's uplink has to the bridge.
func planMove(h *snapshot.Host, n *node.Network, u snapshot.Uplink) (*fixes.Plan, error) {
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

func moveSteps(h *snapshot.Host, n *node.Network, u snapshot.Uplink) ([]fixes.Step, []string, error) {
	from, err := link(n, u.Link())
	if err != nil {
		return nil, nil, err
	}
	to, err := link(n, u.Bridge.Name)
	if err != nil {
		return nil, nil, err
	}
	if err := free(h, from, u.Bridge.Name); err != nil {
		return nil, nil, err
	}
	m := &move{n: n, from: from, to: to}
	if err := m.plan(); err != nil {
		return nil, nil, err
	}
	var steps []fixes.Step
	if from.MAC != "" && to.MAC != from.MAC && u.Bridge.OtherConfig["hwaddr"] == "" {
		// Neighbours and DHCP servers know the host by it. One that was set is kept.
		steps = append(steps, fixes.Rows{
			DB: "Open_vSwitch", What: fmt.Sprintf("give bridge %s the MAC address of %s", to.Name, from.Name),
			Changes: []fixes.Change{{
				Table: "Bridge", UUID: u.Bridge.UUID,
				Before: fixes.Row{"other_config:hwaddr": nil}, After: fixes.Row{"other_config:hwaddr": from.MAC},
			}},
			Classic: []string{fixes.Command("ovs-vsctl set Bridge %s other_config:hwaddr=%s", to.Name, strconv.Quote(from.MAC))},
		})
	}
	steps = append(steps, fixes.Network{Changes: m.changes, What: fmt.Sprintf("move addresses and routes from %s to %s", from.Name, to.Name)})
	return steps, m.warnings, nil
}

// free refuses a link that belongs elsewhere.
func free(h *snapshot.Host, l *node.Link, bridge string) error {
	s, err := h.Switch()
	if err != nil {
		return err
	}
	if l.Master != "" && l.Master != "ovs-system" {
		return fixes.Refuse("name the link that is on top: "+l.Master, "%s belongs to %s", l.Name, l.Master)
	}
	for _, p := range s.Plugs() {
		if p.Name == l.Name && p.Bridge.Name != bridge {
			return fixes.Refuse(fmt.Sprintf("take it out of there first: ovs-vsctl del-port %s %s", p.Bridge.Name, p.Port.Name),
				"%s is a port of bridge %s", l.Name, p.Bridge.Name)
		}
	}
	return nil
}
