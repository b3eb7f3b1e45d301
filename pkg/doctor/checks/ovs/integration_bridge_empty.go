package ovs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var IntegrationBridgeEmpty = &doctor.Check{
	Name:     "integration-bridge-empty",
	Category: "ovs",
	Doc: `The integration bridge has no flows

Any change of fail_mode, or ovs-ofctl del-flows, empties the bridge. ovn-controller does not notice: it
is connected and caught up, and --wait=hv succeeds. Only its restart installs the flows again.`,
	Causes: []string{"vswitchd-not-running", "controller-not-running", "bridge-fail-mode-wrong", "missing-external-ids", "two-vswitchds",
		"controller-northd-version-mismatch", "conf-db-lost-or-corrupt",
		// the Southbound is unreachable
		"uplink-not-in-bridge", "bridge-ip-lost-after-reboot", "bridge-link-down", "ip-on-enslaved-nic", "db-not-listening-tcp", "raft-no-quorum",
		"tls-cert-expired-or-wrong-ca", "db-disk-full-or-corrupt", "clients-refuse-rebuilt-db"},
	Settle: true,
	Run:    doctor.Over((*doctor.Pass).Chassis, emptyBridge),
}

func emptyBridge(p *doctor.Pass, c *doctor.Chassis) {
	if c.OVS.Bridge(c.Bridge) == nil {
		return // ovn-controller creates it; if there is none, it does not run
	}
	if d, err := c.Daemon("ovs-vswitchd"); err == nil && d.Liveness != snapshot.Answers {
		return // vswitchd-not-running
	}
	object := doctor.BridgeObject(c.Host, c.Bridge)
	flows, ok := doctor.Need(p, object, func() ([]openflow.FlowEntry, error) { return c.Flows(c.Bridge) })
	if !ok || slices.ContainsFunc(flows, func(f openflow.FlowEntry) bool { return f.Table.Number > 0 || f.Priority != 0 }) {
		return
	}
	f := doctor.Finding{
		Object:   object,
		Also:     []doctor.Object{doctor.NodeObject(c.Name)},
		Title:    fmt.Sprintf("bridge %s of %s has no flows", c.Bridge, c.Name),
		Evidence: []doctor.Evidence{{Source: doctor.Flows(c.Bridge), Says: "none"}},
		Effect:   "every packet of the node's pods is dropped, or flooded where a default flow is left",
		Cause:    "fail_mode was changed, or the flows were deleted, and ovn-controller did not notice",
	}
	if len(flows) > 0 {
		f.Evidence[0].Says = fmt.Sprintf("only the %d that any bridge has, of priority 0 in table 0", len(flows))
	}
	if c.SystemID != "" {
		f.Also = append(f.Also, doctor.Object{Kind: "chassis", Name: c.SystemID})
	}
	reply, err := c.Control("ovn-controller", "connection-status")
	status := doctor.Evidence{Source: doctor.Reply("ovn-controller", "connection-status"), Says: strings.TrimSpace(reply)}
	switch {
	case err != nil:
		status.Says = err.Error()
		f.Cause = "ovn-controller does not reply, and nothing installs flows"
		f.Next = "start ovn-controller: ovnctl fix start-controller"
	case status.Says != "connected":
		f.Cause = "ovn-controller is not connected to the Southbound, from which it makes the flows"
		f.Next = "make the Southbound reachable, then run ovnctl doctor again"
	case doctor.InContainer(c.Host, "ovn-controller") != nil:
		f.Next = "in its container: ovn-appctl -t ovn-controller exit --restart; the kubelet starts it again"
	default:
		f.Fix = catalog.RestartController.With()
	}
	f.Evidence = append(f.Evidence, status)
	p.Report(f)
}
