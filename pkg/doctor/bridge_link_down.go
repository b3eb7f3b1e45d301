package doctor

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var bridgeLinkDown = &Check{
	Name:     "bridge-link-down",
	Category: "node-os",
	Doc: `The link of a bridge that carries the host's addresses is down

A bridge's own link is the host's side of it. While it is down the kernel keeps no
routes through it and no IPv6 addresses on it.`,
	Causes: []string{"vswitchd-not-running"},
	Run: func(p *Pass) {
		p.persistent(func(p *Pass) {
			p.edges(func(e *edge) {
				ips, source := e.homeless()
				bare := e.bare()
				for _, u := range e.uplinks {
					bridge := u.Bridge.Name
					l := e.n.Link(bridge)
					if l == nil || l.Up {
						continue
					}
					proof := []Evidence{{Source: "link " + bridge, Says: "administratively down"}, e.addressEvidence(bridge)}
					switch {
					case len(snapshot.Global(e.n, bridge)) > 0:
					case len(ips) > 0 && len(bare) == 1 && bare[0].Bridge.Name == bridge:
						proof = append(proof, Evidence{Source: source, Says: fmt.Sprintf("tunnel address %s, which no link has", ips[0])})
					default:
						continue // it carries nothing for the host, and need not be up
					}
					p.Report(Finding{
						Object:   e.bridge(bridge),
						Also:     []Object{nodeObject(e.Name), e.link(bridge)},
						Title:    fmt.Sprintf("the link of bridge %s is down", bridge),
						Evidence: proof,
						Cause:    "it was set down, or nobody set it up after it was made",
						Effect:   "tunnels and all that the host reaches through the bridge are dead; the routes through it are gone",
						Fix:      catalog.SetBridgeUp.With(bridge),
					})
				}
			})
		})
	},
}
