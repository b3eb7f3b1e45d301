//go:build releases

package main

import (
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
)

// TestReleasesTrace is TestTraceTruth on other releases of Open vSwitch and OVN.
func TestReleasesTrace(t *testing.T) {
	labtest.OnReleases(t, []string{"bookworm", "trixie", "sid"}, func(t *testing.T, r lab.Release) {
		for _, topology := range []lab.Topology{lab.OVNKubernetes(), lab.KubeOVN()} {
			t.Run(topology.Name, func(t *testing.T) { traceTruth(t, topology, r.Name, 40, traceClasses...) })
		}
	})
}

// TestReleasesStrict is TestStrict on other releases.
func TestReleasesStrict(t *testing.T) {
	labtest.OnReleases(t, []string{"trixie", "sid"}, func(t *testing.T, r lab.Release) {
		for _, topology := range []lab.Topology{lab.OVNKubernetes(), lab.KubeOVN()} {
			t.Run(topology.Name, func(t *testing.T) { strict(t, topology, r.Name, drawnPairs(t, 60), strictClasses...) })
		}
	})
}
