package lab

import (
	"fmt"
	"hash/fnv"
	"net/netip"
	"strings"
)

// okHash returns ovn-kubernetes' short form for names of port groups and address sets.
func okHash(id string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id))
	return fmt.Sprintf("a%d", h.Sum64())
}

// An okPolicy is one rule of a NetworkPolicy: the pods it selects, and the namespace at the other end.
type okPolicy struct {
	namespace, name string
	pods            []string // logical ports that the policy selects
	direction       string   // Ingress or Egress
	peer            string   // admitted namespace; empty if none
	protocol        string
	port            int
}

// okPolicies writes the address set of every namespace, and the NetworkPolicies with the default deny of their namespaces.
func okPolicies(nb *northbound, t Topology) {
	okHairpin(nb)
	for _, ns := range []string{"shop", "bank", "ops"} {
		okAddressSets(nb, t, ns)
	}
	all := []string{"bank_vault-1", "bank_vault-2", "bank_ledger"}
	okDefaultDeny(nb, "bank", "Ingress", all)
	okPolicyRows(nb, okPolicy{namespace: "bank", name: "deny-all", pods: all, direction: "Ingress"})
	okPolicyRows(nb, okPolicy{namespace: "bank", name: "allow-shop", pods: all[:2], direction: "Ingress", peer: "shop", protocol: "tcp", port: 8080})
	okDefaultDeny(nb, "ops", "Egress", []string{"ops_debug"})
	okPolicyRows(nb, okPolicy{namespace: "ops", name: "to-shop", pods: []string{"ops_debug"}, direction: "Egress", peer: "shop", protocol: "tcp", port: 8080})
}

// okHairpin allows replies to a pod through its own service, on all switches.
func okHairpin(nb *northbound) {
	var acls, ports []string
	for _, direction := range []string{"Ingress", "Egress"} {
		id := okController + ":NetpolDefault:allow-hairpinning:" + direction
		columns := okACL(direction, 1001, "allow-related", "(ip4.src == 169.254.169.5 || ip6.src == fd69::5)", "",
			okType, "NetpolDefault", okName, "allow-hairpinning", "direction", direction, okID, id)
		nb.row("hairpin"+direction, "ACL", columns...)
		acls = append(acls, "@hairpin"+direction)
	}
	for i := 1; i <= 3; i++ {
		ports = append(ports, fmt.Sprintf("stor-node%d", i))
	}
	nb.row("clusterPG", "Port_Group", append(ids(okOwner, okController, okType, "Cluster", okName, "clusterPortGroup"),
		"name=clusterPortGroup", "acls="+strings.Join(acls, ","))...)
	nb.commands = append(nb.commands, append([]string{"pg-set-ports", "clusterPortGroup"}, ports...))
}

func okAddressSets(nb *northbound, t Topology, namespace string) {
	for _, family := range []string{"v4", "v6"} {
		id := okController + ":Namespace:" + namespace + ":" + family
		var addresses []string
		for _, p := range t.Pods {
			addr := map[string]netip.Prefix{"v4": p.IPv4, "v6": p.IPv6}[family].Addr()
			if p.Namespace == namespace {
				addresses = append(addresses, `"`+addr.String()+`"`)
			}
		}
		nb.row("as"+okHash(id), "Address_Set", append(ids(okOwner, okController, okType, "Namespace", okName, namespace, "ip-family", family, okID, id),
			"name="+okHash(id), "addresses="+strings.Join(addresses, ","))...)
	}
}

// okACL returns the columns of an ACL row. Egress rules see the packet after load balancing.
func okACL(direction string, priority int, action, match, name string, pairs ...string) []string {
	columns := append(ids(append([]string{okOwner, okController}, pairs...)...),
		fmt.Sprintf("priority=%d", priority), "action="+action, text("match", match), "log=false", "meter=acl-logging")
	if name != "" {
		columns = append(columns, text("name", name))
	}
	if direction == "Egress" {
		return append(columns, "direction=from-lport", key("options", "apply-after-lb", "true"))
	}
	return append(columns, "direction=to-lport")
}

// okDefaultDeny writes the port group that denies one direction for a namespace's pods with a policy.
func okDefaultDeny(nb *northbound, namespace, direction string, pods []string) {
	id := okController + ":NetpolNamespace:" + namespace + ":" + direction
	group := okHash(id)
	side := map[string]string{"Ingress": "outport", "Egress": "inport"}[direction]
	for _, rule := range []struct {
		kind, action, match string
		priority            int
	}{
		{"defaultDeny", "drop", side + " == @" + group, 1000},
		{"arpAllow", "allow", side + " == @" + group + " && (arp || nd)", 1001},
	} {
		nb.row(rule.kind+group, "ACL", okACL(direction, rule.priority, rule.action, rule.match, "NP:"+namespace+":"+direction,
			okType, "NetpolNamespace", okName, namespace, "direction", direction, "type", rule.kind, okID, id+":"+rule.kind)...)
	}
	okPortGroup(nb, group, pods, "@defaultDeny"+group+",@arpAllow"+group,
		okType, "NetpolNamespace", okName, namespace, "direction", direction, okID, id)
}

// okPolicyRows writes the port group and allow rule of one policy. A policy without a peer only denies, by the
// namespace's default.
func okPolicyRows(nb *northbound, p okPolicy) {
	name := p.namespace + ":" + p.name
	id := okController + ":NetworkPolicy:" + name
	group, acls := okHash(id), ""
	if p.peer != "" {
		acls = "@" + "allow" + group
		side, far := "outport", "src"
		if p.direction == "Egress" {
			side, far = "inport", "dst"
		}
		set := func(family string) string { return okHash(okController + ":Namespace:" + p.peer + ":" + family) }
		match := fmt.Sprintf("(ip4.%[1]s == {$%[2]s} || ip6.%[1]s == {$%[3]s}) && %[4]s && %[4]s.dst==%[5]d && %[6]s == @%[7]s",
			far, set("v4"), set("v6"), p.protocol, p.port, side, group)
		nb.row("allow"+group, "ACL", okACL(p.direction, 1001, "allow-related", match, "NP:"+name+":"+p.direction+":0",
			okType, "NetworkPolicy", okName, name, "direction", p.direction, "gress-index", "0", "ip-block-index", "-1",
			"port-policy-protocol", p.protocol, okID, fmt.Sprintf("%s:%s:0:%s:-1", id, p.direction, p.protocol))...)
	}
	okPortGroup(nb, group, p.pods, acls, okType, "NetworkPolicy", okName, name, okID, id)
}

func okPortGroup(nb *northbound, name string, ports []string, acls string, pairs ...string) {
	columns := append(ids(append([]string{okOwner, okController}, pairs...)...), "name="+name)
	if acls != "" {
		columns = append(columns, "acls="+acls)
	}
	nb.row("pg"+name, "Port_Group", columns...)
	nb.commands = append(nb.commands, append([]string{"pg-set-ports", name}, ports...))
}
