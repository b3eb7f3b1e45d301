//go:build releases

// These tests install other releases of OVS and OVN, if they are not in the cache, and take minutes the first time.

package lab

import (
	"os"
	"strings"
	"sync"
	"testing"
)

// Every topology runs on every release that has what it needs, and packets go the same ways there.
func TestReleases(t *testing.T) {
	for _, name := range Releases() {
		t.Run(name, func(t *testing.T) {
			r, err := Install(t.Context(), name)
			if err != nil && name == "sid" {
				t.Logf("NOT TESTED, sid cannot be installed today: %v", err)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Log(r)
			for kind, topology := range Topologies() {
				if topology.OVN && r.OVN == "" {
					continue
				}
				t.Run(kind, func(t *testing.T) {
					l, err := Up(t.Context(), topology, Options{Release: name})
					if err != nil {
						t.Fatal(err)
					}
					defer func() {
						if err := l.Down(); err != nil {
							t.Error(err)
						}
						wantGone(t, l.State, 0)
					}()
					t.Logf("up after %v", l.Times)
					checkProbes(t, l.State, want[kind])
					if v, err := l.Run(t.Context(), "node1", "ovs-vsctl", "get", "Open_vSwitch", ".", "ovs_version"); err != nil || !strings.HasPrefix(r.OVS, strings.Trim(v, "\"\n")) {
						t.Errorf("node1 runs OVS %s (%v), want %s", v, err, r.OVS)
					}
				})
			}
		})
	}
}

// Two installers of one release do not meet in the same root, and the second uses what the first made.
func TestReleasesInstallTwice(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if r, err := Install(t.Context(), "bullseye"); err != nil || r.OVS == "" {
				t.Errorf("Install: %v, %v", r, err)
			}
		})
	}
	wg.Wait()
	r, err := Installed(t.Context(), "bullseye")
	if err != nil {
		t.Fatal(err)
	}
	// A root that others can write to, or that is not finished, is not used.
	if err := os.Chmod(r.Root, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := Installed(t.Context(), "bullseye"); err == nil {
		t.Error("a root that anybody can write to is taken")
	}
}
