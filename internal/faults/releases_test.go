//go:build releases

package faults

import (
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
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
