//go:build lab

package node_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/pkg/node"
)

// hosts is the lab that the tests of this package look at.
var hosts *lab.Lab

func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.fuzz").Value.String() != "" { // parsers only, in many processes
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

func local(t *testing.T, name string) node.Host {
	t.Helper()
	return node.Local(configOf(name))
}

func configOf(name string) node.LocalConfig {
	return node.LocalConfig{
		Name:      name,
		OVSRunDir: filepath.Join(hosts.Dir, name, "run/openvswitch"),
		OVNRunDir: filepath.Join(hosts.Dir, name, "run/ovn"),
	}
}

func remote(t *testing.T, name string) node.Host {
	t.Helper()
	h, err := node.Remote(node.RemoteConfig{Hostname: name, Prefix: filepath.Join(hosts.Dir, "enter") + " {hostname}"})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// An entrance is a host of the lab behind a command.
type entrance func(t *testing.T, name string) node.Host

// eachWay runs a test of hosts behind a command: one where the daemons' tools answer, and one where ovnctl does.
func eachWay(t *testing.T, test func(t *testing.T, remote entrance)) {
	t.Run("tools", func(t *testing.T) { test(t, remote) })
	t.Run("ovnctl", func(t *testing.T) {
		before := timesAnswered(t)
		test(t, answered)
		if timesAnswered(t) == before {
			t.Error("ovnctl was not asked")
		}
	})
}

// answerVersion is the version of the ovnctl on the nodes.
const answerVersion = "v0.0.1"

// installed builds ovnctl, and beside it a script of that name that counts how often it is run.
var installed = sync.OnceValues(func() (dir string, err error) {
	dir = filepath.Join(hosts.Dir, "installed")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	program := filepath.Join(dir, "program")
	script := fmt.Sprintf("#!/bin/sh\necho >>%s/answers\nexec %s \"$@\"\n", dir, program)
	if err := os.WriteFile(filepath.Join(dir, "ovnctl"), []byte(script), 0o755); err != nil {
		return "", err
	}
	out, err := exec.Command("go", "build", "-buildvcs=false", "-ldflags", "-X main.version="+answerVersion, "-o", program, "../../cmd/ovnctl").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return dir, nil
})

func timesAnswered(t *testing.T) int {
	t.Helper()
	dir, err := installed()
	if err != nil {
		t.Fatal(err)
	}
	b, _ := os.ReadFile(filepath.Join(dir, "answers"))
	return len(b)
}

// answered is a host behind a command on which ovnctl is installed.
func answered(t *testing.T, name string) node.Host {
	t.Helper()
	dir, err := installed()
	if err != nil {
		t.Fatal(err)
	}
	h, err := node.Remote(node.RemoteConfig{Hostname: name, Version: answerVersion, Prefix: filepath.Join(hosts.Dir, "enter") + " {hostname} env PATH=" + dir + ":" + os.Getenv("PATH")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { node.Close(h) })
	return h
}

// enter runs a command on a host of the lab.
func enter(t *testing.T, host string, args ...string) string {
	t.Helper()
	out, err := hosts.Command(context.Background(), host, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %s: %v: %s", host, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// podOn is a pod on a node.
func podOn(t *testing.T, name string) lab.Pod {
	t.Helper()
	for _, p := range hosts.Topology.Pods {
		if p.Node == name {
			return p
		}
	}
	t.Fatalf("no pod on %s", name)
	return lab.Pod{}
}

// pidOf is the process of a node's daemon.
func pidOf(t *testing.T, host, dir, daemon string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(hosts.Dir, host, "run", dir, daemon+".pid"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// stopped holds a process still until the test ends.
func stopped(t *testing.T, pid string) (resume func()) {
	t.Helper()
	kill := func(signal string) {
		if out, err := exec.Command("kill", "-"+signal, pid).CombinedOutput(); err != nil {
			t.Errorf("kill -%s %s: %v: %s", signal, pid, err, out)
		}
	}
	kill("STOP")
	resume = func() { kill("CONT") }
	t.Cleanup(resume)
	return resume
}

// soon fails the test when f takes longer.
func soon(t *testing.T, limit time.Duration, f func()) {
	t.Helper()
	start := time.Now()
	f()
	if took := time.Since(start); took > limit {
		t.Errorf("took %v, more than %v", took, limit)
	}
}
