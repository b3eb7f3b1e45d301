//go:build lab

package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
)

// flowLab is a lab with a function that asks for flows there.
func flowLab(t *testing.T) (*lab.Lab, func(args ...string) (code int, stdout, stderr string)) {
	l := labtest.Shared(t, lab.OVNKubernetes())
	t.Setenv("OVS_RUNDIR", filepath.Join(l.Dir, "node1/run/openvswitch"))
	t.Setenv("OVN_RUNDIR", filepath.Join(l.Dir, "node1/run/ovn"))
	return l, func(args ...string) (int, string, string) {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), append([]string{"--nb", l.NB(), "--sb", l.SB(), "trace"}, args...), strings.NewReader(""), &stdout, &stderr)
		return code, stdout.String(), stderr.String()
	}
}

// clientFlow is a packet of pod shop/client of node1, which is plugged fourth, to one of node2.
const clientFlow = "tcp,in_port=4,eth_src=0a:58:0a:f4:01:06,eth_dst=0a:58:0a:f4:01:01,nw_src=10.244.1.6,nw_dst=10.244.2.5,tp_dst=8080,nw_ttl=64"

// TestFlowCommand compares the command with ofproto/trace: its answer is passed on, and simulated it is the same.
func TestFlowCommand(t *testing.T) {
	l, ask := flowLab(t)
	for _, options := range [][]string{{}, {"--names"}, {"--ct-next", "trk,est", "--ct-next", "trk,new"}} {
		want, err := l.Run(t.Context(), "node1", append([]string{"ovs-appctl", "ofproto/trace", "br-int", clientFlow}, options...)...)
		if err != nil {
			t.Fatal(err)
		}
		for _, how := range [][]string{nil, {"--simulate"}} {
			args := append(append([]string{"--flow", clientFlow}, options...), how...)
			code, got, problem := ask(args...)
			if diff := cmp.Diff(comparable(want), comparable(got)); code != 0 || diff != "" {
				t.Errorf("%q: exit code %d %s (-ofproto/trace +ovnctl):\n%s", args, code, problem, diff)
			}
		}
	}
}

// TestFlowAdded compares flows that --add-flow adds with the same flows on the switch.
func TestFlowAdded(t *testing.T) {
	l := labtest.Own(t, lab.OVNKubernetes(), lab.Options{})
	t.Setenv("OVS_RUNDIR", filepath.Join(l.Dir, "node1/run/openvswitch"))
	ask := func(args ...string) (int, string, string) {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), append([]string{"--nb", l.NB(), "--sb", l.SB(), "trace", "--flow", clientFlow}, args...), strings.NewReader(""), &stdout, &stderr)
		return code, stdout.String(), stderr.String()
	}
	flows := []string{"cookie=0x5,table=0,priority=60000,tcp,tp_dst=8080,reg3[0..3]=0,actions=load:7->reg5,resubmit(,99)", "table=99,ip6,actions=1", "table=99,tcp,actions=local,in_port"}
	args := []string{}
	for _, flow := range flows {
		args = append(args, "--add-flow", flow)
	}
	code, got, problem := ask(args...)
	if code != 0 {
		t.Fatal(problem)
	}
	for _, flow := range flows {
		if out, err := l.Run(t.Context(), "node1", "ovs-ofctl", "-O", "OpenFlow15", "add-flow", "br-int", flow); err != nil {
			t.Fatal(out, err)
		}
	}
	want, err := l.Run(t.Context(), "node1", "ovs-appctl", "ofproto/trace", "br-int", clientFlow)
	if diff := cmp.Diff(comparable(want), comparable(strings.ReplaceAll(got, "load:0x7->NXM_NX_REG5[]", "set_field:0x7->reg5"))); err != nil || diff != "" {
		t.Errorf("%v (-ofproto/trace +ovnctl):\n%s", err, diff)
	}
	code, _, problem = ask("--add-flow", "ip,actions=set_field:80->tcp_dst,1")
	if code != exitUsage || !strings.Contains(problem, "\n           ^~~~~~~~~~~~~~~~~~~~~\n") || !strings.Contains(problem, "lacks correct prerequisites") {
		t.Errorf("exit code %d:\n%s", code, problem)
	}
}

// comparable is a trace without what differs from one to the next, and the megaflow.
func comparable(text string) string {
	text = regexp.MustCompile(`(?m)^Megaflow: .*$`).ReplaceAllString(text, "")
	text = regexp.MustCompile(`(?m)^ +-> conj\. .*\n`).ReplaceAllString(text, "")
	return regexp.MustCompile(`(recirc\(|recirc_id=)(0x)?[0-9a-f]+`).ReplaceAllString(text, "$1")
}

// TestFlowForms looks at the other forms of the answer.
func TestFlowForms(t *testing.T) {
	_, ask := flowLab(t)
	_, text, _ := ask("--flow", clientFlow, "--decode")
	for _, name := range []string{"<switch node1>", "<port shop_client", "(Pod shop/client)"} {
		if !strings.Contains(text, name) {
			t.Errorf("--decode lacks %s:\n%s", name, text)
		}
	}
	for _, how := range []string{"--simulate=false", "--simulate"} {
		code, out, problem := ask("--flow", clientFlow, how, "-o", "json")
		var d flowDocument
		if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 {
			t.Fatalf("exit code %d %s: %v", code, problem, err)
		}
		if d.Kind != "FlowTrace" || d.Node != "node1" || d.Bridge != "br-int" || len(d.Passes) != 2 || len(d.Passes[0].Lookups) < 5 ||
			d.Passes[1].CTState != "new|trk" || !strings.Contains(d.Passes[1].DatapathActions, "tnl_push(") {
			t.Errorf("%s: %s", how, out)
		}
	}
}

// TestFlowRefusals looks at what is refused, and what is said then.
func TestFlowRefusals(t *testing.T) {
	_, ask := flowLab(t)
	for _, test := range []struct {
		args string
		want string
	}{
		{"--flow ip,foo=5", "unknown field foo"},
		{"--flow ip,foo=5 --simulate", "unknown field foo"},
		{"--flow ip -generate", "-generate is refused"},
		{"--flow ip --bridge nope", "its bridges are br-ex, br-int"},
		{"--flow ip --node nope", "the nodes are node1, node2, node3"},
		{"--flow ip --ct-next foo", "a list of new, est"},
		{"--flow ip --tcp 80", "exclude each other"},
		{"--flow ip --microflow ip4", "exclude each other"},
		{"a b --names", "--names goes with --flow only"},
		{"--flow ip extra", "extra"},
	} {
		code, _, problem := ask(strings.Fields(test.args)...)
		if code != exitUsage || !strings.Contains(problem, test.want) {
			t.Errorf("%s: exit code %d, %s", test.args, code, problem)
		}
	}
}

// TestFlowOffline asks saved files, in which nothing but flows, groups and ports may be.
func TestFlowOffline(t *testing.T) {
	l, _ := flowLab(t)
	dir := filepath.Join(t.TempDir(), "saved")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := l.Backup(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	t.Setenv("OVS_RUNDIR", "/nonexistent")
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"--offline", dir, "trace", "--flow", clientFlow, "--node", "node1"}, strings.NewReader(""), &stdout, &stderr)
	if code != 0 || !strings.Contains(stdout.String(), "output to kernel tunnel") || !strings.Contains(stdout.String(), "Datapath actions: ct(") {
		t.Errorf("exit code %d %s\n%s", code, &stderr, &stdout)
	}
	if !strings.Contains(stderr.String(), "treated as empty") || !strings.Contains(stderr.String(), "simulated from the flows of node node1") {
		t.Errorf("standard error lacks what is not known: %s", &stderr)
	}
}

// TestFlowConnection follows the next packet of a connection that is tracked: simulated, and again from what that saved.
func TestFlowConnection(t *testing.T) {
	l, _ := flowLab(t)
	const to = "10.96.0.10"
	port := ""
	for deadline := time.Now().Add(time.Minute); port == "" && time.Now().Before(deadline); {
		if _, err := l.Probe(t.Context(), "shop_client", "shop/web", "tcp", 0); err != nil {
			t.Fatal(err)
		}
		text, err := l.Run(t.Context(), "node1", "ovs-appctl", "dpctl/dump-conntrack")
		if err != nil {
			t.Fatal(err)
		}
		if m := regexp.MustCompile(`dst=` + to + `,sport=(\d+)`).FindStringSubmatch(text); m != nil {
			port = m[1]
		}
	}
	packet := strings.NewReplacer("10.244.2.5", to, "tp_dst=8080", "tp_dst=80,tp_src="+port).Replace(clientFlow)
	dir := filepath.Join(t.TempDir(), "saved")
	answer := func(args ...string) (flowDocument, string) {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), append(args, "--flow", packet, "-o", "json"), strings.NewReader(""), &stdout, &stderr)
		var d flowDocument
		if err := json.Unmarshal(stdout.Bytes(), &d); err != nil || code != 0 || len(d.Passes) < 2 {
			t.Fatalf("%q: exit code %d %s: %v", args, code, &stderr, err)
		}
		return d, d.Passes[1].CTState
	}
	live, state := answer("--nb", l.NB(), "--sb", l.SB(), "--record", dir, "trace", "--simulate")
	if state != "est|trk|dnat" || !strings.Contains(live.Passes[1].Connection, "dst="+to+",sport="+port) {
		t.Errorf("the packet is %s of connection %q", state, live.Passes[1].Connection)
	}
	saved, _ := answer("--offline", dir, "trace")
	if diff := cmp.Diff(live.Passes, saved.Passes); diff != "" {
		t.Errorf("from what was saved (-live +offline):\n%s", diff)
	}
	if _, state := answer("--offline", dir, "trace", "--ct-next", "trk,inv"); state != "inv|trk" {
		t.Errorf("--ct-next does not go before the connection: %s", state)
	}
	var stdout, stderr bytes.Buffer
	run(t.Context(), []string{"--offline", dir, "trace", "--flow", packet}, strings.NewReader(""), &stdout, &stderr)
	if !strings.Contains(stdout.String(), "resume conntrack with ct_state=est|trk|dnat") || !strings.Contains(stderr.String(), "ct_state=est|trk|dnat of tcp,orig=(") {
		t.Errorf("%s\n%s", &stderr, &stdout)
	}
}
