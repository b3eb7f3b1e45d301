//go:build lab

package node_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/pkg/node"
)

// throughPreset reads node2 by a preset, as programs in the test's PATH carry it out, and compares it with what the lab's
// own way reads.
func throughPreset(t *testing.T, name, hostname string) {
	t.Helper()
	preset, ok := node.FindPreset(name)
	if !ok {
		t.Fatalf("no preset %q", name)
	}
	h, err := preset.Host("node2", hostname, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer node.Close(h)
	if want := "via " + name + ": " + hostname; h.Origin() != want {
		t.Errorf("it is from %q, not %q", h.Origin(), want)
	}
	want := remote(t, "node2")
	defer node.Close(want)
	flows := func(h node.Host) string {
		text, err := h.Dump(context.Background(), "br-int", node.Ports)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if got, want := flows(h), flows(want); got != want {
		t.Errorf("ports of br-int:\n%s\nwant\n%s", got, want)
	}
	daemons, err := h.Daemons(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	controllers := 0
	for _, d := range daemons {
		if d.Name == "ovn-controller" && d.State == node.Answers {
			controllers++
		}
	}
	if controllers != 1 {
		t.Errorf("%d running ovn-controllers among %+v", controllers, daemons)
	}
	db, err := h.Vswitch(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	_ = db.Close()
}

// The names of the lab's namespaces are not its nodes', and its nodes do not share one file system.
func TestPresetNetns(t *testing.T) {
	t.Setenv("OVS_RUNDIR", filepath.Join(hosts.Dir, "node2/run/openvswitch"))
	t.Setenv("OVN_RUNDIR", filepath.Join(hosts.Dir, "node2/run/ovn"))
	throughPreset(t, "ip-netns", hosts.Prefix+"-node2")
}

// The real ssh and sshd: what follows the host's name goes through the login's shell there.
func TestPresetSSH(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, key := range []string{"host", "user"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(dir, key)).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v: %s", err, out)
		}
	}
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
		t.Fatal(err)
	}
	server := write("sshd_config", fmt.Sprintf(`HostKey %[1]s/host
AuthorizedKeysFile %[1]s/user.pub
StrictModes no
UsePAM no
SetEnv OVS_RUNDIR=%[2]s/node2/run/openvswitch OVN_RUNDIR=%[2]s/node2/run/ovn
`, dir, hosts.Dir), 0o600)
	client := write("ssh_config", fmt.Sprintf(`Host node2
User root
IdentityFile %s/user
StrictHostKeyChecking no
UserKnownHostsFile /dev/null
LogLevel ERROR
ProxyCommand ip netns exec %s-node2 /usr/sbin/sshd -i -f %s
`, dir, hosts.Prefix, server), 0o600)
	ssh, err := exec.LookPath("ssh")
	if err != nil {
		t.Fatal(err)
	}
	write("ssh", fmt.Sprintf("#!/bin/sh\nexec %s -F %s \"$@\"\n", ssh, client), 0o755)
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	throughPreset(t, "ssh", "node2")
}

// The programs are where MicroOVN's snap has them, and nowhere else.
func TestSnapPrograms(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "enter")
	// In a mount namespace of its own: what is hidden and mounted is so for the command alone.
	text := fmt.Sprintf(`#!/bin/sh
[ "$1" = in ] || exec unshare -m "$0" in "$@"
shift
set -e
mount -t tmpfs tmpfs %[1]s/bin
mkdir -p %[1]s/bin/bin
for p in ovs-appctl ovs-ofctl ovsdb-client ovn-appctl; do
	cp /usr/bin/$p %[1]s/bin/bin/microovn.$p
	mount --bind /dev/null /usr/bin/$p
done
mkdir -p /snap
mount --bind %[1]s/bin /snap
export PATH=/bin
exec %[2]s/enter "$@"
`, dir, hosts.Dir)
	if _, err := os.Stat("/snap"); err != nil {
		t.Cleanup(func() { _ = os.Remove("/snap") })
	}
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	h, err := node.Remote(node.RemoteConfig{Hostname: "node2", Prefix: script + " {hostname}"})
	if err != nil {
		t.Fatal(err)
	}
	defer node.Close(h)
	if out, err := h.Control(context.Background(), "ovn-controller", "version"); err != nil || !strings.Contains(out, "ovn-controller") {
		t.Errorf("%q, %v", out, err)
	}
	if out, err := h.Dump(context.Background(), "br-int", node.Flows); err != nil || !strings.Contains(out, "cookie=") {
		t.Errorf("%.100q, %v", out, err)
	}
	db, err := h.Vswitch(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	_ = db.Close()
}
