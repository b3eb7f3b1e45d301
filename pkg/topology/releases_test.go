//go:build releases

package topology_test

import (
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
)

// TestReleases is TestAgreement on other releases of Open vSwitch and OVN.
func TestReleases(t *testing.T) {
	labtest.OnReleases(t, labtest.Others(), func(t *testing.T, r lab.Release) {
		for kind, wanted := range lab.Topologies() {
			if wanted.OVN && r.OVN == "" {
				continue
			}
			t.Run(kind, func(t *testing.T) { agreement(t, wanted, r.Name) })
		}
	})
}
