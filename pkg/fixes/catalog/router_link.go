package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// LinkRouterPort joins a switch port to a router's port again.
var LinkRouterPort = &fixes.Repair{
	Name: "link-router-port",
	Doc: `Join a switch port to its router again

Sets what of the link is wrong: Logical_Switch_Port.type to router, options:router-port to
the router port that belongs there, addresses to router. Without ROUTER-PORT it is the one
that leads nowhere and whose network is the switch's; if there is none or more than one,
nothing is done. It makes no ports.`,
	Params: []fixes.Param{
		{Name: "PORT", Doc: "the logical switch port"},
		{Name: "ROUTER-PORT", Doc: "the logical router port", Optional: true},
	},
	Class: fixes.Ask,
	Risk:  fixes.Medium,
	Check: "dangling-router-link",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		z, l, p, err := findSwitchPort(d, a["PORT"])
		if err != nil {
			return nil, err
		}
		target, err := linkTarget(l, p, a["ROUTER-PORT"])
		if err != nil {
			return nil, err
		}
		before, after := fixes.Row{}, fixes.Row{}
		var classic []string
		if p.Type != "router" {
			if err := mayBeRouterPort(z, p); err != nil {
				return nil, err
			}
			before["type"], after["type"] = p.Type, "router"
			classic = append(classic, fixes.Command("ovn-nbctl lsp-set-type %s router", p.Name))
		}
		if was, ok := p.Options["router-port"]; was != target.Name {
			before["options:router-port"], after["options:router-port"] = nil, target.Name
			if ok {
				before["options:router-port"] = was
			}
			classic = append(classic, fixes.Command("ovn-nbctl set Logical_Switch_Port %s options:router-port=%s", p.Name, target.Name))
		}
		if !leadsTo(p, target) {
			before["addresses"], after["addresses"] = []string(p.Addresses), []string{"router"}
			classic = append(classic, fixes.Command("ovn-nbctl lsp-set-addresses %s router", p.Name))
		}
		if len(after) == 0 {
			return nil, fixes.Refuse("", "port %s leads to router port %s", p.Name, target.Name)
		}
		touches := "what goes between the two"
		if s, r := l.SwitchOf[p.UUID], l.RouterOf[target.UUID]; s != nil && r != nil {
			touches = fmt.Sprintf("what goes between switch %s and router %s", s.Name, r.Name)
		}
		return &fixes.Plan{
			Title:    fmt.Sprintf("join port %s to router port %s", p.Name, target.Name),
			Touches:  touches,
			Warnings: ownedPort(p),
			Steps: []fixes.Step{fixes.Rows{
				DB: "OVN_Northbound", Zone: z.Name, What: fmt.Sprintf("make port %s lead to router port %s", p.Name, target.Name),
				Changes: []fixes.Change{{Table: "Logical_Switch_Port", UUID: p.UUID, Before: before, After: after}},
				Guards:  []fixes.Guard{{Table: "Logical_Router_Port", UUID: target.UUID, Columns: fixes.Row{"name": target.Name, "mac": target.MAC}}},
				Classic: classic,
			}},
		}, nil
	},
}

// leadsTo says whether a port's addresses make packets for a router port go through it.
func leadsTo(p *nb.LogicalSwitchPortBrief, rp *nb.LogicalRouterPort) bool {
	return slices.ContainsFunc(p.Addresses, func(text string) bool {
		a, ok := snapshot.ParseAddress(text)
		return text == "router" || text == "unknown" || ok && strings.EqualFold(a.MAC, rp.MAC)
	})
}

// mayBeRouterPort refuses for a port that something is plugged into.
func mayBeRouterPort(z *snapshot.Zone, p *nb.LogicalSwitchPortBrief) error {
	rows, err := z.Southbound()
	if err != nil {
		return fmt.Errorf("whether port %s is in use: %w", p.Name, err)
	}
	for i := range rows.PortBindings {
		if b := &rows.PortBindings[i]; b.LogicalPort == p.Name && b.Type == "" && len(b.Chassis) > 0 {
			return fixes.Refuse("take options:router-port away if it is not a router's", "something is plugged into port %s: as a router port it would be cut off", p.Name)
		}
	}
	return nil
}

// linkTarget is the router port that a switch port has to lead to.
func linkTarget(l *snapshot.Logical, p *nb.LogicalSwitchPortBrief, name string) (*nb.LogicalRouterPort, error) {
	if name == "" {
		if rp := l.RouterPort[p.Options["router-port"]]; rp != nil {
			name = rp.Name
		}
	}
	if name != "" {
		rp := l.RouterPort[name]
		if rp == nil {
			return nil, fmt.Errorf("no logical router port %q; those that lead nowhere: %s", name, several(routerPortNames(l.Unlinked())))
		}
		for _, other := range l.Links[name] {
			if other != p {
				return nil, fixes.Refuse("", "switch port %s leads to router port %s already", other.Name, name)
			}
		}
		if len(rp.Peer) > 0 {
			return nil, fixes.Refuse("", "router port %s is joined to router port %s", name, rp.Peer.Get())
		}
		return rp, nil
	}
	s := l.SwitchOf[p.UUID]
	if s == nil {
		return nil, fixes.Refuse("", "port %s is on no switch", p.Name)
	}
	unlinked := l.Unlinked()
	switch fits := l.Fits(s, unlinked); len(fits) {
	case 0:
		return nil, fixes.Refuse("name the router port: ovnctl fix link-router-port "+p.Name+" ROUTER-PORT",
			"no router port that leads nowhere has a network of switch %s; leading nowhere: %s", s.Name, several(routerPortNames(unlinked)))
	case 1:
		return fits[0], nil
	default:
		return nil, fixes.Refuse("name the right one: ovnctl fix link-router-port "+p.Name+" ROUTER-PORT",
			"more than one router port could belong to port %s: %s", p.Name, several(routerPortNames(fits)))
	}
}

func routerPortNames(ports []*nb.LogicalRouterPort) []string {
	var out []string
	for _, p := range ports {
		out = append(out, p.Name)
	}
	return out
}

// LinkRouters joins two router ports of which one names the other.
var LinkRouters = &fixes.Repair{
	Name: "link-routers",
	Doc: `Make two router ports name each other

Of two routers that are joined without a switch between them each port names the other in
Logical_Router_Port.peer. Sets the side that is missing. Nothing is done if that side is
joined to something else.`,
	Params: []fixes.Param{{Name: "ROUTER-PORT", Doc: "the router port that names the other one"}},
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "dangling-router-link",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		z, l, p, err := findRouterPort(d, a["ROUTER-PORT"])
		if err != nil {
			return nil, err
		}
		if len(p.Peer) == 0 {
			return nil, fixes.Refuse("", "router port %s names no peer", p.Name)
		}
		peer := l.RouterPort[p.Peer.Get()]
		switch {
		case peer == nil:
			return nil, fixes.Refuse(fmt.Sprintf("name the right one: ovn-nbctl set Logical_Router_Port %s peer=ROUTER-PORT", p.Name), "the peer of router port %s, %s, does not exist", p.Name, p.Peer.Get())
		case peer.Peer.Get() == p.Name:
			return nil, fixes.Refuse("", "router ports %s and %s name each other", p.Name, peer.Name)
		case len(peer.Peer) > 0:
			return nil, fixes.Refuse("", "router port %s is joined to router port %s", peer.Name, peer.Peer.Get())
		case len(l.Links[peer.Name]) > 0:
			return nil, fixes.Refuse("", "switch port %s leads to router port %s", l.Links[peer.Name][0].Name, peer.Name)
		}
		return &fixes.Plan{
			Title:    fmt.Sprintf("join router port %s to %s", peer.Name, p.Name),
			Touches:  "what goes between the two routers",
			Warnings: overwritten("router port "+peer.Name, peer.ExternalIDs),
			Steps: []fixes.Step{fixes.Rows{
				DB: "OVN_Northbound", Zone: z.Name, What: fmt.Sprintf("name %s as the peer of router port %s", p.Name, peer.Name),
				Changes: []fixes.Change{{Table: "Logical_Router_Port", UUID: peer.UUID, Before: fixes.Row{"peer": []string{}}, After: fixes.Row{"peer": []string{p.Name}}}},
				Guards:  []fixes.Guard{{Table: "Logical_Router_Port", UUID: p.UUID, Columns: fixes.Row{"name": p.Name, "peer": []string(p.Peer)}}},
				Classic: []string{fixes.Command("ovn-nbctl set Logical_Router_Port %s peer=%s", peer.Name, p.Name)},
			}},
		}, nil
	},
}

// MakeLocalnetPort gives a port that names a physical network the type for it.
var MakeLocalnetPort = &fixes.Repair{
	Name: "make-localnet-port",
	Doc: `Make a port that names a physical network one of type localnet

Sets Logical_Switch_Port.type to localnet, and addresses to unknown where there are none.
Nothing is done if something is plugged into the port.`,
	Params: []fixes.Param{{Name: "PORT", Doc: "the logical switch port with options:network_name"}},
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "dangling-router-link",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		z, _, p, err := findSwitchPort(d, a["PORT"])
		if err != nil {
			return nil, err
		}
		network := p.Options["network_name"]
		switch {
		case network == "":
			return nil, fixes.Refuse("", "port %s names no physical network in options:network_name", p.Name)
		case p.Type == "localnet", p.Type == "l2gateway":
			return nil, fixes.Refuse("", "port %s is of type %s", p.Name, p.Type)
		}
		if err := mayBeRouterPort(z, p); err != nil {
			return nil, err
		}
		before, after := fixes.Row{"type": p.Type}, fixes.Row{"type": "localnet"}
		classic := []string{fixes.Command("ovn-nbctl lsp-set-type %s localnet", p.Name)}
		if !p.Addresses.Has("unknown") {
			before["addresses"] = []string(p.Addresses)
			after["addresses"] = []string{"unknown"}
			classic = append(classic, fixes.Command("ovn-nbctl lsp-set-addresses %s unknown", p.Name))
		}
		return &fixes.Plan{
			Title:    fmt.Sprintf("join port %s to physical network %s", p.Name, network),
			Touches:  "what goes between the switch and the physical network " + network,
			Warnings: ownedPort(p),
			Steps: []fixes.Step{fixes.Rows{
				DB: "OVN_Northbound", Zone: z.Name, What: "make port " + p.Name + " one of type localnet",
				Changes: []fixes.Change{{Table: "Logical_Switch_Port", UUID: p.UUID, Before: before, After: after}},
				Classic: classic,
			}},
		}, nil
	},
}

// findSwitchPort finds a switch port by name.
func findSwitchPort(d *snapshot.Deployment, name string) (*snapshot.Zone, *snapshot.Logical, *nb.LogicalSwitchPortBrief, error) {
	var zone *snapshot.Zone
	var logical *snapshot.Logical
	err := inZones(d, func(z *snapshot.Zone, l *snapshot.Logical) (bool, error) {
		if l.SwitchPort[name] == nil {
			return false, nil
		}
		zone, logical = z, l
		return true, nil
	})
	switch {
	case logical != nil:
		return zone, logical, logical.SwitchPort[name], nil
	case err == nil:
		err = fmt.Errorf("no logical switch port %q", name)
	}
	return nil, nil, nil, err
}

// findRouterPort finds a router port by name.
func findRouterPort(d *snapshot.Deployment, name string) (*snapshot.Zone, *snapshot.Logical, *nb.LogicalRouterPort, error) {
	var zone *snapshot.Zone
	var logical *snapshot.Logical
	var there []string
	err := inZones(d, func(z *snapshot.Zone, l *snapshot.Logical) (bool, error) {
		there = append(there, slices.Sorted(maps.Keys(l.RouterPort))...)
		if l.RouterPort[name] == nil {
			return false, nil
		}
		zone, logical = z, l
		return true, nil
	})
	switch {
	case logical != nil:
		return zone, logical, logical.RouterPort[name], nil
	case err == nil:
		err = fmt.Errorf("no logical router port %q; there are %s", name, several(there))
	}
	return nil, nil, nil, err
}
