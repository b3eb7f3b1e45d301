//go:build releases

package decode

import (
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
)

// Other releases of OVN number their tables, flags and zones differently.
func TestReleases(t *testing.T) {
	for _, release := range []string{"trixie", "sid"} {
		t.Run(release, func(t *testing.T) {
			l, err := lab.Up(t.Context(), lab.OVNKubernetes(), lab.Options{Release: release})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := l.Down(); err != nil {
					t.Error(err)
				}
			}()
			n := openNetwork(t, l)
			t.Run("calibrates", n.calibrates)
			t.Run("decodes", n.decodes)
			t.Run("names", n.names)
		})
	}
}
