//go:build lab

package ovn

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/release"
)

// rare is a network without nodes: ovn-northd makes its flows, the chassis and where ports are bound are written by hand.
const rare = `
ls-add ls1
lsp-add ls1 a -- lsp-set-addresses a '00:00:00:00:01:0a 10.1.0.10 fd00:1::a' -- lsp-set-port-security a '00:00:00:00:01:0a 10.1.0.10 10.1.5.0/24' '00:00:00:00:01:0a fd00:1::a'
lsp-add ls1 b -- lsp-set-addresses b '00:00:00:00:01:0b 10.1.0.11 fd00:1::b'
lsp-add ls1 c -- lsp-set-addresses c unknown
lsp-add ls1 child a 42 -- lsp-set-addresses child '00:00:00:00:01:0c 10.1.0.12'
lsp-add ls1 lp -- lsp-set-type lp localport -- lsp-set-addresses lp '00:00:00:00:01:0d 10.1.0.13'
lsp-add ls1 v -- lsp-set-type v virtual -- set Logical_Switch_Port v options:virtual-ip=10.1.0.50 options:virtual-parents=a,b -- lsp-set-addresses v '00:00:00:00:01:50 10.1.0.50'
lsp-add ls1 vt -- lsp-set-type vt vtep -- lsp-set-addresses vt 00:00:00:00:01:0e
lsp-add ls1 far -- lsp-set-type far remote -- lsp-set-addresses far '00:00:00:00:01:0f 10.1.0.15'
lsp-add ls1 off -- lsp-set-addresses off '00:00:00:00:01:ff 10.1.0.99'
lsp-add ls1 old -- lsp-set-addresses old '00:00:00:00:01:05 10.1.0.5'
lsp-add ls1 ls1-r -- lsp-set-type ls1-r router -- lsp-set-addresses ls1-r router -- set Logical_Switch_Port ls1-r options:router-port=r-ls1
acl-add ls1 to-lport 2000 'outport == "b" && tcp.dst == 23' reject
acl-add ls1 to-lport 2000 'outport == "b" && udp.dst == 23' reject
acl-add ls1 to-lport 1900 'outport == "b" && ip' allow-related
fwd-group-add fg ls1 10.1.0.100 00:00:00:00:01:64 a b
lr-add r
lrp-add r r-ls1 00:00:00:00:01:01 10.1.0.1/24 fd00:1::1/64 -- set Logical_Router_Port r-ls1 ipv6_ra_configs:address_mode=slaac
lrp-add r r-ls2 00:00:00:00:02:01 10.2.0.1/24
ls-add ls2
lsp-add ls2 d -- lsp-set-addresses d '00:00:00:00:02:0a 10.2.0.10'
lsp-add ls2 e -- lsp-set-addresses e '00:00:00:00:02:0b 10.2.0.11'
lsp-add ls2 ls2-r -- lsp-set-type ls2-r router -- lsp-set-addresses ls2-r router -- set Logical_Switch_Port ls2-r options:router-port=r-ls2
lsp-add ls2 ls2-gr -- lsp-set-type ls2-gr router -- lsp-set-addresses ls2-gr router -- set Logical_Switch_Port ls2-gr options:router-port=gr-ls2
--ecmp lr-route-add r 10.50.0.0/16 10.2.0.10
--ecmp lr-route-add r 10.50.0.0/16 10.2.0.11
lr-route-add r 10.60.0.0/16 10.2.0.77
lr-route-add r 10.70.0.0/16 10.2.0.78
lr-route-add r 0.0.0.0/0 10.2.0.254
static-mac-binding-add r-ls2 10.2.0.77 00:00:00:00:02:0a
lr-add gr -- set Logical_Router gr options:chassis=c1
lrp-add gr gr-ls2 00:00:00:00:02:fe 10.2.0.254/24
lrp-add gr gr-ext 00:00:00:00:03:01 192.0.2.10/24 -- set Logical_Router_Port gr-ext options:gateway_mtu=1500
lr-route-add gr 10.0.0.0/8 10.2.0.1
lr-route-add gr 0.0.0.0/0 192.0.2.1
lr-nat-add gr snat 192.0.2.10 10.0.0.0/8
ls-add ext
lsp-add ext ext-gr -- lsp-set-type ext-gr router -- lsp-set-addresses ext-gr router -- set Logical_Switch_Port ext-gr options:router-port=gr-ext
lsp-add ext ext-ln -- lsp-set-type ext-ln localnet -- lsp-set-addresses ext-ln unknown -- set Logical_Switch_Port ext-ln options:network_name=phys
ls-add ext2
lsp-add ext2 f -- lsp-set-addresses f '00:00:00:00:03:0f 192.0.2.15'
lsp-add ext2 ext2-ln -- lsp-set-type ext2-ln localnet -- lsp-set-addresses ext2-ln unknown -- set Logical_Switch_Port ext2-ln options:network_name=phys
lsp-add ext2 x -- lsp-set-type x external -- lsp-set-addresses x '00:00:00:00:03:1f 192.0.2.16'
lr-add r2 -- set Logical_Router r2 options:chassis=c2
lrp-add r2 r2-ext 00:00:00:00:03:02 192.0.2.20/24
lrp-add r2 r2-ls4 00:00:00:00:08:01 10.8.0.1/24
lr-nat-add r2 dnat_and_snat 192.0.2.30 10.8.0.10
lr-route-add r2 0.0.0.0/0 192.0.2.1
--ecmp-symmetric-reply lr-route-add r2 198.51.100.0/24 192.0.2.1
--ecmp-symmetric-reply lr-route-add r2 198.51.100.0/24 192.0.2.2
lsp-add ext ext-r2 -- lsp-set-type ext-r2 router -- lsp-set-addresses ext-r2 router -- set Logical_Switch_Port ext-r2 options:router-port=r2-ext
ls-add ls4
lsp-add ls4 k -- lsp-set-addresses k '00:00:00:00:08:0a 10.8.0.10'
lsp-add ls4 ls4-r2 -- lsp-set-type ls4-r2 router -- lsp-set-addresses ls4-r2 router -- set Logical_Switch_Port ls4-r2 options:router-port=r2-ls4
lr-add dr
lrp-add dr dr-ls5 00:00:00:00:09:01 10.9.5.1/24
lrp-add dr dr-ext 00:00:00:00:03:03 192.0.2.40/24 -- set Logical_Router_Port dr-ext options:redirect-type=bridged -- lrp-set-gateway-chassis dr-ext c1
lr-route-add dr 0.0.0.0/0 192.0.2.1
lsp-add ext ext-dr -- lsp-set-type ext-dr router -- lsp-set-addresses ext-dr router -- set Logical_Switch_Port ext-dr options:router-port=dr-ext
ls-add ls5
lsp-add ls5 m -- lsp-set-addresses m '00:00:00:00:09:0a 10.9.5.10'
lsp-add ls5 ls5-dr -- lsp-set-type ls5-dr router -- lsp-set-addresses ls5-dr router -- set Logical_Switch_Port ls5-dr options:router-port=dr-ls5
lr-add t1 -- lr-add t2
lrp-add t1 t1-t2 00:00:00:00:04:01 10.4.0.1/24 peer=t2-t1 -- lrp-add t2 t2-t1 00:00:00:00:04:02 10.4.0.2/24 peer=t1-t2
lrp-add t1 t1-ls3 00:00:00:00:05:01 10.5.0.1/24
lr-route-add t1 10.99.0.0/16 10.4.0.2
lr-route-add t2 10.99.0.0/16 10.4.0.1
ls-add ls3
lsp-add ls3 g -- lsp-set-addresses g '00:00:00:00:05:0a 10.5.0.10'
lsp-add ls3 h -- lsp-set-addresses h '00:00:00:00:05:0b 10.5.0.11'
lsp-add ls3 ls3-t1 -- lsp-set-type ls3-t1 router -- lsp-set-addresses ls3-t1 router -- set Logical_Switch_Port ls3-t1 options:router-port=t1-ls3
set Logical_Switch ls3 other_config:requested-tnl-key=5000
lb-add sticky 10.9.0.1:80 10.2.0.10:80,10.2.0.11:80 -- ls-lb-add ls1 sticky
--id=@local create Load_Balancer name=local protocol=tcp options:distributed=true vips:"10.9.0.3:80"="10.1.0.10:80,10.1.0.11:80" vips:"10.9.0.4:80"="10.1.0.5:80" ip_port_mappings:10.1.0.10=a:10.1.0.1 ip_port_mappings:10.1.0.11=b:10.1.0.1 ip_port_mappings:10.1.0.5=old:10.1.0.1 -- add Logical_Switch ls2 load_balancer @local
--id=@dhcp create DHCP_Options cidr=10.1.0.0/24 options:server_id=10.1.0.1 options:server_mac=00:00:00:00:01:01 options:lease_time=3600 options:router=10.1.0.1 -- set Logical_Switch_Port a dhcpv4_options=@dhcp
--id=@dhcp6 create DHCP_Options cidr="fd00:1::/64" options:server_id=00:00:00:00:01:01 -- set Logical_Switch_Port a dhcpv6_options=@dhcp6
--id=@dns create DNS records:web.example.org=10.1.0.11 -- set Logical_Switch ls1 dns_records=@dns
--id=@c1 create Chassis_Template_Var chassis=c1 variables:VIP=10.9.0.9 variables:BACK="10.2.0.10:80"
--id=@c2 create Chassis_Template_Var chassis=c2 variables:VIP=10.9.0.9 variables:BACK="10.2.0.11:80"
--id=@lt create Load_Balancer name=template vips:"^VIP:80"="^BACK" protocol=tcp options:template=true options:address-family=ipv4 -- add Logical_Switch ls1 load_balancer @lt
--id=@lb create Load_Balancer name=affine vips:"10.9.0.2:80"="10.2.0.10:80,10.2.0.11:80" protocol=tcp options:affinity_timeout=60 -- add Logical_Switch ls1 load_balancer @lb
`

// Where the ports are bound; c3 speaks VXLAN alone, c4 is a hardware gateway, and c5 is of another zone.
var boundTo = map[string]string{
	"a": "c1", "b": "c2", "c": "c2", "child": "c1", "v": "c2", "vt": "c4", "far": "c5", "d": "c1", "e": "c2", "f": "c2", "g": "c3", "h": "c6",
	"gr-ls2": "c1", "gr-ext": "c1", "ls2-gr": "c1", "ext-gr": "c1", "old": "c3",
	"x": "c2", "r2-ext": "c2", "ext-r2": "c2", "r2-ls4": "c2", "ls4-r2": "c2", "k": "c2", "m": "c2", "cr-dr-ext": "c1",
}

// words splits a line at white space outside of single quotes, which go.
func words(line string) []string {
	var all []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			all = append(all, part)
		} else {
			all = append(all, strings.Fields(part)...)
		}
	}
	return all
}

func rareTopology() lab.Topology {
	t := lab.Topology{Name: "rare", OVN: true, Bridge: "br-int"}
	for line := range strings.Lines(rare) {
		if w := words(line); len(w) > 0 {
			t.Northbound = append(t.Northbound, w)
		}
	}
	return t
}

// bindAll makes the chassis and binds the ports.
func bindAll(tb testing.TB, l *lab.Lab) {
	tb.Helper()
	run := func(args ...string) {
		if out, err := l.Run(tb.Context(), "central", args...); err != nil {
			tb.Fatalf("%v: %v %s", args, err, out)
		}
	}
	sbctl := func(args ...string) { run(append([]string{"ovn-sbctl", "--db=" + l.SB()}, args...)...) }
	for i, kind := range []string{"geneve", "geneve,vxlan", "vxlan", "vxlan", "geneve", "vxlan"} {
		sbctl("chassis-add", fmt.Sprintf("c%d", i+1), kind, fmt.Sprintf("192.168.0.%d", i+1))
	}
	for _, c := range []string{"c1", "c2"} {
		sbctl("set", "Chassis", c, "other_config:ovn-bridge-mappings=phys:br-ex")
	}
	run("ovn-nbctl", "--db="+l.NB(), "--wait=sb", "sync")
	for port, chassis := range boundTo {
		sbctl("lsp-bind", port, chassis)
	}
	run("ovn-nbctl", "--db="+l.NB(), "--wait=sb", "sync")
}

// ends says what became of a path, an end a line, answers behind an arrow.
func ends(w *Path) []string {
	var all []string
	for _, v := range w.Ends() {
		line := fmt.Sprintf("%s: %s", v.End.Outcome, v.End.Reason)
		if v.aside() {
			line = "-> " + line
		}
		if v.End.Port != nil {
			line += " " + v.End.Port.Name()
		}
		if v.Chassis != nil {
			line += " on " + v.Chassis.Row.Name
		}
		all = append(all, line)
	}
	return all
}

// What labs with packets have not: each has one path, known from the manual pages.
func TestRare(t *testing.T) { testRare(t, lab.Options{}) }

func testRare(t *testing.T, o lab.Options) {
	l := labtest.Own(t, rareTopology(), o)
	bindAll(t, l)
	net := open(t, l.SB())
	t.Run("every choice", func(t *testing.T) { testEvery(t, net) })
	t.Run("affinity", func(t *testing.T) { testAffinity(t, net) })
	t.Run("another zone", func(t *testing.T) { testEmerges(t, net) })
	t.Run("symmetric answer", func(t *testing.T) { testSymmetric(t, net) })
	t.Run("together", func(t *testing.T) { testTogether(t, net) })
	t.Run("answers", func(t *testing.T) { testAnswers(t, net) })
	const (
		toRouter = "dl_src=00:00:00:00:01:0a,dl_dst=00:00:00:00:01:01,"
		toB      = "dl_src=00:00:00:00:01:0a,dl_dst=00:00:00:00:01:0b,nw_src=10.1.0.10,nw_dst=10.1.0.11,nw_ttl=64,"
	)
	tests := []struct {
		name, port, packet string
		options            Options
		want               []string
		shows              string // in a packet that is delivered
	}{
		{name: "port security: another address", port: "a", packet: "tcp," + toRouter + "nw_src=10.1.0.77,nw_dst=10.2.0.10,nw_ttl=64", want: []string{"dropped: the flow drops on c1"}},
		{name: "port security: a network", port: "a", packet: "tcp," + toRouter + "nw_src=10.1.5.77,nw_dst=10.2.0.10,nw_ttl=64", want: []string{"delivered: to a port d on c1"}},
		{name: "port security: another entry", port: "a", packet: "tcp6,dl_src=00:00:00:00:01:0a,dl_dst=00:00:00:00:01:0b,ipv6_src=fd00:1::a,ipv6_dst=fd00:1::b,nw_ttl=64", want: []string{"delivered: to a port b on c2"}},
		{name: "port security: another MAC", port: "a", packet: "tcp,dl_src=00:00:00:00:01:99,dl_dst=00:00:00:00:01:01,nw_src=10.1.0.10,nw_dst=10.2.0.10,nw_ttl=64", want: []string{"dropped: the flow drops on c1"}},
		{name: "ARP for a port", port: "a", packet: "arp,dl_src=00:00:00:00:01:0a,dl_dst=ff:ff:ff:ff:ff:ff,arp_op=1,arp_spa=10.1.0.10,arp_tpa=10.1.0.11,arp_sha=00:00:00:00:01:0a", want: []string{"delivered: to a port a on c1"}, shows: "arp_op=2"},
		{name: "ARP with another's address", port: "a", packet: "arp,dl_src=00:00:00:00:01:0a,dl_dst=ff:ff:ff:ff:ff:ff,arp_op=1,arp_spa=10.1.0.11,arp_tpa=10.1.0.11,arp_sha=00:00:00:00:01:0a", want: []string{"dropped: the flow drops on c1"}},
		{name: "ARP for the router", port: "a", packet: "arp,dl_src=00:00:00:00:01:0a,dl_dst=ff:ff:ff:ff:ff:ff,arp_op=1,arp_spa=10.1.0.10,arp_tpa=10.1.0.1,arp_sha=00:00:00:00:01:0a", want: []string{"delivered: to a port a on c1"}, shows: "arp_sha=00:00:00:00:01:01"},
		{name: "neighbour solicitation", port: "a", packet: "icmp6,dl_src=00:00:00:00:01:0a,dl_dst=33:33:ff:00:00:0b,ipv6_src=fd00:1::a,ipv6_dst=ff02::1:ff00:b,nw_ttl=255,icmp_type=135,nd_target=fd00:1::b,nd_sll=00:00:00:00:01:0a", want: []string{"consumed: OVN replies on c1", "-> delivered: to a port a on c1"}, shows: "nd_tll=00:00:00:00:01:0b"},
		{name: "router solicitation", port: "b", packet: "icmp6,dl_src=00:00:00:00:01:0b,dl_dst=33:33:00:00:00:02,ipv6_src=fe80::200:ff:fe00:10b,ipv6_dst=ff02::2,nw_ttl=255,icmp_type=133", shows: "icmpv6_type=134"},
		{name: "DHCP", port: "a", packet: "udp,dl_src=00:00:00:00:01:0a,dl_dst=ff:ff:ff:ff:ff:ff,nw_src=0.0.0.0,nw_dst=255.255.255.255,nw_ttl=64,udp_src=68,udp_dst=67", want: []string{"delivered: to a port a on c1"}, shows: "udp_src=67"},
		{name: "DHCPv6", port: "a", packet: "udp6,dl_src=00:00:00:00:01:0a,dl_dst=33:33:00:01:00:02,ipv6_src=fe80::200:ff:fe00:10a,ipv6_dst=ff02::1:2,nw_ttl=64,udp_src=546,udp_dst=547", want: []string{"delivered: to a port a on c1"}, shows: "udp_src=547"},
		{name: "DNS that OVN knows", port: "a", packet: "udp," + fromA + "nw_dst=10.2.0.10,udp_src=4000,udp_dst=53", options: Options{Query: "Web.example.org."}, want: []string{"delivered: to a port a on c1"}, shows: "nw_src=10.2.0.10"},
		{name: "DNS that it does not", port: "a", packet: "udp," + fromA + "nw_dst=10.2.0.10,udp_src=4000,udp_dst=53", options: Options{Query: "example.org"}, want: []string{"delivered: to a port d on c1"}},
		{name: "TTL", port: "a", packet: "tcp,dl_src=00:00:00:00:01:0a,dl_dst=00:00:00:00:01:01,nw_src=10.1.0.10,nw_dst=10.2.0.10,nw_ttl=1", want: []string{"rejected: refused on c1", "-> delivered: to a port a on c1"}, shows: "icmp_type=11"},
		{name: "reset", port: "a", packet: "tcp," + toB + "tp_src=4000,tp_dst=23,tcp_flags=syn", want: []string{"rejected: refused on c2", "-> delivered: to a port a on c1"}, shows: "tcp_flags=rst|ack"},
		{name: "unreachable", port: "a", packet: "udp," + toB + "tp_src=4000,tp_dst=23", want: []string{"rejected: refused on c2", "-> delivered: to a port a on c1"}, shows: "icmp_code=3"},
		{name: "child of a port", port: "b", packet: "tcp,dl_src=00:00:00:00:01:0b,dl_dst=00:00:00:00:01:0c,nw_src=10.1.0.11,nw_dst=10.1.0.12,nw_ttl=64", want: []string{"delivered: to a port child on c1"}},
		{name: "localport", port: "a", packet: "tcp," + fromA + "dl_dst=00:00:00:00:01:0d,nw_dst=10.1.0.13", want: []string{"delivered: to a port lp on c1"}},
		{name: "virtual port", port: "a", packet: "tcp," + fromA + "dl_dst=00:00:00:00:01:50,nw_dst=10.1.0.50", want: []string{"delivered: to a port v on c2"}},
		{name: "hardware gateway without a tunnel", port: "a", packet: "tcp," + fromA + "dl_dst=00:00:00:00:01:0e,nw_dst=10.1.0.14", want: []string{"dropped: no tunnel vt on c1"}},
		{name: "hardware gateway", port: "b", packet: "tcp,dl_src=00:00:00:00:01:0b,dl_dst=00:00:00:00:01:0e,nw_src=10.1.0.11,nw_dst=10.1.0.14,nw_ttl=64", want: []string{"delivered: to a hardware gateway vt on c4"}},
		{name: "another zone", port: "a", packet: "tcp," + fromA + "dl_dst=00:00:00:00:01:0f,nw_dst=10.1.0.15", want: []string{"delivered: to another zone far on c5"}},
		{name: "not bound", port: "a", packet: "tcp," + fromA + "dl_dst=00:00:00:00:01:ff,nw_dst=10.1.0.99", want: []string{"dropped: the port is on no chassis off on c1"}},
		{name: "no tunnel", port: "a", packet: "tcp," + fromA + "dl_dst=00:00:00:00:01:05,nw_dst=10.1.0.5", want: []string{"dropped: no tunnel old on c1"}},
		{name: "VXLAN", port: "b", packet: "tcp,dl_src=00:00:00:00:01:0b,dl_dst=00:00:00:00:01:05,nw_src=10.1.0.11,nw_dst=10.1.0.5,nw_ttl=64", want: []string{"delivered: to a port old on c3"}},
		{name: "VXLAN has no room", port: "g", packet: "tcp,dl_src=00:00:00:00:05:0a,dl_dst=00:00:00:00:05:0b,nw_src=10.5.0.10,nw_dst=10.5.0.11,nw_ttl=64", want: []string{"dropped: no room in the tunnel's key h on c3"}},
		{name: "back to itself", port: "b", packet: "tcp,dl_src=00:00:00:00:01:0b,dl_dst=00:00:00:00:01:0b,nw_src=10.1.0.11,nw_dst=10.1.0.11,nw_ttl=64", want: []string{"dropped: back to where it came from b on c2"}},
		{name: "unknown MAC", port: "b", packet: "tcp,dl_src=00:00:00:00:01:0b,dl_dst=00:00:00:00:aa:aa,nw_src=10.1.0.11,nw_dst=10.1.0.111,nw_ttl=64", want: []string{"delivered: to a port c on c2"}},
		{name: "static neighbour", port: "a", packet: "tcp," + fromA + "nw_dst=10.60.0.1", want: []string{"delivered: to a port d on c1"}},
		{name: "unknown neighbour", port: "a", packet: "tcp," + fromA + "nw_dst=10.70.0.1", options: Options{Assume: true}, want: []string{"consumed: the next hop is asked for on c1", "-> delivered: to a port d on c1", "-> delivered: to a port e on c2"}, shows: "arp_tpa=10.2.0.78"},
		{name: "no route on a router", port: "d", packet: "tcp,dl_src=00:00:00:00:02:0a,dl_dst=00:00:00:00:02:01,nw_src=10.2.0.10,nw_dst=10.1.0.11,nw_ttl=64", want: []string{"delivered: to a port b on c2"}},
		{name: "out", port: "e", packet: "tcp,dl_src=00:00:00:00:02:0b,dl_dst=00:00:00:00:02:01,nw_src=10.2.0.11,nw_dst=198.51.100.1,nw_ttl=64", options: Options{Assume: true}, want: []string{"delivered: to a physical network ext-ln on c1"}, shows: "nw_src=192.0.2.10"},
		{name: "out and unresolved", port: "e", packet: "tcp,dl_src=00:00:00:00:02:0b,dl_dst=00:00:00:00:02:01,nw_src=10.2.0.11,nw_dst=198.51.100.1,nw_ttl=64", want: []string{"consumed: the next hop is asked for on c1", "-> delivered: to a physical network ext-ln on c1"}, shows: "arp_tpa=192.0.2.1"},
		{name: "out and too long", port: "e", packet: "tcp,dl_src=00:00:00:00:02:0b,dl_dst=00:00:00:00:02:01,nw_src=10.2.0.11,nw_dst=198.51.100.1,nw_ttl=64", options: Options{Assume: true, Length: 1600}, want: []string{"rejected: refused on c1", "-> delivered: to a port e on c2"}, shows: "icmp_code=4"},
		{name: "over the physical network", port: "e", packet: "tcp,dl_src=00:00:00:00:02:0b,dl_dst=00:00:00:00:02:01,nw_src=10.2.0.11,nw_dst=192.0.2.15,nw_ttl=64", options: Options{Assume: true}, want: []string{"delivered: to a port f on c2"}, shows: "nw_src=192.0.2.10"},
		{name: "template on one chassis", port: "a", packet: "tcp," + fromA + "nw_dst=10.9.0.9,tp_src=4000,tp_dst=80,tcp_flags=syn", want: []string{"delivered: to a port d on c1"}},
		{name: "template on another", port: "b", packet: "tcp,dl_src=00:00:00:00:01:0b,dl_dst=00:00:00:00:01:01,nw_src=10.1.0.11,nw_dst=10.9.0.9,nw_ttl=64,tp_src=4000,tp_dst=80,tcp_flags=syn", want: []string{"delivered: to a port e on c2"}},
		{name: "external port", port: "f", packet: "tcp,dl_src=00:00:00:00:03:0f,dl_dst=00:00:00:00:03:1f,nw_src=192.0.2.15,nw_dst=192.0.2.16,nw_ttl=64", want: []string{"delivered: to a physical network ext2-ln on c2"}},
		{name: "from an external port", port: "x", packet: "tcp,dl_src=00:00:00:00:03:1f,dl_dst=00:00:00:00:03:0f,nw_src=192.0.2.16,nw_dst=192.0.2.15,nw_ttl=64", want: []string{"delivered: to a port f on c2"}},
		{name: "an address that a router translates", port: "e", packet: "tcp,dl_src=00:00:00:00:02:0b,dl_dst=00:00:00:00:02:01,nw_src=10.2.0.11,nw_dst=192.0.2.30,nw_ttl=64", options: Options{Assume: true}, want: []string{"delivered: to a port k on c2"}, shows: "nw_src=192.0.2.10,nw_dst=10.8.0.10"},
		{name: "redirected over the physical network", port: "m", packet: "tcp,dl_src=00:00:00:00:09:0a,dl_dst=00:00:00:00:09:01,nw_src=10.9.5.10,nw_dst=198.51.100.1,nw_ttl=64", options: Options{Assume: true}, want: []string{"delivered: to a physical network ext-ln on c1"}},
		{name: "a circle", port: "g", packet: "tcp,dl_src=00:00:00:00:05:0a,dl_dst=00:00:00:00:05:01,nw_src=10.5.0.10,nw_dst=10.99.0.1,nw_ttl=64", want: []string{"rejected: refused on c3", "-> delivered: to a port g on c3"}, shows: "icmp_type=11"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			e := New(net, test.options)
			w := followText(t, e, nil, test.port, test.packet)
			got := ends(w)
			if test.want != nil && !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q\n%s", got, test.want, tell(w))
			}
			if last := delivered(w); !strings.Contains(last, test.shows) {
				t.Errorf("delivered is\n%s, want %s in it\n%s", last, test.shows, tell(w))
			}
		})
	}
	if net.Version().Has(release.DistributedBalancers) {
		t.Run("distributed load balancer", func(t *testing.T) { testDistributed(t, net) })
	}
	t.Run("unknown", func(t *testing.T) { testUnknown(t, l) })
}

// followText follows a packet that is written as a flow.
func followText(tb testing.TB, e *Engine, c *Connections, port, pkt string) *Path {
	tb.Helper()
	p, err := e.net.Port(tb.Context(), port)
	if err != nil || p == nil {
		tb.Fatal(port, err)
	}
	f, err := packet.Parse(pkt)
	if err != nil {
		tb.Fatal(pkt, err)
	}
	w, err := e.Follow(tb.Context(), Start{Port: p, Packet: f}, c, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return w
}

// delivered are the packets of ends that are a delivery, as they left.
func delivered(w *Path) string {
	var b strings.Builder
	for _, v := range w.Ends() {
		if v.End.Reason <= ToVTEP {
			p := v.Before(len(v.Steps))
			b.WriteString(p.String() + "\n")
		}
	}
	return b.String()
}

const fromA = "dl_src=00:00:00:00:01:0a,dl_dst=00:00:00:00:01:01,nw_src=10.1.0.10,nw_ttl=64,"

// Every follows all members of a route, all backends and all ports of a forwarding group, and says when it stops short.
func testEvery(t *testing.T, net *logicalflow.Network) {
	tests := []struct {
		name, packet string
		want         []string
	}{
		{"routes", "tcp," + fromA + "nw_dst=10.50.0.1", []string{"delivered: to a port d on c1", "delivered: to a port e on c2"}},
		{"backends", "tcp," + fromA + "nw_dst=10.9.0.1,tp_src=4000,tp_dst=80", []string{"delivered: to a port d on c1", "delivered: to a port e on c2"}},
		{"ports", "tcp," + fromA + "dl_dst=00:00:00:00:01:64,nw_dst=10.1.0.100", []string{"dropped: back to where it came from a on c1", "delivered: to a port b on c2"}},
		{"one", "tcp," + fromA + "nw_dst=10.2.0.10", []string{"delivered: to a port d on c1"}},
	}
	for _, test := range tests {
		e := New(net, Options{})
		p, _ := net.Port(t.Context(), "a")
		f, err := packet.Parse(test.packet)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		more, err := e.Every(t.Context(), Start{Port: p, Packet: f}, nil, func(w *Path, _ *Connections) error {
			got = append(got, ends(w)...)
			return nil
		})
		slices.Sort(got)
		slices.Sort(test.want)
		if err != nil || more || !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, more %v, %v; want %q", test.name, got, more, err, test.want)
		}
		short := New(net, Options{Branches: 1})
		n := 0
		more, err = short.Every(t.Context(), Start{Port: p, Packet: f}, nil, func(*Path, *Connections) error { n++; return nil })
		if err != nil || n != 1 || more != (len(test.want) > 1) {
			t.Errorf("%s, one combination: %d paths, more %v, %v", test.name, n, more, err)
		}
	}
}

// A distributed load balancer chooses only among the backends on the client's chassis.
func testDistributed(t *testing.T, net *logicalflow.Network) {
	for _, test := range []struct{ port, packet, want string }{
		{"d", "dl_src=00:00:00:00:02:0a,nw_src=10.2.0.10,nw_dst=10.9.0.3", "delivered: to a port a on c1"},
		{"e", "dl_src=00:00:00:00:02:0b,nw_src=10.2.0.11,nw_dst=10.9.0.3", "delivered: to a port b on c2"},
		{"d", "dl_src=00:00:00:00:02:0a,nw_src=10.2.0.10,nw_dst=10.9.0.4", "dropped: no backend on this chassis on c1"},
	} {
		p, _ := net.Port(t.Context(), test.port)
		f, err := packet.Parse("tcp,dl_dst=00:00:00:00:02:01,nw_ttl=64,tp_src=4000,tp_dst=80,tcp_flags=syn," + test.packet)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		_, err = New(net, Options{}).Every(t.Context(), Start{Port: p, Packet: f}, nil, func(w *Path, _ *Connections) error {
			got = append(got, ends(w)...)
			return nil
		})
		if err != nil || !slices.Equal(got, []string{test.want}) {
			t.Errorf("%s %s: %q %v, want only %q", test.port, test.packet, got, err, test.want)
		}
	}
}

// A client keeps its backend for its next connection, whatever the hash says.
func testAffinity(t *testing.T, net *logicalflow.Network) {
	e, c := New(net, Options{}), &Connections{}
	pkt := func(port int) string {
		return fmt.Sprintf("tcp,%snw_dst=10.9.0.2,tp_src=%d,tp_dst=80,tcp_flags=syn", fromA, port)
	}
	p, _ := net.Port(t.Context(), "a")
	first, err := packet.Parse(pkt(4000))
	if err != nil {
		t.Fatal(err)
	}
	w, err := e.Follow(t.Context(), Start{Port: p, Packet: first}, c, func(c Choice) int { return c.Of - 1 })
	if err != nil || !slices.Equal(ends(w), []string{"delivered: to a port e on c2"}) {
		t.Fatal(tell(w), err)
	}
	if got := ends(followText(t, e, c, "a", pkt(4001))); !slices.Equal(got, []string{"delivered: to a port e on c2"}) {
		t.Errorf("the next connection: %q", got)
	}
	if got := ends(followText(t, e, nil, "a", pkt(4001))); !slices.Equal(got, []string{"delivered: to a port d on c1"}) {
		t.Errorf("another client: %q", got)
	}
}

// The answer of a connection through load balancer, routers and NAT comes back as what the client asked.
func testAnswers(t *testing.T, net *logicalflow.Network) {
	e := New(net, Options{Assume: true})
	tests := []struct{ port, packet, back string }{
		{"a", "tcp," + fromA + "nw_dst=10.9.0.1,tp_src=4000,tp_dst=80,tcp_flags=syn", "nw_src=10.9.0.1,nw_dst=10.1.0.10"},
		{"e", "udp,dl_src=00:00:00:00:02:0b,dl_dst=00:00:00:00:02:01,nw_src=10.2.0.11,nw_dst=198.51.100.1,nw_ttl=64,udp_src=4000,udp_dst=53", "nw_src=198.51.100.1,nw_dst=10.2.0.11"},
		{"e", "icmp,dl_src=00:00:00:00:02:0b,dl_dst=00:00:00:00:02:01,nw_src=10.2.0.11,nw_dst=192.0.2.15,nw_ttl=64,icmp_type=8", "nw_src=192.0.2.15,nw_dst=10.2.0.11"},
	}
	for _, test := range tests {
		c := &Connections{}
		there := followText(t, e, c, test.port, test.packet)
		s, ok := e.Reply(there.End())
		if !ok {
			t.Errorf("%s: nothing answers\n%s", test.packet, tell(there))
			continue
		}
		back, err := e.Follow(t.Context(), s, c.Clone(), nil)
		if err != nil || back.End().End.Port == nil || back.End().End.Port.Name() != test.port || !strings.Contains(delivered(back), test.back) {
			t.Errorf("%s: %v %q\n%s%s", test.packet, err, ends(back), tell(there), tell(back))
		}
		// Without what the packet left, its answer is none.
		alone, err := e.Follow(t.Context(), s, nil, nil)
		if err != nil || strings.Contains(delivered(alone), test.back) {
			t.Errorf("%s: without the packet %v %q", test.packet, err, ends(alone))
		}
	}
}

// The answer of a connection that came from one of several next hops goes back to that one.
func testSymmetric(t *testing.T, net *logicalflow.Network) {
	e := New(net, Options{Assume: true})
	localnet, _ := net.Port(t.Context(), "ext-ln")
	for _, hop := range []string{"00:00:00:00:aa:01", "00:00:00:00:aa:02"} {
		f, err := packet.Parse("tcp,dl_src=" + hop + ",dl_dst=00:00:00:00:03:02,nw_src=198.51.100.9,nw_dst=10.8.0.10,nw_ttl=64,tp_src=4000,tp_dst=80,tcp_flags=syn")
		if err != nil {
			t.Fatal(err)
		}
		c := &Connections{}
		w, err := e.Follow(t.Context(), Start{Port: localnet, Chassis: net.ChassisByName("c2"), Packet: f}, c, nil)
		if want := []string{"delivered: to a port k on c2"}; err != nil || !slices.Equal(ends(w), want) {
			t.Fatalf("%v %q, want %q\n%s", err, ends(w), want, tell(w))
		}
		s, _ := e.Reply(w.End())
		back, err := e.Follow(t.Context(), s, c, nil)
		if err != nil || !strings.Contains(delivered(back), "dl_dst="+hop+",") {
			t.Errorf("%v: it came from %s\n%s\n%s", err, hop, tell(w), tell(back))
		}
	}
}

// A packet that comes from another zone begins behind the tunnel.
func testEmerges(t *testing.T, net *logicalflow.Network) {
	e := New(net, Options{})
	b, _ := net.Port(t.Context(), "b")
	f, err := packet.Parse("tcp,dl_src=00:00:00:00:01:0f,dl_dst=00:00:00:00:01:0b,nw_src=10.1.0.15,nw_dst=10.1.0.11,nw_ttl=64,tp_dst=23,tcp_flags=syn")
	if err != nil {
		t.Fatal(err)
	}
	far, _ := net.Port(t.Context(), "far")
	w, err := e.Follow(t.Context(), Start{Port: far, Outport: b, Chassis: net.ChassisByName("c2"), Packet: f}, nil, nil)
	if want := []string{"rejected: refused on c2", "-> delivered: to another zone far on c5"}; err != nil || !slices.Equal(ends(w), want) {
		t.Errorf("%v %q, want %q", err, ends(w), want)
	}
}

// One engine serves many at a time.
func testTogether(t *testing.T, net *logicalflow.Network) {
	e := New(net, Options{Assume: true})
	want := ends(followText(t, New(net, Options{Assume: true}), nil, "a", "tcp,"+fromA+"nw_dst=192.0.2.30,tp_dst=80"))
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 20 {
				if got := ends(followText(t, e, nil, "a", "tcp,"+fromA+"nw_dst=192.0.2.30,tp_dst=80")); !slices.Equal(got, want) {
					t.Errorf("%q, want %q", got, want)
				}
			}
		})
	}
	wait.Wait()
}

// What is not known is an end only where a packet meets it.
func testUnknown(t *testing.T, l *lab.Lab) {
	run := func(args ...string) {
		if out, err := l.Run(t.Context(), "central", args...); err != nil {
			t.Fatalf("%v: %v %s", args, err, out)
		}
	}
	run("ovn-appctl", "-t", "ovn-northd", "pause") // it would take the flows away
	ls1 := open(t, l.SB())
	p, _ := ls1.Port(t.Context(), "b")
	table := 0
	for i := range 64 {
		if stage, err := ls1.Stage(t.Context(), logicalflow.Table{Datapath: p.Datapath, Pipeline: logicalflow.Ingress, ID: i}); err == nil && stage == "ls_in_l2_lkup" {
			table = i
		}
	}
	for _, f := range []struct{ match, actions string }{
		{"ip4.dst == 10.1.0.201", "teleport(); next;"},
		{"ip4.dst == 10.1.0.202", "outport = \"b\"; output;"}, {"ip4.dst == 10.1.0.202 && tcp", "drop;"},
		{"ip4.dst == 10.1.0.203", "flags.loopback = 1; next(pipeline=ingress,table=0);"},
		{"ip4.dst == 10.1.0.204", "clone { flags.loopback = 1; next(pipeline=ingress,table=0); }; clone { flags.loopback = 1; next(pipeline=ingress,table=0); };"},
		{"ip4.dst == 10.1.0.205", "push(eth.src); push(eth.dst); pop(eth.src); pop(eth.dst); outport = inport; flags.loopback = 1; output;"},
	} {
		run("ovn-sbctl", "--db="+l.SB(), "create", "Logical_Flow", "logical_datapath="+string(p.Datapath.Row.UUID), "pipeline=ingress",
			fmt.Sprintf("table_id=%d", table), "priority=9000", "match="+fmt.Sprintf("%q", f.match), "actions="+fmt.Sprintf("%q", f.actions))
	}
	const fromB = "tcp,dl_src=00:00:00:00:01:0b,dl_dst=00:00:00:00:01:0a,nw_src=10.1.0.11,nw_ttl=64,nw_dst=10.1.0."
	e := New(open(t, l.SB()), Options{})
	for dst, want := range map[string]string{
		"10":  "delivered: to a port a on c1",
		"201": "unknown: a flow is not understood on c2",
		"202": "unknown: flows of one priority on c2",
		"203": "unknown: too long on c2",
		"204": "unknown: too long on c2",
		"205": "delivered: to a port b on c2",
	} {
		w := followText(t, e, nil, "b", fromB+dst)
		if got := ends(w); got[0] != want {
			t.Errorf("%s: %q, want %q", dst, got[0], want)
		}
		if v := w.End(); v.End.Outcome == "unknown" && v.End.Detail == "" {
			t.Errorf("%s: it does not say what", dst)
		}
	}
}
