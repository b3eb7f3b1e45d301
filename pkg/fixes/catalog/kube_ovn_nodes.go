package catalog

import (
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// nodePortGap is a node without its port on the join switch. What the port was
// like, the node's own ovn0 says.
func (k *KubeOVN) nodePortGap(n *KubeNode) {
	port := "node-" + n.Name
	g := KubeGap{
		Repair: "kube-ovn-node-port", Args: []string{n.Name}, Kind: "port", Name: port, Node: n.Name,
		Title:   fmt.Sprintf("node %s has no port on the switch %s", n.Name, k.Join.Name),
		Effect:  "no packet gets from a pod to this node or back, and what leaves the cluster through it is lost",
		touches: "traffic of pods with node " + n.Name + ", and what they send out through it",
	}
	g.says("switch %s has no port %s", k.Join.Name, port)
	mac, ips := k.ovn0(n)
	if mac == "" || len(ips) == 0 {
		g.says("its MAC and addresses are those of ovn0 on %s, which was not read", n.Name)
		k.Gaps = append(k.Gaps, g)
		return
	}
	addresses := strings.Join(append([]string{mac}, ips...), " ")
	g.says("ovn0 on %s has %s", n.Name, addresses)
	g.guards = []fixes.Guard{{Table: "Logical_Switch", UUID: k.Join.UUID, Columns: fixes.Row{"ports": []ovsdb.UUID(k.Join.Ports)}}}
	g.changes = []fixes.Change{{
		Table: "Logical_Switch_Port", UUID: ovsdb.Named("port"),
		After: fixes.Row{"name": port, "addresses": []string{addresses}, "external_ids": map[string]string{"vendor": kubeVendor}},
		In:    []fixes.Ref{{Table: "Logical_Switch", UUID: k.Join.UUID, Column: "ports"}},
	}}
	g.classic = []string{fixes.Command("ovn-nbctl lsp-add %s %s -- lsp-set-addresses %s %s -- set Logical_Switch_Port %s external_ids:vendor=%s", k.Join.Name, port, port, addresses, port, kubeVendor)}
	k.Gaps = append(k.Gaps, g)
}

// ovn0 is the MAC and the addresses of a node's interface to the join switch, as
// its own Open_vSwitch has them.
func (k *KubeOVN) ovn0(n *KubeNode) (string, []string) {
	h := k.d.Host(n.Name)
	if h == nil && n.chassis != nil {
		h = k.d.Host(n.chassis.Name)
	}
	if h == nil {
		return "", nil
	}
	s, err := h.Switch()
	if err != nil {
		return "", nil
	}
	for _, i := range s.Interfaces {
		if i.ExternalIDs["iface-id"] != "node-"+n.Name {
			continue
		}
		mac := i.MAC.Get()
		if mac == "" {
			mac = i.MACInUse.Get()
		}
		var ips []string
		for ip := range strings.SplitSeq(i.ExternalIDs["ip"], ",") {
			if a, err := netip.ParseAddr(ip); err == nil {
				ips = append(ips, a.String())
			}
		}
		return mac, ips
	}
	return "", nil
}

var aclNode = regexp.MustCompile(`^ip[46]\.(?:src|dst) == ([0-9a-f.:]+) && ip[46]\.(?:src|dst) == \$`)

// nodeAddress is the node's own address, that of the cluster's nodes, if it is
// certain: the rules that let the node talk to its pods name it, or it is the
// tunnel address as it is on every other node. Written says that kube-ovn has
// once written it down.
func (k *KubeOVN) nodeAddress(n *KubeNode, f int) (a netip.Addr, written bool) {
	if g := k.groups["node."+dotted(n.Name)]; g != nil {
		for _, u := range g.ACLs {
			acl := k.acls[u]
			if acl == nil {
				continue
			}
			if m := aclNode.FindStringSubmatch(acl.Match); m != nil {
				if a, err := netip.ParseAddr(m[1]); err == nil && family(a) == f && n.IPs[f] != a {
					return a, true
				}
			}
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

// encap is the tunnel address of a chassis, of a family.
func (k *KubeOVN) encap(c *sb.Chassis, f int) netip.Addr {
	if c == nil {
		return netip.Addr{}
	}
	return k.encaps[nodeFamily{c.Name, f}]
}

// nodePolicy is the policy that leads to a node's own address.
func (k *KubeOVN) nodePolicy(n *KubeNode, f int) (nb.Policy, bool) {
	if i, ok := k.ofNode[nodeFamily{n.Name, f}]; ok {
		return k.policies[i], true
	}
	if i, ok := k.toHop[n.IPs[f]]; ok {
		return k.policies[i], true
	}
	return nb.Policy{}, false
}

// matchAddress reads "ip4.dst == A".
func matchAddress(match string) (netip.Addr, bool) {
	for _, f := range families {
		if text, ok := strings.CutPrefix(strings.ReplaceAll(match, " ", ""), fmt.Sprintf("ip%d.dst==", f)); ok {
			a, err := netip.ParseAddr(text)
			return a, err == nil && family(a) == f
		}
	}
	return netip.Addr{}, false
}

func (k *KubeOVN) nodePolicyGap(n *KubeNode) {
	g := KubeGap{
		Repair: "kube-ovn-node-policy", Args: []string{n.Name}, Kind: "router", Name: k.Router.Name, Node: n.Name,
		Title:   fmt.Sprintf("pods have no way to the address of node %s", n.Name),
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
			if w := wrong(p, "reroute", []string{join.String()}); w != "" {
				g.says("policy %d '%s' %s, and the node's port has %s", kubeNodePolicy, p.Match, w, join)
				g.policy(k, p, kubeNodePolicy, p.Match, "reroute", []string{join.String()}, ids)
			}
			continue
		}
		a, written := k.nodeAddress(n, f)
		if !written && !k.encap(n.chassis, f).IsValid() && !k.othersHave(n, f) {
			continue // the node may have no address of this family
		}
		if !a.IsValid() {
			g.says("no policy %d 'ip%d.dst == …' that leads to %s; which address of this family the node has, is not to be seen from here", kubeNodePolicy, f, join)
			g.Minor = len(g.changes) == 0 && !k.encap(n.chassis, f).IsValid()
			continue
		}
		match := fmt.Sprintf("ip%d.dst == %s", f, a)
		g.says("no policy %d '%s' reroute %s", kubeNodePolicy, match, join)
		g.Minor = false
		g.policy(k, nb.Policy{}, kubeNodePolicy, match, "reroute", []string{join.String()}, ids)
	}
	if len(g.Says) > 0 {
		g.guards = append(g.guards, fixes.Guard{Table: "Logical_Switch_Port", UUID: n.Port.UUID, Columns: fixes.Row{"addresses": []string(n.Port.Addresses)}})
		k.Gaps = append(k.Gaps, g)
	}
}

// othersHave says whether any other node has its policy of a family.
func (k *KubeOVN) othersHave(n *KubeNode, f int) bool {
	for of := range k.ofNode {
		if of.family == f && of.name != n.Name {
			return true
		}
	}
	return false
}

// nodeGroupGap is a missing port group node.NODE, on which the rules hang that let
// a node talk to its pods whatever a policy says.
func (k *KubeOVN) nodeGroupGap(n *KubeNode) {
	name := "node." + dotted(n.Name)
	if k.groups[name] != nil {
		return
	}
	g := KubeGap{
		Repair: "kube-ovn-node-group", Args: []string{n.Name}, Kind: "port group", Name: name, Node: n.Name,
		Title:   fmt.Sprintf("node %s has no port group %s", n.Name, name),
		Effect:  "a network policy also shuts out the node itself: probes of the kubelet fail",
		touches: "traffic between node " + n.Name + " and its pods, where a network policy holds",
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

// nodeRules adds the rules that another node's group has, for this node.
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
		m := aclNode.FindStringSubmatch(acl.Match)
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
