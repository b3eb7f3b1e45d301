//go:build lab

package node_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/pkg/node"
)

// installedAs is a host behind a command on which a program of ours, a script, is called ovnctl.
func installedAs(t *testing.T, name, script string, timeout time.Duration) node.Host {
	t.Helper()
	dir := shortDir(t)
	write(t, filepath.Join(dir, "ovnctl"), "#!/bin/sh\n"+script)
	h, err := node.Remote(node.RemoteConfig{
		Hostname: name, Version: answerVersion, Timeout: timeout, Prefix: filepath.Join(hosts.Dir, "enter") + " {hostname} env PATH=" + dir + ":" + os.Getenv("PATH"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { node.Close(h) })
	return h
}

// An ovnctl that cannot answer leaves the daemons' tools to it.
func TestAnswerOfOthers(t *testing.T) {
	dir, err := installed()
	if err != nil {
		t.Fatal(err)
	}
	pod := podOn(t, "node1")
	for what, script := range map[string]string{
		"another version":         `shift $(($# - 2)); exec ` + dir + `/program answer v0.0.2 "$@"`,
		"one without the command": `exec ` + dir + `/program answers "$@"`,
		"one that dies":           `for b; do :; done; printf '%s begin network\n{"links":[]}\n%s said netw' "$b" "$b"; kill -9 $$`,
		"one that fails late":     `for b; do :; done; printf '%s begin network\n{"links":[]}\n%s said network 0\n\n%s end network\n' "$b" "$b" "$b"; exit 1`,
		"no program":              "exit 126",
	} {
		h := installedAs(t, "node1", script, 5*time.Second)
		n, err := h.Network(t.Context())
		if err != nil || n.Link("br-int") == nil && what != "one that fails late" {
			t.Errorf("%s: network: %v", what, err)
		}
		if text, err := h.Control(t.Context(), "ovs-vswitchd", "version"); err != nil || !strings.Contains(text, "Open vSwitch") {
			t.Errorf("%s: %q, %v", what, text, err)
		}
		if p, err := h.Pod(t.Context(), pod.Link); what != "one that fails late" && (err != nil || p.Link.MAC != pod.MAC) {
			t.Errorf("%s: pod: %v", what, err)
		}
	}
}

// One that hangs costs the time of a question, no more.
func TestAnswerHangs(t *testing.T) {
	h := installedAs(t, "node1", "exec sleep 996", time.Second)
	soon(t, 3*time.Second, func() {
		_, err := h.Network(t.Context())
		wantError(t, err, "node1", "no reply in time")
	})
}

// A daemon that hangs takes its own part away, no other, and what is asked after it is asked again.
func TestAnswerOfStoppedDaemon(t *testing.T) {
	stopped(t, pidOf(t, "node3", "ovn", "ovn-controller"))
	h := answered(t, "node3")
	ahead := node.AskAhead(h)
	ahead.Control("ovn-controller", "version")
	ahead.Control("ovs-vswitchd", "version")
	soon(t, 12*time.Second, func() {
		if n, err := h.Network(t.Context()); err != nil || n.Link("br-int") == nil {
			t.Errorf("network beside a stopped ovn-controller: %v", err)
		}
		if text, err := h.Control(t.Context(), "ovs-vswitchd", "version"); err != nil || !strings.Contains(text, "Open vSwitch") {
			t.Errorf("%q, %v", text, err)
		}
		_, err := h.Control(t.Context(), "ovn-controller", "version")
		wantError(t, err, "ovn-controller", "no reply in time")
	})
}

// What is asked ahead is answered as if it was asked by itself, by the process that answered before.
func TestAnswerAhead(t *testing.T) {
	h, pod := answered(t, "node2"), podOn(t, "node2")
	ask := func() string {
		limits, err := h.Control(t.Context(), "ovs-vswitchd", "dpctl/ct-get-limits")
		_, err2 := h.Control(t.Context(), "ovs-vswitchd", "no/such-command", "it's")
		options, err3 := h.Dump(t.Context(), "br-int", node.TLVMap)
		inside, err4 := h.Pod(t.Context(), pod.Link)
		if err != nil || err3 != nil || err4 != nil {
			t.Fatal(err, err3, err4)
		}
		return fmt.Sprint(limits, err2, options[strings.Index(options, "\n"):], inside.Netns, inside.Network.Addresses, inside.Network.Routes)
	}
	want := ask()
	before := timesAnswered(t)
	ahead := node.AskAhead(h)
	ahead.Control("ovs-vswitchd", "dpctl/ct-get-limits")
	ahead.Control("ovs-vswitchd", "no/such-command", "it's")
	ahead.Dump("br-int", node.TLVMap)
	ahead.Pod(t.Context(), pod.Link)
	ahead.Send(t.Context())
	if got := ask(); got != want {
		t.Errorf("asked ahead:\n%s\nby themselves:\n%s", got, want)
	}
	if n := timesAnswered(t) - before; n != 0 {
		t.Errorf("ovnctl ran %d times", n)
	}
}

// One process answers what is asked of a node until something is asked that takes a script.
func TestAnswerWaits(t *testing.T) {
	h, pod := answered(t, "node2"), podOn(t, "node2")
	before := timesAnswered(t)
	ask := func(want int) {
		t.Helper()
		if n, err := h.Network(t.Context()); err != nil || n.Link("br-int") == nil {
			t.Errorf("network: %v", err)
		}
		if text, err := h.Control(t.Context(), "ovs-vswitchd", "version"); err != nil || !strings.Contains(text, "Open vSwitch") {
			t.Errorf("%q, %v", text, err)
		}
		if p, err := h.Pod(t.Context(), pod.Link); err != nil || p.Link.MAC != pod.MAC {
			t.Errorf("pod: %v", err)
		}
		if n := timesAnswered(t) - before; n != want {
			t.Errorf("ovnctl ran %d times, want %d", n, want)
		}
	}
	ask(1)
	for want := 2; want < 4; want++ {
		if b, err := h.ReadFile(t.Context(), "/proc/sys/kernel/ostype"); err != nil || string(b) != "Linux\n" {
			t.Errorf("%q, %v", b, err)
		}
		ask(want)
	}
}

// If the ovnctl that waits dies, the shell reads what was for it, and runs none of it; the question is asked again.
func TestAnswerDiesWaiting(t *testing.T) {
	dir, err := installed()
	if err != nil {
		t.Fatal(err)
	}
	place := shortDir(t)
	h := installedAs(t, "node1", "echo $$ >>"+place+"/pids; exec "+dir+`/program "$@"`, 5*time.Second)
	for range 2 {
		if text, err := h.Control(t.Context(), "ovs-vswitchd", "version"); err != nil || !strings.Contains(text, "Open vSwitch") {
			t.Errorf("%q, %v", text, err)
		}
		pids, err := os.ReadFile(filepath.Join(place, "pids"))
		if err != nil {
			t.Fatal(err)
		}
		words := strings.Fields(string(pids))
		pid, err := strconv.Atoi(words[len(words)-1])
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil { // it is ours, and waits
			t.Fatal(err)
		}
		bad := filepath.Join(place, "bad")
		_, err = h.Control(t.Context(), "ovs-vswitchd", "no/such-command", "$(touch "+bad+")", "`touch "+bad+"`", "\n touch "+bad+"\n")
		wantError(t, err, "no/such-command", "not a valid command")
		if _, err := os.Stat(bad); err == nil {
			t.Fatal("the shell ran what was for ovnctl")
		}
	}
}

// Requests that no ovnctl sends are refused, and what they ask for is checked as any question is.
func TestAnswerNonsense(t *testing.T) {
	answer := func(requests, in string) (string, error) {
		var out bytes.Buffer
		err := node.Answer(t.Context(), configOf("node1"), requests, "B", strings.NewReader(in), &out)
		return out.String(), err
	}
	for _, requests := range []string{"", "x", "{}", `[{"control":"version"}]`, `[{"database":1}]`, `[{"state":true}`} {
		if text, err := answer(requests, ""); err == nil {
			t.Errorf("%s: %s", requests, text)
		}
	}
	const waits = "B waits\n"
	for requests, want := range map[string]string{
		`[{"control":["../x","version"]}]`:       "is not the name of a daemon",
		`[{"dump":["../br-int","tlv-map"]}]`:     "is not a bridge name",
		`[{"dump":["br-int","queues"]}]`:         "cannot dump",
		`[{"pod":"no/such"}]`:                    "not found",
		`[{"control":["ovs-vswitchd"]}]`:         "",
		"[]":                                     "",
		`[{"control":["ovn-northd","version"]}]`: "no control socket",
	} {
		text, err := answer(requests, "")
		if err != nil || !strings.Contains(text, want) || !strings.HasSuffix(text, waits) || want == "" && text != waits {
			t.Errorf("%s: %v: %s", requests, err, text)
		}
	}
	for in, want := range map[string]string{
		"":                     "",
		"00000000\nrm -rf /\n": "",
		"0000":                 "unexpected EOF",
		"12345678\n":           "12345678 bytes",
		"-0000001\n":           "no length",
		"00000004\nAAA":        "unexpected EOF",
		"00000004\n????":       "illegal base64",
		"00000004\nAAAA":       "invalid character",
	} {
		text, err := answer("[]", in)
		if text != waits || want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v: %s", in, err, text)
		}
	}
}
