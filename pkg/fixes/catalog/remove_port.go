package catalog

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// RemovePort removes a port of the integration bridge that nobody needs any more.
var RemovePort = &fixes.Repair{
	Name: "remove-port",
	Doc: `Remove a port of the integration bridge that nobody needs any more

Deletes the Port and its Interface from the switch's database, as ovs-vsctl
del-port does. It refuses while the logical port of the interface may be meant to
live here: while it exists and is not bound elsewhere, or while the device's other end is
in a namespace.`,
	Params: []fixes.Param{{Name: "INTERFACE", Doc: "the interface, as ovs-vsctl show names it"}},
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "port-no-such-device",
	Plan:   planRemovePort,
}

func planRemovePort(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
	h, sw, err := localSwitch(d)
	if err != nil {
		return nil, err
	}
	plug, err := plugNamed(h, sw, a["INTERFACE"])
	if err != nil {
		return nil, err
	}
	owner := PortTenant(d, h, plug)
	switch {
	case owner.Northbound:
		return nil, fixes.Refuse("ovn-nbctl --wait=sb sync, and see why ovn-northd does not", "%s", owner.Why)
	case !owner.Gone:
		return nil, fixes.Refuse("remove the pod or virtual machine by the means of whoever made it", "%s", owner.Why)
	case len(plug.Port.Interfaces) != 1:
		return nil, fixes.Refuse("", "port %s is a bond of %d interfaces", plug.Port.Name, len(plug.Port.Interfaces))
	}
	db, err := h.OVSDB()
	if err != nil {
		return nil, err
	}
	changes, err := fixes.DeleteRows(d.Context(), db, "Port", plug.Port.UUID, fixes.Ref{Table: "Bridge", UUID: plug.Bridge.UUID, Column: "ports"})
	if err != nil {
		return nil, err
	}
	title := fmt.Sprintf("remove port %s from bridge %s", plug.Port.Name, plug.Bridge.Name)
	return &fixes.Plan{
		Title:   title,
		Host:    h.Name,
		Touches: "no traffic: " + owner.Why,
		Steps: []fixes.Step{fixes.Rows{
			DB: "Open_vSwitch", What: title, Changes: changes,
			Classic: []string{fixes.Command("ovs-vsctl --if-exists --with-iface del-port %s %s", plug.Bridge.Name, plug.Name)},
		}},
	}, nil
}
