package catalog

import (
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
)

// KubeOVNGatewayPolicy routes a subnet's egress traffic to its gateway's ovn0.
var KubeOVNGatewayPolicy = kubeRepair("kube-ovn-gateway-policy",
	"Route what pods send out to the ovn0 of their gateway\n\nAdds the policies 29000 of a subnet's pods on a node, for both families, or corrects their next hops.", kubeSubnetParam,
	fixes.Param{Name: "NODE", Doc: "the node; none for a centralized subnet", Optional: true})

func (k *KubeOVN) gatewayPolicyGap(s *KubeSubnet, n *KubeNode) {
	group := dotted(s.Name + "." + n.Name)
	g := KubeGap{
		Repair: "kube-ovn-gateway-policy", Args: []string{s.Name, n.Name}, Kind: "router", Name: k.Router.Name, Node: n.Name, Subnet: s.Name,
		Title:   fmt.Sprintf("pods of subnet %s on node %s have no route out", s.Name, n.Name),
		Effect:  "what they send out of the cluster is not routed to their node's ovn0, and is lost",
		touches: fmt.Sprintf("what pods of subnet %s on node %s send out of the cluster", s.Name, n.Name),
	}
	for _, f := range families {
		join, ok := n.IPs[f]
		if !ok || !s.CIDRs[f].IsValid() {
			continue
		}
		match := fmt.Sprintf("ip%d.src == $%s_ip%d", f, group, f)
		g.reroute(k, k.policy(kubeGatewayPolicy, match), kubeGatewayPolicy, match, join.String(), map[string]string{"subnet": s.Name, "node": n.Name})
	}
	if len(g.Says) > 0 {
		k.Gaps = append(k.Gaps, g)
	}
}

// centralizedGap adds a missing policy of one family if the other family's exists.
func (k *KubeOVN) centralizedGap(s *KubeSubnet) {
	find := func(f int) (nb.Policy, string) {
		match := fmt.Sprintf("ip%d.src == %s", f, s.CIDRs[f])
		return k.policy(kubeGatewayPolicy, match), match
	}
	for _, f := range families {
		if !s.CIDRs[f].IsValid() {
			continue
		}
		is, match := find(f)
		other, _ := find(10 - f)
		if is.UUID != "" || other.UUID == "" {
			continue
		}
		ids := map[string]string{"subnet": s.Name}
		var hops []string
		for _, n := range k.Nodes {
			if other.ExternalIDs[n.Name] != "" && n.IPs[f].IsValid() {
				ids[n.Name] = n.IPs[f].String()
				hops = append(hops, n.IPs[f].String())
			}
		}
		if len(hops) == 0 {
			continue // the gateway nodes have no address of this family
		}
		g := KubeGap{
			Repair: "kube-ovn-gateway-policy", Args: []string{s.Name}, Kind: "router", Name: k.Router.Name, Subnet: s.Name,
			Title:   fmt.Sprintf("pods of subnet %s have no route out over IPv%d", s.Name, f),
			Effect:  "what they send out of the cluster is not routed to the gateway node's ovn0, and is lost",
			touches: fmt.Sprintf("what pods of subnet %s send out of the cluster over IPv%d", s.Name, f),
		}
		g.says("no policy %d '%s' reroute %s, but '%s' exists", kubeGatewayPolicy, match, strings.Join(hops, ","), other.Match)
		g.policy(k, nb.Policy{}, kubeGatewayPolicy, match, "reroute", hops, ids)
		k.Gaps = append(k.Gaps, g)
	}
}

// noGatewayGap adds a subnet without a route out. Only kube-ovn knows its gateway type.
func (k *KubeOVN) noGatewayGap(s *KubeSubnet) {
	pods := len(k.pods(s))
	k.Gaps = append(k.Gaps, KubeGap{
		Kind: "switch", Name: s.Name, Subnet: s.Name, Minor: pods == 0,
		Title:  fmt.Sprintf("subnet %s has no route out", s.Name),
		Says:   []string{fmt.Sprintf("no policy %d and no port group of the subnet on router %s", kubeGatewayPolicy, k.Router.Name)},
		Effect: "what its pods send out of the cluster is lost",
	})
}
