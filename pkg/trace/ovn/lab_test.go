//go:build lab

package ovn

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// open reads the Southbound of a lab.
func open(tb testing.TB, remote string) *logicalflow.Network {
	tb.Helper()
	db := ovsdbtest.Dial(tb, "OVN_Southbound", remote)
	net, err := logicalflow.Open(tb.Context(), db)
	if err != nil {
		tb.Fatal(err)
	}
	return net
}

// A question is a packet that a pod sends.
type question struct {
	from, to, proto string // as [lab.State.Probe] takes them
	port            int
}

func (q question) String() string { return fmt.Sprintf("%s %s %s %d", q.from, q.to, q.proto, q.port) }

// packet is the first of a question: as the pod's kernel sends it, with the MAC address of its next hop.
func readPacket(tb testing.TB, e *Engine, pod lab.Pod, to netip.Addr, proto string, port int) Start {
	tb.Helper()
	r := &run{engine: e, ctx: context.Background()}
	p, err := r.port(pod.Name)
	if err != nil || p == nil {
		tb.Fatal(pod.Name, err)
	}
	own, gateway := pod.IPv4, pod.Gateway4
	if to.Is6() {
		own, gateway = pod.IPv6, pod.Gateway6
	}
	hop := gateway
	if own.Contains(to) {
		hop = to
	}
	known, err := r.holders(p.Datapath)
	if err != nil {
		tb.Fatal(err)
	}
	var hardware packet.Value
	if h := known.address[hop]; h != nil {
		hardware = h.mac
	}
	s := Start{Port: p}
	w := &walker{run: &run{fields: e.fields}}
	f := e.fields
	f.ethSrc.Set(&w.packet, mac(pod.MAC))
	f.ethDst.Set(&w.packet, hardware)
	w.put(f.ethType, packet.EthIPv4)
	if to.Is6() {
		w.put(f.ethType, packet.EthIPv6)
	}
	f.source(&w.packet).Set(&w.packet, packet.FromAddr(own.Addr()))
	f.destination(&w.packet).Set(&w.packet, packet.FromAddr(to))
	w.put(f.ttl, 64)
	switch strings.TrimSuffix(proto, "6") {
	case "tcp":
		w.put(f.proto, packet.ProtoTCP)
		w.put(f.tcpFlags, 2)
	case "udp":
		w.put(f.proto, packet.ProtoUDP)
	default:
		w.put(f.proto, packet.ProtoICMP)
		w.put(f.icmpType, 8)
		if to.Is6() {
			w.put(f.proto, packet.ProtoICMPv6)
			w.put(f.icmp6Type, 128)
		}
	}
	if port != 0 {
		w.put(f.srcPort, 40000)
		w.put(f.dstPort, uint64(port))
	}
	s.Packet = w.packet
	return s
}

// An outcome is that of a round trip.
type outcome struct {
	roundTrip, rejected bool
	text                string
}

// roundTrips follows a packet and its answer, once for each combination of choices.
func roundTrips(tb testing.TB, e *Engine, s Start) []outcome {
	tb.Helper()
	var all []outcome
	_, err := e.Every(tb.Context(), s, nil, func(w *Path, c *Connections) error {
		o := outcome{text: tell(w)}
		end := w.End()
		o.rejected = end.End.Outcome == journey.Rejected
		o.roundTrip = end.End.Port == s.Port // OVN answered in the packet's own place
		if back, ok := e.Reply(end); ok && !o.roundTrip {
			answer, err := e.Follow(tb.Context(), back, c, nil)
			if err != nil {
				return err
			}
			o.text += "reply\n" + tell(answer)
			end = answer.End()
			o.roundTrip = end.End.Outcome == journey.Delivered && end.End.Port == s.Port
		}
		all = append(all, o)
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

// tell writes a path for whoever reads a failure.
func tell(w *Path) string {
	var b strings.Builder
	for _, v := range w.Visits {
		indent := strings.Repeat("  ", len(v.Visits()))
		chassis := "-"
		if v.Chassis != nil {
			chassis = v.Chassis.Row.Hostname
		}
		fmt.Fprintf(&b, "%s%s %s on %s (origin %d %s)\n", indent, v.Datapath, v.Pipeline, chassis, v.Origin, v.Name)
		for i, s := range v.Steps {
			if s.Flow == nil {
				fmt.Fprintf(&b, "%s  %d no flow\n", indent, s.Table)
				continue
			}
			if strings.TrimSpace(s.Flow.Row.Match) == "1" && s.Flow.Row.Actions == "next;" {
				continue
			}
			fmt.Fprintf(&b, "%s  %d %s %d: %s -> %s", indent, s.Table, s.Flow.Stage(), s.Flow.Row.Priority, s.Flow.Row.Match, s.Flow.Row.Actions)
			for _, c := range s.Changes {
				fmt.Fprintf(&b, " [%s %s]", c.Field, c.To)
			}
			if i == len(v.Steps)-1 && v.End != nil {
				p := v.Before(i)
				fmt.Fprintf(&b, "\n%s  %s", indent, p.String())
			}
			b.WriteByte('\n')
		}
		if v.End != nil {
			port := ""
			if v.End.Port != nil {
				port = v.End.Port.Name()
			}
			fmt.Fprintf(&b, "%s= %s %d %s %s%s\n", indent, v.End.Outcome, v.End.Reason, port, v.End.Network, v.End.Detail)
		}
	}
	return b.String()
}

// target is where a question goes to, and with which port.
func target(tb testing.TB, t lab.Topology, q question) (netip.Addr, int) {
	tb.Helper()
	six := strings.HasSuffix(q.proto, "6")
	pick := func(a, b netip.Addr) netip.Addr {
		if six {
			return b
		}
		return a
	}
	if p, ok := t.Pod(q.to); ok {
		return pick(p.IPv4.Addr(), p.IPv6.Addr()), q.port
	}
	if n, ok := t.Node(q.to); ok {
		return pick(n.IPv4.Addr(), n.IPv6.Addr()), q.port
	}
	if s, ok := t.Service(q.to, strings.TrimSuffix(q.proto, "6")); ok {
		return pick(s.VIP4, s.VIP6), s.Port
	}
	if q.to == "internet" {
		return pick(lab.Internet4, lab.Internet6), q.port
	}
	a, err := netip.ParseAddr(q.to)
	if err != nil {
		tb.Fatal(q, err)
	}
	return a, q.port
}

// questions are all that the pods of a lab may ask.
func questions(t lab.Topology) []question {
	var all []question
	for _, from := range t.Pods {
		var to []string
		for _, p := range t.Pods {
			if p.Name != from.Name {
				to = append(to, p.Name)
			}
		}
		for _, n := range t.Nodes {
			to = append(to, n.Name)
		}
		to = append(to, "internet")
		families := []string{""}
		if from.IPv6.IsValid() {
			families = append(families, "6")
		}
		for _, family := range families {
			for _, name := range to {
				for _, port := range lab.Ports {
					all = append(all, question{from.Name, name, "tcp" + family, port}, question{from.Name, name, "udp" + family, port})
				}
				all = append(all, question{from.Name, name, "icmp" + family, 0})
			}
			for _, s := range t.Services {
				all = append(all, question{from.Name, s.Name, s.Protocol + family, s.Port})
			}
		}
	}
	return all
}

// The path that the engine finds is that of packets.
func TestPackets(t *testing.T) {
	for _, topology := range []lab.Topology{lab.OVNKubernetes(), lab.KubeOVN()} {
		t.Run(topology.Name, func(t *testing.T) {
			drawn(t, labtest.Shared(t, topology))
		})
	}
}

// drawn compares some of the questions of a lab.
func drawn(t *testing.T, l *lab.Lab) {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	all := questions(l.Topology)
	rand.New(rand.NewPCG(seed, 0)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	compare(t, l.State, all[:min(len(all), 60)])
}

func compare(t *testing.T, l *lab.State, all []question) {
	t.Helper()
	e := New(open(t, l.SB()), Options{Assume: true})
	counts := map[string]int{}
	for _, q := range all {
		pod, _ := l.Topology.Pod(q.from)
		to, port := target(t, l.Topology, q)
		got := roundTrips(t, e, readPacket(t, e, pod, to, q.proto, port))
		truth, err := l.Probe(t.Context(), q.from, q.to, q.proto, q.port)
		if err != nil {
			t.Fatal(q, err)
		}
		counts[fmt.Sprintf("round trip %v, rejected %v", truth.RoundTrip, truth.Rejected)]++
		// Which of several backends the packet met is not known: one of them did with it what was seen.
		same := func(o outcome) bool { return o.roundTrip == truth.RoundTrip && o.rejected == truth.Rejected }
		if !slices.ContainsFunc(got, same) {
			t.Errorf("%v: packets: %+v; round trip %v, rejected %v\n%s", q, truth, got[0].roundTrip, got[0].rejected, got[0].text)
		}
	}
	t.Logf("%d questions: %v", len(all), counts)
}
