package cms

import (
	"errors"
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
)

var KubeOvnJoinGap = &doctor.Check{
	Name:     "kube-ovn-join-gap",
	Category: "kube-ovn",
	Doc: `Kube-OVN has not written all that joins nodes and pods

Looks at the default VPC: the default route to the join switch, each node's port
node-NODE and policy 30000, its port groups, each subnet's policy 31000 and the
policies 29000 by which its pods leave, of both families.`,
	Settle: true, // kube-ovn writes a new node's rows one by one
	Run:    joinGaps,
}

func joinGaps(p *doctor.Pass) {
	found := false
	for _, z := range p.Zones {
		k, err := catalog.ReadKubeOVN(p.Deployment, z)
		switch {
		case errors.Is(err, catalog.ErrNoKubeOVN):
			continue
		case err != nil:
			p.Unknown(doctor.Object{Kind: "zone", Name: z.Name}, err)
			continue
		}
		found = true
		for _, g := range k.Gaps {
			p.Report(kubeFinding(g))
		}
	}
	if !found {
		p.Skip(catalog.ErrNoKubeOVN.Error())
	}
}

func kubeFinding(g catalog.KubeGap) doctor.Finding {
	f := doctor.Finding{
		Object: doctor.Object{Kind: g.Kind, Name: g.Name},
		Title:  g.Title,
		Cause:  "kube-ovn-controller has not written it, or somebody else has taken it away",
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
