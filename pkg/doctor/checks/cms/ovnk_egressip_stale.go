package cms

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
)

var OVNKEgressipStale = &doctor.Check{
	Name:     "ovnk-egressip-stale",
	Category: "ovn-kubernetes",
	Doc: `A row of an egress IP outlived its pod

OVN-Kubernetes writes a NAT and a policy for each pod of an EgressIP. One that stays
behind sends whoever gets the pod's address next out with the wrong address.`,
	Run: func(p *doctor.Pass) {
		rows := 0
		for _, z := range p.Zones {
			north, ok := doctor.Need(p, doctor.NorthboundObject, z.Northbound)
			if !ok {
				continue
			}
			for _, r := range catalog.EgressRows(p.Deployment, north) {
				rows++
				egressRow(p, r)
			}
		}
		if rows == 0 {
			p.Skip("no rows of an EgressIP in OVN_Northbound")
		}
	},
}

func egressRow(p *doctor.Pass, r catalog.EgressRow) {
	f := doctor.Finding{
		Object:   doctor.Object{Kind: "router", Name: r.Router.Name},
		Also:     []doctor.Object{{Kind: r.Table, Name: string(r.UUID)}},
		Evidence: []doctor.Evidence{doctor.NB(r.Table, doctor.Short(r.UUID)).Says(r.Says)},
		Cause:    "ovnkube did not run, or failed, when the pod or the EgressIP went",
	}
	switch {
	case r.Stale != "":
		f.Title = fmt.Sprintf("router %s still has a row of egress IP %s for %s", r.Router.Name, r.Name, r.PodIP)
		f.Evidence = append(f.Evidence, doctor.NB("Logical_Switch_Port", "").Says(r.Stale))
		f.Effect = "whoever has that address now, or gets it, leaves the cluster with " + r.Egress
		f.Fix = catalog.DeleteEgressRow.With(string(r.UUID))
	case r.Conflict != nil:
		f.Title = fmt.Sprintf("%s leaves router %s with two addresses, %s and %s", r.PodIP, r.Router.Name, r.Conflict.Egress, r.Egress)
		f.Evidence = append(f.Evidence, doctor.NB(r.Conflict.Table, doctor.Short(r.Conflict.UUID)).Says(r.Conflict.Says))
		f.Effect = "which of the two a connection gets is left to chance"
		f.Next = "see which is assigned: kubectl get egressip -o wide; then restart ovnkube-node on the node, which writes the rows anew"
	default:
		return
	}
	p.Report(f)
}
