package catalog

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// DeleteNeighbour deletes a permanent neighbour entry of the host.
var DeleteNeighbour = &fixes.Repair{
	Name: "delete-neighbour",
	Doc: `Delete a permanent neighbour entry of this host

The kernel then asks the network for the MAC address, as it does for all others. An entry
that the kernel learned goes by itself, and is refused.`,
	Params: []fixes.Param{
		{Name: "LINK", Doc: "the link that has the entry"},
		{Name: "ADDRESS", Doc: "its IP address"},
	},
	Local: true,
	Class: fixes.Ask,
	Risk:  fixes.Medium,
	Check: "host-path-astray",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		h, n, err := localNetwork(d)
		if err != nil {
			return nil, err
		}
		address, err := netip.ParseAddr(a["ADDRESS"])
		if err != nil {
			return nil, fmt.Errorf("ADDRESS %q is no IP address", a["ADDRESS"])
		}
		link := n.Link(a["LINK"])
		if link == nil {
			return nil, fmt.Errorf("no link %q on this host", a["LINK"])
		}
		at := slices.IndexFunc(n.Neighbours, func(x node.Neighbour) bool {
			return x.Link == link.Name && x.Addr == address && x.State == "permanent"
		})
		if at < 0 {
			return nil, fixes.Refuse("", "link %s has no permanent neighbour %s", link.Name, address)
		}
		entry := n.Neighbours[at]
		what := fmt.Sprintf("delete the permanent neighbour %s (%s) of link %s", entry.Addr, entry.MAC, link.Name)
		return &fixes.Plan{
			Title:    what,
			Host:     h.Name,
			Steps:    []fixes.Step{fixes.Network{Changes: []fixes.LinkChange{{Forget: &entry, Link: link.Name, Index: link.Index}}, What: what}},
			Touches:  "what this host sends to " + entry.Addr.String(),
			Warnings: []string{"what added it may add it again: a script, keepalived, or a file of the network configuration"},
			Cuts:     true,
		}, nil
	},
}
