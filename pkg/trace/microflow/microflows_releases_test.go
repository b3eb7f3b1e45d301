//go:build releases

package microflow_test

import "testing"

// TestReleasesMicroflows is TestMicroflows on later releases, whose flows and whose ovn-trace are others.
func TestReleasesMicroflows(t *testing.T) {
	for _, release := range []string{"trixie", "sid"} {
		t.Run(release, func(t *testing.T) { compareRelease(t, release) })
	}
}
