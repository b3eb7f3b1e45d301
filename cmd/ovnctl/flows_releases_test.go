//go:build releases

package main

import (
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
)

// TestReleasesFlows finds what a policy drops where one flow carries out the verdicts of all ACLs, since OVN 23.06.
func TestReleasesFlows(t *testing.T) {
	d := &traceDraw{lab: labtest.Own(t, lab.OVNKubernetes(), lab.Options{Release: "trixie"})}
	policyDrops(t, d, d.shows(t))
}
