package ovssim_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/trace/ovssim"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// TestConnections looks up packets in connections of the kernel, which no lab has, by the rules of its datapath: a packet
// is of an established connection when an answer was seen, and remains related to the one that announced it.
func TestConnections(t *testing.T) {
	const (
		answered   = "tcp,orig=(src=10.0.0.1,dst=10.0.0.2,sport=1000,dport=80),reply=(src=10.0.0.2,dst=10.0.0.1,sport=80,dport=1000),zone=5,status=SEEN_REPLY|ASSURED|CONFIRMED,mark=7,labels=0x30"
		unanswered = "udp,orig=(src=10.0.0.1,dst=10.0.0.9,sport=53,dport=53),reply=(src=10.0.0.2,dst=10.0.0.1,sport=5353,dport=53),zone=5,status=CONFIRMED|DST_NAT_DONE"
		related    = "tcp,orig=(src=10.0.0.2,dst=10.0.0.1,sport=20,dport=2000),reply=(src=10.0.0.1,dst=10.0.0.2,sport=2000,dport=20),zone=5,status=EXPECTED|SEEN_REPLY|CONFIRMED,parent=(src=10.0.0.1,dst=10.0.0.2,sport=1000,dport=21)"
		translated = "tcp,orig=(src=10.0.0.1,dst=10.0.0.2,sport=7,dport=7),reply=(src=10.0.0.2,dst=192.0.2.1,sport=7,dport=70),zone=5,status=SEEN_REPLY|CONFIRMED|SRC_NAT_DONE"
		over       = "tcp,orig=(src=10.0.0.1,dst=10.0.0.2,sport=8,dport=8),reply=(src=10.0.0.2,dst=10.0.0.1,sport=8,dport=8),zone=5,status=SEEN_REPLY|CONFIRMED,protoinfo=(state=TIME_WAIT)"
		ping       = "icmp,orig=(src=10.0.0.1,dst=10.0.0.2,id=5),reply=(src=10.0.0.2,dst=10.0.0.1,id=5),zone=5"
		six        = "udp,orig=(src=fd00::1,dst=fd00::2,sport=9,dport=9),reply=(src=fd00::2,dst=fd00:9::1,sport=9,dport=9),zone=5,status=SEEN_REPLY|CONFIRMED"
	)
	var list []openflow.Connection
	for _, line := range []string{answered, unanswered, related, translated, over, ping, six} {
		c, err := openflow.ParseConnection(line)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	for _, test := range []struct {
		actions, packet string
		next            []uint32
		want            string // the packet that comes back, and the connection
	}{
		{"ct(table=1,zone=5)", "tcp,nw_src=10.0.0.1,nw_dst=10.0.0.2,tp_src=1000,tp_dst=80", nil, "ct_state=est|trk,ct_mark=0x7,ct_label=0x30 " + answered},
		{"ct(table=1,zone=5)", "tcp,nw_src=10.0.0.2,nw_dst=10.0.0.1,tp_src=80,tp_dst=1000", nil, "ct_state=est|rpl|trk,ct_mark=0x7,ct_label=0x30 " + answered},
		{"ct(table=1,zone=6)", "tcp,nw_src=10.0.0.1,nw_dst=10.0.0.2,tp_src=1000,tp_dst=80,ct_mark=3", nil, "ct_state=new|trk,ct_mark=0,ct_label=0"},
		{"ct(table=1,zone=5)", "tcp,nw_src=10.0.0.1,nw_dst=10.0.0.2,tp_src=1000,tp_dst=80", []uint32{0x30}, "ct_state=inv|trk,ct_mark=0,ct_label=0"},
		{"ct(commit,table=1,zone=5,exec(load:1->NXM_NX_CT_MARK[0..1]))", "tcp,nw_src=10.0.0.1,nw_dst=10.0.0.2,tp_src=1000,tp_dst=80", nil, "ct_state=est|trk,ct_mark=0x5,ct_label=0x30 " + answered},
		{"ct(commit,force,table=1,zone=5)", "tcp,nw_src=10.0.0.2,nw_dst=10.0.0.1,tp_src=80,tp_dst=1000", nil, "ct_state=new|trk,ct_mark=0,ct_label=0"},
		{"ct(commit,force,table=1,zone=5)", "tcp,nw_src=10.0.0.1,nw_dst=10.0.0.2,tp_src=1000,tp_dst=80", nil, "ct_state=est|trk,ct_mark=0x7,ct_label=0x30 " + answered},
		{"ct(table=1,zone=5,nat)", "udp,nw_src=10.0.0.1,nw_dst=10.0.0.9,tp_src=53,tp_dst=53", nil, "ct_state=new|trk|dnat,nw_dst=10.0.0.2,tp_dst=5353 " + unanswered},
		{"ct(table=1,zone=5)", "udp,nw_src=10.0.0.1,nw_dst=10.0.0.9,tp_src=53,tp_dst=53", nil, "ct_state=new|trk,nw_dst=10.0.0.9,tp_dst=53 " + unanswered},
		{"ct(table=1,zone=5,nat)", "udp,nw_src=10.0.0.2,nw_dst=10.0.0.1,tp_src=5353,tp_dst=53", nil, "ct_state=est|rpl|trk|snat,nw_src=10.0.0.9,tp_src=53 " + unanswered},
		{"ct(table=1,zone=5)", "tcp,nw_src=10.0.0.2,nw_dst=10.0.0.1,tp_src=20,tp_dst=2000", nil, "ct_state=est|rel|trk,ct_nw_src=10.0.0.2,ct_tp_dst=2000 " + related},
		{"ct(commit,table=1,zone=5,nat(src=192.0.2.7))", "tcp,nw_src=10.0.0.1,nw_dst=10.0.0.2,tp_src=7,tp_dst=7", nil, "ct_state=est|trk|snat,nw_src=192.0.2.1,tp_src=70 " + translated},
		{"ct(table=1,zone=5,nat)", "tcp,nw_src=10.0.0.2,nw_dst=192.0.2.1,tp_src=7,tp_dst=70", nil, "ct_state=est|rpl|trk|dnat,nw_dst=10.0.0.1,tp_dst=7 " + translated},
		{"ct(table=1,zone=5)", "tcp,nw_src=10.0.0.1,nw_dst=10.0.0.2,tp_src=8,tp_dst=8,tcp_flags=syn", nil, "ct_state=new|trk"},
		{"ct(table=1,zone=5)", "tcp,nw_src=10.0.0.1,nw_dst=10.0.0.2,tp_src=8,tp_dst=8,tcp_flags=ack", nil, "ct_state=est|trk " + over},
		{"ct(table=1,zone=5)", "icmp,nw_src=10.0.0.1,nw_dst=10.0.0.2,icmp_type=8", nil, "ct_state=est|trk,ct_nw_src=10.0.0.1,ct_tp_src=8 " + ping},
		{"ct(table=1,zone=5)", "icmp,nw_src=10.0.0.2,nw_dst=10.0.0.1,icmp_type=0", nil, "ct_state=est|rpl|trk " + ping},
		{"ct(table=1,zone=5)", "icmp,nw_src=10.0.0.2,nw_dst=10.0.0.1,icmp_type=8", nil, "ct_state=new|trk"},
		{"ct(table=1,zone=5,nat)", "udp6,ipv6_src=fd00::2,ipv6_dst=fd00:9::1,tp_src=9,tp_dst=9", nil, "ct_state=est|rpl|trk|dnat,ipv6_dst=fd00::1,ct_ipv6_src=fd00::1 " + six},
	} {
		entry, err := new(openflow.Reader).FlowEntry(" table=0, actions=" + test.actions)
		if err != nil {
			t.Fatal(err)
		}
		sw := ovssim.NewSwitch(ovssim.Source{
			Bridges:     []ovssim.BridgeSource{{Name: "br0", Flows: []openflow.FlowEntry{entry}}},
			Rows:        []vswitch.Bridge{{BridgeBrief: vswitch.BridgeBrief{Name: "br0"}}},
			Connections: map[string][]openflow.Connection{"system": list},
		})
		p, err := packet.Parse(test.packet)
		if err != nil {
			t.Fatal(err)
		}
		got, err := sw.Trace("br0", p, ovssim.Options{Next: test.next})
		if err != nil || len(got.Passes) != 2 {
			t.Fatalf("%s %s: %v\n%s", test.actions, test.packet, err, got)
		}
		fields, connection, _ := strings.Cut(test.want, " ")
		back := got.Passes[1]
		match, err := openflow.ParseMatch(strings.TrimSuffix(test.packet[:strings.Index(test.packet, ",")]+","+exactState(fields), ","))
		if err != nil {
			t.Fatal(err)
		}
		known := ""
		if c := back.Recirc.Connection; c != nil {
			known = c.String()
		}
		if !match.Matches(back.Flow) || known != connection {
			t.Errorf("%s of %s: the packet comes back as\n%s\nof %q, want\n%s", test.actions, test.packet, back.FlowText, known, test.want)
		}
	}
}

// exactState makes of est|trk a match on all bits.
func exactState(fields string) string {
	state, rest, _ := strings.Cut(fields, ",")
	bits, err := packet.ParseCTState(strings.ReplaceAll(strings.TrimPrefix(state, "ct_state="), "|", ","))
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("ct_state=%#x/0xff,%s", bits, rest)
}
