package catalog

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// KubeOVNNodeGroup adds a node's port group.
var KubeOVNNodeGroup = kubeRepair("kube-ovn-node-group",
	"Restore a node's port group\n\nAdds node.NODE with the node's pods and the ACLs that the groups of other nodes have.", kubeNodeParam)

// nodeGroupGap adds a missing port group node.NODE, whose ACLs let a node reach its pods despite network policies.
func (k *KubeOVN) nodeGroupGap(n *KubeNode) {
	name := "node." + dotted(n.Name)
	if k.groups[name] != nil {
		return
	}
	g := KubeGap{
		Repair: "kube-ovn-node-group", Args: []string{n.Name}, Kind: "port group", Name: name, Node: n.Name,
		Title:   fmt.Sprintf("node %s has no port group %s", n.Name, name),
		Effect:  "network policies also block the node itself: probes of the kubelet fail",
		touches: "traffic between node " + n.Name + " and its pods that network policies apply to",
		Minor:   true,
	}
	g.says("no port group %s", name)
	var ports []ovsdb.UUID
	var names []string
	for _, s := range k.Subnets {
		for _, p := range k.pods(&s) {
			if where := k.where(p); len(where) > 0 && where[0] == n.Name {
				ports, names = append(ports, p.UUID), append(names, p.Name)
			}
		}
	}
	row := fixes.Row{"name": name, "ports": ports, "external_ids": map[string]string{"node": n.Name, "np": "node/" + n.Name}}
	classic := fixes.Command("ovn-nbctl pg-add %s %s -- set Port_Group %s external_ids:node=%s external_ids:np=node/%s", name, names, name, n.Name, n.Name)
	g.changes = []fixes.Change{{Table: "Port_Group", UUID: ovsdb.Named("group"), After: row}}
	g.nodeRules(k, n, name, row, &classic)
	g.classic = []string{classic}
	k.Gaps = append(k.Gaps, g)
}

// nodeRules adds another node's group ACLs, for this node.
func (g *KubeGap) nodeRules(k *KubeOVN, n *KubeNode, name string, row fixes.Row, classic *string) {
	var model *nb.PortGroup
	for i := range k.Nodes {
		if m := k.groups["node."+dotted(k.Nodes[i].Name)]; m != nil && len(m.ACLs) > 0 {
			model = m
			break
		}
	}
	if model == nil {
		return
	}
	g.Minor = false
	var acls []ovsdb.UUID
	for _, u := range model.ACLs {
		acl := k.acls[u]
		if acl == nil {
			continue
		}
		m := aclNode.Get().FindStringSubmatch(acl.Match)
		if m == nil {
			continue
		}
		was, err := netip.ParseAddr(m[1])
		if err != nil {
			continue
		}
		now := netip.Addr{}
		if p, ok := k.nodePolicy(n, family(was)); ok {
			now, _ = matchAddress(p.Match)
		}
		if slices.ContainsFunc(k.Nodes, func(o KubeNode) bool { return o.IPs[family(was)] == was }) {
			now = n.IPs[family(was)]
		}
		if !now.IsValid() {
			continue
		}
		match := strings.ReplaceAll(strings.Replace(acl.Match, was.String(), now.String(), 1), "$"+model.Name, "$"+name)
		id := ovsdb.Named(fmt.Sprintf("acl%d", len(acls)))
		acls = append(acls, id)
		after := fixes.Row{"direction": acl.Direction, "priority": acl.Priority, "match": match, "action": acl.Action, "external_ids": map[string]string{"vendor": kubeVendor, "parent": name}}
		if len(acl.Options) > 0 {
			after["options"] = maps.Clone(acl.Options)
		}
		if acl.Tier != 0 {
			after["tier"] = acl.Tier
		}
		g.changes = append(g.changes, fixes.Change{Table: "ACL", UUID: id, After: after})
		*classic += fmt.Sprintf(" -- --type=port-group acl-add %s %s %d '%s' %s", name, acl.Direction, acl.Priority, match, acl.Action)
	}
	row["acls"] = acls
}
