//go:build lab

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
)

// scriptsFor runs ovnctl on node1 and returns the scripts that each other node was sent.
func scriptsFor(t *testing.T, l *lab.Lab, args ...string) map[string][]string {
	t.Helper()
	dir := t.TempDir()
	prefix := filepath.Join(dir, "enter")
	script := fmt.Sprintf("#!/bin/sh\ntee -a %s/sent.$1 | %s/enter \"$@\"\n", dir, l.Dir)
	if err := os.WriteFile(prefix, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := l.Program(t.Context(), "node1", slices.Concat([]string{self}, args, []string{"--nb", l.NB(), "--node-exec", prefix + " {hostname}"})...)
	cmd.Env = append(cmd.Env, asOvnctl+"=1")
	if out, err := cmd.CombinedOutput(); err != nil && cmd.ProcessState.ExitCode() != exitFound {
		t.Fatalf("%v: %v\n%s", args, err, out)
	}
	sent := map[string][]string{}
	for _, n := range l.Topology.Nodes[1:] {
		text, err := os.ReadFile(filepath.Join(dir, "sent."+n.Name))
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		sent[n.Name] = strings.Split(string(text), "main() {\n")[1:]
	}
	return sent
}

// TestTopologyCalls holds that the topology costs each other node one script with one program: its database.
func TestTopologyCalls(t *testing.T) {
	l := labtest.Shared(t, lab.OVNKubernetes())
	parts := regexp.MustCompile(`(?m)^part (\S+) `)
	for _, args := range [][]string{{"topology", "show"}, {"get", "interfaces"}} {
		for node, sent := range scriptsFor(t, l, args...) {
			var asked []string
			for _, m := range parts.FindAllStringSubmatch(strings.Join(sent, ""), -1) {
				asked = append(asked, m[1])
			}
			if len(sent) != 1 || !slices.Equal(asked, []string{"conf"}) {
				t.Errorf("%v: %s was sent %d scripts that ask for %q, want one for conf", args, node, len(sent), asked)
			}
		}
	}
}

// TestTraceCalls holds that a trace costs each other node two round trips: what every trace asks of a node, and what comes of the
// packet there, and of its reply.
func TestTraceCalls(t *testing.T) {
	for _, c := range []struct {
		topology  lab.Topology
		questions []string
	}{
		{lab.OVNKubernetes(), []string{
			"shop/client shop/web-2 --tcp 8080", "shop/client shop/web-2 --udp 9090", "shop/client shop/web-2", "shop/client shop/web-2 --tcp 8080 -6",
			"shop/client svc:shop/web --tcp 80", "shop/client bank/vault --tcp 8080", "shop/client 203.0.113.10",
			"node:node1 shop/web-2 --tcp 8080", "shop/client node:node2",
		}},
		{lab.KubeOVN(), []string{"shop/client shop/web-2 --tcp 8080", "shop/client svc:10.96.0.10:80 --tcp 80", "node:node1 shop/web-2 --tcp 8080", "shop/client node:node2"}},
	} {
		l := labtest.Shared(t, c.topology)
		for _, question := range c.questions {
			for node, sent := range scriptsFor(t, l, append([]string{"trace"}, strings.Fields(question)...)...) {
				if len(sent) > 2 {
					t.Errorf("%s: %s was sent %d scripts", question, node, len(sent))
				}
			}
		}
	}
}
