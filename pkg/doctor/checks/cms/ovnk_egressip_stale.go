package cms

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
)

var OVNKEgressipStale = &doctor.Check{
	Name:     "ovnk-egressip-stale",
	Category: "ovn-kubernetes",
	Doc: `A stale row of an EgressIP remains

OVN-Kubernetes writes a NAT and a policy row for each pod of an EgressIP. With a stale row the
next pod that gets the address leaves the cluster with the wrong address.`,
	Run: func(p *doctor.Pass) {
		rows := 0
		for _, l := range p.Northbounds() {
			for _, r := range facts.EgressRows(p.Deployment, l.Northbound) {
				rows++
				egressRow(p, r)
			}
		}
		if rows == 0 {
			p.Skip("OVN_Northbound has no rows of an EgressIP")
		}
	},
}

func egressRow(p *doctor.Pass, r facts.EgressRow) {
	f := doctor.Finding{
		Object:   doctor.Object{Kind: "router", Name: r.Router.Name},
		Also:     []doctor.Object{{Kind: r.Table, Name: string(r.UUID)}},
		Evidence: []doctor.Evidence{doctor.NB(r.Table, doctor.Short(r.UUID)).Says(r.Says)},
		Cause:    "ovnkube was down, or failed, when the pod or the EgressIP was removed",
	}
	switch {
	case r.Stale != "":
		f.Reason = "stale"
		f.Title = fmt.Sprintf("router %s still has a row of EgressIP %s for %s", r.Router.Name, r.Name, r.PodIP)
		f.Evidence = append(f.Evidence, doctor.NB("Logical_Switch_Port", "").Says(r.Stale))
		f.Effect = "a pod that has that address now, or gets it, leaves the cluster with " + r.Egress
		f.Fix = catalog.DeleteEgressRow.With(string(r.UUID))
	case r.Conflict != nil:
		f.Reason = "two-addresses"
		f.Title = fmt.Sprintf("%s leaves router %s with two addresses, %s and %s", r.PodIP, r.Router.Name, r.Conflict.Egress, r.Egress)
		f.Evidence = append(f.Evidence, doctor.NB(r.Conflict.Table, doctor.Short(r.Conflict.UUID)).Says(r.Conflict.Says))
		f.Effect = "a connection gets one of the two; which one is undefined"
		f.Next = "find the assigned one: kubectl get egressip -o wide; then restart ovnkube-node on the node, which rewrites the rows"
	default:
		return
	}
	p.Report(f)
}
