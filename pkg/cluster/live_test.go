//go:build lab

package cluster

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/pkg/node"
)

// On a node nothing needs to be said.
func TestOpenOnNode(t *testing.T) {
	s := openOn(t, "node1", Config{})
	if s.Err != "" || len(s.Problems) > 0 {
		t.Fatalf("%+v", s)
	}
	if s.Source.NB != "tcp:172.30.0.2:6641" || s.Source.SB != "tcp:172.30.0.2:6642" || !slices.Equal(s.Source.Nodes, []string{"node1"}) || s.Source.Stale {
		t.Errorf("source %+v", s.Source)
	}
	if _, err := time.Parse(time.RFC3339, s.Source.Time); err != nil || !strings.HasSuffix(s.Source.Time, "Z") {
		t.Errorf("time %q", s.Source.Time)
	}
	contains(t, "notes", s.Notes, "2 other nodes not read", "--node-exec")
	for i, n := range s.Nodes {
		want, _ := hosts.Topology.Node(fmt.Sprintf("node%d", i+1))
		id := enter(t, want.Name, "ovs-vsctl", "get", "open", ".", "external_ids:system-id")
		if n.Name != want.Name || n.SystemID != strings.Trim(id, `"`) {
			t.Errorf("node %+v, want %s %s", n, want.Name, id)
		}
		if n.Local != (n.Name == "node1") || n.Open != n.Local || (n.Daemon != "") != n.Local || (n.Links > 0) != n.Local {
			t.Errorf("node %+v on node1", n)
		}
	}
	if len(s.Nodes) != 3 {
		t.Errorf("%d nodes", len(s.Nodes))
	}
}

// On the central host the sockets in OVN_RUNDIR are found, and no vswitch is missed.
func TestOpenOnCentral(t *testing.T) {
	s := openOn(t, "central", Config{})
	if s.Err != "" || len(s.Problems) > 0 || s.Source.NB != hosts.NB() || s.Source.SB != hosts.SB() || len(s.Nodes) != 3 {
		t.Errorf("%+v", s)
	}
}

// A flag wins over the environment, and that over what the database says.
func TestOpenOrder(t *testing.T) {
	s := openOn(t, "node1", Config{}, "OVN_SB_DB="+hosts.SB())
	if s.Source.SB != hosts.SB() || s.Source.NB != "tcp:172.30.0.2:6641" {
		t.Errorf("with OVN_SB_DB: %+v", s.Source)
	}
	s = openOn(t, "node1", Config{SB: "tcp:172.30.0.2:6642", NB: "unix:/nonexistent," + hosts.NB()}, "OVN_SB_DB="+hosts.SB())
	if s.Source.SB != "tcp:172.30.0.2:6642" || s.Source.NB != hosts.NB() {
		t.Errorf("with flags: %+v", s.Source)
	}
}

func TestOpenNothing(t *testing.T) {
	dir := shortDir(t)
	s := openOn(t, "fab", Config{}, "OVS_RUNDIR="+dir, "OVN_RUNDIR="+dir)
	contains(t, "error", []string{s.Err}, "none is found here", "--nb", "--offline")
	s = openOn(t, "fab", Config{SB: "unix:" + dir + "/sb.sock"}, "OVS_RUNDIR="+dir, "OVN_RUNDIR="+dir)
	contains(t, "error", []string{s.Err}, "OVN_Southbound", dir+"/sb.sock")
}

// A Southbound that refuses, is silent or is gone takes no other part away.
func TestDeadSouthbound(t *testing.T) {
	dir := shortDir(t)
	silent, err := net.Listen("unix", filepath.Join(dir, "silent"))
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close() //nolint:errcheck // of a test
	for _, c := range []struct {
		name, remote string
		within       time.Duration
	}{
		{"refused", "tcp:172.30.0.2:6649", time.Second},
		{"no socket", "unix:" + dir + "/nope", time.Second},
		{"silent", "unix:" + dir + "/silent", 2500 * time.Millisecond},
		{"no host", "tcp:172.30.0.99:6642", 2500 * time.Millisecond},
		{"no remote", "http://x", time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := openOn(t, "node1", Config{SB: c.remote, Timeout: 2 * time.Second})
			if s.Err != "" || s.Source.NB == "" || !slices.Equal(s.Source.Nodes, []string{"node1"}) || s.Source.SB != "" {
				t.Errorf("%+v", s)
			}
			contains(t, "problems", s.Problems, "OVN_Southbound", c.remote)
			if len(s.Problems) != 1 || s.Next[0] == "" || s.Took > c.within {
				t.Errorf("%d problems, next %q, took %v", len(s.Problems), s.Next, s.Took)
			}
			if n := s.Nodes[0]; n.Name != "node1" || !n.Local || n.Daemon == "" {
				t.Errorf("the local node: %+v", n)
			}
		})
	}
}

// The server takes the connection and says nothing: the daemon is stopped.
func TestStoppedServers(t *testing.T) {
	t.Run("southbound", func(t *testing.T) {
		stopped(t, "central", "ovn/ovnsb_db.pid")
		s := openOn(t, "node1", Config{Timeout: 2 * time.Second})
		if s.Source.NB == "" || len(s.Source.Nodes) != 1 || s.Took > 2500*time.Millisecond {
			t.Errorf("%+v", s)
		}
		contains(t, "problems", s.Problems, "OVN_Southbound", "tcp:172.30.0.2:6642")
	})
	t.Run("local", func(t *testing.T) {
		stopped(t, "node2", "openvswitch/ovsdb-server.pid")
		s := openOn(t, "node2", Config{Timeout: 2 * time.Second, SB: "tcp:172.30.0.2:6642"})
		if s.Source.SB == "" || s.Took > 2500*time.Millisecond || len(s.Nodes) != 3 { // its file says which of the chassis it is
			t.Errorf("%+v", s)
		}
		contains(t, "problems", s.Problems, "Open_vSwitch", "node2/run/openvswitch/db.sock")
		if len(s.Problems) != 1 {
			t.Errorf("problems %q, want one", s.Problems)
		}
		for _, n := range s.Nodes { // ovs-vswitchd and the kernel answer all the same
			if n.Local && (n.Daemon == "" || n.Links == 0 || n.Open) {
				t.Errorf("the local node: %+v", n)
			}
		}
	})
}

// Every other node is read behind the prefix; the local one is not.
func TestNodeExec(t *testing.T) {
	s := openOn(t, "node1", Config{Way: node.Prefix(nodeExec())})
	if len(s.Problems) > 0 || !slices.Equal(s.Source.Nodes, []string{"node1", "node2", "node3"}) {
		t.Fatalf("%+v", s)
	}
	for _, n := range s.Nodes {
		if n.Daemon == "" || n.Links == 0 || strings.HasPrefix(n.Origin, "node-exec: ") == n.Local {
			t.Errorf("%+v", n)
		}
	}
	s = openOn(t, "fab", Config{NB: hosts.NB(), SB: hosts.SB(), Way: node.Prefix(nodeExec())})
	if len(s.Problems) > 0 || !slices.Equal(s.Source.Nodes, []string{"node1", "node2", "node3"}) {
		t.Errorf("from elsewhere: %+v", s)
	}
}

// A switch of hardware is not asked, and a node of another zone is not read if its zone is out of reach.
func TestForeignChassis(t *testing.T) {
	for i, c := range []struct{ name, what string }{{"tor", "other_config:is-vtep=true"}, {"older-tor", "vtep_logical_switches=ls0"}, {"far-gateway", "other_config:is-remote=true"}} {
		enter(t, "central", "ovn-sbctl", "--id=@e", "create", "encap", "type=vxlan", fmt.Sprintf("ip=192.0.2.%d", 101+i), "chassis_name="+c.name,
			"--", "create", "chassis", "name="+c.name, "hostname="+c.name, "encaps=@e", c.what)
		t.Cleanup(func() { enter(t, "central", "ovn-sbctl", "chassis-del", c.name) })
	}
	s := openOn(t, "node1", Config{Way: node.Prefix(nodeExec())})
	if len(s.Problems) != 1 || !slices.Equal(s.Source.Nodes, []string{"node1", "node2", "node3"}) {
		t.Errorf("%+v", s)
	}
	contains(t, "problems", s.Problems, "cannot read the zone of node far-gateway")
}

// Hostnames are what anybody with a chassis writes: none becomes a command.
func TestHostileChassis(t *testing.T) {
	dir := shortDir(t)
	touched := filepath.Join(dir, "touched")
	for i, hostname := range []string{"node1; touch " + touched, "$(touch " + touched + ")", "node1\ntouch " + touched, "-x"} {
		name := fmt.Sprintf("hostile%d", i)
		quoted := `"` + strings.ReplaceAll(hostname, "\n", `\n`) + `"`
		enter(t, "central", "ovn-sbctl", "--id=@e", "create", "encap", "type=geneve", fmt.Sprintf("ip=192.0.2.%d", i+1), "chassis_name="+name,
			"--", "create", "chassis", "name="+name, "hostname="+quoted, "encaps=@e")
		t.Cleanup(func() { enter(t, "central", "ovn-sbctl", "chassis-del", name) })
	}
	prefix := filepath.Join(dir, "prefix") // as careless as they come
	if err := os.WriteFile(prefix, []byte("#!/bin/sh\neval \"$1\"\nshift\nexec \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := openOn(t, "node1", Config{Way: node.Prefix(prefix + " {hostname}"), Timeout: 2 * time.Second})
	if _, err := os.Stat(touched); err == nil {
		t.Error("a hostname was run as a command")
	}
	if len(s.Nodes) != 7 || !slices.Contains(s.Source.Nodes, "node1") {
		t.Errorf("%+v", s)
	}
	refused := 0
	for _, p := range s.Problems {
		if strings.Contains(p, "is not a hostname") {
			refused++
		}
	}
	if refused != 4 {
		t.Errorf("%d refused hostnames in %q", refused, s.Problems)
	}
}

// Nodes that do not come back cost one deadline together, not one each.
func TestNodeExecHangs(t *testing.T) {
	prefix := filepath.Join(shortDir(t), "prefix")
	if err := os.WriteFile(prefix, []byte("#!/bin/sh\n[ $1 = node2 ] && exec "+filepath.Join(hosts.Dir, "enter")+" \"$@\"\nsleep 60\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := openOn(t, "fab", Config{NB: hosts.NB(), SB: hosts.SB(), Way: node.Prefix(prefix + " {hostname}"), Timeout: 2 * time.Second})
	if !slices.Equal(s.Source.Nodes, []string{"node2"}) || len(s.Problems) != 2 || s.Gathered > 3500*time.Millisecond {
		t.Errorf("%+v", s)
	}
	contains(t, "problems", s.Problems, "node node1", "node node3", "no reply in time")
}

// What Open opened, Close closes; so it is after a failure.
func TestCloseLeavesNothing(t *testing.T) {
	count := func() (files, goroutines int) {
		fds, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(fds), runtime.NumGoroutine()
	}
	config := live(t)
	config.OVS = "unix:" + filepath.Join(hosts.Dir, "node1/run/openvswitch/db.sock")
	once := func(config Config) {
		c, err := Open(t.Context(), config)
		if err != nil {
			return
		}
		c.Gather(t.Context())
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	silent, err := net.Listen("unix", filepath.Join(shortDir(t), "silent"))
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close() //nolint:errcheck // of a test
	broken := config
	broken.SB, broken.Way, broken.Timeout = "unix:"+silent.Addr().String(), node.Prefix("sleep {hostname}"), 100*time.Millisecond
	once(config) // what is opened once for all
	files, goroutines := count()
	for range 10 {
		once(config)
		once(broken)
		once(Config{Offline: "/nonexistent"})
	}
	end := time.Now().Add(5 * time.Second)
	for {
		nowFiles, nowGoroutines := count()
		if nowFiles <= files && nowGoroutines <= goroutines {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d files, then %d; %d goroutines, then %d", files, nowFiles, goroutines, nowGoroutines)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
