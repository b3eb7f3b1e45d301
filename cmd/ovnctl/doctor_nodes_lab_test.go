//go:build lab

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/render"
)

// TestAllNodes breaks two of three nodes and asks from the third: one cause with both nodes, and each node with what it has,
// live and in a capture, in every format.
func TestAllNodes(t *testing.T) {
	l := labtest.Own(t, lab.OVNKubernetes(), lab.Options{})
	n := &onNode{lab: l, node: "node1"}
	for _, host := range []string{"node2", "node3"} {
		if out, err := l.Command(t.Context(), host, "ip", "address", "flush", "dev", "br-ex", "scope", "global").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	way := []string{"--node-exec", l.Dir + "/enter {hostname}"}
	capture := filepath.Join(t.TempDir(), "lab.tar.gz")
	if got := n.ovnctl(t, append(way, "capture", capture)...); got.code != exitOK {
		t.Fatalf("capture: exit %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	for where, source := range map[string][]string{"live": way, "capture": {"--offline", capture}} {
		t.Run(where, func(t *testing.T) {
			got := n.ovnctl(t, append(source, "doctor", "--all-nodes", "-o", "json")...)
			var doc doctor.Document
			if err := json.Unmarshal(got.stdout, &doc); err != nil || got.code != exitFound {
				t.Fatalf("exit %d, want %d: %v\n%s%s", got.code, exitFound, err, got.stdout, got.stderr)
			}
			i := slices.IndexFunc(doc.Groups, func(g doctor.Group) bool { return g.Check == "bridge-ip-lost-after-reboot" })
			if i < 0 || !slices.Equal(doc.Groups[i].Nodes, []string{"node2", "node3"}) || doc.Groups[i].Of != 3 {
				t.Errorf("groups %+v", doc.Groups)
			}
			faulty := map[string]bool{}
			for _, r := range doc.Nodes {
				faulty[r.Name] = slices.Contains(r.Checks, "bridge-ip-lost-after-reboot")
			}
			if len(faulty) != 3 || faulty["node1"] || !faulty["node2"] || !faulty["node3"] {
				t.Errorf("nodes %+v", doc.Nodes)
			}
			for _, format := range render.DoctorFormats {
				if where == "live" && format != "table" {
					continue // each looks twice, seconds apart
				}
				got := n.ovnctl(t, append(source, "doctor", "--all-nodes", "-o", format)...)
				for _, name := range []string{"node2", "node3"} {
					if format != "short" && !strings.Contains(string(got.stdout), name) {
						t.Errorf("%s does not name %s:\n%s", format, name, got.stdout)
					}
					if fix := "fix restore-bridge-ip br-ex --node " + name + " --max-risk high"; slices.Contains([]string{"table", "md", "junit"}, format) && !strings.Contains(string(got.stdout), fix) {
						t.Errorf("%s has no %q:\n%s", format, fix, got.stdout)
					}
				}
				if slices.Contains([]string{"table", "short", "md"}, format) && !strings.Contains(string(got.stdout), "on 2 of 3 nodes") {
					t.Errorf("%s does not say on how many nodes:\n%s", format, got.stdout)
				}
			}
		})
	}
	// Whether a node's flows are right is judged when it is read and, where they are wrong, once more at the end.
	t.Run("flows", func(t *testing.T) {
		if out, err := l.Command(t.Context(), "node1", "ovs-ofctl", "del-flows", "br-int", "table=0").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		central := &onNode{lab: l, node: "central"}
		got := central.ovnctl(t, append(way, "doctor", "--all-nodes", "-o", "short")...)
		if got.code != exitFound || !strings.Contains(string(got.stdout), "of-flow-drift on node1") {
			t.Errorf("exit %d:\n%s%s", got.code, got.stdout, got.stderr)
		}
	})
	t.Run("one node", func(t *testing.T) {
		got := n.ovnctl(t, append(way, "doctor", "--node", "node2", "-o", "short")...)
		if got.code != exitFound || strings.Contains(string(got.stdout), "node3") || !strings.Contains(string(got.stdout), "bridge-ip-lost-after-reboot on node2") {
			t.Errorf("exit %d:\n%s%s", got.code, got.stdout, got.stderr)
		}
		for _, test := range []struct {
			args []string
			says string
		}{
			{append(way, "doctor", "--node", "node9"), "the nodes are node1, node2, node3"},
			{[]string{"doctor", "--node", "node2"}, "give --via ssh"},
			{[]string{"doctor", "--all-nodes"}, "give --via ssh"},
		} {
			if got := n.ovnctl(t, test.args...); got.code != exitUsage || !strings.Contains(string(got.stderr), test.says) {
				t.Errorf("%v: exit %d, want %d with %q:\n%s", test.args, got.code, exitUsage, test.says, got.stderr)
			}
		}
	})
}

// TestSilentNodes has one node that hangs and one that refuses: each is named once, with its reason, and the rest is read.
func TestSilentNodes(t *testing.T) {
	l := labtest.Shared(t, lab.OVNKubernetes())
	way := filepath.Join(t.TempDir(), "way")
	script := fmt.Sprintf("#!/bin/sh\ncase $1 in\nnode2) exec sleep 600 ;;\nnode3) echo 'No route to host' >&2; exit 255 ;;\nesac\nexec %s/enter \"$@\"\n", l.Dir)
	if err := os.WriteFile(way, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	n := &onNode{lab: l, node: "central"}
	got := n.ovnctl(t, "doctor", "--all-nodes", "--node-exec", way+" {hostname}", "--nb", l.NB(), "--sb", l.SB(), "-t", "3")
	said := string(got.stdout)
	for _, once := range []string{"cannot read node node2", "no reply in time", "cannot read node node3", "No route to host"} {
		if strings.Count(said, once) != 1 {
			t.Errorf("it says %q %d times, want once:\n%s%s", once, strings.Count(said, once), said, got.stderr)
		}
	}
	if got.code != exitUnknown || !strings.Contains(said, "1 of 3 nodes read, 0 with faults") {
		t.Errorf("exit %d, want %d:\n%s%s", got.code, exitUnknown, said, got.stderr)
	}
}
