package packet

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

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ in, err string }{
		{"ip,nonesuch=1", `unknown field nonesuch at offset 3 near "nonesuch=1"`},
		{"ip,nonesuch", `unknown keyword nonesuch at offset 3 near "nonesuch"`},
		{"ip,nw_src=10.0.0.0/8", `mask not allowed in a flow at offset 3 near "nw_src=10.0.0.0/8"`},
		{"reg0=0x100000000", `value too wide for the 32 bits of reg0 at offset 0 near "reg0=0x100000000"`},
		{`in_port="eth0`, `unterminated value at offset 8 near "\"eth0"`},
	} {
		if _, err := Parse(c.in); err == nil || err.Error() != c.err {
			t.Errorf("Parse(%q)\n got %v\nwant %s", c.in, err, c.err)
		}
	}
}

func TestOverlap(t *testing.T) {
	var p Flow
	p.Set(MustField("xxreg0"), Value{Hi: 0x1111111122222222, Lo: 0x3333333344444444})
	for name, want := range map[string]uint64{"reg0": 0x11111111, "reg1": 0x22222222, "reg2": 0x33333333, "reg3": 0x44444444,
		"xreg0": 0x1111111122222222, "xreg1": 0x3333333344444444} {
		if got := p.Uint(name); got != want {
			t.Errorf("%s = %#x, want %#x", name, got, want)
		}
	}
	sub, err := ParseSubfield("NXM_NX_XXREG0[111]")
	if err != nil {
		t.Fatal(err)
	}
	sub.Set(&p, Uint(0))
	sub.Set(&p, Uint(1))
	if got := p.Uint("reg0"); got != 0x11119111 {
		t.Errorf("reg0 = %#x", got)
	}
}

func TestVLAN(t *testing.T) {
	var p Flow
	p.Set(&DLVLAN, Uint(5))
	p.Set(&DLVLANPCP, Uint(3))
	if got := p.Uint("vlan_tci"); got != 0x7005 {
		t.Errorf("vlan_tci = %#x", got)
	}
	if !p.Meets(NeedsVLAN) || p.Uint("vlan_pcp") != 3 {
		t.Error("no tag")
	}
}

// TestCopy checks that a copy is a flow of its own, with its tunnel options.
func TestCopy(t *testing.T) {
	var p Flow
	p.Set(TunMetadata(3), Uint(7))
	p.Set(Reg(1), Uint(1))
	q := p
	q.Set(TunMetadata(3), Uint(8))
	q.Set(TunMetadata(1), Uint(9))
	q.Set(Reg(1), Uint(2))
	if p.Get(TunMetadata(3)) != Uint(7) || p.HasOption(1) || p.Uint("reg1") != 1 {
		t.Errorf("the original changed: %s", p.String())
	}
	if p.Equal(&q) {
		t.Error("different flows are equal")
	}
	q.ClearTunnel()
	if q.HasOption(3) || !p.HasOption(3) {
		t.Error("ClearTunnel is wrong")
	}
}

func TestMeets(t *testing.T) {
	for _, c := range []struct {
		flow string
		need Prereq
		want bool
	}{
		{"tcp", NeedsTCP, true}, {"tcp6", NeedsTCP, true}, {"udp", NeedsTCP, false}, {"tcp,nw_frag=later", NeedsTCP, false}, {"tcp,nw_frag=first", NeedsTCP, true},
		{"icmp6,icmp_type=135", NeedsND, true}, {"icmp6,icmp_type=135", NeedsNDAdvert, false}, {"icmp6,icmp_type=136", NeedsNDAdvert, true},
		{"icmp,icmp_type=135", NeedsND, false}, {"arp", NeedsARP, true}, {"arp", NeedsIP, false}, {"ip", NeedsIPv6, false}, {"ip", None, true},
		{"ip,ct_state=trk|new", NeedsCT, true}, {"ip,ct_state=new", NeedsCT, false}, {"ip,ct_state=trk|inv", NeedsCT, false},
		{"packet_type=(1,0x800)", NeedsEthernet, false}, {"mpls", NeedsMPLS, true}, {"vlan_tci=0x1000", NeedsVLAN, true}, {"dl_type=0x894f", NeedsNSH, true},
	} {
		p, err := Parse(c.flow)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Meets(c.need); got != c.want {
			t.Errorf("%s meets %d: %v", c.flow, c.need, got)
		}
	}
}
