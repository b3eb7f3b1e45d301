package text

import (
	"cmp"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/release"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// knowing is an Annotator that knows a switch of two ports and a router, and a
// node with a pod and a tunnel.
func knowing(bridge string) *Annotator {
	const sw, router = "11111111-0000-4000-8000-000000000001", "11111111-0000-4000-8000-000000000002"
	logical := decode.NewLogical(decode.Southbound{
		Datapaths: []sb.DatapathBinding{
			{UUID: sw, TunnelKey: 5, ExternalIDs: map[string]string{"logical-switch": sw, "name": "green"}},
			{UUID: router, TunnelKey: 1, ExternalIDs: map[string]string{"logical-router": router, "name": "middle"}},
		},
		Ports: []sb.PortBindingNames{
			{UUID: "22222222-0000-4000-8000-000000000001", LogicalPort: "web", Datapath: sw, TunnelKey: 2},
			{UUID: "22222222-0000-4000-8000-000000000002", LogicalPort: "db", Datapath: sw, TunnelKey: 3},
			{UUID: "22222222-0000-4000-8000-000000000003", LogicalPort: "up", Datapath: router, TunnelKey: 2},
		},
	})
	node := decode.Vswitch{
		OpenvSwitch: []vswitch.OpenvSwitch{{ExternalIDs: map[string]string{"system-id": "here"}}},
		Bridges: []vswitch.BridgeBrief{
			{Name: "br-int", Ports: []ovsdb.UUID{"p1", "p2"}, ExternalIDs: map[string]string{"ct-zone-web": "7"}},
			{Name: "br-ex", Ports: []ovsdb.UUID{"p3"}},
		},
		Ports: []vswitch.PortBrief{
			{UUID: "p1", Interfaces: []ovsdb.UUID{"i1"}},
			{UUID: "p2", Interfaces: []ovsdb.UUID{"i2"}, ExternalIDs: map[string]string{"ovn-chassis-id": "there@172.30.0.12"}},
			{UUID: "p3", Interfaces: []ovsdb.UUID{"i3"}},
		},
		Interfaces: []vswitch.InterfaceBrief{
			{UUID: "i1", Name: "veth1", OFPort: ovsdb.Set[int]{1}, ExternalIDs: map[string]string{"iface-id": "web"}},
			{UUID: "i2", Name: "ovn-there-0", Type: "geneve", OFPort: ovsdb.Set[int]{2}},
			{UUID: "i3", Name: "eth0", OFPort: ovsdb.Set[int]{1}},
		},
	}
	names := decode.NewNames(logical, node, openflow.ParseTLVMap(" 0x102  0x80       4  tun_metadata0\n"), release.Parse("23.03.1"))
	return New(decode.NewNamer(&decode.Decoder{Names: names}, decode.NodeNumbers{
		Backends:      func() map[uint32][]string { return map[uint32][]string{3: {"10.0.0.1:80", "10.0.0.2:80"}} },
		Meters:        func() map[uint32]string { return map[uint32]string{1: "meter acl-log"} },
		DatapathPorts: func() map[int]string { return map[int]string{4: "veth1", 8: "geneve"} },
	}), Options{Bridge: bridge})
}

// ignorant is an Annotator without any database.
func ignorant() *Annotator {
	names := decode.NewNames(nil, decode.Vswitch{}, nil, release.Version{})
	return New(decode.NewNamer(&decode.Decoder{Names: names}, decode.NodeNumbers{}), Options{})
}

// annotated is the text with its names in brackets.
func annotated(t *testing.T, a *Annotator, text string) string {
	t.Helper()
	var out strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		from := 0
		for _, n := range a.Line(t.Context(), line).Names {
			out.WriteString(line[from:n.At] + "<" + n.Name + ">")
			from = n.At
		}
		out.WriteString(line[from:] + "\n")
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// Each text is written with the names that it gets; without them it is what is read.
func TestNames(t *testing.T) {
	tests := []struct{ name, bridge, want string }{
		{"a flow", "", " cookie=0x0, table=8, n_packets=3, priority=50,reg14=0x2<port web>,metadata=0x5<switch green>,dl_src=0a:00:00:00:00:01 actions=set_field:0x3->reg15<port db>,resubmit(,9)"},
		{"NXM", "", " cookie=0x0, table=8, reg14=0x2<port web>,metadata=0x5<switch green> actions=load:0x3->NXM_NX_REG15[]<port db>,load:0x1->NXM_NX_REG10[0]<loopback>"},
		{"the datapath stands behind", "", " table=65, priority=100,reg15=0x2<port web>,metadata=0x5<switch green> actions=output:1<port web, interface veth1>"},
		{"into another datapath and back", "", " table=65, reg15=0x1,metadata=0x5<switch green> actions=clone(ct_clear,set_field:0->reg11,set_field:0x1->metadata<router middle>,set_field:0x2->reg14<port up>,resubmit(,8)),set_field:0x2->reg14<port web>"},
		{"flags", "", " table=64, reg10=0x1/0x1<loopback>,metadata=0x5<switch green> actions=set_field:0/0x1000->reg10<!check_port_sec>"},
		{"zones", "", " table=0, in_port=1<port web, interface veth1> actions=set_field:0x7->reg13<zone of web>,set_field:0x5->metadata<switch green>"},
		{"into the tunnel", "", " table=39, reg15=0x3<port db>,metadata=0x5<switch green> actions=set_field:0x5->tun_id<switch green>,set_field:0x3->tun_metadata0<to port db>,move:NXM_NX_REG14[0..14]->NXM_NX_TUN_METADATA0[16..30],output:2<tunnel to there (172.30.0.12)>"},
		{"what ovn-controller does", "", " table=9, metadata=0x5<switch green> actions=controller(userdata=00.00.00.12.00.00.00.00<handle_svc_check: takes the reply to a health check>)"},
		{"for which port", "", " table=9, metadata=0x5<switch green> actions=controller(userdata=00.00.00.11.00.00.00.00.00.00.00.02<bind_vport: binds the virtual port here {port web}>)"},
		{"what it made", "", " table=9, metadata=0x5<switch green> actions=controller(userdata=00.00.00.0e.00.00.00.00.00.19.00.10.00.01.1e.04.00.00.00.03.00.00.00.00.00.19.00.10.00.01.15.08.00.00.00.01.00.00.00.01<icmp4_error: replies with an ICMP error {reg15=0x3‹port db›, reg10=0x1/0x1‹loopback›}>)"},
		{"a load balancer", "", " table=20, metadata=0x5<switch green> actions=group:3<to 10.0.0.1:80, 10.0.0.2:80>"},
		{"meters", "", " table=9, metadata=0x5<switch green> actions=controller(userdata=00.00.00.10.00.00.00.00<igmp: learns the multicast membership>,meter_id=1<meter acl-log>),meter:1<meter acl-log>,meter:2\nmeter=1<meter acl-log> pktps burst stats bands=\nmeter:1<meter acl-log> flow_count:0 packet_in_count:0\nmeter=slowpath kbps bands="},
		{"options of tunnels", "", "  class  type  length  match field\n  0x102  0x80       4  tun_metadata0<OVN: from which logical port to which>\n 0x0ffff  0x1  4  tun_metadata1"},
		{"nobody's numbers", "", " table=8, reg14=0x63,metadata=0x5<switch green> actions=drop"},
		{"no such datapath", "", " table=8, reg14=0x2,metadata=0x63 actions=drop"},
		{"another bridge", "br-ex", " cookie=0x0, table=0, priority=10,in_port=1<eth0> actions=output:1<eth0>"},
		{"an unknown bridge", "", " cookie=0x0, table=0, priority=10,in_port=1 actions=output:1"},
		{"the command says it", "", "# ovs-ofctl -O OpenFlow15 dump-flows br-ex\n table=0, priority=10,in_port=1<eth0> actions=drop\n# ovs-ofctl dump-flows br-int\n table=0, priority=10,in_port=1<port web, interface veth1> actions=drop"},
		{"what is traced", "", "# ovs-appctl ofproto/trace br-int in_port=1<port web, interface veth1>,tun_id=0x5<switch green>,tun_metadata0=0x3<to port db>"},
		{"groups", "", " table=20, metadata=0x5<switch green> actions=group:3<to 10.0.0.1:80, 10.0.0.2:80>\n group_id=3,type=select,selection_method=dp_hash,bucket=bucket_id:0,weight:100,actions=ct(commit,table=20,zone=NXM_NX_REG13[0..15],nat(dst=10.0.0.1:80),exec(set_field:0x2/0x2->ct_mark<natted>))"},
		{"with names", "", ` table=0, in_port=veth1<port web> actions=set_field:0x5->metadata<switch green>,output:"ovn-there-0"<tunnel to there (172.30.0.12)>`},
		{"a trace", "", `Flow: in_port=1,dl_src=0a:00:00:00:00:01

bridge("br-int")
----------------
 0. in_port=1<port web, interface veth1>, priority 100
    set_field:0x5->metadata<switch green>
    set_field:0x2->reg14<port web>
    resubmit(,8)
 8. metadata=0x5<switch green>, priority 50, cookie 0x1
    clone(set_field:0x1->metadata<router middle>,set_field:0x2->reg14<port up>)
    output:2<tunnel to there (172.30.0.12)>
     -> output to kernel tunnel
        set_field:0x1->metadata<router middle>
        set_field:0x2->reg15<port up>
    set_field:0x2->reg15<port web>

Final flow: reg14=0x2<port web>,metadata=0x5<switch green>,in_port=1<port web, interface veth1>
Megaflow: recirc_id=0,in_port=1<port web, interface veth1>
Datapath actions: ct(zone=7<zone of web>),set(tunnel(tun_id=0x5<switch green>,dst=172.30.0.12,geneve({class=0x102,type=0x80,len=4,0x20003<from port web to port db>}),flags(df|csum|key))),4<port web, interface veth1>`},
		{"another bridge in a trace", "", `bridge("br-int")
----------------
 0. in_port=1<port web, interface veth1>, priority 0
    resubmit(,0)

bridge("br-ex")
---------------
 0. in_port=1<eth0>, priority 0
    NORMAL`},
		{"a megaflow", "", "ufid:6e94f6dc-2fe2-4516-b1b9-2eed502ab238, recirc_id(0x5),tunnel(tun_id=0x5<switch green>,src=172.30.0.12,geneve({class=0x102,type=0x80,len=4,0x20003/0x7fffffff<from port web to port db>}),flags(-df+csum+key)),in_port(8<>),ct_zone(0x7)<zone of web>, packets:1, bytes:98, used:0.1s, actions:ct(zone=7<zone of web>),4<port web, interface veth1>"},
		{"a connection", "", "tcp,orig=(src=10.0.0.1,dst=10.0.0.2,sport=1,dport=2),reply=(src=10.0.0.2,dst=10.0.0.1,sport=2,dport=1),zone=7<zone of web>,mark=2<natted>,protoinfo=(state=ESTABLISHED)"},
		{"a connection of conntrack(8)", "", "tcp      6 431999 ESTABLISHED src=10.0.0.1 dst=10.0.0.2 sport=1 dport=2 src=10.0.0.2 dst=10.0.0.1 sport=2 dport=1 [ASSURED] mark=2<natted> zone=7<zone of web> use=1"},
		{"tcpdump", "", "12:00:00.1 IP 172.30.0.11.1 > 172.30.0.12.6081: Geneve, Flags [C], vni 0x5<switch green>, proto TEB (0x6558), options [class Open Virtual Networking (OVN) (0x102) type 0x80(C) len 8 data 00020003<from port web to port db>]"},
		{"tcpdump of VXLAN", "", "12:00:00.1 IP 172.30.0.11.1 > 172.30.0.12.4789: VXLAN, flags [I] (0x08), vni 12293<switch green, to port db>"},
		{"ports", "", " 1(veth1)<port web>: addr:0a:00:00:00:00:01"},
		{"prose", "", "the table 9 was laid for reg14 guests, zone=x: 3/4 done (almost)"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			want := strings.ReplaceAll(test.want, "in_port(8<>)", "in_port(8)<Geneve tunnels>")
			if got := annotated(t, knowing(test.bridge), bare(want)); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if got, ok := parsed(t, knowing(test.bridge).namer, test.bridge, bare(want)); ok && got != want {
				t.Errorf("parsed\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// parsed is a single line of dump-flows with the names of the values in it, false
// for other texts: pasted text and parsed values get the same names.
func parsed(t *testing.T, n *decode.Namer, bridge, line string) (string, bool) {
	t.Helper()
	e, err := new(openflow.Reader).FlowEntry(line)
	if err != nil || strings.Contains(line, "\n") {
		return "", false
	}
	if bridge == "" && !strings.Contains(line, "metadata") {
		return "", false // the bridge is unknown
	}
	bridge = cmp.Or(bridge, n.Bridge)
	match, actions := n.NamedEntry(t.Context(), bridge, &e, n.Entry(t.Context(), bridge, &e))
	head, _, ok := strings.Cut(line, match.Text)
	if !ok {
		t.Fatalf("%q is not in %q", match.Text, line)
	}
	return head + match.String() + " actions=" + actions.String(), true
}

// bare takes the names out.
func bare(text string) string {
	for {
		i := strings.IndexByte(text, '<')
		j := strings.IndexByte(text[max(i, 0):], '>')
		if i < 0 || j < 0 {
			return text
		}
		text = text[:i] + text[i+j+1:]
	}
}

// Without a database a newcomer reads what the numbers are for.
func TestWords(t *testing.T) {
	const want = `metadata=0x5<logical switch or router 5>
    set_field:0x3->tun_metadata0<to logical port 3>
     -> NXM_NX_TUN_METADATA0[16..30] is now 0x1<from logical port 1>
Datapath actions: set(tunnel(tun_id=0x4<VNI, logical switch or router 4>,geneve({class=0x102,type=0x80,len=4,0x10003<from logical port 1 to logical port 3>}),flags(df|csum|key))),2
 cookie=0x0, table=0, priority=200,arp,in_port=1 actions=move:NXM_NX_TUN_ID[0..31]->NXM_NX_REG0[],goto_table:10
 cookie=0x0, table=65<from logical port to OpenFlow port>, reg15=0x8000<goes out by multicast group 32768, all ports>,metadata=0x4<logical switch or router 4> actions=output:3`
	if got := annotated(t, ignorant(), bare(want)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A release is enough for the tables.
func TestRelease(t *testing.T) {
	a := ignorant()
	a.namer.Version = release.Parse("23.03.1")
	a.Calibrate(t.Context())
	const want = " table=40<LOCAL_OUTPUT>, reg15=0x3<goes out by logical port 3>,metadata=0x4<logical switch or router 4> actions=resubmit(,41)<CHECK_LOOPBACK>"
	if got := annotated(t, a, bare(want)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Whatever is read, names lie in it, in order.
func FuzzLine(f *testing.F) {
	for _, s := range []string{"metadata=0x5,reg14=0x2 actions=clone(set_field:1->metadata)", " 8. metadata=0x5, priority 1, cookie 0x2", "geneve({class=0x102,type=0x80,len=4,0x10003/", "set_field:->reg15[..]", `in_port="a\"`} {
		f.Add(s)
	}
	a, b := knowing(""), ignorant()
	f.Fuzz(func(t *testing.T, text string) {
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			for _, a := range []*Annotator{a, b} {
				a.Learn(line)
				from := 0
				for _, n := range a.Line(t.Context(), line).Names {
					if n.At < from || n.At > len(line) || n.Name == "" {
						t.Fatalf("%q: name %+v behind %d", line, n, from)
					}
					from = n.At
				}
			}
		}
	})
}

// A line that asks for much work does not take long.
func TestHostile(t *testing.T) {
	for _, unit := range []string{`"\`, "a[", "a(", "metadata=", `in_port="`, "clone(set_field:1->metadata,", "{"} {
		line := strings.Repeat(unit, 1<<20/len(unit)) + " actions="
		knowing("").Line(t.Context(), line)
	}
}
