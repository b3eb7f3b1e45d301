package catalog

import (
	"fmt"
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
func leadsTo(p *snapshot.LogicalSwitchPort, rp *nb.LogicalRouterPort) bool {
	return slices.ContainsFunc(p.Addresses, func(text string) bool {
		a, ok := snapshot.ParseAddress(text)
		return text == "router" || text == "unknown" || ok && strings.EqualFold(a.MAC, rp.MAC)
	})
}

// linkTarget is the router port that a switch port has to lead to.
func linkTarget(l *snapshot.Logical, p *snapshot.LogicalSwitchPort, name string) (*nb.LogicalRouterPort, error) {
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
