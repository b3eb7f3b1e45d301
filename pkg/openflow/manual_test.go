//go:build lab

package openflow

import (
	"compress/gzip"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// allGroups are groups of each type.
var allGroups = []string{
	"group_id=1,type=all,bucket=bucket_id:1,set_field:5->reg0,output:2,bucket=bucket_id:2,resubmit(,5)",
	"group_id=2,type=select,selection_method=hash,selection_method_param=7,fields(ip_src,ip_dst,tcp_src=0xff00),bucket=bucket_id:1,weight:100,set_field:9->reg1,output:4,bucket=bucket_id:2,weight:50,ct_clear,output:3",
	"group_id=3,type=select,selection_method=dp_hash,bucket=bucket_id:1,weight:100,ct(commit,table=5,zone=NXM_NX_REG13[0..15],nat(dst=[fd00::1]:80)),bucket=bucket_id:7,weight:0,drop",
	"group_id=4,type=indirect,bucket=bucket_id:1,dec_ttl,output:LOCAL",
	"group_id=5,type=ff,bucket=bucket_id:1,watch_port:1,output:1,bucket=bucket_id:2,watch_group:4,group:4",
	"group_id=6,type=select,selection_method=hash,fields=ip_src,bucket=bucket_id:1,output:1",
}

// allActions are lists of actions in which each of ovs-actions(7) occurs.
var allActions = []string{
	"output:1,output:NXM_NX_REG0[0..15],output(port=5,max_len=100),LOCAL,IN_PORT,NORMAL,FLOOD,ALL",
	"controller,controller:128,controller(reason=no_match,max_len=128,id=77,userdata=00.00.0a,pause),controller(id=1,meter_id=1)",
	"enqueue:5:2", "enqueue(5,2)",
	"bundle(eth_src,0,active_backup,ofport,members:5,6)", "bundle(symmetric_l3l4+udp,60,hrw,ofport,slaves:1,LOCAL)",
	"bundle_load(eth_src,0,hrw,ofport,NXM_NX_REG0[],members:5,6)", "group:1",
	"strip_vlan", "push_vlan:0x8100,set_field:4101->vlan_vid", "push_vlan:0x88a8,mod_vlan_vid:5,mod_vlan_pcp:3", "mod_vlan_vid:5,mod_vlan_pcp:3",
	"encap(nsh(md_type=1))", "encap(nsh(md_type=2,tlv(0x1000,10,0x12345678),tlv(0x2000,20,0xfedcba9876543210)))", "decap()", "encap(ethernet)",
	"load:0x1->NXM_NX_REG10[0],load:0xffff->OXM_OF_METADATA[16..31],move:NXM_NX_REG14[0..14]->NXM_NX_TUN_METADATA0[16..30]",
	"set_field:0x5/0xff->reg15,set_field:0a:58:0a:f4:02:01->eth_src,set_field:01:00:00:00:00:00/01:00:00:00:00:00->eth_dst",
	"set_field:0x200000000000000000000000000/0x200000000000000000000000000->xxreg0,set_field:0x1->xreg4,set_field:192.0.2.1->tun_dst,set_field:fd00::1->tun_ipv6_dst",
	"set_field:0x7->tun_id,set_field:1->tun_gbp_id,set_field:0x2->tun_gbp_flags,set_field:oam->tun_flags", "load:0x1->NXM_NX_TUN_FLAGS[0]",
	"set_field:2->tun_erspan_ver,set_field:0x5->tun_erspan_idx,set_field:1->tun_erspan_dir,set_field:0x3f->tun_erspan_hwid",
	"mod_dl_src:0a:58:0a:f4:02:01,mod_dl_dst:0a:58:0a:f4:02:02", "set_tunnel:0x5,set_tunnel64:0x123456789a",
	"dec_ttl", "dec_ttl(1,2)", "check_pkt_larger(1500)->NXM_NX_REG9[0]", "delete_field:tun_metadata0", "set_queue:5,pop_queue",
	"ct_clear", "resubmit:5,resubmit(5,6),resubmit(,6),resubmit(5),resubmit(IN_PORT,6)",
	"clone(ct_clear,clone(output:5),resubmit(,8))", "push:NXM_OF_IN_PORT[],pop:NXM_NX_REG0[0..15]", "exit",
	"multipath(eth_src,50,modulo_n,1,0,NXM_NX_REG0[])", "multipath(symmetric_l4,1024,iter_hash,5,0,NXM_NX_REG0[5..10])",
	"note:00.11.22.33.44.55", "note:11.22",
	"sample(probability=100,collector_set_id=1,obs_domain_id=5,obs_point_id=7)", "sample(probability=65535,collector_set_id=1,obs_domain_id=5,obs_point_id=7,sampling_port=5,egress)",
	"meter:1,output:1", "write_actions(set_field:5->reg0,output:5)", "clear_actions", "write_metadata:0x5/0x7", "goto_table:201", "drop", "conjunction(5,1/2),conjunction(6,2/3)", "conjunction(7,1/2),note:01.02.03.04.05.06",
}

// forPackets are actions that need a packet of a kind.
var forPackets = map[string][]string{
	"ip": {"set_field:10.0.0.1/24->ip_src",
		"ct(commit,force,zone=5,exec(set_field:0x1/0x1->ct_mark,set_field:0x10/0xf0->ct_label,move:NXM_NX_REG0[]->NXM_NX_CT_LABEL[96..127]))",
		"ct(table=43,zone=NXM_NX_REG13[0..15],nat)", "ct(commit,nat(src=192.0.2.1-192.0.2.9:80-90,random))", "ct(commit,nat(src=192.0.2.1-192.0.2.9,persistent,hash))", "ct(commit)",
		"learn(table=68,idle_timeout=20,hard_timeout=30,fin_idle_timeout=5,fin_hard_timeout=6,priority=7,cookie=0x5,send_flow_rem,delete_learned,limit=9,result_dst=NXM_NX_REG1[0],eth_type=0x800,NXM_OF_IP_SRC[],ip_dst=192.0.2.1,NXM_NX_REG0[]=NXM_NX_REG1[],load:0x1->NXM_NX_REG10[7],load:NXM_OF_IN_PORT[]->NXM_NX_REG0[0..15],output:NXM_OF_IN_PORT[])",
		"mod_nw_src:192.0.2.1,mod_nw_dst:192.0.2.2", "mod_nw_tos:16,mod_nw_ecn:2,mod_nw_ttl:9", "set_field:3->nw_ecn,set_field:16->nw_tos,set_field:9->nw_ttl", "move:NXM_OF_IP_SRC[]->NXM_OF_IP_DST[]"},
	"tcp":                             {"mod_tp_src:80,mod_tp_dst:81", "set_field:80->tcp_src,set_field:0x50/0xf0->tcp_dst", "fin_timeout(idle_timeout=5,hard_timeout=10)", "fin_timeout()"},
	"udp6":                            {"mod_tp_src:80", "set_field:fd98::1->ipv6_src,set_field:::1/::ff->ipv6_dst,set_field:0x5->ipv6_label,set_field:5->udp_dst"},
	"udp":                             {"ct(commit,nat(dst=192.0.2.1:80))", "ct(commit,alg=tftp)"},
	"ct_state=+trk+est,udp":           {"resubmit(,6,ct)"},
	"tcp6":                            {"ct(commit,nat(dst=[fd00::1]:80),alg=ftp)", "ct(commit,nat(src=fd00::1-fd00::9))"},
	"icmp":                            {"set_field:3->icmp_type,set_field:4->icmp_code"},
	"icmp6,icmp_type=135,icmp_code=0": {"set_field:fe80::1->nd_target,set_field:00:01:02:03:04:05->nd_sll", "set_field:5->nd_reserved,set_field:2->nd_options_type"},
	"arp":                             {"set_field:2->arp_op,set_field:10.0.0.1->arp_spa,set_field:00:01:02:03:04:05->arp_tha"},
	"mpls":                            {"set_mpls_label:5,set_mpls_tc:3,set_mpls_ttl:9,dec_mpls_ttl", "set_field:5->mpls_label,set_field:3->mpls_tc,set_field:9->mpls_ttl", "pop_mpls:0x0800", "decap(packet_type(ns=1,type=0x8847)),output:1"},
	"ip,nw_ttl=5":                     {"push_mpls:0x8847", "encap(mpls)"},
	"dl_vlan=5":                       {"strip_vlan", "pop_vlan", "set_field:3->vlan_pcp"},
	"dl_type=0x894f":                  {"dec_nsh_ttl", "set_field:0x5->nsh_spi,set_field:7->nsh_si,set_field:0x1/0xff->nsh_c1,set_field:2->nsh_flags,set_field:9->nsh_ttl"},
}

// allMatches are matches in which each field of ovs-fields(7) occurs, but for
// registers and tunnel options of higher numbers.
var allMatches = []string{
	"conj_id=5", "tun_id=0x7/0xff,tun_src=192.0.2.0/24,tun_dst=192.0.2.1", "tun_ipv6_src=fd00::/64,tun_ipv6_dst=fd00::1",
	"tun_gbp_id=5,tun_gbp_flags=0x2", "tun_gbp_id=0x5/0xf", "tun_erspan_ver=1,tun_erspan_idx=0x5", "tun_erspan_ver=2,tun_erspan_dir=1,tun_erspan_hwid=0x3f", "tun_gtpu_flags=0x30,tun_gtpu_msgtype=255",
	"tun_flags=oam", "tun_flags=+oam", "tun_metadata0=0x1/0xff", "tun_metadata1", "in_port=5", "in_port=LOCAL", "in_port_oxm=5", "pkt_mark=0x5/0xff", "actset_output=5", "packet_type=(1,0x800)", "packet_type=(0,0)",
	"ct_state=+trk+new-inv,ct_zone=5,ct_mark=0x1/0x3,ct_label=0x1/0xff000000000000000000000000000001", "ct_state=+trk,ct_state=-est", "ct_state=0x21/0x23",
	"ct_state=+trk+est,ip,ct_nw_src=10.0.0.0/8,ct_nw_dst=10.0.0.1,ct_nw_proto=6,ct_tp_src=80,ct_tp_dst=0x50/0xfff0", "ct_state=+trk+est,ipv6,ct_ipv6_src=fd00::1,ct_ipv6_dst=fd00::/64",
	"metadata=0x5/0xff", "reg0=0x5,reg15=0x1/0x1", "xreg0=0x123456789abcdef0", "xxreg3=0x5/0xff",
	"dl_src=00:01:02:03:04:05,dl_dst=01:00:00:00:00:00/01:00:00:00:00:00,dl_type=0x1234", "eth_src=00:01:02:03:04:05,eth_dst=00:01:02:03:04:06,eth_type=0x88cc",
	"vlan_tci=0x1005/0x1fff", "vlan_tci=0", "dl_vlan=5,dl_vlan_pcp=3", "vlan_vid=0x1000/0x1000", "vlan_vid=4101,vlan_pcp=2", "dl_vlan=0xffff",
	"mpls,mpls_label=5,mpls_tc=3,mpls_bos=1,mpls_ttl=9", "mplsm,mpls_label=7",
	"ip,nw_src=10.0.0.1/255.0.255.0,nw_dst=10.0.0.0/8,nw_proto=5,nw_tos=16,nw_ecn=2,nw_ttl=64", "ip,ip_src=10.0.0.1,ip_dst=10.0.0.2,ip_proto=9,ip_dscp=4,ip_ecn=1",
	"ip,nw_frag=no", "ip,nw_frag=yes", "ip,ip_frag=first", "ip,nw_frag=later", "ip,nw_frag=not_later", "ipv6,nw_frag=later,ipv6_src=fd00::1/ffff::ffff,ipv6_dst=fd00::/64,ipv6_label=0x5/0xff",
	"arp,arp_op=1,arp_spa=10.0.0.1,arp_tpa=10.0.0.0/8,arp_sha=00:01:02:03:04:05,arp_tha=00:01:02:03:04:06", "rarp,nw_proto=3",
	"dl_type=0x894f,nsh_flags=1/1,nsh_ttl=9,nsh_mdtype=1,nsh_np=3,nsh_spi=0x5,nsh_si=7,nsh_c1=0x1,nsh_c2=0x2/0xff,nsh_c3=0x3,nsh_c4=0x4",
	"tcp,tp_src=80,tp_dst=0x50/0xfff0,tcp_flags=+syn-ack", "tcp,tcp_flags=0x12/0x3f", "tcp,tcp_flags=syn|ack", "tcp6,tcp_src=80,tcp_dst=81", "udp,udp_src=80,udp_dst=81", "udp6,tp_dst=0x50/0xfff0", "sctp,sctp_src=80,sctp_dst=81", "sctp6,tp_src=9",
	"icmp,icmp_type=8,icmp_code=0", "icmp6,icmpv6_type=128,icmpv6_code=0", "icmp6,icmp_type=135,icmp_code=0,nd_target=fe80::/10,nd_sll=00:01:02:03:04:05", "icmp6,icmp_type=136,icmp_code=0,nd_tll=00:01:02:03:04:05,nd_reserved=5,nd_options_type=2",
}

// allFlows are flows with all of them, as add-flow takes them.
func allFlows() []string {
	var list []string
	for _, a := range allActions {
		list = append(list, "actions="+a)
	}
	for kind, actions := range forPackets {
		for _, a := range actions {
			list = append(list, kind+",actions="+a)
		}
	}
	for _, m := range allMatches {
		list = append(list, m+",actions=drop")
	}
	return append(list, "idle_timeout=100,hard_timeout=700,importance=7,send_flow_rem,check_overlap,reset_counts,no_packet_counts,no_byte_counts,cookie=0xfeedface12345678,actions=1")
}

// manual returns the source of a manual page as it is installed.
func manual(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatalf("%v (openvswitch-common has it)", err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(io.LimitReader(z, 1<<24))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

var (
	fieldName  = regexp.MustCompile(`(?m)^Name:;\\fB(\w+)\\fR(?: \(aka (.*)\))?$`)
	syntax     = regexp.MustCompile(`(?s)Syntax\\fP:\n(?:\.[^\n]*\n)*?\.nf\n(.*?)\.fi`)
	actionName = regexp.MustCompile(`(?m)^\\fB([a-z_]+)`)
	anyWord    = regexp.MustCompile(`\w+`)
)

// TestManual walks the names of ovs-fields(7) and ovs-actions(7) as installed:
// each field must be known, and matched on where it can be; each action must be
// among those that are read and printed.
func TestManual(t *testing.T) { checkManual(t, "") }

func checkManual(t *testing.T, root string) {
	matches := wordsOf(allMatches)
	fields := fieldName.FindAllStringSubmatch(manual(t, root+"/usr/share/man/man7/ovs-fields.7.gz"), -1)
	for _, m := range fields {
		for _, name := range append(anyWord.FindAllString(strings.ReplaceAll(m[2], `\fB`, " "), -1), m[1]) {
			f, ok := packet.Lookup(name)
			if name == "fR" || name == "and" {
				continue
			}
			if !ok {
				t.Errorf("ovs-fields(7) has %s", name)
				continue
			}
			if f.Name == "skb_priority" || f.Name == "recirc_id" || f.Name == "dp_hash" { // the datapath's, not OpenFlow's
				continue
			}
			if !matches[f.Name] && !matches[f.Label()] && strings.Trim(f.Name, "0123456789") == f.Name {
				t.Errorf("no match on %s is tested", name)
			}
		}
	}
	tested := map[string]bool{}
	for _, f := range allFlows() {
		_, list, _ := strings.Cut(f, "actions=")
		actions, err := ParseActions(list)
		if err != nil {
			t.Errorf("%s: %v", list, err)
		}
		again, err := ParseActions(actions.String())
		if err != nil || again.String() != actions.String() {
			t.Errorf("%s is printed %s, then %s, %v", list, actions, again, err)
		}
		for name := range wordsOf([]string{list}) {
			tested[name] = true
		}
	}
	actions := 0
	for _, block := range syntax.FindAllStringSubmatch(manual(t, root+"/usr/share/man/man7/ovs-actions.7.gz"), -1) {
		for _, m := range actionName.FindAllStringSubmatch(block[1], -1) {
			actions++
			if !tested[m[1]] {
				t.Errorf("ovs-actions(7) has %s", m[1])
			}
		}
	}
	t.Logf("%d fields and %d forms of actions", len(fields), actions)
	if len(fields) < 89 || actions < 60 {
		t.Error("the manual pages were not understood")
	}
}

func wordsOf(texts []string) map[string]bool {
	set := map[string]bool{}
	for _, text := range texts {
		for _, w := range anyWord.FindAllString(text, -1) {
			set[w] = true
		}
	}
	return set
}
