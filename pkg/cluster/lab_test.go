//go:build lab

package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/pkg/node"
)

// hosts is the lab that the tests of this package look at.
var hosts *lab.Lab

// openVariable makes the test binary open a Config in the network namespace and
// environment it was started in, as ovnctl would there, and print what it saw.
const openVariable = "CLUSTER_TEST_OPEN"

// aloneVariable makes the test binary run one test without a lab.
const aloneVariable = "CLUSTER_TEST_ALONE"

func TestMain(m *testing.M) {
	if text := os.Getenv(openVariable); text != "" {
		openHere(text)
		return
	}
	if os.Getenv(aloneVariable) != "" {
		os.Exit(m.Run())
	}
	var err error
	if hosts, err = lab.Up(context.Background(), lab.OVNKubernetes(), lab.Options{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if err := hosts.Down(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// seen is what one Open saw.
type seen struct {
	Err      string
	Source   Source
	Problems []string
	Next     []string
	Notes    []string
	Central  string // Cluster.Central, by name
	Nodes    []seenNode
	Took     time.Duration // of Open
	Gathered time.Duration // of Gather
}

type seenNode struct {
	Name, SystemID, Zone, Origin string
	Local, Open                  bool
	Daemon                       string // what ovs-vswitchd says
	Links                        int
}

// carried is a Config as text: a Way is an interface, and here a prefix.
type carried struct {
	Config
	Way node.Prefix
}

func openHere(text string) {
	var s seen
	var given carried
	if err := json.Unmarshal([]byte(text), &given); err != nil {
		panic(err)
	}
	config := given.Config
	if given.Way != "" {
		config.Way = given.Way
	}
	ctx := context.Background()
	start := time.Now()
	c, err := Open(ctx, config)
	s.Took = time.Since(start)
	if err != nil {
		s.Err = err.Error()
	} else {
		start = time.Now()
		c.Gather(ctx)
		s.Gathered = time.Since(start)
		s.Source, s.Notes = c.Source(), c.Notes
		if c.Central != nil {
			s.Central = c.Central.Name
		}
		for _, p := range c.Problems {
			s.Problems, s.Next = append(s.Problems, p.Error()), append(s.Next, p.Next)
		}
		for _, n := range c.Hosts {
			v := seenNode{Name: n.Name, SystemID: n.SystemID, Zone: n.Zone, Origin: n.Host.Origin(), Local: n.Local, Open: n.Vswitch() != nil}
			v.Daemon, _ = n.Host.Control(ctx, "ovs-vswitchd", "version")
			if net, err := n.Host.Network(ctx); err == nil {
				v.Links = len(net.Links)
			}
			s.Nodes = append(s.Nodes, v)
		}
		if err := c.Close(); err != nil {
			s.Problems = append(s.Problems, "close: "+err.Error())
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(s); err != nil {
		panic(err)
	}
}

// openOn opens a Config on a host of the lab; env are more variables. It sees no processes but its own and no run directories
// but those of the lab, whatever the machine runs that the tests are on.
func openOn(t *testing.T, host string, config Config, env ...string) seen {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	given := carried{Config: config}
	given.Way, _ = config.Way.(node.Prefix)
	text, err := json.Marshal(given)
	if err != nil {
		t.Fatal(err)
	}
	args := slices.Concat([]string{"unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "env", openVariable + "=" + string(text)}, noRunDirs(t, host), env)
	cmd := hosts.Command(context.Background(), host, append(args, binary)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s", host, err, stderr.String())
	}
	var s seen
	if err := json.Unmarshal(out, &s); err != nil {
		t.Fatalf("%s: %v: %s", host, err, out)
	}
	return s
}

// noRunDirs are the variables by which a host of the lab that has no daemons does not look into the machine's run directories.
func noRunDirs(t *testing.T, host string) []string {
	t.Helper()
	if _, node := hosts.Topology.Node(host); node || slices.Contains(hosts.Centrals(), host) {
		return nil // it has its own
	}
	dir := shortDir(t)
	return []string{"OVS_RUNDIR=" + dir, "OVN_RUNDIR=" + dir, "OVS_DBDIR=" + dir, "OVN_DBDIR=" + dir}
}

// alone runs a test in a process that sees no other processes and no run directories of the machine, and reports whether this is
// that process.
func alone(t *testing.T) bool {
	t.Helper()
	if os.Getenv(aloneVariable) != "" {
		return true
	}
	cmd := exec.CommandContext(t.Context(), "unshare", "--pid", "--fork", "--kill-child", "--mount-proc",
		"sh", "-c", `mount -t tmpfs tmpfs /run && exec "$0" "$@"`, os.Args[0], "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), aloneVariable+"=1")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS") {
		t.Fatalf("%v\n%s", err, out)
	}
	return false
}

// enter runs a command on a host of the lab.
func enter(t *testing.T, host string, args ...string) string {
	t.Helper()
	out, err := hosts.Command(context.Background(), host, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %s: %v: %s", host, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// stopped holds a daemon still until the test ends.
func stopped(t *testing.T, host, pidfile string) {
	t.Helper()
	pid, err := os.ReadFile(filepath.Join(hosts.Dir, host, "run", pidfile))
	if err != nil {
		t.Fatal(err)
	}
	enter(t, host, "kill", "-STOP", strings.TrimSpace(string(pid)))
	t.Cleanup(func() { enter(t, host, "kill", "-CONT", strings.TrimSpace(string(pid))) })
}

func contains(t *testing.T, what string, list []string, words ...string) {
	t.Helper()
	all := strings.Join(list, "\n")
	for _, w := range words {
		if !strings.Contains(all, w) {
			t.Errorf("%s %q lack %q", what, list, w)
		}
	}
}

func nodeExec() string { return filepath.Join(hosts.Dir, "enter") + " {hostname}" }

// A node whose Open_vSwitch database is down, and which alone says where the others are, is enough for who asks for it: not
// one that was named.
func TestDeadSwitch(t *testing.T) {
	dead := shortDir(t)
	if err := os.WriteFile(filepath.Join(dead, "ovs-vswitchd.pid"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{"OVS_RUNDIR=" + dead, "OVN_RUNDIR=" + dead}
	s := openOn(t, "node1", Config{Alone: true}, env...)
	if s.Err != "" || s.Central != "" || len(s.Nodes) != 1 || !s.Nodes[0].Local {
		t.Errorf("with a dead database: %+v", s)
	}
	contains(t, "problems", s.Problems, "cannot read Open_vSwitch at unix:"+dead)
	for _, config := range []Config{{}, {Alone: true, OVS: "unix:" + dead + "/db.sock"}} {
		if s = openOn(t, "node1", config, env...); s.Err == "" {
			t.Errorf("%+v: nothing to read is no error: %+v", config, s)
		}
	}
}

// A host that runs the databases alone is known as one, and is enough for who asks
// for it although they are all dead.
func TestCentral(t *testing.T) {
	s := openOn(t, "central", Config{})
	if s.Central == "" || len(s.Problems) > 0 {
		t.Errorf("%+v", s)
	}
	s = openOn(t, "node1", Config{})
	if s.Central != "" {
		t.Errorf("a node is taken for a host of databases: %+v", s)
	}
	dead := shortDir(t)
	for _, name := range []string{"run/ovnnb_db.ctl", "run/ovnsb_db.ctl"} {
		if err := os.MkdirAll(filepath.Join(dead, "run"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dead, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"OVS_RUNDIR=" + dead, "OVN_RUNDIR=" + dead + "/run"}
	if s = openOn(t, "central", Config{Alone: true}, env...); s.Central == "" || s.Err != "" {
		t.Errorf("with dead databases: %+v", s)
	}
	if s = openOn(t, "central", Config{}, env...); s.Err == "" {
		t.Errorf("nothing to read is no error: %+v", s)
	}
}
