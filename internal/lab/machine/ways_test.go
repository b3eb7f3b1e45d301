//go:build machine

package machine

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/turn"
)

// A containerRuntime runs containers that are nodes.
type containerRuntime struct {
	via   string // of ovnctl, and the argument of containers.sh
	start string // makes it ready
}

var runtimes = []containerRuntime{
	{"docker", "systemctl start docker"},
	{"podman", "true"},
	{"lxc", "true"},
}

// containers makes two containers that are nodes of one deployment, with a pod each.
//
//go:embed containers.sh
var containers string

// Nodes are containers of docker, podman or LXC, each with its own Open vSwitch and ovn-controller, and ovnctl is told that alone.
// Packets between pods on both are the measure.
func TestWays(t *testing.T) {
	makes := turn.Takes(t, len(runtimes))
	var drawn []containerRuntime
	for i, r := range runtimes {
		if makes(i) {
			drawn = append(drawn, r)
		}
	}
	payload := t.TempDir()
	buildOvnctl(t, payload)
	m := bootFor(t, Options{Release: Containers, Payload: payload})
	for _, r := range drawn {
		t.Run(r.via, func(t *testing.T) { (&node{m, t}).reachedBy(r) })
	}
}

func (n *node) reachedBy(r containerRuntime) {
	t := n.t
	n.sh(r.start)
	if err := n.Write(t.Context(), "/run/containers.sh", 0o700, strings.NewReader(containers)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := n.Output(context.Background(), "/run/containers.sh "+r.via+" down"); err != nil {
			t.Error(err)
		}
	})
	n.sh("/run/containers.sh " + r.via + " up")
	via := " --via " + r.via
	on := func(name, line string) string {
		return n.sh("/run/containers.sh " + r.via + " on " + name + " '" + line + "'")
	}
	arrives := func() bool {
		_, err := n.Output(t.Context(), "/run/containers.sh "+r.via+" on node1 'ip netns exec client ping -q -c2 -W5 10.0.0.2'")
		return err == nil
	}
	if !arrives() {
		t.Fatal("the pods cannot reach each other")
	}

	out, code := n.ovnctl("version --cluster" + via)
	for _, name := range []string{"node1", "node2"} {
		if !strings.Contains(out, "via "+r.via+": "+name) {
			t.Errorf("version --cluster does not say that %s was reached: exit %d: %s", name, code, out)
		}
	}
	if code != 0 {
		t.Errorf("version --cluster: exit %d: %s", code, out)
	}
	if out, code := n.ovnctl("topology show" + via); code != 0 || !strings.Contains(out, "node2") {
		t.Errorf("topology: exit %d: %s", code, out)
	}
	if out, code := n.ovnctl("trace client web --icmp" + via); code != 0 || !strings.Contains(out, "DELIVERED") {
		t.Errorf("trace, where a ping gets a reply: exit %d: %s", code, out)
	}
	if found := n.findings(via); len(found) > 0 {
		t.Errorf("doctor finds %s where nothing is wrong", found)
	}

	// A fault of another node is found and mended there, and taken back.
	const wrong = "172.31.0.99"
	on("node2", "ovs-vsctl set Open_vSwitch . external_ids:ovn-encap-ip="+wrong)
	if found := n.findings(via); !slices.Contains(found, "encap-ip-not-local of node2") {
		t.Errorf("doctor finds %s", found)
	}
	undo := "ovnctl --via " + r.via + " fix undo --node node2"
	if out, code := n.ovnctl("doctor --fix --yes --max-risk high --node node2" + via); code != 0 || !strings.Contains(out, undo) {
		t.Errorf("the repair on node2: exit %d: %s", code, out)
	}
	n.sh("ovn-nbctl --timeout=600 --wait=hv sync")
	if !arrives() {
		t.Error("after the repair the pods cannot reach each other")
	}
	if left := on("node2", "find /var/lib/ovnctl -size +1M"); left != "" {
		t.Errorf("on node2 is left: %s", left)
	}
	if out, code := n.ovnctl("fix undo --yes --node node2" + via); code != 0 || on("node2", "ovs-vsctl get Open_vSwitch . external_ids:ovn-encap-ip") != `"`+wrong+`"` {
		t.Errorf("its undo: exit %d: %s", code, out)
	}
	n.cutOff(r, on)
	if out, code := n.ovnctl("doctor --fix --yes --max-risk high --node node2" + via); code != 0 {
		t.Errorf("the repair once more: exit %d: %s", code, out)
	}
	n.sh("ovn-nbctl --timeout=600 --wait=hv sync")

	on("node2", "ip netns exec web ip link set eth0 down")
	if arrives() {
		t.Fatal("the pods reach each other over a link that is down")
	}
	if out, code := n.ovnctl("trace client web --icmp" + via); code == 0 || strings.Contains(out, "DELIVERED") {
		t.Errorf("trace, where no ping gets a reply: exit %d: %s", code, out)
	}
}

// cutOff repairs node2 once more, and kills both ends once it has changed: the watchdog, which the container keeps, takes it back.
func (n *node) cutOff(r containerRuntime, on func(name, line string) string) {
	n.t.Helper()
	before := strings.Count(on("node2", "ls /var/lib/ovnctl/journal"), "jsonl")
	journal := func() string {
		return on("node2", fmt.Sprintf("cat /dev/null $(ls /var/lib/ovnctl/journal/*.jsonl | sed -n %dp)", before+1))
	}
	n.agree("echo $$ >/run/repair; exec /payload/ovnctl fix set-encap-ip 172.31.0.12 --node node2 --max-risk high -t 60 --confirm-timeout 300 --via " + r.via)
	until := func(state string) {
		n.t.Helper()
		for deadline := time.Now().Add(5 * time.Minute); !strings.Contains(journal(), `"state":"`+state+`"`); {
			if time.Now().After(deadline) {
				n.t.Fatalf("the run is not %s: %s", state, journal())
			}
		}
	}
	until("verified")
	there := regexp.MustCompile(`"pid":(\d+)`).FindStringSubmatch(journal())[1]
	on("node2", "kill -9 "+there) // first: it would notice that nobody is at the other end, and take the change back itself
	n.sh("kill -9 $(cat /run/repair) 2>/dev/null || true")
	until("undone")
	if text := journal(); !strings.Contains(text, `"reason":"cut off"`) {
		n.t.Errorf("the run was not undone because it was cut off: %s", text)
	}
}

// findings returns the faults that doctor finds on all nodes, each as CHECK of NODE.
func (n *node) findings(via string) []string {
	n.t.Helper()
	text, _ := n.ovnctl("doctor --all-nodes -o json" + via + " 2>/dev/null")
	var report struct {
		Findings []struct {
			Check, Result string
			Object        struct{ Name, Node string }
		}
		Nodes []struct{ Name, Unread string }
	}
	if err := json.Unmarshal([]byte(text), &report); err != nil {
		n.t.Fatalf("doctor: %v: %s", err, text)
	}
	var found []string
	for _, node := range report.Nodes {
		if node.Unread != "" {
			found = append(found, fmt.Sprintf("nothing (%s) of %s", node.Unread, node.Name))
		}
	}
	for _, f := range report.Findings {
		if f.Result == "error" || f.Result == "warning" {
			node := f.Object.Node
			if node == "" {
				node = f.Object.Name
			}
			found = append(found, f.Check+" of "+node)
		}
	}
	return found
}
