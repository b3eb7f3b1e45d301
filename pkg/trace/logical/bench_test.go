package logical

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/flow"
	"github.com/ovnctl/ovnctl/pkg/journey"
)

// BenchmarkEngine follows a packet from a pod to a pod on another node, one direction, with the network read before. Beside
// it, in turns, ovs-vswitchd of the first node is asked for its part of the way: ofproto/trace through its control socket.
// An operation is one packet of the engine.
func BenchmarkEngine(b *testing.B) {
	l := labtest.Shared(b, lab.OVNKubernetes())
	e := New(open(b, l.SB()), Options{})
	from, _ := l.Topology.Pod("shop_client")
	to, _ := l.Topology.Pod("shop_web-2")
	s := packet(b, e, from, to.IPv4.Addr(), "tcp", 8080)
	follow := func() {
		w, err := e.Follow(b.Context(), s, nil, nil)
		if err != nil || w.End().End.Outcome != journey.Delivered {
			b.Fatal(err, w.End())
		}
	}
	p := s.Packet
	p.SetInPort(flow.PortID{Name: from.Link})
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
