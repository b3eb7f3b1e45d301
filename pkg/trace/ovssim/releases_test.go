//go:build releases

package ovssim_test

import (
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
)

// TestReleasesTraces is TestTraces on other releases of Open vSwitch.
func TestReleasesTraces(t *testing.T) {
	for _, release := range []string{"trixie", "sid"} {
		t.Run(release, func(t *testing.T) { compareTopologies(t, release) })
	}
}

// TestReleasesPipelines is TestPipelines on other releases of Open vSwitch.
func TestReleasesPipelines(t *testing.T) {
	for _, release := range []string{"trixie", "sid"} {
		t.Run(release, func(t *testing.T) {
			comparePipelines(t, labtest.Own(t, lab.OVNKubernetes(), lab.Options{Release: release}), release != "sid")
		})
	}
}

// TestReleasesBridges is TestBridges on other releases of Open vSwitch.
func TestReleasesBridges(t *testing.T) {
	for _, release := range []string{"trixie", "sid"} {
		t.Run(release, func(t *testing.T) { compareBridges(t, release) })
	}
}

// TestReleasesInstalled is TestInstalled on other releases of Open vSwitch.
func TestReleasesInstalled(t *testing.T) {
	for _, release := range []string{"trixie", "sid"} {
		t.Run(release, func(t *testing.T) { compareInstalled(t, release) })
	}
}

// TestReleasesFeatures is TestFeatures on other releases of Open vSwitch.
func TestReleasesFeatures(t *testing.T) {
	for _, release := range []string{"trixie", "sid"} {
		t.Run(release, func(t *testing.T) { compareFeatures(t, release) })
	}
}

// TestReleasesExecuted is TestExecuted on other releases of Open vSwitch.
func TestReleasesExecuted(t *testing.T) {
	for _, release := range []string{"trixie", "sid"} {
		t.Run(release, func(t *testing.T) { compareExecuted(t, release) })
	}
}

// TestReleasesWrongFlows is TestWrongFlows with other releases of ovs-ofctl.
func TestReleasesWrongFlows(t *testing.T) {
	for _, release := range []string{"trixie", "sid"} {
		t.Run(release, func(t *testing.T) {
			r, err := lab.Install(t.Context(), release)
			if err != nil {
				t.Fatal(err)
			}
			compareWrongFlows(t, r.Root)
		})
	}
}

// TestReleasesLearning is TestLearning on other releases of Open vSwitch.
func TestReleasesLearning(t *testing.T) {
	for _, release := range []string{"trixie", "sid"} {
		t.Run(release, func(t *testing.T) { compareLearning(t, release) })
	}
}

// TestReleasesOwn is TestOwn on other releases of Open vSwitch.
func TestReleasesOwn(t *testing.T) {
	for _, release := range []string{"trixie", "sid"} {
		t.Run(release, func(t *testing.T) { compareOwn(t, release) })
	}
}
