package catalog

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// PinPort pins a logical port that two nodes claim to one chassis.
var PinPort = &fixes.Repair{
	Name: "pin-port",
	Doc: `Tie a logical port to one chassis

Sets options:requested-chassis of the Logical_Switch_Port, so that no other node claims
it. The interface for the port on the other node stays, without traffic: remove it there.
It refuses during a live migration, for a chassis whose node can be read and has no
interface for the port, and if all nodes can be read and only one has.`,
	Params: []fixes.Param{{Name: "PORT", Doc: "the logical switch port"}, {Name: "CHASSIS", Doc: "hostname or system-id of the chassis"}},
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "port-flapping-two-chassis",
	Plan: onPort(func(f found[nb.LogicalSwitchPortBrief], a fixes.Args) (*fixes.Plan, error) {
		z, port := f.zone, f.row
		if err := checkHasPort(z.Deployment(), z, a["CHASSIS"], port.Name); err != nil {
			return nil, err
		}
		if err := checkNotMigrating(port); err != nil {
			return nil, err
		}
		if claims := claimants(z.Deployment(), port.Name); len(claims) == 1 && allRead(z.Deployment()) {
			return nil, fixes.Refuse("", "only %s has an interface with iface-id=%s: no other node claims it", claims[0], port.Name)
		}
		if value := port.Options["requested-chassis"]; value == a["CHASSIS"] {
			return nil, fixes.Refuse("", "port %s already requests chassis %s", port.Name, value)
		}
		return setPlan(nil, fixes.Set{
			DB: "OVN_Northbound", Zone: z.Name, What: fmt.Sprintf("keep port %s on chassis %s", port.Name, a["CHASSIS"]),
			Row: port, Name: port.Name, Columns: fixes.Row{"options:requested-chassis": a["CHASSIS"]},
		}, "the traffic of port "+port.Name,
			append(ownedPort(port), "the interface with iface-id="+port.Name+" on the other node stays: remove it there, or it claims the port again once the port is no longer pinned")...), nil
	}),
}

// checkHasPort refuses a chassis whose node is readable and has no interface for a logical port.
func checkHasPort(d *snapshot.Deployment, z *snapshot.Zone, name, port string) error {
	south, err := z.Southbound()
	if err != nil {
		return err
	}
	chassis := ""
	for _, c := range south.Chassis {
		if c.Name == name || c.Hostname == name {
			chassis = c.Name
		}
	}
	if chassis == "" {
		return noSuch("chassis", name, namesOf(south.Chassis, func(c sb.Chassis) string { return c.Hostname }))
	}
	h := d.Host(chassis)
	if h == nil {
		return nil
	}
	if sw, err := h.Switch(); err == nil && !hasInterfaceFor(sw, port) {
		return fixes.Refuse("", "node %s has no interface with iface-id=%s", h.Name, port)
	}
	return nil
}

// claimants returns the readable nodes that have an interface for a logical port.
func claimants(d *snapshot.Deployment, port string) []string {
	var out []string
	for _, h := range d.Hosts {
		if sw, err := h.Switch(); err == nil && hasInterfaceFor(sw, port) {
			out = append(out, h.Name)
		}
	}
	return out
}

// allRead reports whether the Open_vSwitch database of every node was read.
func allRead(d *snapshot.Deployment) bool {
	return len(d.Far) == 0 && !slices.ContainsFunc(d.Hosts, func(h *snapshot.Host) bool {
		_, err := h.Switch()
		return err != nil && !errors.Is(err, snapshot.ErrNoSwitch)
	})
}

// hasInterfaceFor reports whether an interface of a node is for a logical port.
func hasInterfaceFor(sw *snapshot.Switch, port string) bool {
	for _, p := range sw.BridgeInterfaces() {
		if p.ExternalIDs["iface-id"] == port && p.OFNumber() > 0 {
			return true
		}
	}
	return false
}
