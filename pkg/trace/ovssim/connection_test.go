//go:build lab

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
				d := carried(t, s, "netdev")
				problem = d.follow(s, client, test.proto, test.address, test.port, test.answer)
			}
		})
	}
}

// A datapath is the flows by which packets were carried.
type datapath []openflow.DatapathFlow

// carried reads the flows of the datapath of a type.
func carried(t *testing.T, s ovssim.Host, kind string, options ...string) datapath {
	text, err := s.Control(t.Context(), "ovs-vswitchd", "dpctl/dump-flows", append(options, kind+"@ovs-"+kind)...)
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
