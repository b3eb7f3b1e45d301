//go:build lab

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/journey"
)

// TestCluster asks a deployment whose databases are clusters of three behind TLS, and goes on asking while
// their members die: the leader, and then the one that would be a majority with the last.
func TestCluster(t *testing.T) {
	l := labtest.Own(t, lab.OVNKubernetes(), lab.Options{Cluster: 3, TLS: true})
	n := &onNode{lab: l, node: "node1"}
	ask := []string{"trace", "shop/client", "shop/web-1", "--tcp", "8080", "-o", "json"}

	// The node's own database says where the Southbound is and with which keys.
	first := n.ovnctl(t, ask...)
	first.wants(t, "with the node's own keys", exitOK, journey.Delivered, false)
	if !strings.HasPrefix(first.source(t).SB, "ssl:") {
		t.Errorf("Southbound read from %q, want one of the cluster's members by ssl", first.source(t).SB)
	}

	key, certificate, ca := l.Keys("client")
	keys := []string{"-p", key, "-c", certificate, "-C", ca}
	n.ovnctl(t, append(ask, keys...)...).wants(t, "with a client's keys", exitOK, journey.Delivered, false)
	wrong := n.ovnctl(t, append(ask, "-p", key, "-c", certificate, "-C", filepath.Join(t.TempDir(), "none.pem"))...)
	if wrong.code != exitUnknown || !strings.Contains(string(wrong.stderr), "none.pem") {
		t.Errorf("with a CA file that is not there: exit %d, %s", wrong.code, wrong.stderr)
	}

	n.memberFiles(t, keys)

	leader := clusterLeader(t, l)
	killMember(t, l, leader)
	n.ovnctl(t, ask...).wants(t, "after the leader died", exitOK, journey.Delivered, false)

	for _, member := range l.Centrals() {
		if member != leader {
			killMember(t, l, member)
			break
		}
	}
	// The last member takes an election timeout to notice that it is alone.
	var last clusterAnswer
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(500 * time.Millisecond) {
		if last = n.ovnctl(t, ask...); last.code == exitOK && last.source(t).Stale {
			break
		}
	}
	last.wants(t, "with one member left", exitOK, journey.Delivered, true)
}

// memberFiles shows the topology from the files of a member as they lie there: the logical network is the
// one that the servers tell of.
func (n *onNode) memberFiles(t *testing.T, keys []string) {
	t.Helper()
	dir := t.TempDir()
	for file, name := range map[string]string{"ovnnb_db.db": "nb.db", "ovnsb_db.db": "sb.db"} {
		b, err := os.ReadFile(filepath.Join(n.lab.Dir, n.lab.Centrals()[0], "var/lib/ovn", file))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	show := []string{"topology", "show", "--logical", "-o", "json"}
	live := n.ovnctl(t, append(show, append(keys, "--nb", n.lab.NB())...)...)
	saved := n.ovnctl(t, append(show, "--offline", dir)...)
	for _, part := range []string{"switches", "routers", "loadBalancers", "nat", "policies", "portGroups"} {
		if got, want := saved.part(t, part), live.part(t, part); len(want) < 10 || !bytes.Equal(got, want) {
			t.Errorf("%s from the files of a member (exit %d):\n%s\nfrom the servers (exit %d):\n%s", part, saved.code, got, live.code, want)
		}
	}
}

// part is one list of a document.
func (a clusterAnswer) part(t *testing.T, name string) []byte {
	t.Helper()
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(a.stdout, &doc); err != nil {
		t.Errorf("%v\n%s%s", err, a.stdout, a.stderr)
	}
	return doc[name]
}

// onNode runs ovnctl on a node of a lab.
type onNode struct {
	lab  *lab.Lab
	node string
}

type clusterAnswer struct {
	code           int
	stdout, stderr []byte
}

func (n *onNode) ovnctl(t *testing.T, args ...string) clusterAnswer {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), n.lab.Allow(3*time.Minute))
	defer cancel()
	cmd := n.lab.Program(ctx, n.node, slices.Concat([]string{self}, args, n.lab.Flags())...)
	cmd.Env = append(cmd.Env, asOvnctl+"=1")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return clusterAnswer{cmd.ProcessState.ExitCode(), out.Bytes(), errs.Bytes()}
}

type clusterSource struct {
	SB    string
	Stale bool
}

func (a clusterAnswer) source(t *testing.T) clusterSource {
	t.Helper()
	var doc struct{ Source clusterSource }
	if err := json.Unmarshal(a.stdout, &doc); err != nil {
		t.Errorf("%v\n%s%s", err, a.stdout, a.stderr)
	}
	return doc.Source
}

func (a clusterAnswer) wants(t *testing.T, when string, code int, outcome journey.Outcome, stale bool) {
	t.Helper()
	var trace journey.Trace
	_ = json.Unmarshal(a.stdout, &trace)
	if a.code != code || trace.Verdict.Outcome != outcome || a.source(t).Stale != stale {
		t.Errorf("%s: exit %d, outcome %q, stale %v; want %d, %q, %v\n%s", when, a.code, trace.Verdict.Outcome, a.source(t).Stale, code, outcome, stale, a.stderr)
	}
}

// clusterLeader is the host whose Southbound server leads.
func clusterLeader(t *testing.T, l *lab.Lab) string {
	t.Helper()
	for _, c := range l.Centrals() {
		out, err := l.Run(t.Context(), c, "ovn-appctl", "-t", filepath.Join(l.Dir, c, "run/ovn/ovnsb_db.ctl"), "cluster/status", "OVN_Southbound")
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(out, "Role: leader") {
			return c
		}
	}
	t.Fatal("no member leads the Southbound")
	return ""
}

// killMember ends a host's Southbound server, as a crash would.
func killMember(t *testing.T, l *lab.Lab, host string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(l.Dir, host, "run/ovn/ovnsb_db.pid"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}
