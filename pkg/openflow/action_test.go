package openflow

import (
	"reflect"
	"testing"
)

// Lines without an out print as they were read.
var actionTexts = []struct{ in, out string }{
	{in: "drop"},
	{in: "load:0x1->NXM_NX_REG10[0],resubmit(,8)"},
	{in: "set_field:0x3/0xff->reg15,set_field:0->reg0,set_field:0a:58:0a:f4:02:01->eth_src"},
	{in: "set_field:0x200000000000000000000000000/0x200000000000000000000000000->xxreg0"},
	{in: "set_field:fd98::1->ipv6_src,set_field:192.0.2.0/24->ip_dst,set_field:96/0xf0->tcp_src"},
	{in: "set_field:ANY->xreg1,set_field:ANY->in_port"},
	{in: "set_field:3/0x3->nw_ecn,set_field:3->nw_ecn,set_field:::113.106.64.0/::127.255.192.0->ipv6_src"},
	{in: "move:NXM_NX_REG14[0..14]->NXM_NX_TUN_METADATA0[16..30]"},
	{in: "push:NXM_OF_IN_PORT[],pop:NXM_NX_REG0[0..15]"},
	{in: "mod_dl_src:0a:58:0a:f4:02:01,mod_nw_src:192.0.2.1,mod_tp_dst:80,mod_nw_tos:4,mod_vlan_vid:5,set_tunnel:0x5"},
	{in: "set_mpls_ttl(5)"},
	{in: "resubmit:5,resubmit(5,6),resubmit(,6),resubmit(,6,ct),resubmit(5,),resubmit(IN_PORT,6)"},
	{in: "goto_table:10"},
	{in: "ct(table=43,zone=NXM_NX_REG13[0..15])"},
	{in: "ct(commit,table=21,zone=NXM_NX_REG13[0..15],nat(dst=10.244.1.5:8080),exec(set_field:0x2/0x2->ct_mark,set_field:0x8/0x8->ct_mark))"},
	{in: "ct(commit,force,table=3,zone=5,exec(set_field:0x1->ct_mark,nat),alg=ftp)"},
	{in: "ct(commit,nat(src=192.0.2.1-192.0.2.9:80-90,persistent,random))"},
	{in: "ct(commit,zone=5,nat(dst=[fd00::1]-[fd00::9]:80-90,hash))"},
	{in: "ct(nat(src=fd00::1))"},
	{in: "ct(nat(dst=[fd00::1]:80))"},
	{in: "ct(commit,nat(src)),ct(nat),ct()"},
	{in: "ct_clear,clone(ct_clear,clone(output:5),resubmit(,8))"},
	{in: "output:5,output:\"eth-0\",output:NXM_NX_REG0[0..15],output(port=5,max_len=100),LOCAL,IN_PORT,NORMAL,FLOOD,ALL,TABLE"},
	{in: "5,\"eth-0\"", out: "output:5,output:\"eth-0\""},
	{in: "CONTROLLER:128"},
	{in: "controller", out: "CONTROLLER:65535"},
	{in: "controller(reason=no_match,max_len=128,id=77,userdata=00.00.0a,pause,meter_id=5)"},
	{in: "controller(userdata=00.00.00.00.00.00.00.00)"},
	{in: "group:5,meter:1,set_queue:5,pop_queue"},
	{in: "learn(table=68,delete_learned,cookie=0x5,eth_type=0x800,NXM_OF_IP_SRC[],ip_dst=192.0.2.1,NXM_NX_REG0[]=NXM_NX_REG1[],load:0x1->NXM_NX_REG10[7],load:NXM_OF_IN_PORT[]->NXM_NX_REG0[0..15],output:NXM_OF_IN_PORT[])"},
	{in: "note:00.11.22.33.44.55"},
	{in: "check_pkt_larger(1500)->NXM_NX_REG9[0]"},
	{in: "dec_ttl,dec_ttl(),dec_ttl(1,2),dec_mpls_ttl,dec_nsh_ttl"},
	{in: "push_vlan:0x8100,pop_vlan,strip_vlan"},
	{in: "push_mpls:0x8847,pop_mpls:0x0800"},
	{in: "write_metadata:0x5/0x7,write_actions(output:5),clear_actions"},
	{in: "conjunction(5,1/2)"},
	{in: "enqueue:5:2"},
	{in: "bundle(eth_src,0,active_backup,ofport,members:5,6)"},
	{in: "bundle_load(eth_src,0,hrw,ofport,NXM_NX_REG0[],members:5,6)"},
	{in: "multipath(eth_src,50,modulo_n,1,0,NXM_NX_REG0[])"},
	{in: "sample(probability=100,collector_set_id=1,obs_domain_id=5,obs_point_id=7,sampling_port=5,egress)"},
	{in: "sample(probability=65535,collector_set_id=1,obs_domain_id=5,obs_point_id=NXM_NX_REG0[])"},
	{in: "fin_timeout(idle_timeout=5,hard_timeout=10)"},
	{in: "encap(nsh(md_type=1)),encap(ethernet),decap(),decap(packet_type(ns=0,type=0))"},
	{in: "delete_field:tun_metadata0"},
	{in: "exit"},
	{in: " output:1 , output:2 ", out: "output:1,output:2"},
	{in: "brand_new(a=1,b(c:2,d),\"x\")->NXM_NX_REG0[],brand_new"},
}

func TestParseActions(t *testing.T) {
	for _, c := range actionTexts {
		want := c.out
		if want == "" {
			want = c.in
		}
		got, err := ParseActions(c.in)
		if err != nil {
			t.Errorf("ParseActions(%q): %v", c.in, err)
			continue
		}
		if got.String() != want {
			t.Errorf("ParseActions(%q)\n got %s\nwant %s", c.in, got, want)
		}
		again, err := ParseActions(got.String())
		if err != nil || c.out == "" && !reflect.DeepEqual(again, got) {
			t.Errorf("ParseActions(%q) again: %v, %v", c.in, again, err)
		}
	}
}

func TestParseActionsErrors(t *testing.T) {
	for _, c := range []struct{ in, err string }{
		{"load:0x1->NXM_NX_REG99[]", `unknown field NXM_NX_REG99 at offset 5 near "0x1->NXM_NX_REG99[]"`},
		{"clone(output:5", `missing ) at offset 5 near "(output:5"`},
		{"output:1,set_field:0x100000000->reg0", `value too wide for the 32 bits of reg0 at offset 19 near "0x100000000->reg0"`},
		{"resubmit(,8),ct(zone=nope)", `unknown field nope at offset 21 near "nope)"`},
		{"ct(commit,nat(src=1.2.3))", `bad address of nat at offset 18 near "1.2.3))"`},
		{"output:\"eth0", `unterminated quoted name at offset 7 near "\"eth0"`},
		{"output:1)", `unexpected ) at offset 8 near ")"`},
		{"move:NXM_NX_REG0[]->NXM_NX_REG1[0..3]", `move: fields of different width at offset 0 near "move:NXM_NX_REG0[]->NXM_NX_REG1[0..3]"`},
	} {
		_, err := ParseActions(c.in)
		if err == nil || err.Error() != c.err {
			t.Errorf("ParseActions(%q)\n got %v\nwant %s", c.in, err, c.err)
		}
	}
}
