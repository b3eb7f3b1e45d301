//go:build lab

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
)

// replyDelay is how long a simulated node takes for each reply.
const replyDelay = "20ms"

// BenchmarkAllNodes asks doctor about all of many nodes: processes that reply what the three nodes of a lab replied, 20 ms
// late, with the chassis of all in a real Southbound. As such nodes have ports in common they are asked with and without the check that finds
// them: a deployment without faults is looked at once. Beside it is what doctor takes of the same databases without the nodes: a part of the memory
// is that of their rows.
func BenchmarkAllNodes(b *testing.B) {
	program := buildOvnctl(b)
	recording := recordNodes(b, program)
	for _, count := range []int{50, 250, 500} {
		b.Run(fmt.Sprint(count), func(b *testing.B) { recording.doctor(b, program, count) })
		b.Run(fmt.Sprintf("%d-healthy", count), func(b *testing.B) { recording.doctor(b, program, count, "--skip", "port-flapping-two-chassis") })
	}
}

// BenchmarkMesh is BenchmarkAllNodes for nodes that have a tunnel to each other, as those of one zone do: what each says grows with their
// number. The real nodes have all these tunnels; the first of two runs is recorded, and the second is measured.
func BenchmarkMesh(b *testing.B) {
	program := buildOvnctl(b)
	for _, count := range []int{25, 100, 200, 500} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			r := newNodeRecording(b)
			l := labtest.Own(b, lab.OVNKubernetes(), lab.Options{})
			r.of(b, l)
			args := []string{"--db=" + l.SB(), "--timeout=60"}
			for n := len(r.chassis); n < count; n++ {
				args = append(args, chassisAdd(r.host(n), n)...)
			}
			ovsdbtest.Run(b, "ovn-sbctl", args...)
			for i, n := range l.Topology.Nodes {
				peer := l.Topology.Nodes[(i+1)%len(l.Topology.Nodes)].IPv4.Addr().String()
				enter(b, l, n.Name, "sh", "-c", "set -- $(ip route get "+peer+") && ip route add 172.31.0.0/16 dev $3")
				tunnels := func() int {
					return len(strings.Fields(enter(b, l, n.Name, "ovs-vsctl", "--no-headings", "--columns=ofport", "find", "Interface", "type=geneve", "ofport>0")))
				}
				for deadline := time.Now().Add(2 * time.Minute); tunnels() < count-1; time.Sleep(time.Second) {
					if time.Now().After(deadline) {
						b.Fatalf("%s has %d tunnels, want %d", n.Name, tunnels(), count-1)
					}
				}
			}
			r.databases(b, l)
			nb, sb := r.start(b)
			way := fmt.Sprintf("%s mesh %s %s {hostname} %s/enter {node}", r.answer, r.dir, replyDelay, l.Dir)
			r.ask(b, program, count, nb, sb, way, "--skip", "port-flapping-two-chassis")
			b.ResetTimer()
			for b.Loop() {
				r.ask(b, program, count, nb, sb, way, "--skip", "port-flapping-two-chassis")
			}
		})
	}
}

// enter runs a command on a node of a lab.
func enter(b *testing.B, l *lab.Lab, node string, command ...string) string {
	b.Helper()
	out, err := l.Command(b.Context(), node, command...).CombinedOutput()
	if err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// doctor asks about so many nodes.
func (r *nodeRecording) doctor(b *testing.B, program string, count int, flags ...string) {
	nb, sb := r.serve(b, count)
	for b.Loop() {
		r.ask(b, program, count, nb, sb, fmt.Sprintf("%s replay %s %s {hostname}", r.answer, r.dir, replyDelay), flags...)
		cmd := exec.CommandContext(b.Context(), program, append([]string{"doctor", "-o", "json", "--nb", nb.Remote(), "--sb", sb.Remote()}, flags...)...)
		cmd.Env = noNode(b)
		out, peak := peakOf(b, cmd)
		if len(out) == 0 {
			b.Fatal("no report")
		}
		b.ReportMetric(peak, "MiB-of-databases-alone")
	}
}

// noNode is the environment of a host that is no node.
func noNode(b *testing.B) []string {
	return append(os.Environ(), "OVS_RUNDIR="+b.TempDir(), "OVN_RUNDIR="+b.TempDir())
}

// peakOf runs a command, and returns its output and the memory that it took, in MiB. Maxrss of wait4(2) also counts what the test had when it forked.
func peakOf(b *testing.B, cmd *exec.Cmd) (out []byte, peak float64) {
	b.Helper()
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	for most, ok := highWater(cmd.Process.Pid); ok; most, ok = highWater(cmd.Process.Pid) { // until it has ended
		peak = float64(most) / (1 << 20)
		time.Sleep(time.Millisecond)
	}
	_ = cmd.Wait() // a report of faults fails, too
	return stdout.Bytes(), peak
}

// ask asks about so many nodes once, and reports what it took.
func (r *nodeRecording) ask(b *testing.B, program string, count int, nb, sb *ovsdbtest.Server, way string, flags ...string) {
	cmd := exec.CommandContext(b.Context(), program, append([]string{"doctor", "--all-nodes", "-o", "json", "--nb", nb.Remote(), "--sb", sb.Remote(),
		"--node-exec", way}, flags...)...)
	cmd.Env = noNode(b)
	start := time.Now()
	out, peak := peakOf(b, cmd)
	b.ReportMetric(time.Since(start).Seconds(), "s")
	b.ReportMetric(peak, "MiB")
	b.ReportMetric((cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), "s-of-CPU") // with the processes that are the nodes
	var doc doctor.Document
	if err := json.Unmarshal(out, &doc); err != nil {
		b.Fatalf("%v: %.2000s", err, out)
	}
	if len(doc.Nodes) != count {
		b.Errorf("%d nodes, want %d", len(doc.Nodes), count)
	}
	for _, n := range doc.Nodes {
		if n.Unread != "" {
			b.Fatalf("%s: %s", n.Name, n.Unread)
		}
	}
	faults := doc.Faults()
	b.ReportMetric(float64(len(faults)), "faults")
	for i := range faults[:min(len(faults), 10)] {
		b.Logf("%.200s", faults[i].Title)
	}
	b.ReportMetric(float64(len(doc.Groups)), "causes")
}

// BenchmarkWatchIdle leaves doctor --watch alone with 50 nodes on which nothing changes, and tells its share of a core, without that of the
// processes that lead to nodes.
func BenchmarkWatchIdle(b *testing.B) {
	program := buildOvnctl(b)
	recording := recordNodes(b, program)
	nb, sb := recording.serve(b, 50)
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), program, "doctor", "--all-nodes", "--watch", "--nb", nb.Remote(), "--sb", sb.Remote(),
			"--node-exec", fmt.Sprintf("%s replay %s %s {hostname}", recording.answer, recording.dir, replyDelay))
		cmd.Env = noNode(b)
		out, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		report := bufio.NewReader(out)
		if _, err := report.ReadString('\n'); err != nil {
			b.Fatal(err)
		}
		go func() { _, _ = io.Copy(io.Discard, report) }() // until it ends
		const settle, watched = time.Minute, 5 * time.Minute
		time.Sleep(settle)
		before := timeOfProcess(b, cmd.Process.Pid)
		time.Sleep(watched)
		b.ReportMetric(100*(timeOfProcess(b, cmd.Process.Pid)-before).Seconds()/watched.Seconds(), "%-of-a-core")
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	}
}

// timeOfProcess returns what a process has used, proc(5).
func timeOfProcess(b *testing.B, pid int) time.Duration {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(after)
	var ticks time.Duration
	for _, field := range fields[11:13] { // user and system
		n, err := strconv.Atoi(field)
		if err != nil {
			b.Fatal(err)
		}
		ticks += time.Duration(n)
	}
	return ticks * time.Second / 100 // USER_HZ
}

// A nodeRecording is what the nodes of a lab replied, and the lab's databases.
type nodeRecording struct {
	dir, answer string
	nb, sb      []byte
	chassis     []lab.Node // of the lab
}

// recordNodes has doctor read a lab, and keeps what the nodes reply.
func recordNodes(b *testing.B, program string) *nodeRecording {
	b.Helper()
	r := newNodeRecording(b)
	l := labtest.Own(b, lab.OVNKubernetes(), lab.Options{})
	r.of(b, l)
	way := fmt.Sprintf("%s record %s {hostname} %s/enter {hostname}", r.answer, r.dir, l.Dir)
	cmd := l.Program(b.Context(), "central", program, "doctor", "--all-nodes", "--nb", l.NB(), "--sb", l.SB(), "--node-exec", way)
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	r.databases(b, l)
	return r
}

func newNodeRecording(b *testing.B) *nodeRecording {
	b.Helper()
	r := &nodeRecording{dir: b.TempDir(), answer: filepath.Join(b.TempDir(), "answer")}
	build := exec.Command("go", "build", "-buildvcs=false", "-o", r.answer, "../../internal/lab/cmd/answer")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	return r
}

// of notes the nodes of a lab, which are to be recorded.
func (r *nodeRecording) of(b *testing.B, l *lab.Lab) {
	b.Helper()
	for _, n := range l.Topology.Nodes {
		r.chassis = append(r.chassis, n)
		dir := filepath.Join(r.dir, n.Name)
		names := n.SystemID + " " + n.IPv4.Addr().String()
		if err := os.MkdirAll(dir, 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "names"), []byte(names), 0o644); err != nil {
			b.Fatal(err)
		}
	}
}

// databases keeps the databases of a lab.
func (r *nodeRecording) databases(b *testing.B, l *lab.Lab) {
	b.Helper()
	for file, to := range map[string]*[]byte{"ovnnb_db.db": &r.nb, "ovnsb_db.db": &r.sb} {
		text, err := os.ReadFile(filepath.Join(l.Dir, "central/var/lib/ovn", file))
		if err != nil {
			b.Fatal(err)
		}
		*to = text
	}
}

// host is the name of a simulated node.
func (r *nodeRecording) host(n int) string { return fmt.Sprintf("node%d-%04d", n%len(r.chassis)+1, n) }

// start starts servers of the lab's databases, in which its chassis have the names of the first nodes.
func (r *nodeRecording) start(b *testing.B) (nb, sb *ovsdbtest.Server) {
	b.Helper()
	var names []string
	for n, c := range r.chassis {
		names = append(names, c.SystemID, r.host(n)+"-id", `"hostname":"`+c.Name+`"`, `"hostname":"`+r.host(n)+`"`, `"ip":"`+c.IPv4.Addr().String()+`"`, `"ip":"`+simulatedAddress(n)+`"`)
	}
	rename := strings.NewReplacer(names...)
	start := func(db string, contents []byte) *ovsdbtest.Server {
		dir := ovsdbtest.Dir(b)
		file := filepath.Join(dir, "db")
		contents = ovsdb.RewriteRecords(contents, func(text []byte) []byte { return []byte(rename.Replace(string(text))) })
		if err := os.WriteFile(file, contents, 0o600); err != nil {
			b.Fatal(err)
		}
		return ovsdbtest.Serve(b, dir, file, db)
	}
	return start("OVN_Northbound", r.nb), start("OVN_Southbound", r.sb)
}

// serve is start with so many chassis in all.
func (r *nodeRecording) serve(b *testing.B, count int) (nb, sb *ovsdbtest.Server) {
	b.Helper()
	nb, sb = r.start(b)
	args := []string{"--db=" + sb.Remote(), "--timeout=60"}
	for n := range count {
		if n >= len(r.chassis) {
			args = append(args, chassisAdd(r.host(n), n)...)
		}
		// Each has a tunnel to those with which it was recorded, and no other.
		args = append(args, "--", "set", "Chassis", r.host(n)+"-id", fmt.Sprintf("transport_zones=of-%d", n/len(r.chassis)))
	}
	ovsdbtest.Run(b, "ovn-sbctl", args...)
	return nb, sb
}

// chassisAdd has ovn-sbctl add a simulated node.
func chassisAdd(host string, n int) []string {
	id := host + "-id"
	return []string{"--", "chassis-add", id, "geneve", simulatedAddress(n), "--", "set", "Chassis", id, "hostname=" + host, "--", "create", "Chassis_Private", "name=" + id}
}

// simulatedAddress is the tunnel address of a simulated node; internal/lab/cmd/answer has the same.
func simulatedAddress(n int) string { return fmt.Sprintf("172.31.%d.%d", n/250, n%250+1) }
