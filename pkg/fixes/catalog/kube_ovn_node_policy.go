package catalog

import (
	"fmt"
	"iter"
	"net/netip"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
)

// KubeOVNNodePolicy routes packets for a node's own address to its ovn0.
var KubeOVNNodePolicy = kubeRepair("kube-ovn-node-policy",
	"Route packets to a node's own address to its ovn0\n\nAdds the policies 30000 of a node, for both families, or corrects their next hops. The address\nis that of the ACLs which let the node reach its pods, or else the tunnel address if it is that\non all other nodes. If it is neither, ADDRESS must be given.", kubeNodeParam,
	fixes.Param{Name: "ADDRESS", Doc: "the node's own address, if it is unknown", Optional: true})

// nodeAddress returns the node's own address in the nodes' network, if certain: it is in the ACLs that let the node
// reach its pods, or is the tunnel address as on every other node. Written reports whether kube-ovn wrote it.
func (k *KubeOVN) nodeAddress(n *KubeNode, f int) (a netip.Addr, written bool) {
	for a := range k.aclAddresses(k.groups["node."+dotted(n.Name)]) {
		if family(a) == f && n.IPs[f] != a {
			return a, true
		}
	}
	encap := k.encap(n.chassis, f)
	for i := range k.Nodes {
		other := &k.Nodes[i]
		p, ok := k.nodePolicy(other, f)
		if !ok || other.Name == n.Name {
			continue
		}
		if a, ok := matchAddress(p.Match); !ok || a != k.encap(other.chassis, f) {
			return netip.Addr{}, false
		}
	}
	return encap, false
}

// aclAddresses returns the nodes' addresses in a port group's ACLs.
func (k *KubeOVN) aclAddresses(g *nb.PortGroup) iter.Seq[netip.Addr] {
	return func(yield func(netip.Addr) bool) {
		if g == nil {
			return
		}
		for _, u := range g.ACLs {
			acl := k.acls[u]
			if acl == nil {
				continue
			}
			m := aclNode.Get().FindStringSubmatch(acl.Match)
			if m == nil {
				continue
			}
			if a, err := netip.ParseAddr(m[1]); err == nil && !yield(a) {
				return
			}
		}
	}
}

func (k *KubeOVN) nodePolicyGap(n *KubeNode) {
	g := KubeGap{
		Repair: "kube-ovn-node-policy", Args: []string{n.Name}, Kind: "router", Name: k.Router.Name, Node: n.Name,
		Title:   fmt.Sprintf("pods have no route to the address of node %s", n.Name),
		Effect:  "what pods send to the node itself (kubelet, host network pods, node ports) leaves through the wrong node, or is lost",
		touches: "traffic of pods to node " + n.Name,
	}
	for _, f := range families {
		join, ok := n.IPs[f]
		if !ok {
			continue
		}
		p, there := k.nodePolicy(n, f)
		ids := map[string]string{"node": n.Name, "address-family": fmt.Sprint(f)}
		if there {
			g.reroute(k, p, kubeNodePolicy, p.Match, join.String(), ids)
			continue
		}
		a, written := k.nodeAddress(n, f)
		if !written && !k.encap(n.chassis, f).IsValid() && !k.othersHave(n, f) {
			continue // the node may have no address of this family
		}
		if !a.IsValid() {
			g.says("no policy %d 'ip%d.dst == …' with next hop %s; the address of this family that the node has is unknown", kubeNodePolicy, f, join)
			g.Minor = len(g.changes) == 0 && !k.encap(n.chassis, f).IsValid()
			continue
		}
		match := fmt.Sprintf("ip%d.dst == %s", f, a)
		g.Minor = false
		g.reroute(k, nb.Policy{}, kubeNodePolicy, match, join.String(), ids)
	}
	if len(g.Says) > 0 {
		g.guards = append(g.guards, fixes.Guard{Table: "Logical_Switch_Port", UUID: n.Port.UUID, Columns: fixes.Row{"addresses": []string(n.Port.Addresses)}})
		k.Gaps = append(k.Gaps, g)
	}
}

// othersHave reports whether any other node has its policy of a family.
func (k *KubeOVN) othersHave(n *KubeNode, f int) bool {
	for of := range k.ofNode {
		if of.family == f && of.name != n.Name {
			return true
		}
	}
	return false
}

// giveAddress adds the policy for a given address.
func (k *KubeOVN) giveAddress(g *KubeGap, a fixes.Args) error {
	addr, err := netip.ParseAddr(a["ADDRESS"])
	if err != nil {
		return fmt.Errorf("ADDRESS: %w", err)
	}
	i := slices.IndexFunc(k.Nodes, func(n KubeNode) bool { return n.Name == a["NODE"] })
	n := &k.Nodes[i]
	join, ok := n.IPs[family(addr)]
	if !ok {
		return fmt.Errorf("node %s has no address of that family on switch %s", n.Name, k.Join.Name)
	}
	if p, there := k.nodePolicy(n, family(addr)); there {
		return fixes.Refuse("", "policy '%s' of node %s exists", p.Match, n.Name)
	}
	g.changes, g.classic, g.guards = nil, nil, nil
	g.policy(k, nb.Policy{}, kubeNodePolicy, fmt.Sprintf("ip%d.dst == %s", family(addr), addr), "reroute", []string{join.String()},
		map[string]string{"node": n.Name, "address-family": fmt.Sprint(family(addr))})
	return nil
}
