//go:build lab

package faults

import (
	"strconv"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
)

// systemID is a node's system-id, and so its chassis' name.
func systemID(s *scene, node string) string {
	n, _ := s.Topology.Node(node)
	return n.SystemID
}

// shared gives the port rtos-node2 a second chassis, so that all nodes watch each other by BFD.
func shared(s *scene) {
	s.sh("central", "ovn-nbctl --timeout=60 --wait=hv lrp-set-gateway-chassis rtos-node2 %s 5", systemID(s, "node3"))
	s.until("BFD is up", func() bool {
		return s.sh("node2", "ovs-vsctl --bare --columns=name find Interface bfd_status:state=up | grep -c . || true") == "2"
	})
}

func unshared(s *scene) {
	s.sh("central", "ovn-nbctl --timeout=60 --wait=hv lrp-del-gateway-chassis rtos-node2 %s", systemID(s, "node3"))
}

// twinTunnel puts a tunnel of another manager in the place of OVN's to node2, before ovn-controller makes its own again.
func twinTunnel(s *scene) {
	s.sh("node1", `pid=$(cat $OVN_RUNDIR/ovn-controller.pid); kill -STOP $pid; trap "kill -CONT $pid" EXIT
		port=$(ovs-vsctl --bare --columns=name find Interface type=geneve options:remote_ip=172.30.0.12)
		ovs-vsctl del-port $port
		ovs-vsctl add-port br-int tun-old -- set Interface tun-old type=geneve options:remote_ip=172.30.0.12 options:key=flow`)
}

// gatewaysFaults are made on OVN-Kubernetes' gateways and tunnels.
var gatewaysFaults = []fault{
	{
		check: "gateway-router-without-chassis", name: "hostname for the system-id", on: "node1",
		how:    "ovn-nbctl set Logical_Router options:chassis=HOSTNAME",
		make:   nbctl("set Logical_Router GR_node1 options:chassis=node1"),
		object: "router GR_node1", repair: words("router-chassis GR_node1"),
		lost: []probe{{"shop_client", "internet", "icmp"}},
	},
	{
		check: "gateway-router-without-chassis", name: "none", on: "central",
		how:    "ovn-nbctl remove Logical_Router options chassis",
		make:   nbctl("remove Logical_Router GR_node2 options chassis"),
		object: "router GR_node2", repair: words("router-chassis GR_node2"),
		lost: []probe{{"shop_web-2", "internet", "icmp"}},
	},
	{
		check: "gateway-router-without-chassis", name: "chassis that is gone", on: "node1",
		how:    "ovn-nbctl set Logical_Router options:chassis to an old system-id",
		make:   nbctl("set Logical_Router GR_node3 options:chassis=0f1e2d3c-0000-4000-8000-000000000000"),
		object: "router GR_node3", repair: words("router-chassis GR_node3 node3"),
	},
	{
		check: "dgp-chassis-not-bound", name: "hostname for the system-id", on: "node1",
		how: "ovn-nbctl lrp-set-gateway-chassis PORT HOSTNAME",
		make: func(s *scene) {
			s.sh("central", "ovn-nbctl --timeout=60 --wait=hv lrp-set-gateway-chassis rtos-node2 node2 1 -- lrp-del-gateway-chassis rtos-node2 %s", systemID(s, "node2"))
		},
		object: "port rtos-node2", repair: words("gateway-chassis rtos-node2"),
		lost: []probe{{"shop_client", "shop_web-2", "tcp"}},
	},
	{
		check: "dgp-chassis-not-bound", name: "one of two is gone", on: "central",
		how:    "ovn-nbctl lrp-set-gateway-chassis with a name that no chassis has",
		make:   nbctl("lrp-set-gateway-chassis rtos-node2 node3.example 5"),
		result: doctor.Warning,
		object: "port rtos-node2", repair: words("gateway-chassis rtos-node2"),
		mend: nbctl("clear Logical_Router_Port rtos-node2 gateway_chassis -- lrp-set-gateway-chassis rtos-node2 `ovn-sbctl --bare --columns=name find Chassis hostname=node2` 1"),
	},
	{
		check: "dgp-chassis-not-bound", name: "HA group", on: "node2",
		how: "a hostname in HA_Chassis",
		make: func(s *scene) {
			s.sh("central", "ovn-nbctl --timeout=60 --wait=hv ha-chassis-group-add gw -- ha-chassis-group-add-chassis gw node2 10"+
				" -- clear Logical_Router_Port rtos-node2 gateway_chassis")
			s.sh("central", "ovn-nbctl --timeout=60 --wait=hv set Logical_Router_Port rtos-node2 ha_chassis_group=$(ovn-nbctl --bare --columns=_uuid find HA_Chassis_Group name=gw)")
		},
		mend: func(s *scene) {
			s.sh("central", "ovn-nbctl --timeout=60 --wait=hv clear Logical_Router_Port rtos-node2 ha_chassis_group -- lrp-set-gateway-chassis rtos-node2 %s 1 -- ha-chassis-group-del gw", systemID(s, "node2"))
		},
		object: "port rtos-node2", repair: words("gateway-chassis rtos-node2"),
		lost: []probe{{"shop_client", "shop_web-2", "tcp"}},
	},
	{
		check: "tunnel-missing-to-chassis", name: "no type in common", on: "node1",
		how:    "ovs-vsctl set Open_vSwitch . external_ids:ovn-encap-type=vxlan on another node",
		make:   func(s *scene) { s.sh("node2", "ovs-vsctl set Open_vSwitch . external_ids:ovn-encap-type=vxlan") },
		mend:   func(s *scene) { s.sh("node2", "ovs-vsctl set Open_vSwitch . external_ids:ovn-encap-type=geneve") },
		object: "node node2",
		lost:   []probe{{"shop_client", "shop_web-2", "tcp"}},
	},
	{
		check: "tunnel-missing-to-chassis", name: "transport zone", on: "central",
		how:    "ovs-vsctl set Open_vSwitch . external_ids:ovn-transport-zones on one node",
		make:   func(s *scene) { s.sh("node2", "ovs-vsctl set Open_vSwitch . external_ids:ovn-transport-zones=edge") },
		mend:   func(s *scene) { s.sh("node2", "ovs-vsctl remove Open_vSwitch . external_ids ovn-transport-zones") },
		object: "node node2",
		lost:   []probe{{"shop_client", "shop_web-2", "tcp"}},
	},
	{
		check: "tunnel-missing-to-chassis", name: "twin", on: "node1",
		how: "ovs-vsctl add-port: a second tunnel to the same node",
		make: func(s *scene) {
			s.until("ovn-controller has its tunnel", func() bool {
				return s.sh("node1", "ovs-vsctl --bare --columns=name find Interface type=geneve options:remote_ip=172.30.0.12") != ""
			})
			s.sh("node1", "ovs-vsctl add-port br-int tun-old -- set Interface tun-old type=geneve options:remote_ip=172.30.0.12 options:key=flow || true")
		},
		result: doctor.Warning,
		object: "on node1", repair: words("delete-tunnel tun-old"),
	},
	{
		check: "tunnel-missing-to-chassis", name: "twin that came first", on: "node1",
		how:  "ovs-vsctl add-port before ovn-controller makes its own",
		make: twinTunnel,
		mend: func(s *scene) {
			if code, out := s.ovnctl("fix", "delete-tunnel", "tun-old", "--yes"); code != 0 {
				s.Fatalf("fix: exit %d:\n%s", code, out)
			}
		},
		object: "on node1",
		lost:   []probe{{"shop_client", "shop_web-2", "tcp"}},
	},
	{
		check: "tunnel-missing-to-chassis", name: "replaced in one change", on: "node1",
		how: "ovs-vsctl del-port and add-port in one transaction, as ovn-controller does where a chassis replaces another",
		make: func(s *scene) {
			const find = "ovs-vsctl --bare --columns=name find Interface type=geneve options:remote_ip=172.30.0.12"
			s.until("ovn-controller has its tunnel", func() bool { return s.sh("node1", find) != "" })
			name := "ovn-" + strconv.FormatInt(time.Now().UnixMilli()%1e6, 10) // another than the one before
			s.sh("node1", `old=$(%s); id=$(ovs-vsctl get Port $old external_ids:ovn-chassis-id)
				ovs-vsctl del-port $old -- add-port br-int %[2]s -- set Port %[2]s external_ids:ovn-chassis-id=$id -- set Interface %[2]s type=geneve options:csum=true options:key=flow options:remote_ip=172.30.0.12 || true`, find, name)
			s.repair = words("retry-tunnel " + name)
		},
		object: "on node1", repair: words("retry-tunnel"),
		lost: []probe{{"shop_client", "shop_web-2", "tcp"}},
	},
	{
		check: "bfd-down-or-flapping", name: "peer hangs", on: "node2",
		how: "ovs-vswitchd of another gateway node stopped with SIGSTOP",
		make: func(s *scene) {
			shared(s)
			s.sh("node3", "kill -STOP $(cat $OVS_RUNDIR/ovs-vswitchd.pid)")
		},
		mend: func(s *scene) {
			s.sh("node3", "kill -CONT $(cat $OVS_RUNDIR/ovs-vswitchd.pid)")
			unshared(s)
		},
		object: "node node2",
	},
	{
		check: "bfd-down-or-flapping", name: "flapping", on: "node2",
		how: "ovs-vswitchd of another gateway node stopped and let go again and again",
		make: func(s *scene) {
			shared(s)
			s.sh("node3", `pid=$(cat $OVS_RUNDIR/ovs-vswitchd.pid); touch $OVS_RUNDIR/flap
				(for i in $(seq 40); do [ -e "$OVS_RUNDIR/flap" ] || exit; kill -STOP $pid; sleep 4; kill -CONT $pid; sleep 2; done) >/dev/null 2>&1 &`)
		},
		mend: func(s *scene) {
			s.sh("node3", `rm -f $OVS_RUNDIR/flap; sleep 6; kill -CONT $(cat $OVS_RUNDIR/ovs-vswitchd.pid)`)
			unshared(s)
			s.forget("ovn-controller.log") // which remembers for a day
		},
		args:   []string{"--sample", "20s"},
		object: "node2",
	},
	{
		check: "bfd-down-or-flapping", name: "next hop", on: "central",
		how:  "ovn-nbctl --bfd lr-route-add to a next hop that does not speak BFD",
		make: nbctl("--bfd lr-route-add GR_node1 198.51.100.0/24 172.30.0.1 rtoe-GR_node1"),
		mend: func(s *scene) {
			s.sh("central", "ovn-nbctl --timeout=60 --wait=hv lr-route-del GR_node1 198.51.100.0/24; for b in $(ovn-nbctl --bare --columns=_uuid list BFD); do ovn-nbctl destroy BFD $b; done")
		},
		object: "port rtoe-GR_node1",
	},
	{
		check: "vxlan-encap-limits", name: "needless", on: "node1",
		how:    "ovs-vsctl set Open_vSwitch . external_ids:ovn-encap-type=geneve,vxlan on one node",
		make:   func(s *scene) { s.sh("node1", "ovs-vsctl set Open_vSwitch . external_ids:ovn-encap-type=geneve,vxlan") },
		result: doctor.Warning,
		object: "node node1", repair: words("drop-vxlan"),
	},
}

// ovnKubernetesFaults are of what ovnkube writes.
var ovnKubernetesFaults = []fault{
	{
		check: "ovnk-join-subnet-overlap", name: "route", on: "node1",
		how:    "ip route add to a part of 100.64.0.0/16",
		make:   func(s *scene) { s.sh("node1", "ip route add 100.64.5.0/24 via 172.30.0.1") },
		mend:   func(s *scene) { s.sh("node1", "ip route del 100.64.5.0/24") },
		object: "node node1",
	},
	{
		check: "ovnk-join-subnet-overlap", name: "address", on: "node2",
		how:    "ip addr add from fd98::/64 on br-ex",
		make:   func(s *scene) { s.sh("node2", "ip addr add fd98::beef/128 dev br-ex nodad") },
		mend:   func(s *scene) { s.sh("node2", "ip addr del fd98::beef/128 dev br-ex") },
		object: "node node2",
	},
	{
		check: "ovnk-egressip-stale", name: "NAT of a pod that is gone", on: "central",
		how: "the row as ovnkube leaves it, ovn-nbctl create",
		make: egressRow(`--id=@n create NAT type=snat logical_ip=10.244.1.77 external_ip=172.30.0.201 `+
			`external_ids:k8s.ovn.org/owner-type=EgressIP external_ids:k8s.ovn.org/name=egress_shop/gone -- add Logical_Router GR_node1 nat @n`, "NAT", "logical_ip=10.244.1.77"),
		object: "router GR_node1",
		repair: words("delete-egressip-row"),
	},
	{
		check: "ovnk-egressip-stale", name: "NAT whose address another pod has now", on: "node1",
		how: "the row as ovnkube leaves it, ovn-nbctl create",
		make: egressRow(`--id=@n create NAT type=snat logical_ip=10.244.1.6 external_ip=172.30.0.201 `+
			`external_ids:k8s.ovn.org/owner-type=EgressIP external_ids:k8s.ovn.org/name=egress_shop/gone -- add Logical_Router GR_node1 nat @n`, "NAT", "logical_ip=10.244.1.6"),
		object: "router GR_node1",
		repair: words("delete-egressip-row"),
	},
	{
		check: "ovnk-egressip-stale", name: "policy of a pod that is gone", on: "node1",
		how: "the row as ovnkube leaves it, ovn-nbctl create",
		make: egressRow(`--id=@n create Logical_Router_Policy priority=100 match='"ip4.src == 10.244.2.99"' action=reroute nexthops=100.64.0.2 `+
			`external_ids:name=egress -- add Logical_Router ovn_cluster_router policies @n`, "Logical_Router_Policy", `match="\"ip4.src == 10.244.2.99\""`),
		object: "router ovn_cluster_router",
		repair: words("delete-egressip-row"),
	},
	{
		check: "ovnk-egressip-stale", name: "two addresses", on: "central",
		how: "two rows for one pod, ovn-nbctl create",
		make: nbctl(`--id=@a create NAT type=snat logical_ip=10.244.1.6 external_ip=172.30.0.201 external_ids:k8s.ovn.org/owner-type=EgressIP external_ids:k8s.ovn.org/name=one_shop/client -- add Logical_Router GR_node1 nat @a -- ` +
			`--id=@b create NAT type=snat logical_ip=10.244.1.6 external_ip=172.30.0.202 external_ids:k8s.ovn.org/owner-type=EgressIP external_ids:k8s.ovn.org/name=two_shop/client -- add Logical_Router GR_node1 nat @b`),
		mend: func(s *scene) {
			s.sh("central", "for n in $(ovn-nbctl --bare --columns=_uuid find NAT logical_ip=10.244.1.6); do ovn-nbctl --wait=hv remove Logical_Router GR_node1 nat $n; done")
		},
		object: "router GR_node1",
	},
}

// egressRow makes a row and fills its UUID into the repair.
func egressRow(create, table, find string) func(*scene) {
	return func(s *scene) {
		s.sh("central", "ovn-nbctl --timeout=60 --wait=hv %s", create)
		s.repair = []string{"delete-egressip-row", s.sh("central", "ovn-nbctl --bare --columns=_uuid find %s %s", table, find)}
	}
}

// neutronFaults are of what Neutron writes.
var neutronFaults = []fault{
	{
		check: "neutron-port-down-ovn-up", name: "no metadata namespace", on: "node1",
		how: "the metadata agent of the node is registered, and has made no namespace",
		make: func(s *scene) {
			s.sh("central", `ovn-sbctl set Chassis_Private %s external_ids:neutron\\:ovn-metadata-id=a external_ids:neutron\\:ovn-metadata-sb-cfg=0`, systemID(s, "node1"))
		},
		mend: func(s *scene) {
			s.sh("central", `ovn-sbctl remove Chassis_Private %[1]s external_ids neutron\\:ovn-metadata-id -- remove Chassis_Private %[1]s external_ids neutron\\:ovn-metadata-sb-cfg`, systemID(s, "node1"))
		},
		object: "port",
	},
	{
		check: "dgp-chassis-not-bound", name: "set by hand on Neutron's port", on: "central",
		how: "ovn-nbctl lrp-set-gateway-chassis",
		make: func(s *scene) {
			s.sh("central", `ovn-nbctl --wait=hv lrp-set-gateway-chassis $(ovn-nbctl --bare --columns=name find Logical_Router_Port options:gateway_mtu=1400) %s 1`, systemID(s, "node2"))
		},
		mend: func(s *scene) {
			s.sh("central", `ovn-nbctl --wait=hv lrp-del-gateway-chassis $(ovn-nbctl --bare --columns=name find Logical_Router_Port options:gateway_mtu=1400) %s`, systemID(s, "node2"))
		},
		result: doctor.Warning,
		object: "port lrp-",
	},
	{
		check: "dgp-chassis-not-bound", name: "chassis that is gone", on: "node2",
		how: "the chassis of Neutron's gateway port set to one that does not exist",
		make: func(s *scene) {
			s.sh("central", `ovn-nbctl --wait=hv set Gateway_Chassis $(ovn-nbctl --bare --columns=_uuid list Gateway_Chassis) chassis_name=node1`)
		},
		mend: func(s *scene) {
			s.sh("central", `ovn-nbctl --wait=hv set Gateway_Chassis $(ovn-nbctl --bare --columns=_uuid list Gateway_Chassis) chassis_name=%s`, systemID(s, "node1"))
		},
		object: "port lrp-",
	},
}

// vxlanFaults are made where VXLAN is meant.
var vxlanFaults = []fault{
	{
		check: "vxlan-encap-limits", name: "ports", on: "central",
		how:    "1,700 ports on one switch, ovn-nbctl",
		make:   nbctl(`$(for i in $(seq 1700); do printf -- '-- lsp-add sw0 many%%d ' $i; done)`),
		mend:   nbctl(`$(for i in $(seq 1700); do printf -- '-- lsp-del many%%d ' $i; done)`),
		result: doctor.Warning,
		object: "switch sw0",
	},
	{
		check: "vxlan-encap-limits", name: "ACL on the port that a packet came from", on: "node1",
		how:    "ovn-nbctl acl-add to-lport with inport in its match",
		make:   nbctl(`acl-add sw0 to-lport 1000 'inport == "sw0-p1" && ip4' allow`),
		mend:   nbctl(`acl-del sw0 to-lport 1000 'inport == "sw0-p1" && ip4'`),
		result: doctor.Warning,
		object: "ACL",
	},
}
