//go:build releases

package expr

import (
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
)

// Later releases write flows that the earlier do not know.
func TestReleasesLogicalFlows(t *testing.T) {
	for _, release := range []string{"trixie", "sid"} {
		for name, topology := range lab.Topologies() {
			if topology.OVN {
				t.Run(release+"/"+name, func(t *testing.T) {
					understands(t, labtest.Own(t, topology, lab.Options{Release: release}))
				})
			}
		}
	}
}
