package catalog

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// AttachUplink makes a link a port of its bridge again.
var AttachUplink = &fixes.Repair{
	Name: "attach-uplink",
	Doc: `Attach a lost uplink to its bridge again

Makes the link a port of the bridge, marked transient if this host's other ports are or
if its start scripts delete such ports, and moves the link's addresses and routes to
the bridge if it has any.

It refuses a link that belongs to another bridge or bond or whose peer is in the same
bridge, and does not choose between two links.`,
	Params: []fixes.Param{
		{Name: "BRIDGE", Doc: "the bridge without uplink"},
		{Name: "LINK", Doc: "the link to attach; the one that the bridge names by default", Optional: true},
	},
	Local: true,
	Class: fixes.Ask,
	Risk:  fixes.High,
	Check: "uplink-not-in-bridge",
	Plan: onUplink(func(h *snapshot.Host, n *node.Network, u facts.Uplink, a fixes.Args) (*fixes.Plan, error) {
		if u.Port != nil {
			return nil, fixes.Refuse("", "bridge %s has its uplink, port %s", u.Bridge.Name, u.Port.Name)
		}
		l, err := uplinkFor(h, n, u, a["LINK"])
		if err != nil {
			return nil, err
		}
		transient, why, err := transientPorts(h)
		if err != nil {
			return nil, err
		}
		u.Links = []string{l.Name}
		plan := &fixes.Plan{
			Title:   fmt.Sprintf("attach %s to bridge %s", l.Name, u.Bridge.Name),
			Host:    h.Name,
			Steps:   []fixes.Step{addPort(u, l.Name, transient)},
			Touches: fmt.Sprintf("all traffic through %s and bridge %s", l.Name, u.Bridge.Name),
			Cuts:    true,
		}
		if transient {
			plan.Warnings = append(plan.Warnings, "the port is marked transient: "+why)
		}
		if uplinkHasAddresses(n, u) {
			steps, warnings, err := moveSteps(h, n, u)
			plan.Title += ", and move its addresses and routes there"
			plan.Steps, plan.Warnings = append(plan.Steps, steps...), append(plan.Warnings, warnings...)
			plan.Warnings = append(plan.Warnings, atBoot(h, l.Name, u.Bridge.Name)...)
			return plan, err
		}
		var changes []fixes.LinkChange
		if !l.Up {
			changes = append(changes, linkUp(l))
		}
		if b := n.Link(u.Bridge.Name); !b.Up && len(facts.Global(n, b.Name)) > 0 { // without addresses it need not be up
			changes = append(changes, linkUp(b))
		}
		if changes != nil {
			plan.Steps = append(plan.Steps, fixes.Network{Changes: changes, What: "set the links up"})
		}
		return plan, nil
	}),
}

// uplinkFor returns the link to attach to a bridge: the one with that name, the one the bridge names, or the only
// candidate.
func uplinkFor(h *snapshot.Host, n *node.Network, u facts.Uplink, name string) (*node.Link, error) {
	if name = cmp.Or(name, u.Link()); name != "" {
		l, err := link(n, name)
		if err != nil {
			return nil, err
		}
		return l, attachable(h, n, l, u.Bridge.Name)
	}
	var candidates []string
	for _, l := range n.Links {
		physical := slices.Contains([]string{"", "bond", "team", "veth", "vlan"}, l.Kind) && l.Name != "lo" && l.PeerNetns == nil
		if physical && attachable(h, n, &l, u.Bridge.Name) == nil {
			candidates = append(candidates, l.Name)
		}
	}
	switch len(candidates) {
	case 0:
		return nil, fixes.Refuse(fixes.Command("ovnctl fix attach-uplink %s LINK", u.Bridge.Name), "nothing shows which link is the uplink of bridge %s", u.Bridge.Name)
	case 1:
		return n.Link(candidates[0]), nil
	}
	return nil, fixes.Refuse(fixes.Command("name it: ovnctl fix attach-uplink %s %s", u.Bridge.Name, candidates[0]),
		"%d links could be the uplink of bridge %s: %s", len(candidates), u.Bridge.Name, strings.Join(candidates, ", "))
}

// attachable refuses a link that must not become a port of a bridge.
func attachable(h *snapshot.Host, n *node.Network, l *node.Link, bridge string) error {
	if err := checkFree(h, l, bridge); err != nil {
		return err
	}
	if l.Master == "ovs-system" {
		return fixes.Refuse("look with ovs-dpctl show", "%s is already a port of the OVS datapath", l.Name)
	}
	s, err := h.Switch()
	if err != nil {
		return err
	}
	if s.Bridge(l.Name) != nil || l.Name == "lo" {
		return fixes.Refuse("", "%s cannot be an uplink", l.Name)
	}
	if l.Kind != "veth" || l.PeerIndex == 0 || l.PeerNetns != nil {
		return nil
	}
	for _, p := range s.BridgeInterfaces() {
		if peer := n.Link(p.Name); peer != nil && peer.Index == l.PeerIndex && slices.Contains(patched(s, bridge), p.Bridge.Name) {
			return fixes.Refuse("", "the peer of %s is %s, a port of bridge %s: packets would loop", l.Name, p.Name, p.Bridge.Name)
		}
	}
	return nil
}

// patched returns a bridge and those that patch ports join to it.
func patched(s *snapshot.Switch, bridge string) []string {
	bridgeOf := map[string]string{}
	for _, p := range s.BridgeInterfaces() {
		bridgeOf[p.Name] = p.Bridge.Name
	}
	found := []string{bridge}
	for i := 0; i < len(found); i++ {
		for _, p := range s.BridgeInterfaces() {
			other := bridgeOf[p.Options["peer"]]
			if p.Type == "patch" && p.Bridge.Name == found[i] && other != "" && !slices.Contains(found, other) {
				found = append(found, other)
			}
		}
	}
	return found
}

// transientPorts reports whether this host's ports are marked for deletion when Open vSwitch starts, and how that is
// known.
func transientPorts(h *snapshot.Host) (bool, string, error) {
	s, err := h.Switch()
	if err != nil {
		return false, "", err
	}
	for _, p := range s.Ports {
		if p.OtherConfig["transient"] == "true" {
			return true, "port " + p.Name + " of this host is", nil
		}
	}
	for _, file := range []string{"/etc/default/openvswitch-switch", "/etc/sysconfig/openvswitch"} {
		text, _ := h.File(file) // it need not exist
		for line := range bytes.Lines(text) {
			if line = bytes.TrimSpace(line); !bytes.HasPrefix(line, []byte("#")) && bytes.Contains(line, []byte(facts.DeleteTransient)) {
				return true, file + " deletes such ports when Open vSwitch starts", nil
			}
		}
	}
	return false, "", nil
}

// addPort returns the step that makes a link a port of a bridge.
func addPort(u facts.Uplink, name string, transient bool) fixes.Step {
	port := fixes.Row{"name": name, "interfaces": []ovsdb.UUID{ovsdb.Named("interface")}}
	classic := fixes.Command("ovs-vsctl --may-exist add-port %s %s", u.Bridge.Name, name)
	if transient {
		port["other_config"] = map[string]string{"transient": "true"}
		classic += fmt.Sprintf(" -- set Port %s other_config:transient=true", name)
	}
	return fixes.Rows{
		DB: "Open_vSwitch", What: fmt.Sprintf("make %s a port of bridge %s", name, u.Bridge.Name),
		Changes: []fixes.Change{
			{Table: "Interface", UUID: ovsdb.Named("interface"), After: fixes.Row{"name": name}},
			{Table: "Port", UUID: ovsdb.Named("port"), After: port, In: []fixes.Ref{{Table: "Bridge", UUID: u.Bridge.UUID, Column: "ports"}}},
		},
		Guards:  []fixes.Guard{{Table: "Bridge", UUID: u.Bridge.UUID, Columns: fixes.Row{"name": u.Bridge.Name}}},
		Classic: []string{classic},
	}
}

// uplinkOf returns the named bridge with its uplink.
func uplinkOf(h *snapshot.Host, bridge string) (facts.Uplink, error) {
	uplinks, err := facts.UplinksOf(h)
	if err != nil {
		return facts.Uplink{}, err
	}
	if u := snapshot.First(uplinks, func(u *facts.Uplink) bool { return u.Bridge.Name == bridge }); u != nil {
		return *u, nil
	}
	sw, err := h.Switch()
	if err != nil {
		return facts.Uplink{}, err
	}
	b, err := bridgeNamed(h, sw, bridge)
	return facts.Uplink{Bridge: b}, err
}

// onUplink plans for this host's bridge in BRIDGE, with its uplink and its link, which can carry addresses.
func onUplink(plan func(*snapshot.Host, *node.Network, facts.Uplink, fixes.Args) (*fixes.Plan, error)) planner {
	return func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		h, n, err := localNetwork(d)
		if err != nil {
			return nil, err
		}
		u, err := uplinkOf(h, a["BRIDGE"])
		switch {
		case err != nil:
			return nil, err
		case n.Link(u.Bridge.Name) == nil:
			return nil, fixes.Refuse("start ovs-vswitchd first: ovnctl doctor --only vswitchd-not-running",
				"the kernel has no link %s: ovs-vswitchd, which creates it, is not running or has not created it yet", u.Bridge.Name)
		}
		return plan(h, n, u, a)
	}
}

// uplinkHasAddresses reports whether a bridge's uplink has addresses of its own.
func uplinkHasAddresses(n *node.Network, u facts.Uplink) bool {
	return u.Link() != "" && n.Link(u.Link()) != nil && len(facts.Global(n, u.Link())) > 0
}

// checkFree refuses a link that belongs to another link or bridge.
func checkFree(h *snapshot.Host, l *node.Link, bridge string) error {
	sw, err := h.Switch()
	if err != nil {
		return err
	}
	if l.Master != "" && l.Master != "ovs-system" {
		return fixes.Refuse("name the upper link instead: "+l.Master, "%s belongs to %s", l.Name, l.Master)
	}
	for _, p := range sw.BridgeInterfaces() {
		if p.Name == l.Name && p.Bridge.Name != bridge {
			return fixes.Refuse(fixes.Command("remove it there first: ovs-vsctl del-port %s %s", p.Bridge.Name, p.Port.Name),
				"%s is a port of bridge %s", l.Name, p.Bridge.Name)
		}
	}
	return nil
}
