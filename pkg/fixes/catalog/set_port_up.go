package catalog

import (
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// SetPortUp sets the link of a logical port up.
var SetPortUp = &fixes.Repair{
	Name: "set-port-up",
	Doc: `Set the link of a pod or VM up

Sets up the host's end of the link in the integration bridge that carries a logical port.
The other end, in the pod, is not touched.`,
	Params: []fixes.Param{{Name: "INTERFACE", Doc: "the interface in the integration bridge"}},
	Local:  true,
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "pod-network-broken",
	Plan: onInterface(func(h *snapshot.Host, _ *snapshot.Switch, i snapshot.BridgeInterface) (*fixes.Plan, error) {
		n, err := h.Network()
		if err != nil {
			return nil, err
		}
		id := i.ExternalIDs["iface-id"]
		switch l := n.Link(i.Name); {
		case id == "":
			return nil, fixes.Refuse("", "interface %s carries no logical port", i.Name)
		case l == nil:
			return nil, fixes.Refuse("", "interface %s has no link on this host", i.Name)
		case l.Up:
			return nil, fixes.Refuse("", "the link %s is up", l.Name)
		default:
			what := "set link " + l.Name + " of port " + id + " up"
			return &fixes.Plan{
				Title: what, Host: h.Name, Touches: "the traffic of port " + id,
				Steps: []fixes.Step{fixes.Network{Changes: []fixes.LinkChange{linkUp(l)}, What: what}},
			}, nil
		}
	}),
}
