//go:build releases

package xlate_test

import "testing"

// TestReleasesTraces is TestTraces on other releases of Open vSwitch.
func TestReleasesTraces(t *testing.T) {
	for _, release := range []string{"trixie", "sid"} {
		t.Run(release, func(t *testing.T) { compareTopologies(t, release) })
	}
}
