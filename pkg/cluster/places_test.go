package cluster

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// Below another root, paths and links are those of that root.
func TestFindBelowHostRoot(t *testing.T) {
	root := shortDir(t)
	for _, dir := range []string{"run/ovn", "run/openvswitch", "var"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/run", filepath.Join(root, "var/run")); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"run/ovn/ovnnb_db.sock", "run/openvswitch/db.sock"} {
		if err := os.WriteFile(filepath.Join(root, file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := &finder{Config: Config{HostRoot: root}}
	place, ok := f.vswitch()
	if !ok || place.remote != "unix:"+root+"/run/openvswitch/db.sock" || place.dir != root+"/run/openvswitch" {
		t.Errorf("vswitch at %+v, %v", place, ok)
	}
	none := func() *system { return &system{} }
	if got := f.remote(northbound, none); got != "unix:"+root+"/run/ovn/ovnnb_db.sock" {
		t.Errorf("remote %q", got)
	}
	said := func() *system {
		return &system{Rows: []vswitch.OpenvSwitchIDs{{ExternalIDs: map[string]string{"ovn-remote": "unix:/var/run/ovn/x.sock,tcp:192.0.2.1:6642", "system-id": "a"}}}}
	}
	if got, want := f.remote(southbound, said), "unix:"+root+"/run/ovn/x.sock,tcp:192.0.2.1:6642"; got != want {
		t.Errorf("remote %q, want %q", got, want)
	}
}

func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "oc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
