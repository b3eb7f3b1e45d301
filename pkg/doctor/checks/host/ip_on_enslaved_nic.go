package host

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var IPOnEnslavedNIC = &doctor.Check{
	Name:     "ip-on-enslaved-nic",
	Category: "node-os",
	Doc: `A port of a bridge holds addresses of the host

A link that is a port hands all that it receives to the bridge. With an address on it
the host answers from the wrong link, twice or not at all.`,
	Causes: []string{"bridge-ip-lost-after-reboot"},
	Settle: true,
	Run: func(p *doctor.Pass) {
		p.NetNodes(func(e *doctor.NetNode) {
			for _, u := range e.Uplinks {
				if u.Port == nil {
					continue
				}
				for _, nic := range u.Links {
					own := snapshot.Global(e.Net, nic)
					if len(own) == 0 {
						continue
					}
					bridge := u.Bridge.Name
					proof := []doctor.Evidence{{Source: doctor.OVS("Port", u.Port.Name), Says: "is in bridge " + bridge}, e.AddressEvidence(nic), e.AddressEvidence(bridge)}
					f := doctor.Finding{
						Object:   e.LinkObject(nic),
						Also:     []doctor.Object{doctor.NodeObject(e.Name), e.BridgeObject(bridge)},
						Title:    fmt.Sprintf("%s is a port of bridge %s and has %s", nic, bridge, own[0].Prefix),
						Evidence: append(append(proof, e.RouteEvidence(nic)...), e.AtBoot(nic)...),
						Cause:    "the network scripts, NetworkManager or a person gave the link an address after it became a port",
						Effect:   "replies leave by the wrong link, neighbours get two answers for one address or none",
					}
					if u.Link() != "" && e.Net.Link(bridge) != nil {
						f.Fix = catalog.MoveAddresses.With(bridge)
					} else {
						f.Next = fixes.Command("ip addr add %s dev %s; ip addr del %s dev %s", own[0].Prefix, bridge, own[0].Prefix, nic)
					}
					p.Report(f)
				}
			}
		})
	},
}
