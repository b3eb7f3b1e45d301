//go:build releases

package main

import (
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
)

// TestReleasesReach is TestReachTruth on other releases of Open vSwitch and OVN.
func TestReleasesReach(t *testing.T) {
	labtest.OnReleases(t, []string{"trixie", "sid"}, func(t *testing.T, r lab.Release) {
		for _, topology := range []lab.Topology{lab.OVNKubernetes(), lab.KubeOVN()} {
			t.Run(topology.Name, func(t *testing.T) { reachTruth(t, labtest.Own(t, topology, lab.Options{Release: r.Name})) })
		}
	})
}
