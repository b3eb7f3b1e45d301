package catalog

import (
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// RequestedChassis is the chassis that options ask for a port to be on, by name or hostname. Of
// several, for a live migration, it is the first, where the port is before it moves.
func RequestedChassis(options map[string]string) string {
	first, _, _ := strings.Cut(options["requested-chassis"], ",")
	return strings.TrimSpace(first)
}

// switchPort finds a logical switch port by its name.
func switchPort(d *snapshot.Deployment, name string) (*snapshot.Zone, *nb.LogicalSwitchPortBrief, error) {
	for _, z := range d.Zones {
		rows, err := z.Northbound()
		if err != nil {
			return nil, nil, err
		}
		for i := range rows.SwitchPorts {
			if rows.SwitchPorts[i].Name == name {
				return z, &rows.SwitchPorts[i], nil
			}
		}
	}
	return nil, nil, fmt.Errorf("no logical switch port %q", name)
}

// ClearRequestedChassis lets a logical port be bound wherever its interface is.
var ClearRequestedChassis = &fixes.Repair{
	Name: "clear-requested-chassis",
	Doc: `Let a logical port be bound where its interface is

Removes options:requested-chassis of the Logical_Switch_Port where it names a chassis
on which the port is not, or none at all. It refuses while the port is bound, and where
the value names two chassis: that is a live migration.`,
	Params: []fixes.Param{{Name: "PORT", Doc: "the logical switch port"}},
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "port-not-bound",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		z, port, err := switchPort(d, a["PORT"])
		if err != nil {
			return nil, err
		}
		value, ok := port.Options["requested-chassis"]
		switch {
		case !ok:
			return nil, fixes.Refuse("", "port %s asks for no chassis", port.Name)
		case strings.Contains(value, ","):
			return nil, fixes.Refuse("wait for its end, or end it by the means of whoever began it", "port %s is in a live migration: requested-chassis=%s", port.Name, value)
		}
		south, err := z.Southbound()
		if err != nil {
			return nil, err
		}
		for _, row := range south.PortBindings {
			if row.LogicalPort == port.Name && len(row.Chassis) > 0 {
				return nil, fixes.Refuse("", "port %s is bound: its requested-chassis does no harm", port.Name)
			}
		}
		title := "let port " + port.Name + " be bound on any chassis"
		return &fixes.Plan{
			Title: title, Touches: "the traffic of port " + port.Name,
			Warnings: ownedPort(port),
			Steps: []fixes.Step{fixes.Rows{
				DB: "OVN_Northbound", Zone: z.Name, What: title,
				Changes: []fixes.Change{{
					Table: "Logical_Switch_Port", UUID: port.UUID,
					Before: fixes.Row{"options:requested-chassis": value}, After: fixes.Row{"options:requested-chassis": nil},
				}},
				Classic: []string{fixes.Command("ovn-nbctl remove Logical_Switch_Port %s options requested-chassis", port.Name)},
			}},
		}, nil
	},
}

// PinPort says on which chassis a logical port belongs that two nodes claim.
var PinPort = &fixes.Repair{
	Name: "pin-port",
	Doc: `Say on which chassis a logical port belongs

Sets options:requested-chassis of the Logical_Switch_Port, so that no other node claims
it. The interface of that name on the other node stays and is mute: remove it there.
It refuses in a live migration, and for a chassis that has no interface for the port
as far as its node can be read.`,
	Params: []fixes.Param{{Name: "PORT", Doc: "the logical switch port"}, {Name: "CHASSIS", Doc: "hostname or system-id of the chassis"}},
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "port-flapping-two-chassis",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		z, port, err := switchPort(d, a["PORT"])
		if err != nil {
			return nil, err
		}
		south, err := z.Southbound()
		if err != nil {
			return nil, err
		}
		chassis, names := "", []string{}
		for _, c := range south.Chassis {
			names = append(names, c.Hostname)
			if c.Name == a["CHASSIS"] || c.Hostname == a["CHASSIS"] {
				chassis = c.Name
			}
		}
		if chassis == "" {
			return nil, fmt.Errorf("no chassis %q; there are %s", a["CHASSIS"], several(names))
		}
		if h := d.Host(chassis); h != nil {
			if sw, err := h.Switch(); err == nil && !carries(sw, port.Name) {
				return nil, fixes.Refuse("", "node %s has no interface with iface-id=%s", h.Name, port.Name)
			}
		}
		value, had := port.Options["requested-chassis"]
		before := fixes.Row{"options:requested-chassis": nil}
		if had {
			before["options:requested-chassis"] = value
		}
		switch {
		case strings.Contains(value, ","):
			return nil, fixes.Refuse("wait for its end, or end it by the means of whoever began it", "port %s is in a live migration: requested-chassis=%s", port.Name, value)
		case value == a["CHASSIS"]:
			return nil, fixes.Refuse("", "port %s asks for chassis %s already", port.Name, value)
		}
		title := fmt.Sprintf("keep port %s on chassis %s", port.Name, a["CHASSIS"])
		return &fixes.Plan{
			Title: title, Touches: "the traffic of port " + port.Name,
			Warnings: append(ownedPort(port), "the interface with iface-id="+port.Name+" on the other node stays: remove it there, or it takes the port again when it is no longer pinned"),
			Steps: []fixes.Step{fixes.Rows{
				DB: "OVN_Northbound", Zone: z.Name, What: title,
				Changes: []fixes.Change{{
					Table: "Logical_Switch_Port", UUID: port.UUID,
					Before: before, After: fixes.Row{"options:requested-chassis": a["CHASSIS"]},
				}},
				Classic: []string{fixes.Command("ovn-nbctl set Logical_Switch_Port %s options:requested-chassis=%s", port.Name, a["CHASSIS"])},
			}},
		}, nil
	},
}

// carries says whether an interface of a switch is for a logical port.
func carries(sw *snapshot.Switch, port string) bool {
	for _, p := range sw.Plugs() {
		if p.ExternalIDs["iface-id"] == port && p.OFNumber() > 0 {
			return true
		}
	}
	return false
}

// SetIfaceIDVer makes an interface that of the pod which its logical port is for.
var SetIfaceIDVer = &fixes.Repair{
	Name: "set-iface-id-ver",
	Doc: `Give an interface the iface-id-ver that its logical port asks for

ovn-controller binds a port only to the interface of the same iface-id-ver, by which a
pod is told from an earlier one of its name. It refuses where another interface of
the node has the right one already, and where the MAC address behind this one is
not the port's: then the interface is of another pod.`,
	Params: []fixes.Param{{Name: "INTERFACE", Doc: "the interface"}},
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "port-not-bound",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		h, sw, err := localSwitch(d)
		if err != nil {
			return nil, err
		}
		plug, err := plugNamed(h, sw, a["INTERFACE"])
		if err != nil {
			return nil, err
		}
		id := plug.ExternalIDs["iface-id"]
		_, port, err := switchPort(d, id)
		if err != nil {
			return nil, fmt.Errorf("interface %s: %w", plug.Name, err)
		}
		want, have := port.Options["iface-id-ver"], plug.ExternalIDs["iface-id-ver"]
		if want == have || want == "" {
			return nil, fixes.Refuse("", "interface %s has the iface-id-ver that port %s asks for", plug.Name, id)
		}
		for _, other := range sw.Plugs() {
			if other.Name != plug.Name && other.ExternalIDs["iface-id"] == id && other.ExternalIDs["iface-id-ver"] == want {
				return nil, fixes.Refuse("ovnctl fix clear-iface-id "+plug.Name, "interface %s is the right one for port %s", other.Name, id)
			}
		}
		if pod, err := h.Pod(plug.Name); err == nil {
			if macs := strings.ToLower(strings.Join(port.Addresses, " ")); strings.Contains(macs, ":") && !strings.Contains(macs, strings.ToLower(pod.Link.MAC)) {
				return nil, fixes.Refuse("re-create the pod", "behind interface %s is MAC address %s, which is not among those of port %s: it is another pod's", plug.Name, pod.Link.MAC, id)
			}
		}
		before := fixes.Row{"external_ids:iface-id-ver": nil}
		if have != "" {
			before["external_ids:iface-id-ver"] = have
		}
		title := fmt.Sprintf("make interface %s that of iface-id-ver %s", plug.Name, want)
		return &fixes.Plan{
			Title: title, Host: h.Name, Touches: "the traffic of port " + id,
			Warnings: append(ownedPort(port), "if another interface is made for the port, remove this one"),
			Steps: []fixes.Step{fixes.Rows{
				DB: "Open_vSwitch", What: title,
				Changes: []fixes.Change{{
					Table: "Interface", UUID: plug.InterfaceBrief.UUID,
					Before: before, After: fixes.Row{"external_ids:iface-id-ver": want},
				}},
				Classic: []string{fixes.Command("ovs-vsctl set Interface %s external_ids:iface-id-ver=%s", plug.Name, want)},
			}},
		}, nil
	},
}
