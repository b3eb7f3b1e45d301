package catalog

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/release"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// keepFlows is the setting with which ovn-controller leaves the flows that it finds in the
// integration bridge until its own are ready, ovn-controller(8).
const keepFlows = "ovn-ofctrl-wait-before-clear"

// How long flows are kept: twice what the last ones took to compute, as ovn-controller(8) says, within
// these limits. If that is unknown, long enough for a large deployment.
const (
	leastKeep   = 2 * time.Second
	mostKeep    = 40 * time.Second // fixes.Await waits for a minute
	unknownKeep = 8 * time.Second
)

// keepingFlows starts a node's ovn-controller and keeps its flows in place until the new ones are ready:
// up to OVN 24.09 it would delete them first, and there would be no traffic meanwhile. Afterwards the setting
// is as before. The chassis must be in a Southbound that can be read, which shows when the flows are ready.
func keepingFlows(h *snapshot.Host, start fixes.Step) []fixes.Step {
	up := chassisUp(h)
	steps := append([]fixes.Step{start}, up...)
	sw, err := h.Switch()
	if err != nil || len(sw.OpenvSwitch) == 0 || len(up) == 0 {
		return steps
	}
	if release.AtLeast(controllerVersion(h), release.FlowsKept) {
		return steps
	}
	chassis, _, _ := h.ChassisName()
	old, key := sw.Setting(keepFlows, chassis)
	keep := keepTime(h)
	if ms, err := strconv.Atoi(old); err == nil && time.Duration(ms)*time.Millisecond >= keep {
		return steps
	}
	set := idSet(sw, key, strconv.FormatInt(keep.Milliseconds(), 10), fmt.Sprintf("keep the flows for %s while new ones are computed", keep))
	return append(append([]fixes.Step{set.Step()}, steps...), set.Back("restore "+key))
}

// keepTime is how long the node's flows should be kept.
func keepTime(h *snapshot.Host) time.Duration {
	longest, err := h.FlowGeneration()
	if err != nil {
		return unknownKeep
	}
	return min(max(2*longest, leastKeep), mostKeep)
}

// controllerVersion is the release of a node's ovn-controller, or if it does not reply that of ovn-northd;
// empty: unknown.
func controllerVersion(h *snapshot.Host) string {
	if d, err := h.Daemon("ovn-controller"); err == nil && d.Version != "" {
		return d.Version
	}
	south, err := h.Southbound()
	if err != nil || len(south.Globals) == 0 {
		return ""
	}
	release, _, _ := strings.Cut(south.Globals[0].Options["northd_internal_version"], "-")
	return release
}
