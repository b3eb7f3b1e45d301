package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

func (k *KubeOVN) subnetPolicyGap(s *KubeSubnet, byMatch kubePolicies) {
	g := KubeGap{
		Repair: "kube-ovn-subnet-policy", Args: []string{s.Name}, Kind: "switch", Name: s.Name, Subnet: s.Name,
		Title:   fmt.Sprintf("packets to subnet %s are led out of the cluster", s.Name),
		Effect:  "what pods of other subnets send to it goes to a node's ovn0 instead of straight to the pod, and comes back from the wrong address or not at all",
		touches: "all routed traffic to subnet " + s.Name,
	}
	for _, f := range families {
		cidr, ok := s.CIDRs[f]
		if !ok {
			continue
		}
		match := fmt.Sprintf("ip%d.dst == %s", f, cidr)
		p, there := byMatch[policyKey(kubeSubnetPolicy, match)]
		switch {
		case !there:
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

// pods are the ports of the pods of a subnet.
func (k *KubeOVN) pods(s *KubeSubnet) []*nb.LogicalSwitchPortBrief {
	var out []*nb.LogicalSwitchPortBrief
	for _, u := range s.ls.Ports {
		if p := k.ports[u]; p != nil && p.Type == "" && p.ExternalIDs["pod"] != "" {
			out = append(out, p)
		}
	}
	return out
}

// where are the nodes of a pod: that which holds its port, and those that hold it,
// too, while it migrates. None: it is not up anywhere.
func (k *KubeOVN) where(p *nb.LogicalSwitchPortBrief) []string {
	b := k.binding[p.Name]
	if b == nil || len(b.Chassis) == 0 || len(b.Up) > 0 && !b.Up.Get() {
		return nil
	}
	var out []string
	for _, set := range []ovsdb.Set[ovsdb.UUID]{b.Chassis, b.RequestedChassis, b.AdditionalChassis, b.RequestedAdditionalChassis} {
		for _, u := range set {
			if n := k.nodeOf[u]; n != "" && !slices.Contains(out, n) {
				out = append(out, n)
			}
		}
	}
	return out
}

// ownWay says whether a pod leaves by an address or a route of its own.
func (k *KubeOVN) ownWay() map[string]bool {
	own := map[string]bool{}
	for _, n := range k.rows.NAT {
		own[n.LogicalIP] = true
	}
	for _, r := range k.rows.StaticRoutes {
		if r.Policy.Get() == "src-ip" {
			own[strings.TrimSuffix(strings.TrimSuffix(r.IPPrefix, "/32"), "/128")] = true
		}
	}
	return own
}

func (k *KubeOVN) distributedGaps(s *KubeSubnet, byMatch kubePolicies) {
	lacking := map[string][]*nb.LogicalSwitchPortBrief{} // by node
	member := map[ovsdb.UUID][]string{}                  // the subnet's groups that a port is in
	for _, n := range k.Nodes {
		name := dotted(s.Name + "." + n.Name)
		if g := k.groups[name]; g != nil {
			for _, u := range g.Ports {
				member[u] = append(member[u], name)
			}
		}
	}
	strangers := map[string][]*nb.LogicalSwitchPortBrief{} // by group
	for _, p := range k.pods(s) {
		where := k.where(p)
		if len(where) == 0 {
			continue
		}
		_, ips := kubeAddresses(p.Addresses)
		if slices.ContainsFunc(families, func(f int) bool { return ips[f].IsValid() && k.own[ips[f].String()] }) {
			continue
		}
		right := false
		var others []string
		for _, name := range member[p.UUID] {
			if slices.ContainsFunc(where, func(n string) bool { return dotted(s.Name+"."+n) == name }) {
				right = true
			} else {
				others = append(others, name)
			}
		}
		if !right {
			lacking[where[0]] = append(lacking[where[0]], p)
			continue
		}
		for _, name := range others {
			strangers[name] = append(strangers[name], p)
		}
	}
	for i := range k.Nodes {
		n := &k.Nodes[i]
		if n.Port == nil || !n.Bound && n.chassis == nil {
			continue
		}
		k.portGroupGap(s, n, lacking[n.Name], strangers, member)
		k.gatewayPolicyGap(s, n, byMatch)
	}
}

// portGroupGap is the group of a subnet's pods on a node that is missing, lacks
// pods, or holds those of other nodes.
func (k *KubeOVN) portGroupGap(s *KubeSubnet, n *KubeNode, lacking []*nb.LogicalSwitchPortBrief, strangers map[string][]*nb.LogicalSwitchPortBrief, member map[ovsdb.UUID][]string) {
	name := dotted(s.Name + "." + n.Name)
	g := KubeGap{
		Repair: "kube-ovn-port-group", Args: []string{s.Name, n.Name}, Kind: "port group", Name: name, Node: n.Name, Subnet: s.Name,
		Effect:  fmt.Sprintf("the address sets $%[1]s_ip4 and $%[1]s_ip6 lack them, so what these pods send to the outside does not leave through %[2]s's ovn0: it is lost, or leaves by another node", name, n.Name),
		touches: fmt.Sprintf("what pods of subnet %s on node %s send out of the cluster", s.Name, n.Name),
	}
	want := make([]ovsdb.UUID, 0, len(lacking))
	names := make([]string, 0, len(lacking))
	for _, p := range lacking {
		want, names = append(want, p.UUID), append(names, p.Name)
	}
	is := k.groups[name]
	switch {
	case is == nil:
		g.Title = fmt.Sprintf("the pods of subnet %s on node %s have no port group", s.Name, n.Name)
		g.says("no port group %s, and so no address sets $%s_ip4 and $%s_ip6", name, name, name)
		g.Minor = len(lacking) == 0
		g.Sets = []string{name + "_ip4", name + "_ip6"}
		g.changes = []fixes.Change{{Table: "Port_Group", UUID: ovsdb.Named("group"), After: fixes.Row{
			"name": name, "ports": want,
			"external_ids": map[string]string{"vendor": kubeVendor, "subnet": s.Name, "node": n.Name, "np": s.Name + "/" + n.Name},
		}}}
		g.classic = []string{fixes.Command("ovn-nbctl pg-add %[1]s %[2]s -- set Port_Group %[1]s external_ids:vendor=%[3]s external_ids:subnet=%[4]s external_ids:node=%[5]s external_ids:np=%[4]s/%[5]s",
			name, strings.Join(names, " "), kubeVendor, s.Name, n.Name)}
	case len(lacking) > 0:
		g.Title = fmt.Sprintf("port group %s lacks %s", name, counted(names, "pod"))
		after := slices.Concat([]ovsdb.UUID(is.Ports), want)
		g.membership(is, after)
		g.classic = []string{fixes.Command("ovn-nbctl pg-set-ports %s %s", name, k.names(after))}
	case len(strangers[name]) > 0:
		var wrong []string
		after := slices.DeleteFunc(slices.Clone([]ovsdb.UUID(is.Ports)), func(u ovsdb.UUID) bool {
			return slices.ContainsFunc(strangers[name], func(p *nb.LogicalSwitchPortBrief) bool { return p.UUID == u })
		})
		for _, p := range strangers[name] {
			wrong = append(wrong, p.Name)
			g.says("%s is on %s, and in this group, too", p.Name, k.where(p)[0])
		}
		g.Title = fmt.Sprintf("port group %s holds %s of other nodes", name, counted(wrong, "pod"))
		g.Effect = "which of the two nodes it leaves through is left to chance"
		g.membership(is, after)
		g.classic = []string{fixes.Command("ovn-nbctl pg-set-ports %s %s", name, k.names(after))}
	default:
		return
	}
	for _, p := range lacking {
		text := fmt.Sprintf("%s is on %s and in no group of the subnet", p.Name, n.Name)
		if len(member[p.UUID]) > 0 {
			text = fmt.Sprintf("%s is on %s, but in the group %s", p.Name, n.Name, strings.Join(member[p.UUID], ", "))
		}
		g.says("%s", text)
	}
	k.leave(&g, lacking, member)
	k.Gaps = append(k.Gaps, g)
}

// leave takes ports out of the groups that they are in wrongly.
func (k *KubeOVN) leave(g *KubeGap, ports []*nb.LogicalSwitchPortBrief, member map[ovsdb.UUID][]string) {
	out := map[string][]ovsdb.UUID{}
	for _, p := range ports {
		for _, name := range member[p.UUID] {
			out[name] = append(out[name], p.UUID)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(out)) {
		is := k.groups[name]
		after := slices.DeleteFunc(slices.Clone([]ovsdb.UUID(is.Ports)), func(u ovsdb.UUID) bool { return slices.Contains(out[name], u) })
		g.membership(is, after)
		g.classic = append(g.classic, fixes.Command("ovn-nbctl pg-set-ports %s %s", name, k.names(after)))
	}
}

func (g *KubeGap) membership(is *nb.PortGroup, after []ovsdb.UUID) {
	g.changes = append(g.changes, fixes.Change{
		Table: "Port_Group", UUID: is.UUID,
		Before: fixes.Row{"ports": []ovsdb.UUID(is.Ports)}, After: fixes.Row{"ports": after},
	})
}

func (k *KubeOVN) names(ports []ovsdb.UUID) []string {
	var out []string
	for _, u := range ports {
		if p := k.ports[u]; p != nil {
			out = append(out, p.Name)
		}
	}
	return slices.Sorted(slices.Values(out))
}

func counted(names []string, noun string) string {
	if len(names) == 1 {
		return noun + " " + names[0]
	}
	return fmt.Sprintf("%d %ss", len(names), noun)
}

func (k *KubeOVN) gatewayPolicyGap(s *KubeSubnet, n *KubeNode, byMatch kubePolicies) {
	group := dotted(s.Name + "." + n.Name)
	g := KubeGap{
		Repair: "kube-ovn-gateway-policy", Args: []string{s.Name, n.Name}, Kind: "router", Name: k.Router.Name, Node: n.Name, Subnet: s.Name,
		Title:   fmt.Sprintf("pods of subnet %s on node %s have no way out", s.Name, n.Name),
		Effect:  "what they send out of the cluster is not led to their node's ovn0, and is lost",
		touches: fmt.Sprintf("what pods of subnet %s on node %s send out of the cluster", s.Name, n.Name),
	}
	for _, f := range families {
		join, ok := n.IPs[f]
		if !ok || !s.CIDRs[f].IsValid() {
			continue
		}
		match := fmt.Sprintf("ip%d.src == $%s_ip%d", f, group, f)
		p, there := byMatch[policyKey(kubeGatewayPolicy, match)]
		if there {
			w := wrong(p, "reroute", []string{join.String()})
			if w == "" {
				continue
			}
			g.says("policy %d '%s' %s, and the node's port has %s", kubeGatewayPolicy, match, w, join)
		} else {
			g.says("no policy %d '%s' reroute %s", kubeGatewayPolicy, match, join)
		}
		g.policy(k, p, kubeGatewayPolicy, match, "reroute", []string{join.String()}, map[string]string{"subnet": s.Name, "node": n.Name})
	}
	if len(g.Says) > 0 {
		k.Gaps = append(k.Gaps, g)
	}
}

// centralizedGap is the policy of one family that is missing beside that of the other.
func (k *KubeOVN) centralizedGap(s *KubeSubnet, byMatch kubePolicies) {
	find := func(f int) (nb.Policy, string, bool) {
		match := fmt.Sprintf("ip%d.src == %s", f, s.CIDRs[f])
		p, ok := byMatch[policyKey(kubeGatewayPolicy, match)]
		return p, match, ok
	}
	for _, f := range families {
		if !s.CIDRs[f].IsValid() {
			continue
		}
		_, match, there := find(f)
		twin, _, twinThere := find(10 - f)
		if there || !twinThere {
			continue
		}
		ids := map[string]string{"subnet": s.Name}
		var hops []string
		for _, n := range k.Nodes {
			if twin.ExternalIDs[n.Name] != "" && n.IPs[f].IsValid() {
				ids[n.Name] = n.IPs[f].String()
				hops = append(hops, n.IPs[f].String())
			}
		}
		if len(hops) == 0 {
			continue // the gateway nodes have no address of this family
		}
		g := KubeGap{
			Repair: "kube-ovn-gateway-policy", Args: []string{s.Name}, Kind: "router", Name: k.Router.Name, Subnet: s.Name,
			Title:   fmt.Sprintf("pods of subnet %s have no way out over IPv%d", s.Name, f),
			Effect:  "what they send out of the cluster is not led to the gateway node's ovn0, and is lost",
			touches: fmt.Sprintf("what pods of subnet %s send out of the cluster over IPv%d", s.Name, f),
		}
		g.says("no policy %d '%s' reroute %s, beside '%s'", kubeGatewayPolicy, match, strings.Join(hops, ","), twin.Match)
		g.policy(k, nb.Policy{}, kubeGatewayPolicy, match, "reroute", hops, ids)
		k.Gaps = append(k.Gaps, g)
	}
}

// noGatewayGap is a subnet for which nothing leads out. Of what type it is, only
// kube-ovn knows.
func (k *KubeOVN) noGatewayGap(s *KubeSubnet) {
	pods := len(k.pods(s))
	k.Gaps = append(k.Gaps, KubeGap{
		Kind: "switch", Name: s.Name, Subnet: s.Name, Minor: pods == 0,
		Title:  fmt.Sprintf("subnet %s has no way out", s.Name),
		Says:   []string{fmt.Sprintf("no policy %d and no port group of the subnet on router %s", kubeGatewayPolicy, k.Router.Name)},
		Effect: "what its pods send out of the cluster is lost",
	})
}
