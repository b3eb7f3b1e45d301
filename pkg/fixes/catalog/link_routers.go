package catalog

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
)

// LinkRouters completes a link between two router ports, of which one names the other.
var LinkRouters = &fixes.Repair{
	Name: "link-routers",
	Doc: `Make two router ports name each other

Of two routers that are joined without a switch between them, each port names the other in
Logical_Router_Port.peer. Sets the side that is missing. It refuses if that side is joined
to something else.`,
	Params: []fixes.Param{{Name: "ROUTER-PORT", Doc: "the router port that names the other one"}},
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "dangling-router-link",
	Plan: routerPorts.on("ROUTER-PORT", func(f found[nb.LogicalRouterPort], a fixes.Args) (*fixes.Plan, error) {
		p := f.row
		if len(p.Peer) == 0 {
			return nil, fixes.Refuse("", "router port %s names no peer", p.Name)
		}
		peer := f.logical.RouterPort[p.Peer.Get()]
		switch {
		case peer == nil:
			return nil, fixes.Refuse(fixes.Command("name the right one: ovn-nbctl set Logical_Router_Port %s peer=ROUTER-PORT", p.Name), "the peer of router port %s, %s, does not exist", p.Name, p.Peer.Get())
		case peer.Peer.Get() == p.Name:
			return nil, fixes.Refuse("", "router ports %s and %s name each other", p.Name, peer.Name)
		case len(peer.Peer) > 0:
			return nil, fixes.Refuse("", "router port %s is joined to router port %s", peer.Name, peer.Peer.Get())
		case len(f.logical.Links[peer.Name]) > 0:
			return nil, fixes.Refuse("", "switch port %s is linked to router port %s", f.logical.Links[peer.Name][0].Name, peer.Name)
		}
		return &fixes.Plan{
			Title:    fmt.Sprintf("join router port %s to %s", peer.Name, p.Name),
			Touches:  "traffic between the two routers",
			Warnings: overwritten("router port "+peer.Name, peer.ExternalIDs),
			Steps: []fixes.Step{fixes.Set{
				DB: "OVN_Northbound", Zone: f.zone.Name, What: fmt.Sprintf("set the peer of router port %s to %s", peer.Name, p.Name),
				Row: peer, Name: peer.Name, Columns: fixes.Row{"peer": []string{p.Name}},
				Guards: []fixes.Guard{{Table: "Logical_Router_Port", UUID: p.UUID, Columns: fixes.Row{"name": p.Name, "peer": []string(p.Peer)}}},
			}.Step()},
		}, nil
	}),
}
