//go:build lab

package main

import (
	"fmt"
	"slices"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/internal/turn"
	"github.com/ovnctl/ovnctl/pkg/journey"
)

// TestTraceBeneath breaks what OVN rests on, in one way after the other: bridges, links, hosts and pods. The verdict must
// be what packets do, and its cause must name what was broken; what no node's state shows must be among the assumptions.
// Each run makes an eighth of the faults, chosen by OVNCTL_TURN; OVNCTL_FAULTS=all makes all.
func TestTraceBeneath(t *testing.T) {
	eachFault(t, 8, allBeneath, func(t *testing.T, l *lab.Lab, f fault) { f.try(t, l) })
}

// eachFault takes one of so many parts of the faults, those whose turn it is, on a lab of its own.
func eachFault(t *testing.T, parts int, on func(*lab.Lab) []fault, try func(*testing.T, *lab.Lab, fault)) {
	t.Helper()
	makes := turn.Takes(t, parts)
	l := labtest.Own(t, lab.OVNKubernetes(), lab.Options{})
	faults := on(l)
	for i := range faults {
		f := faults[i]
		if !makes(i) {
			continue
		}
		if !t.Run(f.name, func(t *testing.T) { try(t, l, f) }) { // what it left behind is not the next one's
			l = labtest.Own(t, lab.OVNKubernetes(), lab.Options{})
			faults = on(l)
		}
	}
}

// allBeneath are the faults beneath OVN, as they are made on a lab.
func allBeneath(l *lab.Lab) []fault {
	return slices.Concat(beneathFaults(l), lateFaults(l), ownFaults(l))
}

// assumed is for a loss that no node's state shows: the packet is said to be delivered, on an assumption.
func (a faultAsk) assumed(text string) faultAsk {
	a.says, a.cause, a.lost = journey.Delivered, text, true
	return a
}

// pastOVS is for a reply that the host's kernel takes where it does not come by.
func (a faultAsk) pastOVS() faultAsk { a.past = true; return a }

// identity is the command that gives the interface of a pod what makes it another's.
func identity(p, other lab.Pod) string {
	text := "ovs-vsctl set Interface " + p.Link
	for key, value := range other.Interface {
		text += fmt.Sprintf(" 'external_ids:%s=\"%s\"'", key, value)
	}
	return text
}

// healed waits until a node reaches the others over the underlay again.
const healed = "; for a in 172.30.0.11 172.30.0.12 172.30.0.13; do i=0; until ping -q -c1 -W1 $a >/dev/null; do i=$((i+1)); test $i -lt 30; done; done"

// patched waits until ovn-controller has connected a node's br-ex again.
const patched = "; i=0; until ovs-vsctl list-ports br-ex | grep -q '^patch-' && ovs-vsctl list-ports br-int | grep -q '^patch-'; do i=$((i+1)); test $i -lt 300; sleep 0.1; done"

// unpatched waits until it has disconnected it, which it does not within 15 seconds of its start, and later only if it recomputes.
const unpatched = "; i=0; while ovs-vsctl list-ports br-ex | grep -q '^patch-'; do ovn-appctl -t ovn-controller inc-engine/recompute; i=$((i+1)); test $i -lt 100; sleep 0.3; done"

// onNode2 is the command that runs another on node2, and inFabric in the network between the nodes.
func onNode2(l *lab.Lab, command string) string  { return inside(l, "node2", command) }
func inFabric(l *lab.Lab, command string) string { return inside(l, "fab", command) }

func inside(l *lab.Lab, host, command string) string {
	return l.Dir + "/enter " + host + " sh -ec '" + command + "'"
}

// node2Silent keeps to node2 all that others learn its MAC address from: its ARP, answers and what its ovn-controller announces
// unasked, and the tunnels' packets, as when a pod sends once more what an earlier fault lost.
const node2Silent = tunnelsSilent + "; nft add rule bridge t f iifname node2 ether type arp drop"

// tunnelsSilent keeps to node2 its tunnels' packets alone.
const tunnelsSilent = "nft add table bridge t; nft \"add chain bridge t f { type filter hook forward priority 0; }\"; " +
	"nft add rule bridge t f iifname node2 udp dport 6081 drop"

func beneathFaults(l *lab.Lab) []fault {
	web1, _ := l.Topology.Pod("shop/web-1")
	web2, _ := l.Topology.Pod("shop/web-2")
	client, _ := l.Topology.Pod("shop/client")
	q := func(proto, from, to, cause string) faultAsk { return ask(l, proto, from, to, cause) }
	cut := func(proto, from, to, cause string) faultAsk {
		return ask(l, proto, from, to, cause).with("--sb", l.SB())
	}
	bond := func(options string) string {
		return "ip link add b1 type veth peer name b1x; ip link set b1 up; ip link set b1x up; ovs-vsctl del-port br-ex eth0 -- add-bond br-ex bond0 eth0 b1 " + options
	}
	// A bond that is whole, with a switch of its own before eth0.
	bonded := func(name, own, other, after string) fault {
		return fault{name: name, on: "node1", still: true,
			breaks: "for i in 1 2; do ip link add bx$i type veth peer name by$i; for d in bx$i by$i; do ip link set $d up; ethtool -K $d tx off >/dev/null; done; done; " +
				"ovs-vsctl del-port br-ex eth0 -- br-set-external-id br-ex bridge-uplink bond0 -- add-bond br-ex bond0 bx1 bx2 " + own +
				" -- add-br br-sw -- set bridge br-sw datapath_type=netdev -- add-port br-sw eth0 -- " + other + "; sleep 3" + after + healed,
			mends: "ovs-vsctl del-br br-sw -- del-port br-ex bond0 -- add-port br-ex eth0 -- br-set-external-id br-ex bridge-uplink eth0; ip link del bx1; ip link del bx2" + healed,
			asks:  []faultAsk{q("tcp", "shop/client", "shop/web-2", ""), q("tcp", "shop/web-2", "shop/client", ""), q("icmp", "shop/client", "internet", "")}}
	}
	const swBond = "add-bond br-sw bond-sw by1 by2"
	active := func(i string) string {
		return "; ovs-appctl bond/set-active-member bond0 bx" + i + "; ovs-appctl bond/set-active-member bond-sw by" + i
	}
	const noBond = "ip link set eth0 up; ovs-vsctl del-port br-ex bond0 -- add-port br-ex eth0; ip link del b1" + healed
	const wrongMAC = "02:00:00:00:00:99"
	return []fault{
		{name: "VLAN tag on the uplink", on: "node1", breaks: "ovs-vsctl set port eth0 tag=100", mends: "ovs-vsctl remove port eth0 tag 100" + healed, still: true, asks: []faultAsk{
			cut("tcp", "shop/client", "shop/web-2", "port eth0 of bridge br-ex on node1 is in VLAN 100"),
			cut("tcp", "shop/web-2", "shop/client", "VLAN 100"),
			cut("icmp", "shop/client", "internet", "VLAN 100"),
			cut("tcp", "shop/client", "shop/web-1", ""),
		}},
		{name: "underlay drops one way", on: "fab", still: true,
			breaks: "nft add table bridge t; nft 'add chain bridge t f { type filter hook forward priority 0; }'; nft add rule bridge t f iifname node2 oifname node1 udp dport 6081 drop",
			mends:  "nft delete table bridge t",
			asks:   []faultAsk{q("tcp", "shop/client", "shop/web-2", "").assumed("the physical network between node1 and node2"), q("tcp", "shop/client", "shop/web-3", "")}},
		{name: "node2 has the MAC address of node1", on: "node2", breaks: "ovs-vsctl set bridge br-ex other_config:hwaddr='\"0a:58:ac:1e:00:0b\"'; sleep 1", still: true,
			mends: "ovs-vsctl set bridge br-ex other_config:hwaddr='\"0a:58:ac:1e:00:0c\"'; ip neigh flush dev br-ex" + healed,
			asks:  []faultAsk{cut("tcp", "shop/client", "shop/web-2", "nodes node1 and node2 have the same MAC address 0a:58:ac:1e:00:0b")}},
		acl("router policy", "lr-policy-add ovn_cluster_router 2000 'ip4.dst == 10.244.2.5' drop", "lr-policy-del ovn_cluster_router 2000 'ip4.dst == 10.244.2.5'",
			q("tcp", "shop/client", "shop/web-2", "routing policy 2000")),
		acl("discard route", "lr-route-add ovn_cluster_router 10.244.2.5/32 discard", "lr-route-del ovn_cluster_router 10.244.2.5/32",
			q("tcp", "shop/client", "shop/web-2", "10.244.2.5")),
		acl("route back from outside", "lr-route-del GR_node1 10.244.0.0/16", "lr-route-add GR_node1 10.244.0.0/16 100.64.0.1", q("icmp", "shop/client", "internet", "GR_node1")),
		acl("default route", "lr-route-del GR_node1 0.0.0.0/0", "lr-route-add GR_node1 0.0.0.0/0 172.30.0.1 rtoe-GR_node1", q("icmp", "shop/client", "internet", "no route to 203.0.113.10")),
		acl("source NAT", "lr-nat-del GR_node1 snat 10.244.0.0/16", "lr-nat-add GR_node1 snat 172.30.0.111 10.244.0.0/16", q("icmp", "shop/client", "internet", "10.244.1.6")),
		acl("VLAN tag of the localnet port", "set Logical_Switch_Port br-ex_node1 tag=100", "clear Logical_Switch_Port br-ex_node1 tag", q("icmp", "shop/client", "internet", "VLAN 100")),
		acl("port security", "lsp-set-port-security shop_client '"+client.MAC+" 10.244.1.99'", "lsp-set-port-security shop_client '"+client.MAC+" 10.244.1.6 fd00:10:244:1::6'",
			q("tcp", "shop/client", "shop/web-2", "port security")),
		acl("backends where nobody listens", "set Load_Balancer Service_shop/self_TCP_cluster 'vips:\"10.96.0.11:80\"=\"10.244.1.5:8081\"'",
			"set Load_Balancer Service_shop/self_TCP_cluster 'vips:\"10.96.0.11:80\"=\"10.244.1.5:8080\"'", q("tcp", "shop/client", "shop/self", "listens on tcp 8081")),
		acl("QoS", "qos-add node1 from-lport 100 'inport == \"shop_client\"' rate=1 burst=1", "qos-del node1", q("udp", "shop/client", "shop/web-2", "rate"), q("udp", "shop/client", "shop/web-2", "QoS").with("--length", "1000").isDropped()),
		{name: "port no-forward", on: "node2", breaks: "ovs-ofctl mod-port br-int " + web2.Link + " no-forward", mends: "ovs-ofctl mod-port br-int " + web2.Link + " forward",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "NO_FWD")}},
		{name: "flow of the bridge drops tunnels", on: "node2", still: true, breaks: "ovs-ofctl add-flow br-ex priority=1000,udp,tp_dst=6081,in_port=eth0,actions=drop", mends: "ovs-ofctl --strict del-flows br-ex priority=1000,udp,tp_dst=6081,in_port=eth0",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "of table 0 of bridge br-ex drops it"), q("tcp", "shop/web-2", "shop/client", "of table 0 of bridge br-ex drops it")}},
		{name: "pod with a wrong neighbour", on: "shop/client", breaks: "ip neigh replace 10.244.1.1 lladdr " + wrongMAC + " dev eth0 nud permanent", mends: "ip neigh del 10.244.1.1 dev eth0",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "sends packets for 10.244.1.1 to "+wrongMAC), q("tcp", "shop/web-2", "shop/client", wrongMAC), q("tcp", "shop/client", "shop/web-1", "")}},
		{name: "blackhole in the pod", on: "shop/client", breaks: "ip route add blackhole 10.244.2.5/32", mends: "ip route del blackhole 10.244.2.5/32", asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "blackhole")}},
		{name: "packet filter in the pod", on: "shop/web-2", breaks: "nft add table ip f; nft 'add chain ip f in { type filter hook input priority 0; policy drop; }'", mends: "nft delete table ip f",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "packet filter drops it"), q("tcp", "shop/client", "shop/web-2", "").v6()}},
		{name: "wrong neighbour of the host", on: "node1", still: true, breaks: "ip neigh replace 172.30.0.12 lladdr " + wrongMAC + " dev br-ex nud permanent", mends: "ip neigh del 172.30.0.12 dev br-ex",
			asks: []faultAsk{q("icmp", "node1", "node2", wrongMAC), q("tcp", "shop/client", "shop/web-2", "")}},
		{name: "rule to a blackhole", on: "node1", still: true, breaks: "ip route add blackhole default table 99; ip rule add to 10.244.2.0/24 lookup 99", mends: "ip rule del to 10.244.2.0/24 lookup 99; ip route del blackhole default table 99",
			asks: []faultAsk{q("icmp", "node1", "shop/web-2", "blackhole")}},
		{name: "gateway silent", on: "fab", still: true, mends: "kill $(cat " + l.Dir + "/ping.pid); ip addr add 172.30.0.1/24 dev under",
			breaks: "ip addr del 172.30.0.1/24 dev under; ip netns exec " + l.Prefix + "-node1 ip neigh flush to 172.30.0.1; ip netns exec " + l.Prefix + "-node1 ping -q -i 0.2 203.0.113.10 >/dev/null 2>&1 & echo $! > " + l.Dir + "/ping.pid; ovn-sbctl --db=" + l.SB() + " --all destroy MAC_Binding; sleep 2",
			asks:   []faultAsk{q("icmp", "shop/client", "internet", "the MAC address of the next hop 172.30.0.1 is not known").isConsumed()}},
		{name: "gateway silent, and not asked", on: "fab", still: true, mends: "ip addr add 172.30.0.1/24 dev under",
			breaks: "ip addr del 172.30.0.1/24 dev under; ip netns exec " + l.Prefix + "-node1 ip neigh replace 172.30.0.1 lladdr 02:00:ac:1e:00:01 dev br-ex nud stale; ovn-sbctl --db=" + l.SB() + " --all destroy MAC_Binding; sleep 1",
			asks:   []faultAsk{q("icmp", "shop/client", "internet", "").assumed("172.30.0.1 answers")}},
		{name: "interface ids swapped", on: "node1", breaks: identity(client, web1) + "; " + identity(web1, client),
			mends: identity(client, client) + "; " + identity(web1, web1),
			asks:  []faultAsk{q("tcp", "shop/client", "shop/web-2", "what is attached to it is shop/web-1"), q("tcp", "shop/web-2", "shop/client", "what is attached to it is shop/web-1")}},
		{name: "pod with a wide mask", on: "shop/client", breaks: "ip addr del 10.244.1.6/24 dev eth0; ip addr add 10.244.1.6/16 dev eth0; ip route add default via 10.244.1.1",
			mends: "ip addr del 10.244.1.6/16 dev eth0; ip addr add 10.244.1.6/24 dev eth0; ip route add default via 10.244.1.1",
			asks:  []faultAsk{q("tcp", "shop/client", "shop/web-2", "10.244.1.6/16"), q("tcp", "shop/web-2", "shop/client", "10.244.1.6/16"), q("tcp", "shop/client", "shop/web-1", "")}},
		{name: "LACP without a partner", on: "node1", still: true, breaks: bond("lacp=active") + "; sleep 2", mends: noBond, asks: []faultAsk{cut("tcp", "shop/client", "shop/web-2", "no member of bond bond0"), cut("tcp", "shop/web-2", "shop/client", "bond0")}},
		bonded("bond that balances connections", "lacp=active bond_mode=balance-tcp", swBond+" lacp=active bond_mode=balance-tcp", "; i=0; until ovs-appctl bond/show bond0 | grep -q negotiated; do i=$((i+1)); test $i -lt 300; sleep 0.1; done"),
		// Its switch knows of no bond: one that did would take broadcasts on one member alone, and they are sent on either.
		bonded("bond that balances sources", "bond_mode=balance-slb", "add-port br-sw by1 -- add-port br-sw by2", ""),
		bonded("bond active on its second member", "", swBond, active("2")),
		bonded("bond active on its first member", "", swBond, active("1")),
		{name: "bond with both members down", on: "node1", still: true, breaks: bond("") + "; ip link set eth0 down; ip link set b1 down; sleep 1", mends: noBond, asks: []faultAsk{cut("tcp", "shop/client", "shop/web-2", "bond0")}},
		acl("stateless", "acl-add node1 from-lport 1002 'inport == \"shop_client\" && tcp' allow-stateless", "acl-del node1 from-lport 1002 'inport == \"shop_client\" && tcp'", q("tcp", "shop/client", "shop/self", ""), q("tcp", "shop/client", "shop/web-2", "did not see the connection begin")),
		{name: "management port down", on: "node1", still: true, breaks: "ip link set ovn-k8s-mp0 down", mends: "ip link set ovn-k8s-mp0 up; ip route replace 10.244.0.0/16 via 10.244.1.1 dev ovn-k8s-mp0; ip route replace 10.96.0.0/16 via 10.244.1.1 dev ovn-k8s-mp0; ip addr add fd00:10:244:1::2/64 dev ovn-k8s-mp0 nodad 2>/dev/null || true; ip -6 route replace fd00:10:244::/48 via fd00:10:244:1::1; ip -6 route replace fd00:10:96::/112 via fd00:10:244:1::1",
			asks: []faultAsk{q("tcp", "node1", "shop/web-2", "ovn-k8s-mp0").isDropped(), q("tcp", "node1", "shop/client", "ovn-k8s-mp0").isDropped()}},
		{name: "link of the pod down on the host", on: "node2", still: true, breaks: "ip link set " + web2.Link + " down; sleep 1", mends: "ip link set " + web2.Link + " up; sleep 1", asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "down")}},
		{name: "pod in another bridge", on: "node2", breaks: "ovs-vsctl del-port " + web2.Link + " -- add-port br-ex " + web2.Link + " -- set Interface " + web2.Link + " external_ids:iface-id=shop_web-2", mends: "ovs-vsctl del-port " + web2.Link + "; " + plug(web2),
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "shop_web-2")}},
		// ovn-controller removes no patch ports in its first rounds.
		{name: "network name with a typo", on: "central", // the router knows the next hop, whatever was sent before
			breaks: l.Dir + "/enter shop_client ping -c 3 -W 1 203.0.113.10 >/dev/null || true; ovn-nbctl set Logical_Switch_Port br-ex_node1 options:network_name=physnte; i=0; while " + l.Dir + "/enter node1 ovs-vsctl list-ports br-ex | grep -q patch; do i=$((i+1)); test $i -lt 60; ovn-nbctl --wait=hv sync; sleep 0.5; done",
			mends:  "ovn-nbctl set Logical_Switch_Port br-ex_node1 options:network_name=physnet", asks: []faultAsk{q("icmp", "shop/client", "internet", "physnte")}},
		{name: "blackhole that counts for the kernel alone", on: "node1", still: true, breaks: "ip route add blackhole 172.30.0.12/32", mends: "ip route del blackhole 172.30.0.12/32", asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", ""), q("tcp", "shop/web-2", "shop/client", "")}},
		// Not of the list that the bar was set by.
		{name: "uplink no-receive", on: "node2", still: true, breaks: "ovs-ofctl mod-port br-ex eth0 no-receive", mends: "ovs-ofctl mod-port br-ex eth0 receive" + healed,
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "NO_RECV")}},
		{name: "uplink no-forward", on: "node2", still: true, breaks: "ovs-ofctl mod-port br-ex eth0 no-forward", mends: "ovs-ofctl mod-port br-ex eth0 forward" + healed,
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "NO_FWD")}},
		{name: "no flows in the bridge", on: "node2", still: true, breaks: "ovs-ofctl del-flows br-ex", mends: "ovs-ofctl add-flow br-ex priority=0,actions=NORMAL" + healed,
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "of bridge br-ex matches it")}},
		{name: "bridge sends tunnels nowhere", on: "node1", still: true, breaks: "ovs-ofctl add-flow br-ex priority=900,udp,in_port=LOCAL,tp_dst=6081,actions=drop", mends: "ovs-ofctl --strict del-flows br-ex priority=900,udp,in_port=LOCAL,tp_dst=6081",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "of table 0 of bridge br-ex drops it"), q("tcp", "shop/client", "shop/web-1", "")}},
		{name: "uplink trunks another VLAN", on: "node2", still: true, breaks: "ovs-vsctl set port eth0 trunks=200", mends: "ovs-vsctl clear port eth0 trunks" + healed,
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "VLAN 200")}},
		{name: "wrong tunnel neighbour", on: "node1", still: true, mends: inFabric(l, "nft delete table bridge t") + "; ip neigh del 172.30.0.12 dev br-ex; ovs-appctl tnl/neigh/flush; " + onNode2(l, "true"+asksAgain) + healed,
			breaks: onNode2(l, asksNobody+"true") + "; " + inFabric(l, node2Silent) + "; ip neigh replace 172.30.0.12 lladdr 0a:58:ac:1e:00:0c dev br-ex; ovs-appctl tnl/neigh/set br-ex 172.30.0.12 " + wrongMAC, // nothing that node2 says replaces it
			asks:   []faultAsk{q("tcp", "shop/client", "shop/web-2", "sends packets for 172.30.0.12 to "+wrongMAC), q("tcp", "shop/client", "shop/web-3", "")}},
		{name: "bridge's own interface tagged", on: "node2", still: true, breaks: "ovs-vsctl set port br-ex tag=7", mends: "ovs-vsctl clear port br-ex tag" + healed,
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "VLAN 7")}},
		{name: "packet filter of the pod on its way out", on: "shop/client", breaks: "nft add table ip f; nft 'add chain ip f out { type filter hook output priority 0; }'; nft add rule ip f out ip daddr 10.244.2.0/24 tcp dport 8080 drop", mends: "nft delete table ip f",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "tcp dport 8080 drop"), q("udp", "shop/client", "shop/web-2", ""), q("tcp", "shop/client", "shop/web-1", "")}},
		{name: "packet filter of the pod rejects", on: "shop/web-2", breaks: "nft add table inet f; nft 'add chain inet f in { type filter hook input priority 0; }'; nft add rule inet f in ct state established accept; nft add rule inet f in tcp dport 8080 reject with tcp reset", mends: "nft delete table inet f",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "packet filter drops it"), q("tcp", "shop/web-2", "shop/client", "")}},
		{name: "MAC address of the pod changed", on: "shop/web-2", breaks: "ip link set eth0 address " + wrongMAC, mends: "ip link set eth0 address " + web2.MAC,
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", wrongMAC)}},
		{name: "prohibited in the replying pod", on: "shop/web-2", breaks: "ip route add prohibit 10.244.1.6/32", mends: "ip route del prohibit 10.244.1.6/32",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "prohibit"), q("tcp", "shop/web-1", "shop/web-2", "")}},
		{name: "packet filter of a host", on: "node2", still: true, breaks: "nft add table inet f; nft 'add chain inet f in { type filter hook input priority 0; }'; nft add rule inet f in tcp dport 8080 drop", mends: "nft delete table inet f",
			asks: []faultAsk{q("tcp", "shop/client", "node2", "tcp dport 8080 drop"), q("icmp", "shop/client", "node2", "")}},
		{name: "replying pod with a wrong neighbour", on: "shop/web-2", breaks: "ip neigh replace 10.244.2.1 lladdr " + wrongMAC + " dev eth0 nud permanent", mends: "ip neigh del 10.244.2.1 dev eth0",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "sends packets for 10.244.2.1 to "+wrongMAC)}},
		{name: "the host answers at the pod's link", on: "node2", still: true, breaks: l.Dir + "/enter shop_web-2 ip neigh replace 10.244.2.2 lladdr $(cat /sys/class/net/" + web2.Link + "/address) dev eth0 nud permanent",
			mends: l.Dir + "/enter shop_web-2 ip neigh del 10.244.2.2 dev eth0", asks: []faultAsk{q("tcp", "node2", "shop/web-2", "").pastOVS()}},
		{name: "underlay drops large and small", on: "fab", still: true, breaks: "ip link set node2 nomaster", mends: "ip link set node2 master under; ip netns exec " + l.Prefix + "-node1 sh -c 'i=0; until ping -q -c1 -W1 172.30.0.12 >/dev/null; do i=$((i+1)); test $i -lt 30; done'",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", "").assumed("the physical network between node1 and node2")}},
		{name: "MTU of the uplink", on: "node2", still: true, breaks: "ip link set eth0 mtu 1300", mends: "ip link set eth0 mtu 1500",
			asks: []faultAsk{q("tcp", "shop/client", "shop/web-2", ""), q("tcp", "shop/client", "shop/web-2", "larger than eth0 on node").with("--length", "1400").isDropped()}},
		{name: "spanning tree listens", on: "node1", still: true, breaks: "ovs-vsctl set bridge br-ex stp_enable=true; sleep 1", mends: "ovs-vsctl set bridge br-ex stp_enable=false" + healed,
			asks: []faultAsk{cut("tcp", "shop/client", "shop/web-2", "stp state")}},
	}
}

func (a faultAsk) isConsumed() faultAsk { a.says = journey.Consumed; return a }

func (a faultAsk) isDropped() faultAsk { a.says = journey.Dropped; return a }
