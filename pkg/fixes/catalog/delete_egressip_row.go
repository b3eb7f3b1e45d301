package catalog

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// DeleteEgressRow deletes a stale row of an egress IP.
var DeleteEgressRow = &fixes.Repair{
	Name: "delete-egressip-row",
	Doc: `Delete a stale row of an egress IP

Deletes exactly one NAT or Logical_Router_Policy row that OVN-Kubernetes wrote for an
egress IP, and whose pod is gone.`,
	Params: []fixes.Param{{Name: "UUID", Doc: "the row"}},
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "ovnk-egressip-stale",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		var errs []error
		for _, z := range d.Zones {
			north, err := z.Northbound()
			if err != nil {
				errs = append(errs, err)
				continue
			}
			for _, r := range facts.EgressRows(d, north) {
				if strings.HasPrefix(string(r.UUID), a["UUID"]) && len(a["UUID"]) >= 8 {
					return planEgressRow(&r, d, z)
				}
			}
		}
		return nil, errors.Join(append(errs, fmt.Errorf("no row %q of an egress IP", a["UUID"]))...)
	},
}

func planEgressRow(r *facts.EgressRow, d *snapshot.Deployment, z *snapshot.Zone) (*fixes.Plan, error) {
	if r.Stale == "" {
		return nil, fixes.Refuse("", "the row is needed: %s is the address of a pod, or may be that of a pod in another zone", r.PodIP)
	}
	db, err := z.NB()
	if err != nil {
		return nil, err
	}
	column, classic := "nat", fixes.Command("ovn-nbctl remove Logical_Router %s nat %s", r.Router.Name, r.UUID)
	if r.Table != "NAT" {
		column, classic = "policies", fixes.Command("ovn-nbctl lr-policy-del %s %s", r.Router.Name, r.UUID)
	}
	deletion, err := fixes.DeleteRow(d.Context(), db, r.Table, r.UUID, fixes.Ref{Table: "Logical_Router", UUID: r.Router.UUID, Column: column})
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("delete the row of egress IP %s for %s on router %s", r.Name, r.PodIP, r.Router.Name)
	return &fixes.Plan{
		Title: what, Touches: "what " + r.PodIP + " sends out of the cluster",
		Warnings: []string{"ovnkube owns the row: if it still knows the pod it writes it again; restarting ovnkube-node on the node (ovnkube-master before 4.14) corrects all rows"},
		Steps: []fixes.Step{fixes.Rows{
			DB: "OVN_Northbound", Zone: z.Name, What: what, Changes: []fixes.Change{deletion}, Classic: []string{classic},
		}},
	}, nil
}
