package catalog

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// DeleteChassis removes the row that a node has left behind in the Southbound.
var DeleteChassis = &fixes.Repair{
	Name: "delete-chassis",
	Doc: `Delete the rows of a chassis that is no more

Deletes its Chassis, Encap and Chassis_Private rows, as ovn-sbctl chassis-del does, so that the
node can register under its new name. It refuses unless two witnesses say that the chassis is
dead: it has not followed what others have followed, and its address is another's, gives no
answer, or its tunnels are down. It refuses while the chassis holds ports or gateways
that no other one would take over, and for chassis of other zones and VTEPs.`,
	Params: []fixes.Param{{Name: "CHASSIS", Doc: "its system-id (Chassis.name), or its hostname where that is one chassis'"}},
	Class:  fixes.Ask,
	Risk:   fixes.High,
	Check:  "duplicate-chassis-stale",
	Plan:   planDeleteChassis,
}

func planDeleteChassis(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
	z, south, c, err := chassisNamed(d, a["CHASSIS"])
	if err != nil {
		return nil, err
	}
	if snapshot.Elsewhere(c) {
		return nil, fixes.Refuse("", "chassis %s stands for a node of another zone or a VTEP: it never reports", c.Name)
	}
	death := ChassisDeath(d, z, south, c)
	switch {
	case death.Alive != "":
		return nil, fixes.Refuse("", "chassis %s lives: %s", c.Name, death.Alive)
	case death.Behind == nil && death.Quiet:
		return nil, fixes.Refuse("ovn-nbctl --wait=hv --timeout=30 sync, which asks all, and again half a minute later",
			"chassis %s is as far as the others, because nothing has been asked of them since: it may live", c.Name)
	case death.Behind == nil:
		return nil, fixes.Refuse("wait half a minute and try again", "chassis %s has been behind the others for too short a time to tell", c.Name)
	case len(death.Others) == 0:
		return nil, fixes.Refuse("run this on a node that has a tunnel to it", "one witness only says that chassis %s is dead: %s", c.Name, death.Behind.Says)
	}
	if held := ChassisHolds(z, south, c, death.Heir); len(held) > 0 {
		return nil, fixes.Refuse("move them to a living chassis first; ovnctl doctor --only gateway-router-without-chassis,dgp-chassis-not-bound names them",
			"chassis %s still holds %s, and nobody would take over", c.Name, strings.Join(held, ", "))
	}
	db, err := z.SB()
	if err != nil {
		return nil, err
	}
	var changes []fixes.Change
	for _, r := range south.ChassisPrivate {
		if r.Name == c.Name {
			private, err := fixes.DeleteRow(d.Context(), db, "Chassis_Private", r.UUID)
			if err != nil {
				return nil, err
			}
			changes = append(changes, private)
		}
	}
	rows, err := fixes.DeleteRows(d.Context(), db, "Chassis", c.UUID)
	if err != nil {
		return nil, err
	}
	// Its private row goes with it, and says itself which chassis it is of.
	rows[0].In = slices.DeleteFunc(rows[0].In, func(r fixes.Ref) bool { return r.Table == "Chassis_Private" })
	changes = append(changes, rows...)
	title := fmt.Sprintf("delete chassis %s of %s", c.Name, c.Hostname)
	p := &fixes.Plan{
		Title:    title,
		Touches:  "tunnels of all nodes to " + c.Hostname + ", which lead nowhere",
		Warnings: []string{"a node that still goes by this name registers again when its ovn-controller starts"},
		Steps: []fixes.Step{fixes.Rows{
			DB: "OVN_Southbound", Zone: z.Name, What: title, Changes: changes,
			Classic: []string{fixes.Command("ovn-sbctl chassis-del %s", c.Name)},
		}},
	}
	if death.Heir != "" {
		p.Warnings = append(p.Warnings, fmt.Sprintf("once %s has registered in its place, this cannot be taken back: the tunnel address is taken", death.Heir))
	}
	return p, nil
}
