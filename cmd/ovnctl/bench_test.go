//go:build lab

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/internal/lab/scale"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
)

// A task is the commands, one after another, by which somebody gets an answer.
type task []command

// A command makes a process each time it is to be run.
type command struct {
	make func() *exec.Cmd
	exit int // that it must end with
}

// BenchmarkStart is how long a command takes that does nothing.
func BenchmarkStart(b *testing.B) {
	program := buildOvnctl(b)
	beside(b, task{host(0, program, "version")}, task{host(0, "ovs-appctl", "--version")}, nil)
}

// BenchmarkTopology compares with what an operator runs to see the same parts.
func BenchmarkTopology(b *testing.B) {
	l, program := labtest.Shared(b, lab.OVNKubernetes()), buildOvnctl(b)
	classic := task{on(l, "central", "ovn-nbctl", "show"), on(l, "central", "ovn-sbctl", "show")}
	for _, n := range l.Topology.Nodes {
		classic = append(classic, on(l, n.Name, "ovs-vsctl", "show"))
	}
	for _, format := range []string{"tree", "json"} {
		b.Run(format, func(b *testing.B) {
			ours := task{on(l, "node1", nodeArgs(l, program, "topology", "show", "-o", format)...)}
			b.Run("tools on other nodes", func(b *testing.B) { beside(b, ours, classic, nil) })
			b.Run("ovnctl on other nodes", func(b *testing.B) {
				install(b, program)
				beside(b, ours, classic, nil)
			})
		})
	}
}

// BenchmarkTrace follows a TCP connection between two pods on different nodes, there and back. The classic tools get the
// requests ready made: to find ports, MAC addresses and tunnel fields for them is the work that ovnctl does itself.
func BenchmarkTrace(b *testing.B) {
	l, program := labtest.Shared(b, lab.OVNKubernetes()), buildOvnctl(b)
	args := nodeArgs(l, program, "trace", "shop/client", "shop/web-2", "--tcp", "8080")
	ours := task{on(l, "node1", args...)}
	requests := traceRequests(b, l, args)
	logical := task{
		on(l, "central", append(strings.Fields("ovn-trace --ct=new --ct=new node1"), microflowOf(l, "shop/client", "shop/web-2", 40000, 8080))...),
		on(l, "central", append(strings.Fields("ovn-trace --ct=est,rpl --ct=est,rpl node2"), microflowOf(l, "shop/web-2", "shop/client", 8080, 40000))...),
	}
	plain, named := slices.Clone(logical), slices.Clone(logical)
	for i, r := range requests {
		file := filepath.Join(b.TempDir(), strconv.Itoa(i))
		trace := on(l, r.node, "sh", "-c", "exec "+r.line+" > "+file)
		plain = append(plain, trace)
		named = append(named, trace, on(l, r.node, "sh", "-c", "exec ovn-detrace --ovnsb="+l.SB()+" --ovnnb="+l.NB()+" < "+file))
	}
	b.Run("beside ovn-trace and ofproto-trace", func(b *testing.B) { beside(b, ours, plain, nil) })
	b.Run("beside ovn-trace and ofproto-trace, ovnctl on both nodes", func(b *testing.B) {
		install(b, program)
		beside(b, ours, plain, nil)
	})
	b.Run("beside ovn-trace and ofproto-trace with ovn-detrace", func(b *testing.B) { beside(b, ours, named, nil) })
}

// BenchmarkControl compares one request on an open program with a process of ovs-appctl.
func BenchmarkControl(b *testing.B) {
	l := labtest.Shared(b, lab.OVNKubernetes())
	h := node.Local(node.LocalConfig{OVSRunDir: filepath.Join(l.Dir, "node1/run/openvswitch")})
	appctl := on(l, "node1", "ovs-appctl", "version").make
	var ours, theirs []time.Duration
	for b.Loop() {
		start := time.Now()
		if _, err := h.Control(b.Context(), "ovs-vswitchd", "version"); err != nil {
			b.Fatal(err)
		}
		ours = append(ours, time.Since(start))
		start = time.Now()
		if err := appctl().Run(); err != nil {
			b.Fatal(err)
		}
		theirs = append(theirs, time.Since(start))
	}
	reportTimes(b, ours, theirs)
}

// BenchmarkDeployment asks a deployment none of whose nodes can be read, and watches how long the Southbound server keeps
// another client waiting meanwhile.
func BenchmarkDeployment(b *testing.B) {
	d, program := scale.Start(b, scale.Small), buildOvnctl(b)
	from := d.Pod(0, 0)
	at := []string{"--nb", d.NB.Remote(), "--sb", d.SB.Remote()}
	ovnctl := func(args ...string) task {
		return task{host(exitOK, append([]string{program}, append(args, at...)...)...)}
	}
	nbctl := func(args ...string) command {
		return host(0, append([]string{"ovn-nbctl", "--db=" + d.NB.Remote()}, args...)...)
	}
	sbctl := func(args ...string) command {
		return host(0, append([]string{"ovn-sbctl", "--db=" + d.SB.Remote()}, args...)...)
	}
	pod := from.Namespace + "/" + from.Name
	for _, format := range []string{"tree", "json"} {
		b.Run("topology show -o "+format, func(b *testing.B) {
			beside(b, ovnctl("topology", "show", "-o", format), task{nbctl("show"), sbctl("show")}, d.SB)
		})
	}
	b.Run("topology show POD", func(b *testing.B) {
		beside(b, ovnctl("topology", "show", pod), task{
			nbctl("list", "Logical_Switch_Port", from.Port), nbctl("show", from.Node),
			sbctl("find", "Port_Binding", "logical_port="+from.Port), sbctl("list", "Chassis", from.Node),
		}, d.SB)
	})
}

// beside runs two tasks in turn and reports what ours takes, what the other takes, and the ratios. With a server, it
// reports too how long an echo to it takes at most while they run.
func beside(b *testing.B, ours, theirs task, server *ovsdbtest.Server) {
	b.Helper()
	var a, z []time.Duration
	var echoA, echoZ time.Duration
	for b.Loop() {
		a = append(a, ours.time(b, server, &echoA))
		z = append(z, theirs.time(b, server, &echoZ))
	}
	reportTimes(b, a, z)
	peakA, peakZ := ours.peak(b), theirs.peak(b)
	b.ReportMetric(float64(peakA)/(1<<20), "MiB")
	b.ReportMetric(float64(peakZ)/(1<<20), "other-MiB")
	b.ReportMetric(float64(peakA)/float64(peakZ), "x-MiB")
	if server != nil {
		b.ReportMetric(milliseconds(echoA), "echo-ms")
		b.ReportMetric(milliseconds(echoZ), "other-echo-ms")
	}
}

// reportTimes reports medians: the machine does other things too.
func reportTimes(b *testing.B, ours, theirs []time.Duration) {
	slices.Sort(ours)
	slices.Sort(theirs)
	a, z := ours[len(ours)/2], theirs[len(theirs)/2]
	b.ReportMetric(0, "ns/op") // of both together, which says nothing
	b.ReportMetric(milliseconds(a), "ms")
	b.ReportMetric(milliseconds(z), "other-ms")
	b.ReportMetric(a.Seconds()/z.Seconds(), "x-ms")
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// time runs the task once. With a server, longest becomes the longest that an echo took.
func (t task) time(b *testing.B, server *ovsdbtest.Server, longest *time.Duration) time.Duration {
	b.Helper()
	if server != nil {
		stop := echo(b, server.Socket)
		defer func() { *longest = max(*longest, stop()) }()
	}
	start := time.Now()
	for _, c := range t {
		c.run(b, func(*os.Process) {})
	}
	return time.Since(start)
}

// peak is the most resident memory that one process of the task had, in bytes.
func (t task) peak(b *testing.B) int64 {
	b.Helper()
	var highest int64
	for _, c := range t {
		c.run(b, func(p *os.Process) {
			// Not Maxrss of wait4(2): it counts what the test itself had when it forked.
			for {
				rss, ok := highWater(p.Pid)
				if !ok {
					return
				}
				highest = max(highest, rss)
				time.Sleep(200 * time.Microsecond)
			}
		})
	}
	return highest
}

// highWater is the peak resident set of a running process, in bytes.
func highWater(pid int) (int64, bool) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, false
	}
	_, rest, ok := strings.Cut(string(status), "\nVmHWM:")
	if !ok { // it has ended
		return 0, false
	}
	kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	return kib << 10, err == nil
}

// run runs the command to its end, with watch beside it.
func (c command) run(b *testing.B, watch func(*os.Process)) {
	b.Helper()
	cmd := c.make()
	var errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.Discard, &errs
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	watched := make(chan struct{})
	go func() {
		watch(cmd.Process)
		close(watched)
	}()
	err := cmd.Wait()
	<-watched
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || cmd.ProcessState.ExitCode() != c.exit {
		b.Fatalf("%s: exit status %d, want %d: %v\n%s", cmd, cmd.ProcessState.ExitCode(), c.exit, err, errs.Bytes())
	}
}

// on is a command on a host of a lab.
func on(l *lab.Lab, name string, args ...string) command {
	return command{make: func() *exec.Cmd { return l.Program(context.Background(), name, args...) }}
}

// host is a command on this machine.
func host(exit int, args ...string) command {
	return command{exit: exit, make: func() *exec.Cmd { return exec.Command(args[0], args[1:]...) }}
}

func nodeArgs(l *lab.Lab, program string, args ...string) []string {
	return append(append([]string{program}, args...), "--nb", l.NB(), "--node-exec", l.Dir+"/enter {hostname}")
}

// buildOvnctl builds ovnctl as it is shipped.
func buildOvnctl(b testing.TB) string {
	b.Helper()
	program := filepath.Join(b.TempDir(), "ovnctl")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w -X main.version=v0.0.1", "-o", program, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return program
}

// install has all hosts of a lab find the program, which is called ovnctl.
func install(t testing.TB, program string) {
	t.Helper()
	t.Setenv("PATH", filepath.Dir(program)+":"+os.Getenv("PATH"))
}

// A request is an ofproto/trace command line and where to run it.
type request struct{ node, line string }

// traceRequests are those with which a packet and its answer begin in the integration bridge of each node, as ovnctl finds
// them. What ovnctl asks about the tunnel's own packets, in the bridge of the uplink, nobody who uses the classic tools asks.
func traceRequests(b *testing.B, l *lab.Lab, args []string) []request {
	b.Helper()
	out, err := on(l, "node1", append(args, "--show-commands", "-o", "json")...).make().Output()
	if err != nil {
		b.Fatal(err)
	}
	var t journey.Trace
	if err := json.Unmarshal(out, &t); err != nil {
		b.Fatal(err)
	}
	var requests []request
	for _, c := range t.Commands {
		if node, line, ok := strings.Cut(c, ": "); ok && strings.Contains(line, "ofproto/trace br-int ") {
			requests = append(requests, request{node, line})
		}
	}
	if len(requests) != 4 {
		b.Fatalf("%d requests, want one a node and direction: %q", len(requests), t.Commands)
	}
	return requests
}

// microflow is the packet from one pod to another as ovn-trace takes it.
func microflowOf(l *lab.Lab, from, to string, sport, dport int) string {
	src, _ := l.Topology.Pod(strings.ReplaceAll(from, "/", "_"))
	dst, _ := l.Topology.Pod(strings.ReplaceAll(to, "/", "_"))
	g := src.Gateway4.As4()
	return fmt.Sprintf("inport == %q && eth.src == %s && eth.dst == 0a:58:%02x:%02x:%02x:%02x && ip4.src == %s && ip4.dst == %s && ip.ttl == 64 && tcp.src == %d && tcp.dst == %d",
		src.Name, src.MAC, g[0], g[1], g[2], g[3], src.IPv4.Addr(), dst.IPv4.Addr(), sport, dport)
}

// echo asks an OVSDB server for echoes, RFC 7047 section 4.1.11, until stop is called. Stop returns the longest wait.
func echo(b *testing.B, socket string) (stop func() time.Duration) {
	b.Helper()
	return waits(b, socket, `{"method":"echo","params":["ovnctl"],"id":1}`)
}

// waits makes the same request again and again until stop is called, which returns the longest wait.
func waits(b *testing.B, socket, request string) (stop func() time.Duration) {
	b.Helper()
	c, err := net.Dial("unix", socket)
	if err != nil {
		b.Fatal(err)
	}
	var done atomic.Bool
	result := make(chan time.Duration)
	go func() {
		defer func() { _ = c.Close() }()
		replies := json.NewDecoder(c)
		var longest time.Duration
		for !done.Load() {
			start := time.Now()
			var reply struct{ Result, Error any }
			_, err := io.WriteString(c, request)
			if err == nil {
				err = replies.Decode(&reply)
			}
			if err != nil || reply.Result == nil || reply.Error != nil {
				b.Errorf("%s: %v, %v", request, reply, err)
				break
			}
			longest = max(longest, time.Since(start))
			time.Sleep(time.Millisecond)
		}
		result <- longest
	}()
	return func() time.Duration {
		done.Store(true)
		return <-result
	}
}
