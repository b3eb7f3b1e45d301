//go:build releases

package ovs_test

import (
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
)

// TestReleasesTracedAhead is TestTracedAhead on other releases of Open vSwitch.
func TestReleasesTracedAhead(t *testing.T) {
	labtest.OnReleases(t, []string{"trixie", "sid"}, func(t *testing.T, r lab.Release) {
		for _, topology := range []lab.Topology{lab.OVNKubernetes(), lab.KubeOVN()} {
			t.Run(topology.Name, func(t *testing.T) { tracedAhead(t, labtest.Own(t, topology, lab.Options{Release: r.Name})) })
		}
	})
}
