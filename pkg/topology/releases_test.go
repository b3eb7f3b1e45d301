//go:build releases

package topology_test

import (
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
)

// TestReleases is TestAgreement on other releases of Open vSwitch and OVN.
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
			for kind, wanted := range lab.Topologies() {
				if wanted.OVN && release.OVN == "" {
					continue
				}
				t.Run(kind, func(t *testing.T) { agreement(t, wanted, name) })
			}
		})
	}
}
