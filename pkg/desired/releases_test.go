//go:build releases

package desired

import (
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
)

// Other releases write other logical flows and encode some actions in another way.
func TestReleases(t *testing.T) {
	for _, release := range []string{"trixie", "sid"} {
		for _, topology := range topologies {
			t.Run(release+"/"+topology.Name, func(t *testing.T) {
				agrees(t, labtest.Own(t, topology, lab.Options{Release: release}))
			})
		}
	}
}

// Nor do all make the same of what people write.
func TestReleasesMatches(t *testing.T) {
	for _, release := range []string{"trixie", "sid"} {
		t.Run(release, func(t *testing.T) {
			matchesAgree(t, labtest.Own(t, lab.OVNKubernetes(), lab.Options{Release: release}))
		})
	}
}

// Later releases sample connections and mirror by their own flows.
func TestReleasesObserved(t *testing.T) {
	for _, release := range []string{"trixie", "sid"} {
		t.Run(release, func(t *testing.T) { observedAgree(t, release) })
	}
}
