//go:build lab

package node_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/pkg/node"
)

// scripting is a prefix by which the scripts that a node was sent can be counted.
func scripting(t *testing.T) (prefix string, sent func() int) {
	t.Helper()
	dir := shortDir(t)
	log := filepath.Join(dir, "scripts")
	write(t, filepath.Join(dir, "login"), fmt.Sprintf("#!/bin/sh\ntee -a %s | %s/enter \"$@\"\n", log, hosts.Dir))
	return filepath.Join(dir, "login") + " {hostname}", func() int {
		b, _ := os.ReadFile(log)
		return strings.Count(string(b), "main() {\n")
	}
}

// TestAhead asks a node on another host several things with one script, each answered once, and as if it was asked by itself.
func TestAhead(t *testing.T) {
	prefix, sent := scripting(t)
	h, err := node.Remote(node.RemoteConfig{Hostname: "node2", Prefix: prefix})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { node.Close(h) })
	link := ""
	for _, p := range hosts.Topology.Pods {
		if p.Node == "node2" && p.In == "" {
			link = p.Link
		}
	}
	if _, err := h.Network(t.Context()); err != nil {
		t.Fatal(err)
	}
	questions := []func() (string, error){
		func() (string, error) { return h.Control(t.Context(), "ovs-vswitchd", "dpctl/ct-get-limits") },
		func() (string, error) { return h.Control(t.Context(), "ovs-vswitchd", "no/such-command", "it's") },
		func() (string, error) { return h.Dump(t.Context(), "br-int", node.TLVMap) },
		func() (string, error) {
			pod, err := h.Pod(t.Context(), link)
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("%s %v %v", pod.Netns, pod.Network.Addresses, pod.Network.Routes), nil
		},
	}
	ask := func() (said []string) {
		for _, q := range questions {
			text, err := q()
			said = append(said, fmt.Sprintf("%s %v", text, err))
		}
		return said
	}
	begin := sent()
	want := ask()
	if n := sent() - begin; n != len(questions) {
		t.Errorf("%d questions took %d scripts", len(questions), n)
	}
	for _, atOnce := range []bool{false, true} {
		ahead := node.AskAhead(h)
		ahead.Control("ovs-vswitchd", "dpctl/ct-get-limits")
		ahead.Control("ovs-vswitchd", "no/such-command", "it's")
		ahead.Dump("br-int", node.TLVMap)
		ahead.Pod(t.Context(), link)
		begin = sent()
		if atOnce {
			ahead.Send(t.Context())
		}
		if got := ask(); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("asked ahead, at once %v:\n%s\nby themselves:\n%s", atOnce, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if n := sent() - begin; n != 1 {
			t.Errorf("asked ahead, at once %v, they took %d scripts", atOnce, n)
		}
	}
	begin = sent()
	ask()
	if n := sent() - begin; n != len(questions) {
		t.Errorf("asked once more, they took %d scripts", n)
	}
}

// TestAheadHangs asks a stopped daemon ahead: the question that was asked is answered, and so are those that come later.
func TestAheadHangs(t *testing.T) {
	prefix, _ := scripting(t)
	h, err := node.Remote(node.RemoteConfig{Hostname: "node3", Prefix: prefix, Timeout: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { node.Close(h) })
	stopped(t, pidOf(t, "node3", "ovn", "ovn-controller"))
	ahead := node.AskAhead(h)
	ahead.Control("ovn-controller", "version")
	ahead.Control("ovs-vswitchd", "version")
	if _, err := h.Network(t.Context()); err != nil {
		t.Error(err)
	}
	if text, err := h.Control(t.Context(), "ovs-vswitchd", "version"); err != nil || !strings.Contains(text, "Open vSwitch") {
		t.Errorf("%q, %v", text, err)
	}
	_, err = h.Control(t.Context(), "ovn-controller", "version")
	wantError(t, err, "no reply in time")
}
