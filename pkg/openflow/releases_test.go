//go:build releases

package openflow

import (
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
)

// TestReleasesDumps is TestLabDumps on other releases of Open vSwitch, and
// TestManual for their manual pages where they have them.
func TestReleasesDumps(t *testing.T) {
	for _, name := range []string{"bullseye", "trixie", "sid"} {
		r, err := lab.Install(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if name != "bullseye" { // whose package has no ovs-actions(7)
			t.Run(name+" manual", func(t *testing.T) { checkManual(t, r.Root) })
		}
		for _, topology := range labTopologies() {
			if topology.OVN && r.OVN == "" {
				continue
			}
			t.Run(name+" "+topology.Name, func(t *testing.T) { dumps(t, labtest.Own(t, topology, lab.Options{Release: name})) })
		}
	}
}
