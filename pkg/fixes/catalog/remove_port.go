package catalog

import (
	"errors"
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// A Tenant is what is known of the pod or virtual machine behind a port of the switch.
type Tenant struct {
	Gone       bool   // nobody needs the port any more
	Northbound bool   // the Northbound has the logical port and the Southbound has not
	Why        string // how that is known, a sentence without period
}

// PortTenant says whether anybody still needs a port of a host's integration bridge.
func PortTenant(d *snapshot.Deployment, h *snapshot.Host, p snapshot.Plug) Tenant {
	chassis, _, _ := h.ChassisName()
	sw, err := h.Switch()
	if err != nil {
		return Tenant{Why: err.Error()}
	}
	id := p.ExternalIDs["iface-id"]
	switch {
	case p.Bridge.Name != sw.IntegrationBridge(chassis):
		return Tenant{Why: fmt.Sprintf("%s is a port of bridge %s, which is the host's own: see why its device is missing", p.Name, p.Bridge.Name)}
	case id == "":
		return Tenant{Why: fmt.Sprintf("interface %s carries no iface-id: ovnctl cannot tell whose it is", p.Name)}
	}
	network, err := h.Network()
	if err != nil {
		return Tenant{Why: err.Error()}
	}
	link := network.Link(p.Name)
	there := link != nil
	switch {
	case !there || p.Type == "internal": // a device of the switch itself has nobody behind it
	case link.Kind != "veth" && link.Oper == "up":
		return Tenant{Why: fmt.Sprintf("%s is in use: something has it open, a virtual machine perhaps", p.Name)}
	case link.Kind == "veth":
		if pod, err := h.Pod(p.Name); err == nil && pod != nil {
			return Tenant{Why: fmt.Sprintf("%s is in use: its other end is in namespace %s; delete the pod by the cluster's means", p.Name, pod.Netns)}
		} else if err != nil && errors.Is(err, node.ErrUnavailable) {
			return Tenant{Why: fmt.Sprintf("%s exists, and what is behind it cannot be seen: %v", p.Name, err)}
		}
	}
	z := h.Zone()
	if z == nil {
		return Tenant{Why: "the zone of " + h.Name + " was not read"}
	}
	south, err := z.Southbound()
	if err != nil {
		return Tenant{Why: err.Error()}
	}
	var row *sb.PortBindingBrief
	for i := range south.PortBindings {
		if south.PortBindings[i].LogicalPort == id {
			row = &south.PortBindings[i]
		}
	}
	if row == nil {
		north, err := z.Northbound()
		if err != nil {
			return Tenant{Why: fmt.Sprintf("the Southbound has no port %s, and whether the Northbound has it could not be read: %v", id, err)}
		}
		for _, l := range north.SwitchPorts {
			if l.Name == id {
				return Tenant{Northbound: true, Why: fmt.Sprintf("logical port %s is in the Northbound and not in the Southbound", id)}
			}
		}
		return Tenant{Gone: true, Why: fmt.Sprintf("no logical port is named %s", id)}
	}
	if there {
		return Tenant{Why: fmt.Sprintf("%s exists, and so does its logical port %s", p.Name, id)}
	}
	if here := south.ChassisNamed(chassis); len(row.Chassis) > 0 && (here == nil || row.Chassis.Get() != here.UUID) && !row.AdditionalChassis.Has(chassisUUID(here)) {
		return Tenant{Gone: true, Why: fmt.Sprintf("logical port %s is bound to another node", id)}
	}
	if want, have := row.Options["iface-id-ver"], p.ExternalIDs["iface-id-ver"]; want != "" && have != "" && want != have {
		return Tenant{Gone: true, Why: fmt.Sprintf("logical port %s is for iface-id-ver %s now, and this interface is of %s", id, want, have)}
	}
	for _, other := range sw.Plugs() {
		if other.Name != p.Name && other.ExternalIDs["iface-id"] == id && other.OFNumber() > 0 && network.Link(other.Name) != nil {
			return Tenant{Gone: true, Why: fmt.Sprintf("interface %s has taken its place for logical port %s", other.Name, id)}
		}
	}
	return Tenant{Why: fmt.Sprintf("logical port %s exists and is nowhere else, so that its pod or virtual machine may be meant to live", id)}
}

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

// localSwitch is the host that ovnctl runs on, with its Open_vSwitch database.
func localSwitch(d *snapshot.Deployment) (*snapshot.Host, *snapshot.Switch, error) {
	h := d.Local()
	if h == nil {
		return nil, nil, errors.New("this changes the node that ovnctl runs on, and this is none: run it there")
	}
	sw, err := h.Switch()
	return h, sw, err
}

// plugNamed finds an interface that is in a bridge; the error names those that carry an iface-id.
func plugNamed(h *snapshot.Host, sw *snapshot.Switch, name string) (snapshot.Plug, error) {
	var names []string
	for _, p := range sw.Plugs() {
		if p.Name == name {
			return p, nil
		}
		if p.ExternalIDs["iface-id"] != "" {
			names = append(names, p.Name)
		}
	}
	return snapshot.Plug{}, fmt.Errorf("no interface %q; %s has %s", name, h.Name, several(names))
}
