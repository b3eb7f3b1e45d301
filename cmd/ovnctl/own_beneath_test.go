//go:build lab

package main

import (
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/internal/lab"
)

// neighbourhood has nodes forget, and ask anew, who has the underlay address of node2.
const neighbourhood = "for n in node1 node3; do %[1]s/enter $n sh -c 'ip neigh flush to 172.30.0.12; ovs-appctl tnl/neigh/flush; ovs-appctl revalidator/purge; ping -q -c1 -W1 172.30.0.12' >/dev/null || true; done"

// relearned makes a switch take tunnel packets again: with a route by hand it forgets the addresses of the route's interface.
const relearned = "; ip route add 172.30.0.12/32 dev br-ex; ip route del 172.30.0.12/32 dev br-ex"

// With asksNobody node2 asks nobody for a MAC address, until asksAgain: who is asked learns who asks, and needs no answer.
const asksNobody = "for n in 1:0b 3:0d; do ip neigh replace 172.30.0.1${n%:*} lladdr 0a:58:ac:1e:00:${n#*:} dev br-ex nud permanent; ovs-appctl tnl/neigh/set br-ex 172.30.0.1${n%:*} 0a:58:ac:1e:00:${n#*:} >/dev/null; done; "

const asksAgain = "; for n in 1 3; do ip neigh del 172.30.0.1$n dev br-ex; done"

// With forgetsGateway no other node contradicts what one says of the gateway.
const forgetsGateway = "ip neigh flush to 172.30.0.1 dev br-ex"

// With keepsAsking the kernel goes on asking for the next hop to an address, until asksNoMore: it forgets soon who did not answer.
func keepsAsking(l *lab.Lab, a string) string {
	return "ping -q -i 0.5 " + a + " >/dev/null 2>&1 </dev/null & echo $! >" + l.Dir + "/asks.pid; sleep 4"
}

func asksNoMore(l *lab.Lab) string { return "kill $(cat " + l.Dir + "/asks.pid); " }

// purge has ovs-vswitchd forget the datapath flows that it made before a change.
const purge = "; ovs-appctl revalidator/purge"

// controllerBack has ovn-controller write all flows anew.
const controllerBack = "p=$(cat $OVN_RUNDIR/ovn-controller.pid); ovn-appctl -t ovn-controller exit --restart; while kill -0 $p 2>/dev/null; do sleep 0.1; done; ovn-controller --pidfile --detach --log-file 2>/dev/null; sleep 3"

// lateFaults are those of the list that the bar was set by which are made with more than one command, and those of
// connection tracking, mirrors, next hops, meters and QoS.
func lateFaults(l *lab.Lab) []fault {
	web2, _ := l.Topology.Pod("shop/web-2")
	q := func(proto, from, to, cause string) faultAsk { return ask(l, proto, from, to, cause) }
	const mac = "0a:58:ac:1e:00:6f" // of 172.30.0.111
	const wrongMAC = "02:00:00:00:00:99"
	mirror := func(bridge, port string) string {
		return "ovs-vsctl -- --id=@p get port " + port + " -- --id=@m create mirror name=m select-vlan=99 output-port=@p -- set bridge " + bridge + " mirrors=@m; sleep 1" + purge
	}
	const zone = `$(ovn-appctl -t ovn-controller ct-zone-list | sed -n 's/^shop_client //p')`
	connect := "z=" + zone + "; i=0; until ovs-appctl dpctl/ct-get-limits zone=$z | grep -q 'limit=1,count=[1-9]'; do i=$((i+1)); test $i -lt 20; " +
		l.Dir + "/enter shop_client timeout 1 bash -c '</dev/tcp/10.96.0.10/80' || true; done"
	return []fault{
		{name: "MTU of the underlay", on: "fab", still: true, breaks: "ip link set node2 mtu 1300", mends: "ip link set node2 mtu 1500",
			asks: []faultAsk{q("icmp", "shop/client", "shop/web-2", "").sized(1400).assumed("the physical network between node1 and node2")}},
		{name: "another host answers for node2", on: "fab", still: true,
			breaks: "unshare -n sleep 300 >/dev/null 2>&1 & echo $! > " + l.Dir + "/fake.pid; sleep 0.3; ip link add fakex type veth peer name fakey address 02:00:00:00:00:55; ip link set fakex master under; ip link set fakex up; ip link set fakey netns $!; nsenter -t $! -n sh -c 'ip link set fakey up; ip addr add 172.30.0.12/24 dev fakey'; nft add table bridge t; nft 'add chain bridge t f { type filter hook forward priority 0; }'; nft add rule bridge t f iifname node2 ether type arp drop; nft add rule bridge t f iifname node2 udp dport 6081 drop; i=0; until " + l.Dir + "/enter node1 ovs-appctl tnl/neigh/show | grep '^172.30.0.12 ' | grep -q 02:00:00:00:00:55; do i=$((i+1)); test $i -lt 20; " + fmt.Sprintf(neighbourhood, l.Dir) + "; done",
			mends:  "nft delete table bridge t; ip link del fakex; kill $(cat " + l.Dir + "/fake.pid); " + fmt.Sprintf(neighbourhood, l.Dir),
			asks:   []faultAsk{q("tcp", "shop/client", "shop/web-2", "sends packets for 172.30.0.12 to 02:00:00:00:00:55"), q("tcp", "shop/client", "shop/web-3", "")}},
		acl("ACL rejects the sender's packets", "acl-add node2 to-lport 1500 'outport == \"shop_web-2\" && tcp' reject", "acl-del node2 to-lport 1500 'outport == \"shop_web-2\" && tcp'", q("tcp", "shop/client", "shop/web-2", "rejected with a TCP reset by ACL")),
		acl("ACL drops one backend", "--apply-after-lb acl-add node1 from-lport 1500 'ip4.dst == 10.244.2.5 && tcp' drop", "acl-del node1 from-lport 1500 'ip4.dst == 10.244.2.5 && tcp'", q("tcp", "shop/client", "shop/web", "from-lport 1500, drop").isDropped()),
		acl("address set without the pod", "create Address_Set name=friends addresses='\"10.244.1.5\"' -- acl-add node2 to-lport 1500 'outport == \"shop_web-2\" && ip4' drop -- acl-add node2 to-lport 1501 'outport == \"shop_web-2\" && ip4.src == $friends' allow-related",
			"acl-del node2 to-lport 1500 'outport == \"shop_web-2\" && ip4' -- acl-del node2 to-lport 1501 'outport == \"shop_web-2\" && ip4.src == $friends' -- destroy Address_Set friends",
			q("tcp", "shop/client", "shop/web-2", "no rule allows tcp 8080 from 10.244.1.6"), q("tcp", "shop/web-1", "shop/web-2", "")),
		{name: "groups deleted", on: "node1", breaks: "ovs-ofctl -O OpenFlow15 del-groups br-int", mends: controllerBack,
			asks: []faultAsk{q("tcp", "shop/client", "shop/web", "").isDropped(), q("tcp", "shop/client", "shop/web-2", "")}},
		{name: "pod's link down", on: "shop/web-2", breaks: "ip link set eth0 down", mends: "ip link set eth0 up; ip route replace default via 10.244.2.1; ip addr add " + "fd00:10:244:2::5/64 dev eth0 nodad 2>/dev/null || true; ip -6 route replace default via fd00:10:244:2::1",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "eth0 of the pod is down"), q("tcp", "shop/web-2", "shop/client", "eth0 of the pod is down")}},
		{name: "ovn-bridge renamed", on: "node1", still: true, breaks: "ovs-vsctl set open . external_ids:ovn-bridge=br-int0; sleep 3", mends: "ovs-vsctl set open . external_ids:ovn-bridge=br-int; ovs-vsctl --if-exists del-br br-int0; sleep 1" + patched,
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "port shop_client is not bound to a chassis"), q("tcp", "shop/web-2", "shop/client", "port shop_client is not bound to a chassis")}},
		{name: "gateway router without a mapping", on: "node3", still: true, breaks: "ovs-vsctl remove open . external_ids ovn-bridge-mappings" + unpatched, mends: "ovs-vsctl set open . external_ids:ovn-bridge-mappings=physnet:br-ex" + patched,
			asks: []faultAsk{q("icmp", "shop/web-3", "internet", "node3 has no bridge for the physical network physnet")}},
		{name: "uplink dead", on: "node1", still: true, breaks: "ip link set eth0 down; sleep 1", mends: "ip link set eth0 up" + healed,
			asks: []faultAsk{q("icmp", "shop/client", "internet", "uplink eth0 of bridge br-ex on node1 is down").with("--sb", l.SB()), q("tcp", "shop/client", "shop/web-2", "uplink eth0 of bridge br-ex on node1 is down").with("--sb", l.SB())}},
		acl("MAC address of a router port", "set Logical_Router_Port rtoe-GR_node1 mac='\"0a:58:0a:f4:01:99\"'", "set Logical_Router_Port rtoe-GR_node1 mac='\""+mac+"\"'", q("icmp", "shop/client", "internet", "for another host")),
		{name: "encap address of another node", on: "node2", still: true, breaks: "ovs-vsctl set open . external_ids:ovn-encap-ip=172.30.0.11; sleep 2", mends: "ovs-vsctl set open . external_ids:ovn-encap-ip=172.30.0.12; sleep 2",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", ""), q("tcp", "shop/web-2", "shop/client", "")}},

		{name: "mirror to the uplink", on: "node1", still: true, breaks: mirror("br-ex", "eth0"), mends: "ovs-vsctl clear bridge br-ex mirrors; sleep 1" + purge + healed, asks: []faultAsk{
			q("tcp", "shop/client", "shop/web-2", "is the output of mirror m").with("--sb", l.SB()), q("tcp", "shop/web-2", "shop/client", "is the output of mirror m")}},
		{name: "mirror to a pod", on: "node2", still: true, breaks: mirror("br-int", web2.Link), mends: "ovs-vsctl clear bridge br-int mirrors; sleep 1" + purge,
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "reserved exclusively for mirroring").isDropped(), q("icmp", "shop/client", "shop/web-2", "reserved exclusively for mirroring")}},
		acl("ECMP with a silent next hop outside", "--ecmp lr-route-add GR_node1 0.0.0.0/0 172.30.0.99 rtoe-GR_node1", "lr-route-del GR_node1 0.0.0.0/0 172.30.0.99", q("icmp", "shop/client", "internet", "172.30.0.99").delivered(exitOK)),
		acl("ECMP with a next hop that no port has", "--ecmp lr-route-add ovn_cluster_router 203.0.113.0/24 100.64.0.2 -- --ecmp lr-route-add ovn_cluster_router 203.0.113.0/24 100.64.0.77", "lr-route-del ovn_cluster_router 203.0.113.0/24",
			q("icmp", "shop/client", "internet", "the MAC address of the next hop 100.64.0.77 is not known").isConsumed()),
		{name: "static MAC binding of the gateway", on: "central", breaks: "ovn-nbctl static-mac-binding-add rtoe-GR_node1 172.30.0.1 " + wrongMAC + "; ovn-nbctl --wait=hv set Static_MAC_Binding $(ovn-nbctl --bare --columns=_uuid list Static_MAC_Binding) override_dynamic_mac=true; " + l.Dir + "/enter node1 ping -q -c3 -i0.2 203.0.113.10 >/dev/null || true",
			mends: "ovn-nbctl static-mac-binding-del rtoe-GR_node1 172.30.0.1", asks: []faultAsk{q("icmp", "shop/client", "internet", "172.30.0.1 to "+wrongMAC)}},
		acl("mask that leaves the next hop outside", "set Logical_Router_Port rtoj-GR_node1 networks='[\"100.64.0.2/31\",\"fd98::2/64\"]'", "set Logical_Router_Port rtoj-GR_node1 networks='[\"100.64.0.2/16\",\"fd98::2/64\"]'", q("icmp", "shop/client", "internet", "it has no route to the pods")),
		acl("mask that leaves the gateway outside", "set Logical_Router_Port rtoe-GR_node1 networks='[\"172.30.0.111/28\",\"fd00:172:30::111/64\"]'", "set Logical_Router_Port rtoe-GR_node1 networks='[\"172.30.0.111/24\",\"fd00:172:30::111/64\"]'", q("icmp", "shop/client", "internet", "")),
		{name: "limit of a conntrack zone", on: "node1", still: true, breaks: "ovs-appctl dpctl/ct-set-limits zone=" + zone + ",limit=1; " + connect, mends: "ovs-appctl dpctl/ct-del-limits zone=" + zone + "; ovs-appctl dpctl/flush-conntrack",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web", "has reached its limit").isDropped(), q("tcp", "shop/web-1", "shop/web-3", "")}},
		// ovs-vswitchd 3.1 cannot delete a default, and with one of 0 its userspace datapath admits nothing, though it reads as unlimited.
		{name: "default limit of conntrack zones", on: "node1", still: true, breaks: "ovs-appctl dpctl/ct-set-limits default=1; " + connect, mends: "ovs-appctl dpctl/ct-set-limits default=1000000; ovs-appctl dpctl/flush-conntrack",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web", "has reached its limit").isDropped()}},
		{name: "BFD session of a route down", on: "central", breaks: "ovn-nbctl lr-route-del GR_node1 0.0.0.0/0; ovn-nbctl --bfd lr-route-add GR_node1 0.0.0.0/0 172.30.0.1 rtoe-GR_node1; sleep 3", mends: "ovn-nbctl lr-route-del GR_node1 0.0.0.0/0; ovn-nbctl lr-route-add GR_node1 0.0.0.0/0 172.30.0.1 rtoe-GR_node1; ovn-nbctl --all destroy BFD",
			asks: []faultAsk{q("icmp", "shop/client", "internet", "no route to 203.0.113.10")}},
		{name: "meter of the bridge", on: "node1", still: true, breaks: "ovs-ofctl -O OpenFlow13 add-meter br-ex meter=1,kbps,band=type=drop,rate=1; ovs-ofctl -O OpenFlow13 add-flow br-ex priority=500,ip,actions=meter:1,NORMAL", mends: "ovs-ofctl -O OpenFlow13 del-flows br-ex ip; ovs-ofctl -O OpenFlow13 del-meters br-ex" + purge + healed,
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "a rate within meter 1 of br-ex on node1").with("--sb", l.SB()).delivered(exitOK).sometimes()}},
		acl("DSCP", "qos-add node1 from-lport 100 'inport == \"shop_client\"' dscp=46 -- acl-add node2 to-lport 1500 'outport == \"shop_web-2\" && ip.dscp == 46' drop", "qos-del node1 -- acl-del node2 to-lport 1500 'outport == \"shop_web-2\" && ip.dscp == 46'", q("tcp", "shop/client", "shop/web-2", "ip.dscp == 46")),
	}
}

// ownFaults are of neither the list that the bar was set by nor doctor's catalogue.
func ownFaults(l *lab.Lab) []fault {
	web2, _ := l.Topology.Pod("shop/web-2")
	q := func(proto, from, to, cause string) faultAsk { return ask(l, proto, from, to, cause) }
	cut := func(proto, from, to, cause string) faultAsk { return q(proto, from, to, cause).with("--sb", l.SB()) }
	const wrongMAC, mac = "02:00:00:00:00:99", "0a:58:ac:1e:00:6f" // the second of 172.30.0.111
	const tunnel = "$(ovs-vsctl --bare --columns=name find Interface options:remote_ip=172.30.0.12)"
	const stopped, goesOn = "kill -STOP $(cat $OVN_RUNDIR/ovn-controller.pid); ", "kill -CONT $(cat $OVN_RUNDIR/ovn-controller.pid); sleep 2; "
	chain := func(family, hook, rule string) string {
		return "nft add table " + family + " f; nft 'add chain " + family + " f c { type filter hook " + hook + " }'; nft add rule " + family + " f c " + rule
	}
	nat := func(hook, rule string) string {
		return "nft 'add table ip mesh; add chain ip mesh c { type nat hook " + hook + "; }; add rule ip mesh c " + rule + "'"
	}
	const pod2 = "$(ovs-vsctl --bare --columns=name find Interface external_ids:iface-id=shop_web-2)"
	anew := fmt.Sprintf(neighbourhood, l.Dir)
	silent, heard := inFabric(l, tunnelsSilent)+"; ", inFabric(l, "nft delete table bridge t")+"; "
	const twoLinks = "ip link add d0 type veth peer name d1; ip link set d1 up; ip link set d0 up; "
	return []fault{
		{name: "traffic control of the uplink", on: "node2", still: true, breaks: "tc qdisc add dev eth0 root tbf rate 8bit burst 1 limit 1", mends: "tc qdisc del dev eth0 root" + healed,
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "the traffic control of eth0 drops it: tbf")}},
		{name: "conntrack table full", on: "node2", still: true, breaks: "ovs-appctl dpctl/ct-set-maxconns 1; " + l.Dir + "/enter shop_client timeout 1 bash -c '</dev/tcp/10.244.2.5/8080' || true", mends: "ovs-appctl dpctl/ct-set-maxconns 3000000",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "the conntrack table of node2 is full"), q("tcp", "shop/client", "shop/web-3", "")}},
		{name: "filter of traffic control at the pod's link", on: "node2", still: true, breaks: "tc qdisc add dev " + pod2 + " clsact; tc filter add dev " + pod2 + " egress bpf da bytecode '1,6 0 0 2'", mends: "tc qdisc del dev " + pod2 + " clsact",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "").assumed("(clsact)"), q("tcp", "shop/client", "shop/web-3", "")}},
		{name: "filter of traffic control in the pod", on: "shop/web-2", breaks: "tc qdisc add dev eth0 clsact; tc filter add dev eth0 ingress bpf da bytecode '1,6 0 0 2'", mends: "tc qdisc del dev eth0 clsact",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "").assumed("the traffic control of eth0 of shop/web-2 (clsact)")}},
		{name: "route of the pod with another source", on: "shop/client", breaks: "ip addr add 10.244.1.99/24 dev eth0; ip route replace default via 10.244.1.1 src 10.244.1.99", mends: "ip route replace default via 10.244.1.1; ip addr del 10.244.1.99/24 dev eth0",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "the pod's route to 10.244.2.5 has the source 10.244.1.99"), q("tcp", "shop/web-2", "shop/client", "")}},
		{name: "translation of the pod's source", on: "shop/client", breaks: nat("postrouting priority 100", "tcp dport 8080 snat to 10.244.1.77"), mends: "nft delete table ip mesh",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "makes 10.244.1.77 the source"), q("icmp", "shop/client", "shop/web-2", "")}},
		{name: "masquerading in the pod", on: "shop/client", breaks: nat("postrouting priority 100", "masquerade"), mends: "nft delete table ip mesh",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "")}},
		{name: "proxy of the sender that is gone", on: "shop/client", breaks: nat("output priority -100", "tcp dport 8080 redirect to :15001"), mends: "nft delete table ip mesh",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "leads it to tcp 127.0.0.1:15001, on which nothing there listens"), q("icmp", "shop/client", "shop/web-2", "")}},
		{name: "proxy of the receiver that is gone", on: "shop/web-2", breaks: nat("prerouting priority -100", "tcp dport 8080 redirect to :15006"), mends: "nft delete table ip mesh",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "leads it to tcp 10.244.2.5:15006, on which nothing there listens"), q("tcp", "shop/web-2", "shop/client", "")}},
		{name: "proxy of the receiver behind a packet filter", on: "shop/web-2", mends: "nft delete table ip mesh",
			breaks: nat("prerouting priority -100", "tcp dport 8080 redirect to :9090") + "; nft 'add chain ip mesh in { type filter hook input priority 0; }; add rule ip mesh in tcp dport 9090 drop'",
			asks:   []faultAsk{q("tcp", "shop/client", "shop/web-2", "tcp dport 9090 drop"), q("tcp", "shop/web-2", "shop/client", "")}},
		{name: "proxy of the receiver, and a packet filter that it avoids", on: "shop/web-2", mends: "nft delete table ip mesh",
			breaks: nat("prerouting priority -100", "tcp dport 8080 redirect to :9090") + "; nft 'add chain ip mesh in { type filter hook input priority 0; }; add rule ip mesh in tcp dport 8080 drop'",
			asks:   []faultAsk{q("tcp", "shop/client", "shop/web-2", "")}},
		{name: "traffic control in the pod", on: "shop/client", breaks: "tc qdisc add dev eth0 root tbf rate 8bit burst 1 limit 1", mends: "tc qdisc del dev eth0 root",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "the traffic control of eth0 drops it: tbf"), q("tcp", "shop/web-3", "shop/web-2", "")}},
		{name: "queue of the pod's link without room", on: "node2", breaks: "tc qdisc add dev " + pod2 + " root pfifo limit 0", mends: "tc qdisc del dev " + pod2 + " root",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "drops it: pfifo, which passes nothing"), q("tcp", "shop/web-2", "shop/client", "drops it: pfifo"), q("tcp", "shop/client", "shop/web-3", "")}},
		{name: "source of the host's default route", on: "node1", still: true, breaks: "ip route replace default via 172.30.0.1 src 10.244.1.2", mends: "ip route replace default via 172.30.0.1",
			asks: []faultAsk{q("icmp", "node1", "internet", "the private address 10.244.1.2"), q("tcp", "shop/client", "shop/web-2", "")}},
		{name: "host with a wrong neighbour outside", on: "node1", still: true, mends: "ip neigh del 172.30.0.1 dev br-ex", asks: []faultAsk{q("icmp", "node1", "internet", "172.30.0.1 to "+wrongMAC+", but it is at"), q("tcp", "shop/client", "shop/web-2", "")},
			breaks: l.Dir + "/enter shop_client ping -q -c1 -W1 203.0.113.10 >/dev/null; ip neigh replace 172.30.0.1 lladdr " + wrongMAC + " dev br-ex nud permanent; " +
				onNode2(l, forgetsGateway) + "; " + inside(l, "node3", forgetsGateway)},
		{name: "packet filter of the pod by MAC address", on: "shop/web-2", breaks: "nft 'add table netdev n; add chain netdev n i { type filter hook ingress device eth0 priority 0; }; add rule netdev n i ether saddr 0a:58:0a:f4:02:01 tcp dport 8080 drop'", mends: "nft delete table netdev n",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "ether saddr 0a:58:0a:f4:02:01"), q("udp", "shop/client", "shop/web-2", ""), q("tcp", "shop/web-2", "shop/client", "")}},
		{name: "pod has the sender's address", on: "shop/web-2", breaks: "ip addr add 10.244.1.6/32 dev eth0", mends: "ip addr del 10.244.1.6/32 dev eth0",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "itself has 10.244.1.6"), q("icmp", "shop/client", "shop/web-2", "itself has 10.244.1.6"), q("tcp", "shop/web-1", "shop/web-2", "")}},
		{name: "MTU of the host's own bridge", on: "node1", still: true, breaks: "ip link set br-ex mtu 1280", mends: "ip link set br-ex mtu 1500", asks: []faultAsk{q("icmp", "node1", "internet", "larger than br-ex on node1 lets pass").sized(1400)}},
		{name: "IPv6 off in the pod", on: "shop/web-2", breaks: "sysctl -qw net.ipv6.conf.eth0.disable_ipv6=1", mends: "sysctl -qw net.ipv6.conf.eth0.disable_ipv6=0; ip addr add fd00:10:244:2::5/64 dev eth0 nodad; ip -6 route replace default via fd00:10:244:2::1",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "does not have the address fd00:10:244:2::5").v6(), q("tcp", "shop/client", "shop/web-2", "")}},
		{name: "pod asks no ARP", on: "shop/client", breaks: "ip link set eth0 arp off; ip neigh flush dev eth0", mends: "ip link set eth0 arp on", asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "arp off"), q("tcp", "shop/web-3", "shop/web-2", "")}},
		{name: "flow of a tunnel port deleted", on: "node2", breaks: "ovs-ofctl del-flows br-int in_port=$(ovs-vsctl --bare --columns=ofport find Interface options:remote_ip=172.30.0.11)", mends: controllerBack,
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "table 0 drops it"), q("tcp", "shop/web-3", "shop/web-2", "")}},
		{name: "first table of the bridge emptied", on: "node2", breaks: "ovs-ofctl del-flows br-int table=0", mends: controllerBack,
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "no flow of table 0 matches it"), q("tcp", "shop/web-2", "shop/client", "no flow of table 0 matches it")}},
		{name: "key of a tunnel", on: "node1", still: true, breaks: stopped + "ovs-vsctl set Interface " + tunnel + " options:key=77", mends: goesOn + "ovs-vsctl set Interface " + tunnel + " options:key=flow" + healed,
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "has key=77, and its other end does not"), q("tcp", "shop/web-2", "shop/client", "key=77")}},
		{name: "UDP port of a tunnel", on: "node1", still: true, breaks: stopped + "ovs-vsctl set Interface " + tunnel + " options:dst_port=6082", mends: goesOn + "ovs-vsctl remove Interface " + tunnel + " options dst_port; ovn-appctl -t ovn-controller recompute; sleep 1" + healed,
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "has dst_port=6082"), q("tcp", "shop/web-2", "shop/client", "dst_port=6082")}},
		{name: "pod answers no ping", on: "shop/web-2", breaks: "sysctl -qw net.ipv4.icmp_echo_ignore_all=1", mends: "sysctl -qw net.ipv4.icmp_echo_ignore_all=0",
			asks: []faultAsk{q("icmp", "shop/client", "shop/web-2", "answers no ping: net.ipv4.icmp_echo_ignore_all"), q("tcp", "shop/client", "shop/web-2", "")}},
		{name: "pod with a gateway that nobody has", on: "shop/client", breaks: "ip route replace default via 10.244.1.99", mends: "ip route replace default via 10.244.1.1",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "10.244.1.99").isDropped(), q("tcp", "shop/web-2", "shop/client", "10.244.1.99")}},
		{name: "TTL of the sender", on: "shop/client", breaks: "sysctl -qw net.ipv4.ip_default_ttl=1", mends: "sysctl -qw net.ipv4.ip_default_ttl=64",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "its TTL has run out: it begins with 1, by net.ipv4.ip_default_ttl of shop/client"), q("tcp", "shop/client", "shop/web", "ip_default_ttl of shop/client")}},
		{name: "TTL of the replies", on: "shop/web-2", breaks: "sysctl -qw net.ipv4.ip_default_ttl=1", mends: "sysctl -qw net.ipv4.ip_default_ttl=64",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "its TTL has run out: it begins with 1, by net.ipv4.ip_default_ttl of shop/web-2")}},
		{name: "hop limit of a route of the pod", on: "shop/client", breaks: "ip route change default via 10.244.1.1 hoplimit 2", mends: "ip route change default via 10.244.1.1",
			asks: []faultAsk{q("icmp", "shop/client", "internet", "its TTL has run out: it begins with 2, by hoplimit of the route of shop/client"), q("tcp", "shop/client", "shop/web-2", "")}},
		{name: "pod rejects its own replies", on: "shop/web-2", breaks: "nft add table inet t; nft 'add chain inet t o { type filter hook output priority 0; }'; nft add rule inet t o tcp sport 8080 reject with tcp reset; nft add rule inet t o icmp type echo-reply reject", mends: "nft delete table inet t",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "the pod's packet filter drops it: inet t o: tcp sport 8080 reject").isDropped(), q("icmp", "shop/client", "shop/web-2", "icmp type echo-reply").isDropped()}},
		{name: "pod lets no requests of ping in", on: "shop/web-2", breaks: "nft add table inet t; nft 'add chain inet t i { type filter hook input priority 0; }'; nft add rule inet t i icmp type echo-reply accept; nft add rule inet t i icmp type { echo-request, timestamp-request } drop", mends: "nft delete table inet t",
			asks: []faultAsk{q("icmp", "shop/client", "shop/web-2", "icmp type {").isDropped(), q("icmp", "shop/web-2", "shop/client", ""), q("tcp", "shop/client", "shop/web-2", "")}},
		{name: "TTL of the host", on: "node1", breaks: "sysctl -qw net.ipv4.ip_default_ttl=1", mends: "sysctl -qw net.ipv4.ip_default_ttl=64",
			asks: []faultAsk{q("tcp", "node1", "shop/web-2", "its TTL has run out: it begins with 1, by net.ipv4.ip_default_ttl of node1"), q("icmp", "shop/client", "node1", ""), q("tcp", "shop/client", "shop/web-2", "")}},
		{name: "listener that accepts nothing", on: "shop/web-2", breaks: "python3 -c 'import socket,time; s=socket.socket(); s.bind((\"0.0.0.0\",7779)); s.listen(0); c=[socket.socket() for i in range(3)]; [x.setblocking(0) or x.connect_ex((\"127.0.0.1\",7779)) for x in c]; time.sleep(600)' >/dev/null 2>&1 & echo $! >" + l.Dir + "/full.pid; i=0; until ss -Hlnt sport = 7779 | grep -q 'LISTEN *1 '; do i=$((i+1)); test $i -lt 100; sleep 0.1; done", mends: "kill $(cat " + l.Dir + "/full.pid)",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "listens in the pod on tcp 7779 at 10.244.2.5 accepts nothing").on(7779), q("tcp", "shop/client", "shop/web-2", "")}},
		{name: "pods' route of the host by two gateways, one that nobody has", on: "node1", still: true, breaks: "ip route replace 10.244.0.0/16 nexthop via 10.244.1.1 dev ovn-k8s-mp0 nexthop via 10.244.1.88 dev ovn-k8s-mp0", mends: "ip route replace 10.244.0.0/16 via 10.244.1.1 dev ovn-k8s-mp0",
			asks: []faultAsk{q("tcp", "node1", "shop/web-2", "10.244.1.88").isDropped().sometimes(), q("tcp", "shop/client", "shop/web-2", "")}},
		{name: "rule of the host by protocol", on: "node1", still: true, breaks: "ip route add blackhole default table 77; ip rule add to 10.244.2.0/24 ipproto tcp lookup 77", mends: "ip rule del to 10.244.2.0/24 ipproto tcp lookup 77; ip route flush table 77",
			asks: []faultAsk{q("tcp", "node1", "shop/web-2", "blackhole"), q("icmp", "node1", "shop/web-2", ""), q("udp", "node1", "shop/web-2", "")}},
		{name: "default route of the pod by two gateways, one that nobody has", on: "shop/client", breaks: "ip route replace default nexthop via 10.244.1.1 nexthop via 10.244.1.77", mends: "ip route replace default via 10.244.1.1",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "10.244.1.77").isDropped().sometimes(), q("tcp", "shop/client", "shop/web-1", "")}},
		{name: "rule of the pod prohibits", on: "shop/client", breaks: "ip rule add priority 100 to 10.244.2.0/24 prohibit", mends: "ip rule del priority 100",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "prohibit"), q("tcp", "shop/web-2", "shop/client", "prohibit"), q("tcp", "shop/client", "shop/web-1", "")}},
		{name: "rule of the pod by port", on: "shop/client", breaks: "ip rule add priority 90 ipproto tcp dport 8080 prohibit", mends: "ip rule del priority 90",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "prohibit"), q("udp", "shop/client", "shop/web-2", "")}},
		{name: "rule of the pod by user", on: "shop/client", breaks: "ip rule add priority 90 uidrange 0-0 prohibit", mends: "ip rule del priority 90",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "").assumed("the routing rules by protocol, port, mark or user of shop/client")}},
		acl("MTU of the gateway", "set Logical_Router_Port rtoe-GR_node1 options:gateway_mtu=700", "remove Logical_Router_Port rtoe-GR_node1 options gateway_mtu",
			q("icmp", "shop/client", "internet", "larger than the 714 bytes that may pass rtoe-GR_node1").sized(900), q("icmp", "shop/client", "internet", "").sized(700), q("tcp", "shop/client", "shop/web-2", "")),
		{name: "checksums left to the pod's link", on: "shop/client", breaks: "ethtool -K eth0 tx on >/dev/null", mends: "ethtool -K eth0 tx off >/dev/null", asks: []faultAsk{
			q("tcp", "shop/client", "shop/web-2", "what shop_client sends has no TCP checksum"), q("tcp", "shop/web-2", "shop/client", "what shop_client sends has no TCP checksum"), q("udp", "shop/client", "shop/web", "no UDP checksum"),
			q("tcp", "shop/client", "shop/web-2", "no TCP checksum").v6(), q("icmp", "shop/client", "shop/web-2", ""), q("tcp", "shop/web-1", "shop/web-2", "")}},
		{name: "MTU of the pod", on: "shop/client", breaks: "ip link set eth0 mtu 1500", mends: "ip link set eth0 mtu 1400", asks: []faultAsk{q("icmp", "shop/client", "shop/web-2", "larger than eth0 on node").sized(1500), q("tcp", "shop/client", "shop/web-2", "")}},
		{name: "MTU of the host's end of the pod's link", on: "node2", still: true, breaks: "ip link set " + web2.Link + " mtu 1200; sleep 1", mends: "ip link set " + web2.Link + " mtu 1400", asks: []faultAsk{q("icmp", "shop/client", "shop/web-2", "larger than "+web2.Link).sized(1400)}},
		{name: "node with another node's address", on: "node1", still: true, breaks: "ip addr add 172.30.0.12/32 dev br-ex; sleep 1", mends: "ip addr del 172.30.0.12/32 dev br-ex" + healed,
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "node1 itself has 172.30.0.12"), q("tcp", "shop/web-2", "shop/client", "node1 itself has 172.30.0.12")}},
		{name: "route to a node by nobody", on: "node1", still: true, breaks: "ip route add 172.30.0.12/32 via 172.30.0.99; " + keepsAsking(l, "172.30.0.12"), mends: asksNoMore(l) + "ip route del 172.30.0.12/32 via 172.30.0.99" + healed, asks: []faultAsk{
			q("tcp", "shop/client", "shop/web-2", "to 172.30.0.99, which does not answer"), q("tcp", "shop/web-2", "shop/client", "172.30.0.99"), q("icmp", "node1", "node2", "nothing answers for the next hop 172.30.0.99")}},
		{name: "route of the switch by hand", on: "node1", still: true, breaks: keepsAsking(l, "172.30.0.99") + "; ovs-appctl ovs/route/add 172.30.0.12/32 br-ex 172.30.0.99; sleep 1", mends: asksNoMore(l) + "ovs-appctl ovs/route/del 172.30.0.12/32" + relearned + purge + "; sleep 1" + healed,
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "to 172.30.0.99, which does not answer"), q("icmp", "node1", "node2", "")}},
		{name: "host with a narrow mask", on: "node1", still: true, breaks: "ip addr add 172.30.0.11/30 dev br-ex; ip addr del 172.30.0.11/24 dev br-ex; ip route replace default via 172.30.0.1 dev br-ex onlink; sleep 1", mends: "ip addr add 172.30.0.11/24 dev br-ex; ip addr del 172.30.0.11/30 dev br-ex; ip route replace default via 172.30.0.1 dev br-ex" + healed,
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "node1 has no route to the tunnel address 172.30.0.12"), q("tcp", "shop/web-2", "shop/client", "172.30.0.12")}},
		{name: "default route of the host by nobody", on: "node1", still: true, breaks: "ip route replace default via 172.30.0.99; " + keepsAsking(l, "203.0.113.10"), mends: asksNoMore(l) + "ip route replace default via 172.30.0.1",
			asks: []faultAsk{q("icmp", "node1", "internet", "nothing answers for the next hop 172.30.0.99"), q("icmp", "shop/client", "internet", "")}},
		{name: "MAC address of the management port", on: "node1", still: true, breaks: "ip link set ovn-k8s-mp0 address " + wrongMAC, mends: "ip link set ovn-k8s-mp0 address 0a:58:0a:f4:01:02; ip route replace 10.244.0.0/16 via 10.244.1.1 dev ovn-k8s-mp0; ip route replace 10.96.0.0/16 via 10.244.1.1 dev ovn-k8s-mp0; ip addr add fd00:10:244:1::2/64 dev ovn-k8s-mp0 nodad 2>/dev/null || true; ip -6 route replace fd00:10:244::/48 via fd00:10:244:1::1; ip -6 route replace fd00:10:96::/112 via fd00:10:244:1::1",
			asks: []faultAsk{q("tcp", "node1", "shop/web-2", "").isDropped(), q("tcp", "shop/client", "shop/web-2", "")}},
		{name: "host with a wrong neighbour on the overlay", on: "node1", still: true, breaks: "ip neigh replace 10.244.1.1 lladdr " + wrongMAC + " dev ovn-k8s-mp0 nud permanent", mends: "ip neigh del 10.244.1.1 dev ovn-k8s-mp0",
			asks: []faultAsk{q("tcp", "node1", "shop/web-2", wrongMAC), q("tcp", "shop/client", "shop/web-2", "")}},
		{name: "pods' route of the host astray", on: "node1", still: true, breaks: "ip route add 10.244.2.0/24 via 172.30.0.13 dev br-ex", mends: "ip route del 10.244.2.0/24 via 172.30.0.13 dev br-ex",
			asks: []faultAsk{q("tcp", "node1", "shop/web-2", "nobody outside has it"), q("tcp", "node1", "shop/web-3", "")}},
		{name: "packet filter of the host on its way out", on: "node1", still: true, breaks: chain("inet", "output priority 0;", "ip daddr 10.244.0.0/16 drop"), mends: "nft delete table inet f",
			asks: []faultAsk{q("tcp", "node1", "shop/web-2", "ip daddr 10.244.0.0/16 drop"), q("tcp", "shop/client", "shop/web-2", "")}},
		{name: "packet filter of the host before conntrack", on: "node2", still: true, breaks: chain("ip", "prerouting priority -300;", "ip saddr 172.30.0.11 drop"), mends: "nft delete table ip f",
			asks: []faultAsk{q("icmp", "node1", "node2", "ip saddr 172.30.0.11 drop"), q("tcp", "shop/client", "shop/web-2", "")}},
		{name: "packet filter of the host on the overlay", on: "node1", still: true, breaks: chain("inet", "input priority 0;", "iifname ovn-k8s-mp0 drop"), mends: "nft delete table inet f",
			asks: []faultAsk{q("tcp", "node1", "shop/web-2", "iifname \"ovn-k8s-mp0\" drop"), q("tcp", "shop/client", "node1", "iifname \"ovn-k8s-mp0\" drop")}},
		{name: "packet filter of the uplink's device", on: "node2", still: true, breaks: "nft add table netdev f; nft 'add chain netdev f i { type filter hook ingress device \"eth0\" priority 0; policy drop; }'", mends: "nft delete table netdev f" + healed,
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", ""), q("icmp", "node1", "node2", "")}},
		{name: "packet filter of the pod's device", on: "shop/web-2", breaks: chain("netdev", "ingress device \"eth0\" priority 0;", "tcp dport 8080 drop"), mends: "nft delete table netdev f",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "netdev f c: tcp dport 8080 drop"), q("icmp", "shop/client", "shop/web-2", "")}},
		{name: "packet filter of the pod on what comes back", on: "shop/client", breaks: chain("inet", "input priority 0;", "tcp sport 8080 drop"), mends: "nft delete table inet f",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "tcp sport 8080 drop"), q("tcp", "shop/client", "shop/web-2", "tcp sport 8080 drop").v6(), q("icmp", "shop/client", "shop/web-2", "").v6(), q("udp", "shop/client", "shop/web-2", "").v6()}},
		{name: "packet filter of the pod by a set", on: "shop/web-2", breaks: "nft add table ip f; nft add set ip f bad '{ type ipv4_addr; elements = { 10.244.1.6 }; }'; nft 'add chain ip f i { type filter hook input priority 0; }'; nft add rule ip f i ip saddr @bad drop", mends: "nft delete table ip f",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "ip saddr @bad drop"), q("tcp", "shop/web-1", "shop/web-2", "")}},
		{name: "packet filter of the pod by a map", on: "shop/web-2", breaks: "nft add table ip f; nft add chain ip f bad; nft add rule ip f bad drop; nft add map ip f fates '{ type ipv4_addr . inet_service : verdict; elements = { 10.244.1.6 . 8080 : goto bad, 10.244.1.5 . 8080 : accept }; }'; nft 'add chain ip f i { type filter hook input priority 0; }'; nft add rule ip f i ip saddr . tcp dport vmap @fates", mends: "nft delete table ip f",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "ip f bad: drop"), q("tcp", "shop/web-1", "shop/web-2", ""), q("icmp", "shop/client", "shop/web-2", "")}},
		{name: "packet filter of the pod by flags of TCP", on: "shop/web-2", breaks: chain("ip", "input priority 0;", "'tcp flags & (syn | ack) == syn' drop"), mends: "nft delete table ip f",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "the pod's packet filter drops it"), q("tcp", "shop/web-2", "shop/client", ""), q("icmp", "shop/client", "shop/web-2", "")}},
		{name: "packet filter of the pod by the old iptables", on: "shop/web-2", breaks: "iptables-legacy -A INPUT -p tcp --syn -j REJECT", mends: "iptables-legacy -F; iptables-legacy -X",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "-j REJECT"), q("tcp", "shop/web-2", "shop/client", ""), q("icmp", "shop/client", "shop/web-2", "")}},
		{name: "packet filter of the pod past conntrack", on: "shop/web-2", mends: "nft delete table ip f",
			breaks: "nft 'add table ip f; add chain ip f i { type filter hook input priority 0; policy drop; }; add rule ip f i ct state new,established accept; add chain ip f p { type filter hook prerouting priority -300; }; add rule ip f p notrack'",
			asks:   []faultAsk{q("tcp", "shop/client", "shop/web-2", "ip f i: policy drop"), q("tcp", "shop/client", "shop/web-3", "")}},
		{name: "packet filter of the pod by its packets' rate", on: "shop/web-2", breaks: "nft add table ip f; nft 'add chain ip f i { type filter hook input priority 0; }'; nft add rule ip f i limit rate over 1/day burst 1 packets drop; i=0; until [ $i = 3 ]; do i=$((i+1)); ping -c1 -W1 10.244.2.1 >/dev/null || true; done", mends: "nft delete table ip f",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "").assumed("the packet filter of shop/web-2")}},
		{name: "IPsec policy of the host blocks", on: "node1", still: true, breaks: "ip xfrm policy add dir out dst 10.244.2.0/24 action block", mends: "ip xfrm policy flush",
			asks: []faultAsk{q("icmp", "node1", "shop/web-2", "an IPsec policy of the host blocks it: dir out src 0.0.0.0/0 dst 10.244.2.0/24"), q("tcp", "shop/client", "shop/web-2", "")}},
		{name: "IPsec policy of the pod blocks", on: "shop/client", breaks: "ip xfrm policy add dir out dst 10.244.2.0/24 action block", mends: "ip xfrm policy flush",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "an IPsec policy of the pod blocks it: dir out src 0.0.0.0/0 dst 10.244.2.0/24")}},
		{name: "IPsec policy of the pod blocks what comes in", on: "shop/web-2", breaks: "ip xfrm policy add dir in src 10.244.1.0/24 proto tcp dport 8080 action block", mends: "ip xfrm policy flush",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "an IPsec policy of the pod blocks it: dir in"), q("icmp", "shop/client", "shop/web-2", "")}},
		{name: "IPsec of the host without an association", on: "node1", still: true, breaks: "ip xfrm policy add dir out dst 10.244.2.0/24 tmpl src 172.30.0.11 dst 172.30.0.12 proto esp reqid 7 mode tunnel", mends: "ip xfrm policy flush",
			asks: []faultAsk{q("icmp", "node1", "shop/web-2", "there is no association for that"), q("icmp", "node1", "shop/web-3", "")}},
		{name: "IPsec of the host by priority", on: "node1", still: true, breaks: "ip xfrm policy add dir out dst 10.244.2.0/24 priority 9 action block; ip xfrm policy add dir out dst 10.244.2.0/24 proto icmp priority 5; ip xfrm policy add dir out dst 10.244.3.0/24 tmpl proto esp mode transport level use", mends: "ip xfrm policy flush",
			asks: []faultAsk{q("icmp", "node1", "shop/web-2", ""), q("tcp", "node1", "shop/web-2", "action block"), q("icmp", "node1", "shop/web-3", "")}},
		{name: "bridge drops ARP", on: "node1", still: true, breaks: silent + "ovs-ofctl add-flow br-ex priority=1000,arp,arp_op=1,actions=drop; " + anew, mends: heard + "ovs-ofctl --strict del-flows br-ex priority=1000,arp,arp_op=1; " + anew + healed,
			asks: []faultAsk{cut("tcp", "shop/client", "shop/web-2", "asks for the MAC address of 172.30.0.12"), cut("icmp", "node1", "node2", "asks for the MAC address of 172.30.0.12")}},
		{name: "host answers no ARP", on: "node2", still: true, breaks: silent + asksNobody + "sysctl -qw net.ipv4.conf.all.arp_ignore=8; " + anew, mends: heard + "sysctl -qw net.ipv4.conf.all.arp_ignore=1; " + anew + asksAgain + healed,
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "net.ipv4.conf.all.arp_ignore=8 on node2"), q("icmp", "node1", "node2", "net.ipv4.conf.all.arp_ignore=8 on node2")}},
		{name: "packet filter of ARP", on: "node2", still: true, breaks: silent + asksNobody + "nft 'add table arp t; add chain arp t o { type filter hook output priority 0; }; add rule arp t o arp saddr ip 172.30.0.12 drop'; " + anew, mends: heard + "nft delete table arp t; " + anew + asksAgain + healed,
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "arp t o: arp saddr ip 172.30.0.12 drop on node2"), q("icmp", "node1", "node2", "arp t o: arp saddr ip 172.30.0.12 drop on node2")}},
		{name: "static entry of the bridge's FDB", on: "node1", still: true, breaks: "ovs-appctl fdb/add br-ex eth0 0 0a:58:ac:1e:00:0b" + purge, mends: "ovs-appctl fdb/del br-ex 0 0a:58:ac:1e:00:0b" + purge + healed,
			asks: []faultAsk{cut("tcp", "shop/client", "shop/web-2", "learned port is input port"), cut("icmp", "node1", "node2", "learned port is input port")}},
		{name: "uplink tunnels VLANs", on: "node1", still: true, breaks: "ovs-vsctl set port eth0 vlan_mode=dot1q-tunnel tag=5; sleep 1", mends: "ovs-vsctl clear port eth0 vlan_mode tag" + healed,
			asks: []faultAsk{cut("tcp", "shop/client", "shop/web-2", "VLAN 5"), cut("icmp", "shop/client", "internet", "VLAN 5")}},
		{name: "flow of the bridge rewrites the port", on: "node2", still: true, breaks: "ovs-ofctl add-flow br-ex priority=500,udp,tp_dst=6081,in_port=eth0,actions=mod_tp_dst:6082,NORMAL", mends: "ovs-ofctl --strict del-flows br-ex priority=500,udp,tp_dst=6081,in_port=eth0",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "takes no tunnel packets for 172.30.0.12")}},
		{name: "flow of the bridge rewrites the MAC address", on: "node2", still: true, breaks: "ovs-ofctl add-flow br-ex priority=500,ip,in_port=eth0,actions=mod_dl_dst:" + wrongMAC + ",NORMAL", mends: "ovs-ofctl --strict del-flows br-ex priority=500,ip,in_port=eth0" + healed,
			asks: []faultAsk{cut("tcp", "shop/client", "shop/web-2", "for another host"), cut("icmp", "node1", "node2", "for another host")}},
		{name: "flow of the bridge sends tunnels to OVN", on: "node2", still: true, breaks: "ovs-ofctl add-flow br-ex priority=500,udp,in_port=eth0,actions=output:$(ovs-vsctl get Interface patch-br-ex_node2-to-br-int ofport)", mends: "ovs-ofctl --strict del-flows br-ex priority=500,udp,in_port=eth0",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "nothing sends it on")}},
		{name: "MAC binding of the gateway wrong", on: "central", still: true, mends: "ovn-sbctl --all destroy MAC_Binding; sleep 1",
			breaks: "i=0; until ovn-sbctl --bare --columns=_uuid find MAC_Binding ip=172.30.0.1 | grep -q .; do i=$((i+1)); test $i -lt 20; " + l.Dir + "/enter shop_client ping -q -c3 -i0.2 203.0.113.10 >/dev/null || true; done; " + l.Dir + "/enter node1 ping -q -c3 -i0.2 203.0.113.10 >/dev/null || true; i=0; until " + l.Dir + "/enter node1 ip neigh show to 172.30.0.1 | grep -q lladdr; do i=$((i+1)); test $i -lt 20; " + l.Dir + "/enter node1 ping -q -c1 -W1 203.0.113.10 >/dev/null || true; done; for r in $(ovn-sbctl --bare --columns=_uuid find MAC_Binding ip=172.30.0.1); do ovn-sbctl set MAC_Binding $r mac='\"" + wrongMAC + "\"'; done; sleep 1",
			asks:   []faultAsk{q("icmp", "shop/client", "internet", "172.30.0.1 to "+wrongMAC)}},
		acl("policy to a next hop that no port has", "lr-policy-add ovn_cluster_router 2000 'ip4.src == 10.244.1.6' reroute 10.244.1.99", "lr-policy-del ovn_cluster_router 2000 'ip4.src == 10.244.1.6'", q("tcp", "shop/client", "shop/web-2", "next hop 10.244.1.99 is not known").isConsumed()),
		acl("route to a next hop that no port has", "lr-route-add ovn_cluster_router 10.244.2.5/32 100.64.0.77", "lr-route-del ovn_cluster_router 10.244.2.5/32", q("tcp", "shop/client", "shop/web-2", "next hop 100.64.0.77 is not known").isConsumed()),
		acl("router port disabled", "set Logical_Router_Port rtos-node2 enabled=false", "clear Logical_Router_Port rtos-node2 enabled",
			q("tcp", "shop/client", "shop/web-2", "port rtos-node2 is disabled in the Northbound"), q("tcp", "shop/web-2", "shop/client", "port rtos-node2 is disabled in the Northbound")),
		{name: "pod with a second link to the others", on: "shop/client", breaks: twoLinks + "ip addr add 10.244.2.1/24 dev d0", mends: "ip link del d0",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "by interface d0, not by eth0").isUnknown()}},
		{name: "bond active on a member that leads nowhere", on: "node1", still: true, breaks: "ip link add b1 type veth peer name b1x; ip link set b1 up; ip link set b1x up; ovs-vsctl del-port br-ex eth0 -- add-bond br-ex bond0 eth0 b1 bond_mode=active-backup; sleep 1; ovs-appctl bond/set-active-member bond0 b1", mends: "ovs-vsctl del-port br-ex bond0 -- add-port br-ex eth0; ip link del b1" + healed,
			asks: []faultAsk{cut("tcp", "shop/client", "shop/web-2", "").assumed("the physical network between node1 and node2")}},
		{name: "host's end of the pod's link in another bridge", on: "node2", still: true, breaks: "ip link add k0 type bridge; ip link set k0 up; ip link set " + web2.Link + " master k0", mends: "ip link set " + web2.Link + " nomaster; ip link del k0",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", ""), q("tcp", "shop/web-2", "shop/client", "")}},
		{name: "loopback of the pod down", on: "shop/web-2", breaks: "ip link set lo down", mends: "ip link set lo up", asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "")}},
		// The request teaches the bridge where the router is before the reply comes.
		{name: "bridge has the router's address elsewhere", on: "node1", still: true, breaks: "ovs-ofctl packet-out br-ex 'in_port=LOCAL packet=ffffffffffff" + strings.ReplaceAll(mac, ":", "") + "88b5" + strings.Repeat("00", 46) + " actions=NORMAL'", mends: "true",
			asks: []faultAsk{q("icmp", "shop/client", "internet", "").delivered(exitOK)}},
	}
}

// sized asks about echo requests of some bytes, Ethernet header included.
func (a faultAsk) sized(length int) faultAsk {
	a.length = length
	a.args = append(a.args, "--length", fmt.Sprint(length))
	return a
}
