//go:build lab

package node_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ovnctl/ovnctl/pkg/archive"
	"github.com/ovnctl/ovnctl/pkg/node"
)

// rooted is a host of the lab as one sees it with its directory as the host's root.
func rooted(t *testing.T, name string) node.Host {
	t.Helper()
	return node.Local(node.LocalConfig{Name: name, HostRoot: filepath.Join(hosts.Dir, name)})
}

// below turns the paths of a host's root into those of the machine.
func below(name, path string) string { return filepath.Join(hosts.Dir, name, path) }

func TestDirsBothWays(t *testing.T) {
	here, err := rooted(t, "node1").Dirs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := node.Dirs{
		OVSRun: "/run/openvswitch", OVSLog: "/var/log/openvswitch", OVSDB: "/etc/openvswitch",
		OVNRun: "/run/ovn", OVNLog: "/var/log/ovn", OVNDB: "/var/lib/ovn", Etc: "/etc",
	}
	if diff := cmp.Diff(want, here); diff != "" {
		t.Errorf("below a host root (-want +got):\n%s", diff)
	}
	behind, err := remote(t, "node1").Dirs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want = node.Dirs{
		OVSRun: below("node1", "run/openvswitch"), OVSLog: below("node1", "var/log/openvswitch"), OVSDB: below("node1", "etc/openvswitch"),
		OVNRun: below("node1", "run/ovn"), OVNLog: below("node1", "var/log/ovn"), OVNDB: below("node1", "var/lib/ovn"), Etc: below("node1", "etc"),
	}
	if diff := cmp.Diff(want, behind); diff != "" {
		t.Errorf("behind a command (-want +got):\n%s", diff)
	}
	// The environment may name directories that are below the host's root already.
	h := node.Local(node.LocalConfig{HostRoot: below("node1", ""), Getenv: func(name string) string {
		return map[string]string{"OVS_LOGDIR": below("node1", "var/log/ovn"), "OVN_DBDIR": "/srv/ovn"}[name]
	}})
	if d, err := h.Dirs(t.Context()); err != nil || d.OVSLog != "/var/log/ovn" || d.OVNDB != "/srv/ovn" {
		t.Errorf("by the environment: %+v, %v", d, err)
	}
}

func daemons(t *testing.T, h node.Host) []node.Daemon {
	t.Helper()
	list, err := h.Daemons(t.Context())
	if err != nil {
		t.Fatalf("%s: %v", h.Origin(), err)
	}
	return list
}

func TestDaemonsBothWays(t *testing.T) {
	here, behind := local(t, "node1"), remote(t, "node1")
	run := below("node1", "run/ovn")
	leave := func(name, text string) {
		write(t, filepath.Join(run, name), text)
		t.Cleanup(func() { _ = os.Remove(filepath.Join(run, name)) })
	}
	leave("ovn-northd.pid", "4711\n")           // of one that is gone without a trace
	leave("ovn-controller.77.ctl", "no socket") // a file of another kind
	dead := filepath.Join(run, "ovn-northd-old.4712.ctl")
	if fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0); err != nil {
		t.Fatal(err)
	} else {
		if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: dead}); err != nil {
			t.Fatal(err)
		}
		_ = syscall.Close(fd)
		t.Cleanup(func() { _ = os.Remove(dead) })
	}
	want := daemons(t, here)
	if diff := cmp.Diff(want, daemons(t, behind)); diff != "" {
		t.Errorf("here and behind a command differ (-here +behind):\n%s", diff)
	}
	states := map[string]node.DaemonState{}
	for _, d := range want {
		states[d.Name] = d.State
		if d.State == node.Answers && !strings.Contains(d.Version, ".") {
			t.Errorf("%s: version %q", d.Name, d.Version)
		}
	}
	if diff := cmp.Diff(map[string]node.DaemonState{
		"ovs-vswitchd": node.Answers, "ovsdb-server": node.Answers, "ovn-controller": node.Answers,
		"ovn-northd": node.NoSocket, "ovn-northd-old": node.Refused,
	}, states); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// One that hangs costs one timeout and hides no other.
func TestDaemonsHung(t *testing.T) {
	stopped(t, pidOf(t, "node3", "ovn", "ovn-controller"))
	here := node.Local(node.LocalConfig{OVSRunDir: below("node3", "run/openvswitch"), OVNRunDir: below("node3", "run/ovn"), Timeout: time.Second})
	behind, err := node.Remote(node.RemoteConfig{Hostname: "node3", Prefix: hosts.Dir + "/enter {hostname}", Timeout: 4 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	look := func() {
		t.Helper()
		for h, limit := range map[node.Host]time.Duration{here: 1500 * time.Millisecond, behind: 4 * time.Second} {
			soon(t, limit, func() {
				for _, d := range daemons(t, h) {
					want := node.Answers
					if d.Name == "ovn-controller" {
						want = node.Hung
					}
					if d.State != want {
						t.Errorf("%s: %s %s, want %s", h.Origin(), d.Name, d.State, want)
					}
				}
			})
		}
	}
	look()
	// Asked often enough, it does not even take the connection.
	socket := below("node3", "run/ovn/ovn-controller."+pidOf(t, "node3", "ovn", "ovn-controller")+".ctl")
	var full error
	for range 1000 {
		var c net.Conn
		if c, full = net.Dial("unix", socket); full != nil {
			break
		}
		defer c.Close()
	}
	if !errors.Is(full, syscall.EAGAIN) {
		t.Fatalf("the queue of %s is not full: %v", socket, full)
	}
	look()
	for _, h := range []node.Host{here, behind} {
		list, err := h.Processes(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range list {
			if stopped := p.State == "T"; stopped != (p.Name == "ovn-controller") {
				t.Errorf("%s: %s is in state %s", h.Origin(), p.Name, p.State)
			}
		}
	}
}

// That a command of ours keeps a daemon busy for longer than it is waited for is no silence.
func TestDaemonsBusy(t *testing.T) {
	resume := stopped(t, pidOf(t, "node3", "ovn", "ovn-controller"))
	h := node.Local(node.LocalConfig{OVSRunDir: below("node3", "run/openvswitch"), OVNRunDir: below("node3", "run/ovn"), Timeout: 4 * time.Second})
	said := make(chan error)
	go func() {
		_, err := h.Control(t.Context(), "ovn-controller", "ct-zone-list")
		said <- err
	}()
	time.AfterFunc(3*time.Second, resume) // it is waited for 2 s
	time.Sleep(100 * time.Millisecond)    // the command is under way
	for _, d := range daemons(t, h) {
		if d.State != node.Answers {
			t.Errorf("%s %s", d.Name, d.State)
		}
	}
	if err := <-said; err != nil {
		t.Error(err)
	}
}

func TestProcessesBothWays(t *testing.T) {
	here, err := local(t, "node2").Processes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	behind, err := remote(t, "node2").Processes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	volatile := cmp.Options{cmpopts.EquateApproxTime(2 * time.Second), cmpopts.IgnoreFields(node.Process{}, "State")}
	if diff := cmp.Diff(here, behind, volatile); diff != "" {
		t.Errorf("here and behind a command differ (-here +behind):\n%s", diff)
	}
	var names []string
	for _, p := range here {
		names = append(names, p.Name)
		if p.Deleted || p.Container || p.Started.IsZero() || time.Since(p.Started) > 24*time.Hour || !strings.HasSuffix(p.Exe, p.Name) || !strings.Contains(p.RunDir, "node2") {
			t.Errorf("%+v", p)
		}
	}
	slices.Sort(names)
	// Those of the other hosts, which have the same kernel, are not among them.
	if diff := cmp.Diff([]string{"ovn-controller", "ovs-vswitchd", "ovsdb-server"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Where the first process can be looked at, as root can on most hosts, a daemon beside it is not in a container.
func TestProcessesBesideTheFirst(t *testing.T) {
	dir := t.TempDir()
	enter := filepath.Join(dir, "enter")
	write(t, enter, `#!/bin/sh
export TMPDIR=`+dir+`
exec unshare --pid --fork --kill-child --mount-proc sh -ec '
dir=$(mktemp -d)
trap "rm -r $dir" EXIT
ovsdb-tool create $dir/db /usr/share/openvswitch/vswitch.ovsschema
ovsdb-server --detach --no-chdir --pidfile=$dir/pid --unixctl=$dir/ctl --remote=punix:$dir/sock $dir/db
shift
"$@"' sh "$@"
`)
	if err := os.Chmod(enter, 0o755); err != nil {
		t.Fatal(err)
	}
	h, err := node.Remote(node.RemoteConfig{Hostname: "x", Prefix: enter + " {hostname}"})
	if err != nil {
		t.Fatal(err)
	}
	list, err := h.Processes(t.Context())
	if err != nil || len(list) != 1 || list[0].Name != "ovsdb-server" || list[0].Container {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestLogBothWays(t *testing.T) {
	here, behind := rooted(t, "node1"), remote(t, "node1")
	for _, daemon := range []string{"ovs-vswitchd", "ovsdb-server", "ovn-controller"} {
		want, err := here.Log(t.Context(), daemon)
		if err != nil {
			t.Fatal(err)
		}
		got, err := behind.Log(t.Context(), daemon)
		if err != nil {
			t.Fatal(err)
		}
		want = want[:min(len(want), 2000)]
		if got = got[:min(len(got), 2000)]; want != got || !strings.Contains(want, "|INFO|") {
			t.Errorf("%s: here %q, behind a command %q", daemon, want, got)
		}
	}
	// The newest of several is it, and of a long one the end.
	log := below("node1", "var/log/openvswitch/long.log")
	write(t, below("node1", "var/log/ovn/long.log"), "old\n")
	write(t, log, strings.Repeat(strings.Repeat("x", 99)+"\n", 20000)+"the end\n")
	future := time.Now().Add(time.Minute)
	if err := os.Chtimes(log, future, future); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(log); _ = os.Remove(below("node1", "var/log/ovn/long.log")) })
	for _, h := range []node.Host{here, behind} {
		text, err := h.Log(t.Context(), "long")
		if err != nil || len(text) > 1<<20 || len(text) < 1<<20-100 || !strings.HasSuffix(text, "\nthe end\n") || text[99] != '\n' {
			t.Errorf("%s: %d bytes, %v", h.Origin(), len(text), err)
		}
		if text, err := h.Log(t.Context(), "nope"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: no log: %q, %v", h.Origin(), text, err)
		}
		for _, name := range []string{"../x", "", "-x", "a b"} {
			if _, err := h.Log(t.Context(), name); err == nil || errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: log %q: %v", h.Origin(), name, err)
			}
		}
	}
}

func TestGlobBothWays(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a1/x.conf", "a2/y.conf", "a2/z z.conf", "a2/.hidden.conf", "b$(touch no)/w.conf", "a3/[q].conf", "a2/-n"} {
		write(t, filepath.Join(dir, name), "")
	}
	if err := os.Symlink("nowhere", filepath.Join(dir, "a1/dangling.conf")); err != nil {
		t.Fatal(err)
	}
	here := node.Local(node.LocalConfig{})
	for pattern, want := range map[string][]string{
		"/a*/*.conf":      {"/a1/dangling.conf", "/a1/x.conf", "/a2/y.conf", "/a2/z z.conf", "/a3/[q].conf"},
		"/a[^1]/?.conf":   {"/a2/y.conf"},
		"/a[1-2]/[x-y]*":  {"/a1/x.conf", "/a2/y.conf"},
		"/a2/.h*":         {"/a2/.hidden.conf"},
		"/*/w.conf":       {"/b$(touch no)/w.conf"},
		"/b$(touch no)/*": {"/b$(touch no)/w.conf"},
		"/a2/y.conf":      {"/a2/y.conf"},
		"/a2/z z.conf":    {"/a2/z z.conf"},
		"/a3/\\[*":        {"/a3/[q].conf"},
		"/nope/*":         nil,
		"/a2/nope":        nil,
		"/a2/y.conf/*":    nil,
		"/a2/-*":          {"/a2/-n"},
	} {
		for i := range want {
			want[i] = dir + want[i]
		}
		for _, h := range []node.Host{here, remote(t, "node1")} {
			got, err := h.Glob(t.Context(), dir+pattern)
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); err != nil || diff != "" {
				t.Errorf("%s: %s: %v (-want +got):\n%s", h.Origin(), pattern, err, diff)
			}
		}
	}
	for _, h := range []node.Host{here, remote(t, "node1")} {
		for _, pattern := range []string{"", "relative/*", "/x[", "/a\n*"} {
			if got, err := h.Glob(t.Context(), pattern); err == nil {
				t.Errorf("%s: %q: %q, want an error", h.Origin(), pattern, got)
			}
		}
	}
	// Links are followed inside the host's root.
	got, err := rooted(t, "node1").Glob(t.Context(), "/var/run/open*/*.sock")
	if diff := cmp.Diff([]string{"/var/run/openvswitch/db.sock"}, got); err != nil || diff != "" {
		t.Errorf("below a host root: %v\n%s", err, diff)
	}
}

func TestSpaceAndUnitBothWays(t *testing.T) {
	here, behind := local(t, "node1"), remote(t, "node1")
	for _, path := range []string{"/", "/tmp", hosts.Dir} {
		want, err := here.Space(t.Context(), path)
		got, full := behind.Space(t.Context(), path)
		if err != nil || full != nil || want.Size>>10 != got.Size>>10 || want.Size == 0 || max(want.Free, got.Free)-min(want.Free, got.Free) > want.Size/10 {
			t.Errorf("%s: %+v, %v; behind a command %+v, %v", path, want, err, got, full)
		}
	}
	for _, h := range []node.Host{here, behind} {
		if s, err := h.Space(t.Context(), "/nope"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: space of nothing: %+v, %v", h.Origin(), s, err)
		}
		if _, err := os.Stat("/run/systemd/system"); err == nil {
			u, err := h.Unit(t.Context(), "no-such-thing.service")
			if err != nil || u.Load != "not-found" || u.Active != "inactive" {
				t.Errorf("%s: %+v, %v", h.Origin(), u, err)
			}
		} else if u, err := h.Unit(t.Context(), "ovs-vswitchd.service"); !errors.Is(err, node.ErrUnavailable) {
			t.Errorf("%s: without systemd: %+v, %v", h.Origin(), u, err)
		}
		if _, err := h.Unit(t.Context(), "--version"); err == nil || errors.Is(err, node.ErrUnavailable) {
			t.Errorf("%s: a service of no name: %v", h.Origin(), err)
		}
	}
}

func TestFeaturesBothWays(t *testing.T) {
	enter(t, "node1", "ip", "link", "add", "fa", "type", "veth", "peer", "name", "fb")
	t.Cleanup(func() { enter(t, "node1", "ip", "link", "del", "fa") })
	enter(t, "node1", "ethtool", "-K", "fa", "tx", "off")
	here, behind := local(t, "node1"), remote(t, "node1")
	for link, checksums := range map[string]bool{"fa": false, "fb": true} {
		want, err := here.Features(t.Context(), link)
		got, full := behind.Features(t.Context(), link)
		if diff := cmp.Diff(want, got); err != nil || full != nil || diff != "" {
			t.Errorf("%s: %v, %v (-here +behind):\n%s", link, err, full, diff)
		}
		if on, known := want["tx-checksumming"]; !known || on != checksums || want["tx-checksum-ip-generic"] != checksums || len(want) < 20 {
			t.Errorf("%s: %v", link, want)
		}
	}
	for _, h := range []node.Host{here, behind} {
		if f, err := h.Features(t.Context(), "nope"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: of no link: %v, %v", h.Origin(), f, err)
		}
	}
}

// What the kernel shows as files is that of the host's network, also below a
// host's root that has no proc of its own.
func TestKernelFilesBothWays(t *testing.T) {
	enter(t, "node1", "sysctl", "-qw", "net.ipv4.ip_local_port_range=20000 30000")
	for _, h := range []node.Host{local(t, "node1"), rooted(t, "node1"), remote(t, "node1")} {
		for path, want := range map[string]string{
			"/proc/sys/net/ipv4/ip_local_port_range": "20000\t30000\n",
			"/proc/net/dev":                          "br-int:",
			"/proc/sys/kernel/ostype":                "Linux\n",
		} {
			if b, err := h.ReadFile(t.Context(), path); err != nil || !strings.Contains(string(b), want) {
				t.Errorf("%s: %s: %q, %v, want %q", h.Origin(), path, b, err, want)
			}
		}
		if b, err := h.ReadFile(t.Context(), "/proc/net/nope"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %q, %v", h.Origin(), b, err)
		}
	}
}

// What was recorded answers the same, absence and all.
func TestRecordingSystem(t *testing.T) {
	type said struct {
		Dirs      node.Dirs
		Daemons   []node.Daemon
		Log       string
		Paths     []string
		Processes []node.Process
		Space     node.Space
		Features  map[string]bool
		Gone      []bool
	}
	round := func(h node.Host) (a said) {
		t.Helper()
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatalf("%s: %v", h.Origin(), err)
			}
		}
		var err error
		a.Dirs, err = h.Dirs(t.Context())
		must(err)
		a.Daemons, err = h.Daemons(t.Context())
		must(err)
		a.Log, err = h.Log(t.Context(), "ovs-vswitchd")
		must(err)
		a.Paths, err = h.Glob(t.Context(), a.Dirs.OVSDB+"/*")
		must(err)
		a.Processes, err = h.Processes(t.Context())
		must(err)
		a.Space, err = h.Space(t.Context(), a.Dirs.OVSDB)
		must(err)
		a.Features, err = h.Features(t.Context(), "br-int")
		must(err)
		_, err = h.ReadFile(t.Context(), "/etc/no-such-file")
		a.Gone = append(a.Gone, errors.Is(err, fs.ErrNotExist))
		_, err = h.Log(t.Context(), "no-such-daemon")
		a.Gone = append(a.Gone, errors.Is(err, fs.ErrNotExist))
		return a
	}
	for _, h := range []node.Host{rooted(t, "node2"), remote(t, "node2")} {
		dir := filepath.Join(t.TempDir(), "node2")
		r := node.Recorder(h, archive.Directory(dir))
		want := round(r)
		if err := node.RecordingError(r); err != nil {
			t.Fatal(err)
		}
		if !want.Gone[0] || !want.Gone[1] || len(want.Paths) == 0 || len(want.Processes) == 0 {
			t.Fatalf("%+v", want)
		}
		if diff := cmp.Diff(want, round(offline(t, dir)), cmpopts.EquateApproxTime(time.Microsecond)); diff != "" {
			t.Errorf("%s (-live +recorded):\n%s", h.Origin(), diff)
		}
		checkModes(t, dir)
	}
}

// A host of which only a few files were saved answers by those.
func TestOfflineFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "node9")
	write(t, filepath.Join(dir, "files/var/log/openvswitch/ovs-vswitchd.log"), "a line\n")
	write(t, filepath.Join(dir, "files/etc/NetworkManager/system-connections/a.nmconnection"), "")
	h := offline(t, dir)
	if text, err := h.Log(t.Context(), "ovs-vswitchd"); err != nil || text != "a line\n" {
		t.Errorf("%q, %v", text, err)
	}
	if paths, err := h.Glob(t.Context(), "/etc/NetworkManager/*/*.nmconnection"); err != nil || len(paths) != 1 {
		t.Errorf("%q, %v", paths, err)
	}
	if paths, err := h.Glob(t.Context(), "/etc/netplan/*.yaml"); !errors.Is(err, node.ErrUnavailable) {
		t.Errorf("%q, %v", paths, err)
	}
	for what, err := range map[string]error{
		"daemons":   second(h.Daemons(t.Context())),
		"processes": second(h.Processes(t.Context())),
		"space":     second(h.Space(t.Context(), "/")),
		"unit":      second(h.Unit(t.Context(), "ovs-vswitchd.service")),
		"features":  second(h.Features(t.Context(), "eth0")),
		"log":       second(h.Log(t.Context(), "ovn-controller")),
	} {
		if !errors.Is(err, node.ErrUnavailable) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestFirewallBothWays(t *testing.T) {
	eachWay(t, func(t *testing.T, remote entrance) {
		for _, line := range []string{
			"nft add table inet ovnctl-fw",
			"nft add chain inet ovnctl-fw in { type filter hook input priority -1 ; policy accept ; }",
			"nft add chain inet ovnctl-fw more",
			`nft add rule inet ovnctl-fw in iifname "{lo" counter jump more comment "a } b"`,
			"nft add rule inet ovnctl-fw more udp dport { 4789, 6081 } ip saddr { 192.0.2.1, 192.0.2.2, 192.0.2.3, 192.0.2.4, 192.0.2.5, 192.0.2.6, 192.0.2.7 } counter drop",
			"nft add table netdev ovnctl-fw",
			"nft add chain netdev ovnctl-fw ing { type filter hook ingress device eth0 priority filter ; policy drop ; }",
			"nft delete chain netdev ovnctl-fw ing",
		} {
			enter(t, "node3", strings.Fields(line)...)
		}
		t.Cleanup(func() {
			enter(t, "node3", "nft", "delete", "table", "inet", "ovnctl-fw")
			enter(t, "node3", "nft", "delete", "table", "netdev", "ovnctl-fw")
		})
		want := []node.Chain{
			{Family: "inet", Table: "ovnctl-fw", Name: "in", Type: "filter", Hook: "input", Priority: "filter - 1", Policy: "accept", Rules: []node.FilterRule{
				{Text: `iifname "{lo" jump more comment "a } b"`, Counted: true},
			}},
			{Family: "inet", Table: "ovnctl-fw", Name: "more", Rules: []node.FilterRule{
				{Text: "udp dport { 4789, 6081 } ip saddr { 192.0.2.1, 192.0.2.2, 192.0.2.3, 192.0.2.4, 192.0.2.5, 192.0.2.6, 192.0.2.7 } drop", Counted: true},
			}},
		}
		for _, h := range []node.Host{local(t, "node3"), remote(t, "node3")} {
			chains, err := h.Firewall(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			chains = slices.DeleteFunc(chains, func(c node.Chain) bool { return c.Table != "ovnctl-fw" })
			if diff := cmp.Diff(want, chains); diff != "" {
				t.Errorf("%s (-want +got):\n%s", h.Origin(), diff)
			}
			dir := filepath.Join(t.TempDir(), "node3")
			all, err := node.Recorder(h, archive.Directory(dir)).Firewall(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if saved, err := offline(t, dir).Firewall(t.Context()); err != nil || !cmp.Equal(all, saved) {
				t.Errorf("%s: recorded: %v\n%s", h.Origin(), err, cmp.Diff(all, saved))
			}
		}
	})
}
