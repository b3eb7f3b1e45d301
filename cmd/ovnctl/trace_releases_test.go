//go:build releases

package main

import (
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
)

// TestReleasesTrace is TestTraceTruth on other releases of Open vSwitch and OVN.
func TestReleasesTrace(t *testing.T) {
	for _, name := range []string{"bookworm", "trixie", "sid"} {
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
			for _, topology := range []lab.Topology{lab.OVNKubernetes(), lab.KubeOVN()} {
				t.Run(topology.Name, func(t *testing.T) { traceTruth(t, topology, name, 40, traceClasses...) })
			}
		})
	}
}

// TestReleasesStrict is TestStrict on other releases.
func TestReleasesStrict(t *testing.T) {
	for _, name := range []string{"trixie", "sid"} {
		t.Run(name, func(t *testing.T) {
			if _, err := lab.Install(t.Context(), name); err != nil && name == "sid" {
				t.Logf("NOT TESTED: sid cannot be installed today: %v", err)
				return
			} else if err != nil {
				t.Fatal(err)
			}
			for _, topology := range []lab.Topology{lab.OVNKubernetes(), lab.KubeOVN()} {
				t.Run(topology.Name, func(t *testing.T) { strict(t, topology, name, drawnPairs(t, 60), strictClasses...) })
			}
		})
	}
}
