//go:build lab

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// Each node of the lab is a zone whose databases only its own sockets reach. From each of them ovnctl reads all through the
// command prefix, and answers as packets do; so it does from a capture that was made this way.
func TestZones(t *testing.T) {
	l := labtest.Own(t, lab.Interconnect(), lab.Options{})
	exec := []string{"--node-exec", l.Dir + "/enter {hostname}"}
	offline := []string{"--offline", captured(t, &onNode{lab: l, node: "node3"})}
	sources := map[string]zonesSource{
		"sender's node": {"node1", exec}, "receiver's node": {"node2", exec}, "other node": {"node3", exec}, "capture": {"node1", offline},
	}
	for name, s := range sources {
		t.Run(name, func(t *testing.T) {
			n := &onNode{lab: l, node: s.node}
			for _, to := range []string{"shop/web-1", "shop/web-2", "shop/web-3"} {
				for _, port := range []int{8080, 9090} {
					zonesTrace(t, n, to, port, s.args)
				}
			}
			healthyZones(t, n, s.args...)
			var doc topology.Document
			zonesDocument(t, n.ovnctl(t, append([]string{"topology", "show", "-o", "json"}, s.args...)...), &doc)
			var zones []string
			for _, x := range doc.Switches {
				zones = append(zones, x.Name+" in "+x.Zone)
			}
			slices.Sort(zones)
			want := []string{"node1 in node1", "node2 in node2", "node3 in node3", "transit_switch in node1", "transit_switch in node2", "transit_switch in node3"}
			if !slices.Equal(zones, want) || len(doc.Nodes) != 3 || len(doc.Notes) > 0 {
				t.Errorf("switches %q, %d nodes, notes %q", zones, len(doc.Nodes), doc.Notes)
			}
			for _, p := range doc.Ports {
				if p.State == topology.StateDown || p.State == topology.StateUnknown {
					t.Errorf("port %s in %s is %s: %s", p.Name, p.Zone, p.State, p.Why)
				}
			}
		})
	}
	t.Run("no way to the others", func(t *testing.T) {
		n := &onNode{lab: l, node: "node1"}
		healthyZones(t, n)
		var doc topology.Document
		zonesDocument(t, n.ovnctl(t, "topology", "show", "-o", "json"), &doc)
		if len(doc.Nodes) != 1 || len(doc.Notes) != 1 || !strings.Contains(doc.Notes[0], "zones of nodes node2, node3 not read") || !strings.Contains(doc.Notes[0], "--node-exec") {
			t.Errorf("%d nodes, notes %q", len(doc.Nodes), doc.Notes)
		}
	})
}

// zonesSource is where ovnctl runs, and with what flags.
type zonesSource struct {
	node string
	args []string
}

func zonesDocument(t *testing.T, a clusterAnswer, doc any) {
	t.Helper()
	if err := json.Unmarshal(a.stdout, doc); err != nil {
		t.Fatalf("exit %d: %v\n%s%s", a.code, err, a.stdout, a.stderr)
	}
}

// zonesTrace compares trace with a packet from shop/client.
func zonesTrace(t *testing.T, n *onNode, to string, port int, args []string) {
	t.Helper()
	truth, err := n.lab.Probe(t.Context(), "shop/client", to, "tcp", port)
	if err != nil {
		t.Fatal(err)
	}
	a := n.ovnctl(t, append([]string{"trace", "shop/client", to, "--tcp", fmt.Sprint(port), "-o", "json"}, args...)...)
	var doc journey.Document
	zonesDocument(t, a, &doc)
	delivered := doc.Trace.Verdict.Outcome == journey.Delivered
	if delivered != truth.RoundTrip || (a.code == exitOK) != delivered || a.code > exitFound {
		t.Errorf("%s port %d: exit %d, %s (%s), and the packet %+v\n%s", to, port, a.code, doc.Trace.Verdict.Outcome, doc.Trace.Verdict.Cause, truth, a.stderr)
	}
	if len(doc.Trace.Disagreements) > 0 {
		t.Errorf("%s port %d: %+v", to, port, doc.Trace.Disagreements)
	}
}

// healthyZones is that doctor finds no fault.
func healthyZones(t *testing.T, n *onNode, args ...string) {
	t.Helper()
	a := n.ovnctl(t, append([]string{"doctor", "-o", "json"}, args...)...)
	var doc doctor.Document
	zonesDocument(t, a, &doc)
	for _, f := range doc.Findings {
		if f.Result.Fault() {
			t.Errorf("on %s: %s: %s", n.node, f.Check, f.Title)
		}
	}
	if a.code != exitOK {
		t.Errorf("doctor on %s: exit %d\n%s", n.node, a.code, a.stderr)
	}
}

// The databases are read with whatever a node has to reach a socket, and at once where it has nothing; the answers are the same.
func TestZoneRelays(t *testing.T) {
	l := labtest.Shared(t, lab.Interconnect())
	tried := 0
	for _, relay := range []string{"socat", "ncat", "nc", "python3", "perl", ""} {
		prefix, ok := toolsOf(t, l, relay)
		if !ok {
			continue
		}
		tried++
		t.Run("with "+relay, func(t *testing.T) {
			n := &onNode{lab: l, node: "node1"}
			zonesTrace(t, n, "shop/web-2", 8080, []string{"--node-exec", prefix})
			zonesTrace(t, n, "shop/web-2", 9090, []string{"--node-exec", prefix})
			file := filepath.Join(t.TempDir(), "zones.tar.zst")
			a := n.ovnctl(t, "capture", file, "--node-exec", prefix)
			if a.code != exitOK {
				t.Fatalf("capture: exit %d\n%s%s", a.code, a.stdout, a.stderr)
			}
			zonesTrace(t, n, "shop/web-2", 9090, []string{"--offline", file})
			var doc topology.Document
			zonesDocument(t, n.ovnctl(t, "topology", "show", "-o", "json", "--node-exec", prefix), &doc)
			once := strings.Count(strings.Join(doc.Notes, "\n"), "was read at once, with ovsdb-client")
			if len(doc.Nodes) != 3 || once > 0 && relay != "" || once == 0 && relay == "" {
				t.Errorf("%d nodes, notes %q", len(doc.Nodes), doc.Notes)
			}
		})
	}
	if tried < 3 {
		t.Errorf("this machine has only %d of the programs", tried)
	}
}

// toolsOf is a command prefix to nodes with nothing but the daemons' tools and one program more; false if it is not installed, or
// is a netcat that knows no unix sockets.
func toolsOf(t *testing.T, l *lab.Lab, program string) (string, bool) {
	t.Helper()
	t.Setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin") // no shims, which need more than the program
	dir := t.TempDir()
	tools := []string{
		"sh", "env", "timeout", "cat", "grep", "head", "tail", "ls", "wc", "sed", "readlink", "stat", "df", "ps", "find", "tr", "sort", "cut", "id", "uname",
		"ovsdb-client", "ovs-appctl", "ovn-appctl", "ovs-ofctl", "ip", "nft", "sysctl",
	}
	for _, name := range append(tools, program) {
		path, err := exec.LookPath(name)
		switch {
		case err == nil:
			if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		case name == program && name != "":
			return "", false
		}
	}
	if program == "nc" {
		if out, _ := exec.Command("nc", "-h").CombinedOutput(); !strings.Contains(string(out), "U") || strings.HasPrefix(string(out), "BusyBox") {
			return "", false
		}
	}
	return l.Dir + "/enter {hostname} env PATH=" + dir, true
}

// A zone that cannot be read is named once, its node is not read, and what does not lead there is answered all the same.
func TestZoneUnread(t *testing.T) {
	l := labtest.Shared(t, lab.Interconnect())
	prefix := filepath.Join(t.TempDir(), "prefix")
	script := "#!/bin/sh\n[ $1 = node3 ] && { echo no way to it >&2; exit 1; }\nexec " + l.Dir + "/enter \"$@\"\n"
	if err := os.WriteFile(prefix, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	wrong := filepath.Join(t.TempDir(), "wrong")
	script = "#!/bin/sh\n[ $1 = node3 ] && { shift; set node2 \"$@\"; }\nexec " + l.Dir + "/enter \"$@\"\n"
	if err := os.WriteFile(wrong, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	for reason, command := range map[string]string{"no way to it": prefix, "is not that of chassis": wrong} {
		t.Run(reason, func(t *testing.T) {
			n := &onNode{lab: l, node: "node1"}
			args := []string{"--node-exec", command + " {hostname}"}
			zonesTrace(t, n, "shop/web-2", 8080, args)
			zonesTrace(t, n, "shop/web-2", 9090, args)
			a := n.ovnctl(t, append([]string{"trace", "shop/client", "shop/web-3"}, args...)...)
			if a.code != exitUnknown || !strings.Contains(string(a.stderr), "the zone of node node3") {
				t.Errorf("trace into the zone: exit %d\n%s%s", a.code, a.stdout, a.stderr)
			}
			a = n.ovnctl(t, append([]string{"topology", "show", "-o", "json"}, args...)...)
			var doc topology.Document
			zonesDocument(t, a, &doc)
			all := strings.Join(doc.Notes, "\n")
			if a.code != exitUnknown || len(doc.Nodes) != 2 || strings.Count(all, "the zone of node node3") != 1 || !strings.Contains(all, reason) {
				t.Errorf("exit %d, %d nodes, notes %q", a.code, len(doc.Nodes), doc.Notes)
			}
			a = n.ovnctl(t, append([]string{"doctor", "-o", "json"}, args...)...)
			var report doctor.Document
			zonesDocument(t, a, &report)
			for _, f := range report.Findings {
				if f.Result.Fault() {
					t.Errorf("%s: %s", f.Check, f.Title)
				}
			}
			if a.code != exitUnknown {
				t.Errorf("doctor: exit %d", a.code)
			}
		})
	}
}
