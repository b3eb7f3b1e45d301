package host

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
)

var BridgeLinkDown = &doctor.Check{
	Name:     "bridge-link-down",
	Category: "node-os",
	Doc: `The link of a bridge with the host's addresses is down

The host reaches its network through the bridge's own link. While that is down, the
kernel keeps no routes and no IPv6 addresses on it.`,
	Causes: []string{"vswitchd-not-running"},
	Settle: true,
	Run:    doctor.Over2((*doctor.Pass).Uplinks, linkDown),
}

func linkDown(p *doctor.Pass, n *doctor.Node, u facts.Uplink) {
	bridge := u.Bridge.Name
	l := n.Net.Link(bridge)
	if l == nil || l.Up {
		return
	}
	evidence := []doctor.Evidence{{Source: doctor.Link(bridge), Says: "administratively down"}, n.AddressEvidence(bridge)}
	if len(facts.Global(n.Net, bridge)) == 0 {
		ips, source := n.MissingEncapIPs()
		bridges := n.BridgesWithoutAddress()
		if len(ips) == 0 || len(bridges) != 1 || bridges[0].Bridge.Name != bridge {
			return // the host does not use it, so it need not be up
		}
		evidence = append(evidence, doctor.Evidence{Source: source, Says: fmt.Sprintf("no link has the tunnel address %s", ips[0])})
	}
	p.Report(doctor.Finding{
		Object:   doctor.BridgeObject(n.Host, bridge),
		Also:     []doctor.Object{doctor.NodeObject(n.Name), doctor.LinkObject(n.Host, bridge)},
		Title:    fmt.Sprintf("the link of bridge %s is down", bridge),
		Evidence: evidence,
		Cause:    "it was set down, or never set up",
		Effect:   "the routes through the bridge are gone: tunnels and all that the host reaches through it are dead",
		Fix:      catalog.SetBridgeUp.With(bridge),
	})
}
