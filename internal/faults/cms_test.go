//go:build lab

package faults

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/doctor"
)

// nbctl is a fault that ovn-nbctl makes: rows that the cluster's management system has written are gone or changed.
func nbctl(commands string, args ...any) func(*scene) {
	return func(s *scene) { s.sh("central", "ovn-nbctl --timeout=60 --wait=hv "+commands, args...) }
}

// kubeOVNFaults are made on a cluster as Kube-OVN builds it. What kube-ovn-controller lacks to write, or somebody takes
// away, is taken away here.
var kubeOVNFaults = []fault{
	{
		check: "kube-ovn-join-gap", name: "node policy", on: "node1",
		how:    "ovn-nbctl lr-policy-del 30000, both families",
		make:   nbctl(`lr-policy-del ovn-cluster 30000 'ip4.dst == 172.30.0.12' -- lr-policy-del ovn-cluster 30000 'ip6.dst == fd00:172:30::12'`),
		object: "ovn-cluster", repair: words("kube-ovn-node-policy node2"),
	},
	{
		check: "kube-ovn-join-gap", name: "node policy of IPv6", on: "central",
		how:    "ovn-nbctl lr-policy-del 30000 of one family",
		make:   nbctl(`lr-policy-del ovn-cluster 30000 'ip6.dst == fd00:172:30::11'`),
		object: "ovn-cluster", repair: words("kube-ovn-node-policy node1"),
	},
	{
		check: "kube-ovn-join-gap", name: "node policy leads elsewhere", on: "node1",
		how: "nexthops of the policy set to an old address",
		make: func(s *scene) {
			s.sh("central", `ovn-nbctl --wait=hv set Logical_Router_Policy $(ovn-nbctl --bare --columns=_uuid find Logical_Router_Policy match='"ip4.dst == 172.30.0.11"') nexthops=100.64.0.99`)
		},
		object: "ovn-cluster", repair: words("kube-ovn-node-policy node1"),
	},
	{
		check: "kube-ovn-join-gap", name: "subnet policy", on: "node1",
		how:    "ovn-nbctl lr-policy-del 31000 of the join switch and of the pods' subnet",
		make:   nbctl(`lr-policy-del ovn-cluster 31000 'ip4.dst == 10.16.0.0/16'`),
		object: "ovn-default", repair: words("kube-ovn-subnet-policy ovn-default"),
	},
	{
		check: "kube-ovn-join-gap", name: "subnet policy of IPv6", on: "node1",
		how:    "ovn-nbctl lr-policy-del 31000 of one family",
		make:   nbctl(`lr-policy-del ovn-cluster 31000 'ip6.dst == fd00:100:64::/112'`),
		object: "join", repair: words("kube-ovn-subnet-policy join"),
	},
	{
		check: "kube-ovn-join-gap", name: "gateway policy", on: "node1",
		how:    "ovn-nbctl lr-policy-del 29000, both families",
		make:   nbctl(`lr-policy-del ovn-cluster 29000 'ip4.src == $ovn.default.node1_ip4' -- lr-policy-del ovn-cluster 29000 'ip6.src == $ovn.default.node1_ip6'`),
		object: "ovn-cluster", repair: words("kube-ovn-gateway-policy ovn-default node1"),
		lost: []probe{{"client.shop", "internet", "icmp"}},
	},
	{
		check: "kube-ovn-join-gap", name: "gateway policy of IPv6", on: "node1",
		how:    "ovn-nbctl lr-policy-del 29000 of one family",
		make:   nbctl(`lr-policy-del ovn-cluster 29000 'ip6.src == $ovn.default.node2_ip6'`),
		object: "ovn-cluster", repair: words("kube-ovn-gateway-policy ovn-default node2"),
	},
	{
		check: "kube-ovn-join-gap", name: "default route", on: "node1",
		how:    "ovn-nbctl lr-route-del",
		make:   nbctl(`lr-route-del ovn-cluster 0.0.0.0/0`),
		object: "ovn-cluster", repair: words("kube-ovn-default-route"),
		lost: []probe{{"client.shop", "internet", "icmp"}},
	},
	{
		check: "kube-ovn-join-gap", name: "default route of IPv6", on: "central",
		how:    "ovn-nbctl lr-route-del of one family",
		make:   nbctl(`lr-route-del ovn-cluster ::/0`),
		object: "ovn-cluster", repair: words("kube-ovn-default-route"),
	},
	{
		check: "kube-ovn-join-gap", name: "default route by source", on: "node1",
		how: "policy of the route set to src-ip",
		make: func(s *scene) {
			s.sh("central", `ovn-nbctl --wait=hv set Logical_Router_Static_Route $(ovn-nbctl --bare --columns=_uuid find Logical_Router_Static_Route ip_prefix=0.0.0.0/0) policy=src-ip`)
		},
		result: doctor.Warning,
		object: "ovn-cluster", repair: words("kube-ovn-default-route"),
	},
	{
		check: "kube-ovn-join-gap", name: "port of a node", on: "node1",
		how:    "ovn-nbctl lsp-del",
		make:   nbctl(`lsp-del node-node1`),
		object: "node-node1", repair: words("kube-ovn-node-port node1"),
		lost: []probe{{"client.shop", "internet", "icmp"}},
	},
	{
		check: "kube-ovn-join-gap", name: "port group of a subnet's pods", on: "node1",
		how:    "ovn-nbctl pg-del, and with it the address sets that the policy names",
		make:   nbctl(`pg-del ovn.default.node1`),
		object: "ovn.default.node1", repair: words("kube-ovn-port-group ovn-default node1"),
		lost: []probe{{"client.shop", "internet", "icmp"}},
	},
	{
		check: "kube-ovn-join-gap", name: "empty address set", on: "central",
		how:    "ovn-nbctl clear Port_Group ports: $ovn.default.node1_ip4 and _ip6 are empty",
		make:   nbctl(`clear Port_Group ovn.default.node1 ports`),
		object: "ovn.default.node1", repair: words("kube-ovn-port-group ovn-default node1"),
		lost: []probe{{"client.shop", "internet", "icmp"}},
	},
	{
		check: "kube-ovn-join-gap", name: "pod in the wrong node's group", on: "node1",
		how:    "ovn-nbctl pg-set-ports: a pod moved from its node's group into another's",
		make:   nbctl(`pg-set-ports ovn.default.node1 web-1.shop vault-1.bank -- pg-set-ports ovn.default.node2 web-2.shop toolbox.ops vault-2.bank client.shop`),
		object: "ovn.default.node1", repair: words("kube-ovn-port-group ovn-default node1"),
	},
	{
		check: "kube-ovn-join-gap", name: "pod in two groups", on: "node1",
		how:    "ovn-nbctl pg-set-ports: a pod also in another node's group",
		make:   nbctl(`pg-set-ports ovn.default.node2 web-2.shop toolbox.ops vault-2.bank client.shop`),
		object: "ovn.default.node2", repair: words("kube-ovn-port-group ovn-default node2"),
	},
	{
		check: "kube-ovn-join-gap", name: "port group of a node", on: "node1",
		how:    "ovn-nbctl pg-del node.node2",
		make:   nbctl(`pg-del node.node2`),
		object: "node.node2", repair: words("kube-ovn-node-group node2"),
	},
	{
		check: "kube-ovn-ovn0-wrong", name: "MAC", on: "node1",
		how: "ip link set ovn0 address, with no MAC in Open_vSwitch, as after a reboot",
		make: func(s *scene) {
			s.sh("node1", `ovs-vsctl clear Interface ovn0 mac; ip link set ovn0 address 02:00:00:00:0b:ad`)
		},
		object: "ovn0", repair: words("kube-ovn-ovn0 node1"),
		lost: []probe{{"client.shop", "internet", "icmp"}},
	},
	{
		check: "kube-ovn-ovn0-wrong", name: "down", on: "node1",
		how:    "ip link set ovn0 down",
		make:   func(s *scene) { s.sh("node1", `ip link set ovn0 down`) },
		object: "ovn0", repair: words("kube-ovn-ovn0 node1"),
		lost: []probe{{"client.shop", "internet", "icmp"}},
	},
	{
		check: "kube-ovn-ovn0-wrong", name: "address", on: "node2",
		how:    "ip addr del, IPv6",
		make:   func(s *scene) { s.sh("node2", `ip addr del fd00:100:64::3/112 dev ovn0`) },
		object: "ovn0", repair: words("kube-ovn-ovn0 node2"),
	},
	{
		check: "kube-ovn-ovn0-wrong", name: "missing", on: "node3",
		how:  "ovs-vsctl del-port ovn0, as after a restart of Open vSwitch with a lost database",
		make: func(s *scene) { s.sh("node3", `ovs-vsctl del-port br-int ovn0`) },
		mend: func(s *scene) {
			n, _ := s.Topology.Node("node3")
			var script []string
			for _, args := range n.Vswitch {
				if strings.Contains(strings.Join(args, " "), "ovn0") {
					script = append(script, "ovs-vsctl '"+strings.Join(args, "' '")+"'")
				}
			}
			for _, line := range n.Network {
				if strings.Contains(line, "ovn0") {
					script = append(script, line)
				}
			}
			s.sh("node3", "%s", strings.Join(script, "\n"))
			s.sh("central", "ovn-nbctl --timeout=60 --wait=hv sync")
		},
		object: "ovn0",
	},
	{
		check: "kube-ovn-node-ip-in-subnet", name: "address", on: "node1",
		how: "a subnet with the nodes' own network, ovn-nbctl",
		make: nbctl(`ls-add wide -- set Logical_Switch wide external_ids:vendor=kube-ovn -- lrp-add ovn-cluster ovn-cluster-wide 00:00:00:aa:bb:01 172.30.0.250/24 -- ` +
			`lsp-add wide wide-ovn-cluster -- lsp-set-type wide-ovn-cluster router -- lsp-set-addresses wide-ovn-cluster router -- lsp-set-options wide-ovn-cluster router-port=ovn-cluster-wide -- ` +
			`--id=@a create Logical_Router_Policy priority=31000 match='"ip4.dst == 172.30.0.0/24"' action=allow external_ids:vendor=kube-ovn external_ids:subnet=wide -- add Logical_Router ovn-cluster policies @a -- ` +
			`--id=@b create Logical_Router_Policy priority=29000 match='"ip4.src == 172.30.0.0/24"' action=reroute nexthops=100.64.0.2 external_ids:vendor=kube-ovn external_ids:subnet=wide external_ids:node1=100.64.0.2 -- add Logical_Router ovn-cluster policies @b`),
		mend:   nbctl(`lrp-del ovn-cluster-wide -- ls-del wide -- lr-policy-del ovn-cluster 31000 'ip4.dst == 172.30.0.0/24' -- lr-policy-del ovn-cluster 29000 'ip4.src == 172.30.0.0/24'`),
		object: "node node1",
	},
	{
		check: "kube-ovn-node-ip-in-subnet", name: "route", on: "node2",
		how:    "ip route add to a part of the pods' network",
		make:   func(s *scene) { s.sh("node2", `ip route add 10.16.200.0/24 via 172.30.0.1`) },
		mend:   func(s *scene) { s.sh("node2", `ip route del 10.16.200.0/24 via 172.30.0.1`) },
		object: "node node2",
	},
}

func words(s string) []string { return strings.Fields(s) }

// TestHealthyManagement holds that doctor finds nothing in what management systems write on purpose and that looks odd:
// subnets of every kind, pods on their way to another node, chassis of other zones and VTEPs, gateways held by two.
func TestHealthyManagement(t *testing.T) {
	const elsewhere = `ovn-sbctl chassis-add far geneve 192.0.2.9 -- set Chassis far hostname=far other_config:is-remote=true -- chassis-add tor vxlan 192.0.2.8 -- set Chassis tor hostname=tor other_config:is-vtep=true vtep_logical_switches=x`
	for _, test := range []struct {
		topology lab.Topology
		script   string
	}{
		{lab.KubeOVN(), elsewhere + `
			` + kubeSubnet("central", 20, "") + `
			for f in "ip4 10.20.0.0/16 100.64.0.2 100.64.0.3" "ip6 fd00:20::/112 fd00:100:64::2 fd00:100:64::3"; do
				set -- $f
				ovn-nbctl --id=@a create Logical_Router_Policy priority=31000 match="\"$1.dst == $2\"" action=allow external_ids:vendor=kube-ovn external_ids:subnet=central -- add Logical_Router ovn-cluster policies @a
				ovn-nbctl --id=@a create Logical_Router_Policy priority=29000 match="\"$1.src == $2\"" action=reroute nexthops="\"$3\",\"$4\"" external_ids:vendor=kube-ovn external_ids:subnet=central external_ids:node1="\"$3\"" external_ids:node2="\"$4\"" -- add Logical_Router ovn-cluster policies @a
			done
			` + kubeSubnet("underlay", 21, "provider") + `
			ovn-nbctl lrp-del ovn-cluster-underlay -- lsp-del underlay-ovn-cluster
			` + kubeSubnet("u2o", 22, "provider") + `
			ovn-nbctl --id=@a create Logical_Router_Policy priority=29400 match="\"ip4.dst == 10.22.0.0/16\"" action=allow external_ids:vendor=kube-ovn external_ids:subnet=u2o external_ids:isU2ORoutePolicy=true -- add Logical_Router ovn-cluster policies @a
			ovn-nbctl --id=@a create Logical_Router_Policy priority=29000 match="\"ip4.src == 10.22.0.0/16\"" action=reroute nexthops=10.22.0.254 external_ids:vendor=kube-ovn external_ids:subnet=u2o external_ids:isU2ORoutePolicy=true -- add Logical_Router ovn-cluster policies @a
			ovn-nbctl set Logical_Switch_Port client.shop options:requested-chassis=node1,node2
			ovn-nbctl pg-set-ports ovn.default.node1 vault-1.bank web-1.shop -- pg-set-ports ovn.default.node2 web-2.shop toolbox.ops vault-2.bank client.shop`},
		{lab.OVNKubernetes(), elsewhere + `
			ovn-nbctl set Logical_Switch_Port shop_client options:requested-chassis=node1,node2
			ovn-nbctl lrp-set-gateway-chassis rtos-node2 $(ovn-sbctl --bare --columns=name find Chassis hostname=node3) 5
			ovn-nbctl lrp-set-gateway-chassis rtos-node1 far 1
			ovn-nbctl --id=@n create NAT type=snat logical_ip=10.244.9.7 external_ip=172.30.0.201 external_ids:k8s.ovn.org/owner-type=EgressIP external_ids:k8s.ovn.org/name=egress_shop/elsewhere -- add Logical_Router GR_node1 nat @n
			ovn-nbctl --id=@n create NAT type=snat logical_ip=10.244.1.6 external_ip=172.30.0.202 external_ids:k8s.ovn.org/owner-type=EgressIP external_ids:k8s.ovn.org/name=egress_shop/client -- add Logical_Router GR_node1 nat @n`},
	} {
		t.Run(test.topology.Name, func(t *testing.T) {
			l := labtest.Own(t, test.topology, lab.Options{})
			s := &scene{T: t, Lab: l, ctx: t.Context()}
			s.sh("central", "%s", test.script)
			for _, n := range test.topology.Nodes {
				s.sh(n.Name, `[ ! -e /sys/class/net/ovn0 ] || { ip route add 10.20.0.0/16 via 100.64.0.1 dev ovn0 && ip -6 route add fd00:20::/112 via fd00:100:64::1 dev ovn0; }`)
			}
			s.settle()
			for _, host := range []string{"node1", "node2", "central"} {
				healthyFrom(t, l, host, "--host-root", l.Dir+"/"+host)
			}
		})
	}
}

// kubeSubnet is a script that makes a subnet behind the default router, with a localnet port where a network is given.
func kubeSubnet(name string, net int, network string) string {
	script := fmt.Sprintf(`ovn-nbctl ls-add %[1]s -- set Logical_Switch %[1]s external_ids:vendor=kube-ovn -- lrp-add ovn-cluster ovn-cluster-%[1]s 00:00:00:aa:00:%[2]d 10.%[2]d.0.1/16 fd00:%[2]d::1/112 -- lsp-add %[1]s %[1]s-ovn-cluster -- lsp-set-type %[1]s-ovn-cluster router -- lsp-set-addresses %[1]s-ovn-cluster router -- lsp-set-options %[1]s-ovn-cluster router-port=ovn-cluster-%[1]s`, name, net)
	if network != "" {
		script += fmt.Sprintf(` -- lsp-add %[1]s localnet.%[1]s -- lsp-set-type localnet.%[1]s localnet -- lsp-set-addresses localnet.%[1]s unknown -- lsp-set-options localnet.%[1]s network_name=%[2]s`, name, network)
	}
	return script
}
