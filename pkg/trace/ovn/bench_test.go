//go:build lab

package ovn

import (
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/internal/lab/scale"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// BenchmarkEngine follows a packet from a pod to a pod on another node, one direction, with the network read before. Beside
// it, in turns, ovs-vswitchd of the first node is asked for its part of the path: ofproto/trace through its control socket.
// An operation is one packet of the engine.
func BenchmarkEngine(b *testing.B) {
	l := labtest.Shared(b, lab.OVNKubernetes())
	e := New(open(b, l.SB()), Options{})
	from, _ := l.Topology.Pod("shop_client")
	to, _ := l.Topology.Pod("shop_web-2")
	s := readPacket(b, e, from, to.IPv4.Addr(), "tcp", 8080)
	follow := func() {
		w, err := e.Follow(b.Context(), s, nil, nil)
		if err != nil || w.End().End.Outcome != journey.Delivered {
			b.Fatal(err, w.End())
		}
	}
	p := s.Packet
	p.SetInPort(packet.PortID{Name: from.Link})
	ask := dialVswitchd(b, filepath.Join(l.Dir, from.Node), "br-int", p.String())
	follow() // reads
	const packets, questions = 100, 10
	var engine, socket time.Duration
	asked := 0
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		start := time.Now()
		follow()
		engine += time.Since(start)
		if i%packets != 0 {
			continue
		}
		b.StopTimer()
		start = time.Now()
		for range questions {
			ask()
		}
		asked += questions
		socket += time.Since(start)
		b.StartTimer()
	}
	perSecond := func(n int, d time.Duration) float64 { return float64(n) / d.Seconds() }
	b.ReportMetric(perSecond(b.N, engine), "traces/s")
	b.ReportMetric(perSecond(asked, socket), "ofproto-traces/s")
	b.ReportMetric(perSecond(b.N, engine)/perSecond(asked, socket), "ratio")
}

// BenchmarkSizes follows a packet from pod to pod in deployments of three sizes: it takes as long in each, since the path is
// the same. An operation is one packet in each of them.
func BenchmarkSizes(b *testing.B) {
	sizes := []scale.Size{
		{Nodes: 5, Pods: 10, Services: 50, Policies: 10},
		{Nodes: 20, Pods: 20, Services: 500, Policies: 50},
		scale.Small,
	}
	follow := make([]func(), len(sizes))
	for i, size := range sizes {
		d := scale.Start(b, size)
		e := New(open(b, d.SB.Remote()), Options{})
		from, to := d.Pod(0, 0), d.Pod(size.Nodes-1, 0)
		s := readPacket(b, e, lab.Pod{Name: from.Port, MAC: from.MAC, IPv4: netip.PrefixFrom(from.IPv4, 24), Gateway4: netip.PrefixFrom(from.IPv4, 24).Masked().Addr().Next()}, to.IPv4, "tcp", 8080)
		follow[i] = func() {
			if _, err := e.Follow(b.Context(), s, nil, nil); err != nil {
				b.Fatal(err)
			}
		}
		w, err := e.Follow(b.Context(), s, nil, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.Logf("%+v: %d visits, %s", size, len(w.Visits), w.End().End.Outcome)
	}
	took := make([]time.Duration, len(sizes))
	for b.Loop() {
		for i, f := range follow {
			start := time.Now()
			f()
			took[i] += time.Since(start)
		}
	}
	for i, size := range sizes {
		b.ReportMetric(float64(took[i].Microseconds())/float64(b.N), fmt.Sprintf("us/%d-nodes", size.Nodes))
	}
}

// dialVswitchd returns a function that asks ovs-vswitchd of a host for the trace of a packet.
func dialVswitchd(b *testing.B, host, bridge, packet string) func() {
	b.Helper()
	dir := filepath.Join(host, "run/openvswitch")
	pid, err := os.ReadFile(filepath.Join(dir, "ovs-vswitchd.pid"))
	if err != nil {
		b.Fatal(err)
	}
	conn, err := net.Dial("unix", filepath.Join(dir, "ovs-vswitchd."+strings.TrimSpace(string(pid))+".ctl"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close() })
	request, err := json.Marshal(map[string]any{"id": 0, "method": "ofproto/trace", "params": []string{bridge, packet}})
	if err != nil {
		b.Fatal(err)
	}
	replies := json.NewDecoder(conn)
	return func() {
		if _, err := conn.Write(request); err != nil {
			b.Fatal(err)
		}
		var reply struct {
			Result string
			Error  any
		}
		if err := replies.Decode(&reply); err != nil || !strings.Contains(reply.Result, "Datapath actions:") {
			b.Fatal(err, reply)
		}
	}
}
