//go:build lab

package ovssim_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/trace/ovssim"
)

const benchBridge = "br-many"

// BenchmarkTrace traces packets through a bridge of 50,000 flows, and asks
// ofproto/trace through its socket about the same ones. The flows are those of a
// node's integration bridge, again and again for other datapaths.
func BenchmarkTrace(b *testing.B) {
	l := labtest.Shared(b, lab.OVNKubernetes())
	host := node.Local(node.LocalConfig{OVSRunDir: filepath.Join(l.Dir, "node1/run/openvswitch"), Timeout: 20 * time.Second})
	n := multiply(b, l, host)
	source, errs := ovssim.Read(b.Context(), host)
	if len(errs) > 0 {
		b.Fatal(errs)
	}
	start := time.Now()
	sw := ovssim.NewSwitch(*source)
	b.Logf("%d flows, prepared in %s", n, time.Since(start))
	r := rand.New(rand.NewPCG(1, 1))
	var packets []packet.Flow
	for range 500 {
		packets = append(packets, podPacket(b, r))
	}
	var ours, theirs []time.Duration // medians bear with a machine that does other things, too
	lookups := 0
	for b.Loop() {
		for _, p := range packets {
			start := time.Now()
			t, err := sw.Trace(benchBridge, p, ovssim.Options{})
			if err != nil || len(t.String()) < 100 {
				b.Fatal(err)
			}
			ours = append(ours, time.Since(start))
		}
	}
	for _, p := range packets {
		question := p.String()
		start := time.Now()
		reply, err := host.Control(b.Context(), "ovs-vswitchd", "ofproto/trace", benchBridge, question)
		if err != nil {
			b.Fatal(err)
		}
		theirs = append(theirs, time.Since(start))
		lookups += strings.Count(reply, ", priority ")
	}
	rate := func(list []time.Duration) float64 {
		slices.Sort(list)
		return 1 / list[len(list)/2].Seconds()
	}
	b.ReportMetric(rate(ours), "traces/s")
	b.ReportMetric(rate(theirs), "other-traces/s")
	b.ReportMetric(rate(ours)/rate(theirs), "x-faster")
	b.ReportMetric(float64(lookups)/float64(len(packets)), "lookups")
	b.ReportMetric(0, "ns/op")
}

// podPacket is a packet of pod shop/client of one of the datapaths.
func podPacket(b *testing.B, r *rand.Rand) packet.Flow {
	p, err := packet.Parse("tcp,eth_src=0a:58:0a:f4:01:06,eth_dst=0a:58:0a:f4:01:01,nw_src=10.244.1.6,nw_ttl=64,tcp_src=40000,tcp_dst=8080")
	if err != nil {
		b.Fatal(err)
	}
	p.SetInPort(packet.PortID{Number: uint32(4 + 100*r.IntN(copies))})
	text(&p, "ip_dst", fmt.Sprintf("10.244.%d.%d", 1+r.IntN(3), 2+r.IntN(6)))
	return p
}

// copies is how often the flows of a node make 50,000.
const copies = 41

var (
	metadataMatch = regexp.MustCompile(`metadata=0x([0-9a-f]+)`)
	metadataSet   = regexp.MustCompile(`set_field:0x([0-9a-f]+)->metadata`)
	inPortMatch   = regexp.MustCompile(`in_port=([0-9]+)`)
)

// multiply makes the bridge, and says how many flows it has.
func multiply(b *testing.B, l *lab.Lab, host node.Host) int {
	run := func(args ...string) {
		b.Helper()
		if _, err := l.Run(b.Context(), "node1", args...); err != nil {
			b.Fatal(err)
		}
	}
	dump := func(kind node.DumpKind) openflow.Dump {
		b.Helper()
		text, err := host.Dump(b.Context(), "br-int", kind)
		if err != nil {
			b.Fatal(err)
		}
		list, err := openflow.ParseDump(text)
		if err != nil {
			b.Fatal(err)
		}
		return list
	}
	var flows, groups strings.Builder
	count := 0
	for _, e := range dump(node.Flows) {
		f, ok := e.(openflow.FlowEntry)
		if !ok {
			continue
		}
		f.Stats = nil
		line := f.String()
		common := !metadataMatch.MatchString(line) && !inPortMatch.MatchString(line)
		for i := range copies {
			if common && i > 0 {
				break
			}
			shift := func(pattern *regexp.Regexp, format string, base, step int) {
				line = pattern.ReplaceAllStringFunc(line, func(s string) string {
					n, _ := strconv.ParseInt(pattern.FindStringSubmatch(s)[1], base, 64)
					return fmt.Sprintf(format, int(n)+i*step)
				})
			}
			line = f.String()
			shift(metadataMatch, "metadata=0x%x", 16, 0x100)
			shift(metadataSet, "set_field:0x%x->metadata", 16, 0x100)
			shift(inPortMatch, "in_port=%d", 10, 100)
			flows.WriteString(line + "\n")
			count++
		}
	}
	for _, e := range dump(node.Groups) {
		if g, ok := e.(openflow.GroupEntry); ok {
			groups.WriteString(g.String() + "\n")
		}
	}
	run("ovs-vsctl", "--timeout=20", "--may-exist", "add-br", benchBridge, "--", "set", "bridge", benchBridge, "datapath-type=netdev", "fail-mode=secure", "protocols=OpenFlow10,OpenFlow15")
	b.Cleanup(func() {
		if _, err := l.Run(context.Background(), "node1", "ovs-vsctl", "--timeout=20", "del-br", benchBridge); err != nil { // the benchmark's own context has ended
			b.Error(err)
		}
	})
	run("ovs-ofctl", "-O", "OpenFlow15", "add-tlv-map", benchBridge, "{class=0x102,type=0x80,len=4}->tun_metadata0")
	for _, load := range []struct{ command, content string }{{"add-groups", groups.String()}, {"replace-flows", flows.String()}} {
		file := filepath.Join(l.Dir, load.command)
		if err := os.WriteFile(file, []byte(load.content), 0o600); err != nil {
			b.Fatal(err)
		}
		run("ovs-ofctl", "-O", "OpenFlow15", load.command, benchBridge, file)
	}
	return count
}
