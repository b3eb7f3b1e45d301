package host

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var BridgeLinkDown = &doctor.Check{
	Name:     "bridge-link-down",
	Category: "node-os",
	Doc: `The link of a bridge that carries the host's addresses is down

A bridge's own link is the host's side of it. While it is down the kernel keeps no
routes through it and no IPv6 addresses on it.`,
	Causes: []string{"vswitchd-not-running"},
	Settle: true,
	Run: func(p *doctor.Pass) {
		p.NetNodes(func(e *doctor.NetNode) {
			ips, source := e.MissingEncapIPs()
			bare := e.WithoutAddress()
			for _, u := range e.Uplinks {
				bridge := u.Bridge.Name
				l := e.Net.Link(bridge)
				if l == nil || l.Up {
					continue
				}
				proof := []doctor.Evidence{{Source: doctor.Link(bridge), Says: "administratively down"}, e.AddressEvidence(bridge)}
				switch {
				case len(snapshot.Global(e.Net, bridge)) > 0:
				case len(ips) > 0 && len(bare) == 1 && bare[0].Bridge.Name == bridge:
					proof = append(proof, doctor.Evidence{Source: doctor.Other(source), Says: fmt.Sprintf("tunnel address %s, which no link has", ips[0])})
				default:
					continue // it carries nothing for the host, and need not be up
				}
				p.Report(doctor.Finding{
					Object:   e.BridgeObject(bridge),
					Also:     []doctor.Object{doctor.NodeObject(e.Name), e.LinkObject(bridge)},
					Title:    fmt.Sprintf("the link of bridge %s is down", bridge),
					Evidence: proof,
					Cause:    "it was set down, or nobody set it up after it was made",
					Effect:   "tunnels and all that the host reaches through the bridge are dead; the routes through it are gone",
					Fix:      catalog.SetBridgeUp.With(bridge),
				})
			}
		})
	},
}
