//go:build lab

package ovssim_test

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/trace/ovssim"
)

// A pipeline is what somebody could write into a bridge by hand, to try what the flows of OVN do not
// have: flows and groups, a line for each, and packets.
type pipeline struct {
	name    string
	flows   string
	groups  string
	packets string
}

// tcp is the beginning of most packets.
const tcp = "tcp,in_port=1,dl_src=00:00:00:00:00:01,dl_dst=00:00:00:00:00:02,nw_src=10.0.0.1,nw_dst=10.0.0.2,nw_ttl=64,tp_src=1000,tp_dst=80"

// pipelines: port 3 is down, 4 leads to br-far; 5 is VXLAN, 6 Geneve, 7 GRE and 8 STT.
var pipelines = []pipeline{
	{"conjunction", `
		priority=10,ip,nw_src=10.0.0.0/24,actions=conjunction(1,1/2)
		priority=10,tcp,tp_dst=80,actions=conjunction(1,2/2)
		priority=10,tcp,tp_dst=81,actions=conjunction(1,2/2),conjunction(2,1/3)
		priority=10,conj_id=1,ip,actions=2
		priority=5,ip,actions=4`, "", tcp + "\n" + tcp + ",tp_dst=81\n" + tcp + ",tp_dst=82\n" + tcp + ",nw_src=10.1.0.1"},
	{"conjunction below a hard match", `
		priority=10,ip,nw_src=10.0.0.0/24,actions=conjunction(1,1/2)
		priority=10,tcp,tp_dst=80,actions=conjunction(1,2/2)
		priority=20,tcp,tp_src=1000,actions=2
		priority=10,conj_id=1,ip,actions=4
		priority=10,tcp,tp_src=1001,actions=LOCAL`, "", tcp + "\n" + tcp + ",tp_src=1001\n" + tcp + ",tp_src=1002"},
	{"fragments", `
		priority=50,ip,ip_frag=later,actions=2
		priority=40,tcp,ip_frag=first,tp_dst=80,actions=4
		priority=30,tcp,ip_frag=first,actions=4,2
		priority=20,tcp,ip_frag=no,tp_dst=80,actions=LOCAL
		priority=10,ip,ip_frag=not_later,actions=2,LOCAL`, "",
		tcp + "\n" + tcp + ",ip_frag=first\n" + tcp + ",ip_frag=later\n" + tcp + ",tp_dst=1"},
	{"ternary ct_state", `
		priority=10,ct_state=-trk,ip,actions=ct(table=1)
		table=1,ct_state=+trk+new-rel,ip,actions=2
		table=1,ct_state=+trk+est-rpl,ip,actions=4
		table=1,ct_state=+inv,ip,actions=drop`, "", tcp},
	{"recursion", "actions=resubmit(,0)", "", tcp},
	{"recursion that ends", "priority=2,nw_ttl=60,ip,actions=2\npriority=1,ip,actions=dec_ttl,resubmit(,0),LOCAL", "", tcp},
	{"many resubmits", many("resubmit(,%d)", 9, 8), "", tcp},
	{"stack", "actions=push:NXM_NX_XXREG0[],push:NXM_NX_XXREG0[],push:NXM_NX_REG0[0..3],resubmit(,1),pop:NXM_NX_REG1[0..3]\n" +
		"table=1,actions=push:NXM_NX_REG2[],pop:NXM_NX_REG3[],pop:NXM_NX_REG4[0..3],pop:NXM_NX_XXREG1[],pop:NXM_NX_XXREG1[],pop:NXM_NX_REG5[],2", "", tcp + ",reg0=5"},
	{"deep stack", many(strings.Repeat("push:NXM_NX_XXREG0[],", 60)+"resubmit(,%d)", 80, 1), "", tcp},
	{"resubmit", `
		priority=1,in_port=1,actions=set_field:5->reg0,resubmit(7,2),resubmit(2,),resubmit(,1),goto_table:3
		priority=1,in_port=2,actions=set_field:9->reg1
		table=1,actions=output:NXM_NX_REG0[0..15],set_field:4->reg0
		table=2,in_port=7,actions=set_field:2->reg0
		table=3,actions=output:NXM_NX_REG0[0..15],output:NXM_NX_REG9[]`, "", tcp + "\n" + tcp + ",reg9=0x10002"},
	{"fields", `
		tcp,actions=move:NXM_OF_IP_SRC[0..15]->NXM_NX_REG0[16..31],load:0x3->NXM_OF_IP_TOS[2..4],set_field:10.9.9.9->ip_dst,load:1->NXM_NX_IP_ECN[],set_field:81->tcp_dst,set_field:00:00:00:00:00:09->eth_src,set_field:00:00:00:00:00:11/00:00:00:00:00:ff->eth_dst,2,mod_nw_tos:8,write_metadata:0x5/0xf,goto_table:1
		udp6,actions=set_field:22->udp_dst,load:9->NXM_NX_IP_TTL[],set_field:fd00::9->ipv6_src,set_field:5->ipv6_label,2,load:1->NXM_OF_UDP_SRC[0..3],4
		arp,actions=set_field:01:02:03:04:05:06->arp_sha,load:2->NXM_OF_ARP_OP[],move:NXM_OF_ARP_SPA[]->NXM_OF_ARP_TPA[],2
		icmp6,icmp_type=135,actions=set_field:fd00::5->nd_target,load:136->NXM_NX_ICMPV6_TYPE[],2
		icmp,actions=set_field:0->icmp_type,2
		table=1,tcp,metadata=5,actions=set_field:9->nw_ttl,set_field:10.3.0.0/16->ip_src,4`, "",
		tcp + "\nudp6,in_port=1,ipv6_src=::1\narp,in_port=1,arp_spa=10.0.0.1\nicmp6,in_port=1,icmp_type=135\nicmp,in_port=1,icmp_type=8"},
	{"dec_ttl", "priority=1,ip,actions=dec_ttl,2,dec_ttl(1,2),4\npriority=1,ipv6,actions=dec_ttl,2", "", tcp + "\n" + tcp + ",nw_ttl=2\n" + tcp + ",nw_ttl=1\ntcp6,in_port=1,nw_ttl=1"},
	{"clone", "tcp,actions=clone(set_field:9->tcp_dst,2,set_field:5->reg0),clone(ct(commit),4),clone(set_queue:1,2),output:NXM_NX_REG0[],4,clone(dec_ttl,2)", "", tcp},
	{"action set", `
		tcp,actions=resubmit(,1),write_actions(set_field:7->tcp_dst,output:2,dec_ttl,push_vlan:0x8100),goto_table:2
		table=1,tcp,actions=write_actions(set_field:8->tcp_dst,output:4)
		table=2,tcp,tp_dst=80,actions=set_field:90->tcp_src
		table=2,tcp,tp_dst=81,actions=2,clear_actions`, "", tcp},
	{"group in the action set", "actions=write_actions(group:1,output:2)", "group_id=1,type=all,bucket=actions=set_field:9->tcp_dst,2,bucket=actions=4", tcp},
	{"cleared action set", "actions=write_actions(output:2),goto_table:1\ntable=1,actions=4,clear_actions", "", tcp},
	{"outputs", "actions=1,2,3,4,IN_PORT,LOCAL,CONTROLLER:100,output(port=2,max_len=50),output:99,ALL", "", tcp},
	{"flood", "actions=FLOOD", "", tcp + "\n" + strings.Replace(tcp, "in_port=1", "in_port=2", 1)},
	{"to the first table", "priority=2,reg0=1,actions=2\npriority=1,actions=set_field:1->reg0,goto_table:1\ntable=1,actions=TABLE", "", tcp},
	{"groups", "actions=group:1,group:2,group:3,2", `
		group_id=1,type=all,bucket=actions=set_field:9->tcp_dst,2,bucket=actions=4,bucket=actions=set_field:8->tcp_dst,LOCAL
		group_id=2,type=indirect,bucket=actions=dec_ttl,2
		group_id=3,type=all`, tcp},
	{"failover", "priority=2,tcp,tp_dst=80,actions=group:1\npriority=2,tcp,tp_dst=81,actions=group:2\npriority=2,tcp,tp_dst=82,actions=group:3\npriority=2,tcp,tp_dst=83,actions=group:4", `
		group_id=1,type=ff,bucket=watch_port:3,actions=3,bucket=watch_port:2,actions=2,bucket=watch_port:4,actions=4
		group_id=2,type=ff,bucket=watch_port:3,actions=3
		group_id=3,type=ff,bucket=watch_group:2,actions=2,bucket=watch_group:1,actions=4
		group_id=4,type=ff,bucket=watch_port:1,actions=LOCAL,bucket=watch_port:controller,actions=2`, tcp + "\n" + tcp + ",tp_dst=81\n" + tcp + ",tp_dst=82\n" + tcp + ",tp_dst=83"},
	{"select by dp_hash", "actions=group:1,4", "group_id=1,type=select,selection_method=dp_hash,bucket=bucket_id:5,weight=100,actions=2,bucket=bucket_id:7,weight=50,actions=LOCAL,bucket=weight=10,watch_port:3,actions=3",
		tcp + "\n" + hashes(16)},
	{"select by default", "actions=group:1,4", "group_id=1,type=select,bucket=actions=2,bucket=actions=LOCAL", tcp + "\n" + hashes(4)},
	{"select by unequal weights", "actions=group:1,4", "group_id=1,type=select,bucket=actions=2,bucket=weight=100,actions=LOCAL,bucket=weight=150,actions=4", tcp + "\n" + hashes(4)},
	{"select by fields", "actions=group:1,4", "group_id=1,type=select,selection_method=hash,selection_method_param=7,fields(ip_src,tcp_dst=0xff),bucket=actions=2,bucket=weight=3,actions=LOCAL,bucket=actions=4,bucket=watch_port:3,actions=3",
		tcp + "\n" + tcp + ",nw_src=10.7.7.7\n" + tcp + ",tp_dst=90\n" + tcp + ",nw_src=10.0.0.77\nudp,in_port=1,nw_src=1.2.3.4"},
	{"bundle", "actions=bundle(eth_src,0,active_backup,ofport,members:3,2,4),bundle_load(eth_src,0,active_backup,ofport,NXM_NX_REG0[0..15],members:3,4),bundle_load(eth_src,0,active_backup,ofport,NXM_NX_REG1[0..15],members:3),4", "", tcp},
	{"bundle by hash", "actions=bundle(eth_src,0,hrw,ofport,members:3,2,4,65534),bundle_load(symmetric_l4,5,hrw,ofport,NXM_NX_REG0[],members:2,4),bundle_load(symmetric_l3l4,5,hrw,ofport,NXM_NX_REG0[],members:2,4),bundle_load(symmetric_l3l4+udp,1,hrw,ofport,NXM_NX_REG0[],members:2,4),bundle_load(nw_src,1,hrw,ofport,NXM_NX_REG0[],members:2,4),bundle_load(nw_dst,1,hrw,ofport,NXM_NX_REG0[],members:2,4)", "",
		tcp + "\n" + strings.Replace(tcp, ":01,dl_dst", ":77,dl_dst", 1) + "\nudp6,in_port=1,ipv6_src=fd00::1,ipv6_dst=fd00::2,tp_src=5\narp,in_port=1,dl_src=00:00:00:00:00:55"},
	{"multipath", "actions=multipath(eth_src,50,modulo_n,4,0,NXM_NX_REG0[0..7]),multipath(symmetric_l4,1024,hash_threshold,5,0,NXM_NX_REG1[]),multipath(symmetric_l3l4,5,hrw,9,0,NXM_NX_REG2[]),multipath(symmetric_l3l4+udp,5,iter_hash,6,3,NXM_NX_REG3[16..31]),multipath(nw_src,0,modulo_n,100,0,NXM_NX_REG4[]),multipath(nw_dst,0,modulo_n,100,0,NXM_NX_REG5[]),multipath(symmetric_l3,0,modulo_n,100,0,NXM_NX_REG6[]),output:NXM_NX_REG0[]", "",
		tcp + "\n" + strings.Replace(tcp, ":01,dl_dst", ":77,dl_dst", 1) + "\nudp6,in_port=1,ipv6_src=fd00::1,ipv6_dst=fd00::2,tp_src=5,tp_dst=7\nudp,in_port=1,nw_src=1.2.3.4,nw_dst=4.3.2.1,tp_src=77\narp,in_port=1,dl_src=00:00:00:00:00:55,arp_spa=1.2.3.4\nsctp,in_port=1,tp_dst=9\nicmp,in_port=1,nw_src=9.8.7.6"},
	{"shown only", "tcp,actions=note:01.02.03,sample(probability=65535,collector_set_id=1,obs_domain_id=2,obs_point_id=3),learn(table=5,idle_timeout=10,NXM_OF_ETH_DST[]=NXM_OF_ETH_SRC[],output:NXM_OF_IN_PORT[]),fin_timeout(idle_timeout=5),2,exit,4", "", tcp},
	{"queues", "actions=set_queue:5,2,pop_queue,4,enqueue:2:7,LOCAL,enqueue(99,1)", "", tcp},
	{"VLAN", `
		priority=3,dl_vlan=7,actions=strip_vlan,2,push_vlan:0x88a8,set_field:4105->vlan_vid,push_vlan:0x8100,set_field:4106->vlan_vid,4
		priority=2,dl_vlan=8,actions=set_field:4105->vlan_vid,2,set_field:3->vlan_pcp,4,pop_vlan,2
		priority=2,dl_vlan=9,actions=mod_vlan_vid:10,2,mod_vlan_pcp:3,4,strip_vlan,2
		priority=1,actions=mod_vlan_vid:5,2,mod_vlan_pcp:6,2,strip_vlan,4`, "", tcp + "\n" + tcp + ",dl_vlan=7,dl_vlan_pcp=5\n" + tcp + ",dl_vlan=8\n" + tcp + ",dl_vlan=9"},
	{"MPLS", `
		priority=3,mpls,mpls_label=16,actions=dec_mpls_ttl,set_field:17->mpls_label,2,pop_mpls:0x0800,dec_ttl,4
		priority=2,mpls,actions=push_mpls:0x8847,set_field:99->mpls_label,2,dec_mpls_ttl,4
		priority=1,ip,actions=push_mpls:0x8847,set_field:18->mpls_label,set_field:3->mpls_tc,2,push_mpls:0x8847,4`, "",
		tcp + "\nmpls,in_port=1,mpls_label=16,mpls_bos=1,mpls_ttl=9\nmpls,in_port=1,mpls_label=20,mpls_bos=1,mpls_ttl=1"},
	{"length", "actions=check_pkt_larger(1400)->NXM_NX_REG0[0],check_pkt_larger(200)->NXM_NX_REG0[1],resubmit(,1),LOCAL\ntable=1,reg0=0/1,actions=2\ntable=1,tcp,reg0=3,actions=set_field:9->tcp_dst,4", "", tcp},
	{"conntrack", `
		priority=9,ct_state=-trk,tcp,actions=ct(commit,table=1,zone=NXM_NX_REG0[0..15],nat(src=192.0.2.1-192.0.2.9:100-200,random),exec(set_field:5->ct_mark,load:7->NXM_NX_CT_LABEL[64..95])),ct(zone=9,nat),set_field:3->reg1,ct(commit,force,alg=ftp),2
		table=1,ip,actions=ct_clear,2,ct(commit,zone=3,nat(dst=10.5.5.5)),ct(table=2)
		table=2,ct_zone=0,tcp,actions=ct(commit,alg=ftp),4`, "", tcp + ",reg0=8\n" + tcp + "\narp,in_port=1"},
	{"original addresses", "priority=2,tcp,nw_dst=10.0.0.9,actions=2\npriority=1,ct_state=+trk+est,ip,actions=resubmit(,1,ct)\ntable=1,tcp,nw_dst=10.0.0.9,actions=2", "",
		tcp + ",ct_state=trk|est,ct_nw_proto=6,ct_nw_dst=10.0.0.9\n" + tcp},
	{"patch", "tcp,actions=set_field:5->reg0,set_field:9->tun_id,4,set_field:7->tcp_dst,4,IN_PORT,write_actions(output:2)", "", tcp},
	{"tunnel whose end the flow says", "priority=1,actions=set_field:172.30.0.12->tun_dst,set_field:77->tun_id,5,set_field:172.30.0.13->tun_dst,set_field:172.30.0.11->tun_src,5,LOCAL", "", tcp + "\n" + tcp + ",nw_tos=3"},
	{"Geneve with options", "priority=1,actions=set_field:172.30.0.12->tun_dst,set_field:0x1234->tun_metadata0,set_field:0xabcdef->tun_metadata1,set_field:9->tun_id,6,2,set_field:172.30.0.99->tun_dst,6", "", tcp},
	{"GRE", "ip,actions=set_field:1->nw_ttl,7,2", "", tcp + "\n" + tcp + ",nw_tos=255"},
	{"STT", "priority=1,actions=set_field:9->tun_id,8,2", "", tcp},
	{"own end of a tunnel", "priority=1,actions=set_field:172.30.0.12->tun_dst,5,2", "", tcp + ",tun_dst=172.30.0.12,tun_id=4"},
	{"deleted option", "actions=set_field:0x1234->tun_metadata0,set_field:5->tun_metadata1,delete_field:tun_metadata0,set_field:172.30.0.12->tun_dst,6", "", tcp + "\n" + tcp + ",tun_metadata0=5"},
}

// many is n tables, each of which looks into the next one so many times.
func many(action string, n, times int) string {
	var b strings.Builder
	for i := range n {
		one := fmt.Sprintf(action, i+1)
		fmt.Fprintf(&b, "table=%d,actions=%s\n", i, strings.TrimSuffix(strings.Repeat(one+",", times), ","))
	}
	return b.String()
}

// hashes are packets with so many values of dp_hash.
func hashes(n int) string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprintf("%s,dp_hash=%d", tcp, i+1))
	}
	return strings.Join(list, "\n")
}

// TestPipelines compares what the flows of OVN do not have with the real ovs-vswitchd, as text.
func TestPipelines(t *testing.T) { comparePipelines(t, labtest.Shared(t, lab.OVNKubernetes()), true) }

// comparePipelines compares the whole text, or, if it need not be equal, lookups and final flows: Open vSwitch 4.0 has
// other words, and writes what has changed before a packet enters another bridge.
func comparePipelines(t *testing.T, l *lab.Lab, equal bool) {
	run := func(args ...string) {
		t.Helper()
		if out, err := l.Run(t.Context(), "node1", args...); err != nil {
			t.Fatalf("%q: %v %s", args, err, out)
		}
	}
	const bridge = "br-hand"
	run(strings.Fields("ovs-vsctl --timeout=60 add-br br-hand -- set bridge br-hand datapath_type=netdev fail_mode=secure -- add-br br-far -- set bridge br-far datapath_type=netdev fail_mode=secure " +
		"-- add-port br-hand p1 -- set interface p1 type=internal ofport_request=1 -- add-port br-hand p2 -- set interface p2 type=internal ofport_request=2 -- add-port br-hand p3 -- set interface p3 type=internal ofport_request=3 " +
		"-- add-port br-hand hand-far -- set interface hand-far type=patch options:peer=far-hand ofport_request=4 -- add-port br-far far-hand -- set interface far-hand type=patch options:peer=hand-far ofport_request=1 " +
		"-- add-port br-hand hand-vxlan -- set interface hand-vxlan type=vxlan options:remote_ip=flow options:local_ip=flow options:key=flow options:dst_port=4790 ofport_request=5 " +
		"-- add-port br-hand hand-geneve -- set interface hand-geneve type=geneve options:remote_ip=flow options:key=flow options:dst_port=6082 ofport_request=6 " +
		"-- add-port br-hand hand-gre -- set interface hand-gre type=gre options:remote_ip=172.30.0.12 options:key=7 options:ttl=inherit options:tos=inherit ofport_request=7 ")...)
	// Open vSwitch 4.0 has no STT; there the port is not.
	_, _ = l.Run(t.Context(), "node1", strings.Fields("ovs-vsctl --timeout=60 add-port br-hand hand-stt -- set interface hand-stt type=stt options:remote_ip=172.30.0.12 options:key=flow ofport_request=8")...)
	t.Cleanup(func() {
		if _, err := l.Run(context.Background(), "node1", "ovs-vsctl", "--timeout=60", "del-br", bridge, "--", "del-br", "br-far"); err != nil {
			t.Error(err)
		}
	})
	run("ip", "link", "set", "p1", "up")
	run("ip", "link", "set", "p2", "up")
	run("ovs-ofctl", "add-tlv-map", bridge, "{class=0xffff,type=1,len=4}->tun_metadata0,{class=0xffff,type=0x82,len=8}->tun_metadata1")
	run("ovs-ofctl", "-O", "OpenFlow15", "add-flow", "br-far", "in_port=1,actions=set_field:00:00:00:00:00:44->eth_src,IN_PORT,LOCAL")
	for _, pod := range l.Topology.Pods { // resolves the ends of tunnels
		_, _ = l.Probe(t.Context(), pod.Name, "shop_web-2", "icmp", 0)
	}
	c := newComparison(t, l, nil)
	asked, texts := 0, 0
	host := withoutOVN{node.Local(node.LocalConfig{OVSRunDir: filepath.Join(l.Dir, "node1/run/openvswitch"), Timeout: 20 * time.Second})}
	for _, p := range pipelines {
		t.Run(p.name, func(t *testing.T) {
			load(t, l, bridge, "groups", p.groups)
			load(t, l, bridge, "flows", "priority=65535,in_port=4,actions=LOCAL\n"+p.flows)
			sw := readSwitch(t, host)
			for line := range strings.Lines(p.packets) {
				packet, err := packet.Parse(strings.TrimSpace(line))
				if err != nil {
					t.Fatalf("%s: %v", line, err)
				}
				problem := "nothing was asked"
				for deadline := time.Now().Add(30 * time.Second); problem != "" && time.Now().Before(deadline); {
					real, want := c.real(&subject{Host: host}, bridge, packet, nil)
					got, err := sw.Trace(bridge, packet, ovssim.Options{})
					if err != nil {
						t.Fatal(err)
					}
					a, b := flat(got.String()), flat(want)
					if strings.Contains(want, "\n    ALL\n") || strings.Contains(want, "\n    FLOOD\n") {
						a, b = unordered(a), unordered(b) // as NORMAL does, by the addresses of ports in memory
					}
					problem = ""
					if d := difference(t, got, real); a == b {
						texts++
					} else if equal || d.kind != "" && d.kind != "actions" {
						sw = readSwitch(t, host) // a port or a neighbour may have changed meanwhile
						problem = fmt.Sprintf("%s\n%s\nthe switch:\n%s\nours:\n%s", line, cmp.Diff(b, a), want, got)
					}
				}
				asked++
				if problem != "" {
					t.Error(problem)
				}
			}
		})
	}
	t.Logf("%d pipelines, %d packets: the whole text was equal but for ids and megaflows in %d", len(pipelines), asked, texts)
}

func readSwitch(t *testing.T, h ovssim.Host) *ovssim.Switch {
	source, errs := ovssim.Read(t.Context(), h)
	if source == nil {
		t.Fatal(errs)
	}
	return ovssim.NewSwitch(*source)
}

// flat is a trace's text without what is known to differ, and without indentation: that shows what newer releases
// alone say of conjunctions.
func flat(text string) string {
	return strings.ReplaceAll(indentation.ReplaceAllString(plain(text), "\n"), "\n\n", "\n")
}

var indentation = regexp.MustCompile(`\n +`)

// unordered is a text for which it is all one in which order things happen: lines, and outputs of the datapath.
func unordered(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		actions, ok := strings.CutPrefix(line, "Datapath actions: ")
		list, err := openflow.ParseAttrs(actions)
		if !ok || err != nil {
			continue
		}
		var sent []string
		for _, a := range list {
			if a.Name != "set" { // the order decides how often
				sent = append(sent, openflow.Attrs{a}.String())
			}
		}
		slices.Sort(sent)
		lines[i] = strings.Join(sent, ",")
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// load replaces the flows or the groups of a bridge.
func load(t *testing.T, l *lab.Lab, bridge, kind, text string) {
	for _, args := range [][]string{{"del-" + kind, bridge}, {"add-" + kind, bridge, "-"}} {
		cmd := l.Command(t.Context(), "node1", append([]string{"ovs-ofctl", "-O", "OpenFlow10,OpenFlow13,OpenFlow15"}, args...)...)
		cmd.Stdin = strings.NewReader(text)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v %s\n%s", err, out, text)
		}
		if text == "" {
			return
		}
	}
}

// withoutOVN is a host without its integration bridge, which need not be read again and again.
type withoutOVN struct{ node.Host }

func (h withoutOVN) Dump(ctx context.Context, bridge string, kind node.DumpKind) (string, error) {
	if bridge == "br-int" {
		return "", node.ErrUnavailable
	}
	return h.Host.Dump(ctx, bridge, kind)
}
