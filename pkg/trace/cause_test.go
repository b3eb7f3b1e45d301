package trace

import (
	"go/ast"
	"go/parser"
	"go/token"
	"net/netip"
	"strconv"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace/cause"
)

// TestCauses is the wording of each kind of cause, and the command that it leads to.
func TestCauses(t *testing.T) {
	to, from := netip.MustParseAddr("10.244.3.7"), netip.MustParseAddr("10.244.1.6")
	acl := &decode.Object{Kind: "ACL", UUID: "0badcafe-1", Text: "ACL (switch s1, to-lport 1000, drop)"}
	policy := &decode.Object{Kind: "ACL", UUID: "0badcafe-2", Text: "ACL (default deny of the NetworkPolicies in namespace bank, to-lport 1000, drop)",
		Owner: decode.Owner{CMS: decode.OVNKubernetes, Kind: "NetworkPolicy", Namespace: "bank", Role: decode.DefaultDeny}}
	balancer := &decode.Object{Kind: "load balancer", UUID: "0badcafe-3", Text: `load balancer "lb" (tcp)`}
	service := &decode.Object{Kind: "load balancer", UUID: "0badcafe-4", Text: `load balancer "lb" (Service shop/web, tcp)`,
		Owner: decode.Owner{CMS: decode.OVNKubernetes, Kind: "Service", Namespace: "shop", Name: "web"}}
	route := &decode.Object{Kind: "route", UUID: "0badcafe-5", Text: "route 10.0.0.0/8 via discard (router r1)"}
	other := &decode.Object{Kind: "NAT", UUID: "0badcafe-6", Text: "NAT snat 10.0.0.1 as 1.1.1.1"}
	rule := &decode.Object{Kind: "QoS", UUID: "0badcafe-7", Text: "QoS rule, if ip"}
	traffic := &journey.Traffic{Service: "tcp 8080", Src: from, Dst: to, From: "shop/client"}
	const (
		port    = "ovnctl topology show lsp:p1"
		node    = "ovnctl topology show node:node1"
		remote  = "ovs-vsctl get Open_vSwitch . external_ids:ovn-remote"
		again   = "ovnctl trace a b --tcp=80 --via ssh"
		daemon  = "ovs-appctl -T 5 -t ovs-vswitchd version  # on node1"
		uplinks = "ovnctl topology show --physical node:node1"
	)
	tests := []struct {
		c     journey.Cause // with port p1
		words string
		next  string // on node1, in datapath r1
	}{
		{journey.Cause{Kind: journey.Denied, Object: acl}, "dropped by ACL (switch s1, to-lport 1000, drop)", "ovn-nbctl list ACL 0badcafe-1"},
		{journey.Cause{Kind: journey.Denied, Object: policy, Traffic: traffic}, "dropped by ACL (default deny of the NetworkPolicies in namespace bank, to-lport 1000, drop); no rule allows tcp 8080 from 10.244.1.6 (shop/client) to 10.244.3.7", "kubectl -n bank get networkpolicy"},
		{journey.Cause{Kind: journey.Denied, Object: acl, Reply: journey.TCPReset}, "rejected with a TCP reset by ACL (switch s1, to-lport 1000, drop)", "ovn-nbctl list ACL 0badcafe-1"},
		{journey.Cause{Kind: journey.Denied, Object: acl, Reply: journey.Unreachable}, "rejected with an ICMP unreachable by ACL (switch s1, to-lport 1000, drop)", "ovn-nbctl list ACL 0badcafe-1"},
		{journey.Cause{Kind: journey.NotAllowed, Datapath: `switch "s1"`, Traffic: traffic}, `no ACL of switch "s1" allows tcp 8080 from 10.244.1.6 (shop/client) to 10.244.3.7, and NB_Global options:default_acl_drop drops the rest`, port},
		{journey.Cause{Kind: journey.PortSecurity, MAC: "0a:00:00:00:00:01", Address: from, Detail: "0a:00:00:00:00:01 10.244.1.66"}, "port security does not let port p1 send from 0a:00:00:00:00:01 10.244.1.6; it allows 0a:00:00:00:00:01 10.244.1.66", port},
		{journey.Cause{Kind: journey.PortSecurity, MAC: "0a:00:00:00:00:01", Inbound: true}, "port security does not let port p1 receive for 0a:00:00:00:00:01", port},
		{journey.Cause{Kind: journey.PortDisabled}, "port p1 is disabled in the Northbound (enabled=false)", port},
		{journey.Cause{Kind: journey.RouterDisabled, Datapath: `router "r1"`}, `router "r1" is disabled`, port},
		{journey.Cause{Kind: journey.NextHopDisabled, Address: to, Datapath: "router r2"}, "the next hop 10.244.3.7 is router r2, which is disabled", port},
		{journey.Cause{Kind: journey.UnknownMAC, MAC: "0a:00:00:00:00:01"}, "no port of the switch has the MAC address 0a:00:00:00:00:01", "ovnctl doctor node:node1"},
		{journey.Cause{Kind: journey.WrongMAC, MAC: "0a:00:00:00:00:01"}, "the frame is for 0a:00:00:00:00:01, which router port p1 does not have", port},
		{journey.Cause{Kind: journey.NoRoute, Address: to}, "the router has no route to 10.244.3.7", "ovn-nbctl lr-route-list r1"},
		{journey.Cause{Kind: journey.NoRoute, Address: to, Place: journey.InWorkload, Workload: journey.Pod}, "the pod has no route to 10.244.3.7", "kubectl -n shop exec web -- ip addr show"},
		{journey.Cause{Kind: journey.NoRoute, Address: to, Place: journey.InWorkload, Workload: journey.VM}, "the VM has no route to 10.244.3.7", port},
		{journey.Cause{Kind: journey.Discarded, Object: route}, "dropped by route 10.0.0.0/8 via discard (router r1)", "ovn-nbctl lr-route-list r1"},
		{journey.Cause{Kind: journey.NoBackends, Object: balancer, Detail: "10.0.0.1:80"}, `load balancer "lb" (tcp) has no backends for 10.0.0.1:80`, port},
		{journey.Cause{Kind: journey.NoLocalBackends, Object: service, Node: "node1", Detail: "10.0.0.1:80"}, `load balancer "lb" (Service shop/web, tcp) is distributed, and none of its endpoints for 10.0.0.1:80 is on the client's chassis node1`, port},
		{journey.Cause{Kind: journey.NoBackends, Object: service, Detail: "10.0.0.1:80"}, `load balancer "lb" (Service shop/web, tcp) has no endpoints for 10.0.0.1:80`, "kubectl -n shop get endpointslices -l kubernetes.io/service-name=web"},
		{journey.Cause{Kind: journey.TTLExpired, Datapath: `router "r1"`}, `its TTL has run out in router "r1"`, port},
		{journey.Cause{Kind: journey.TooLarge, Detail: "1400"}, "it is larger than the 1400 bytes that may pass p1", port},
		{journey.Cause{Kind: journey.NextHopUnknown, Address: to}, "the MAC address of the next hop 10.244.3.7 is not known (no MAC_Binding): ovn-controller asks for it, and the packet waits", "ovn-sbctl list MAC_Binding"},
		{journey.Cause{Kind: journey.Unbound, Detail: "no chassis has claimed it"}, "port p1 is not bound to a chassis: no chassis has claimed it", port},
		{journey.Cause{Kind: journey.SameOutport}, "OVN does not send it back out of port p1, by which it came in", port},
		{journey.Cause{Kind: journey.NoPeer}, "port p1 has no peer", port},
		{journey.Cause{Kind: journey.NoTunnel, Node: "node1", Chassis: "node2"}, "no tunnel leads from node1 to node2, which holds port p1", port},
		{journey.Cause{Kind: journey.NoTunnel}, "no tunnel leads to port p1", port},
		{journey.Cause{Kind: journey.NoTunnel, Node: "node1", Chassis: "node2", Link: "ovn-n2-0", Detail: "could not add network device ovn-n2-0 to ofproto (File exists)"},
			"no tunnel leads from node1 to node2, which holds port p1: Open vSwitch says of ovn-n2-0 \"could not add network device ovn-n2-0 to ofproto (File exists)\"", port},
		{journey.Cause{Kind: journey.Controller, Detail: "PUT_DHCP_OPTS"}, "ovn-controller takes it: PUT_DHCP_OPTS", port},
		{journey.Cause{Kind: journey.ByObject, Object: other}, "dropped by NAT snat 10.0.0.1 as 1.1.1.1", port},
		{journey.Cause{Kind: journey.FlowUnread, Datapath: `switch "s1"`, Table: "ingress table 3 (ls_in_acl)", Detail: "priority 5, warp; (x), uuid 01234567"}, `switch "s1" has in ingress table 3 (ls_in_acl) a logical flow that it may hit and that ovnctl cannot read: priority 5, warp; (x), uuid 01234567`, port},
		{journey.Cause{Kind: journey.ActionUnread, Datapath: `switch "s1"`, Table: "ingress table 3", Detail: "warp;"}, `the logical flow that it hits in ingress table 3 of switch "s1" has an action that ovnctl cannot follow: warp;`, port},
		{journey.Cause{Kind: journey.FlowsTie, Datapath: `switch "s1"`, Table: "ingress table 3", Detail: "2 flows of priority 5 match"}, `which logical flow it hits in ingress table 3 of switch "s1" is undefined: 2 flows of priority 5 match, and they do different things`, port},
		{journey.Cause{Kind: journey.PathTooLong, Detail: "the packet passes too many tables"}, "the packet passes too many tables", port},
		{journey.Cause{Kind: journey.FlowDrops, Detail: "ip4"}, `logical flow "ip4" drops it`, port},
		{journey.Cause{Kind: journey.ConnectionUnseen, Node: "node1"}, "conntrack finds it invalid: it did not see the connection begin", "ovs-appctl dpctl/dump-conntrack  # on node1"},
		{journey.Cause{Kind: journey.FlowEnds, Detail: "ip4"}, `logical flow "ip4" does not send it on`, port},
		{journey.Cause{Kind: journey.NoLogicalFlow, Datapath: `switch "s1"`, Table: "ingress table 3"}, `no logical flow of switch "s1" matches it in ingress table 3`, port},
		{journey.Cause{Kind: journey.NothingSendsItOn}, "nothing sends it on", port},

		{journey.Cause{Kind: journey.MACNotInstalled, Node: "node1", MAC: "0a:00:00:00:00:01"}, "node node1 has no flow for the MAC address 0a:00:00:00:00:01 of port p1: its ovn-controller has not installed it", port},
		{journey.Cause{Kind: journey.OpenFlowDrops, Detail: "ip", Table: "table 8"}, `flow "ip" of table 8 drops it`, port},
		{journey.Cause{Kind: journey.NoOpenFlow, Table: "table 8"}, "no flow of table 8 matches it", port},
		{journey.Cause{Kind: journey.NoOutputFlow, Table: "table 65", Node: "node1"}, "no flow of table 65 on node node1 sends it to port p1", port},
		{journey.Cause{Kind: journey.OVSDrops, Detail: "recursion too deep"}, "Open vSwitch drops it before port p1: recursion too deep", port},
		{journey.Cause{Kind: journey.OVSGivesUp, Detail: "over 4096 resubmit actions"}, "Open vSwitch gives up: over 4096 resubmit actions", port},
		{journey.Cause{Kind: journey.ActionUnknown, Detail: "encap"}, "ovnctl does not know the action encap", port},
		{journey.Cause{Kind: journey.NotInDatabase, Bridge: "br-int"}, "port p1 of bridge br-int is not in the node's database", port},
		{journey.Cause{Kind: journey.NoEnd}, "ovs-vswitchd does not say where the packet ends", port},
		{journey.Cause{Kind: journey.Loop, Detail: "64"}, "the packet crosses more than 64 bridges, networks and hosts: it loops or is flooded", port},
		{journey.Cause{Kind: journey.NoSuchBackend, Detail: "10.0.0.1:80"}, "none of the tried values of ovs-vswitchd's hash leads to backend 10.0.0.1:80", port},

		{journey.Cause{Kind: journey.NoInterface, Node: "node1"}, "no interface on node1 carries port p1", port},
		{journey.Cause{Kind: journey.NoPortBinding}, "ovn-northd has not made a Port_Binding for port p1", port},
		{journey.Cause{Kind: journey.NoGateway, Address: to, Other: from}, "nothing on its switch leads from port p1 to 10.244.3.7: no router port there has a network with 10.244.1.6", port},
		{journey.Cause{Kind: journey.NoOverlayPort, Node: "node1", Address: to}, "node node1 has no known port on the overlay: only its kernel knows the path to 10.244.3.7", port},
		{journey.Cause{Kind: journey.NotInOVN, Detail: "x"}, "x is not a port or node of OVN: no logical flow says what becomes of its packets", port},
		{journey.Cause{Kind: journey.WrongPort, Address: to}, "it comes out at port p1, which does not have the address 10.244.3.7", port},
		{journey.Cause{Kind: journey.LinkDown, Link: "eth0"}, "interface eth0 of port p1 is down", port},
		{journey.Cause{Kind: journey.LinkDown, Link: "eth0", Place: journey.InWorkload, Workload: journey.Pod}, "interface eth0 of the pod is down", "kubectl -n shop exec web -- ip addr show"},
		{journey.Cause{Kind: journey.WrongSource, Address: from, Other: to}, "the reply comes from 10.244.1.6, but the packet was sent to 10.244.3.7: the sender does not accept it", port},
		{journey.Cause{Kind: journey.AddressMissing, Address: to, Detail: "10.244.1.66", Place: journey.InWorkload, Workload: journey.Pod}, "the pod does not have the address 10.244.3.7 of its port; it has 10.244.1.66", "kubectl -n shop exec web -- ip addr show"},
		{journey.Cause{Kind: journey.OtherInterface, Address: to, Detail: "net1", Link: "eth0", Place: journey.InWorkload, Workload: journey.Other}, "the workload sends packets to 10.244.3.7 by interface net1, not by eth0", port},
		{journey.Cause{Kind: journey.RouteRefuses, Address: to, Detail: "blackhole", Place: journey.OnHost}, `the host's route to 10.244.3.7 is "blackhole"`, port},
		{journey.Cause{Kind: journey.NotForwarding, Node: "node1", Link: "ovn0", Detail: "net.ipv4.ip_forward", Place: journey.OnHost}, "node node1 does not forward packets that come in by ovn0: net.ipv4.ip_forward is off", port},
		{journey.Cause{Kind: journey.NotForHost, Place: journey.OnHost}, "the frame is for another host", port},
		{journey.Cause{Kind: journey.NotIP, Place: journey.OnHost}, "the packet is not IP: what the host does with it is unknown", port},
		{journey.Cause{Kind: journey.NeighbourFailed, Address: to, Link: "eth0", Place: journey.OnHost}, "nothing answers for the next hop 10.244.3.7 on eth0 (ip neighbour: failed)", port},
		{journey.Cause{Kind: journey.NeighbourUnread, Address: to, Link: "eth0", Place: journey.OnHost}, "the host does not know the MAC address of 10.244.3.7 on eth0 yet: it would ask for it first", port},

		{journey.Cause{Kind: journey.NoTunnelNode, Address: to}, "no known node has the tunnel address 10.244.3.7", port},
		{journey.Cause{Kind: journey.NoTunnelPort, Node: "node1", Other: from, Address: to}, "node node1 has no tunnel port for packets from 10.244.1.6 to 10.244.3.7", port},
		{journey.Cause{Kind: journey.NoTunnelRoute, Node: "node1", Address: to, Detail: "unreachable"}, "node node1 has no route to the tunnel address 10.244.3.7 (unreachable)", port},
		{journey.Cause{Kind: journey.NoUplink, Bridge: "br-ex", Node: "node1"}, "bridge br-ex on node1 has no uplink: it is cut off from the network outside", uplinks},
		{journey.Cause{Kind: journey.UplinkDown, Link: "eth1", Bridge: "br-ex", Node: "node1"}, "uplink eth1 of bridge br-ex on node1 is down", uplinks},
		{journey.Cause{Kind: journey.UplinkNotFound, Node: "node1"}, "node node1 has no bridge with an uplink", uplinks},
		{journey.Cause{Kind: journey.UplinkUnknown, Address: to}, "no node answers for 10.244.3.7 on the underlay, so the uplink that the packet comes in by is unknown", port},
		{journey.Cause{Kind: journey.NotBalanced, Service: "tcp 80", Address: to, Place: journey.Outside}, "no load balancer on its path takes tcp 80 for the virtual IP 10.244.3.7, and nobody outside has it", "ovnctl topology show svc:10.244.3.7"},
		{journey.Cause{Kind: journey.NotBalanced, Object: service, Service: "tcp 81", Address: to, Place: journey.Outside, Detail: "tcp 80, udp 53"}, "no load balancer on its path takes tcp 81 for the virtual IP 10.244.3.7, only tcp 80, udp 53, and nobody outside has it", "kubectl -n shop get service web"},
		{journey.Cause{Kind: journey.Isolated, Address: to, Detail: "blue/net", Place: journey.Outside}, "10.244.3.7 is port p1's on network blue/net, which no router on the packet's path leads to, and nobody outside has it", "ovnctl topology show lsp:p1"},
		{journey.Cause{Kind: journey.ReplyStrays, Address: from, Link: "eth0", Place: journey.Outside}, "the reply leaves for the network outside by eth0, not back to 10.244.1.6: its sender's gateway is another router, which has no route there", "ovnctl topology show"},
		{journey.Cause{Kind: journey.NoRouteBack, Address: from, Place: journey.Outside}, "the packet leaves with the private address 10.244.1.6, which nothing translates: no reply comes back from outside", "ovn-nbctl lr-nat-list r1"},
		{journey.Cause{Kind: journey.RouteBackUnsure, Address: from, Place: journey.Outside}, "the packet leaves with the private address 10.244.1.6, which nothing translates: whether the network outside has a route back is unknown", "ovn-nbctl lr-nat-list r1"},
		{journey.Cause{Kind: journey.NobodyAnswers, Address: to, Place: journey.Outside}, "nothing answers for 10.244.3.7 on the underlay", "ovnctl topology show"},
		{journey.Cause{Kind: journey.NoRouteIn, Address: to, Place: journey.Outside}, "nothing answers for 10.244.3.7 on the underlay, and the network outside has no route to a private address", "ovnctl topology show"},

		{journey.Cause{Kind: journey.VLANMismatch, Link: "eth0", Bridge: "br-ex", Node: "node1", Detail: "100"}, "port eth0 of bridge br-ex on node1 is in VLAN 100, and the packet is not", "ovs-vsctl list Port eth0  # on node1"},
		{journey.Cause{Kind: journey.VLANUnknown, Link: "br-ex", Node: "node1", Detail: "100"}, "the packet comes in with the tag of VLAN 100, which br-ex on node1 has no interface for", "ip -d link show br-ex  # on node1"},
		{journey.Cause{Kind: journey.LeavesInVLAN, Link: "eth0", Bridge: "br-ex", Node: "node1", Address: to, Detail: "100", Service: "0"}, "it leaves by eth0 on node1 with the tag of VLAN 100, but its next hop 10.244.3.7 is in VLAN 0", "ip neigh show to 10.244.3.7 dev br-ex  # on node1"},
		{journey.Cause{Kind: journey.RoutedOutside, Place: journey.Outside, Datapath: "GR_node1", Address: from}, "router GR_node1 sends packets for 10.244.1.6 to the network outside: it has no route to the pods", "ovn-nbctl lr-route-list GR_node1"},
		{journey.Cause{Kind: journey.NoMapping, Node: "node1", Detail: "physnet"}, "node node1 has no bridge for the physical network physnet of port p1", "ovs-vsctl get Open_vSwitch . external_ids:ovn-bridge-mappings  # on node1"},
		{journey.Cause{Kind: journey.BondDown, Link: "bond0", Bridge: "br-ex", Node: "node1", Detail: "lacp_status: negotiated"}, "no member of bond bond0 of bridge br-ex on node1 is enabled: lacp_status: negotiated", "ovs-appctl bond/show bond0  # on node1"},
		{journey.Cause{Kind: journey.PortBlocked, Link: "eth0", Bridge: "br-ex", Node: "node1", Detail: "NO_RECV"}, "port eth0 of bridge br-ex on node1 does not pass packets: NO_RECV", "ovs-ofctl show br-ex  # on node1"},
		{journey.Cause{Kind: journey.TunnelNotTaken, Bridge: "br-ex", Node: "node1", Address: to}, "Open vSwitch on node1 takes no tunnel packets for 10.244.3.7 on bridge br-ex", "ovs-appctl tnl/ports/show -v  # on node1"},
		{journey.Cause{Kind: journey.WrongNeighbour, Place: journey.OnHost, Address: to, MAC: "0a:00:00:00:00:01", Detail: "0a:00:00:00:00:02"}, "the host sends packets for 10.244.3.7 to 0a:00:00:00:00:01, but it is at 0a:00:00:00:00:02", "ip neighbour show 10.244.3.7  # on node1"},
		{journey.Cause{Kind: journey.WrongNeighbour, Address: to, MAC: "0a:00:00:00:00:01", Detail: "0a:00:00:00:00:02"}, "the router sends packets for 10.244.3.7 to 0a:00:00:00:00:01, but it is at 0a:00:00:00:00:02", "ovn-sbctl list MAC_Binding"},
		{journey.Cause{Kind: journey.MirrorOutput, Link: "eth0", Bridge: "br-ex", Node: "node1", Detail: "m"}, "port eth0 of bridge br-ex on node1 is the output of mirror m, and passes nothing else", "ovs-vsctl list Mirror m  # on node1"},
		{journey.Cause{Kind: journey.ZoneFull, Node: "node1", Detail: "ct zone 3, the zone of p1,"}, "ct zone 3, the zone of p1, on node1 has reached its limit: it takes no new connections", "ovs-appctl dpctl/ct-get-limits  # on node1"},
		{journey.Cause{Kind: journey.TableFull, Node: "node1"}, "the conntrack table of node1 is full: it takes no new connections", "ovnctl doctor node:node1  # on node1"},
		{journey.Cause{Kind: journey.OwnAddress, Node: "node1", Address: to, Chassis: "node2"}, "node node1 itself has 10.244.3.7, the tunnel address of node2", "ip addr show to 10.244.3.7  # on node1"},
		{journey.Cause{Kind: journey.GatewaySilent, Node: "node1", Address: from, Other: to}, "node node1 sends packets for 10.244.3.7 to 10.244.1.6, which does not answer", "ip route get 10.244.3.7  # on node1"},
		{journey.Cause{Kind: journey.NoAnswer, Chassis: "node1", Address: to, Detail: "arp off, interface br-ex on node2"}, "node node1 asks for the MAC address of 10.244.3.7, and gets no answer: arp off, interface br-ex on node2", "ip neigh show to 10.244.3.7  # on node1"},
		{journey.Cause{Kind: journey.TunnelOptions, Node: "node1", Link: "ovn-1-0", Detail: "key=77"}, "tunnel ovn-1-0 on node1 has key=77, and its other end does not", "ovs-vsctl list Interface ovn-1-0  # on node1"},
		{journey.Cause{Kind: journey.NoARP, Place: journey.InWorkload, Workload: journey.Pod, Link: "eth0", Address: to}, "interface eth0 of the pod asks for no MAC addresses (arp off), and does not know that of 10.244.3.7", "kubectl -n shop exec web -- ip addr show"},
		{journey.Cause{Kind: journey.EchoIgnored, Place: journey.InWorkload, Workload: journey.Pod, Detail: "net.ipv4.icmp_echo_ignore_all"}, "the pod answers no ping: net.ipv4.icmp_echo_ignore_all", "kubectl -n shop exec web -- sysctl net.ipv4.icmp_echo_ignore_all"},
		{journey.Cause{Kind: journey.TTLRanOut, Detail: "it begins with 1, by net.ipv4.ip_default_ttl of shop/web"}, "its TTL has run out: it begins with 1, by net.ipv4.ip_default_ttl of shop/web", "ovnctl topology show lsp:p1"},
		{journey.Cause{Kind: journey.SameMAC, Node: "node1", Chassis: "node2", MAC: "0a:00:00:00:00:01"}, "nodes node1 and node2 have the same MAC address 0a:00:00:00:00:01 on the underlay", "ip link show  # on node1"},
		{journey.Cause{Kind: journey.Filtered, Place: journey.InWorkload, Workload: journey.Pod, Detail: "ip f in: policy drop"}, "the pod's packet filter drops it: ip f in: policy drop", "kubectl -n shop exec web -- nft list ruleset"},
		{journey.Cause{Kind: journey.IPsecBlocks, Place: journey.OnHost, Detail: "dir out dst 10.0.0.0/8"}, "an IPsec policy of the host blocks it: dir out dst 10.0.0.0/8", "ip xfrm policy  # on node1"},
		{journey.Cause{Kind: journey.IPsecLacks, Place: journey.InWorkload, Workload: journey.Pod, Detail: "dir out dst 10.0.0.0/8"}, "an IPsec policy of the pod has it encrypted, but there is no association for that: dir out dst 10.0.0.0/8", "kubectl -n shop exec web -- ip xfrm state list nokeys"},
		{journey.Cause{Kind: journey.Filtered, Place: journey.OnHost, Detail: "ip f in: policy drop"}, "the host's packet filter drops it: ip f in: policy drop", "nft list ruleset  # on node1"},
		{journey.Cause{Kind: journey.NobodyListens, Place: journey.InWorkload, Workload: journey.Pod, Service: "tcp 80", Address: to}, "nothing in the pod listens on tcp 80 at 10.244.3.7", "kubectl -n shop exec web -- ss -lntu"},
		{journey.Cause{Kind: journey.NobodyBehind, Place: journey.InWorkload, Workload: journey.Pod, Service: "tcp 10.244.3.7:15006", Detail: "ip nat pre: redirect to :15006"}, "the pod's packet filter leads it to tcp 10.244.3.7:15006, on which nothing there listens: ip nat pre: redirect to :15006", "kubectl -n shop exec web -- ss -lntu"},
		{journey.Cause{Kind: journey.SentElsewhere, Place: journey.InWorkload, Workload: journey.Pod, Service: "10.9.0.1:80", Detail: "ip nat out: dnat to 10.9.0.1:80"}, "the pod's packet filter sends it to 10.9.0.1:80 instead: ip nat out: dnat to 10.9.0.1:80", "kubectl -n shop exec web -- nft list ruleset"},
		{journey.Cause{Kind: journey.OtherSource, Place: journey.InWorkload, Workload: journey.Pod, Address: to, Other: from}, "the pod's route to 10.244.3.7 has the source 10.244.1.6, which port security does not let pass", "kubectl -n shop exec web -- ip route show"},
		{journey.Cause{Kind: journey.OtherSourceNAT, Place: journey.InWorkload, Workload: journey.Pod, Other: from, Detail: "ip nat post: snat to 10.244.1.6"}, "the pod's packet filter makes 10.244.1.6 the source, which port security does not let pass: ip nat post: snat to 10.244.1.6", "kubectl -n shop exec web -- nft list ruleset"},
		{journey.Cause{Kind: journey.QueueDrops, Link: "eth0", Detail: "tbf, which passes at most 10 B"}, "the traffic control of eth0 drops it: tbf, which passes at most 10 B", "tc -s qdisc show dev eth0  # on node1"},
		{journey.Cause{Kind: journey.NoChecksum, Link: "eth0", Detail: "TCP"}, "what p1 sends has no TCP checksum: its kernel leaves that to eth0 (tx-checksumming is on), and Open vSwitch in userspace adds none", "ethtool -K eth0 tx off  # in the network namespace of p1"},
		{journey.Cause{Kind: journey.NobodyAccepts, Place: journey.InWorkload, Workload: journey.Pod, Service: "tcp 8080"}, "what listens in the pod on tcp 8080 accepts nothing: its queue of new connections is full", "kubectl -n shop exec web -- ss -lnt"},
		{journey.Cause{Kind: journey.NoSuchGateway, Place: journey.InWorkload, Workload: journey.Pod, Address: to}, "the pod has a route by the gateway 10.244.3.7, which nothing on its switch has", "kubectl -n shop exec web -- ip route show"},
		{journey.Cause{Kind: journey.NotOnLink, Place: journey.InWorkload, Workload: journey.Pod, Address: to, Detail: "its address is 10.244.1.6/16"}, "the pod takes 10.244.3.7 for a neighbour (its address is 10.244.1.6/16), but it is not on its switch", "kubectl -n shop exec web -- ip addr show"},
		{journey.Cause{Kind: journey.OtherWorkload, Link: "veth1", Node: "node1", Detail: "shop/client"}, "interface veth1 on node1 carries port p1, but what is attached to it is shop/client", "ovs-vsctl list Interface veth1  # on node1"},
		{journey.Cause{Kind: journey.OtherMAC, Place: journey.InWorkload, Workload: journey.Pod, MAC: "0a:00:00:00:00:01", Detail: "0a:00:00:00:00:02"}, "the pod has the MAC address 0a:00:00:00:00:01, not 0a:00:00:00:00:02 of its port", "kubectl -n shop exec web -- ip addr show"},
		{journey.Cause{Kind: journey.SourceHeld, Place: journey.InWorkload, Workload: journey.Pod, Address: from}, "the pod itself has 10.244.1.6, from which it comes: its kernel takes no such packet", "kubectl -n shop exec web -- ip addr show"},
		{journey.Cause{Kind: journey.OverRate, Object: rule, Detail: "burst 1 kilobits"}, "it is larger than QoS rule, if ip lets pass at once: burst 1 kilobits", "ovn-nbctl list QoS 0badcafe-7"},
		{journey.Cause{Kind: journey.LinkTooSmall, Link: "eth0", Node: "node1", Detail: "1558 of 1500"}, "it is larger than eth0 on node1 lets pass: 1558 of 1500 bytes", "ip -d link show eth0  # on node1"},
		{journey.Cause{Kind: journey.ManagementDown, Link: "ovn-k8s-mp0", Node: "node1", Address: to}, "interface ovn-k8s-mp0 of node node1, by which the host reaches 10.244.3.7, is down", "ip -d link show ovn-k8s-mp0  # on node1"},

		{journey.Cause{Kind: journey.NodeUnread, Node: "node1", Detail: "cannot read node node1: exit status 255"}, "cannot read node node1: exit status 255", again},
		{journey.Cause{Kind: journey.NodeNotFound, Detail: "node9"}, "node not found: node9", port},
		{journey.Cause{Kind: journey.ChassisUnreachable, Chassis: "c2"}, "chassis c2, which holds port p1, is unreachable: give --via ssh or --node-exec 'PREFIX {hostname}'", again},
		{journey.Cause{Kind: journey.VswitchdSilent, Node: "node1", Detail: "ovs-vswitchd did not reply in 5s"}, "ovs-vswitchd did not reply in 5s", daemon},
		{journey.Cause{Kind: journey.NotRecorded, Node: "node1"}, "the capture does not have what ovs-vswitchd on node1 does with it: trace the same packet live with --record", again + " --record DIR"},
		{journey.Cause{Kind: journey.HostUnread, Detail: "permission denied", Place: journey.OnHost}, "the host's network could not be read: permission denied", port},
		{journey.Cause{Kind: journey.SourceUnread, Detail: "connection refused"}, "connection refused", port},
		{journey.Cause{Kind: journey.LogicalUnread, Detail: "connection refused"}, "the logical flows could not be read: connection refused", remote},
		{journey.Cause{Kind: journey.FlowsUnread}, "the Southbound could not be read, so the logical flows of port p1 are unknown", remote},
		{journey.Cause{Kind: journey.ZoneUnread}, "it goes on to port p1 of the transit switch in another zone, whose Southbound was not read", remote},
		{journey.Cause{Kind: journey.ChassisUnread}, "the Southbound could not be read, so the chassis of port p1 is unknown", remote},
		{journey.Cause{Kind: journey.ChassisUnknown, Detail: "no Port_Binding"}, "the chassis of port p1 is unknown: no Port_Binding", port},
		{journey.Cause{Kind: journey.ParentNotFound, Detail: "p0"}, "parent port not found: p0, of port p1", port},
		{journey.Cause{Kind: journey.MACUnread}, "the MAC address of port p1 is unknown", port},
	}
	p1 := &topology.Port{Name: "p1", Kind: topology.SwitchPort, Pod: "shop/web"}
	ask := journey.Request{From: journey.Endpoint{Text: "a"}, To: journey.Endpoint{Text: "b"}, Protocol: "tcp", Port: 80}
	seen := map[string]bool{}
	for _, test := range tests {
		c := test.c
		c.Port = "p1"
		seen[string(c.Kind)] = true
		if got := cause.Words(c); got != test.words {
			t.Errorf("%s:\n%q, want\n%q", c.Kind, got, test.words)
		}
		v := journey.Verdict{Outcome: journey.Dropped, Node: "node1", Datapath: "r1", Port: "p1", Object: c.Object, Because: c}
		if got := nextCommand(ask, v, p1, false); got != test.next {
			t.Errorf("%s: next %q, want %q", c.Kind, got, test.next)
		}
	}
	for _, kind := range causeKinds(t) {
		if !seen[kind] {
			t.Errorf("%s is not in the table", kind)
		}
	}
	if got := nextCommand(ask, journey.Verdict{Node: "node1", Because: journey.Cause{Kind: journey.NodeUnread}}, nil, true); got != node {
		t.Errorf("offline: %q, want %q", got, node)
	}
}

// causeKinds reads the kinds off their declaration.
func causeKinds(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../journey/cause.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if name, typed := typeName(spec); ok && typed && name == "CauseKind" {
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			kinds = append(kinds, text)
		}
		return true
	})
	return kinds
}

func typeName(spec *ast.ValueSpec) (string, bool) {
	if spec == nil {
		return "", false
	}
	id, ok := spec.Type.(*ast.Ident)
	if !ok {
		return "", false
	}
	return id.Name, true
}
