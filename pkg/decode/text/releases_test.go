//go:build releases

package text

import (
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
)

// Other releases number their tables, flags, zones and options differently.
func TestReleasesNames(t *testing.T) {
	for _, release := range []string{"trixie", "sid"} {
		t.Run(release, func(t *testing.T) {
			namesAreRight(t, labtest.Own(t, lab.OVNKubernetes(), lab.Options{Release: release}))
		})
	}
}
