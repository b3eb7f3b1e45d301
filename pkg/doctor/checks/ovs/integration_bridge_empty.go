package ovs

import (
	"fmt"
	"slices"
	"strconv"
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
believes that its flows are installed, is connected and caught up, and --wait=hv says that all is well.
Only its restart writes them again.`,
	Causes: []string{"vswitchd-not-running", "controller-not-running", "bridge-fail-mode-wrong", "missing-external-ids", "two-vswitchds",
		"controller-northd-version-mismatch", "conf-db-lost-or-corrupt",
		// that it cannot reach the Southbound
		"uplink-not-in-bridge", "bridge-fail-mode-wrong", "bridge-ip-lost-after-reboot", "bridge-link-down", "ip-on-enslaved-nic", "db-not-listening-tcp", "raft-no-quorum",
		"tls-cert-expired-or-wrong-ca", "db-disk-full-or-corrupt", "clients-refuse-rebuilt-db"},
	Settle: true,
	Run:    lookForFlows,
}

func lookForFlows(p *doctor.Pass) {
	for c := range p.Chassis() {
		if c.OVS.Bridge(c.Bridge) == nil {
			continue // ovn-controller makes it; if it does not, it does not run
		}
		if d, err := c.Daemon("ovs-vswitchd"); err == nil && d.Liveness != snapshot.Answers {
			continue // vswitchd-not-running
		}
		flows, err := c.Flows(c.Bridge)
		if err != nil {
			p.Unknown(doctor.Object{Kind: "bridge", Name: c.Bridge, Node: c.Host.Name}, err)
			continue
		}
		if slices.ContainsFunc(flows, func(f openflow.FlowEntry) bool { return f.Table.Number > 0 || f.Priority != 0 }) {
			continue
		}
		f := doctor.Finding{
			Object: doctor.Object{Kind: "bridge", Name: c.Bridge, Node: c.Host.Name},
			Also:   []doctor.Object{doctor.NodeObject(c.Host.Name)},
			Title:  fmt.Sprintf("bridge %s of %s has no flows", c.Bridge, c.Host.Name),
			Effect: "every packet of the node's pods is dropped, or flooded where a default flow is left",
			Cause:  "its fail_mode was changed, or its flows were deleted, behind ovn-controller's back",
		}
		switch len(flows) {
		case 0:
			f.Evidence = []doctor.Evidence{{Source: doctor.Flows(c.Bridge), Says: "none"}}
		default:
			f.Evidence = []doctor.Evidence{{Source: doctor.Flows(c.Bridge), Says: "only those that a bridge has by itself: " + strconv.Itoa(len(flows)) + " of priority 0 in table 0"}}
		}
		if c.SystemID != "" {
			f.Also = append(f.Also, doctor.Object{Kind: "chassis", Name: c.SystemID})
		}
		status, err := c.Control("ovn-controller", "connection-status")
		switch {
		case err != nil:
			f.Cause = "ovn-controller does not answer, and nothing writes flows"
			f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Reply("ovn-controller", "connection-status"), Says: err.Error()})
			f.Next = "start ovn-controller: ovnctl fix start-controller"
		case strings.TrimSpace(status) != "connected":
			f.Cause = "ovn-controller is not connected to the Southbound, from which it would know what to write"
			f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Reply("ovn-controller", "connection-status"), Says: strings.TrimSpace(status)})
			f.Next = "make the Southbound reachable, then look again"
		default:
			f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Reply("ovn-controller", "connection-status"), Says: "connected"})
			f.Fix = catalog.RestartController.With()
			if doctor.InContainer(c.Host, "ovn-controller") != nil {
				f.Fix, f.Next = nil, "in its container: ovn-appctl -t ovn-controller exit --restart; the kubelet starts it again"
			}
		}
		p.Report(f)
	}
}
