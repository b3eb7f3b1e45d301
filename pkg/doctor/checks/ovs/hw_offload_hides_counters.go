package ovs

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/doctor"
)

var HWOffloadHidesCounters = &doctor.Check{
	Name:     "hw-offload-hides-counters",
	Category: "ovs",
	Doc: `Packets that the NIC forwards are in no counter and no capture

A note, not a fault: with other_config:hw-offload=true tcpdump on a port sees only
the first packets of a flow, and counters of ports may stand still.`,
	Run: func(p *doctor.Pass) {
		offloads := false
		for _, h := range p.Hosts {
			s, ok := doctor.Need(p, doctor.NodeObject(h.Name), h.Switch)
			if !ok || len(s.OpenvSwitch) == 0 || s.OpenvSwitch[0].OtherConfig["hw-offload"] != "true" {
				continue
			}
			offloads = true
			p.Report(doctor.Finding{
				Result:   doctor.OK,
				Object:   doctor.NodeObject(h.Name),
				Title:    fmt.Sprintf("%s lets its NICs forward packets: tcpdump and the counters of its ports miss them", h.Name),
				Evidence: []doctor.Evidence{{Source: doctor.Setting("other_config:hw-offload"), Says: "true"}},
				Effect:   "a counter that stands still proves nothing here",
				Next:     "ovs-appctl dpctl/dump-flows type=offloaded shows the flows with their counters",
			})
		}
		if !offloads && len(p.Findings) == 0 {
			p.Skip("no host has hw-offload on")
		}
	},
}
