//go:build lab

package faults

import (
	"path/filepath"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
)

// peersBack is what a node's peers learn again after its uplink was cut.
const peersBack = "; i=0; until ping -q -c1 -W1 172.30.0.12 >/dev/null && ping -q -c1 -W1 172.30.0.13 >/dev/null; do i=$((i+1)); test $i -lt 30; done"

// beneathFaults are those of what carries OVN: bridges and ports beneath tunnels, the hosts' own ways, pods, and the
// gateway routers' rows.
var beneathFaults = []fault{
	{
		check: "tunnel-path-blocked", name: "VLAN", on: "node1",
		how:    "ovs-vsctl set port eth0 tag=100",
		make:   func(s *scene) { s.sh("node1", "ovs-vsctl set port eth0 tag=100") },
		mend:   func(s *scene) { s.sh("node1", "ovs-vsctl remove port eth0 tag 100"+peersBack) },
		object: "interface eth0 on node1",
		lost:   []probe{{"shop_client", "shop_web-2", "tcp"}},
	},
	{
		check: "tunnel-path-blocked", name: "flow", on: "node1",
		how: "ovs-ofctl add-flow br-ex priority=1000,udp,tp_dst=6081,in_port=eth0,actions=drop",
		make: func(s *scene) {
			s.sh("node1", "ovs-ofctl add-flow br-ex priority=1000,udp,tp_dst=6081,in_port=eth0,actions=drop")
		},
		mend: func(s *scene) {
			s.sh("node1", "ovs-ofctl --strict del-flows br-ex priority=1000,udp,tp_dst=6081,in_port=eth0")
		},
		object: "bridge br-ex on node1",
		lost:   []probe{{"shop_client", "shop_web-2", "tcp"}},
	},
	{
		check: "tunnel-path-blocked", name: "no-receive", on: "node1",
		how:    "ovs-ofctl mod-port br-ex eth0 no-receive",
		make:   func(s *scene) { s.sh("node1", "ovs-ofctl mod-port br-ex eth0 no-receive") },
		mend:   func(s *scene) { s.sh("node1", "ovs-ofctl mod-port br-ex eth0 receive"+peersBack) },
		object: "interface eth0 on node1",
		lost:   []probe{{"shop_client", "shop_web-2", "tcp"}},
	},
	{
		// Each datagram from a port of its own: where a connection of a ping goes on after so long, ovs-vswitchd 3.1.0 may end
		// by an assertion of its conntrack.
		check: "tunnel-path-blocked", name: "with a second look", on: "node1",
		how: "ovs-ofctl add-flow br-ex priority=1000,udp,tp_dst=6081,in_port=eth0,actions=drop",
		make: func(s *scene) {
			s.afar("12s")
			s.keeps("shop_web-2", "bash", "-c", "while :; do echo x >/dev/udp/10.244.1.6/99; sleep 0.2; done")
			s.sh("node1", "ovs-ofctl add-flow br-ex priority=1000,udp,tp_dst=6081,in_port=eth0,actions=drop")
		},
		mend: func(s *scene) {
			s.sh("node1", "ovs-ofctl --strict del-flows br-ex priority=1000,udp,tp_dst=6081,in_port=eth0")
		},
		object: "bridge br-ex on node1",
		lost:   []probe{{"shop_client", "shop_web-2", "tcp"}},
	},
	{
		check: "pod-network-broken", name: "link down", on: "node1",
		how: "ip link set down, of the host's end of a pod's link",
		make: func(s *scene) {
			s.sh("node1", "ip link set %s down", s.link("shop_client"))
			s.repair = []string{"set-port-up", s.link("shop_client")}
		},
		object: "port shop_client",
		repair: []string{"set-port-up", "LINK"},
		lost:   []probe{{"shop_client", "shop_web-2", "tcp"}},
	},
	{
		check: "pod-network-broken", name: "no-forward", on: "node1",
		how:    "ovs-ofctl mod-port br-int LINK no-forward",
		make:   func(s *scene) { s.sh("node1", "ovs-ofctl mod-port br-int %s no-forward", s.link("shop_client")) },
		mend:   func(s *scene) { s.sh("node1", "ovs-ofctl mod-port br-int %s forward", s.link("shop_client")) },
		object: "port shop_client",
		lost:   []probe{{"shop_client", "shop_web-2", "tcp"}},
	},
	{
		check: "pod-network-broken", name: "wrong neighbour", on: "node1",
		how: "ip neigh replace of the gateway, permanent, in the pod",
		make: func(s *scene) {
			s.sh("shop_client", "ip neigh replace 10.244.1.1 lladdr 02:00:00:00:00:99 dev eth0 nud permanent")
		},
		mend:   func(s *scene) { s.sh("shop_client", "ip neigh del 10.244.1.1 dev eth0") },
		object: "port shop_client",
		lost:   []probe{{"shop_client", "shop_web-2", "tcp"}},
	},
	{
		check: "pod-network-broken", name: "blackhole", on: "node1",
		how:    "ip route add blackhole, in the pod",
		make:   func(s *scene) { s.sh("shop_client", "ip route add blackhole 10.244.2.5/32") },
		mend:   func(s *scene) { s.sh("shop_client", "ip route del blackhole 10.244.2.5/32") },
		object: "port shop_client",
		lost:   []probe{{"shop_client", "shop_web-2", "tcp"}},
	},
	{
		check: "host-path-astray", name: "route", on: "node1",
		how: "ip rule add to a table with a blackhole",
		make: func(s *scene) {
			s.sh("node1", "ip route add blackhole default table 99; ip rule add to 10.244.2.0/24 lookup 99")
		},
		mend: func(s *scene) {
			s.sh("node1", "ip rule del to 10.244.2.0/24 lookup 99; ip route del blackhole default table 99")
		},
		object: "node node1",
		lost:   []probe{{"node1", "shop_web-2", "tcp"}},
	},
	{
		check: "host-path-astray", name: "neighbour", on: "node1",
		how: "ip neigh replace of another node, permanent",
		make: func(s *scene) {
			s.fault.args = []string{"--node-exec", filepath.Join(s.Dir, "enter") + " {hostname}"}
			s.sh("node1", "ip neigh replace 172.30.0.12 lladdr 02:00:00:00:00:99 dev br-ex nud permanent")
		},
		object: "node node1",
		repair: []string{"delete-neighbour", "br-ex", "172.30.0.12"},
		lost:   []probe{{"node1", "node2", "tcp"}},
	},
	{
		check: "controller-misdirected", name: "bridge", on: "node1",
		how: "ovs-vsctl set Open_vSwitch . external_ids:ovn-bridge=br-int0",
		make: func(s *scene) {
			s.set("node1", "ovn-bridge", "br-int0")
			s.until("its ports are unbound", func() bool { return !s.flows(probe{"shop_client", "shop_web-2", "tcp"}) })
		},
		mend: func(s *scene) {
			s.set("node1", "ovn-bridge", "br-int")
			s.sh("node1", "ovs-vsctl --if-exists del-br br-int0")
		},
		object: "node node1",
		lost:   []probe{{"shop_client", "shop_web-2", "tcp"}},
	},
	{
		check: "controller-misdirected", name: "Northbound", on: "node1",
		how: "ovs-vsctl set Open_vSwitch . external_ids:ovn-remote to the Northbound",
		make: func(s *scene) {
			was := s.sh("node1", "ovs-vsctl get Open_vSwitch . external_ids:ovn-remote")
			s.fault.mend = func(s *scene) { s.set("node1", "ovn-remote", strings.Trim(was, `"`)) }
			s.set("node1", "ovn-remote", s.NB())
		},
		mend:   func(*scene) {}, // make knows
		object: "node node1",
	},
	{
		check: "controller-misdirected", name: "protocols", on: "node1",
		how:    "ovs-vsctl set bridge br-int protocols=OpenFlow10",
		make:   func(s *scene) { s.sh("node1", "ovs-vsctl set bridge br-int protocols=OpenFlow10") },
		mend:   func(s *scene) { s.sh("node1", "ovs-vsctl clear bridge br-int protocols") },
		object: "bridge br-int on node1",
	},
	{
		check: "load-balancer-unheard", on: "node1",
		how: "ovn-nbctl set Load_Balancer vips, to a port where nobody listens",
		make: func(s *scene) {
			s.nbctl(`--wait=hv set Load_Balancer Service_shop/self_TCP_cluster 'vips:"10.96.0.11:80"="10.244.1.5:8081"'`)
		},
		mend: func(s *scene) {
			s.nbctl(`--wait=hv set Load_Balancer Service_shop/self_TCP_cluster 'vips:"10.96.0.11:80"="10.244.1.5:8080"'`)
		},
		object: "virtual IP 10.96.0.11:80", result: doctor.Warning,
	},
	{
		check: "gateway-router-incomplete", name: "route back", on: "node1",
		how:    "ovn-nbctl lr-route-del GR_node1 of the pods' network",
		make:   func(s *scene) { s.nbctl("--wait=hv lr-route-del GR_node1 10.244.0.0/16") },
		mend:   func(s *scene) { s.nbctl("--wait=hv lr-route-add GR_node1 10.244.0.0/16 100.64.0.1") },
		object: "router GR_node1",
		lost:   []probe{{"shop_client", "internet", "tcp"}},
	},
	{
		check: "gateway-router-incomplete", name: "SNAT", on: "node1",
		how:    "ovn-nbctl lr-nat-del GR_node1 snat of the pods' network",
		make:   func(s *scene) { s.nbctl("--wait=hv lr-nat-del GR_node1 snat 10.244.0.0/16") },
		mend:   func(s *scene) { s.nbctl("--wait=hv lr-nat-add GR_node1 snat 172.30.0.111 10.244.0.0/16") },
		object: "router GR_node1",
		lost:   []probe{{"shop_client", "internet", "tcp"}},
	},
	{
		check: "pod-address-mismatch", name: "port security of the port's own address", on: "node1",
		how: "ovn-nbctl lsp-set-port-security with another address",
		make: func(s *scene) {
			s.nbctl(`--wait=hv lsp-set-port-security shop_client "0a:58:0a:f4:01:06 10.244.1.99"`)
		},
		object: "port shop_client", result: doctor.Error,
		repair: []string{"set-port-address", "shop_client"},
		lost:   []probe{{"shop_client", "shop_web-2", "tcp"}},
	},
}
