//go:build lab

package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
)

// Without flags a node shows who it is with the files of its own daemons.
func TestFindTLS(t *testing.T) {
	if !alone(t) {
		return
	}
	s := ovsdbtest.Start(t, ovsdbtest.OpenvSwitch)
	vsctl := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("ovs-vsctl", append([]string{"--no-wait", "--db=unix:" + s.Socket}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	vsctl("init")
	vsctl("set-ssl", "/etc/x/key", "/etc/x/cert", "/etc/x/ca")
	f := &finder{Config: Config{OVS: "unix:" + s.Socket, Timeout: time.Second}}
	l := openLocal(t.Context(), f)
	if l.problem != nil {
		t.Fatal(l.problem)
	}
	t.Cleanup(func() { _ = l.vswitch.Close() })
	if got, want := f.tls(l), (ovsdb.TLSFiles{PrivateKey: "/etc/x/key", Certificate: "/etc/x/cert", CACert: "/etc/x/ca"}); got != want {
		t.Errorf("of the SSL table: %+v, want %+v", got, want)
	}

	// The files of a running ovn-controller; those are below its own root.
	controller := exec.Command("ovn-controller", "unix:"+s.Socket, "-p", "/etc/y/key", "--certificate=/etc/y/cert", "-C/etc/y/ca",
		"--log-file="+filepath.Join(s.Dir, "log"))
	controller.Env = append(os.Environ(), "OVN_RUNDIR="+s.Dir, "OVS_RUNDIR="+s.Dir)
	if err := controller.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = controller.Process.Kill(); _ = controller.Wait() })
	root := fmt.Sprintf("/proc/%d/root", controller.Process.Pid)
	want := ovsdb.TLSFiles{PrivateKey: root + "/etc/y/key", Certificate: root + "/etc/y/cert", CACert: root + "/etc/y/ca"}
	var got ovsdb.TLSFiles
	for end := time.Now().Add(5 * time.Second); got != want && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		got = f.tls(&localNode{})
	}
	if got != want {
		t.Errorf("of the command line: %+v, want %+v", got, want)
	}
}

// What runs in a container has its sockets below a root of its own. What runs in another network namespace, too, is another host.
func TestFindInContainer(t *testing.T) {
	if !alone(t) {
		return
	}
	server := ovsdbtest.Start(t, ovsdbtest.Southbound) // for its file alone
	root := startContainer(t, server.File, "-m")
	startContainer(t, server.File, "-m", "-n")
	f := &finder{Config: Config{Timeout: time.Second}}
	want := root + "/run/ovn/ovnsb_db.sock"
	if got := f.remote(southbound, func() *system { return &system{} }); got != "unix:"+want {
		t.Errorf("remote %q, want unix:%s", got, want)
	}
	client, err := ovsdb.Dial(t.Context(), ovsdb.Config{DB: "OVN_Southbound", Remotes: "unix:" + want})
	if err != nil {
		t.Fatal(err)
	}
	_ = client.Close()
	// Daemons that share our root are not containers.
	if roots := f.rootsOf("ovsdb-server"); !slices.Equal(roots, []string{root}) {
		t.Errorf("roots %q", roots)
	}
}

// startContainer runs a Southbound server below a root of its own, in new namespaces as unshare(1) names them, and returns that
// root as seen from here.
func startContainer(t *testing.T, file string, namespaces ...string) string {
	t.Helper()
	dir := shortDir(t)
	script := fmt.Sprintf(`set -e
mount --make-rprivate /
mkdir %[1]s/root
mount --rbind / %[1]s/root
mount -t tmpfs tmpfs %[1]s/root/run
mkdir -p %[1]s/root/run/ovn
cp %[2]s %[1]s/root/run/ovn/sb.db
exec chroot %[1]s/root ovsdb-server --remote=punix:/run/ovn/ovnsb_db.sock --unixctl=/run/ovn/ctl /run/ovn/sb.db
`, dir, file)
	container := exec.Command("unshare", append(namespaces, "sh", "-c", script)...)
	out, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = out.Close() })
	container.Stdout, container.Stderr = out, out
	if err := container.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = container.Process.Kill(); _ = container.Wait() })
	root := fmt.Sprintf("/proc/%d/root", container.Process.Pid)
	for end := time.Now().Add(5 * time.Second); !exists(root + "/run/ovn/ovnsb_db.sock"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			log, _ := os.ReadFile(out.Name())
			t.Fatalf("no socket: %s", log)
		}
	}
	return root
}
