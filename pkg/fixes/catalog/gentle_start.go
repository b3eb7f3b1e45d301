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

// keepFlows is the setting by which ovn-controller leaves the flows that it finds in the
// integration bridge until it has made its own, ovn-controller(8).
const keepFlows = "ovn-ofctrl-wait-before-clear"

// How long flows are kept: twice what the last ones took to be made, as ovn-controller(8) says, within
// these, and where that is not known long enough for a large deployment.
const (
	leastKeep   = 2 * time.Second
	mostKeep    = 40 * time.Second // fixes.Await has patience for a minute
	unknownKeep = 8 * time.Second
)

// gently puts around the start of a node's ovn-controller what keeps its flows in place until the new ones are
// made: up to OVN 24.09 it would delete them first, and make the new ones without traffic. The setting is as
// before afterwards. That needs the chassis to be in a Southbound that is read, which tells when the flows are there.
func gently(h *snapshot.Host, start fixes.Service) []fixes.Step {
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
	set := setID(sw, key, strconv.FormatInt(keep.Milliseconds(), 10), fmt.Sprintf("keep the flows for %s while new ones are made", keep))
	back := fixes.Rows{DB: set.DB, What: "let " + key + " be as it was", Classic: []string{"ovs-vsctl remove Open_vSwitch . external_ids " + key}}
	c := set.Changes[0]
	c.Before, c.After = c.After, c.Before
	back.Changes = []fixes.Change{c}
	if old != "" {
		back.Classic = []string{fixes.Command("ovs-vsctl set Open_vSwitch . external_ids:%s=%s", key, old)}
	}
	return append(append([]fixes.Step{set}, steps...), back)
}

// keepTime is how long the node's flows should be kept.
func keepTime(h *snapshot.Host) time.Duration {
	longest, err := h.FlowGeneration()
	if err != nil {
		return unknownKeep
	}
	return min(max(2*longest, leastKeep), mostKeep)
}

// controllerVersion is the release of a node's ovn-controller, of one that does not answer that of ovn-northd;
// empty: not known.
func controllerVersion(h *snapshot.Host) string {
	if d, err := h.Daemon("ovn-controller"); err == nil && d.Version != "" {
		return d.Version
	}
	z := h.Zone()
	if z == nil {
		return ""
	}
	south, err := z.Southbound()
	if err != nil || len(south.Globals) == 0 {
		return ""
	}
	release, _, _ := strings.Cut(south.Globals[0].Options["northd_internal_version"], "-")
	return release
}
