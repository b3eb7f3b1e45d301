//go:build lab

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/flowtable"
)

var colors = regexp.MustCompile(`\x1b\[[0-9;]*[mK]`)

var inBrackets = regexp.MustCompile(`<[^<>]*>`)

// TestDecodeLab decodes on a node what its tools print there.
func TestDecodeLab(t *testing.T) {
	l := labtest.Shared(t, lab.OVNKubernetes())
	d := &traceDraw{lab: l}
	for _, command := range [][]string{
		{"ovs-ofctl", "-O", "OpenFlow15", "dump-flows", "br-int"},
		{"ovs-ofctl", "dump-flows", "--color=always", "br-int"},
		{"ovs-ofctl", "-O", "OpenFlow15", "dump-groups", "br-int"},
		{"ovs-ofctl", "dump-ports-desc", "br-int"},
		{"ovs-appctl", "dpctl/dump-flows", "-m"},
		{"ovs-appctl", "dpctl/dump-conntrack", "-m"},
		{"ovs-appctl", "ofproto/trace", "br-int", "in_port=1,tcp,tcp_dst=80"},
	} {
		if strings.HasPrefix(command[1], "dpctl/") { // megaflows and connections: a switch forgets them after seconds
			if truth, err := l.Probe(t.Context(), "shop_client", "shop_web-1", "tcp", 0); err != nil || !truth.RoundTrip {
				t.Fatal(truth, err)
			}
		}
		text := output(t, l, command...)
		file := filepath.Join(t.TempDir(), "text")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := d.ovnctl(t.Context(), "node1", "decode", file, "-v")
		if got.code != exitOK || !bytes.Contains(got.stderr, []byte("ports and zones: of node node1")) {
			t.Errorf("%v: exit code %d, %s", command, got.code, got.stderr)
		}
		plain := text
		if slices.Contains(command, "--color=always") { // with colours, ovs-ofctl leaves a comma at the end of ct(…)
			plain = strings.ReplaceAll(colors.ReplaceAllString(text, ""), ",)", ")")
		}
		if without := inBrackets.ReplaceAllString(string(got.stdout), ""); without != plain {
			t.Errorf("%v: without its names the output is not the input", command)
		}
		if slices.Contains(command, "dump-groups") && !regexp.MustCompile(`group_id=\d+<load balancer "Service_[^>]*>`).Match(got.stdout) {
			t.Errorf("%v: no group has its load balancer's name", command)
		}
		if named := len(inBrackets.FindAll(got.stdout, -1)); named == 0 && len(plain) > 500 {
			t.Errorf("%v: no names at all in %d bytes", command, len(plain))
		}
		var doc struct {
			Kind  string
			Lines []json.RawMessage
		}
		got = d.ovnctl(t.Context(), "node1", "decode", file, "-o", "json")
		if err := json.Unmarshal(got.stdout, &doc); err != nil || doc.Kind != "Decoded" || len(doc.Lines) != strings.Count(text, "\n") {
			t.Errorf("%v: document of kind %q with %d lines: %v", command, doc.Kind, len(doc.Lines), err)
		}
	}
}

// sniff writes the packets of eth0 as pcap until it has seen enough of them in
// tunnels.
const sniff = `
import socket, struct, sys, time
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
s.bind(("eth0", 0))
s.settimeout(10)
out = sys.stdout.buffer
out.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
out.flush()
seen = 0
while seen < 10:
    p = s.recv(65535)
    t = time.time()
    out.write(struct.pack("<IIII", int(t), int(t % 1 * 1e6), len(p), len(p)) + p)
    out.flush()
    seen += p[36:38] == struct.pack(">H", 6081)
`

// TestDecodePackets decodes packets that two nodes send each other by Geneve.
func TestDecodePackets(t *testing.T) {
	l := labtest.Shared(t, lab.OVNKubernetes())
	d := &traceDraw{lab: l}
	file := filepath.Join(t.TempDir(), "eth0.pcap")
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	cmd := l.Command(t.Context(), "node1", "/usr/bin/python3", "-c", sniff)
	cmd.Stdout = f
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for waiting := true; waiting; {
		if _, err := l.Probe(t.Context(), "shop_client", "shop_web-2", "tcp", 8080); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-ended:
			if waiting = false; err != nil {
				t.Fatal(err)
			}
		default:
		}
	}
	got := d.ovnctl(t.Context(), "node1", "decode", file)
	there := regexp.MustCompile(`> 172\.30\.0\.12\.6081: Geneve, Flags \[C\], vni 0x[0-9a-f]+<router ovn_cluster_router>, options \[.* data [0-9a-f]{8}<from port rtos-node1 to port cr-rtos-node2>\]: .*10\.244\.1\.6\.[0-9]+ > 10\.244\.2\.5\.8080: TCP`)
	if got.code != exitOK || !there.Match(got.stdout) {
		t.Errorf("exit code %d, %s, no packet to the pod in\n%s", got.code, got.stderr, got.stdout)
	}
	if err := os.Truncate(file, 1000); err != nil {
		t.Fatal(err)
	}
	if got = d.ovnctl(t.Context(), "node1", "decode", file, "-o", "jsonl"); got.code != exitUnknown || !bytes.Contains(got.stderr, []byte("cut short")) || !json.Valid(bytes.Split(got.stdout, []byte("\n"))[0]) {
		t.Errorf("a file cut short: exit code %d, %s\n%s", got.code, got.stderr, got.stdout)
	}
}

func output(t *testing.T, l *lab.Lab, command ...string) string {
	t.Helper()
	out, err := l.Command(t.Context(), "node1", command...).Output()
	if err != nil {
		t.Fatalf("%v: %v", command, err)
	}
	return string(out)
}

// TestFlowsLab sends packets and finds them in the flows.
func TestFlowsLab(t *testing.T) {
	l := labtest.Own(t, lab.OVNKubernetes(), lab.Options{})
	d := &traceDraw{lab: l}
	show := d.shows(t)
	found := policyDrops(t, d, show)
	all := show()
	if all.Total != len(all.Flows) || all.Total < 500 || !all.Flows[0].Drop || all.Flows[0].Packets == 0 {
		t.Errorf("%d flows of %d, the first is %+v", len(all.Flows), all.Total, all.Flows[0])
	}
	cookie, _ := json.Marshal(found.Flow.Cookie)
	for _, f := range show("--cookie", strings.Trim(string(cookie), `"`)).Flows {
		if f.Flow.Cookie != found.Flow.Cookie {
			t.Errorf("--cookie %s finds %+v", cookie, f)
		}
	}
	for _, test := range []struct {
		args  []string
		least int
		holds func(flowtable.FlowRow) bool
	}{
		{[]string{"--stage", "ls_out_acl"}, 5, func(f flowtable.FlowRow) bool { return strings.HasPrefix(f.Flow.Stage, "ls_out_acl") }},
		{[]string{"--stage", "LOCAL_OUTPUT"}, 5, func(f flowtable.FlowRow) bool { return f.Flow.Stage == "local_output" }},
		{[]string{"--table", "65"}, 5, func(f flowtable.FlowRow) bool { return f.Table == 65 }},
		{[]string{"--pod", "bank/ledger"}, 5, func(f flowtable.FlowRow) bool {
			text, _ := json.Marshal(f)
			return strings.Contains(string(text), "bank_ledger") || strings.Contains(string(text), "bank/ledger")
		}},
		{[]string{"--port", "bank_ledger", "--drops"}, 1, func(f flowtable.FlowRow) bool { return f.Drop }},
		{[]string{"--sort", "packets", "--top", "5"}, 5, func(f flowtable.FlowRow) bool { return f.Packets > 0 }},
		{[]string{"--bridge", "br-ex"}, 1, func(f flowtable.FlowRow) bool { return f.Flow == nil }},
	} {
		table := show(test.args...)
		if len(table.Flows) < test.least || table.Found < len(table.Flows) {
			t.Errorf("flows %v: %d of %d", test.args, len(table.Flows), table.Found)
		}
		for _, f := range table.Flows {
			if !test.holds(f) {
				t.Errorf("flows %v: %+v", test.args, f)
			}
		}
	}
	for _, args := range [][]string{{"--pod", "bank/nobody"}, {"--bridge", "br-none"}, {"--node", "none"}, {"--sort", "colour"}, {"--stage", "ls_in_nothing"}, {"--table", "300"}, {"--datapath", "--drops"}} {
		if got := d.ovnctl(t.Context(), "node3", append([]string{"flows"}, args...)...); got.code != exitUsage || !bytes.HasPrefix(got.stderr, []byte("ovnctl: ")) {
			t.Errorf("flows %v: exit code %d, %s", args, got.code, got.stderr)
		}
	}
	t.Run("datapath", func(t *testing.T) { megaflowsLab(t, d) })
	t.Run("watch", func(t *testing.T) { watchLab(t, d) })
}

// shows returns what runs flows on node3.
func (d *traceDraw) shows(t *testing.T) func(args ...string) flowtable.FlowTable {
	return func(args ...string) flowtable.FlowTable {
		t.Helper()
		got := d.ovnctl(t.Context(), "node3", append([]string{"flows", "-o", "json"}, args...)...)
		var table flowtable.FlowTable
		if err := json.Unmarshal(got.stdout, &table); err != nil || got.code != exitOK {
			t.Fatalf("flows %v: exit code %d, %v, %s", args, got.code, err, got.stderr)
		}
		return table
	}
}

// policyDrops sends packets that a policy drops, and returns the flow that flows --drops shows for the policy.
func policyDrops(t *testing.T, d *traceDraw, show func(args ...string) flowtable.FlowTable) *flowtable.FlowRow {
	t.Helper()
	const packets = 3
	for range packets {
		truth, err := d.lab.Probe(t.Context(), "shop_client", "bank_ledger", "tcp", 8080)
		if err != nil || truth.Forward {
			t.Fatalf("the policy lets the packet pass: %+v, %v", truth, err)
		}
	}
	// Counters lag behind by up to a second.
	deadline := time.Now().Add(10 * time.Second)
	var found *flowtable.FlowRow
	for found == nil && time.Now().Before(deadline) {
		time.Sleep(200 * time.Millisecond)
		for _, f := range show("--drops", "--object", "default deny of the NetworkPolicies in namespace bank").Flows {
			if f.Packets >= packets {
				found = &f
			}
		}
	}
	if found == nil {
		t.Fatal("no flow of the policy has counted the packets that it dropped")
	}
	if !strings.HasPrefix(found.Flow.Stage, "ls_out_acl") || found.Does != "drop" || !found.Drop || len(found.Flow.Objects) != 1 {
		t.Errorf("the packets were dropped by %+v", found)
	}
	return found
}

// megaflowsLab sends packets and finds them in the cache, with the flows that
// ofproto/trace names for them.
func megaflowsLab(t *testing.T, d *traceDraw) {
	var cache flowtable.Cache
	for range 5 {
		if _, err := d.lab.Probe(t.Context(), "shop_client", "shop_web-2", "tcp", 8080); err != nil {
			t.Fatal(err)
		}
		got := d.ovnctl(t.Context(), "node1", "flows", "--datapath", "-o", "json", "--top", "100")
		if err := json.Unmarshal(got.stdout, &cache); err != nil || got.code != exitOK {
			t.Fatalf("exit code %d, %v, %s", got.code, err, got.stderr)
		}
		if slices.ContainsFunc(cache.Megaflows, func(f flowtable.MegaflowRow) bool { return len(f.Rules) > 5 }) {
			break
		}
	}
	rules := 0
	for _, f := range cache.Megaflows {
		rules += len(f.Rules)
		for _, r := range f.Rules {
			if r.Bridge == "br-int" && (r.Stage == "" || r.Cookie != "" && r.For == "") {
				t.Errorf("rule %+v of %s", r, f.Match)
			}
		}
	}
	s := cache.Stats
	if rules < 10 || s.Masks < 2 || s.FlowLimit == nil || *s.FlowLimit < 1000 || s.HitRate == nil || s.Hits == 0 || s.Datapath == "" {
		t.Errorf("%d rules, %+v", rules, s)
	}
}

// watchLab sees the rate of packets that are sent meanwhile.
func watchLab(t *testing.T, d *traceDraw) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := d.lab.Program(t.Context(), "node1", self, "flows", "--watch=1", "--pod", "shop/client", "--top", "3")
	cmd.Env = append(cmd.Env, asOvnctl+"=1")
	out, err := os.Create(filepath.Join(t.TempDir(), "flows"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	var errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = out, &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	rates := regexp.MustCompile(`(?m)^[0-9]+ +[0-9]*[1-9][0-9]*\.[0-9] +[0-9]+ `)
	var text []byte
	for end := time.Now().Add(lab.Allow(10 * time.Second)); !rates.Match(text) && time.Now().Before(end); {
		if _, err := d.lab.Probe(t.Context(), "shop_client", "shop_web-2", "tcp", 8080); err != nil {
			t.Fatal(err)
		}
		if text, err = os.ReadFile(out.Name()); err != nil {
			t.Fatal(err)
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); !rates.Match(text) || err != nil {
		t.Errorf("%v, %s, or no rates in\n%s", err, errs.String(), text)
	}
}

// A pipe is decoded as it comes, a terminal's escapes are not passed on, and a
// database that was named and cannot be read is told.
func TestDecodePipe(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "decode", "--plain")
	cmd.Env = append(os.Environ(), asOvnctl+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for i, line := range []string{"metadata=0x5", "reg15=0x3,metadata=0x5\x1b]0;title\a\x1b[31m!", "the end"} {
		if _, err := fmt.Fprintln(in, line); err != nil {
			t.Fatal(err)
		}
		var b [256]byte
		n, err := out.Read(b[:]) // it comes before the input ends
		want := []string{"metadata=0x5<logical switch or router 5>\n", "reg15=0x3<goes out by logical port 3>,metadata=0x5" + `\x1b]0;title\x07!` + "\n", "the end\n"}[i]
		if got := string(b[:n]); err != nil || bareOf(got) != bareOf(want) || strings.Contains(got, "\x1b") {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	cmd = exec.CommandContext(t.Context(), self, "decode", "--sb", "unix:/nowhere")
	cmd.Env, cmd.Stdin = append(os.Environ(), asOvnctl+"=1"), strings.NewReader("metadata=0x5")
	text, err := cmd.Output()
	if string(text) != "metadata=0x5<logical switch or router 5>\n" || cmd.ProcessState.ExitCode() != exitUnknown {
		t.Errorf("a dead database: %q, exit code %d, %v", text, cmd.ProcessState.ExitCode(), err)
	}
}

func bareOf(text string) string { return inBrackets.ReplaceAllString(text, "") }

// A long text takes no more memory than a short one.
func TestDecodeLong(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const lines = 1_000_000
	line := " cookie=0xf4099249, duration=190.912s, table=46, n_packets=0, n_bytes=0, idle_age=190, priority=2001,tcp6,reg0=0x100/0x100,reg15=0x5,metadata=0x%x,ipv6_src=fd00:10:244:1::6,tp_dst=8080 actions=resubmit(,47)\n"
	cmd := exec.CommandContext(t.Context(), self, "decode", "--plain", "--memory", "64M")
	cmd.Env = append(os.Environ(), asOvnctl+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	count := &lineCounter{}
	cmd.Stdout = count
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	var b bytes.Buffer
	for i := range lines {
		fmt.Fprintf(&b, line, i%60000+1)
		if b.Len() > 1<<16 || i == lines-1 {
			if _, err := in.Write(b.Bytes()); err != nil {
				t.Fatal(err)
			}
			b.Reset()
		}
	}
	usage, ok := highWater(cmd.Process.Pid) // wait4(2) would count what the test itself had when it forked
	if !ok {
		t.Error("it ended before its input")
	}
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d lines in %.1f s, %d MiB of memory", count.lines, time.Since(start).Seconds(), usage>>20)
	if count.lines != lines || usage > 128<<20 {
		t.Errorf("%d lines, %d MiB of memory", count.lines, usage>>20)
	}
}

type lineCounter struct{ lines int }

func (c *lineCounter) Write(p []byte) (int, error) {
	c.lines += bytes.Count(p, []byte("\n"))
	return len(p), nil
}
