package lab

import (
	"fmt"
	"net/netip"
	"strings"
)

// OpenStack is OVN on two nodes as Neutron writes it: networks "private" and "backend" behind the router "edge", which
// has a distributed gateway port on the provider network, floating IPs distributed and not, SNAT, security groups on
// port groups, DHCP, DNS, QoS and a metadata port. Names and external_ids are Neutron's.
//
// The servers' security group admits SSH from anywhere, and everything from its own members.
func OpenStack() Topology {
	t, nb := openStack()
	t.Northbound = nb.commands
	return t
}

// openStack returns the topology with its Northbound commands, which callers may extend.
func openStack() (Topology, *northbound) {
	t := Topology{Name: "openstack", OVN: true, Bridge: "br-int"}
	t.Routed = map[netip.Prefix]netip.Addr{netip.MustParsePrefix("fd00:10:1::/48"): netip.MustParseAddr("fd00:172:30::120")}
	for i := 1; i <= 2; i++ {
		n := underlayNode(i)
		n.Vswitch = append(n.Vswitch, words("set Open_vSwitch . external_ids:ovn-bridge-mappings=physnet:br-ex"))
		t.Nodes = append(t.Nodes, n)
	}
	t.Pods = []Pod{
		osServer("private", "web", 1, 1, 11), osServer("private", "db", 2, 1, 12),
		osServer("backend", "batch", 1, 2, 11), osServer("backend", "store", 2, 2, 12),
	}
	nb := &northbound{}
	osRouter(nb, t)
	osNetwork(nb, t, "private", 1)
	osNetwork(nb, t, "backend", 2)
	osSecurityGroup(nb, t)
	osFloating(nb, t)
	return t, nb
}

// Names that Neutron derives from its objects' UUIDs.
func osID(what string) string      { return stableUUID("neutron " + what) }
func osSwitch(name string) string  { return "neutron-" + osID("network "+name) }
func osEdge() string               { return "neutron-" + osID("router edge") }
func osPort(name string) string    { return osID("port " + name) }
func osRouterPort(n string) string { return "lrp-" + osPort("edge-"+n) }
func osProject() string            { return strings.ReplaceAll(osID("project"), "-", "") }

// osMAC returns a MAC address with Neutron's default base.
func osMAC(name string) string {
	u := osID("mac " + name)
	return fmt.Sprintf("fa:16:3e:%s:%s:%s", u[0:2], u[2:4], u[4:6])
}

func osServer(network, name string, node, net, host int) Pod {
	port := osPort(name)
	return Pod{
		Name: port, Namespace: network, Pod: name, Node: fmt.Sprintf("node%d", node), Link: "tap" + port[:11],
		MAC:       osMAC(name),
		IPv4:      netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 1, byte(net), byte(host)}), 24),
		IPv6:      netip.MustParsePrefix(fmt.Sprintf("fd00:10:1:%d::%x/64", net, host)),
		Gateway4:  netip.AddrFrom4([4]byte{10, 1, byte(net), 1}),
		Gateway6:  netip.MustParseAddr(fmt.Sprintf("fd00:10:1:%d::1", net)),
		Interface: map[string]string{"iface-id": port, "iface-status": "active", "attached-mac": osMAC(name), "vm-uuid": osID("server " + name)},
	}
}

// osNeutron sets external_ids from pairs of value and key without Neutron's prefix.
func osNeutron(pairs ...string) []string {
	for i := 0; i+1 < len(pairs); i += 2 {
		pairs[i] = "neutron:" + pairs[i]
	}
	return ids(pairs...)
}

func (nb *northbound) set(table, row string, columns ...string) {
	nb.commands = append(nb.commands, append([]string{"set", table, row}, columns...))
}

// osRouter writes the router and the provider network of its gateway port on node1.
func osRouter(nb *northbound, t Topology) {
	edge, provider, gateway := osEdge(), osSwitch("provider"), osRouterPort("provider")
	nb.add("lr-add %s -- set Logical_Router %[1]s options:always_learn_from_arp_request=false options:dynamic_neigh_routers=true options:mac_binding_age_threshold=0", edge)
	nb.set("Logical_Router", edge, osNeutron("router_name", "edge", "gw_port_id", osPort("edge-provider"), "revision_number", "4", "availability_zone_hints", "")...)
	nb.add("ls-add %s -- set Logical_Switch %[1]s other_config:mcast_snoop=false other_config:vlan-passthru=false", provider)
	nb.set("Logical_Switch", provider, osNeutron("network_name", "provider", "mtu", "1500", "revision_number", "1")...)
	localnet := "provnet-" + osID("segment provider")
	nb.add("lsp-add %s %s -- lsp-set-type %[2]s localnet -- lsp-set-addresses %[2]s unknown -- lsp-set-options %[2]s network_name=physnet mcast_flood=false mcast_flood_reports=true", provider, localnet)
	nb.add("lrp-add %s %s %s 172.30.0.120/24 fd00:172:30::120/64", edge, gateway, osMAC("edge-provider"))
	nb.add("lrp-set-options %s gateway_mtu=1400 reside-on-redirect-chassis=false", gateway)
	nb.row("gateway", "Gateway_Chassis", "name="+gateway+"_"+t.Nodes[0].SystemID, "chassis_name="+t.Nodes[0].SystemID, "priority=2")
	nb.add("set Logical_Router_Port %s gateway_chassis=@gateway", gateway)
	osRouterLink(nb, provider, "provider")
	nb.add("lsp-set-options %s router-port=%s nat-addresses=router exclude-lb-vips-from-garp=true", osPort("edge-provider"), gateway)
	nb.add("lr-route-add %s 0.0.0.0/0 %s %s", edge, UnderlayGateway4, gateway)
	nb.add("lr-route-add %s ::/0 %s %s", edge, UnderlayGateway6, gateway)
}

// osRouterLink connects a switch to the router's port on that network.
func osRouterLink(nb *northbound, sw, network string) {
	port := osPort("edge-" + network)
	nb.add("lsp-add %s %s -- lsp-set-type %[2]s router -- lsp-set-addresses %[2]s router -- lsp-set-options %[2]s router-port=%s", sw, port, osRouterPort(network))
	nb.set("Logical_Switch_Port", port, osNeutron("device_id", osID("router edge"), "device_owner", "network:router_interface", "network_name", sw, "project_id", osProject(), "revision_number", "3")...)
}

// osNetwork writes a network with its port on the router, DHCP for both families, the metadata port and the servers.
func osNetwork(nb *northbound, t Topology, name string, net int) {
	sw := osSwitch(name)
	nb.add("ls-add %s -- set Logical_Switch %[1]s other_config:mcast_snoop=true other_config:mcast_flood_unregistered=false other_config:mcast_querier=false other_config:vlan-passthru=false", sw)
	nb.set("Logical_Switch", sw, osNeutron("network_name", name, "mtu", "1442", "revision_number", "2", "availability_zone_hints", "")...)
	nb.add("lrp-add %s %s %s 10.1.%[4]d.1/24 fd00:10:1:%[4]d::1/64", osEdge(), osRouterPort(name), osMAC("edge-"+name), net)
	nb.add("set Logical_Router_Port %s ipv6_ra_configs:address_mode=dhcpv6_stateful ipv6_ra_configs:send_periodic=true ipv6_ra_configs:mtu=1442", osRouterPort(name))
	osRouterLink(nb, sw, name)
	metadata := osPort("metadata-" + name)
	nb.add("lsp-add %s %s -- lsp-set-type %[2]s localport -- lsp-set-addresses %[2]s '%s 10.1.%d.2'", sw, metadata, osMAC("metadata-"+name), net)
	nb.set("Logical_Switch_Port", metadata, osNeutron("device_id", "ovnmeta-"+osID("network "+name), "device_owner", "network:distributed", "network_name", sw, "cidrs", fmt.Sprintf("10.1.%d.2/24", net))...)
	osDHCP(nb, name, net)
	for _, p := range t.Pods {
		if p.Namespace == name {
			osServerPort(nb, p)
		}
	}
	nb.row("dns"+name, "DNS", append(ids("ls_name", sw), key("records", name+".cloud.example", fmt.Sprintf("10.1.%[1]d.11 fd00:10:1:%[1]d::b", net)), key("records", fmt.Sprintf("11.%d.1.10.in-addr.arpa", net), name+".cloud.example"))...)
	nb.add("add Logical_Switch %s dns_records @dns%s", sw, name)
	web := "inport == \"" + osPort("web") + "\""
	if name == "private" {
		nb.add("qos-add %s from-lport 2002 '%s' rate=3000 burst=3000", sw, web)
		nb.add("qos-add %s to-lport 2002 'outport == \"%s\"' rate=5000", sw, osPort("web"))
		nb.add("qos-add %s from-lport 2001 '%s && ip4 && tcp' dscp=26", sw, strings.ReplaceAll(web, osPort("web"), osPort("db")))
	}
}

func osDHCP(nb *northbound, name string, net int) {
	v4 := []string{fmt.Sprintf("cidr=10.1.%d.0/24", net)}
	for _, o := range [][2]string{
		{"server_id", fmt.Sprintf("10.1.%d.1", net)}, {"server_mac", osMAC("dhcp-" + name)}, {"router", fmt.Sprintf("10.1.%d.1", net)},
		{"lease_time", "43200"}, {"mtu", "1442"}, {"dns_server", "{203.0.113.53, 203.0.113.54}"}, {"domain_name", `"cloud.example"`},
		{"classless_static_route", fmt.Sprintf("{169.254.169.254/32,10.1.%[1]d.2, 0.0.0.0/0,10.1.%[1]d.1}", net)},
	} {
		v4 = append(v4, key("options", o[0], o[1]))
	}
	nb.row("dhcp4"+name, "DHCP_Options", append(v4, ids("subnet_id", osID("subnet4 "+name))...)...)
	v6 := append([]string{text("cidr", fmt.Sprintf("fd00:10:1:%d::/64", net)), key("options", "server_id", osMAC("dhcp-"+name)), key("options", "dns_server", "{2001:db8:113::53}")}, ids("subnet_id", osID("subnet6 "+name))...)
	nb.row("dhcp6"+name, "DHCP_Options", v6...)
}

func osServerPort(nb *northbound, p Pod) {
	sw := osSwitch(p.Namespace)
	addresses := fmt.Sprintf("%s %s %s", p.MAC, p.IPv4.Addr(), p.IPv6.Addr())
	nb.add("lsp-add %s %s -- lsp-set-addresses %[2]s '%s'", sw, p.Name, addresses)
	security := []string{"lsp-set-port-security", p.Name, addresses}
	if p.Pod == "db" { // allowed address pairs, one with the port's own MAC address
		security = append(security, p.MAC+" 10.1.1.100", "fa:16:3e:00:01:00 10.1.1.101 fd00:10:1:1::101", "fa:16:3e:00:01:01")
	}
	nb.commands = append(nb.commands, security)
	nb.set("Logical_Switch_Port", p.Name, append(osNeutron("port_name", p.Pod, "device_id", p.Interface["vm-uuid"], "device_owner", "compute:nova",
		"network_name", sw, "project_id", osProject(), "revision_number", "4", "security_group_ids", osID("security group"),
		"cidrs", p.IPv4.String()+" "+p.IPv6.String()),
		"options:requested-chassis="+p.Node, "dhcpv4_options=@dhcp4"+p.Namespace, "dhcpv6_options=@dhcp6"+p.Namespace)...)
}

// osSecurityGroup writes one security group for all servers, and the port group that denies what no group allows.
func osSecurityGroup(nb *northbound, t Topology) {
	group := "pg_" + strings.ReplaceAll(osID("security group"), "-", "_")
	var ports []string
	for _, p := range t.Pods {
		ports = append(ports, p.Name)
	}
	acl := func(id, direction, priority, action, match string) string {
		columns := []string{"direction=" + direction, "priority=" + priority, "action=" + action, text("match", match)}
		if action != "drop" {
			columns = append(columns, osNeutron("security_group_rule_id", osID("rule "+id))...)
		}
		nb.row(id, "ACL", columns...)
		return "@" + id
	}
	drops := []string{
		acl("dropin", "to-lport", "1001", "drop", "outport == @neutron_pg_drop && ip"),
		acl("dropout", "from-lport", "1001", "drop", "inport == @neutron_pg_drop && ip"),
	}
	rules := []string{
		acl("out4", "from-lport", "1002", "allow-related", "inport == @"+group+" && ip4"),
		acl("out6", "from-lport", "1002", "allow-related", "inport == @"+group+" && ip6"),
		acl("ssh4", "to-lport", "1002", "allow-related", "outport == @"+group+" && ip4 && ip4.src == 0.0.0.0/0 && tcp && tcp.dst == 22"),
		acl("ssh6", "to-lport", "1002", "allow-related", "outport == @"+group+" && ip6 && ip6.src == ::/0 && tcp && tcp.dst == 22"),
		acl("range", "to-lport", "1002", "allow-related", "outport == @"+group+" && ip4 && udp && udp.dst >= 5000 && udp.dst <= 5099"),
		acl("icmp", "to-lport", "1002", "allow-related", "outport == @"+group+" && ip4 && ip4.src == 172.30.0.0/24 && icmp4"),
		acl("members4", "to-lport", "1002", "allow-related", "outport == @"+group+" && ip4 && ip4.src == $"+group+"_ip4"),
		acl("members6", "to-lport", "1002", "allow-related", "outport == @"+group+" && ip6 && ip6.src == $"+group+"_ip6"),
	}
	nb.row("pgdrop", "Port_Group", "name=neutron_pg_drop", "acls="+strings.Join(drops, ","))
	nb.row("pgservers", "Port_Group", append(ids("neutron:security_group_id", osID("security group")), "name="+group, "acls="+strings.Join(rules, ","))...)
	nb.commands = append(nb.commands, append([]string{"pg-set-ports", "neutron_pg_drop"}, ports...), append([]string{"pg-set-ports", group}, ports...))
}

// osFloating writes SNAT for both networks, and floating IPs: one distributed, one central, one IPv6.
func osFloating(nb *northbound, t Topology) {
	nat := func(id string, columns ...string) {
		nb.row(id, "NAT", columns...)
		nb.add("add Logical_Router %s nat @%s", osEdge(), id)
	}
	for net := 1; net <= 2; net++ {
		nat(fmt.Sprintf("snat%d", net), "type=snat", "external_ip=172.30.0.120", fmt.Sprintf("logical_ip=10.1.%d.0/24", net))
	}
	fip := func(i int, p Pod) []string {
		return append(osNeutron("fip_id", osID(fmt.Sprint("fip ", i)), "fip_port_id", p.Name, "fip_external_mac", osMAC(fmt.Sprint("fip ", i)), "router_name", osEdge(), "revision_number", "3"),
			"type=dnat_and_snat", fmt.Sprintf("external_ip=172.30.0.%d", 120+i), "logical_ip="+p.IPv4.Addr().String())
	}
	nat("fip1", append(fip(1, t.Pods[0]), "logical_port="+t.Pods[0].Name, text("external_mac", osMAC("fip 1")))...)
	nat("fip2", fip(2, t.Pods[2])...)
	nat("fip6", "type=dnat_and_snat", text("external_ip", "fd00:172:30::126"), text("logical_ip", t.Pods[2].IPv6.Addr().String()))
}
