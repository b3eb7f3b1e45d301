//go:build releases

package ovn

import (
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
)

// TestReleases is TestRare and TestPackets on other releases of Open vSwitch and OVN.
func TestReleases(t *testing.T) {
	for _, name := range lab.Releases() {
		if name == lab.System {
			continue
		}
		t.Run(name, func(t *testing.T) {
			release, err := lab.Install(t.Context(), name)
			if err != nil && name == "sid" {
				t.Logf("NOT TESTED: sid cannot be installed today: %v", err)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Log(release)
			if release.OVN == "" {
				return
			}
			t.Run("rare", func(t *testing.T) { testRare(t, lab.Options{Release: name}) })
			for _, topology := range []lab.Topology{lab.OVNKubernetes(), lab.KubeOVN()} {
				t.Run(topology.Name, func(t *testing.T) {
					drawn(t, labtest.Own(t, topology, lab.Options{Release: name}))
				})
			}
		})
	}
}

// TestReleasesDocumentedActions is TestDocumentedActions on later releases.
func TestReleasesDocumentedActions(t *testing.T) {
	for _, name := range []string{"trixie", "sid"} {
		t.Run(name, func(t *testing.T) { testDocumented(t, name) })
	}
}
