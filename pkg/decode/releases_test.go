//go:build releases

package decode

import (
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
)

// Other releases of OVN number their tables, flags and zones differently.
func TestReleases(t *testing.T) {
	for _, release := range []string{"trixie", "sid"} {
		t.Run(release, func(t *testing.T) {
			n := openNetwork(t, labtest.Own(t, lab.OVNKubernetes(), lab.Options{Release: release}))
			t.Run("calibrates", n.calibrates)
			t.Run("decodes", n.decodes)
			t.Run("names", n.names)
		})
	}
}

// They answer with more options, too.
func TestReleasesUserdata(t *testing.T) {
	for _, release := range []string{"trixie", "sid"} {
		t.Run(release, func(t *testing.T) {
			userdataIsRight(t, labtest.Own(t, lab.Features(), lab.Options{Release: release}))
		})
	}
}
