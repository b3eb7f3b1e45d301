package ovnexpr

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Lines without => print as they were read.
var actions = `
drop;
next;
next(5);
next(table=5); => next(5);
next(pipeline=egress,table=6); => next(pipeline=egress, table=6);
next(pipeline=ingress);
output;
reg0 = 1;
reg0=0x10; => reg0 = 0x10;
reg0[0..3] = 5/7;
eth.src = 0a:00:00:00:00:01;
reg1 = 10.0.0.1;
xxreg0 = fd00::1;
outport = "lp \"1\"";
outport = ^PORT;
reg0 = ip4.dst; eth.dst <-> eth.src; xreg0[0..47] = arp.sha;
push(xxreg0[0..31]); pop(reg3);
ip.ttl--; next;
ct_next;
ct_next(dnat); ct_next(snat);
ct_commit;
ct_commit { };
ct_commit {}; => ct_commit { };
ct_commit { ct_mark.blocked = 1; ct_label.label = reg3; }; next;
ct_commit(ct_mark=1, ct_label=0x2/0x2);
ct_commit_to_zone(dnat);
ct_commit_nat;
ct_commit_nat(snat);
ct_dnat;
ct_dnat(10.0.0.1);
ct_dnat(10.0.0.1,1-3000);
ct_snat(fd00::1,5);
ct_snat(^VIP);
ct_snat_in_czone; ct_dnat_in_czone(10.0.0.1);
ct_lb;
ct_lb(); => ct_lb;
ct_lb(backends=10.0.0.1,fd00::1);
ct_lb_mark(backends=10.0.0.1:80,10.0.0.2:80; hash_fields="ip_dst,ip_src"; force_snat);
ct_lb_mark(backends=[fd00::1]:80,[fd00::2]:80; skip_snat);
ct_lb_mark(backends=^B1,^B2:80);
ct_lb_mark_local(backends="lsp1":192.168.0.101:10880,"lsp2":[fd00::2]:80; hash_fields="ip_src"; skip_snat);
ct_lb_mark_local(backends="lsp1":192.168.0.101,"lsp \"2\"":fd00::2);
ct_lb_mark_local(backends="":192.168.0.101,"lsp1":[::1]);
ct_lb_mark_local(backends="lsp1":192.168.0.101:10880, "lsp2":192.168.0.102:10880); => ct_lb_mark_local(backends="lsp1":192.168.0.101:10880,"lsp2":192.168.0.102:10880);
reg8[16..31] = select(1, 2, 3);
reg8[16..31] = select(1=20, 2=80);
reg0 = select(values=(1=1, 2=2); hash_fields="ip_src");
ct_clear; ct_snat_to_vip; igmp; mac_cache_use; flood_remote; handle_dhcpv6_reply;
handle_bfd_msg(); => handle_bfd_msg();
clone { outport = "a"; output; }; next;
arp { eth.dst = ff:ff:ff:ff:ff:ff; arp.spa = reg1; output; };
nd_ns { nd.target = xxreg0; output; };
nd_na { eth.src = 0a:00:00:00:00:01; output; };
nd_na_router { output; };
icmp4 {eth.dst <-> eth.src; icmp4.type = 11; /* Time exceeded */ next; }; => icmp4 { eth.dst <-> eth.src; icmp4.type = 11; next; };
icmp4_error { icmp4.frag_mtu = 1400; next; }; icmp6_error { icmp6.frag_mtu = 1400; };
icmp6 { icmp6.type = 3; };
tcp_reset { output; }; sctp_abort { output; }; reject { outport <-> inport; next(pipeline=egress, table=6); };
get_arp(outport, reg0); get_nd(outport, xxreg0);
put_arp(inport, arp.spa, arp.sha); put_nd(inport, nd.target, nd.tll); put_fdb(inport, eth.src);
handle_svc_check(inport);
reg9[2] = lookup_arp(inport, arp.spa, arp.sha); reg9[3] = lookup_arp_ip(inport, arp.spa);
reg9[2] = lookup_nd(inport, ip6.src, nd.sll); reg9[3] = lookup_nd_ip(inport, ip6.src);
outport = get_fdb(eth.dst); reg0[11] = lookup_fdb(inport, eth.src);
remote_outport = get_remote_fdb(eth.dst);
reg0[4] = dns_lookup(); reg0[6] = chk_lb_hairpin(); reg0[12] = chk_lb_hairpin_reply();
reg0[15] = check_in_port_sec(); reg0[15] = check_out_port_sec();
reg9[5] = chk_ecmp_nh_mac(); reg9[5] = chk_ecmp_nh(); reg9[6] = chk_lb_aff();
reg4 = ct_nw_dst(); xxreg1 = ct_ip6_dst(); reg8[0..15] = ct_tp_dst(); reg1[0..7] = ct_proto(); reg4[0..7] = ct_state_save();
reg0[3] = put_dhcp_opts(offerip = 10.0.0.5, netmask = 255.255.255.0, dns_server = {1.1.1.1, 8.8.8.8}, domain_name = "a.b", bootfile_name = ^X);
reg0[3] = put_dhcpv6_opts(ia_addr = fd00::5, server_id = 0a:00:00:00:00:01);
reg0[5] = put_nd_ra_opts(addr_mode = "slaac", mtu = 1450, prefix = fd00::/64, slla = 0a:00:00:00:00:01);
reg9[7] = dhcp_relay_req_chk(10.0.0.1, 10.0.0.2); reg2 = dhcp_relay_resp_chk(10.0.0.1, 10.0.0.2);
reg9[1] = check_pkt_larger(1500);
set_queue(5);
set_meter(100); set_meter(100, 1000);
log(name="acl \"x\"", severity=alert, verdict=drop, meter="acl_log"); next;
log(verdict=allow); next;
sample(probability=65535,collector_set=1,obs_domain=43,obs_point=$cookie);
sample(probability=1,obs_point=5); sample(probability=1,obs_point=ct_label.obs_point_id);
fwd_group(liveness="true", childports="a", "b"); => fwd_group(liveness="true", childports="a", "b");
fwd_group(liveness="true",childports="a","b"); => fwd_group(liveness="true", childports="a", "b");
commit_ecmp_nh(ipv6 = false, proto = tcp);
commit_lb_aff(vip = "172.30.0.1:80", backend = "10.0.0.2:8080", proto = tcp, timeout = 60);
commit_lb_aff(vip = "[fd00::1]:80", backend = "[fd01::2]:80", proto = udp, timeout = 60);
commit_lb_aff(vip = "[fd00::1]", backend = "[fd01::2]", timeout = 60);
trigger_event(event = "empty_lb_backends", vip = "10.0.0.1:80", protocol = "tcp", load_balancer = "12345678-abcd-9876-fedc-11119f8e7d6c");
bind_vport("sw0-vir", inport);
mirror("mp0"); next;
/* drop */ =>
`

func TestActionsPrint(t *testing.T) {
	for _, c := range cases(actions) {
		in := c.in
		if in == "/* drop */ =>" {
			in, c.out = "/* drop */", ""
		}
		a, err := ParseActions(in)
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if got := a.String(); got != c.out {
			t.Errorf("%s\n got %s\nwant %s", in, got, c.out)
		}
		again, err := ParseActions(a.String())
		if err != nil {
			t.Errorf("%s, printed: %v", in, err)
		} else if diff := cmp.Diff(a, again, equalTrees); diff != "" {
			t.Errorf("%s: the printed text parses to other actions (-first +second)\n%s", in, diff)
		}
	}
}
