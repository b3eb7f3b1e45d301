package ovs

import (
	"fmt"

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
	Run: func(p *doctor.Pass) {
		for _, h := range p.Hosts {
			sw, err := h.Switch()
			if err != nil {
				continue
			}
			name, _, _ := h.ChassisName()
			for b := range doctor.Each(sw.Bridges) {
				if b.Name == sw.IntegrationBridge(name) && (sw.RunsOVN() || name != "" && b.ExternalIDs["ovn-nb-cfg"] != "") {
					integrationMode(p, h, b)
				} else {
					providerMode(p, h, b)
				}
			}
		}
	},
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
