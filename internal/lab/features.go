package lab

import (
	"fmt"
	"strings"
)

// Features is [OpenStack] plus switches and routers for what Neutron does not write, so that every pipeline stage is
// used: tiers, stateless and logged ACLs, load balancers of all kinds, ECMP, routing policies, gateway routers,
// multicast, port security in all forms. What a release lacks is left out. The added ports are not bound: they exist
// for their logical flows.
func Features() Topology {
	t, nb := openStack()
	t.Name = "features"
	script(nb, roomACL)
	script(nb, roomPorts)
	script(nb, roomMulticast)
	script(nb, strings.NewReplacer("NODE1", t.Nodes[0].SystemID, "NODE2", t.Nodes[1].SystemID).Replace(roomGateway))
	script(nb, roomBalance)
	script(nb, roomRoutes)
	nb.add("lrp-set-gateway-chassis %s %s 1", osRouterPort("provider"), t.Nodes[1].SystemID)
	nb.add("static-mac-binding-add %s 172.30.0.77 00:00:5e:00:53:77", osRouterPort("provider"))
	nb.add("lr-policy-add %s 900 'ip4.src == 10.1.1.0/24 && ip4.dst == 198.51.100.0/24' reroute 172.30.0.1", osEdge())
	nb.add("lr-policy-add %s 800 'ip4.dst == 192.0.2.66' drop", osEdge())
	nb.add("lr-policy-add %s 700 'ip6.dst == 2001:db8:99::/48' reroute fd00:172:30::1,fd00:172:30::2", osEdge())
	nb.add("lr-policy-add %s 600 'ip4.dst == 198.18.0.0/15' reroute 10.1.1.11,10.1.1.12,10.1.2.11", osEdge())
	nb.add("lr-policy-add %s 500 'ip4.src == 10.1.2.12' allow pkt_mark=100", osEdge())
	nb.add("--bfd lr-route-add %s 10.60.0.0/16 172.30.0.1 %s", osEdge(), osRouterPort("provider"))
	nb.add("--route-table=blue lr-route-add %s 10.61.0.0/16 10.1.1.11", osEdge())
	nb.add("set Logical_Router %s load_balancer=@lbtcp,@lbudp,@lbsctp,@lbany,@lbempty", osEdge())
	nb.add("set Logical_Switch %s load_balancer=@lbtcp,@lbudp,@lbany,@lbempty,@lbevent,@lbaffinity", osSwitch("private"))
	nb.add("set Logical_Switch %s other_config:mcast_idle_timeout=3600", osSwitch("private"))
	nb.add("set NB_Global . options:acl_ct_translation=true")
	t.Northbound = nb.commands
	t.Newer = roomsNewer(t)
	return t
}

// script adds the command on each line; empty lines and # comments are ignored.
func script(nb *northbound, lines string) {
	for line := range strings.Lines(lines) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			nb.commands = append(nb.commands, words(line))
		}
	}
}

// roomACL is a switch with stateful ACLs of all verdicts, logged and labelled, before and after load balancing, and one
// without tracking.
const roomACL = `
ls-add acl
lsp-add acl acl-a -- lsp-set-addresses acl-a '00:00:00:02:01:0a 10.2.1.10 fd00:10:2:1::a' -- lsp-set-port-security acl-a '00:00:00:02:01:0a 10.2.1.10 fd00:10:2:1::a'
lsp-add acl acl-b -- lsp-set-addresses acl-b '00:00:00:02:01:0b 10.2.1.11 fd00:10:2:1::b'
lsp-add acl acl-c -- lsp-set-addresses acl-c '00:00:00:02:01:0c 10.2.1.12'
meter-add acl-log drop 20 pktps 40
--log --severity=alert --name=no-telnet --meter=acl-log acl-add acl to-lport 3000 'tcp.dst == 23' reject
--log --severity=info --name=web acl-add acl to-lport 2900 'tcp.dst == {80, 443} && ip4.src != 10.2.1.12' allow-related
--label=1234 acl-add acl from-lport 2800 'udp.dst == 53' allow-related
acl-add acl from-lport 2700 'inport == "acl-c" && udp.dst == {137, 138, 139}' reject
--apply-after-lb acl-add acl from-lport 2600 'ip4.dst == 10.2.1.11 && tcp.dst == 8443' drop
--apply-after-lb --log --name=late acl-add acl from-lport 2500 'ip6.dst == fd00:10:2:1::b && sctp' reject
acl-add acl to-lport 2400 'ip4 && icmp4.type == 8 && icmp4.code == 0' allow
acl-add acl to-lport 2300 'outport == "acl-a" && ip6 && icmp6' allow-related
acl-add acl to-lport 1000 'outport == "acl-b" && ip' drop
ls-add stateless
lsp-add stateless less-a -- lsp-set-addresses less-a '00:00:00:02:02:0a 10.2.2.10 fd00:10:2:2::a'
lsp-add stateless less-b -- lsp-set-addresses less-b '00:00:00:02:02:0b 10.2.2.11 fd00:10:2:2::b'
acl-add stateless from-lport 2000 'inport == "less-a" && tcp' allow-stateless
acl-add stateless to-lport 2000 'outport == "less-a" && tcp' allow-stateless
acl-add stateless from-lport 1000 'ip4 && udp' allow-related
acl-add stateless to-lport 1000 'eth.type == 0x88cc || vlan.present' drop
ls-add plain-acl
lsp-add plain-acl plain-a -- lsp-set-addresses plain-a '00:00:00:02:03:0a 10.2.3.10'
lsp-add plain-acl plain-b -- lsp-set-addresses plain-b '00:00:00:02:03:0b 10.2.3.11'
acl-add plain-acl from-lport 100 'arp.spa == 10.2.3.10 && arp.op == 2' drop
acl-add plain-acl to-lport 100 'ip.frag == 1 || ip.is_frag' drop
acl-add plain-acl to-lport 99 'ip4.src == {10.2.3.10, 10.2.9.0/24} && (tcp.flags == 2 || udp.src == 53) && ip.dscp == 10' allow
acl-add plain-acl to-lport 98 'eth.src == 00:00:00:02:03:00/ff:ff:ff:ff:ff:00 && ip4' allow`

// roomPorts is a switch with every kind of port and of port security.
const roomPorts = `
ls-add ports -- set Logical_Switch ports other_config:subnet=10.2.4.0/24 other_config:ipv6_prefix=fd00:10:2:4:: other_config:exclude_ips=10.2.4.1..10.2.4.100
lsp-add ports p-mac -- lsp-set-addresses p-mac '00:00:00:02:04:0a 10.2.4.10 fd00:10:2:4::a' -- lsp-set-port-security p-mac 00:00:00:02:04:0a
lsp-add ports p-v4 -- lsp-set-addresses p-v4 '00:00:00:02:04:0b 10.2.4.11' -- lsp-set-port-security p-v4 '00:00:00:02:04:0b 10.2.4.11'
lsp-add ports p-v6 -- lsp-set-addresses p-v6 '00:00:00:02:04:0c fd00:10:2:4::c' -- lsp-set-port-security p-v6 '00:00:00:02:04:0c fd00:10:2:4::c'
lsp-add ports p-net -- lsp-set-addresses p-net '00:00:00:02:04:0d 10.2.4.13 fd00:10:2:4::d' -- lsp-set-port-security p-net '00:00:00:02:04:0d 10.2.4.13/24 10.2.5.0/24 fd00:10:2:4::d/64'
lsp-add ports p-many -- lsp-set-addresses p-many '00:00:00:02:04:0e 10.2.4.14' '00:00:00:02:04:1e 10.2.4.15 fd00:10:2:4::e' -- lsp-set-port-security p-many '00:00:00:02:04:0e 10.2.4.14' '00:00:00:02:04:0e 10.2.4.140' '00:00:00:02:04:1e 10.2.4.15 fd00:10:2:4::e' 00:00:00:02:04:2e
lsp-add ports p-off -- lsp-set-addresses p-off '00:00:00:02:04:0f 10.2.4.16' -- lsp-set-enabled p-off disabled
lsp-add ports p-unknown -- lsp-set-addresses p-unknown unknown
lsp-add ports p-unknown2 -- lsp-set-addresses p-unknown2 '00:00:00:02:04:11 10.2.4.17' unknown
lsp-add ports p-secure-unknown -- lsp-set-addresses p-secure-unknown unknown -- lsp-set-port-security p-secure-unknown 00:00:00:02:04:12
lsp-add ports p-dynamic -- lsp-set-addresses p-dynamic '00:00:00:02:04:13 dynamic'
lsp-add ports p-child p-mac 42 -- lsp-set-addresses p-child '00:00:00:02:04:14 10.2.4.20' -- lsp-set-port-security p-child '00:00:00:02:04:14 10.2.4.20'
lsp-add ports p-vip -- lsp-set-type p-vip virtual -- lsp-set-addresses p-vip '00:00:00:02:04:15 10.2.4.21' -- lsp-set-options p-vip virtual-ip=10.2.4.21 virtual-parents=p-v4,p-mac
lsp-add ports p-external -- lsp-set-type p-external external -- lsp-set-addresses p-external '00:00:00:02:04:16 10.2.4.22 fd00:10:2:4::16'
--id=@external create HA_Chassis_Group name=external
set Logical_Switch_Port p-external ha_chassis_group=@external
lsp-add ports p-l2 -- lsp-set-type p-l2 l2gateway -- lsp-set-addresses p-l2 unknown -- lsp-set-options p-l2 network_name=physl2 l2gateway-chassis=nowhere
lsp-add ports p-vtep -- lsp-set-type p-vtep vtep -- lsp-set-addresses p-vtep unknown -- lsp-set-options p-vtep vtep-physical-switch=tor vtep-logical-switch=ports
lsp-add ports p-local -- lsp-set-type p-local localport -- lsp-set-addresses p-local '00:00:00:02:04:17 10.2.4.2 fd00:10:2:4::2'
lsp-add ports p-noip -- lsp-set-addresses p-noip 00:00:00:02:04:18
--id=@dhcp4ports create DHCP_Options cidr=10.2.4.0/24 options:server_id=10.2.4.1 options:server_mac=00:00:00:02:04:fe options:lease_time=3600 options:router=10.2.4.1 options:ntp_server=10.2.4.1 options:bootfile_name='"\"boot\""' options:tftp_server_address=10.2.4.3
--id=@dhcp6ports create DHCP_Options cidr='"fd00:10:2:4::/64"' options:server_id='"00:00:00:02:04:fe"' options:domain_search='"\"example.org\""'
set Logical_Switch_Port p-v4 dhcpv4_options=@dhcp4ports
set Logical_Switch_Port p-mac dhcpv4_options=@dhcp4ports dhcpv6_options=@dhcp6ports
set Logical_Switch_Port p-external dhcpv4_options=@dhcp4ports
fwd-group-add fwd ports 10.2.4.30 00:00:00:02:04:30 p-mac p-v4
lsp-add ports ports-net -- lsp-set-type ports-net localnet -- lsp-set-addresses ports-net unknown -- lsp-set-options ports-net network_name=physvlan localnet_learn_fdb=true -- set Logical_Switch_Port ports-net tag_request=100 tag=100
qos-add ports from-lport 10 'ip4.dst == 10.2.4.0/24' dscp=46 rate=1000
qos-add ports to-lport 10 'udp.src == 53' dscp=8
mirror-add span gre 7 from-lport 10.9.9.9
lsp-attach-mirror p-v4 span
--id=@copp create Copp name=copp meters:arp=acl-log meters:icmp4-error=acl-log meters:reject=acl-log meters:dhcpv4-opts=acl-log meters:dns=acl-log meters:event-elb=acl-log
set Logical_Switch ports copp=@copp
ls-add vlans -- set Logical_Switch vlans other_config:vlan-passthru=true other_config:fdb_age_threshold=0
lsp-add vlans v-a -- lsp-set-addresses v-a unknown
lsp-add vlans v-b -- lsp-set-addresses v-b '00:00:00:02:05:0b 10.2.5.11'
lsp-add vlans v-net -- lsp-set-type v-net localnet -- lsp-set-addresses v-net unknown -- lsp-set-options v-net network_name=physvlans`

// roomMulticast is one switch with snooping and one without, behind a relaying router.
const roomMulticast = `
lr-add relay -- set Logical_Router relay options:mcast_relay=true
ls-add snoop -- set Logical_Switch snoop other_config:mcast_snoop=true other_config:mcast_querier=true other_config:mcast_eth_src=00:00:00:02:06:fe other_config:mcast_ip4_src=10.2.6.254 other_config:mcast_ip6_src=fe80::fe
lsp-add snoop sn-a -- lsp-set-addresses sn-a '00:00:00:02:06:0a 10.2.6.10 fd00:10:2:6::a'
lsp-add snoop sn-b -- lsp-set-addresses sn-b '00:00:00:02:06:0b 10.2.6.11 fd00:10:2:6::b' -- lsp-set-options sn-b mcast_flood=true
lsp-add snoop sn-c -- lsp-set-addresses sn-c '00:00:00:02:06:0c 10.2.6.12' -- lsp-set-options sn-c mcast_flood_reports=true
lsp-add snoop sn-r -- lsp-set-type sn-r router -- lsp-set-addresses sn-r router -- lsp-set-options sn-r router-port=rel-snoop mcast_flood=true
lrp-add relay rel-snoop 00:00:00:02:06:01 10.2.6.1/24 fd00:10:2:6::1/64 -- lrp-set-options rel-snoop mcast_flood=false
ls-add flood -- set Logical_Switch flood other_config:mcast_snoop=true other_config:mcast_flood_unregistered=true other_config:mcast_querier=false
lsp-add flood fl-a -- lsp-set-addresses fl-a '00:00:00:02:07:0a 10.2.7.10 fd00:10:2:7::a'
lsp-add flood fl-b -- lsp-set-addresses fl-b '00:00:00:02:07:0b 10.2.7.11'
lsp-add flood fl-r -- lsp-set-type fl-r router -- lsp-set-addresses fl-r router -- lsp-set-options fl-r router-port=rel-flood
lrp-add relay rel-flood 00:00:00:02:07:01 10.2.7.1/24 fd00:10:2:7::1/64 -- lrp-set-options rel-flood mcast_flood=true
set Logical_Router_Port rel-flood ipv6_ra_configs:address_mode=slaac ipv6_ra_configs:send_periodic=false ipv6_ra_configs:router_preference=HIGH ipv6_ra_configs:dnssl=example.org ipv6_ra_configs:rdnss='"2001:db8:113::53"'
set Logical_Router_Port rel-snoop ipv6_ra_configs:address_mode=dhcpv6_stateless ipv6_ra_configs:mtu=1300`

// roomGateway has gateway routers between their own switch and the outside: NAT of all kinds, with forced SNAT.
const roomGateway = `
ls-add inside
lsp-add inside in-a -- lsp-set-addresses in-a '00:00:00:02:08:0a 10.2.8.10 fd00:10:2:8::a'
lsp-add inside in-b -- lsp-set-addresses in-b '00:00:00:02:08:0b 10.2.8.11 fd00:10:2:8::b'
lsp-add inside in-r -- lsp-set-type in-r router -- lsp-set-addresses in-r router -- lsp-set-options in-r router-port=mid-inside arp_proxy='10.2.8.100 10.2.8.128/25 fd00:10:2:8::100'
lr-add middle
lrp-add middle mid-inside 00:00:00:02:08:01 10.2.8.1/24 fd00:10:2:8::1/64
ls-add transit
lrp-add middle mid-transit 00:00:00:02:09:01 100.65.0.1/24 fd65::1/64
lsp-add transit tr-middle -- lsp-set-type tr-middle router -- lsp-set-addresses tr-middle router -- lsp-set-options tr-middle router-port=mid-transit
lr-add gate1 -- set Logical_Router gate1 options:chassis=NODE1 options:lb_force_snat_ip=router_ip options:dnat_force_snat_ip='100.65.0.2 fd65::2' options:dynamic_neigh_routers=true
lrp-add gate1 g1-transit 00:00:00:02:09:02 100.65.0.2/24 fd65::2/64
lsp-add transit tr-gate1 -- lsp-set-type tr-gate1 router -- lsp-set-addresses tr-gate1 router -- lsp-set-options tr-gate1 router-port=g1-transit
lr-add gate2 -- set Logical_Router gate2 options:chassis=NODE2 options:lb_force_snat_ip='100.65.0.3 fd65::3' options:always_learn_from_arp_request=true
lrp-add gate2 g2-transit 00:00:00:02:09:03 100.65.0.3/24 fd65::3/64
lsp-add transit tr-gate2 -- lsp-set-type tr-gate2 router -- lsp-set-addresses tr-gate2 router -- lsp-set-options tr-gate2 router-port=g2-transit
ls-add outside
lsp-add outside out-net -- lsp-set-type out-net localnet -- lsp-set-addresses out-net unknown -- lsp-set-options out-net network_name=physoutside
lsp-add outside out-a -- lsp-set-addresses out-a '00:00:00:02:0a:0a 198.18.1.10 2001:db8:a::a'
lrp-add gate1 g1-out 00:00:00:02:0a:02 198.18.1.2/24 2001:db8:a::2/64 -- lrp-set-options g1-out gateway_mtu=1500
lsp-add outside out-g1 -- lsp-set-type out-g1 router -- lsp-set-addresses out-g1 router -- lsp-set-options out-g1 router-port=g1-out
lrp-add gate2 g2-out 00:00:00:02:0a:03 198.18.1.3/24 2001:db8:a::3/64
lsp-add outside out-g2 -- lsp-set-type out-g2 router -- lsp-set-addresses out-g2 router -- lsp-set-options out-g2 router-port=g2-out
--ecmp lr-route-add middle 0.0.0.0/0 100.65.0.2
--ecmp lr-route-add middle 0.0.0.0/0 100.65.0.3
--ecmp lr-route-add middle ::/0 fd65::2
--ecmp lr-route-add middle ::/0 fd65::3
lr-route-add gate1 10.2.0.0/16 100.65.0.1
lr-route-add gate1 fd00:10:2::/48 fd65::1
lr-route-add gate2 10.2.0.0/16 100.65.0.1
lr-route-add gate2 fd00:10:2::/48 fd65::1
--ecmp-symmetric-reply lr-route-add gate1 203.0.113.0/24 198.18.1.4 g1-out
--ecmp-symmetric-reply lr-route-add gate1 203.0.113.0/24 198.18.1.5 g1-out
--ecmp-symmetric-reply lr-route-add gate1 2001:db8:113::/48 2001:db8:a::4 g1-out
--ecmp-symmetric-reply lr-route-add gate1 2001:db8:113::/48 2001:db8:a::5 g1-out
lr-route-add gate2 203.0.113.0/24 198.18.1.4
lr-route-add gate2 192.0.2.0/24 discard
--policy=src-ip lr-route-add middle 10.2.8.11/32 100.65.0.2
static-mac-binding-add g1-out 198.18.1.4 00:00:5e:00:53:04
static-mac-binding-add g1-out 198.18.1.5 00:00:5e:00:53:05
static-mac-binding-add g1-out 2001:db8:a::4 00:00:5e:00:53:04
lr-nat-add gate1 snat 198.18.1.2 10.2.8.0/24
lr-nat-add gate1 snat 2001:db8:a::2 fd00:10:2:8::/64
lr-nat-add gate1 dnat 198.18.1.20 10.2.8.10
lr-nat-add gate1 dnat_and_snat 198.18.1.21 10.2.8.11
lr-nat-add gate1 dnat_and_snat 2001:db8:a::21 fd00:10:2:8::b
--stateless lr-nat-add gate2 dnat_and_snat 198.18.1.31 10.2.8.11
--portrange lr-nat-add gate2 snat 198.18.1.3 10.2.8.0/24 1024-2047
--portrange lr-nat-add gate2 dnat_and_snat 198.18.1.32 10.2.8.10 3000-4000
lr-nat-add gate2 dnat 2001:db8:a::33 fd00:10:2:8::a
--id=@allowed create Address_Set name=allowed addresses=203.0.113.0/28
--id=@exempt create Address_Set name=exempt addresses=203.0.113.64/26
--id=@natallowed create NAT type=snat external_ip=198.18.1.34 logical_ip=10.2.8.32/28 allowed_ext_ips=@allowed
--id=@natexempt create NAT type=snat external_ip=198.18.1.35 logical_ip=10.2.8.64/28 exempted_ext_ips=@exempt
add Logical_Router gate2 nat @natallowed
add Logical_Router gate2 nat @natexempt
lr-policy-add gate1 50 'ip4.src == 10.2.8.99' reroute 198.18.1.4
set Logical_Router gate1 copp=@copp
set Logical_Router gate1 load_balancer=@lbtcp,@lbskip,@lbempty,@lbaffinity
set Logical_Router gate2 load_balancer=@lbtcp,@lbudp,@lbany,@lbtemplate
lr-add peer-a
lr-add peer-b
lrp-add peer-a pa-pb 00:00:00:02:0b:01 169.254.1.1/30 fd00:b::1/64 peer=pb-pa
lrp-add peer-b pb-pa 00:00:00:02:0b:02 169.254.1.2/30 fd00:b::2/64 peer=pa-pb
lr-route-add peer-a 10.70.0.0/16 169.254.1.2
ls-add peers
lrp-add peer-a pa-net 00:00:00:02:0b:11 10.2.11.1/24
lsp-add peers pe-r -- lsp-set-type pe-r router -- lsp-set-addresses pe-r router -- lsp-set-options pe-r router-port=pa-net
lsp-add peers pe-a -- lsp-set-addresses pe-a '00:00:00:02:0b:0a 10.2.11.10'`

// roomBalance has load balancers: every protocol, with and without backends, hairpin, affinity, templates, distributed.
const roomBalance = `
--id=@lbtcp create Load_Balancer name=tcp protocol=tcp options:hairpin_snat_ip='"10.99.0.1 fd00:99::1"' vips:'"10.10.0.10:80"'='"10.1.1.11:8080,10.1.1.12:8080"' vips:'"[fd00:10:10::10]:80"'='"[fd00:10:1:1::b]:8080,[fd00:10:1:1::c]:8080"' vips:'"10.10.0.10:443"'='"10.1.1.11:8443"'
--id=@lbudp create Load_Balancer name=udp protocol=udp selection_fields=ip_src,ip_dst vips:'"10.10.0.10:53"'='"10.1.1.11:5353,10.1.2.11:5353"' vips:'"172.30.0.123:53"'='"10.1.1.12:53"'
--id=@lbsctp create Load_Balancer name=sctp protocol=sctp vips:'"10.10.0.11:3868"'='"10.1.1.11:3868"'
--id=@lbany create Load_Balancer name=any vips:10.10.0.20='"10.1.1.11,10.1.1.12"' vips:'"fd00:10:10::20"'='"fd00:10:1:1::b"'
--id=@lbempty create Load_Balancer name=empty protocol=tcp options:reject=true vips:'"10.10.0.30:80"'='""' vips:'"[fd00:10:10::30]:80"'='""'
--id=@lbevent create Load_Balancer name=event protocol=tcp options:event=true vips:'"10.10.0.31:80"'='""'
--id=@lbskip create Load_Balancer name=skip protocol=tcp options:skip_snat=true vips:'"198.18.1.2:8080"'='"10.2.8.10:80,10.2.8.11:80"' vips:'"[2001:db8:a::2]:8080"'='"[fd00:10:2:8::a]:80"'
--id=@lbaffinity create Load_Balancer name=affinity protocol=tcp options:affinity_timeout=60 vips:'"10.10.0.40:80"'='"10.1.1.11:8080,10.2.8.10:8080"' vips:'"[fd00:10:10::40]:80"'='"[fd00:10:1:1::b]:8080,[fd00:10:2:8::a]:8080"'
--id=@lbtemplate create Load_Balancer name=template protocol=tcp options:template=true options:address-family=ipv4 vips:'"^vip:^port"'='"^backends"'
--id=@lbgroup create Load_Balancer_Group name=everywhere load_balancer=@lbgrouped
--id=@lbgrouped create Load_Balancer name=grouped protocol=tcp options:neighbor_responder=all vips:'"10.10.0.50:80"'='"10.2.8.10:80"'
set Logical_Switch inside load_balancer_group=@lbgroup
set Logical_Router middle load_balancer_group=@lbgroup
set Logical_Switch acl load_balancer=@lbudp
--id=@lblocal create Load_Balancer name=local protocol=tcp options:distributed=true vips:'"10.10.0.60:80"'='"10.2.8.10:8080,10.2.8.11:8080"' vips:'"[fd00:10:10::60]:80"'='"[fd00:10:2:8::a]:8080,[fd00:10:2:8::b]:8080"' ip_port_mappings:10.2.8.10=in-a:10.2.8.1 ip_port_mappings:10.2.8.11=in-b:10.2.8.1 ip_port_mappings:'"[fd00:10:2:8::a]"'='"in-a:[fd00:10:2:8::1]"' ip_port_mappings:'"[fd00:10:2:8::b]"'='"in-b:[fd00:10:2:8::1]"'
set Logical_Switch inside load_balancer=@lbtcp,@lbaffinity,@lbany,@lblocal`

// roomRoutes is a router with two gateway ports, ECMP by static routes, and rules for the source.
const roomRoutes = `
lr-add routes
ls-add r1
ls-add r2
lrp-add routes ro-1 00:00:00:02:0c:01 10.2.12.1/24 10.2.112.1/24 fd00:10:2:c::1/64
lrp-add routes ro-2 00:00:00:02:0d:01 10.2.13.1/24 fd00:10:2:d::1/64
lsp-add r1 r1-r -- lsp-set-type r1-r router -- lsp-set-addresses r1-r router -- lsp-set-options r1-r router-port=ro-1
lsp-add r2 r2-r -- lsp-set-type r2-r router -- lsp-set-addresses r2-r router -- lsp-set-options r2-r router-port=ro-2
lsp-add r1 r1-a -- lsp-set-addresses r1-a '00:00:00:02:0c:0a 10.2.12.10 fd00:10:2:c::a'
lsp-add r1 r1-b -- lsp-set-addresses r1-b '00:00:00:02:0c:0b 10.2.12.11 10.2.112.11'
lsp-add r2 r2-a -- lsp-set-addresses r2-a '00:00:00:02:0d:0a 10.2.13.10 fd00:10:2:d::a'
lsp-add r2 r2-unknown -- lsp-set-addresses r2-unknown unknown
--ecmp lr-route-add routes 10.80.0.0/16 10.2.12.10
--ecmp lr-route-add routes 10.80.0.0/16 10.2.12.11
--ecmp lr-route-add routes 10.80.0.0/16 10.2.13.10
--ecmp lr-route-add routes fd00:80::/32 fd00:10:2:c::a
--ecmp lr-route-add routes fd00:80::/32 fd00:10:2:d::a
lr-route-add routes 10.81.0.0/16 discard
--policy=src-ip lr-route-add routes 10.2.13.0/28 10.2.12.10
lr-policy-add routes 1000 'ip4.src == 10.2.12.11 && tcp.dst == 8080' reroute 10.2.13.10,10.2.13.11
lr-policy-add routes 900 'ip6.src == fd00:10:2:c::/64 && udp' drop
set Logical_Router_Port ro-2 enabled=true
lrp-add routes ro-off 00:00:00:02:0e:01 10.2.14.1/24 -- lrp-set-enabled ro-off disabled`

// roomsNewer returns what only later releases support, by the Northbound table or column it needs.
func roomsNewer(t Topology) map[string][][]string {
	newer := map[string]*northbound{}
	for need, lines := range newerRooms {
		newer[need] = &northbound{}
		script(newer[need], lines)
	}
	edge := newer["Logical_Router_Policy.chain"]
	edge.add("--chain=inner lr-policy-add %s 10 'ip4.dst == 192.0.2.10' allow", osEdge())
	template := &northbound{}
	for i, n := range t.Nodes {
		template.row(fmt.Sprint("vars", i), "Chassis_Template_Var", "chassis="+n.SystemID, key("variables", "vip", fmt.Sprintf("198.18.1.%d", 40+i)), key("variables", "port", "80"), key("variables", "backends", "10.2.8.10:80"))
	}
	newer["Chassis_Template_Var"] = template
	commands := map[string][][]string{}
	for need, nb := range newer {
		commands[need] = nb.commands
	}
	return commands
}

var newerRooms = map[string]string{
	"ACL.tier": `
		--tier=0 acl-add acl to-lport 500 'tcp.dst == 8080' pass
		--tier=1 acl-add acl to-lport 500 'tcp.dst == 8080 && ip4.src == 10.2.1.0/24' allow-related
		--tier=3 acl-add acl to-lport 400 'tcp.dst == 8080' drop
		--tier=0 --log --name=look acl-add acl from-lport 500 'ip4.dst == 10.2.1.99' pass
		--tier=2 acl-add acl from-lport 500 'ip4.dst == 10.2.1.99' reject`,
	"DHCP_Relay": `
		--id=@relay create DHCP_Relay name=relay servers=198.18.1.53
		set Logical_Router_Port mid-inside dhcp_relay=@relay
		set Logical_Switch inside other_config:dhcp_relay_port=in-r`,
	"Sample_Collector": `
		--id=@collector create Sample_Collector id=1 name=samples probability=65535 set_id=7
		--id=@samplenew create Sample collectors=@collector metadata=4001
		--id=@sampleest create Sample collectors=@collector metadata=4002
		--id=@sampled create ACL direction=to-lport priority=350 action=allow-related match='"udp.dst == 6343"' sample_new=@samplenew sample_est=@sampleest
		add Logical_Switch acl acls @sampled`,
	"Logical_Router_Policy.chain": `
		--id=@jump create Logical_Router_Policy priority=800 action=jump jump_chain=inner match='"ip4.dst == 192.0.2.0/25"'
		add Logical_Router routes policies @jump
		--chain=inner lr-policy-add routes 20 'ip4.dst == 192.0.2.20' reroute 10.2.13.10
		--chain=inner lr-policy-add routes 10 'ip4.dst == 192.0.2.30' drop`,
	"NAT.match": `
		--id=@natmatch create NAT type=snat external_ip=198.18.1.36 logical_ip=10.2.8.10 match='"ip4.dst == 203.0.113.99"' priority=5
		add Logical_Router gate2 nat @natmatch`,
	"Logical_Router_Static_Route.selection_fields": `
		--id=@selected1 create Logical_Router_Static_Route ip_prefix=10.82.0.0/16 nexthop=10.2.12.10 selection_fields=ip_src,tp_dst,ip_proto
		--id=@selected2 create Logical_Router_Static_Route ip_prefix=10.82.0.0/16 nexthop=10.2.13.10 selection_fields=ip_src,tp_dst,ip_proto
		add Logical_Router routes static_routes @selected1
		add Logical_Router routes static_routes @selected2`,
	"Mirror_Rule": `
		lsp-add ports p-target -- lsp-set-addresses p-target '00:00:00:02:04:19 10.2.4.25'
		mirror-add tap lport both p-target
		mirror-rule-add tap 100 'ip4 && tcp' mirror
		mirror-rule-add tap 200 'tcp.dst == 22' skip
		lsp-attach-mirror p-many tap`,
	"Logical_Switch_Port.peer": `
		ls-add spoke -- ls-add hub
		lsp-add spoke sp-a -- lsp-set-addresses sp-a '00:00:00:02:0f:0a 10.2.15.10'
		lsp-add hub hu-a -- lsp-set-addresses hu-a '00:00:00:02:0f:0b 10.2.15.11'
		lsp-add spoke sp-hub -- lsp-set-type sp-hub switch -- lsp-set-addresses sp-hub unknown
		lsp-add hub hu-spoke -- lsp-set-type hu-spoke switch -- lsp-set-addresses hu-spoke unknown
		set Logical_Switch_Port sp-hub peer=hu-spoke
		set Logical_Switch_Port hu-spoke peer=sp-hub`,
	"Network_Function": `
		ls-add functions
		lsp-add functions nf-in -- lsp-set-options nf-in receive_multicast=false nf-linked-port=nf-out
		lsp-add functions nf-out -- lsp-set-options nf-out receive_multicast=false nf-linked-port=nf-in
		lsp-add functions nf-a -- lsp-set-addresses nf-a '00:00:00:02:10:0a 10.2.16.10'
		lsp-add functions nf-b -- lsp-set-addresses nf-b '00:00:00:02:10:0b 10.2.16.11'
		nf-add function 1 nf-in nf-out
		nfg-add functions-group 1 inline function
		acl-add functions from-lport 200 'inport == "nf-a" && ip4' allow-related functions-group`,
}
