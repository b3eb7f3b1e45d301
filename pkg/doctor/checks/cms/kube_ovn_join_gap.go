package cms

import (
	"errors"
	"fmt"
	"iter"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var KubeOvnJoinGap = &doctor.Check{
	Name:     "kube-ovn-join-gap",
	Category: "kube-ovn",
	Doc: `Rows with which Kube-OVN connects nodes and pods are missing

Checks the default VPC: the default route to the join switch, each node's port node-NODE and
policy 30000, its port groups, each subnet's policy 31000 and the policies 29000 through which
its pods leave, for both families.`,
	Settle: true, // Kube-OVN writes the rows of a new node one by one
	Run: func(p *doctor.Pass) {
		for _, k := range kubeOVNs(p) {
			for _, g := range k.Gaps {
				p.Report(kubeFinding(g))
			}
		}
	},
}

// kubeOVNs are the zones that Kube-OVN manages. Without any the check is skipped.
func kubeOVNs(p *doctor.Pass) iter.Seq2[*snapshot.Zone, *catalog.KubeOVN] {
	return func(yield func(*snapshot.Zone, *catalog.KubeOVN) bool) {
		found := false
		for z := range p.EachZone() {
			k, err := catalog.ReadKubeOVN(p.Deployment, z)
			switch {
			case errors.Is(err, catalog.ErrNoKubeOVN):
				continue
			case err != nil:
				p.Unknown(doctor.Object{Kind: "zone", Name: z.Name}, err)
				continue
			}
			found = true
			if !yield(z, k) {
				return
			}
		}
		if !found {
			p.Skip(catalog.ErrNoKubeOVN.Error())
		}
	}
}

func kubeFinding(g catalog.KubeGap) doctor.Finding {
	f := doctor.Finding{
		Object: doctor.Object{Kind: g.Kind, Name: g.Name},
		Reason: g.Repair,
		Title:  g.Title,
		Cause:  "kube-ovn-controller has not written it, or it was removed",
		Effect: g.Effect,
	}
	if g.Minor {
		f.Result = doctor.Warning
	}
	for _, s := range g.Says {
		f.Evidence = append(f.Evidence, doctor.Other("Northbound").Says(s))
	}
	if g.Node != "" {
		f.Also = append(f.Also, doctor.NodeObject(g.Node))
	}
	if g.Subnet != "" {
		f.Also = append(f.Also, doctor.Object{Kind: "switch", Name: g.Subnet})
	}
	for _, set := range g.Sets {
		f.Also = append(f.Also, doctor.Object{Kind: "address set", Name: set})
	}
	const restart = "restart kube-ovn-controller, which writes it when it starts: kubectl -n kube-system rollout restart deployment kube-ovn-controller"
	switch r := catalog.Find(g.Repair); {
	case r == nil:
		f.Next = restart
	case !g.Known():
		f.Next = fmt.Sprintf("%s, or %s", restart, g.Advice())
	default:
		f.Fix = r.With(g.Args...)
	}
	return f
}
