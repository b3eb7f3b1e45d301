package catalog

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
)

// LinkRouterPort connects a switch port to its router port again.
var LinkRouterPort = &fixes.Repair{
	Name: "link-router-port",
	Doc: `Join a switch port to its router again

Sets what is wrong of Logical_Switch_Port: type to router, options:router-port to the
router port that belongs there, addresses to router. Without ROUTER-PORT it is the
unlinked one whose network is the switch's; it refuses if there is none or more than
one. It creates no ports.`,
	Params: []fixes.Param{
		{Name: "PORT", Doc: "the logical switch port"},
		{Name: "ROUTER-PORT", Doc: "the logical router port", Optional: true},
	},
	Class: fixes.Ask,
	Risk:  fixes.Medium,
	Check: "dangling-router-link",
	Plan: onPort(func(f found[nb.LogicalSwitchPortBrief], a fixes.Args) (*fixes.Plan, error) {
		z, l, p := f.zone, f.logical, f.row
		target, err := linkTarget(l, p, a["ROUTER-PORT"])
		if err != nil {
			return nil, err
		}
		columns := fixes.Row{}
		var classic []string
		if p.Type != "router" {
			if err := checkUnused(z, p); err != nil {
				return nil, err
			}
			columns["type"] = "router"
			classic = append(classic, fixes.Command("ovn-nbctl lsp-set-type %s router", p.Name))
		}
		if p.Options["router-port"] != target.Name {
			columns["options:router-port"] = target.Name
			classic = append(classic, fixes.Command("ovn-nbctl set Logical_Switch_Port %s options:router-port=%s", p.Name, target.Name))
		}
		if !facts.LeadsTo(p, target) {
			columns["addresses"] = []string{"router"}
			classic = append(classic, fixes.Command("ovn-nbctl lsp-set-addresses %s router", p.Name))
		}
		if len(columns) == 0 {
			return nil, fixes.Refuse("", "port %s is linked to router port %s", p.Name, target.Name)
		}
		touches := "traffic between the two ports"
		if s, r := l.SwitchOf[p.UUID], l.RouterOf[target.UUID]; s != nil && r != nil {
			touches = fmt.Sprintf("traffic between switch %s and router %s", s.Name, r.Name)
		}
		return &fixes.Plan{
			Title:    fmt.Sprintf("join port %s to router port %s", p.Name, target.Name),
			Touches:  touches,
			Warnings: ownedPort(p),
			Steps: []fixes.Step{fixes.Set{
				DB: "OVN_Northbound", Zone: z.Name, What: fmt.Sprintf("link port %s to router port %s", p.Name, target.Name),
				Row: p, Columns: columns, Classic: classic,
				Guards: []fixes.Guard{{Table: "Logical_Router_Port", UUID: target.UUID, Columns: fixes.Row{"name": target.Name, "mac": target.MAC}}},
			}.Step()},
		}, nil
	}),
}

// linkTarget returns the router port for a switch port: the one with that name, the one it names itself, or the only
// unlinked one of its network.
func linkTarget(l *facts.Logical, p *nb.LogicalSwitchPortBrief, name string) (*nb.LogicalRouterPort, error) {
	if rp := l.RouterPort[p.Options["router-port"]]; name == "" && rp != nil {
		name = rp.Name
	}
	unlinked := l.Unlinked()
	if name != "" {
		return checkUnlinked(l, p, name, unlinked)
	}
	s := l.SwitchOf[p.UUID]
	if s == nil {
		return nil, fixes.Refuse("", "port %s is on no switch", p.Name)
	}
	instead := "name the router port: ovnctl fix link-router-port " + p.Name + " ROUTER-PORT"
	switch fits := l.Fits(s, unlinked); len(fits) {
	case 0:
		return nil, fixes.Refuse(instead, "no unlinked router port has a network of switch %s; unlinked: %s", s.Name, several(namesOf(unlinked, routerPortName)))
	case 1:
		return fits[0], nil
	default:
		return nil, fixes.Refuse(instead, "more than one router port could belong to port %s: %s", p.Name, several(namesOf(fits, routerPortName)))
	}
}

// checkUnlinked returns the named router port, which must not be linked to another port.
func checkUnlinked(l *facts.Logical, p *nb.LogicalSwitchPortBrief, name string, unlinked []*nb.LogicalRouterPort) (*nb.LogicalRouterPort, error) {
	rp := l.RouterPort[name]
	if rp == nil {
		return nil, fmt.Errorf("no logical router port %q; unlinked are %s", name, several(namesOf(unlinked, routerPortName)))
	}
	for _, other := range l.Links[name] {
		if other != p {
			return nil, fixes.Refuse("", "switch port %s is already linked to router port %s", other.Name, name)
		}
	}
	if len(rp.Peer) > 0 {
		return nil, fixes.Refuse("", "router port %s is joined to router port %s", name, rp.Peer.Get())
	}
	return rp, nil
}

func routerPortName(p *nb.LogicalRouterPort) string { return p.Name }
