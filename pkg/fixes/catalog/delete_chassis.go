package catalog

import (
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// DeleteChassis deletes the rows that a node left behind in the Southbound.
var DeleteChassis = &fixes.Repair{
	Name: "delete-chassis",
	Doc: `Delete the rows of a stale chassis

Deletes its Chassis, Encap and Chassis_Private rows, as ovn-sbctl chassis-del does, so that
the node can register under its new system-id. It refuses unless two signs show that the
chassis is dead: it has not followed what others have followed, and its address belongs to
another node or does not reply, or its tunnels are down. It refuses while the chassis holds
ports or gateways that no other one would take over, and for chassis of other zones and
VTEPs.`,
	Params: []fixes.Param{{Name: "CHASSIS", Doc: "its system-id (Chassis.name), or its hostname if only one chassis has it"}},
	Class:  fixes.Ask,
	Risk:   fixes.High,
	Check:  "duplicate-chassis-stale",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		z, south, c, err := chassisNamed(d, a["CHASSIS"])
		if err != nil {
			return nil, err
		}
		death := facts.ChassisDeath(d, z, south, c)
		if err := checkDead(z, south, c, death); err != nil {
			return nil, err
		}
		changes, err := chassisRows(d, z, south, c)
		if err != nil {
			return nil, err
		}
		title := "delete chassis " + c.Name + " of " + c.Hostname
		p := &fixes.Plan{
			Title:    title,
			Touches:  "tunnels of all nodes to " + c.Hostname + ", which lead nowhere",
			Warnings: []string{"a node that still has this system-id registers again when its ovn-controller starts"},
			Steps: []fixes.Step{fixes.Rows{
				DB: "OVN_Southbound", Zone: z.Name, What: title, Changes: changes,
				Classic: []string{fixes.Command("ovn-sbctl chassis-del %s", c.Name)},
			}},
		}
		if death.Successor != "" {
			p.Warnings = append(p.Warnings, death.Successor+" will register in its place with the same tunnel address: then this cannot be undone")
		}
		return p, nil
	},
}

// checkDead refuses unless a chassis is certainly dead, and nothing is lost with it.
func checkDead(z *snapshot.Zone, south *snapshot.Southbound, c *sb.Chassis, death facts.Death) error {
	switch {
	case snapshot.Elsewhere(c):
		return fixes.Refuse("", "chassis %s stands for a node of another zone or a VTEP: it never reports", c.Name)
	case death.Alive != "":
		return fixes.Refuse("", "chassis %s is alive: %s", c.Name, death.Alive)
	case death.Behind == nil && death.Quiet:
		return fixes.Refuse("ask all: ovn-nbctl --wait=hv --timeout=30 sync; then try again half a minute later",
			"chassis %s is up to date, because nothing was asked of any chassis since: it may be alive", c.Name)
	case death.Behind == nil:
		return fixes.Refuse("wait half a minute and try again", "chassis %s has not been behind the others for long enough", c.Name)
	case len(death.Others) == 0:
		return fixes.Refuse("run this on a node that has a tunnel to it", "only one sign shows that chassis %s is dead: %s", c.Name, death.Behind.Says)
	}
	if held := facts.ChassisHolds(z, south, c, death.Successor); len(held) > 0 {
		return fixes.Refuse("move them to a live chassis first; ovnctl doctor --only gateway-router-without-chassis,dgp-chassis-not-bound names them",
			"chassis %s still holds %s, which no other chassis would take over", c.Name, strings.Join(held, ", "))
	}
	return nil
}

// chassisRows returns the changes that delete a chassis with its Encap and Chassis_Private rows.
func chassisRows(d *snapshot.Deployment, z *snapshot.Zone, south *snapshot.Southbound, c *sb.Chassis) ([]fixes.Change, error) {
	db, err := z.SB()
	if err != nil {
		return nil, err
	}
	var changes []fixes.Change
	for _, r := range south.ChassisPrivate {
		if r.Name != c.Name {
			continue
		}
		private, err := fixes.DeleteRow(d.Context(), db, "Chassis_Private", r.UUID)
		if err != nil {
			return nil, err
		}
		changes = append(changes, private)
	}
	rows, err := fixes.DeleteRows(d.Context(), db, "Chassis", c.UUID)
	if err != nil {
		return nil, err
	}
	// Its private row is deleted with it, and itself refers to its chassis.
	rows[0].In = slices.DeleteFunc(rows[0].In, func(r fixes.Ref) bool { return r.Table == "Chassis_Private" })
	return append(changes, rows...), nil
}
