package watch

import (
	"cmp"
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// neighbourChanged reports what a router learned.
func (r *report) neighbourChanged(_ ovsdb.UUID, old, now *sb.MACBinding) {
	row := cmp.Or(now, old)
	e := Event{Kind: Neighbour, Object: row.IP, Names: unique(row.IP, row.LogicalPort, row.MAC)}
	at := "router port " + row.LogicalPort
	switch {
	case old == nil:
		e.Action, e.Message = "learned", fmt.Sprintf("%s learned its MAC address: %s", at, now.MAC)
	case now == nil:
		e.Action, e.Message = "forgotten", fmt.Sprintf("%s forgot its MAC address, %s", at, old.MAC)
	case old.MAC != now.MAC:
		e.Action = "contradicted"
		e.Message = fmt.Sprintf("%s learned another MAC address: %s, it was %s", at, now.MAC, old.MAC)
		e.Effect = "packets to it now go elsewhere: the address has moved, or two hosts have it"
		e.Names = unique(append(e.Names, old.MAC)...)
	default:
		return
	}
	r.add(e)
}

// bfdChanged reports a session that watches a next hop.
func (r *report) bfdChanged(_ ovsdb.UUID, old, now *sb.BFD) {
	if old == nil || now == nil || old.Status == now.Status {
		return
	}
	e := Event{Kind: BFD, Action: now.Status, Object: "BFD session to " + now.DstIP, By: now.ChassisName,
		Message: fmt.Sprintf("%s at router port %s, was %s", now.Status, now.LogicalPort, old.Status),
		Names:   unique(now.DstIP, now.LogicalPort, now.ChassisName, r.chassisNamed(now.ChassisName))}
	if old.Status == "up" {
		e.Effect = "routes through this next hop are not used"
	}
	r.add(e)
}

// chassisChanged reports nodes that come and go.
func (r *report) chassisChanged(_ ovsdb.UUID, old, now *sb.Chassis) {
	row := cmp.Or(now, old)
	e := Event{Kind: Chassis, Object: "chassis " + called(*row), Names: unique(called(*row), row.Name)}
	switch {
	case old == nil:
		e.Action, e.Message = "added", "added: ovn-controller of "+called(*row)+" has registered"
	case now == nil:
		e.Action, e.Message, e.Effect = "removed", "removed", "its ports are on no chassis, and no tunnel leads to it"
	case called(*old) != called(*now):
		e.Action, e.Message = "renamed", "has another hostname, was "+called(*old)
	default:
		return
	}
	r.add(e)
}
