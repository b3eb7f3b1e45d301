//go:build lab

package node_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/pkg/node"
)

// counting is a prefix that notes each login in a file.
func counting(t *testing.T) (prefix string, pids func() []int) {
	t.Helper()
	dir := shortDir(t)
	log := filepath.Join(dir, "logins")
	write(t, filepath.Join(dir, "login"), fmt.Sprintf("#!/bin/sh\necho $$ >>%s\nexec %s/enter \"$@\"\n", log, hosts.Dir))
	return filepath.Join(dir, "login") + " {hostname}", func() (list []int) {
		b, _ := os.ReadFile(log)
		for word := range strings.FieldsSeq(string(b)) {
			if n, err := strconv.Atoi(word); err == nil {
				list = append(list, n)
			}
		}
		return list
	}
}

// Many questions are few logins, at once and one after the other, and a shell that
// ends between two of them is replaced.
func TestShellsAreKept(t *testing.T) {
	prefix, pids := counting(t)
	logins := func() int { return len(pids()) }
	h, err := node.Remote(node.RemoteConfig{Hostname: "node2", Prefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { node.Close(h) })
	ask := func() {
		if text, err := h.Control(t.Context(), "ovs-vswitchd", "version"); err != nil || !strings.Contains(text, "Open vSwitch") {
			t.Errorf("%q, %v", text, err)
		}
		if b, err := h.ReadFile(t.Context(), "/proc/sys/kernel/ostype"); err != nil || string(b) != "Linux\n" {
			t.Errorf("%q, %v", b, err)
		}
		if _, err := h.Network(t.Context()); err != nil {
			t.Error(err)
		}
	}
	for range 5 {
		ask()
	}
	if n := logins(); n != 1 {
		t.Errorf("%d logins for questions one after the other", n)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(ask)
	}
	wg.Wait()
	if n := logins(); n > 3 {
		t.Errorf("%d logins for questions at once", n)
	}
	before := logins()
	for _, pid := range pids() {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it is ours: the login became the shell
	}
	ask()
	if n := logins(); n <= before {
		t.Errorf("%d logins after the shells were killed, %d before", n, before)
	}
	node.Close(h)
	for deadline := time.Now().Add(3 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		left := 0
		for _, pid := range pids() {
			if syscall.Kill(pid, 0) == nil {
				left++
			}
		}
		if left == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d shells are left after Close", left)
		}
	}
	ask() // still answers, and keeps nothing
}

// A question that hangs costs its own shell, not the next question.
func TestShellsAreReplaced(t *testing.T) {
	prefix, pids := counting(t)
	logins := func() int { return len(pids()) }
	h, err := node.Remote(node.RemoteConfig{Hostname: "node3", Prefix: prefix, Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { node.Close(h) })
	soon(t, 4*time.Second, func() {
		if _, err := h.Glob(t.Context(), "/proc/sys/kernel/osty*"); err != nil {
			t.Error(err)
		}
		stopped(t, pidOf(t, "node3", "ovn", "ovn-controller"))
		_, err := h.Control(t.Context(), "ovn-controller", "version")
		wantError(t, err, "no reply in time")
		if b, err := h.ReadFile(t.Context(), "/proc/sys/kernel/ostype"); err != nil || string(b) != "Linux\n" {
			t.Errorf("%q, %v", b, err)
		}
	})
	if n := logins(); n > 2 {
		t.Errorf("%d logins", n)
	}
}

// However many nodes were asked, few shells wait for the next question; a node whose shell ended is asked by a new one.
func TestShellsThatWait(t *testing.T) {
	prefix, pids := counting(t)
	const nodes = 150
	all := make([]node.Host, nodes)
	for i := range all {
		h, err := node.Remote(node.RemoteConfig{Name: fmt.Sprint(i), Hostname: "node2", Prefix: prefix})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { node.Close(h) })
		all[i] = h
	}
	ask := func(h node.Host) {
		if b, err := h.ReadFile(t.Context(), "/proc/sys/kernel/ostype"); err != nil || string(b) != "Linux\n" {
			t.Errorf("%q, %v", b, err)
		}
	}
	for _, h := range all {
		ask(h)
	}
	var wg sync.WaitGroup
	for _, h := range all { // of the last ones a shell waits, the first ones need another
		wg.Go(func() { ask(h) })
	}
	wg.Wait()
	waiting := func() (left int) {
		for _, pid := range pids() {
			if syscall.Kill(pid, 0) == nil {
				left++
			}
		}
		return left
	}
	if logins := len(pids()); logins <= nodes {
		t.Errorf("%d logins of %d nodes", logins, nodes)
	}
	for deadline := time.Now().Add(3 * time.Second); waiting() > node.MaxIdle; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d shells wait, want at most %d", waiting(), node.MaxIdle)
		}
	}
}
