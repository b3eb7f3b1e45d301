package ovssim_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/trace/ovssim"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// TestTrackedPackets opens connections, and compares the traces of their further packets, of the answers too,
// with the datapath flows that carried those: what each pass matched and did.
func TestTrackedPackets(t *testing.T) {
	l := labtest.Shared(t, lab.OVNKubernetes())
	c := newComparison(t, l, nil)
	s := c.subject("node1")
	client, _ := l.Topology.Pod("shop/client")
	for _, test := range []struct {
		name, to, proto, address string
		port                     int // of the server, 0 for ICMP
		answer                   bool
	}{
		{"service", "shop/web", "tcp", "10.96.0.10", 80, false},
		{"other node", "shop_web-2", "tcp", "10.244.2.5", 8080, false},
		{"outside", "internet", "tcp", "203.0.113.10", 8080, false},
		{"answer from outside", "internet", "tcp", "203.0.113.10", 8080, true},
		{"answer of UDP", "internet", "udp", "203.0.113.10", 8080, true},
		{"echo reply", "internet", "icmp", "203.0.113.10", 0, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			deadline := time.Now().Add(2 * time.Minute)
			for problem := "nothing was tried"; problem != ""; {
				if time.Now().After(deadline) {
					t.Fatal(problem)
				}
				if truth, err := l.Probe(t.Context(), client.Name, test.to, test.proto, 0); err != nil || !truth.RoundTrip {
					problem = fmt.Sprintf("the packet was lost: %+v %v", truth, err)
					continue
				}
				c.refresh(s)
				for _, err := range s.source.ReadConnections(t.Context(), s.Host) {
					t.Fatal(err)
				}
				s.sw = ovssim.NewSwitch(*s.source)
				d := carried(t, s)
				problem = d.follow(s, client, test.proto, test.address, test.port, test.answer)
			}
		})
	}
}

// A datapath is the flows by which packets were carried.
type datapath []openflow.DatapathFlow

func carried(t *testing.T, s *subject) datapath {
	text, err := s.Control(t.Context(), "ovs-vswitchd", "dpctl/dump-flows", "netdev@ovs-netdev")
	if err != nil {
		t.Fatal(err)
	}
	var list datapath
	for line := range strings.Lines(text) {
		if f, err := openflow.ParseDatapathFlow(line); err == nil {
			list = append(list, f)
		}
	}
	return list
}

// follow traces the next packet of the youngest connection of a pod with an address, and says what is not as
// the datapath has it.
func (d datapath) follow(s *subject, pod lab.Pod, proto, address string, port int, answer bool) string {
	conns := s.source.Connections["netdev"]
	own := pod.IPv4.Addr().String()
	i := slices.IndexFunc(conns, func(c openflow.Connection) bool {
		if answer && (c.Reply.Dst.String() == own || c.Reply.Src.String() != address) {
			return false // of the zone that translates it
		}
		return c.Proto == proto && c.Orig.Src.String() == own && c.Orig.Dst.String() == address
	})
	if i < 0 {
		return "the connection is not tracked"
	}
	bridge, in := "br-int", pod.Link
	pkt := fmt.Sprintf("%s,eth_src=%s,eth_dst=0a:58:0a:f4:01:01,nw_src=%s,nw_dst=%s,nw_ttl=64", proto, pod.MAC, own, address)
	tuple := conns[i].Orig
	if answer {
		bridge, in, tuple = "br-ex", "eth0", conns[i].Reply
		f := slices.IndexFunc(d, func(f openflow.DatapathFlow) bool {
			ip, _ := f.Key.Get("ipv4")
			return f.Key.Value("recirc_id") == "0" && ip.List.Value("src") != "" && ip.List.Value("dst") == tuple.Dst.String()
		})
		if f < 0 {
			return "the datapath has no flow for the answer"
		}
		eth, _ := d[f].Key.Get("eth")
		ip, _ := d[f].Key.Get("ipv4")
		pkt = fmt.Sprintf("%s,eth_src=%s,eth_dst=%s,nw_src=%s,nw_dst=%s,nw_ttl=%s", proto, eth.List.Value("src"), eth.List.Value("dst"), address, tuple.Dst, ip.List.Value("ttl"))
	}
	if proto != "icmp" {
		pkt += fmt.Sprintf(",tp_src=%d,tp_dst=%d", tuple.SrcPort, tuple.DstPort)
	}
	p, err := packet.Parse(pkt)
	if err != nil {
		return err.Error()
	}
	for _, desc := range s.source.Bridges[slices.IndexFunc(s.source.Bridges, func(b ovssim.BridgeSource) bool { return b.Name == bridge })].Ports {
		if desc.Port.Name == in {
			p.SetInPort(packet.PortID{Number: desc.Port.Number})
		}
	}
	got, err := s.sw.Trace(bridge, p, ovssim.Options{})
	if err != nil {
		return err.Error()
	}
	return d.disagrees(got)
}

// established is a bit of ct_state.
const established = 0x02

var recircTo = regexp.MustCompile(`recirc\(0x([0-9a-f]+)\)`)

// disagrees compares the passes of a trace with the flows, from one recirculation to the next.
func (d datapath) disagrees(got *openflow.Trace) string {
	if len(got.Passes) < 2 {
		return "conntrack has not seen the packet:\n" + got.String()
	}
	id := "0"
	for n, pass := range got.Passes {
		if n > 0 && (pass.Recirc.Connection == nil || pass.Recirc.CTState&established == 0) {
			return fmt.Sprintf("pass %d is not one of an established connection:\n%s", n, got)
		}
		var candidates []string
		next, agreed := "", false
		for _, f := range d {
			if strings.TrimPrefix(f.Key.Value("recirc_id"), "0x") != id || !keyOf(f).Matches(pass.Flow) {
				continue
			}
			actions := f.Actions.String()
			candidates = append(candidates, f.String())
			if recircTo.ReplaceAllString(actions, "recirc") == recircTo.ReplaceAllString(pass.DatapathActions, "recirc") {
				agreed = true
				if m := recircTo.FindStringSubmatch(actions); m != nil {
					next = m[1]
				}
			}
		}
		if !agreed {
			return fmt.Sprintf("pass %d is not as a packet was carried: recirculation %s has %q\n%s", n, id, candidates, got)
		}
		id = next
	}
	return ""
}

// keyOf is what a datapath flow matches, but for the port.
func keyOf(f openflow.DatapathFlow) openflow.Match {
	var terms []string
	for _, a := range f.Key {
		switch a.Name {
		case "ct_state", "ct_zone", "ct_mark", "ct_label":
			terms = append(terms, a.Name+"="+f.Key.Value(a.Name))
		case "eth_type":
			terms = append(terms, "dl_type="+f.Key.Value("eth_type"))
		}
	}
	for _, a := range f.Key { // what needs the type comes after it
		for _, part := range a.List {
			if name := keyFields[a.Name+" "+part.Name]; name != "" {
				terms = append(terms, name+"="+part.Value)
			}
		}
	}
	m, err := openflow.ParseMatch(strings.Join(terms, ","))
	if err != nil {
		panic(fmt.Sprintf("%s: %v", f.Key, err)) // the test does not know a field
	}
	return m
}

var keyFields = map[string]string{
	"eth src": "dl_src", "eth dst": "dl_dst", "ipv4 src": "nw_src", "ipv4 dst": "nw_dst", "ipv4 proto": "nw_proto", "ipv4 ttl": "nw_ttl",
	"tcp src": "tp_src", "tcp dst": "tp_dst", "udp src": "tp_src", "udp dst": "tp_dst", "icmp type": "icmp_type", "icmp code": "icmp_code",
	"ct_tuple4 src": "ct_nw_src", "ct_tuple4 dst": "ct_nw_dst", "ct_tuple4 proto": "ct_nw_proto", "ct_tuple4 tp_src": "ct_tp_src", "ct_tuple4 tp_dst": "ct_tp_dst",
}

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
		entry, err := openflow.ParseFlowEntry(" table=0, actions=" + test.actions)
		if err != nil {
			t.Fatal(err)
		}
		sw := ovssim.NewSwitch(ovssim.Source{
			Bridges:     []ovssim.BridgeSource{{Name: "br0", Flows: []openflow.FlowEntry{entry}}},
			Rows:        []vswitch.Bridge{{Name: "br0"}},
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
