package flow

import "testing"

// Lines without an out print as they were read.
var flows = []struct{ in, out string }{
	{in: "tcp,reg0=0x1,metadata=0x5,in_port=1,vlan_tci=0x0000,dl_src=00:00:00:00:00:00,dl_dst=00:00:00:00:00:00,nw_src=1.1.1.1,nw_dst=2.2.2.2,nw_tos=0,nw_ecn=0,nw_ttl=64,nw_frag=no,tp_src=0,tp_dst=80,tcp_flags=syn"},
	{in: "ct_state=new|trk|snat,tcp6,ct_ipv6_src=::1,ct_ipv6_dst=::2,ct_nw_proto=6,ct_tp_src=4,in_port=1,vlan_tci=0x0000,dl_src=00:00:00:00:00:00,dl_dst=00:00:00:00:00:00,ipv6_src=::,ipv6_dst=::,ipv6_label=0x00000,nw_tos=0,nw_ecn=0,nw_ttl=0,nw_frag=no,tp_src=0,tp_dst=0,tcp_flags=0"},
	{in: "recirc_id=0x24,ct_state=new|trk,eth,ip,reg0=0x1,in_port=9,vlan_tci=0x0000,dl_src=82:ff:e7:83:99:a9,dl_dst=00:00:00:d3:4b:aa,nw_src=192.168.3.2,nw_dst=192.168.2.3,nw_proto=0,nw_tos=0,nw_ecn=0,nw_ttl=32",
		out: "recirc_id=0x24,ct_state=new|trk,ip,reg0=0x1,in_port=9,vlan_tci=0x0000,dl_src=82:ff:e7:83:99:a9,dl_dst=00:00:00:d3:4b:aa,nw_src=192.168.3.2,nw_dst=192.168.2.3,nw_proto=0,nw_tos=0,nw_ecn=0,nw_ttl=32,nw_frag=no"},
	{in: `in_port="ovn-a-0",tun_id=0x9,tun_metadata0=0x10007`, out: `tun_id=0x9,tun_metadata0=0x10007,in_port="ovn-a-0",vlan_tci=0x0000,dl_src=00:00:00:00:00:00,dl_dst=00:00:00:00:00:00,dl_type=0x0000`},
	{in: "arp,in_port=1,vlan_tci=0x0000,dl_src=00:00:00:00:00:00,dl_dst=00:00:00:00:00:00,arp_spa=1.2.3.4,arp_tpa=1.2.3.5,arp_op=1,arp_sha=00:00:00:00:00:01,arp_tha=00:00:00:00:00:00"},
	{in: "xxreg0=0x1000000020000000300000004,in_port=LOCAL", out: "reg0=0x1,reg1=0x2,reg2=0x3,reg3=0x4,in_port=LOCAL,vlan_tci=0x0000,dl_src=00:00:00:00:00:00,dl_dst=00:00:00:00:00:00,dl_type=0x0000"},
	{in: "in_port=1,ip,dl_vlan=5", out: "ip,in_port=1,dl_vlan=5,dl_vlan_pcp=0,dl_src=00:00:00:00:00:00,dl_dst=00:00:00:00:00:00,nw_src=0.0.0.0,nw_dst=0.0.0.0,nw_proto=0,nw_tos=0,nw_ecn=0,nw_ttl=0,nw_frag=no"},
	{in: "icmp6,in_port=1,vlan_tci=0x0000,dl_src=00:00:00:00:00:00,dl_dst=00:00:00:00:00:00,ipv6_src=::,ipv6_dst=::,ipv6_label=0x00000,nw_tos=0,nw_ecn=0,nw_ttl=0,nw_frag=no,icmp_type=136,icmp_code=0,nd_target=fe80::2,nd_sll=00:00:00:00:00:00,nd_tll=00:01:02:03:04:05",
		out: "icmp6,in_port=1,vlan_tci=0x0000,dl_src=00:00:00:00:00:00,dl_dst=00:00:00:00:00:00,ipv6_src=::,ipv6_dst=::,ipv6_label=0x00000,nw_tos=0,nw_ecn=0,nw_ttl=0,nw_frag=no,icmpv6_type=136,icmpv6_code=0,nd_target=fe80::2,nd_tll=00:01:02:03:04:05"},
}

func TestParse(t *testing.T) {
	for _, c := range flows {
		want := c.out
		if want == "" {
			want = c.in
		}
		f, err := Parse(c.in)
		if err != nil {
			t.Errorf("Parse(%q): %v", c.in, err)
			continue
		}
		if got := f.String(); got != want {
			t.Errorf("Parse(%q).String()\n got %s\nwant %s", c.in, got, want)
		}
		again, err := Parse(f.String())
		if err != nil || again.String() != want {
			t.Errorf("Parse(%q) again: %s, %v", want, again.String(), err)
		}
	}
}
