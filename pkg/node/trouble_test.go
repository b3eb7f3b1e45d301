//go:build lab

package node_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/pkg/node"
)

// shortDir is a directory with a path short enough for sockets.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "on")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func wantError(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one with %q", words)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q lacks %q", err, w)
		}
	}
}

func TestStoppedDaemon(t *testing.T) {
	stopped(t, pidOf(t, "node3", "openvswitch", "ovs-vswitchd"))
	dir := filepath.Join(hosts.Dir, "node3/run")
	here := node.Local(node.LocalConfig{OVSRunDir: dir + "/openvswitch", OVNRunDir: dir + "/ovn", Timeout: time.Second})
	behind, err := node.Remote(node.RemoteConfig{Hostname: "node3", Prefix: hosts.Dir + "/enter {hostname}", Timeout: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	soon(t, 1500*time.Millisecond, func() {
		_, err := here.Control(t.Context(), "ovs-vswitchd", "version")
		wantError(t, err, "ovs-vswitchd", "no reply to version in time", "stopped or busy")
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v is no DeadlineExceeded", err)
		}
	})
	soon(t, 1500*time.Millisecond, func() {
		_, err := here.Dump(t.Context(), "br-int", node.TLVMap)
		wantError(t, err, "br-int", "stopped or busy")
	})
	soon(t, 4*time.Second, func() {
		_, err := behind.Control(t.Context(), "ovs-vswitchd", "version")
		wantError(t, err, "ovs-vswitchd", "no reply in time")
	})
	// The rest of the node answers.
	if n, err := here.Network(t.Context()); err != nil || n.Link("br-int") == nil {
		t.Errorf("network beside a stopped ovs-vswitchd: %v", err)
	}
	if _, err := here.Control(t.Context(), "ovn-controller", "version"); err != nil {
		t.Errorf("ovn-controller beside a stopped ovs-vswitchd: %v", err)
	}
}

// A database server that does not answer takes its own part away, no other.
func TestStoppedDatabaseBehindCommand(t *testing.T) {
	stopped(t, pidOf(t, "node3", "openvswitch", "ovsdb-server"))
	behind, err := node.Remote(node.RemoteConfig{Hostname: "node3", Prefix: hosts.Dir + "/enter {hostname}", Timeout: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	soon(t, 3*time.Second, func() {
		_, err := behind.Vswitch(t.Context())
		wantError(t, err, "node3", "ovsdb-client", "no reply in time")
		if n, err := behind.Network(t.Context()); err != nil || n.Link("br-int") == nil {
			t.Errorf("network beside a stopped ovsdb-server: %v", err)
		}
	})
}

func TestControlSockets(t *testing.T) {
	dir := shortDir(t)
	h := node.Local(node.LocalConfig{OVSRunDir: dir, OVNRunDir: filepath.Join(dir, "nope"), Timeout: time.Second})
	ask := func() error {
		_, err := h.Control(t.Context(), "ovs-vswitchd", "version")
		return err
	}
	wantError(t, ask(), "no control socket in "+dir, "is not running here")
	_, err := h.Control(t.Context(), "ovn-controller", "version")
	wantError(t, err, "ovn-controller", "nope", "no such file")

	write(t, filepath.Join(dir, "ovs-vswitchd.pid"), "4711\n")
	wantError(t, ask(), "4711", "gone or hides")

	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "ovs-vswitchd.4711.ctl"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	wantError(t, ask(), "nothing listens on "+dir)
	if err := ask(); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("%v is no ECONNREFUSED", err)
	}

	// A real daemon whose pidfile is that of another PID namespace.
	real := filepath.Join(hosts.Dir, "node1/run/openvswitch/ovs-vswitchd."+pidOf(t, "node1", "openvswitch", "ovs-vswitchd")+".ctl")
	if err := os.Symlink(real, filepath.Join(dir, "ovs-vswitchd.1.ctl")); err != nil {
		t.Fatal(err)
	}
	if err := ask(); err != nil {
		t.Errorf("with a socket beside a stale one: %v", err)
	}

	// The path to the socket may be longer than an address holds.
	long := filepath.Join(dir, strings.Repeat("x", 120))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, filepath.Join(long, "ovs-vswitchd.1.ctl")); err != nil {
		t.Fatal(err)
	}
	far := node.Local(node.LocalConfig{OVSRunDir: long})
	if _, err := far.Control(t.Context(), "ovs-vswitchd", "version"); err != nil {
		t.Errorf("by a long path: %v", err)
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
}

// Whatever listens on a control socket, the answer is bounded in time and size.
func TestControlNonsense(t *testing.T) {
	for name, answer := range map[string]func(net.Conn){
		"not JSON":      func(c net.Conn) { fmt.Fprint(c, "HTTP/1.1 400 Bad Request\r\n\r\n") },
		"cut short":     func(c net.Conn) { fmt.Fprint(c, `{"id":0,"result":"abc`) },
		"closes":        func(net.Conn) {},
		"silent":        func(net.Conn) { time.Sleep(3 * time.Second) },
		"endless reply": func(c net.Conn) { endless(c, `{"id":0,"result":"`) },
		"endless array": func(c net.Conn) { endless(c, strings.Repeat("[", 1000)) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := shortDir(t)
			l, err := net.Listen("unix", filepath.Join(dir, "ovs-vswitchd.1.ctl"))
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go func() {
				c, err := l.Accept()
				if err == nil {
					answer(c)
					c.Close()
				}
			}()
			h := node.Local(node.LocalConfig{OVSRunDir: dir, Timeout: 2 * time.Second})
			soon(t, 2500*time.Millisecond, func() {
				reply, err := h.Control(t.Context(), "ovs-vswitchd", "version")
				if err == nil {
					t.Errorf("reply %.50q, want an error", reply)
				}
			})
		})
	}
}

func endless(c net.Conn, head string) {
	fmt.Fprint(c, head)
	block := strings.Repeat("x", 1<<16)
	for {
		if _, err := fmt.Fprint(c, block); err != nil {
			return
		}
	}
}

// Commands to one daemon wait for each other; a caller that gives up is let go.
func TestOneCommandAtATime(t *testing.T) {
	h := local(t, "node1")
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if _, err := h.Control(context.Background(), "ovs-vswitchd", "ofproto/trace", "br-int", "in_port=LOCAL,ip"); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			if _, err := h.Dump(context.Background(), "br-int", node.TLVMap); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			if _, err := h.Network(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := h.Control(ctx, "ovs-vswitchd", "version"); !errors.Is(err, context.Canceled) {
		t.Errorf("after giving up: %v", err)
	}
}

func TestPrefixRefused(t *testing.T) {
	dir := t.TempDir()
	touched := filepath.Join(dir, "touched")
	for _, hostname := range []string{
		"", "node1; touch " + touched, "$(touch " + touched + ")", "`touch " + touched + "`", "node1\ntouch " + touched,
		"node1\x00", "-oProxyCommand=touch", "-", "node1 node2", "../node1", "node1|cat", "nöde", "a&b", "{hostname}", strings.Repeat("a", 300),
	} {
		h, err := node.Remote(node.RemoteConfig{Name: "x", Hostname: hostname, Prefix: "sh -c {hostname}"})
		if err == nil {
			_, _ = h.Network(t.Context())
			t.Errorf("hostname %q was taken", hostname)
		}
	}
	for _, prefix := range []string{"", "ssh node1", "ssh 'a {hostname}", `ssh {hostname} \`, "{hostname}", "   "} {
		if _, err := node.Remote(node.RemoteConfig{Hostname: "node1", Prefix: prefix}); err == nil {
			t.Errorf("prefix %q was taken", prefix)
		}
	}
	if _, err := os.Stat(touched); err == nil {
		t.Error("a hostname was run as a command")
	}
}

// behind runs one question behind a broken prefix.
func behind(t *testing.T, timeout time.Duration, prefix string) error {
	t.Helper()
	h, err := node.Remote(node.RemoteConfig{Hostname: "node1", Prefix: prefix, Timeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.Control(t.Context(), "ovs-vswitchd", "version")
	if err == nil {
		t.Errorf("prefix %q: no error", prefix)
	}
	_, err2 := h.Vswitch(t.Context())
	if err2 == nil {
		t.Errorf("prefix %q: no error of the gathered reads", prefix)
	}
	return errors.Join(err, err2)
}

func TestPrefixBroken(t *testing.T) {
	script := func(text string) string {
		name := filepath.Join(shortDir(t), "prefix")
		write(t, name, "#!/bin/sh\n"+text)
		return name + " {hostname}"
	}
	wantError(t, behind(t, time.Second, "/nonexistent/ssh {hostname}"), "/nonexistent/ssh", "no such file")
	wantError(t, behind(t, time.Second, "false {hostname}"), "exit status 1")
	wantError(t, behind(t, time.Second, "true {hostname}"), "ran no script")
	wantError(t, behind(t, time.Second, script("echo Permission denied, please try again. >&2; exit 255\n")), "Permission denied", "exit status 255")
	// Fewer tools than needed, and none at all.
	wantError(t, behind(t, 5*time.Second, script("shift; PATH=/nonexistent exec /bin/sh -c 'PATH=; readonly PATH; . /dev/stdin'\n")), "node1")

	soon(t, 4*time.Second, func() {
		wantError(t, behind(t, time.Second, script("sleep 997 & sleep 998\n")), "no reply in time")
	})
	soon(t, 9*time.Second, func() {
		wantError(t, behind(t, 20*time.Second, script("yes 997\n")), "more than 64 MiB")
	})
	// Endless words about a failure.
	soon(t, 5*time.Second, func() {
		if err := behind(t, time.Second, script("yes 997 >&2\n")); len(err.Error()) > 20000 {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
	})
	left := func() []string {
		return slices.DeleteFunc(processes(t), func(line string) bool {
			return !strings.Contains(line, "sleep 997") && !strings.Contains(line, "sleep 998") && !strings.HasSuffix(line, "yes 997")
		})
	}
	for end := time.Now().Add(5 * time.Second); len(left()) > 0 && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		// A process that was killed is there until the kernel comes to end it.
	}
	for _, line := range left() {
		t.Errorf("left running: %s", line)
	}
}

func processes(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("ps", "-eo", "args").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(out), "\n")
}

// A pod's namespace need not have a name: that of a process will do, and links
// of other namespaces that have the same indexes are not taken for the pod's.
func TestUnnamedPod(t *testing.T) {
	pid, other := unshared(t), unshared(t)
	// Numbers that no other lab of this machine has.
	enter(t, "node2", "ip", "link", "add", "upod", "index", "54321", "type", "veth", "peer", "name", "inside", "index", "54322", "netns", pid)
	t.Cleanup(func() { _ = hosts.Command(context.Background(), "node2", "ip", "link", "del", "upod").Run() })
	withLsns := func(script string) node.Host {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "lsns"), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		h, err := node.Remote(node.RemoteConfig{Hostname: "node2", Prefix: filepath.Join(hosts.Dir, "enter") + " {hostname} env PATH=" + dir + ":" + os.Getenv("PATH")})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { node.Close(h) })
		return h
	}
	lacking, withoutProcesses := withLsns("exit 127"), withLsns(`/usr/bin/lsns "$@" | while read -r id pid; do echo "$id"; done`)
	check := func(h node.Host) {
		t.Helper()
		p, err := h.Pod(t.Context(), "upod")
		if err != nil {
			t.Errorf("%s: %v", h.Origin(), err)
			return
		}
		if p.Link.Name != "inside" || !strings.Contains(p.Netns, "/proc/"+pid+"/") {
			t.Errorf("%s: link %s in %s, want inside in /proc/%s/ns/net", h.Origin(), p.Link.Name, p.Netns, pid)
		}
	}
	for _, h := range []node.Host{local(t, "node2"), remote(t, "node2"), answered(t, "node2"), lacking} {
		check(h)
	}
	_, err := withoutProcesses.Pod(t.Context(), "upod")
	wantError(t, err, "neither in /run/netns nor of a process")
	ours := strings.Split(strings.TrimSpace(enter(t, "node2", "cat", "/sys/class/net/upod/ifindex", "/sys/class/net/upod/iflink")), "\n")
	enter(t, "node3", "ip", "link", "add", "alien", "index", ours[0], "type", "veth", "peer", "name", "inside", "index", ours[1], "netns", other)
	t.Cleanup(func() { _ = hosts.Command(context.Background(), "node3", "ip", "link", "del", "alien").Run() })
	check(remote(t, "node2"))
	if p, err := lacking.Pod(t.Context(), "upod"); err == nil || !strings.Contains(err.Error(), "both have a link that fits") {
		t.Errorf("without lsns: %v, %v; want both named", p, err)
	}
}

// unshared starts a process in a network namespace of its own and says its number.
func unshared(t *testing.T) (pid string) {
	t.Helper()
	pause := hosts.Command(context.Background(), "node2", "unshare", "-n", "sh", "-c", "echo ready; exec sleep 60")
	says, err := pause.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := pause.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pause.Process.Kill(); _ = pause.Wait() })
	if word, err := bufio.NewReader(says).ReadString('\n'); word != "ready\n" {
		t.Fatalf("%q: %v", word, err)
	}
	return strconv.Itoa(pause.Process.Pid)
}
