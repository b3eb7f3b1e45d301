package catalog

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// RemovePort removes a port of the integration bridge that is no longer needed.
var RemovePort = &fixes.Repair{
	Name: "remove-port",
	Doc: `Remove an unused port of the integration bridge

Deletes the Port and its Interface from the Open_vSwitch database, as ovs-vsctl
del-port does. It refuses while the logical port of the interface may belong here:
while it exists and is not bound elsewhere, or while the device's peer is in a
network namespace.`,
	Params: []fixes.Param{{Name: "INTERFACE", Doc: "the interface, as ovs-vsctl show names it"}},
	Local:  true,
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "port-no-such-device",
	Plan: onInterface(func(h *snapshot.Host, sw *snapshot.Switch, iface snapshot.BridgeInterface) (*fixes.Plan, error) {
		use := facts.PortUseOf(h, iface)
		switch {
		case use.Northbound:
			return nil, fixes.Refuse("ovn-nbctl --wait=sb sync, and see why ovn-northd does not follow", "%s", use.Why)
		case !use.Unused:
			return nil, fixes.Refuse("remove the pod or VM with the tool that created it", "%s", use.Why)
		case len(iface.Port.Interfaces) != 1:
			return nil, fixes.Refuse("", "port %s is a bond of %d interfaces", iface.Port.Name, len(iface.Port.Interfaces))
		}
		changes, err := withoutPort(h, iface)
		if err != nil {
			return nil, err
		}
		title := fmt.Sprintf("remove port %s from bridge %s", iface.Port.Name, iface.Bridge.Name)
		return &fixes.Plan{
			Title:   title,
			Host:    h.Name,
			Touches: "no traffic: " + use.Why,
			Steps: []fixes.Step{fixes.Rows{
				DB: "Open_vSwitch", What: title, Changes: changes,
				Classic: []string{fixes.Command("ovs-vsctl --if-exists --with-iface del-port %s %s", iface.Bridge.Name, iface.Name)},
			}},
		}, nil
	}),
}

// withoutPort returns the changes that delete a port with its interfaces.
func withoutPort(h *snapshot.Host, p snapshot.BridgeInterface) ([]fixes.Change, error) {
	db, err := h.OVSDB()
	if err != nil {
		return nil, err
	}
	return fixes.DeleteRows(h.Deployment().Context(), db, "Port", p.Port.UUID, fixes.Ref{Table: "Bridge", UUID: p.Bridge.UUID, Column: "ports"})
}
