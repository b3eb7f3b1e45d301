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

// KubeOVNPortGroup puts a subnet's pods on a node into their port group.
var KubeOVNPortGroup = kubeRepair("kube-ovn-port-group",
	"Put the pods of a node into their port group\n\nAdds the port group SUBNET.NODE if it is missing, adds the node's pods to it and removes them from\nthose of other nodes.", kubeSubnetParam, kubeNodeParam)

func (k *KubeOVN) distributedGaps(s *KubeSubnet) {
	lacking := map[string][]*nb.LogicalSwitchPortBrief{} // by node
	member := map[ovsdb.UUID][]string{}                  // the subnet's groups that contain a port
	for _, n := range k.Nodes {
		name := dotted(s.Name + "." + n.Name)
		if g := k.groups[name]; g != nil {
			for _, u := range g.Ports {
				member[u] = append(member[u], name)
			}
		}
	}
	foreign := map[string][]*nb.LogicalSwitchPortBrief{} // pods of other nodes, by group
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
			foreign[name] = append(foreign[name], p)
		}
	}
	for i := range k.Nodes {
		n := &k.Nodes[i]
		if n.Port == nil || !n.Bound && n.chassis == nil {
			continue
		}
		k.portGroupGap(s, n, lacking[n.Name], foreign, member)
		k.gatewayPolicyGap(s, n)
	}
}

// portGroupGap adds a missing group of a subnet's pods on a node, or one that lacks pods or holds other nodes'.
func (k *KubeOVN) portGroupGap(s *KubeSubnet, n *KubeNode, lacking []*nb.LogicalSwitchPortBrief, foreign map[string][]*nb.LogicalSwitchPortBrief, member map[ovsdb.UUID][]string) {
	name := dotted(s.Name + "." + n.Name)
	g := KubeGap{
		Repair: "kube-ovn-port-group", Args: []string{s.Name, n.Name}, Kind: "port group", Name: name, Node: n.Name, Subnet: s.Name,
		Effect:  fmt.Sprintf("the address sets $%[1]s_ip4 and $%[1]s_ip6 lack them, so what these pods send out does not leave through %[2]s's ovn0: it is lost, or leaves through another node", name, n.Name),
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
		g.Title = fmt.Sprintf("port group %s lacks %s", name, pods(names))
		after := slices.Concat([]ovsdb.UUID(is.Ports), want)
		g.membership(is, after)
		g.classic = []string{fixes.Command("ovn-nbctl pg-set-ports %s %s", name, k.names(after))}
	case len(foreign[name]) > 0:
		var wrong []string
		after := slices.DeleteFunc(slices.Clone([]ovsdb.UUID(is.Ports)), func(u ovsdb.UUID) bool {
			return slices.ContainsFunc(foreign[name], func(p *nb.LogicalSwitchPortBrief) bool { return p.UUID == u })
		})
		for _, p := range foreign[name] {
			wrong = append(wrong, p.Name)
			g.says("%s is on %s, and also in this group", p.Name, k.where(p)[0])
		}
		g.Title = fmt.Sprintf("port group %s holds %s of other nodes", name, pods(wrong))
		g.Effect = "which of the two nodes it leaves through is random"
		g.membership(is, after)
		g.classic = []string{fixes.Command("ovn-nbctl pg-set-ports %s %s", name, k.names(after))}
	default:
		return
	}
	for _, p := range lacking {
		text := fmt.Sprintf("%s is on %s and in no group of the subnet", p.Name, n.Name)
		if len(member[p.UUID]) > 0 {
			text = fmt.Sprintf("%s is on %s, but in group %s", p.Name, n.Name, strings.Join(member[p.UUID], ", "))
		}
		g.says("%s", text)
	}
	k.leave(&g, lacking, member)
	k.Gaps = append(k.Gaps, g)
}

// leave removes ports from groups where they do not belong.
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

// pods formats pods for a title: the name of one, or the number of several.
func pods(names []string) string {
	if len(names) == 1 {
		return "pod " + names[0]
	}
	return plural(len(names), "pod")
}
