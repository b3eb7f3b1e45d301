package lab

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Networks of the kube-ovn style topology.
const (
	koPods4 = "10.16.0.0/16"
	koPods6 = "fd00:10:16::/112"
	koJoin4 = "100.64.0.0/16"
	koJoin6 = "fd00:100:64::/112"
)

// KubeOVN is a three-node cluster as kube-ovn builds its default VPC: the router ovn-cluster with one switch for all
// pods and a join switch with a port for each node (ovn0), routing policies 31000, 30000 and 29000, and hosts that
// route and masquerade what leaves the cluster.
//
// The pods and policies are those of [OVNKubernetes], with kube-ovn's names. Kube-ovn writes no load balancer for a
// service without endpoints; nodes reach services by kube-proxy, which is not included.
func KubeOVN() Topology {
	t := Topology{Name: "kube-ovn", OVN: true, Bridge: "br-int", ACLTier: 2}
	for i := 1; i <= 3; i++ {
		t.Nodes = append(t.Nodes, koNode(i))
	}
	for i, name := range []string{
		"node1 shop web-1", "node1 shop client", "node1 bank vault-1",
		"node2 shop web-2", "node2 ops toolbox", "node2 bank vault-2",
		"node3 shop web-3", "node3 ops debug", "node3 bank ledger",
	} {
		w := words(name)
		t.Pods = append(t.Pods, koPod(i+10, w[0], w[1], w[2]))
	}
	t.Services = []Service{
		okService("shop/web", "tcp", 10, 80, 8080, "web-1.shop", "web-2.shop", "web-3.shop"),
		okService("shop/web", "udp", 10, 53, 9090, "web-1.shop", "web-2.shop", "web-3.shop"),
		okService("shop/self", "tcp", 11, 80, 8080, "web-1.shop"),
		okService("bank/vault", "tcp", 13, 443, 8080, "vault-1.bank", "vault-2.bank"),
	}
	nb := &northbound{}
	koRouter(nb, t)
	for _, p := range t.Pods {
		koPort(nb, p)
	}
	koGateways(nb, t)
	koLoadBalancers(nb, t)
	koPolicies(nb, t)
	t.Northbound = nb.commands
	return t
}

func koJoin(i int) (netip.Addr, netip.Addr) {
	return netip.AddrFrom4([4]byte{100, 64, 0, byte(i + 1)}), netip.MustParseAddr(fmt.Sprintf("fd00:100:64::%x", i+1))
}

// koMAC returns a MAC address like those OVN assigns in kube-ovn's clusters.
func koMAC(name string) string {
	u := stableUUID("mac " + name)
	return fmt.Sprintf("00:00:00:%s:%s:%s", u[0:2], u[2:4], u[4:6])
}

func koNode(i int) Node {
	n := underlayNode(i)
	join4, join6 := koJoin(i)
	n.Vswitch = append(n.Vswitch,
		words("add-port br-int ovn0"),
		append(words("set Interface ovn0 type=internal mtu_request=1400"),
			text("mac", koMAC("node-"+n.Name)), key("external_ids", "iface-id", "node-"+n.Name), key("external_ids", "ip", join4.String()+","+join6.String())))
	n.Network = append(n.Network,
		forwarding,
		fmt.Sprintf("ip addr add %s/16 dev ovn0", join4),
		fmt.Sprintf("ip addr add %s/112 dev ovn0 nodad", join6),
		"ip link set ovn0 up",
		fmt.Sprintf("ip route add %s via 100.64.0.1 dev ovn0 src %s", koPods4, n.IPv4.Addr()),
		fmt.Sprintf("ip -6 route add %s via fd00:100:64::1 dev ovn0 src %s", koPods6, n.IPv6.Addr()),
		masquerade("ip", koPods4, koJoin4),
		masquerade("ip6", koPods6, koJoin6))
	return n
}

// masquerade returns the nft command with which a host masquerades its pods towards the outside.
func masquerade(family, pods, inside string) string {
	return fmt.Sprintf(`nft -f - <<-END
	table %[1]s nat {
		chain postrouting {
			type nat hook postrouting priority 100;
			%[1]s saddr %[2]s %[1]s daddr != { %[2]s, %[3]s } oifname "br-ex" masquerade
		}
	}
	END`, family, pods, inside)
}

func koPod(host int, node, namespace, pod string) Pod {
	p := Pod{
		Name:      pod + "." + namespace,
		Namespace: namespace,
		Pod:       pod,
		Node:      node,
		IPv4:      netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 16, 0, byte(host)}), 16),
		IPv6:      netip.MustParsePrefix(fmt.Sprintf("fd00:10:16::%x/112", host)),
		Gateway4:  netip.MustParseAddr("10.16.0.1"),
		Gateway6:  netip.MustParseAddr("fd00:10:16::1"),
	}
	p.MAC = koMAC(p.Name)
	container := strings.ReplaceAll(stableUUID("container "+p.Name), "-", "")
	p.Link = container[:12] + "_h"
	p.Interface = map[string]string{
		"iface-id": p.Name, "ip": p.IPv4.Addr().String() + "," + p.IPv6.Addr().String(),
		"pod_name": pod, "pod_namespace": namespace, "vendor": "kube-ovn",
	}
	return p
}

func koRouter(nb *northbound, t Topology) {
	nb.add("lr-add ovn-cluster -- set Logical_Router ovn-cluster external_ids:vendor=kube-ovn options:always_learn_from_arp_request=false options:dynamic_neigh_routers=true options:mac_binding_age_threshold=300")
	for _, s := range []struct{ name, nets string }{
		{"ovn-default", "10.16.0.1/16 fd00:10:16::1/112"},
		{"join", "100.64.0.1/16 fd00:100:64::1/112"},
	} {
		nb.add("ls-add %[1]s -- set Logical_Switch %[1]s external_ids:vendor=kube-ovn", s.name)
		nb.add("lrp-add ovn-cluster ovn-cluster-%s %s %s", s.name, koMAC("router "+s.name), s.nets)
		nb.add("set Logical_Router_Port ovn-cluster-%s external_ids:vendor=kube-ovn", s.name)
		nb.add("lsp-add %[1]s %[1]s-ovn-cluster -- lsp-set-type %[1]s-ovn-cluster router -- lsp-set-addresses %[1]s-ovn-cluster router"+
			" -- lsp-set-options %[1]s-ovn-cluster router-port=ovn-cluster-%[1]s -- set Logical_Switch_Port %[1]s-ovn-cluster external_ids:vendor=kube-ovn", s.name)
	}
	nb.add("--policy=dst-ip lr-route-add ovn-cluster 0.0.0.0/0 100.64.0.1")
	nb.add("--policy=dst-ip lr-route-add ovn-cluster ::/0 fd00:100:64::1")
	for i, network := range []string{koPods4, koPods6, koJoin4, koJoin6} {
		koPolicyRoute(nb, fmt.Sprintf("subnet%d", i), 31000, ipField(network)+".dst == "+network, "")
	}
}

// ipField returns ip4 or ip6, matching the address or prefix.
func ipField(address string) string {
	if strings.Contains(address, ":") {
		return "ip6"
	}
	return "ip4"
}

// koPolicyRoute adds a routing policy to ovn-cluster: it allows, or reroutes to the next hop.
func koPolicyRoute(nb *northbound, id string, priority int, match, nexthop string, pairs ...string) {
	columns := append(ids(append([]string{"vendor", "kube-ovn"}, pairs...)...), fmt.Sprintf("priority=%d", priority), text("match", match))
	if nexthop == "" {
		columns = append(columns, "action=allow")
	} else {
		columns = append(columns, "action=reroute", text("nexthops", nexthop))
	}
	nb.row("policy"+id, "Logical_Router_Policy", columns...)
	nb.add("add Logical_Router ovn-cluster policies @policy%s", id)
}

func koPort(nb *northbound, p Pod) {
	addresses := fmt.Sprintf("%s %s %s", p.MAC, p.IPv4.Addr(), p.IPv6.Addr())
	nb.add("lsp-add ovn-default %[1]s -- lsp-set-addresses %[1]s '%[2]s' -- lsp-set-port-security %[1]s '%[2]s'", p.Name, addresses)
	nb.commands = append(nb.commands, append([]string{"set", "Logical_Switch_Port", p.Name},
		ids("vendor", "kube-ovn", "ls", "ovn-default", "pod", p.Namespace+"/"+p.Pod, "node", p.Node)...))
}

// koGateways writes, for each node, its port on the join switch, the policies that lead to it, the port group of its
// pods in the subnet, through which they leave, and the port group of all its pods, which the node must always reach.
func koGateways(nb *northbound, t Topology) {
	for i, n := range t.Nodes {
		join4, join6 := koJoin(i + 1)
		port := "node-" + n.Name
		nb.add("lsp-add join %[1]s -- lsp-set-addresses %[1]s '%[2]s %[3]s %[4]s' -- set Logical_Switch_Port %[1]s external_ids:vendor=kube-ovn", port, koMAC(port), join4, join6)
		group, all := "ovn.default."+n.Name, "node."+n.Name
		var ports []string
		for _, p := range t.Pods {
			if p.Node == n.Name {
				ports = append(ports, p.Name)
			}
		}
		nb.row("pg"+group, "Port_Group", append(ids("vendor", "kube-ovn", "subnet", "ovn-default", "node", n.Name, "np", "ovn-default/"+n.Name), "name="+group)...)
		acls := koNodeACLs(nb, n, all, join4, join6)
		nb.row("pg"+all, "Port_Group", append(ids("node", n.Name, "np", "node/"+n.Name), "name="+all, "acls="+strings.Join(acls, ","))...)
		for _, g := range []string{group, all} {
			nb.commands = append(nb.commands, append([]string{"pg-set-ports", g}, ports...))
		}
		for _, f := range []struct {
			field, set string
			node, join netip.Addr
		}{{"ip4", "_ip4", n.IPv4.Addr(), join4}, {"ip6", "_ip6", n.IPv6.Addr(), join6}} {
			koPolicyRoute(nb, "node"+f.field+n.Name, 30000, fmt.Sprintf("%s.dst == %s", f.field, f.node), f.join.String(), "node", n.Name, "address-family", f.field[2:])
			koPolicyRoute(nb, "gw"+f.field+n.Name, 29000, fmt.Sprintf("%s.src == $%s%s", f.field, group, f.set), f.join.String(), "node", n.Name, "subnet", "ovn-default")
		}
	}
}

// koNodeACLs let a node reach its own pods whatever a policy drops, from its own address and from ovn0's.
func koNodeACLs(nb *northbound, n Node, group string, join4, join6 netip.Addr) []string {
	var acls []string
	for _, a := range []netip.Addr{n.IPv4.Addr(), n.IPv6.Addr(), join4, join6} {
		field := ipField(a.String())
		for _, d := range []struct{ direction, match, option string }{
			{"to-lport", fmt.Sprintf("%[1]s.src == %[2]s && %[1]s.dst == $%[3]s_%[1]s", field, a, group), ""},
			{"from-lport", fmt.Sprintf("%[1]s.dst == %[2]s && %[1]s.src == $%[3]s_%[1]s", field, a, group), "true"},
		} {
			id := d.direction + strings.ReplaceAll(a.String(), ":", ".") + n.Name
			columns := append(ids("vendor", "kube-ovn", "parent", group), "priority=3000", "action=allow-related", "direction="+d.direction, text("match", d.match))
			if d.option != "" {
				columns = append(columns, key("options", "apply-after-lb", d.option))
			}
			nb.row(id, "ACL", columns...)
			acls = append(acls, "@"+id)
		}
	}
	return acls
}

// koLoadBalancers writes one load balancer for each protocol, with every service as a virtual IP.
func koLoadBalancers(nb *northbound, t Topology) {
	for _, protocol := range []string{"tcp", "udp"} {
		name := "cluster-" + protocol + "-loadbalancer"
		columns := append(ids("vendor", "kube-ovn"), "name="+name, "protocol="+protocol)
		for _, s := range t.Services {
			if s.Protocol == protocol {
				columns = append(columns, t.vips(s)...)
			}
		}
		nb.row(protocol, "Load_Balancer", columns...)
		nb.add("add Logical_Switch ovn-default load_balancer @%s", protocol)
	}
}

// koPolicies writes NetworkPolicies: a port group <policy>.<namespace>, with a drop at 2000 and allow rules at 2001.
func koPolicies(nb *northbound, t Topology) {
	all := []string{"vault-1.bank", "vault-2.bank", "ledger.bank"}
	koPolicy(nb, t, okPolicy{namespace: "bank", name: "deny-all", pods: all, direction: "Ingress"})
	koPolicy(nb, t, okPolicy{namespace: "bank", name: "allow-shop", pods: all[:2], direction: "Ingress", peer: "shop", protocol: "tcp", port: 8080})
	koPolicy(nb, t, okPolicy{namespace: "ops", name: "to-shop", pods: []string{"debug.ops"}, direction: "Egress", peer: "shop", protocol: "tcp", port: 8080})
}

func koPolicy(nb *northbound, t Topology, p okPolicy) {
	group := strings.ReplaceAll(p.name+"."+p.namespace, "-", ".")
	side, far, direction, suffix := "outport", "src", "direction=to-lport", "ingress"
	var after []string
	if p.direction == "Egress" {
		side, far, direction, suffix = "inport", "dst", "direction=from-lport", "egress"
		after = []string{key("options", "apply-after-lb", "true")}
	}
	acl := func(id string, columns ...string) string {
		nb.row(id+group, "ACL", slices.Concat(ids("vendor", "kube-ovn", "parent", group), columns, after, []string{direction})...)
		return "@" + id + group
	}
	acls := []string{acl("drop", "priority=2000", "action=drop", text("match", side+" == @"+group+" && ip"))}
	for _, family := range []string{"IPv4", "IPv6"} {
		if p.peer == "" {
			continue
		}
		field := map[string]string{"IPv4": "ip4", "IPv6": "ip6"}[family]
		set := fmt.Sprintf("%s.%s.allow.%s.0", group, suffix, family)
		var addresses []string
		for _, pod := range t.Pods {
			if pod.Namespace == p.peer {
				a := map[string]netip.Prefix{"IPv4": pod.IPv4, "IPv6": pod.IPv6}[family].Addr()
				addresses = append(addresses, `"`+a.String()+`"`)
			}
		}
		nb.row("as"+set, "Address_Set", append(ids("vendor", "kube-ovn", "np", p.namespace+"/"+p.name+"/"+suffix), "name="+set, "addresses="+strings.Join(addresses, ","))...)
		acls = append(acls, acl("allow"+family, "priority=2001", "action=allow-related",
			text("match", fmt.Sprintf("%s.%s == $%s && %s == @%s && %s.dst == %d && ip", field, far, set, side, group, p.protocol, p.port))))
	}
	nb.row("pg"+group, "Port_Group", append(ids("vendor", "kube-ovn", "np", p.namespace+"/"+p.name), "name="+group, "acls="+strings.Join(acls, ","))...)
	nb.commands = append(nb.commands, append([]string{"pg-set-ports", group}, p.pods...))
}
