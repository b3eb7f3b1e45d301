package ovnexpr

import (
	"errors"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/release"
)

// Each match is followed by the mark below the offending part and the message.
var wrong = `
!!ip4
 ^ Syntax error at ` + "`!'" + ` expecting constant.
ip4 && foo == 1
       ^~~ Syntax error at ` + "`foo'" + ` expecting field name.
ip4 && tcp || udp
           ^~ && and || must be parenthesized when used together.
!tcp.dst == 80
 ^~~~~~~~~~~~~ Missing parentheses around operand of !.
ip4 && tcp.dst
       ^~~~~~~ Explicit ` + "`!= 0'" + ` is required for inequality test of multibit field against 0.
inport == 1
          ^ String field inport is not compatible with integer constant.
tcp.dst == "a"
           ^~~ Integer field tcp.dst is not compatible with string constant.
tcp.dst == {80, 65536}
                ^~~~~ 17-bit constant is not compatible with 16-bit field tcp.dst.
reg0 == 0a:00:00:00:00:01
        ^~~~~~~~~~~~~~~~~ 48-bit constant is not compatible with 32-bit field reg0.
1 < tcp.dst > 5
^~~~~~~~~~~~~~~ Range expressions must have the form ` + "`x < field < y' or `x > field > y', with each `<' optionally replaced by `<=' or `>' by `>='" + `).
1 == tcp.dst == 5
^~~~~~~~~~~~~~~~~ Range expressions must have the form ` + "`x < field < y' or `x > field > y', with each `<' optionally replaced by `<=' or `>' by `>='" + `).
inport < "a"
^~~~~~~~~~~~ Only == and != operators may be used with nominal field inport.
vlan.present < 1
^~~~~~~~~~~~~~~~ Only == and != operators may be used with Boolean field vlan.present.
tcp.dst < {1, 2}
^~~~~~~~~~~~~~~~ Only == and != operators may be used with value sets.
ip4.src < 10.0.0.0/8
^~~~~~~~~~~~~~~~~~~~ Only == and != operators may be used with masked constants.  Consider using subfields instead (e.g. eth.src[0..15] > 0x1111 in place of eth.src > 00:00:00:00:11:11/00:00:00:00:ff:ff).
eth.type[0]
^~~~~~~~~~~ Cannot select subfield of nominal field eth.type.
reg0[33]
^~~~~~~~ Cannot select bits 33 to 33 of 32-bit field reg0.
reg0[5..3] == 0
^~~~~~~~~~ Invalid bit range 5 to 3.
reg0[x]
     ^ Syntax error at ` + "`x'" + ` expecting small integer.
inport[3] == "a"
^~~~~~~~~ Cannot select subfield of string field inport.
reg0 == {}
         ^ Syntax error at ` + "`}'" + ` expecting constant.
ip4.src == $nope
           ^~~~~ Syntax error at ` + "`$nope'" + ` expecting address set name.
inport == @nope
          ^~~~~ Syntax error at ` + "`@nope'" + ` expecting port group name.
foo("x")
^~~ parsing function name
2
 ^ Syntax error at end of input expecting relational operator.
inport
      ^ Syntax error at end of input expecting relational operator.
inport && ip4
       ^~ Syntax error at ` + "`&&'" + ` expecting relational operator.
!ip4
 ^~~ Nominal predicate ip4 may only be tested positively, e.g. ` + "`ip4' or `ip4 == 1' but not `!ip4' or `ip4 == 0'" + `.
ip4 == 0
^~~~~~~~ Nominal predicate ip4 may only be tested positively, e.g. ` + "`ip4' or `ip4 == 1' but not `!ip4' or `ip4 == 0'" + `.
inport != "a"
^~~~~~~~~~~~~ Nominal field inport may only be tested for equality (taking enclosing ` + "`!'" + ` operators into account).
!(eth.type == 0x800)
  ^~~~~~~~~~~~~~~~~ Nominal field eth.type may only be tested for equality (taking enclosing ` + "`!'" + ` operators into account).
ip4 &
    ^ ` + "`&' is only valid as part of `&&'" + `.
tcp.dst == {1, "a"}
               ^~~ Syntax error at ` + "`\"a\"'" + ` expecting integer.
inport == {"a", 1}
                ^ Syntax error at ` + "`1'" + ` expecting string.
tcp = 5
    ^ Syntax error at ` + "`='" + ` expecting relational operator.
tcp.dst == 080
           ^~~ Decimal constants must not have leading zeros.
reg0 == 0xg
        ^~~ Invalid syntax in hexadecimal constant.
reg0 == 0x
        ^~ Hex digits expected following 0x.
reg0 == 1.2.3
        ^~~~~ Invalid numeric constant.
reg0 == 18446744073709551616
        ^~~~~~~~~~~~~~~~~~~~ Decimal constants must be less than 2**64.
ip4.src == 10.0.0.0/33
           ^~~~~~~~~~~ Value and mask have incompatible formats.
reg0 == {1, 2
             ^ Syntax error at end of input expecting constant.
(ip4
    ^ Syntax error at end of input expecting ` + "`)'" + `.
ip4)
   ^ Syntax error at ` + "`)'" + ` expecting end of input.
ip4 ip6
    ^~~ Syntax error at ` + "`ip6'" + ` expecting end of input.
ip4 && 
       ^ Syntax error at end of input expecting constant.
inport == "a
          ^~ Input ends inside quoted string.
ip4 /* a
    ^~ ` + "`/*' without matching `*/'" + `.
ip4 # ip6
    ^ Invalid character ` + "`#'" + ` in input.
ip4.src == $
           ^ ` + "`$' must be followed by a valid identifier" + `.
is_chassis_resident(lp)
                    ^~ Syntax error at ` + "`lp'" + ` expecting string.
tcp.dst == ip4
           ^~~ Syntax error at ` + "`ip4'" + ` expecting constant.
0 < 1
    ^ Syntax error at ` + "`1'" + ` expecting field name.
`

// wrongMatch parses and annotates, and returns the error.
func wrongMatch(text string) error {
	m, err := ParseMatch(text)
	if err != nil {
		return err
	}
	_, err = m.Annotate(SymbolsOf(Profile{}), nil)
	return err
}

// A name that a later release may know is told from a mistake.
func TestNotUnderstood(t *testing.T) {
	for text, want := range map[string]bool{
		"ip4 && quic.id == 5": true, "is_leader(\"x\")": true, "ip4 ip4": false, "inport != \"a\"": false,
	} {
		if err := wrongMatch(text); errors.Is(err, ErrNotUnderstood) != want {
			t.Errorf("%s: not understood %v, want %v", text, !want, want)
		}
	}
	for text, want := range map[string]bool{
		"teleport;": true, "reg0 = oracle();": true, "reg0[0] = chk_evpn_arp(outport, reg0);": true,
		"ct_lb_mark_local(backends=\"a\":10.0.0.1:80; fallback);": true, "teleport(outport, speed=5);": true, "reg0[0] = check_weather(place=\"here\", 5);": true,
		"ct_lb_mark(backends=10.0.0.1:80; sticky);": true, "log(verdict=drop, colour=red);": true, "log(verdict=postpone);": true,
		"get_arp(outport, reg0, reg1);": true, "ct_next(both);": true, "next(pipeline=sideways, table=5);": true, "next(table=5, slowly);": true,
		"commit_ecmp_nh(ipv6=true, proto=tcp, weight=5);": true, "sample(probability=5, colour=red);": true, "next(5);": false,
		"get_arp(outport);": false, "log(verdict=\"drop\");": false, "ct_lb_mark(backends=10.0.0.1:80;);": false, "next": false, "next; drop;": false, "reg0 = ;": false,
		"quic.id = 5;": true, "ip4.src = 5;": false, "clone { warp { }; };": true,
	} {
		if err := wrongAction(text); errors.Is(err, ErrNotUnderstood) != want {
			t.Errorf("%s: %v, want not understood %v", text, err, want)
		}
	}
}

func TestCaretOfLongText(t *testing.T) {
	text := strings.Repeat("ip4 && ", 5000) + "\tfoo" + strings.Repeat(" && ip4", 5000)
	var e *SyntaxError
	if !errors.As(wrongMatch(text), &e) {
		t.Fatal("no error")
	}
	shown, mark, _ := strings.Cut(e.Caret(), "\n")
	at := strings.Index(mark, "^~~")
	if len(shown) != 100 || at < 0 || shown[at:at+3] != "foo" {
		t.Errorf("caret\n%s\n%s", shown, mark)
	}
}

// wrongActions are actions with what is said of them; nothing of those that are right.
var wrongActions = map[string]string{
	"next":                           "Syntax error at end of input expecting `;'.",
	"next; drop;":                    "Syntax error at `drop' expecting action.",
	"drop; next;":                    "Syntax error at `next' expecting end of input.",
	"foo;":                           "Syntax error at `foo' expecting action.",
	"reg0 = ;":                       "Syntax error at `;' expecting constant.",
	"reg0 = reg1[0..3];":             "Can't assign 4-bit value to 32-bit destination.",
	"reg0 <-> reg1[0..3];":           "Can't exchange 32-bit field with 4-bit field.",
	"inport = reg0;":                 "Can't assign integer field (reg0) to string field (inport).",
	"inport <-> reg0;":               "Can't exchange string field (inport) with integer field (reg0).",
	"ip4 = 1;":                       "Predicate symbol ip4 used where lvalue required.",
	"eth.type = 0x800;":              "Field eth.type is not modifiable.",
	"ct_mark = 1;":                   "Field ct_mark is not modifiable.",
	"ip.ttl--":                       "Syntax error at end of input expecting `;'.",
	"inport = 1;":                    "String field inport is not compatible with integer constant.",
	"reg0[0..3] = 1.2.3.4;":          "",
	"ip.ttl = 256;":                  "9-bit constant is not compatible with 8-bit field ip.ttl.",
	"get_arp(reg0, reg1);":           "Cannot use numeric field reg0 where string field is required.",
	"get_arp(inport, inport);":       "Cannot use string field inport where numeric field is required.",
	"get_arp(inport, xxreg0);":       "Cannot use 128-bit field xxreg0[0..127] where 32-bit field is required.",
	"reg0 = chk_lb_aff();":           "Cannot use 32-bit field reg0[0..31] where 1-bit field is required.",
	"reg0[0] = chk_lb_aff(1);":       "chk_lb_aff doesn't take any parameters",
	"reg0[0..7] = select(1, 2);":     "cannot use 8-bit field reg0[0..7] for \"select\", which requires at least 16 bits.",
	"reg0 = select(1);":              "Syntax error at `;' expecting at least 2 group members.",
	"next(pipeline=middle);":         "Syntax error at `middle' expecting \"ingress\" or \"egress\".",
	"ct_next(x);":                    "\"ct_next\" action accepts only \"dnat\" or \"snat\" parameter.",
	"ct_dnat(1);":                    "Syntax error at `1' expecting IPv4 or IPv6 address.",
	"ct_dnat(1.2.3.4, 9-5);":         "Syntax error at `5' range high should be greater than range low.",
	"ct_lb(backends=fd00::1:80);":    "",
	"ct_lb(backends=1.2.3.4:70000);": "Syntax error at `70000' expecting port number.",
	"ct_commit { ct_label = 0x181716151413121110090807060504030201; };":           "141-bit constant is not compatible with 128-bit field ct_label.",
	"ct_commit { ct_label = 0x1/0x181716151413121110090807060504030201; };":       "141-bit constant is not compatible with 128-bit field ct_label.",
	"ct_commit { ct_label = 0x16151413121110090807060504030201; };":               "",
	"reg0 = 0x181716151413121110090807060504030201;":                              "141-bit constant is not compatible with 32-bit field reg0.",
	"reg0 = 0x0000000000000000000000000000000000000000000000001;":                 "",
	"reg0 = 0x1" + strings.Repeat("0", 255) + ";":                                 "1021-bit constant is not compatible with 32-bit field reg0.",
	"reg0 = 0x1" + strings.Repeat("0", 256) + ";":                                 "Hexadecimal constant requires more than 1024 bits.",
	"ct_snat(1.2.3.4, 1-70000);":                                                  "",
	"ct_snat(1.2.3.4, 65536);":                                                    "Syntax error at `65536' range can't be 0.",
	"ct_snat(1.2.3.4, 5-65540);":                                                  "Syntax error at `65540' range high should be greater than range low.",
	"ct_snat(1.2.3.4, 0x50);":                                                     "Syntax error at `0x50' expecting Integer for port range.",
	"ct_snat(1.2.3.4, 5-0x50);":                                                   "",
	"ct_snat(1.2.3.4, 5-x);":                                                      "Syntax error at `x' expecting Integer for port range.",
	"ct_lb(backends=1.2.3.4:80; skip_snat;":                                       "Syntax error at end of input expecting `;'.",
	"ct_lb(backends=1.2.3.4:80; skip_snat;;":                                      "",
	"ct_lb(backends=1.2.3.4:80;;":                                                 "",
	"ct_lb(backends=1.2.3.4:80;);":                                                "Syntax error at `)' expecting `;'.",
	"ct_lb(backends=1.2.3.4:80; foo);":                                            "Syntax error at `foo' expecting `;'.",
	"ct_lb(backends=1.2.3.4:80; force_snat; skip_snat);":                          "Syntax error at `skip_snat' expecting `;'.",
	"ct_lb(backends=1.2.3.4:80; skip_snat skip_snat);":                            "Syntax error at `)' expecting `;'.",
	"ct_lb(backends=1.2.3.4:80; skip_snat; hash_fields=\"ip_src\");":              "Syntax error at `hash_fields' expecting `;'.",
	"ct_lb(backends=1.2.3.4:80; hash_fields=\"ip_src\"; hash_fields=\"ip_dst\");": "Syntax error at `hash_fields' expecting `;'.",
	"ct_lb(backends=1.2.3.4:80; hash_fields=\"ip_src\"; skip_snat);":              "",
	"ct_lb(backends=1.2.3.4:80; hash_fields=ip_src);":                             "Syntax error at `ip_src' invalid hash_fields.",
	"ct_lb(;skip_snat);":                                                          "Syntax error at `;' expecting backends.",
	"ct_lb(backends=; skip_snat);":                                                "",
	"ct_lb(backends=[fd00::1:80);":                                                "Syntax error at `)' no closing square bracket.",
	"set_queue(61441);":                                                           "Queue ID 61441 for set_queue is not in valid range 0 to 61440.",
	"set_meter(0);":                                                               "Rate 0 for set_meter is not in valid.",
	"log(name=\"x\");":                                                            "Syntax error at `;' expecting verdict.",
	"log(verdict=drop, verdict=drop);":                                            "Argument verdict is given twice.",
	"log(colour=red);":                                                            "Syntax error at `colour'.",
	"sample(obs_domain=1);":                                                       "probability must be greater than zero",
	"^X;":                                                                         "Unexpanded template.",
	"commit_lb_aff(vip = \"1.2.3.4\", backend = \"fd00::1\", timeout = 5);":       "Syntax error at `\"fd00::1\"' invalid protocol family.",
	"ct_commit { ip4.dst = 1.2.3.4; };":                                           "Field ip4.dst is not modifiable.",
	"ct_commit { ct_mark = 1; ip4.dst = 192.168.0.1; };":                          "Field ip4.dst is not modifiable.",
	"ct_commit { reg0 = 1; };":                                                    "Field reg0 is not modifiable.",
	"ct_commit { next; };":                                                        "",
	"ct_commit { drop; };":                                                        "",
	"ct_commit { ct_mark = reg0; };":                                              "",
	"ct_commit { ct_mark[7] = 1; };":                                              "",
	"ct_commit { ct_mark <-> reg0; };":                                            "Field reg0 is not modifiable.",
	"ct_commit { ip.ttl--; };":                                                    "",
	"ct_commit { eth.dst = 00:00:00:00:00:01; };":                                 "Field eth.dst is not modifiable.",
	"fwd_group();":                                                                "Syntax error at `)' expecting `;'.",
	"fwd_group(liveness=true);":                                                   "Syntax error at `)' expecting `,'.",
	"fwd_group(liveness=\"true\",childports=\"a\");":                              "",
	"fwd_group(liveness=true,childports=\"a\");":                                  "",
	"fwd_group(childports=\"a\",\"b\");":                                          "",
	"fwd_group(childports=a);":                                                    "Syntax error at `a' expecting logical switch port.",
	"fwd_group(childports=);":                                                     "",
	"fwd_group(liveness=\"maybe\",childports=\"a\");":                             "Syntax error at `\"maybe\"' expecting true or false.",
	"fwd_group(liveness=\"false\", childports=\"a\", \"b\");":                     "",
	"fwd_group(childports=\"a\";);":                                               "Syntax error at `;' expecting logical switch port.",
	"trigger_event(event = \"empty_lb_backends\", vip = \"10.0.0.1:80\", protocol = \"tcp\", load_balancer = \"12345678-abcd-9876-fedc-11119f8e7d6c\");": "",
	"trigger_event(event=\"empty_lb_backends\",vip=\"10.0.0.1:80\",protocol=\"sctp\",load_balancer=\"12345678-abcd-9876-fedc-11119f8e7d6c\");":           "",
	"trigger_event(event = \"empty_lb_backends\");":                                            "",
	"trigger_event(event = \"foo\");":                                                          "Syntax error at `\"foo\"' Unknown event '-1'.",
	"trigger_event(event = \"empty_lb_backends\", vip = \"10.0.0.1:80\", protocol = \"tcp\");": "",
	"trigger_event(event = \"empty_lb_backends\", vip = \"10.0.0.1\", protocol = \"tcp\", load_balancer = \"12345678-abcd-9876-fedc-11119f8e7d6c\");":                           "",
	"trigger_event(event = \"empty_lb_backends\", vip = \"nonsense\", protocol = \"tcp\", load_balancer = \"12345678-abcd-9876-fedc-11119f8e7d6c\");":                           "Invalid load balancer VIP 'nonsense'",
	"trigger_event(event = \"empty_lb_backends\", vip = \"10.0.0.1:80\", protocol = \"tcp\", load_balancer = \"x\");":                                                           "Load balancer 'x' is not a UUID",
	"trigger_event(event = \"empty_lb_backends\", vip = \"10.0.0.1:80\", protocol = \"aarp\", load_balancer = \"12345678-abcd-9876-fedc-11119f8e7d6c\");":                       "Load balancer protocol 'aarp' is not 'tcp', 'udp', or 'sctp'",
	"trigger_event(event = \"empty_lb_backends\", foo = \"x\");":                                                                                                                "Syntax error at `foo' expecting empty_lb_backends option name.",
	"trigger_event(event = \"empty_lb_backends\", vip = 10.0.0.1, protocol = \"tcp\", load_balancer = \"12345678-abcd-9876-fedc-11119f8e7d6c\");":                               "empty_lb_backends option vip requires string value.",
	"trigger_event(event = \"empty_lb_backends\", vip = \"10.0.0.1:80\", vip = \"10.0.0.2:80\", protocol = \"tcp\", load_balancer = \"12345678-abcd-9876-fedc-11119f8e7d6c\");": "",
	"trigger_event(event = \"empty_lb_backends\", vip = {\"10.0.0.1:80\", \"10.0.0.2:80\"}, protocol = \"tcp\", load_balancer = \"12345678-abcd-9876-fedc-11119f8e7d6c\");":     "Invalid value for \"vip\" option",
	"trigger_event();":                          "Syntax error at `)' Expecting 'event' option.",
	"trigger_event(vip = \"x\");":               "Syntax error at `vip' Expecting 'event' option.",
	"trigger_event(event = empty_lb_backends);": "Syntax error at `empty_lb_backends' Expecting string.",
	"reg0[3] = put_dhcp_opts(offerip = 10.0.0.5, netmask = 255.255.255.0, dns_server = {1.1.1.1, 8.8.8.8}, domain_name = \"a.b\", bootfile_name = \"x\");": "",
	"reg0[3] = put_dhcp_opts();":                                                                                            "put_dhcp_opts requires offerip to be specified.",
	"reg0[3] = put_dhcp_opts(router = 10.0.0.1);":                                                                           "put_dhcp_opts requires offerip to be specified.",
	"reg0[3] = put_dhcp_opts(offerip = \"x\");":                                                                             "DHCPv4 option offerip requires numeric value.",
	"reg0[3] = put_dhcp_opts(offerip = 10.0.0.5, foo = 1);":                                                                 "Syntax error at `foo' expecting DHCPv4 option name.",
	"reg0[3] = put_dhcp_opts(offerip = 10.0.0.5, router = \"x\");":                                                          "DHCPv4 option router requires numeric value.",
	"reg0[3] = put_dhcp_opts(offerip = 10.0.0.5, mtu = \"x\");":                                                             "DHCPv4 option mtu requires numeric value.",
	"reg0[3] = put_dhcp_opts(offerip = 10.0.0.5, mtu = 70000);":                                                             "",
	"reg0[3] = put_dhcp_opts(offerip = 10.0.0.5, mtu = {1, 2});":                                                            "",
	"reg0[3] = put_dhcp_opts(offerip = 10.0.0.5, router = {10.0.0.1, 10.0.0.2});":                                           "",
	"reg0[3] = put_dhcp_opts(offerip = {10.0.0.5, 10.0.0.6});":                                                              "",
	"reg0[3] = put_dhcp_opts(offerip = 10.0.0.5, domain_name = 1.2.3.4);":                                                   "DHCPv4 option domain_name requires string value.",
	"reg0[3] = put_dhcp_opts(offerip = 10.0.0.5, lease_time = 3600, ip_forward_enable = 1, default_ttl = 128, mtu = 1400);": "",
	"reg0[3] = put_dhcp_opts(offerip = 10.0.0.5, ip_forward_enable = 2);":                                                   "",
	"reg0[3] = put_dhcp_opts(offerip = 10.0.0.5, default_ttl = 300);":                                                       "",
	"reg0[3] = put_dhcp_opts(offerip = 10.0.0.5, classless_static_route = {30.0.0.0/24, 10.0.0.4, 40.0.0.0/16, 10.0.0.6});": "",
	"reg0[3] = put_dhcp_opts(offerip = 10.0.0.5, classless_static_route = {30.0.0.0/24});":                                  "",
	"reg0[3] = put_dhcp_opts(offerip = 10.0.0.5, classless_static_route = 30.0.0.0/24);":                                    "",
	"reg0[3] = put_dhcp_opts(offerip = 10.0.0.5, tftp_server_address = {10.0.0.1, 10.0.0.2}, tftp_server = \"x\");":         "",
	"reg0[3] = put_dhcp_opts(offerip = 10.0.0.5, domain_search_list = \"a.b,c.d\", hostname = \"h\", offerip = 10.0.0.6);":  "",
	"reg0 = put_dhcp_opts(offerip = 10.0.0.5);":                                                                             "Cannot use 32-bit field reg0[0..31] where 1-bit field is required.",
	"reg0[3] = put_dhcp_opts(offerip = 10.0.0.5, path_prefix = \"p\", wpad = \"w\", tcp_keepalive_interval = 5, ethernet_encap = 1, arp_cache_timeout = 5, log_server = 1.1.1.1, ntp_server = 1.1.1.1, nis_server = 1.1.1.1, lpr_server = 1.1.1.1, swap_server = 1.1.1.1, policy_filter = 1.1.1.1, router_solicitation = 1.1.1.1, server_id = 1.1.1.1, router_discovery = 1, T1 = 5, T2 = 5, broadcast_address = 1.1.1.1, netbios_name_server = 1.1.1.1, netbios_node_type = 8, tcp_ttl = 5, bootfile_name_alt = \"x\", next_server = 1.1.1.1);": "",
	"reg0[3] = put_dhcpv6_opts(ia_addr = fd00::5, server_id = 0a:00:00:00:00:01);": "",
	"reg0[3] = put_dhcpv6_opts();":                                                                               "",
	"reg0[3] = put_dhcpv6_opts(ia_addr = 10.0.0.1);":                                                             "",
	"reg0[3] = put_dhcpv6_opts(ia_addr = {fd00::5, fd00::6});":                                                   "",
	"reg0[3] = put_dhcpv6_opts(server_id = fd00::1);":                                                            "",
	"reg0[3] = put_dhcpv6_opts(server_id = 5);":                                                                  "",
	"reg0[3] = put_dhcpv6_opts(foo = 1);":                                                                        "Syntax error at `foo' expecting DHCPv6 option name.",
	"reg0[3] = put_dhcpv6_opts(domain_search = fd00::1);":                                                        "DHCPv6 option domain_search requires string value.",
	"reg0[5] = put_nd_ra_opts(addr_mode = \"slaac\", mtu = 1450, prefix = fd00::/64, slla = 0a:00:00:00:00:01);": "",
	"reg0[5] = put_nd_ra_opts();":                                                                                "slla option not present",
	"reg0[5] = put_nd_ra_opts(addr_mode = \"slaac\", mtu = 1450);":                                               "slla option not present",
	"reg0[5] = put_nd_ra_opts(addr_mode = \"slaac\", slla = 0a:00:00:00:00:01);":                                 "prefix option needs to be set when address mode is slaac/dhcpv6_stateless.",
	"reg0[5] = put_nd_ra_opts(addr_mode = \"foo\", slla = 0a:00:00:00:00:01, prefix = fd00::/64);":               "Invalid value for \"addr_mode\" option",
	"reg0[5] = put_nd_ra_opts(addr_mode = \"slaac\", slla = 0a:00:00:00:00:01, prefix = fd00::1);":               "Invalid value for \"prefix\" option",
	"reg0[5] = put_nd_ra_opts(addr_mode = \"slaac\", slla = 0a:00:00:00:00:01, prefix = 10.0.0.0/24);":           "Invalid value for \"prefix\" option",
	"reg0[5] = put_nd_ra_opts(addr_mode = \"dhcpv6_stateful\", slla = 0a:00:00:00:00:01);":                       "",
	"reg0[5] = put_nd_ra_opts(addr_mode = \"dhcpv6_stateless\", slla = 0a:00:00:00:00:01, mtu = \"x\");":         "IPv6 ND RA option mtu requires numeric value.",
	"reg0[5] = put_nd_ra_opts(addr_mode = \"dhcpv6_stateless\", slla = 10.0.0.1);":                               "Invalid value for \"slla\" option",
	"reg0[5] = put_nd_ra_opts(mtu = 1500, slla = 0a:00:00:00:00:01, prefix = fd00::/64);":                        "",
	"reg0[5] = put_nd_ra_opts(addr_mode = \"slaac\", slla = 0a:00:00:00:00:01, prefix = fd00::/64, router_preference = \"HIGH\", route_info = \"HIGH-fd00::/64\", dnssl = \"a.b\", rdnss = fd00::53);": "",
	"reg0[5] = put_nd_ra_opts(addr_mode = \"slaac\", slla = 0a:00:00:00:00:01, prefix = fd00::/64, router_preference = \"FOO\");":                                                                      "Invalid value for \"router_preference\" option",
	"reg0[5] = put_nd_ra_opts(addr_mode = \"slaac\", slla = 0a:00:00:00:00:01, prefix = fd00::/64, rdnss = 1.1.1.1);":                                                                                  "Invalid value for \"rdnss\" option",
	"reg0[5] = put_nd_ra_opts(addr_mode = \"slaac\", slla = 0a:00:00:00:00:01, prefix = fd00::/64, foo = 1);":                                                                                          "Syntax error at `foo' expecting IPv6 ND RA option name.",
	"reg0[5] = put_nd_ra_opts(addr_mode = \"slaac\", slla = 0a:00:00:00:00:01, prefix = fd00::/64, mtu = 1000);":                                                                                       "",
	"reg0[5] = put_nd_ra_opts(addr_mode = \"slaac\", slla = 0a:00:00:00:00:01, prefix = {fd00::/64, fd01::/64});":                                                                                      "Invalid value for \"prefix\" option",
	"commit_lb_aff(vip = 172.30.0.1:80, backend = \"10.0.0.2:8080\", proto = tcp, timeout = 60);":                                                                                                      "Syntax error at `172.30.0.1' invalid parameter.",
	"commit_lb_aff(vip = \"172.30.0.1:80\", backend = 10.0.0.2:8080, proto = tcp, timeout = 60);":                                                                                                      "Syntax error at `10.0.0.2' invalid parameter.",
	strings.Repeat("clone { ", 40): "maximum depth of nested actions reached",
}

func TestWrongActions(t *testing.T) {
	for text, want := range wrongActions {
		if got := errText(wrongAction(text)); got != want {
			t.Errorf("%s\n got %q\nwant %q", text, got, want)
		}
	}
}

// wrongAction parses and annotates, and returns the error.
func wrongAction(text string) error {
	a, err := ParseActions(text)
	if err == nil {
		_, err = a.Annotate(text, SymbolsOf(Profile{}))
	}
	return err
}

// wrongIn are actions that some releases accept, with what the others say of them.
var wrongIn = []struct {
	version    release.Series
	text, want string
}{
	{2303, "next(28);", ""},
	{2303, "next(29);", "\"next\" action cannot advance beyond table 28."},
	{2303, "next(pipeline=egress,table=28);", ""},
	{2303, "ct_commit(ct_mark=1);", ""},
	{2303, "ct_commit(ct_label=0x181716151413121110090807060504030201);", ""},
	{2303, "ct_commit(ct_label=0x1/0x181716151413121110090807060504030201);", ""},
	{2303, "ct_commit(ct_label=-1);", "Syntax error at `-' expecting integer."},
	{2503, "next(29);", ""},
	{2503, "ct_commit(ct_label=0x181716151413121110090807060504030201);", "Syntax error at `(' expecting `;'."},
	{2503, "next(30);", "\"next\" action cannot advance beyond table 29."},
	{2603, "next(33);", ""},
	{2603, "next(34);", "\"next\" action cannot advance beyond table 34."},
	{2603, "next(pipeline=egress,table=33);", "\"next\" action cannot advance beyond table 16."},
	{2603, "ct_commit(ct_mark=1);", "Syntax error at `(' expecting `;'."},
	{0, "next(35);", ""},
	{0, "ct_commit(ct_mark=1);", ""},
}

func TestWrongActionsOfRelease(t *testing.T) {
	for _, w := range wrongIn {
		a, err := ParseActions(w.text)
		if err == nil {
			_, err = a.Annotate(w.text, SymbolsOf(Profile{Version: w.version}))
		}
		if got := errText(err); got != w.want {
			t.Errorf("%v: %s\n got %q\nwant %q", w.version, w.text, got, w.want)
		}
	}
}
