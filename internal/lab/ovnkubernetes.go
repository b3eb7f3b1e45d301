package lab

import (
	"fmt"
	"net/netip"
	"strings"
)

// Networks of the ovn-kubernetes style topology.
const (
	okPods4     = "10.244.0.0/16"
	okPods6     = "fd00:10:244::/48"
	okServices4 = "10.96.0.0/16"
	okServices6 = "fd00:10:96::/112"
)

// Keys of external_ids by which ovn-kubernetes finds its rows.
const (
	okController = "default-network-controller"
	okOwner      = "k8s.ovn.org/owner-controller"
	okType       = "k8s.ovn.org/owner-type"
	okName       = "k8s.ovn.org/name"
	okID         = "k8s.ovn.org/id"
)

// OVNKubernetes is a three-node cluster as ovn-kubernetes writes it: a cluster router with a switch for every node, a
// join switch, a gateway router and an external switch for every node, services in load balancer groups, and network
// policies on port groups. Names and external_ids are those of ovn-kubernetes.
//
// Policies: in namespace bank every pod denies ingress, and vault-1 and vault-2 admit TCP 8080 from namespace shop. In
// namespace ops the pod debug may send to TCP 8080 of namespace shop and nowhere else.
func OVNKubernetes() Topology {
	t := Topology{Name: "ovn-kubernetes", OVN: true, Bridge: "br-int", ACLTier: 2}
	for i := 1; i <= 3; i++ {
		t.Nodes = append(t.Nodes, okNode(i))
	}
	for _, p := range []struct {
		node, host     int
		namespace, pod string
	}{
		{1, 5, "shop", "web-1"}, {1, 6, "shop", "client"}, {1, 7, "bank", "vault-1"},
		{2, 5, "shop", "web-2"}, {2, 6, "ops", "toolbox"}, {2, 7, "bank", "vault-2"},
		{3, 5, "shop", "web-3"}, {3, 6, "ops", "debug"}, {3, 7, "bank", "ledger"},
	} {
		t.Pods = append(t.Pods, okPod(p.node, p.host, p.namespace, p.pod))
	}
	webs := []string{"shop_web-1", "shop_web-2", "shop_web-3"}
	t.Services = []Service{
		okService("shop/web", "tcp", 10, 80, 8080, webs...),
		okService("shop/web", "udp", 10, 53, 9090, webs...),
		okService("shop/self", "tcp", 11, 80, 8080, "shop_web-1"),
		okService("shop/empty", "tcp", 12, 80, 8080),
		okService("bank/vault", "tcp", 13, 443, 8080, "bank_vault-1", "bank_vault-2"),
	}
	t.Services[0].NodePort = 30080
	nb := &northbound{}
	okRouters(nb, t)
	for _, p := range t.Pods {
		okPort(nb, p)
	}
	okLoadBalancers(nb, t)
	okPolicies(nb, t)
	t.Northbound = nb.commands
	return t
}

func okNode(i int) Node {
	n := underlayNode(i)
	n.Gateway4 = netip.AddrFrom4([4]byte{172, 30, 0, byte(110 + i)})
	n.Gateway6 = netip.MustParseAddr(fmt.Sprintf("fd00:172:30::11%d", i))
	mp := fmt.Sprintf("10.244.%d.2", i)
	n.Vswitch = append(n.Vswitch,
		words("set Open_vSwitch . external_ids:ovn-bridge-mappings=physnet:br-ex"),
		words("add-port br-int ovn-k8s-mp0"),
		words("set Interface ovn-k8s-mp0 type=internal mtu_request=1400 external_ids:iface-id=k8s-"+n.Name),
		[]string{"set", "Interface", "ovn-k8s-mp0", text("mac", privateMAC(netip.MustParseAddr(mp)))})
	n.Network = append(n.Network,
		fmt.Sprintf("ip addr add %s/24 dev ovn-k8s-mp0", mp),
		fmt.Sprintf("ip addr add fd00:10:244:%d::2/64 dev ovn-k8s-mp0 nodad", i),
		"ip link set ovn-k8s-mp0 up",
		fmt.Sprintf("ip route add %s via 10.244.%d.1 dev ovn-k8s-mp0", okPods4, i),
		fmt.Sprintf("ip route add %s via 10.244.%d.1 dev ovn-k8s-mp0", okServices4, i),
		fmt.Sprintf("ip -6 route add %s via fd00:10:244:%d::1 dev ovn-k8s-mp0", okPods6, i),
		fmt.Sprintf("ip -6 route add %s via fd00:10:244:%d::1 dev ovn-k8s-mp0", okServices6, i))
	return n
}

func okPod(node, host int, namespace, pod string) Pod {
	ip4 := netip.AddrFrom4([4]byte{10, 244, byte(node), byte(host)})
	ip6 := netip.MustParseAddr(fmt.Sprintf("fd00:10:244:%d::%x", node, host))
	p := Pod{
		Name:      namespace + "_" + pod,
		Namespace: namespace,
		Pod:       pod,
		Node:      fmt.Sprintf("node%d", node),
		MAC:       privateMAC(ip4),
		IPv4:      netip.PrefixFrom(ip4, 24),
		IPv6:      netip.PrefixFrom(ip6, 64),
		Gateway4:  netip.AddrFrom4([4]byte{10, 244, byte(node), 1}),
		Gateway6:  netip.MustParseAddr(fmt.Sprintf("fd00:10:244:%d::1", node)),
	}
	sandbox := strings.ReplaceAll(stableUUID("sandbox "+p.Name)+stableUUID("more "+p.Name), "-", "")
	p.Link = sandbox[:15]
	p.Interface = map[string]string{
		"iface-id":     p.Name,
		"iface-id-ver": stableUUID("pod " + p.Name),
		"attached_mac": p.MAC,
		"ip_addresses": p.IPv4.String() + "," + p.IPv6.String(),
		"sandbox":      sandbox,
	}
	return p
}

func okService(name, protocol string, host, port, target int, backends ...string) Service {
	return Service{
		Name: name, Protocol: protocol, Port: port, Target: target, Backends: backends,
		VIP4: netip.AddrFrom4([4]byte{10, 96, 0, byte(host)}),
		VIP6: netip.MustParseAddr(fmt.Sprintf("fd00:10:96::%x", host)),
	}
}

// okRouters writes the cluster router, the join switch, and for each node its switch, gateway router and external switch.
func okRouters(nb *northbound, t Topology) {
	nb.add("lr-add ovn_cluster_router -- set Logical_Router ovn_cluster_router options:always_learn_from_arp_request=false external_ids:k8s-cluster-router=yes")
	nb.add("ls-add join")
	nb.add("lrp-add ovn_cluster_router rtoj-ovn_cluster_router 0a:58:64:40:00:01 100.64.0.1/16 fd98::1/64")
	nb.add("lsp-add join jtor-ovn_cluster_router -- lsp-set-type jtor-ovn_cluster_router router -- lsp-set-addresses jtor-ovn_cluster_router router -- lsp-set-options jtor-ovn_cluster_router router-port=rtoj-ovn_cluster_router")
	nb.add("lr-policy-add ovn_cluster_router 102 'ip4.src == %s && ip4.dst == %s' allow", okPods4, okPods4)
	nb.add("lr-policy-add ovn_cluster_router 102 'ip6.src == %s && ip6.dst == %s' allow", okPods6, okPods6)
	nb.add("lr-policy-add ovn_cluster_router 102 'ip4.src == %s && ip4.dst == 100.64.0.0/16' allow", okPods4)
	nb.add("lr-policy-add ovn_cluster_router 102 'ip6.src == %s && ip6.dst == fd98::/64' allow", okPods6)
	for i, n := range t.Nodes {
		okNodeSwitch(nb, n, i+1)
		okGateway(nb, n, i+1)
	}
}

func okNodeSwitch(nb *northbound, n Node, i int) {
	name := n.Name
	nb.add("ls-add %[1]s -- set Logical_Switch %[1]s other_config:subnet=10.244.%[2]d.0/24 other_config:ipv6_prefix=fd00:10:244:%[2]d:: other_config:exclude_ips=10.244.%[2]d.2", name, i)
	gateway := privateMAC(netip.AddrFrom4([4]byte{10, 244, byte(i), 1}))
	nb.add("lrp-add ovn_cluster_router rtos-%[1]s %[2]s 10.244.%[3]d.1/24 fd00:10:244:%[3]d::1/64", name, gateway, i)
	nb.add("lrp-set-gateway-chassis rtos-%s %s 1", name, n.SystemID)
	nb.add("lsp-add %[1]s stor-%[1]s -- lsp-set-type stor-%[1]s router -- lsp-set-addresses stor-%[1]s router -- lsp-set-options stor-%[1]s router-port=rtos-%[1]s", name)
	mp := netip.AddrFrom4([4]byte{10, 244, byte(i), 2})
	nb.add("lsp-add %[1]s k8s-%[1]s -- lsp-set-addresses k8s-%[1]s '%[2]s %[3]s fd00:10:244:%[4]d::2'", name, privateMAC(mp), mp, i)
	nb.add("lr-policy-add ovn_cluster_router 1004 'inport == \"rtos-%[1]s\" && ip4.dst == %[2]s /* %[1]s */' reroute 10.244.%[3]d.2", name, n.IPv4.Addr(), i)
	nb.add("lr-policy-add ovn_cluster_router 1004 'inport == \"rtos-%[1]s\" && ip6.dst == %[2]s /* %[1]s */' reroute fd00:10:244:%[3]d::2", name, n.IPv6.Addr(), i)
	// Kubelet's probes come from the management port and pass despite policies.
	for _, f := range []struct{ family, addr string }{{"ip4", mp.String()}, {"ip6", fmt.Sprintf("fd00:10:244:%d::2", i)}} {
		id := f.family + name
		nb.row(id, "ACL", append(ids(okOwner, okController, okType, "NetpolNode", okName, name, "ip", f.addr,
			okID, okController+":NetpolNode:"+name+":"+f.addr),
			"direction=to-lport", "priority=1001", "action=allow-related", text("match", f.family+".src=="+f.addr))...)
		nb.add("add Logical_Switch %s acls @%s", name, id)
	}
}

func okGateway(nb *northbound, n Node, i int) {
	gr, ext := "GR_"+n.Name, "ext_"+n.Name
	join4, join6 := fmt.Sprintf("100.64.0.%d", i+1), fmt.Sprintf("fd98::%d", i+1)
	out4, out6 := n.Gateway4, n.Gateway6.String()
	nb.add("lr-add %[1]s -- set Logical_Router %[1]s options:chassis=%[2]s options:lb_force_snat_ip=router_ip options:snat-ct-zone=0"+
		" options:always_learn_from_arp_request=false options:dynamic_neigh_routers=true", gr, n.SystemID)
	nb.commands = append(nb.commands, append([]string{"set", "Logical_Router", gr}, ids("physical_ip", out4.String(), "physical_ips", out4.String()+","+out6)...))
	nb.add("lrp-add %[1]s rtoj-%[1]s %[2]s %[3]s/16 %[4]s/64", gr, privateMAC(netip.MustParseAddr(join4)), join4, join6)
	nb.add("lsp-add join jtor-%[1]s -- lsp-set-type jtor-%[1]s router -- lsp-set-addresses jtor-%[1]s router -- lsp-set-options jtor-%[1]s router-port=rtoj-%[1]s", gr)
	nb.add("ls-add %s", ext)
	nb.add("lrp-add %[1]s rtoe-%[1]s %[2]s %[3]s/24 %[4]s/64 -- set Logical_Router_Port rtoe-%[1]s external_ids:gateway-physical-ip=yes", gr, privateMAC(out4), out4, out6)
	nb.add("lsp-add %[1]s etor-%[2]s -- lsp-set-type etor-%[2]s router -- lsp-set-addresses etor-%[2]s %[3]s -- lsp-set-options etor-%[2]s router-port=rtoe-%[2]s nat-addresses=router", ext, gr, privateMAC(out4))
	nb.add("lsp-add %[1]s br-ex_%[2]s -- lsp-set-type br-ex_%[2]s localnet -- lsp-set-addresses br-ex_%[2]s unknown -- lsp-set-options br-ex_%[2]s network_name=physnet", ext, n.Name)
	nb.add("lr-route-add %s %s 100.64.0.1", gr, okPods4)
	nb.add("lr-route-add %s %s fd98::1", gr, okPods6)
	nb.add("lr-route-add %s 0.0.0.0/0 %s rtoe-%s", gr, UnderlayGateway4, gr)
	nb.add("lr-route-add %s ::/0 %s rtoe-%s", gr, UnderlayGateway6, gr)
	nb.add("--policy=src-ip lr-route-add ovn_cluster_router 10.244.%d.0/24 %s", i, join4)
	nb.add("--policy=src-ip lr-route-add ovn_cluster_router fd00:10:244:%d::/64 %s", i, join6)
	nb.add("lr-route-add ovn_cluster_router %s %s", join4, join4)
	nb.add("lr-route-add ovn_cluster_router %s %s", join6, join6)
	nb.add("lr-nat-add %s snat %s %s", gr, out4, okPods4)
	nb.add("lr-nat-add %s snat %s %s", gr, out6, okPods6)
}

func okPort(nb *northbound, p Pod) {
	addresses := fmt.Sprintf("%s %s %s", p.MAC, p.IPv4.Addr(), p.IPv6.Addr())
	nb.add("lsp-add %[1]s %[2]s -- lsp-set-addresses %[2]s '%[3]s' -- lsp-set-port-security %[2]s '%[3]s'"+
		" -- set Logical_Switch_Port %[2]s external_ids:namespace=%[4]s external_ids:pod=true options:iface-id-ver=%[5]s options:requested-chassis=%[1]s",
		p.Node, p.Name, addresses, p.Namespace, p.Interface["iface-id-ver"])
}

// okLoadBalancers writes one load balancer per service and protocol, in the group that all switches and gateway routers
// share, and those of node ports.
func okLoadBalancers(nb *northbound, t Topology) {
	var members []string
	for i, s := range t.Services {
		id := fmt.Sprintf("lb%d", i)
		okLoadBalancer(nb, id, "cluster", s, t.vips(s))
		members = append(members, "@"+id)
	}
	nb.row("lbg", "Load_Balancer_Group", "name=clusterLBGroup", "load_balancer="+strings.Join(members, ","))
	for _, n := range t.Nodes {
		nb.add("set Logical_Switch %s load_balancer_group=@lbg", n.Name)
		nb.add("set Logical_Router GR_%s load_balancer_group=@lbg", n.Name)
		for i, s := range t.Services {
			if s.NodePort != 0 {
				okNodePort(nb, t, n, fmt.Sprintf("%s_%d", n.Name, i), s)
			}
		}
	}
}

// okNodePort writes a node port's load balancers on one node: for traffic to its gateway router, and from its pods.
func okNodePort(nb *northbound, t Topology, n Node, id string, s Service) {
	s.VIP4, s.VIP6, s.Port = n.Gateway4, n.Gateway6, s.NodePort
	okLoadBalancer(nb, "router"+id, "node_router_"+n.Name, s, t.vips(s))
	okLoadBalancer(nb, "switch"+id, "node_switch_"+n.Name, s, t.vips(s))
	nb.add("add Logical_Router GR_%s load_balancer @router%s", n.Name, id)
	nb.add("add Logical_Switch %s load_balancer @switch%s", n.Name, id)
}

func okLoadBalancer(nb *northbound, id, scope string, s Service, vips []string) {
	columns := []string{"name=Service_" + s.Name + "_" + strings.ToUpper(s.Protocol) + "_" + scope, "protocol=" + s.Protocol,
		key("options", "event", "false"), key("options", "reject", "true"), key("options", "skip_snat", "false"),
		key("options", "neighbor_responder", "none"), key("options", "hairpin_snat_ip", "169.254.169.5 fd69::5")}
	columns = append(columns, ids("k8s.ovn.org/kind", "Service", "k8s.ovn.org/owner", s.Name)...)
	nb.row(id, "Load_Balancer", append(columns, vips...)...)
}
