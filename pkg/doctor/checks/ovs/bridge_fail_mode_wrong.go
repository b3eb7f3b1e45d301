package ovs

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

var BridgeFailModeWrong = &doctor.Check{
	Name:     "bridge-fail-mode-wrong",
	Category: "ovs",
	Doc: `A bridge does the wrong thing without a controller

The integration bridge has to drop what no flow is for (fail_mode secure), or it floods as
a plain switch while ovn-controller is away. A provider bridge that is secure and has
no flows drops everything.`,
	Causes: []string{"controller-not-running", "vswitchd-not-running"},
	Run: func(p *doctor.Pass) {
		for _, h := range p.Hosts {
			sw, err := h.Switch()
			if err != nil {
				continue
			}
			name, _, _ := h.ChassisName()
			for i := range sw.Bridges {
				b := &sw.Bridges[i]
				if b.Name == sw.IntegrationBridge(name) && (sw.RunsOVN() || name != "" && b.ExternalIDs["ovn-nb-cfg"] != "") {
					integrationMode(p, h, b)
				} else {
					providerMode(p, h, b)
				}
			}
		}
	},
}

func failMode(b *vswitch.BridgeBrief) string {
	if len(b.FailMode) == 0 {
		return "standalone"
	}
	return b.FailMode.Get()
}

func integrationMode(p *doctor.Pass, h *snapshot.Host, b *vswitch.BridgeBrief) {
	if failMode(b) == "secure" {
		return
	}
	p.Report(doctor.Finding{
		Object:   doctor.Object{Kind: "bridge", Name: b.Name, Node: h.Name},
		Title:    fmt.Sprintf("integration bridge %s of %s is not secure: without ovn-controller it floods", b.Name, h.Name),
		Evidence: []doctor.Evidence{{Source: doctor.OVS("Bridge", b.Name).On(h.Name), Says: fmt.Sprintf("fail_mode=%v", b.FailMode)}},
		Cause:    "somebody changed fail_mode while ovn-controller does not run; where it runs it sets secure by itself",
		Effect:   "logical networks run into each other and packets loop; the change has also deleted all flows of the bridge",
		Next:     "start ovn-controller, which sets secure and installs its flows; never write fail_mode of this bridge by hand",
	})
}

func providerMode(p *doctor.Pass, h *snapshot.Host, b *vswitch.BridgeBrief) {
	if failMode(b) != "secure" || len(b.Ports) < 2 || !p.InterfacesCurrent(h) {
		return
	}
	flows, err := h.Flows(b.Name)
	if err != nil {
		p.Unknown(doctor.Object{Kind: "bridge", Name: b.Name, Node: h.Name}, err)
		return
	}
	if len(flows) > 0 {
		return
	}
	f := doctor.Finding{
		Object: doctor.Object{Kind: "bridge", Name: b.Name, Node: h.Name},
		Title:  fmt.Sprintf("bridge %s of %s drops everything: it is secure and has no flows", b.Name, h.Name),
		Evidence: []doctor.Evidence{
			{Source: doctor.OVS("Bridge", b.Name).On(h.Name), Says: fmt.Sprintf("fail_mode=secure controller=%v", b.Controller)},
			{Source: doctor.Other(fmt.Sprintf("flows of %s on %s", b.Name, h.Name)), Says: "none"},
		},
		Cause:  "its fail_mode was set to secure, and nobody programs it",
		Effect: "nothing passes the bridge: neither the traffic of its uplink nor the tunnels and addresses that lie on it",
	}
	if len(b.Controller) > 0 {
		f.Cause = "its OpenFlow controller has not programmed it"
		f.Next = "see whether the controller is connected: ovs-vsctl --columns=target,is_connected list Controller"
	} else {
		f.Fix = catalog.StandaloneBridge.With(b.Name)
	}
	p.Report(f)
}
