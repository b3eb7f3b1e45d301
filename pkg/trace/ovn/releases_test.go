//go:build releases

package ovn

import (
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
)

// TestReleases is TestRare and TestPackets on other releases of Open vSwitch and OVN.
func TestReleases(t *testing.T) {
	labtest.OnReleases(t, labtest.Others(), func(t *testing.T, r lab.Release) {
		if r.OVN == "" {
			return
		}
		t.Run("rare", func(t *testing.T) { testRare(t, lab.Options{Release: r.Name}) })
		for _, topology := range []lab.Topology{lab.OVNKubernetes(), lab.KubeOVN()} {
			t.Run(topology.Name, func(t *testing.T) { drawn(t, labtest.Own(t, topology, lab.Options{Release: r.Name})) })
		}
	})
}

// TestReleasesDocumentedActions is TestDocumentedActions on later releases.
func TestReleasesDocumentedActions(t *testing.T) {
	for _, name := range []string{"trixie", "sid"} {
		t.Run(name, func(t *testing.T) { testDocumented(t, name) })
	}
}
