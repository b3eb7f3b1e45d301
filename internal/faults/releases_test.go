//go:build releases

package faults

import (
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
)

// TestReleasesHealthy is TestHealthy on other releases of OVS and OVN.
func TestReleasesHealthy(t *testing.T) {
	for _, release := range []string{"trixie", "sid"} {
		for _, topology := range []lab.Topology{lab.OVNKubernetes(), lab.KubeOVN()} {
			t.Run(release+"/"+topology.Name, func(t *testing.T) {
				if _, err := lab.Install(t.Context(), release); err != nil {
					t.Fatal(err)
				}
				healthyLab(t, topology, lab.Options{Release: release})
			})
		}
	}
}

// TestReleasesFaults makes the faults that take a second release on one lab: TestFaults skips them where none is installed.
func TestReleasesFaults(t *testing.T) {
	if _, err := lab.Install(t.Context(), otherRelease); err != nil {
		t.Fatal(err)
	}
	for _, st := range stages() {
		for i := range st.faults {
			if f := &st.faults[i]; f.twoReleases {
				t.Run(st.name+"/"+f.title(), func(t *testing.T) { f.play(t, labtest.Own(t, st.topology, st.options)) })
			}
		}
	}
}
