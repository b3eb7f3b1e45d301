//go:build lab

package ovssim_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/trace/ovssim"
)

// differs traces a packet on the drawn bridge, and says in what the simulation differs from the real ovs-vswitchd: flows,
// actions, the bits of the megaflow, the reasons for the slow path or the warnings. The switch is asked within around, and
// edit may change what was read of it.
func (c *bridgeComparison) differs(text string, around func(ask func()), edit func(*ovssim.BridgeSource)) string {
	return c.differsOn("br-draw", text, around, edit)
}

// differsOn is differs on another bridge.
func (c *bridgeComparison) differsOn(bridge, text string, around func(ask func()), edit func(*ovssim.BridgeSource)) string {
	source, errs := c.read()
	var reply string
	var err error
	around(func() {
		reply, err = c.host.Control(c.t.Context(), "ovs-vswitchd", "ofproto/trace", bridge, text)
	})
	if source == nil || err != nil {
		c.t.Fatal(errs, err)
	}
	for i := range source.Bridges {
		edit(&source.Bridges[i])
	}
	want, err := openflow.ParseTrace(reply)
	if err != nil {
		c.t.Fatal(err)
	}
	p, err := packet.Parse(text)
	if err != nil {
		c.t.Fatal(err)
	}
	got, err := ovssim.NewSwitch(*source).Trace(bridge, p, ovssim.Options{})
	if err != nil {
		c.t.Fatal(err)
	}
	d := difference(c.t, got, want)
	for i, p := range want.Passes {
		if d.kind == "" && !slices.Equal(got.Passes[i].SlowPath, p.SlowPath) {
			d.kind = "slow path"
		}
		if d.kind == "" && got.Passes[i].Failure != p.Failure {
			d.kind = "failure"
		}
		for name, need := range megaflowBits(p.Megaflow) {
			if have := megaflowBits(got.Passes[i].Megaflow)[name]; d.kind == "" && !need.AndNot(have).IsZero() {
				d.kind, d.text = "megaflow", name
			}
		}
	}
	if d.kind == "" && !slices.Equal(remarks.FindAllString(got.String(), -1), remarks.FindAllString(reply, -1)) {
		d.kind = "remarks"
	}
	if d.kind == "" {
		return ""
	}
	return d.kind + ": " + d.text + "\nthe switch:\n" + reply + "\nours:\n" + got.String()
}

// remarks are what a trace says of what it does.
var remarks = regexp.MustCompile(`>> .*|-> [^c].*`) // not the clauses: which are met is not the same in every release

// TestExecuted has the switch and its simulation execute each action that OVN does not use, alone.
func TestExecuted(t *testing.T) { compareExecuted(t, "") }

func compareExecuted(t *testing.T, release string) {
	c := newBridgeComparison(t, release)
	const (
		tcp        = "tcp,in_port=1,dl_src=00:00:00:00:00:02,nw_src=10.0.0.1,nw_dst=10.0.0.2,nw_ttl=9,nw_tos=32,tcp_src=1,tcp_dst=2"
		ping       = "icmp,in_port=1,dl_src=00:00:00:00:00:02,nw_src=10.0.0.1,nw_dst=10.0.0.2,nw_ttl=9"
		one        = "mpls,in_port=1,dl_src=00:00:00:00:00:02,mpls_label=16,mpls_bos=1,mpls_ttl=9"
		nsh        = "dl_type=0x894f,in_port=1,nsh_mdtype=1,nsh_np=3,nsh_spi=5,nsh_si=255,nsh_ttl=63,nsh_c1=7"
		old        = "dl_type=0x894f,in_port=1,nsh_mdtype=1,nsh_np=1,nsh_spi=5,nsh_si=255,nsh_ttl=1"
		tunnel     = "tcp,in_port=6,tun_id=7,tun_src=172.30.0.12,tun_dst=172.30.0.11,tun_ttl=64,dl_src=00:00:00:00:00:02,nw_src=10.0.0.1,nw_dst=10.0.0.2,nw_ttl=9"
		bare       = "packet_type=(1,0x800),in_port=12,nw_src=10.0.0.1,nw_dst=10.0.0.2,nw_ttl=9,nw_proto=6,tun_src=172.30.0.13,tun_dst=172.30.0.11"
		twoClauses = "conjunction(7,1/2)"
	)
	for _, test := range []struct {
		name    string
		packet  string
		actions string   // of the packet's protocol; "": flows has them
		flows   []string // others
	}{
		{"NSH pushed", tcp, "encap(nsh(md_type=1)),set_field:0x1234->nsh_spi,encap(ethernet),set_field:00:00:00:00:00:09->eth_dst,2", nil},
		{"NSH of type 2", tcp, "encap(nsh(md_type=2,tlv(0x1000,10,0x12345678),tlv(0x2000,20,0xfedcba9876543210))),encap(ethernet),2", nil},
		{"NSH popped", nsh, "decap(),decap(),resubmit(,1)", nil},
		{"NSH counted down", nsh, "dec_nsh_ttl,2", nil},
		{"NSH at its end", old, "dec_nsh_ttl,2", nil},
		{"NSH without Ethernet", tcp, "encap(nsh),2,12", nil},
		{"Ethernet within Ethernet", tcp, "encap(ethernet),2", nil},
		{"Ethernet popped", tcp, "decap,2,12,encap(ethernet),2", nil},
		{"packet without Ethernet", bare, "", []string{"packet_type=(1,0x800),actions=encap(ethernet),set_field:00:00:00:00:00:09->eth_dst,2", "priority=1,actions=3"}},
		{"packet without Ethernet, unmatched", bare, "", []string{"packet_type=(1,0x86dd),actions=2"}},
		{"MPLS encapsulation", tcp, "encap(mpls),encap(ethernet),2", nil},
		{"MPLS encapsulation, written", tcp, "encap(mpls),set_field:20->mpls_label,set_field:3->mpls_tc,dec_mpls_ttl,encap(ethernet),set_field:00:00:00:00:00:05->eth_dst,2,set_field:7->mpls_label,2", nil},
		{"MPLS encapsulation, twice", tcp, "encap(mpls),encap(mpls),encap(ethernet),2", nil},
		{"MPLS encapsulation, multicast", tcp, "encap(mpls_mc),encap(ethernet),2", nil},
		{"MPLS encapsulation of IP", tcp, "decap,encap(mpls),encap(ethernet),2", nil},
		{"MPLS encapsulation of a tagged packet", tcp, "push_vlan:0x8100,set_field:4100->vlan_vid,encap(mpls),encap(ethernet),2", nil},
		{"MPLS encapsulation of NSH", tcp, "encap(nsh),encap(mpls),encap(ethernet),2", nil},
		{"MPLS encapsulation of MPLS", one, "encap(mpls),encap(ethernet),2", nil},
		{"MPLS encapsulation of bare MPLS", one, "decap,encap(mpls),encap(ethernet),2", nil},
		{"NSH encapsulation of MPLS", tcp, "encap(mpls),encap(nsh),encap(ethernet),2", nil},
		{"MPLS without Ethernet", tcp, "encap(mpls),2", nil},
		{"MPLS decapsulation to IP", one, "decap,decap(packet_type(ns=1,type=0x800)),resubmit(,1)", nil},
		{"MPLS decapsulation to Ethernet", one, "decap,decap(packet_type(ns=0,type=0)),resubmit(,1)", nil},
		{"MPLS decapsulation to whatever it is", one, "decap,decap,resubmit(,1)", nil},
		{"MPLS popped", one, "pop_mpls:0x0800,resubmit(,1)", []string{"table=1,ip,actions=dec_ttl,2"}},
		{"MPLS popped and written", one, "pop_mpls:0x0800,set_field:00:00:00:00:00:09->eth_dst,2", nil},
		{"MPLS popped, and then set", one, "", []string{"mpls,actions=write_actions(set_mpls_label(5),output:2),goto_table:2", "table=2,mpls,actions=write_actions(pop_mpls:0x0800)"}},
		{"MPLS popped, of a stack", one, "push_mpls:0x8847,set_field:18->mpls_label,pop_mpls:0x8847,2,pop_mpls:0x0800,3", nil},
		{"ERSPAN, version 1", tcp, "set_field:0x12->tun_erspan_idx,set_field:5->tun_id,output:10", nil},
		{"ERSPAN, version 2", tcp, "set_field:1->tun_erspan_dir,set_field:3->tun_erspan_hwid,output:13", nil},
		{"ERSPAN, matched", "tcp,in_port=10,tun_id=3,tun_src=172.30.0.12,tun_dst=172.30.0.11,tun_erspan_ver=1,tun_erspan_idx=5", "", []string{"tun_erspan_ver=1,tun_erspan_idx=5/0xf,actions=2", "priority=1,actions=3"}},
		{"learned", tcp, "learn(table=1,idle_timeout=10,NXM_OF_ETH_DST[]=NXM_OF_ETH_SRC[],output:NXM_OF_IN_PORT[]),resubmit(,1),2", nil},
		{"sampled", tcp, "sample(probability=65535,collector_set_id=1,obs_domain_id=2,obs_point_id=3),2", nil},
		{"sampled, some", tcp, "dec_ttl,sample(probability=1234,collector_set_id=1,obs_domain_id=2,obs_point_id=3,sampling_port=2,egress),2", nil},
		{"in parentheses", tcp, "load(0x5->NXM_NX_REG0[]),move(NXM_NX_REG0[]->NXM_NX_REG1[]),set_field(7->reg2),2", nil},
		{"congestion in a tunnel, dropped", tunnel + ",tun_tos=3", "2", nil},
		{"congestion in a tunnel, marked", tunnel + ",tun_tos=3,nw_ecn=1", "2", nil},
		{"congestion in a tunnel, marked already", tunnel + ",tun_tos=3,nw_ecn=3", "2", nil},
		{"congestion in a tunnel, none", tunnel + ",tun_tos=1,nw_ecn=2", "2", nil},
		{"option is zero", tunnel + ",tun_metadata0=0", "", []string{"tun_metadata0=0,actions=2", "priority=1,actions=3"}},
		{"option is missing", tunnel, "", []string{"tun_metadata0=0,actions=2", "priority=1,actions=3"}},
		{"option is there", tunnel + ",tun_metadata0=5", "", []string{"tun_metadata0,actions=2", "priority=1,actions=3"}},
		{"option is not there", tunnel, "", []string{"tun_metadata0,actions=2", "priority=1,actions=3"}},
		{"part of an option", tunnel + ",tun_metadata0=0x50", "", []string{"tun_metadata0=0x50/0xf0,actions=2", "priority=1,actions=3"}},
		{"option without a length, missing", tunnel, "", []string{"tun_metadata2,actions=2", "priority=1,actions=3"}},
		{"clauses over options", tunnel + ",tun_metadata0=5", "", []string{"priority=5,tun_metadata0=5,actions=" + twoClauses, "priority=5,tun_metadata0=6,actions=" + twoClauses, "priority=5,tcp,nw_src=10.0.0.1,actions=conjunction(7,2/2)", "priority=5,conj_id=7,actions=2", "priority=1,actions=3"}},
		{"clauses over options, one not met", tunnel, "", []string{"priority=5,tun_metadata0=5,actions=" + twoClauses, "priority=5,tcp,nw_src=10.0.0.1,actions=conjunction(7,2/2)", "priority=5,conj_id=7,actions=2", "priority=1,actions=3"}},
		{"option deleted", tunnel + ",tun_metadata0=5", "delete_field:tun_metadata0,resubmit(,1)", []string{"table=1,tun_metadata0,actions=2", "table=1,priority=1,actions=3"}},
		{"ping answered", ping, "move:NXM_OF_IP_SRC[]->NXM_OF_IP_DST[],set_field:0->icmp_type,IN_PORT", nil},
		{"sent to all ports", tcp, "ALL,resubmit(,1)", nil},
		{"flooded", tcp, "FLOOD,set_field:00:00:00:00:00:09->eth_dst,NORMAL,2", nil},
		{"sent to more ports than fit", tcp, strings.Repeat("ALL,", 80) + "resubmit(,1),2", nil},
		{"tunnel to an end of the other family", tcp, "set_field:172.30.0.11->tun_src,set_field:fd99::12->tun_ipv6_dst,set_field:9->tun_id,output:5", nil},
		{"tunnel from an end of the other family", tcp, "set_field:fd99::11->tun_ipv6_src,set_field:172.30.0.12->tun_dst,set_field:9->tun_id,output:5", nil},
		{"tunnel between ends of both families", tcp, "set_field:fd99::11->tun_ipv6_src,set_field:172.30.0.11->tun_src,set_field:172.30.0.12->tun_dst,set_field:fd99::12->tun_ipv6_dst,output:5", nil},
		{"tunnel from an address that is not here", tcp, "set_field:fd99::99->tun_ipv6_src,set_field:172.30.0.12->tun_dst,output:5", nil},
		{"tunnel over IPv6 from an address that is not here", tcp, "set_field:fd99::99->tun_ipv6_src,set_field:fd99::12->tun_ipv6_dst,output:5", nil},
		{"port in the network of tunnels", tcp, "set_field:172.30.0.12->tun_dst,set_field:9->tun_id,output:5,output:6", nil},
	} {
		protocol, _, _ := strings.Cut(test.packet, ",")
		b := &drawnBridge{flows: slices.Clone(test.flows)}
		if test.actions != "" {
			b.flows = append(b.flows, protocol+",actions="+test.actions)
		}
		b.flows = append(b.flows, "table=1,priority=0,actions=LOCAL")
		for i := range b.flows {
			b.flows[i] = "cookie=" + string(rune('1'+i)) + "," + b.flows[i]
		}
		flows, ok := c.load(b)
		if !ok || len(flows) != len(b.flows) {
			t.Errorf("%s: added only %q", test.name, flows)
			continue
		}
		if problem := c.differs(test.packet, func(ask func()) { ask() }, func(*ovssim.BridgeSource) {}); problem != "" {
			t.Errorf("%s: %q: %s", test.name, b.flows, problem)
		}
	}
	port := "add-port br-draw local6 -- set interface local6 type=geneve options:local_ip=fd99::11 options:remote_ip=fd99::12 options:key=flow options:dst_port=6086 ofport_request=20"
	for _, args := range []string{"ip addr replace fd99::21/64 dev br-ex nodad", "ovs-vsctl --timeout=60 " + port} {
		if out, err := c.lab.Run(t.Context(), "node1", strings.Fields(args)...); err != nil {
			t.Fatalf("%s: %v %s", args, err, out)
		}
	}
	if _, ok := c.load(&drawnBridge{flows: []string{"tcp,actions=output:20"}}); !ok {
		t.Fatal("the flow of the tunnel with a source is not there")
	}
	if problem := c.differs(tcp, func(ask func()) { ask() }, func(*ovssim.BridgeSource) {}); problem != "" {
		t.Errorf("tunnel from the address of its row: %s", problem)
	}
	for _, actions := range []string{"debug_recirc,2", "debug_slow,2", "copy_field(src=NXM_OF_IP_SRC[],dst=NXM_NX_REG0[])", "apply_actions(dec_ttl,3)"} {
		if flows, _ := c.load(&drawnBridge{flows: []string{"ip,actions=" + actions}}); len(flows) > 0 {
			t.Errorf("%s: the switch executes it", actions)
		}
	}
}
