//go:build releases

package main

import (
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
)

// TestReleasesReach is TestReachTruth on other releases of Open vSwitch and OVN.
func TestReleasesReach(t *testing.T) {
	for _, name := range []string{"trixie", "sid"} {
		t.Run(name, func(t *testing.T) {
			if _, err := lab.Install(t.Context(), name); err != nil && name == "sid" {
				t.Logf("NOT TESTED: sid cannot be installed today: %v", err)
				return
			} else if err != nil {
				t.Fatal(err)
			}
			for _, topology := range []lab.Topology{lab.OVNKubernetes(), lab.KubeOVN()} {
				t.Run(topology.Name, func(t *testing.T) { reachTruth(t, labtest.Own(t, topology, lab.Options{Release: name})) })
			}
		})
	}
}
