package catalog

import (
	"fmt"
)

// KubeOVNSubnetPolicy adds the policies that route to a subnet.
var KubeOVNSubnetPolicy = kubeRepair("kube-ovn-subnet-policy",
	"Route packets to a subnet by its routes again\n\nAdds the policies 31000 of a subnet, for both families.", kubeSubnetParam)

func (k *KubeOVN) subnetPolicyGap(s *KubeSubnet) {
	g := KubeGap{
		Repair: "kube-ovn-subnet-policy", Args: []string{s.Name}, Kind: "switch", Name: s.Name, Subnet: s.Name,
		Title:   fmt.Sprintf("packets to subnet %s are routed out of the cluster", s.Name),
		Effect:  "what pods of other subnets send to it goes to a node's ovn0 instead of straight to the pod, and the reply comes from the wrong address or not at all",
		touches: "all routed traffic to subnet " + s.Name,
	}
	for _, f := range families {
		cidr, ok := s.CIDRs[f]
		if !ok {
			continue
		}
		match := fmt.Sprintf("ip%d.dst == %s", f, cidr)
		p := k.policy(kubeSubnetPolicy, match)
		switch {
		case p.UUID == "":
			g.says("no policy %d '%s' allow", kubeSubnetPolicy, match)
		case p.Action != "allow":
			g.says("policy %d '%s' has action %s", kubeSubnetPolicy, match, p.Action)
		default:
			continue
		}
		g.policy(k, p, kubeSubnetPolicy, match, "allow", nil, map[string]string{"subnet": s.Name})
	}
	if len(g.Says) > 0 {
		k.Gaps = append(k.Gaps, g)
	}
}
