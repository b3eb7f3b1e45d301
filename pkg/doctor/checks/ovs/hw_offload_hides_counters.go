package ovs

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/doctor"
)

var HWOffloadHidesCounters = &doctor.Check{
	Name:     "hw-offload-hides-counters",
	Category: "ovs",
	Doc: `Packets that the hardware forwards are in no counter and no capture

A note, and no fault: with other_config:hw-offload=true tcpdump on a port sees only
the first packets of a flow, and counters of ports may stand still.`,
	Run: func(p *doctor.Pass) {
		any := false
		for _, h := range p.Hosts {
			s, ok := doctor.Need(p, doctor.NodeObject(h.Name), h.Switch)
			if !ok {
				continue
			}
			for _, o := range s.OpenvSwitch {
				if o.OtherConfig["hw-offload"] != "true" {
					continue
				}
				any = true
				p.Report(doctor.Finding{
					Result: doctor.OK,
					Object: doctor.NodeObject(h.Name),
					Title:  fmt.Sprintf("%s lets its hardware forward packets: tcpdump and the counters of its ports miss them", h.Name),
					Evidence: []doctor.Evidence{
						{Source: doctor.OVS("Open_vSwitch", ""), Says: "other_config:hw-offload=true"},
					},
					Effect: "a counter that stands still proves nothing here",
					Next:   "ovs-appctl dpctl/dump-flows type=offloaded shows the flows with their counters",
				})
			}
		}
		if !any && len(p.Findings) == 0 {
			p.Skip("no host has hw-offload on")
		}
	},
}
