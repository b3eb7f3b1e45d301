package ovs

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

var BridgeFailModeWrong = &doctor.Check{
	Name:     "bridge-fail-mode-wrong",
	Category: "ovs",
	Doc: `A bridge has the wrong fail_mode

The integration bridge must drop what matches no flow (fail_mode secure), or it floods as a
plain switch while ovn-controller is away. A provider bridge with fail_mode secure and
without flows drops everything.`,
	Causes: []string{"controller-not-running", "vswitchd-not-running"},
	Host: doctor.OnSwitch(func(p *doctor.Pass, h *snapshot.Host, sw *snapshot.Switch) {
		name, _, _ := h.ChassisName()
		for b := range doctor.Each(sw.Bridges) {
			if b.Name == sw.IntegrationBridge(name) && (sw.RunsOVN() || name != "" && b.ExternalIDs["ovn-nb-cfg"] != "") {
				integrationMode(p, h, b)
			} else {
				providerMode(p, h, b)
			}
		}
	}),
}

func secure(b *vswitch.BridgeBrief) bool { return len(b.FailMode) > 0 && b.FailMode.Get() == "secure" }

func integrationMode(p *doctor.Pass, h *snapshot.Host, b *vswitch.BridgeBrief) {
	if secure(b) {
		return
	}
	p.Report(doctor.Finding{
		Object:   doctor.BridgeObject(h, b.Name),
		Reason:   "not-secure",
		Title:    fmt.Sprintf("integration bridge %s of %s is not secure: without ovn-controller it floods", b.Name, h.Name),
		Evidence: []doctor.Evidence{{Source: doctor.OVS("Bridge", b.Name).On(h.Name), Says: fmt.Sprintf("fail_mode=%v", b.FailMode)}},
		Cause:    "fail_mode was changed while ovn-controller does not run; a running ovn-controller sets it to secure",
		Effect:   "packets pass between logical networks and loop; the change also deleted all flows of the bridge",
		Next:     "start ovn-controller, which sets secure and installs its flows; never set fail_mode of this bridge by hand",
	})
}

func providerMode(p *doctor.Pass, h *snapshot.Host, b *vswitch.BridgeBrief) {
	if !secure(b) || len(b.Ports) < 2 || !p.InterfacesCurrent(h) {
		return
	}
	flows, ok := doctor.Need(p, doctor.BridgeObject(h, b.Name), func() ([]openflow.FlowEntry, error) { return h.Flows(b.Name) })
	if !ok || len(flows) > 0 {
		return
	}
	f := doctor.Finding{
		Object: doctor.BridgeObject(h, b.Name),
		Reason: "secure-without-flows",
		Title:  fmt.Sprintf("bridge %s of %s drops everything: it is secure and has no flows", b.Name, h.Name),
		Evidence: []doctor.Evidence{
			{Source: doctor.OVS("Bridge", b.Name).On(h.Name), Says: fmt.Sprintf("fail_mode=secure controller=%v", b.Controller)},
			{Source: doctor.Flows(b.Name).On(h.Name), Says: "none"},
		},
		Cause:  "fail_mode was set to secure, and nothing installs flows",
		Effect: "nothing passes the bridge: no traffic of its uplink, no tunnels and no addresses on it",
	}
	if len(b.Controller) > 0 {
		f.Cause = "its OpenFlow controller has installed no flows"
		f.Next = "see whether the controller is connected: ovs-vsctl --columns=target,is_connected list Controller"
	} else {
		f.Fix = catalog.StandaloneBridge.With(b.Name)
	}
	p.Report(f)
}

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
		"tls-cert-expired-or-wrong-ca", "db-disk-full-or-corrupt", "clients-refuse-rebuilt-db", "controller-misdirected"},
	Settle: true,
	Flows:  true,
	Host:   doctor.OnChassis(emptyBridge),
}

func emptyBridge(p *doctor.Pass, c *doctor.Chassis) {
	if c.OVS.Bridge(c.Bridge) == nil {
		return // created by ovn-controller; if missing, it does not run
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
	f.Concern(doctor.ChassisObject(c.SystemID))
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
		f.Next = "in its container: ovn-appctl -t ovn-controller exit --restart; what runs the container starts it again"
	default:
		f.Fix = catalog.RestartController.With()
	}
	f.Evidence = append(f.Evidence, status)
	p.Report(f)
}
