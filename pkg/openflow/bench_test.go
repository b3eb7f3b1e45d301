package openflow

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// benchFlows is how many flows the benchmark reads.
const benchFlows = 100_000

var datapathKey = regexp.MustCompile(`metadata=0x[0-9a-f]+|cookie=0x[0-9a-f]+`)

// manyFlows are n flows of a large bridge: those that a node of a cluster had,
// again and again for other logical networks, no two of them alike.
func manyFlows(tb testing.TB, n int) []string {
	b, err := os.ReadFile("testdata/dump/flows-of15.txt")
	if err != nil {
		tb.Fatal(err)
	}
	var some, list []string
	for line := range strings.Lines(string(b)) {
		// The library of Debian 12 reads neither n_packets, nor nested clones, nor flows without match and priority.
		if e, err := ParseFlowEntry(line); err == nil && !strings.Contains(line, "clone(set") && (len(e.Match.Terms) > 0 || e.Priority != defaultPriority) {
			e.Stats = nil
			some = append(some, " "+e.String())
		}
	}
	for i := range n {
		line := datapathKey.ReplaceAllStringFunc(some[i%len(some)], func(s string) string {
			key, value, _ := strings.Cut(s, "=0x")
			v, _ := strconv.ParseUint(value, 16, 64)
			return fmt.Sprintf("%s=0x%x", key, (v+uint64(i/len(some))*0x101)&0xffffffff)
		})
		list = append(list, line)
	}
	return strings.Split(strings.Join(list, "\n"), "\n") // parts of one text, as a dump is
}

const python = `
import sys, time
from ovs.flow.ofp import OFPFlow
lines = sys.stdin.read().splitlines()
OFPFlow(lines[0])
start = time.process_time()
for line in lines:
    OFPFlow(line)
print(time.process_time() - start, len(lines))
`

// processTime is the processor time that the process has used.
func processTime(tb testing.TB) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkAgainstPython reads the same flows with ovs.flow of package
// python3-openvswitch and with a Reader, and reports the processor time of both
// and how many times less this one takes.
func BenchmarkAgainstPython(b *testing.B) {
	lines := manyFlows(b, benchFlows)
	cmd := exec.Command("/usr/bin/python3", "-c", python)
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n"))
	out, err := cmd.Output()
	if err != nil {
		b.Fatalf("%v (internal/lab/install.sh installs python3-openvswitch and what it needs)", err)
	}
	var seconds float64
	var count int
	if _, err := fmt.Sscan(string(out), &seconds, &count); err != nil || count != benchFlows {
		b.Fatalf("python: %q, %v", out, err)
	}
	start := processTime(b)
	for b.Loop() {
		var r Reader
		for _, line := range lines {
			if _, err := r.FlowEntry(line); err != nil {
				b.Fatal(err)
			}
		}
	}
	ours := (processTime(b) - start).Seconds() / float64(b.N)
	b.ReportMetric(seconds/benchFlows*1e9, "python-ns/flow")
	b.ReportMetric(ours/benchFlows*1e9, "ns/flow")
	b.ReportMetric(seconds/ours, "times")
}

// BenchmarkReader reads the same flows, without Python.
func BenchmarkReader(b *testing.B) {
	lines := manyFlows(b, benchFlows)
	for b.Loop() {
		var r Reader
		for _, line := range lines {
			if _, err := r.FlowEntry(line); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchFlows, "wall-ns/flow")
}
