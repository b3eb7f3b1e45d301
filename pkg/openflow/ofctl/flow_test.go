package ofctl

import (
	"errors"
	"strings"
	"testing"
)

// underlined are flows with what of them is underlined.
var underlined = map[string]string{
	"ip,nw_src=1.2.3,actions=1":                            "1.2.3",
	"foo=1,actions=1":                                      "foo=1",
	"priority=70000,actions=1":                             "70000",
	"actions=1,bogus(1),2":                                 "bogus(1",
	"actions=set_field:1->reg99,2":                         "reg99",
	"actions=load:0x1ffff->NXM_NX_REG0[0..15]":             "0x1ffff->NXM_NX_REG0[0..15]",
	"ip,actions=1,set_field:80->tcp_dst,2":                 "set_field:80->tcp_dst",
	"ip,actions=ct(commit,exec(load:1->reg0)),1":           "load:1->reg0",
	"table=5,actions=goto_table:3":                         "goto_table:3",
	"actions=1,meter:7":                                    "meter:7",
	"actions=mod_tp_dst:5,push_vlan:0x8100":                "mod_tp_dst:5",
	"actions=clone(1,write_metadata:5),2":                  "write_metadata:5",
	"ip,actions=ct(nat(src=1.1.1.9-1.1.1.1),table=3)":      "1.1.1.9-1.1.1.1",
	"actions=learn(table=1,reg0[0..3]=99)":                 "reg0[0..3]=99",
	"actions=multipath(eth_src,0,hrw,9,0,reg0[40])":        "reg0[40]",
	"actions=conjunction(1,1/2),5":                         "5",
	"actions=drop,5":                                       "drop",
	"reg0[40]=5,actions=1":                                 "reg0[40]",
	"tcp,tcp_flags=+foo,actions=1":                         "+foo",
	"tun_metadata0=1,tun_metadata0=2,actions=1":            "tun_metadata0=2",
	"actions=output(port=1,max_len=5)":                     "5",
	"actions=encap(nsh(md_type=5))":                        "5",
	"actions=resubmit(1,300)":                              "1,300",
	"udp,actions=set_field:1->udp_src,mod_nw_tos:3":        "3",
	"dl_type=0x894f,actions=set_field:64->nsh_ttl":         "64->nsh_ttl",
	"ip,actions=move:NXM_OF_IP_SRC[]->NXM_OF_IP_PROTO[],1": "NXM_OF_IP_SRC[]->NXM_OF_IP_PROTO[]",
}

func TestUnderlined(t *testing.T) {
	for flow, want := range underlined {
		_, err := ParseFlow(flow, Names{})
		e, ok := errors.AsType[*Error](err)
		if !ok {
			t.Errorf("%s: %v", flow, err)
			continue
		}
		text, marks, _ := strings.Cut(e.Caret(), "\n")
		at := strings.IndexByte(marks, '^')
		if got := text[at : at+len(strings.TrimSpace(marks))]; got != want {
			t.Errorf("%v\n%s\nwant below %s", err, e.Caret(), want)
		}
	}
}

// understood are flows with what ovs-ofctl understands.
var understood = map[string]string{
	"ip6 reg3[]=3 actions=flood normal in_port":                     "ipv6,reg3=0x3 actions=FLOOD,NORMAL,IN_PORT",
	"tcp,tp_src[5]=1,udp,actions=output(10)":                        "udp,tp_src=0x20/0x20 actions=output:10",
	"actset_output=unset,actions=output:reg0":                       "actset_output=UNSET actions=output:NXM_NX_REG0[]",
	"table=3,ip,nw_src=300.1.1.1,actions=Output:Local":              "table=3, ip,nw_src=44.1.1.1 actions=LOCAL",
	"ip,dl_vlan=0xffff actions=1":                                   "ip,vlan_tci=0x0000 actions=output:1",
	"dl_vlan=0xffff,dl_vlan_pcp=2 actions=1":                        "dl_vlan=0,dl_vlan_pcp=2 actions=output:1",
	"dl_vlan_pcp=2,dl_vlan=5 actions=1":                             "dl_vlan=5,dl_vlan_pcp=2 actions=output:1",
	"ip,tcp_flags=2/0xfff actions=CONTROLLER:":                      "ip actions=CONTROLLER:65535",
	"actions=meter:1,clone(dec_ttl),fin_timeout(idle_timeout=5)":    "actions=meter:1,clone(dec_ttl),fin_timeout(idle_timeout=5)",
	"ip,nw_src=1.1.1.1,ip_src=2.2.2.2/8,dl_vlan=5000 actions=":      "ip,nw_src=2.0.0.0/8,dl_vlan=904 actions=drop",
	"reg0[0..3]=5,reg0[8]=1,in_port=eth0,actions=\"eth0\"":          "reg0=0x105/0x10f,in_port=eth0 actions=output:eth0",
	"ip,actions=ct(commit,exec(load(1->ct_mark)":                    "ip actions=ct(commit,exec(load:0x1->NXM_NX_CT_MARK[]))",
	"actions=bundle_load(eth_src,0,hrw,ofport,reg1[],slaves:[1,2])": "actions=bundle_load(eth_src,0,hrw,ofport,NXM_NX_REG1[],members:1,2)",
	"n_packets=x, duration=5s,cookie=010 actions=note:1.2":          "",
}

func TestUnderstood(t *testing.T) {
	for flow, want := range understood {
		e, err := ParseFlow(flow, Names{Ports: []string{"eth0"}})
		if err != nil && want != "" || err == nil && e.String() != want {
			t.Errorf("%s: %s %v, want %s", flow, e, err, want)
		}
	}
}

func FuzzParseFlow(f *testing.F) {
	for flow := range underlined {
		f.Add(flow)
	}
	for flow := range understood {
		f.Add(flow)
	}
	f.Fuzz(func(t *testing.T, flow string) {
		e, err := ParseFlow(flow, Names{})
		if refused, ok := errors.AsType[*Error](err); ok && (refused.Offset < 0 || refused.Offset+refused.Length > len(flow)) {
			t.Errorf("%q: %+v", flow, refused)
		}
		if err != nil {
			return
		}
		again, err := ParseFlow(e.String(), Names{})
		if err == nil && again.String() != e.String() {
			t.Errorf("%q is %q, and that %q", flow, e, again)
		}
	})
}
