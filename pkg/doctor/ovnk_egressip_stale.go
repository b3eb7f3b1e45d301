package doctor

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
)

var ovnkEgressipStale = &Check{
	Name:     "ovnk-egressip-stale",
	Category: "ovn-kubernetes",
	Doc: `A row of an egress IP outlived its pod

OVN-Kubernetes writes a NAT and a policy for each pod of an EgressIP. One that stays
behind sends whoever gets the pod's address next out with the wrong address.`,
	Run: func(p *Pass) {
		rows := 0
		for _, z := range p.Zones {
			north, err := z.Northbound()
			if err != nil {
				p.Unknown(Object{Kind: "database", Name: "OVN_Northbound"}, err)
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

func egressRow(p *Pass, r catalog.EgressRow) {
	f := Finding{
		Object:   Object{Kind: "router", Name: r.Router.Name},
		Also:     []Object{{Kind: r.Table, Name: string(r.UUID)}},
		Evidence: []Evidence{{Source: fmt.Sprintf("Northbound %s %.8s", r.Table, r.UUID), Says: r.Says}},
		Cause:    "ovnkube did not run, or failed, when the pod or the EgressIP went",
	}
	switch {
	case r.Stale != "":
		f.Title = fmt.Sprintf("router %s still has a row of egress IP %s for %s", r.Router.Name, r.Name, r.PodIP)
		f.Evidence = append(f.Evidence, Evidence{Source: "Northbound Logical_Switch_Port", Says: r.Stale})
		f.Effect = "whoever has that address now, or gets it, leaves the cluster with " + r.Egress
		f.Fix = catalog.DeleteEgressRow.With(string(r.UUID))
	case r.Conflict != nil:
		f.Title = fmt.Sprintf("%s leaves router %s with two addresses, %s and %s", r.PodIP, r.Router.Name, r.Conflict.Egress, r.Egress)
		f.Evidence = append(f.Evidence, Evidence{Source: fmt.Sprintf("Northbound %s %.8s", r.Conflict.Table, r.Conflict.UUID), Says: r.Conflict.Says})
		f.Effect = "which of the two a connection gets is left to chance"
		f.Next = "see which is assigned: kubectl get egressip -o wide; then restart ovnkube-node on the node, which writes the rows anew"
	default:
		return
	}
	p.Report(f)
}
