//go:build lab

package faults

import (
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
)

var unplugWeb, plugWeb = plugged("node1", "shop_web-1")

// northboundFaults are made on a cluster in the manner of OVN-Kubernetes.
var northboundFaults = []fault{
	{
		check: "port-unplugged", name: "pod", on: "node1",
		how:    "ovs-vsctl del-port of a live pod's device",
		make:   unplugWeb,
		mend:   plugWeb,
		object: "port shop_web-1",
		lost:   []probe{{"shop_client", "shop_web-1", "tcp"}},
	},
	{
		check: "port-administratively-disabled", name: "switch port", on: "central",
		how:    "ovn-nbctl lsp-set-enabled",
		make:   func(s *scene) { s.sh("central", "ovn-nbctl --wait=hv lsp-set-enabled shop_web-1 disabled") },
		object: "port shop_web-1",
		repair: []string{"enable-port", "shop_web-1"},
		lost:   []probe{{"shop_client", "shop_web-1", "tcp"}},
	},
	{
		check: "port-administratively-disabled", name: "router port", on: "central",
		how:    "ovn-nbctl lrp-set-enabled",
		make:   func(s *scene) { s.sh("central", "ovn-nbctl --wait=hv lrp-set-enabled rtos-node2 disabled") },
		object: "port rtos-node2",
		repair: []string{"enable-port", "rtos-node2"},
		lost:   []probe{{"shop_client", "shop_web-2", "tcp"}},
	},
	{
		check: "port-administratively-disabled", name: "router", on: "central",
		how:    "ovn-nbctl set Logical_Router enabled=false",
		make:   func(s *scene) { s.sh("central", "ovn-nbctl --wait=hv set Logical_Router GR_node1 enabled=false") },
		object: "router GR_node1",
		repair: []string{"enable-router", "GR_node1"},
		lost:   []probe{{"shop_client", "internet", "tcp"}},
	},
	{
		check: "dangling-router-link", name: "no such router port", on: "central",
		how: "ovn-nbctl lsp-set-options … router-port of a port that is not there",
		make: func(s *scene) {
			s.sh("central", "ovn-nbctl --wait=hv lsp-set-options stor-node2 router-port=rtos-node9")
		},
		object: "port stor-node2",
		repair: []string{"link-router-port", "stor-node2"},
		lost:   []probe{{"shop_client", "shop_web-2", "tcp"}},
	},
	{
		check: "dangling-router-link", name: "no router port", on: "central",
		how:    "ovn-nbctl clear … options",
		make:   func(s *scene) { s.sh("central", "ovn-nbctl --wait=hv clear Logical_Switch_Port stor-node2 options") },
		object: "port stor-node2",
		repair: []string{"link-router-port", "stor-node2", "rtos-node2"},
		lost:   []probe{{"shop_client", "shop_web-2", "tcp"}},
	},
	{
		check: "dangling-router-link", name: "address", on: "central",
		how:    "ovn-nbctl lsp-set-addresses with another MAC address",
		make:   func(s *scene) { s.sh("central", "ovn-nbctl --wait=hv lsp-set-addresses stor-node1 0a:58:0a:f4:09:01") },
		object: "port stor-node1",
		repair: []string{"link-router-port", "stor-node1"},
		lost:   []probe{{"shop_client", "shop_web-2", "tcp"}},
	},
	{
		check: "dangling-router-link", name: "type", on: "central",
		how:    "ovn-nbctl lsp-set-type with no type",
		make:   func(s *scene) { s.sh("central", `ovn-nbctl --wait=hv lsp-set-type stor-node1 ""`) },
		object: "port stor-node1",
		repair: []string{"link-router-port", "stor-node1"},
		lost:   []probe{{"shop_client", "shop_web-2", "tcp"}},
	},
	{
		check: "dangling-router-link", name: "switch port gone", on: "central",
		how:  "ovn-nbctl lsp-del of the port to the router",
		make: func(s *scene) { s.sh("central", "ovn-nbctl --wait=hv lsp-del stor-node2") },
		mend: func(s *scene) {
			s.sh("central", `ovn-nbctl lsp-add node2 stor-node2 -- lsp-set-type stor-node2 router -- lsp-set-addresses stor-node2 router -- lsp-set-options stor-node2 router-port=rtos-node2
				ovn-nbctl --wait=hv --id=@p get Logical_Switch_Port stor-node2 -- add Port_Group clusterPortGroup ports @p`)
		},
		object: "port rtos-node2",
		lost:   []probe{{"shop_client", "shop_web-2", "tcp"}},
	},
	{
		check: "dangling-router-link", name: "localnet without its type", on: "central",
		how:    "ovn-nbctl lsp-set-type with no type on the port to the physical network",
		make:   func(s *scene) { s.sh("central", `ovn-nbctl --wait=hv lsp-set-type br-ex_node1 ""`) },
		object: "port br-ex_node1",
		repair: []string{"make-localnet-port", "br-ex_node1"},
		lost:   []probe{{"shop_client", "internet", "tcp"}},
	},
	{
		check: "dangling-router-link", name: "peer on one side", on: "central",
		how: "ovn-nbctl clear … peer of one of two routers that are joined",
		make: func(s *scene) {
			s.sh("central", `ovn-nbctl --wait=hv lr-add spare -- lrp-add spare spare-cluster 00:00:00:0b:00:02 169.254.77.2/30 peer=cluster-spare -- \
				lrp-add ovn_cluster_router cluster-spare 00:00:00:0b:00:01 169.254.77.1/30`)
		},
		mend:   func(s *scene) { s.sh("central", "ovn-nbctl --wait=hv lrp-del cluster-spare -- lr-del spare") },
		object: "port spare-cluster",
		repair: []string{"link-routers", "spare-cluster"},
	},
	{
		check: "dangling-router-link", name: "two ports in one network", on: "central",
		how: "ovn-nbctl lrp-add with the network of another port of the router",
		make: func(s *scene) {
			s.sh("central", "ovn-nbctl --wait=hv lrp-add ovn_cluster_router twin 00:00:00:0b:00:03 10.244.2.1/24")
		},
		mend:   func(s *scene) { s.sh("central", "ovn-nbctl --wait=hv lrp-del twin") },
		object: "router ovn_cluster_router",
	},
	{
		check: "static-route-or-nat-unrealised", name: "route", on: "central",
		how: "ovn-nbctl lr-route-add with a next hop in no network of the router",
		make: func(s *scene) {
			s.sh("central", "ovn-nbctl lr-route-del GR_node1 0.0.0.0/0; ovn-nbctl --wait=hv lr-route-add GR_node1 0.0.0.0/0 172.31.0.1")
		},
		mend: func(s *scene) {
			s.sh("central", "ovn-nbctl lr-route-del GR_node1 0.0.0.0/0; ovn-nbctl --wait=hv lr-route-add GR_node1 0.0.0.0/0 172.30.0.1 rtoe-GR_node1")
		},
		object: "router GR_node1",
		lost:   []probe{{"shop_client", "internet", "tcp"}},
	},
	{
		check: "static-route-or-nat-unrealised", name: "output port", on: "central",
		how: "a route whose output_port is another router's, as a transaction",
		make: func(s *scene) {
			s.sh("central", `r=$(ovn-nbctl --bare --columns=_uuid find Logical_Router_Static_Route output_port=rtoe-GR_node1 ip_prefix=0.0.0.0/0)
				ovn-nbctl --wait=hv set Logical_Router_Static_Route $r output_port=rtoe-GR_node9`)
		},
		mend: func(s *scene) {
			s.sh("central", `r=$(ovn-nbctl --bare --columns=_uuid find Logical_Router_Static_Route output_port=rtoe-GR_node9)
				ovn-nbctl --wait=hv set Logical_Router_Static_Route $r output_port=rtoe-GR_node1`)
		},
		object: "router GR_node1",
		lost:   []probe{{"shop_client", "internet", "tcp"}},
	},
	{
		check: "static-route-or-nat-unrealised", name: "policy", on: "central",
		how: "ovn-nbctl lr-policy-add reroute with a next hop in no network of the router",
		make: func(s *scene) {
			s.sh("central", `ovn-nbctl --wait=hv lr-policy-add ovn_cluster_router 900 "ip4.dst == 198.51.100.9" reroute 10.99.99.1`)
		},
		mend:   func(s *scene) { s.sh("central", "ovn-nbctl --wait=hv lr-policy-del ovn_cluster_router 900") },
		object: "router ovn_cluster_router",
	},
	{
		check: "static-route-or-nat-unrealised", name: "NAT without its gateway port", on: "central",
		how: "a NAT row on a router with several gateway ports, as a transaction",
		make: func(s *scene) {
			s.sh("central", `ovn-nbctl --wait=hv --id=@n create NAT type=snat external_ip=198.51.100.1 logical_ip=10.244.9.0/24 -- add Logical_Router ovn_cluster_router nat @n`)
		},
		mend:   func(s *scene) { s.sh("central", "ovn-nbctl --wait=hv clear Logical_Router ovn_cluster_router nat") },
		object: "router ovn_cluster_router",
	},
	{
		check: "static-route-or-nat-unrealised", name: "NAT without a gateway", on: "central",
		how: "ovn-nbctl lr-nat-add on a router that is bound to no chassis",
		make: func(s *scene) {
			s.sh("central", `ovn-nbctl --wait=hv lr-add spare -- lr-nat-add spare snat 198.51.100.1 10.9.9.0/24`)
		},
		mend:   func(s *scene) { s.sh("central", "ovn-nbctl --wait=hv lr-del spare") },
		object: "router spare",
	},
	{
		check: "nb-duplicate-or-conflicting-config", name: "two ports with one address", on: "central",
		how: "the addresses of another port of the switch, as a transaction",
		make: func(s *scene) {
			s.sh("central", `ovn-nbctl --wait=hv set Logical_Switch_Port shop_client 'addresses="0a:58:0a:f4:01:05 10.244.1.5 fd00:10:244:1::5"'`)
		},
		mend:   func(s *scene) { s.sh("central", clientAddresses) },
		object: "port shop_client",
	},
	{
		check: "nb-duplicate-or-conflicting-config", name: "the gateway's address", on: "central",
		how: "ovn-nbctl lsp-set-addresses with the address of the router",
		make: func(s *scene) {
			s.sh("central", `ovn-nbctl --wait=hv lsp-set-addresses shop_client "0a:58:0a:f4:01:06 10.244.1.1"`)
		},
		mend:   func(s *scene) { s.sh("central", clientAddresses) },
		object: "port shop_client",
	},
	{
		check: "nb-duplicate-or-conflicting-config", name: "two load balancers with one address", on: "central",
		how: "ovn-nbctl lb-add and ls-lb-add of the virtual address of another",
		make: func(s *scene) {
			s.sh("central", `ovn-nbctl --wait=hv lb-add stray 10.96.0.10:80 10.244.3.5:80 -- ls-lb-add node1 stray`)
		},
		mend:   func(s *scene) { s.sh("central", "ovn-nbctl --wait=hv lb-del stray") },
		object: "load balancer Service_shop/web_TCP_cluster",
	},
	{
		check: "nb-duplicate-or-conflicting-config", name: "one tunnel key for two", on: "central",
		how: "options:requested-tnl-key of two ports of a switch",
		make: func(s *scene) {
			s.sh("central", "ovn-nbctl --wait=hv set Logical_Switch_Port ops_toolbox options:requested-tnl-key=77 -- set Logical_Switch_Port bank_vault-2 options:requested-tnl-key=77")
		},
		mend: func(s *scene) {
			s.sh("central", "ovn-nbctl --wait=hv remove Logical_Switch_Port ops_toolbox options requested-tnl-key -- remove Logical_Switch_Port bank_vault-2 options requested-tnl-key")
		},
		object: "port ",
	},
	{
		check: "nb-duplicate-or-conflicting-config", name: "one name for two", on: "central",
		how: "ovn-nbctl lsp-add with the name of a router port",
		make: func(s *scene) {
			s.sh("central", "ovn-nbctl --wait=hv lrp-add GR_node3 spare 00:00:00:0b:00:04 10.77.0.1/24 -- lsp-add node3 spare")
		},
		mend:   func(s *scene) { s.sh("central", "ovn-nbctl --wait=hv lsp-del spare -- lrp-del spare") },
		object: "port spare",
	},
	{
		check: "nb-duplicate-or-conflicting-config", name: "a port on two switches", on: "central",
		how: "a port added to the column ports of a second switch, as a transaction",
		make: func(s *scene) {
			s.sh("central", `ovn-nbctl --wait=sb --id=@p get Logical_Switch_Port shop_web-2 -- add Logical_Switch node3 ports @p`)
		},
		mend: func(s *scene) {
			s.sh("central", `p=$(ovn-nbctl get Logical_Switch_Port shop_web-2 _uuid)
				ovn-nbctl --wait=hv remove Logical_Switch node3 ports $p`)
		},
		object: "port shop_web-2",
	},
	{
		check: "lb-on-wrong-switch", name: "group not on the clients' switch", on: "central",
		how:    "ovn-nbctl clear … load_balancer_group of a node's switch",
		make:   func(s *scene) { s.sh("central", "ovn-nbctl --wait=hv clear Logical_Switch node1 load_balancer_group") },
		object: "switch node1",
		repair: []string{"attach-load-balancer-group", "clusterLBGroup", "switch:node1"},
		lost:   []probe{{"shop_client", "shop/web", "tcp"}},
	},
	{
		check: "lb-on-wrong-switch", name: "group not on the gateway router", on: "central",
		how: "ovn-nbctl clear … load_balancer_group of a gateway router",
		make: func(s *scene) {
			s.sh("central", "ovn-nbctl --wait=hv clear Logical_Router GR_node1 load_balancer_group")
		},
		object: "router GR_node1",
		repair: []string{"attach-load-balancer-group", "clusterLBGroup", "GR_node1"},
	},
	{
		check: "lb-on-wrong-switch", name: "not in the group", on: "central",
		how: "ovn-nbctl remove Load_Balancer_Group … load_balancer",
		make: func(s *scene) {
			s.sh("central", `ovn-nbctl --wait=hv remove Load_Balancer_Group clusterLBGroup load_balancer $(ovn-nbctl --bare --columns=_uuid find Load_Balancer name=Service_shop/web_TCP_cluster)`)
		},
		object: "load balancer Service_shop/web_TCP_cluster",
		repair: []string{"attach-load-balancer", "Service_shop/web_TCP_cluster", "group:clusterLBGroup"},
		lost:   []probe{{"shop_client", "shop/web", "tcp"}},
	},
	{
		check: "lb-on-wrong-switch", name: "another protocol", on: "central",
		how: "ovn-nbctl clear Load_Balancer … protocol of a UDP service",
		make: func(s *scene) {
			s.sh("central", "ovn-nbctl --wait=hv clear Load_Balancer Service_shop/web_UDP_cluster protocol")
		},
		object: "load balancer Service_shop/web_UDP_cluster",
		repair: []string{"set-load-balancer-protocol", "Service_shop/web_UDP_cluster", "udp"},
		lost:   []probe{{"shop_client", "shop/web", "udp"}},
	},
	{
		check: "lb-on-wrong-switch", name: "no hairpin address", on: "central",
		how: "ovn-nbctl remove Load_Balancer … options hairpin_snat_ip",
		make: func(s *scene) {
			s.sh("central", "ovn-nbctl --wait=hv remove Load_Balancer Service_shop/self_TCP_cluster options hairpin_snat_ip")
		},
		object: "load balancer Service_shop/self_TCP_cluster", result: doctor.Warning,
		repair: []string{"set-hairpin-address", "Service_shop/self_TCP_cluster", "169.254.169.5 fd69::5"},
	},
	{
		check: "lb-on-wrong-switch", name: "address in the switch's network", on: "central",
		how: "ovn-nbctl lb-add with an address of the switch's own network",
		make: func(s *scene) {
			s.sh("central", "ovn-nbctl --wait=hv lb-add stray 10.244.1.77:80 10.244.3.5:8080 -- ls-lb-add node1 stray")
		},
		mend:   func(s *scene) { s.sh("central", "ovn-nbctl --wait=hv lb-del stray") },
		object: "load balancer stray",
	},
	{
		check: "lb-on-wrong-switch", name: "backends gone", on: "central",
		how: "ovn-nbctl lb-add with a backend that no port has",
		make: func(s *scene) {
			s.sh("central", "ovn-nbctl --wait=hv lb-add stray 10.96.0.77:80 10.244.1.99:8080 -- ls-lb-add node1 stray")
		},
		mend:   func(s *scene) { s.sh("central", "ovn-nbctl --wait=hv lb-del stray") },
		object: "load balancer stray",
	},
	{
		check: "lb-on-wrong-switch", name: "on a router without a gateway", on: "central",
		how: "ovn-nbctl lr-lb-add on a router that is bound to no chassis",
		make: func(s *scene) {
			s.sh("central", "ovn-nbctl --wait=hv lr-add spare -- lb-add stray 10.96.0.77:80 10.244.3.5:8080 -- lr-lb-add spare stray")
		},
		mend:   func(s *scene) { s.sh("central", "ovn-nbctl --wait=hv lb-del stray -- lr-del spare") },
		object: "load balancer stray",
	},
	{
		check: "lb-health-check-dead", name: "another port", on: "central",
		how:  "ip_port_mappings that name another pod's port, as a transaction",
		make: func(s *scene) { watch(s, "10.244.1.5:8080", "10.244.1.5=shop_client:10.244.1.200") },
		mend: unwatch, object: "load balancer watched",
		repair: []string{"map-backend", "watched", "10.244.1.5"},
	},
	{
		check: "lb-health-check-dead", name: "no such port", on: "central",
		how:  "ip_port_mappings that name a port that is not there",
		make: func(s *scene) { watch(s, "10.244.1.5:8080", "10.244.1.5=shop_web-9:10.244.1.200") },
		mend: unwatch, object: "load balancer watched",
		repair: []string{"map-backend", "watched", "10.244.1.5"},
	},
	{
		check: "lb-health-check-dead", name: "the router's address", on: "central",
		how: "ip_port_mappings that ask from the address of the router",
		make: func(s *scene) {
			watch(s, "10.244.1.5:8080,10.244.1.6:8080", "10.244.1.5=shop_web-1:10.244.1.1", "10.244.1.6=shop_client:10.244.1.200")
		},
		mend: func(s *scene) {
			unwatch(s)
			s.sh("shop_web-1", "ip neigh flush dev eth0") // it may have learned that OVN is the router, and sends to nobody until it asks again
		},
		object: "load balancer watched",
		repair: []string{"map-backend", "watched", "10.244.1.5"},
	},
	{
		check: "lb-health-check-dead", name: "not watched", on: "central",
		how: "ip_port_mappings without one of the backends",
		make: func(s *scene) {
			watch(s, "10.244.1.5:8080,10.244.1.6:8080", "10.244.1.5=shop_web-1:10.244.1.200")
		},
		mend: unwatch, object: "load balancer watched", result: doctor.Warning,
		repair: []string{"map-backend", "watched", "10.244.1.6"},
	},
	{
		check: "lb-health-check-dead", name: "nobody listens", on: "central",
		how:  "a watched backend on whose port nobody listens",
		make: func(s *scene) { watch(s, "10.244.1.5:8099", "10.244.1.5=shop_web-1:10.244.1.200") },
		mend: unwatch, object: "load balancer watched",
	},
	{
		check: "acl-drops", name: "address set gone", on: "central",
		how: "ovn-nbctl destroy Address_Set of a namespace that a policy admits",
		make: func(s *scene) {
			s.sh("central", `u=$(ovn-nbctl --bare --columns=_uuid find Address_Set external_ids:k8s.ovn.org/name=shop external_ids:ip-family=v4)
				ovn-nbctl --bare --columns=name list Address_Set $u > $OVN_RUNDIR/set-name
				ovn-nbctl --wait=hv destroy Address_Set $u`)
		},
		mend: func(s *scene) {
			s.sh("central", `ovn-nbctl --wait=hv create Address_Set name=$(cat $OVN_RUNDIR/set-name) 'addresses="10.244.1.5","10.244.1.6","10.244.2.5","10.244.3.5"' \
				external_ids:k8s.ovn.org/name=shop external_ids:ip-family=v4 external_ids:k8s.ovn.org/owner-type=Namespace external_ids:k8s.ovn.org/owner-controller=default-network-controller`)
		},
		object: "address set ",
		lost:   []probe{{"shop_client", "bank_vault-1", "tcp"}},
	},
	{
		check: "acl-drops", name: "port group renamed", on: "central",
		how: "ovn-nbctl set Port_Group … name of a policy's group",
		make: func(s *scene) {
			s.sh("central", `u=$(ovn-nbctl --bare --columns=_uuid find Port_Group external_ids:k8s.ovn.org/name='"ops:to-shop"')
				ovn-nbctl --bare --columns=name list Port_Group $u > $OVN_RUNDIR/group-name
				ovn-nbctl --wait=hv set Port_Group $u name=renamed`)
		},
		mend: func(s *scene) {
			s.sh("central", "ovn-nbctl --wait=hv set Port_Group renamed name=$(cat $OVN_RUNDIR/group-name)")
		},
		object: "port group ",
		lost:   []probe{{"ops_debug", "shop_web-1", "tcp"}},
	},
	{
		check: "acl-drops", name: "port group empty", on: "central",
		how: "ovn-nbctl pg-set-ports of a policy's group with no ports",
		make: func(s *scene) {
			s.sh("central", `ovn-nbctl --wait=hv clear Port_Group $(ovn-nbctl --bare --columns=name find Port_Group external_ids:k8s.ovn.org/name='"ops:to-shop"') ports`)
		},
		mend: func(s *scene) {
			s.sh("central", `ovn-nbctl --wait=hv pg-set-ports $(ovn-nbctl --bare --columns=name find Port_Group external_ids:k8s.ovn.org/name='"ops:to-shop"') ops_debug`)
		},
		object: "port group ",
		lost:   []probe{{"ops_debug", "shop_web-1", "tcp"}},
	},
	{
		check: "acl-drops", name: "match that is none", on: "central",
		how: "ovn-nbctl set ACL … match to what OVN cannot read",
		make: func(s *scene) {
			s.sh("central", `u=$(ovn-nbctl --bare --columns=_uuid find ACL name='"NP:ops:to-shop:Egress:0"')
				ovn-nbctl --bare --columns=match list ACL $u > $OVN_RUNDIR/match
				ovn-nbctl --wait=hv set ACL $u 'match="tcp.dst == 8080 &&"'`)
		},
		mend: func(s *scene) {
			s.sh("central", `u=$(ovn-nbctl --bare --columns=_uuid find ACL name='"NP:ops:to-shop:Egress:0"')
				ovn-nbctl --wait=hv set ACL $u "match=\"$(cat $OVN_RUNDIR/match)\""`)
		},
		object: "ACL NP:ops:to-shop:Egress:0",
		lost:   []probe{{"ops_debug", "shop_web-1", "tcp"}},
	},
	{
		check: "stale-conntrack-after-endpoint-change", on: "node1",
		how: "a backend taken away under a UDP client that goes on sending",
		make: func(s *scene) {
			talk = s.converse("shop_client", "10.96.0.10:53")
			left := "10.244.3.5:9090"
			talk.want = "shop_web-3"
			if strings.Contains(talk.answer(), "shop_web-3") {
				left, talk.want = "10.244.1.5:9090", "shop_web-1"
			}
			s.nbctl(`--wait=hv set Load_Balancer Service_shop/web_UDP_cluster 'vips:"10.96.0.10:53"="%s"'`, left)
		},
		mend: func(s *scene) {
			s.until(talk.want+" answers", func() bool { return strings.Contains(talk.answer(), talk.want) })
			talk.end()
			s.nbctl(`--wait=hv set Load_Balancer Service_shop/web_UDP_cluster 'vips:"10.96.0.10:53"="10.244.1.5:9090,10.244.2.5:9090,10.244.3.5:9090"'`)
		},
		object: "load balancer Service_shop/web_UDP_cluster", args: []string{"--sample", "6s"}, // a third of it where repairs are cut off
		repair: []string{"flush-stale-connections", "10.96.0.10:53"},
	},
	{
		check: "pod-address-mismatch", name: "MAC address", on: "node1",
		how:    "ip link set eth0 address, in the pod",
		make:   func(s *scene) { s.sh("shop_client", "ip link set eth0 address 02:00:00:00:00:99") },
		mend:   func(s *scene) { s.sh("shop_client", "ip link set eth0 address 0a:58:0a:f4:01:06") },
		object: "port shop_client",
		lost:   []probe{{"shop_web-2", "shop_client", "tcp"}},
	},
	{
		check: "pod-address-mismatch", name: "address", on: "node1",
		how: "ip addr del and add of another address, in the pod",
		make: func(s *scene) {
			s.sh("shop_client", "ip addr del 10.244.1.6/24 dev eth0; ip addr add 10.244.1.66/24 dev eth0; ip route add default via 10.244.1.1")
		},
		mend: func(s *scene) {
			s.sh("shop_client", "ip addr del 10.244.1.66/24 dev eth0; ip addr add 10.244.1.6/24 dev eth0; ip route add default via 10.244.1.1")
		},
		object: "port shop_client",
		lost:   []probe{{"shop_client", "shop_web-2", "tcp"}},
	},
	{
		check: "pod-address-mismatch", name: "default route", on: "node1",
		how:    "ip route replace default by way of an address that nobody has, in the pod",
		make:   func(s *scene) { s.sh("shop_client", "ip route replace default via 10.244.1.99") },
		mend:   func(s *scene) { s.sh("shop_client", "ip route replace default via 10.244.1.1") },
		object: "port shop_client",
		lost:   []probe{{"shop_client", "shop_web-2", "tcp"}},
	},
	{
		check: "pod-address-mismatch", name: "no default route", on: "node1",
		how:    "ip route del default, in the pod",
		make:   func(s *scene) { s.sh("shop_client", "ip route del default") },
		mend:   func(s *scene) { s.sh("shop_client", "ip route add default via 10.244.1.1") },
		object: "port shop_client", result: doctor.Warning,
		lost: []probe{{"shop_client", "shop_web-2", "tcp"}},
	},
	{
		check: "pod-address-mismatch", name: "the port changed", on: "node1",
		how: "addresses and port_security of the port set to another address, as a transaction",
		make: func(s *scene) {
			s.nbctl(`--wait=hv lsp-set-addresses shop_client "0a:58:0a:f4:01:42 10.244.1.66 fd00:10:244:1::66" -- lsp-set-port-security shop_client "0a:58:0a:f4:01:42 10.244.1.66 fd00:10:244:1::66"`)
		},
		object: "port shop_client",
		repair: []string{"set-port-address", "shop_client"},
		lost:   []probe{{"shop_client", "shop_web-2", "tcp"}},
	},
}

// clientAddresses gives shop_client back what it has.
const clientAddresses = `ovn-nbctl --wait=hv lsp-set-addresses shop_client "0a:58:0a:f4:01:06 10.244.1.6 fd00:10:244:1::6"`

// watch makes a load balancer "watched" for 10.96.0.88:8080 on the switch of node1, with a health check.
func watch(s *scene, backends string, mappings ...string) {
	s.Helper()
	var columns []string
	for _, m := range mappings {
		backend, by, _ := strings.Cut(m, "=")
		columns = append(columns, fmt.Sprintf(`'ip_port_mappings:"%s"="%s"'`, backend, by))
	}
	s.sh("central", `ovn-nbctl --wait=hv --id=@h create Load_Balancer_Health_Check 'vip="10.96.0.88:8080"' options:interval=1 options:timeout=1 options:success_count=1 options:failure_count=1 -- \
		--id=@lb create Load_Balancer name=watched protocol=tcp health_check=@h 'vips:"10.96.0.88:8080"="%s"' %s -- \
		add Logical_Switch node1 load_balancer @lb`, backends, strings.Join(columns, " "))
}

func unwatch(s *scene) { s.sh("central", "ovn-nbctl --wait=hv lb-del watched") }

// openStackFaults are made on OVN as Neutron writes it.
var openStackFaults = []fault{
	{
		check: "dhcp-options-incomplete", name: "key missing", on: "central",
		how: "ovn-nbctl remove DHCP_Options … options server_mac",
		make: func(s *scene) {
			s.sh("central", "ovn-nbctl --wait=hv remove DHCP_Options $(ovn-nbctl --bare --columns=_uuid find DHCP_Options cidr=10.1.1.0/24) options server_mac")
		},
		object: "DHCP options 10.1.1.0/24",
		repair: []string{"complete-dhcp-options", "10.1.1.0/24"},
		lost:   []probe{{"private/web", "255.255.255.255", "dhcp"}},
	},
	{
		check: "dhcp-options-incomplete", name: "IPv6", on: "central",
		how: "ovn-nbctl remove DHCP_Options … options server_id, of DHCPv6",
		make: func(s *scene) {
			s.sh("central", `ovn-nbctl --wait=hv remove DHCP_Options $(ovn-nbctl --bare --columns=_uuid find DHCP_Options cidr='"fd00:10:1:1::/64"') options server_id`)
		},
		object: "DHCP options fd00:10:1:1::/64",
		repair: []string{"complete-dhcp-options", "fd00:10:1:1::/64"},
	},
	{
		check: "dhcp-options-incomplete", name: "another network", on: "central",
		how: "ovn-nbctl lsp-set-dhcpv4-options with those of another network",
		make: func(s *scene) {
			s.repair = []string{"set-dhcp-options", webPort(s)}
			s.sh("central", "ovn-nbctl --wait=hv lsp-set-dhcpv4-options %s $(ovn-nbctl --bare --columns=_uuid find DHCP_Options cidr=10.1.2.0/24)", webPort(s))
		},
		object: "port ",
		repair: []string{"set-dhcp-options"},
		lost:   []probe{{"private/web", "255.255.255.255", "dhcp"}},
	},
	{
		check: "acl-drops", name: "security group without its ports", on: "central",
		how: "ovn-nbctl clear Port_Group … ports of a security group",
		make: func(s *scene) {
			s.sh("central", `g=$(ovn-nbctl --bare --columns=name list Port_Group | grep ^pg_)
				ovn-nbctl --bare --columns=ports list Port_Group $g > $OVN_RUNDIR/ports
				ovn-nbctl --wait=hv clear Port_Group $g ports`)
		},
		mend: func(s *scene) {
			s.sh("central", `g=$(ovn-nbctl --bare --columns=name list Port_Group | grep ^pg_)
				ovn-nbctl --wait=hv set Port_Group $g ports=$(tr ' ' , < $OVN_RUNDIR/ports)`)
		},
		object: "port group pg_",
		lost:   []probe{{"private/web", "private/db", "tcp"}},
	},
	{
		check: "neutron-rows-missing", name: "default deny without ports", on: "central",
		how: "ovn-nbctl clear Port_Group neutron_pg_drop ports",
		make: func(s *scene) {
			s.sh("central", `ovn-nbctl --bare --columns=ports list Port_Group neutron_pg_drop > $OVN_RUNDIR/ports
				ovn-nbctl --wait=hv clear Port_Group neutron_pg_drop ports`)
		},
		mend: func(s *scene) {
			s.sh("central", `ovn-nbctl --wait=hv set Port_Group neutron_pg_drop ports=$(tr ' ' , < $OVN_RUNDIR/ports)`)
		},
		object: "port group neutron_pg_drop",
	},
	{
		check: "static-route-or-nat-unrealised", name: "stale floating IP", on: "central",
		how: "ovn-nbctl set NAT … logical_ip, of a port with another address",
		make: func(s *scene) {
			s.sh("central", `n=$(ovn-nbctl --bare --columns=_uuid find NAT type=dnat_and_snat logical_ip=10.1.1.11)
				ovn-nbctl --wait=hv set NAT $n logical_ip=10.1.1.250; echo $n > $OVN_RUNDIR/nat`)
		},
		mend: func(s *scene) {
			s.sh("central", `ovn-nbctl --wait=hv set NAT $(cat $OVN_RUNDIR/nat) logical_ip=10.1.1.11`)
		},
		object: "router ",
	},
	{
		check: "dangling-router-link", name: "no port to the physical network", on: "central",
		how: "ovn-nbctl lsp-del of the port to the physical network",
		make: func(s *scene) {
			s.sh("central", `p=$(ovn-nbctl --bare --columns=name find Logical_Switch_Port type=localnet)
				echo $p > $OVN_RUNDIR/localnet; ovn-nbctl --wait=hv lsp-del $p`)
		},
		mend: func(s *scene) {
			s.sh("central", `p=$(cat $OVN_RUNDIR/localnet); s=$(ovn-nbctl --bare --columns=name find Logical_Switch external_ids:neutron\\:network_name=provider)
				ovn-nbctl --wait=hv lsp-add $s $p -- lsp-set-type $p localnet -- lsp-set-addresses $p unknown -- lsp-set-options $p network_name=physnet mcast_flood=false mcast_flood_reports=true`)
		},
		object: "switch neutron-",
		lost:   []probe{{"private/web", "internet", "icmp"}},
	},
}

// plugged are the commands that take a pod's port from br-int and put it back.
func plugged(node, port string) (unplug, plug func(*scene)) {
	device := func(s *scene) string {
		return s.sh(node, `ovs-vsctl --bare --columns=name find Interface external_ids:iface-id=%s`, port)
	}
	unplug = func(s *scene) {
		s.sh(node, `d=%[1]s; echo $d > $OVS_RUNDIR/unplugged; ovs-vsctl get Interface $d external_ids >> $OVS_RUNDIR/unplugged; ovs-vsctl del-port br-int $d`, device(s))
		s.sh("central", `ovn-sbctl --timeout=60 wait-until Port_Binding %s up=false`, port)
	}
	plug = func(s *scene) {
		s.sh(node, `{ read d; read ids; } < $OVS_RUNDIR/unplugged; ovs-vsctl add-port br-int $d -- set Interface $d external_ids="$ids"`)
		s.sh("central", `ovn-sbctl --timeout=60 wait-until Port_Binding %s up=true`, port)
		s.settle()
	}
	return unplug, plug
}

// webPort is the logical port of the server web.
func webPort(s *scene) string {
	p, ok := s.Topology.Pod("private/web")
	if !ok {
		s.Fatal("there is no server private/web")
	}
	return p.Name
}

// talk is the conversation of the fault that is made.
var talk *conversation

// nbctl runs ovn-nbctl where the databases are, wherever the fault is made.
func (s *scene) nbctl(format string, args ...any) {
	s.Helper()
	s.sh("central", "ovn-nbctl "+format, args...)
}
