package catalog

import (
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

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
