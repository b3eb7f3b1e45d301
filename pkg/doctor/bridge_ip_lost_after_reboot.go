package doctor

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var bridgeIPLostAfterReboot = &Check{
	Name:     "bridge-ip-lost-after-reboot",
	Category: "node-os",
	Doc: `A bridge to the network outside has lost its addresses

After a boot the distribution gives the addresses to the network card, while the card
is a port of the bridge; or nobody gives them to anyone.`,
	Causes: []string{"vswitchd-not-running", "uplink-not-in-bridge", "bridge-link-down", "conf-db-lost-or-corrupt"},
	Run: func(p *Pass) {
		p.persistent(func(p *Pass) {
			p.edges(func(e *edge) {
				for _, u := range e.uplinks {
					if e.n.Link(u.Bridge.Name) == nil || len(snapshot.Global(e.n, u.Bridge.Name)) > 0 {
						continue // without a link of its own there is nothing to give addresses to
					}
					if nic := u.Link(); nic != "" && len(snapshot.Global(e.n, nic)) > 0 {
						p.bridgeIPOnNIC(e, u)
					}
				}
				p.bridgeIPNowhere(e)
			})
		})
	},
}

// bridgeIPOnNIC reports a bridge whose uplink has the addresses.
func (p *Pass) bridgeIPOnNIC(e *edge, u snapshot.Uplink) {
	nic, bridge := u.Link(), u.Bridge.Name
	proof := []Evidence{
		{Source: "Bridge " + bridge, Says: fmt.Sprintf("its uplink is %s, by %s", nic, u.Source)},
		e.addressEvidence(bridge), e.addressEvidence(nic),
	}
	fix := catalog.RestoreBridgeIP.With(bridge)
	if u.Port == nil {
		fix = catalog.AttachUplink.With(bridge, nic)
	}
	p.Report(Finding{
		Object:   e.bridge(bridge),
		Also:     []Object{nodeObject(e.Name), e.link(nic)},
		Title:    fmt.Sprintf("bridge %s has no address, its uplink %s has %s", bridge, nic, snapshot.Global(e.n, nic)[0].Prefix),
		Evidence: append(append(proof, e.routeEvidence(nic)...), e.atBoot(nic)...),
		Cause:    "the host gave the addresses to the network card, as it does at boot, and nobody moved them to the bridge",
		Effect:   "what arrives for the host is handed to the bridge, which does not have the address: tunnels, the API server and the world outside are out of reach",
		Fix:      fix,
	})
}

// bridgeIPNowhere reports the bridge that should have the node's tunnel address
// where no link has it.
func (p *Pass) bridgeIPNowhere(e *edge) {
	ips, source := e.homeless()
	bare := e.bare()
	if len(ips) == 0 || len(bare) == 0 {
		return
	}
	f := Finding{
		Cause:  "nobody gave the bridge its addresses when the host booted, or somebody took them away",
		Effect: "the node's tunnels have no end, and what is reached through the bridge is not: the databases, the API server, the world outside",
	}
	proof := []Evidence{{Source: source, Says: fmt.Sprintf("tunnel address %s, which no link has", ips[0])}}
	if len(bare) > 1 {
		f.Object, f.Also = nodeObject(e.Name), nil
		f.Title = fmt.Sprintf("no link of %s has %s, and %d bridges have no address", e.Name, ips[0], len(bare))
		f.Next = fmt.Sprintf("ovnctl fix restore-bridge-ip %s, if it is that one", bare[0].Bridge.Name)
		for _, u := range bare {
			f.Also = append(f.Also, e.bridge(u.Bridge.Name))
			proof = append(proof, e.addressEvidence(u.Bridge.Name))
		}
		f.Evidence = proof
		p.Report(f)
		return
	}
	u := bare[0]
	bridge := u.Bridge.Name
	if e.n.Link(bridge) == nil {
		return
	}
	f.Object, f.Also = e.bridge(bridge), []Object{nodeObject(e.Name)}
	f.Title = fmt.Sprintf("bridge %s has no address, and no link has %s", bridge, ips[0])
	proof = append(proof, e.addressEvidence(bridge))
	for _, nic := range u.Links {
		f.Also = append(f.Also, e.link(nic))
		proof = append(proof, e.addressEvidence(nic))
	}
	f.Evidence = append(proof, e.atBoot(bridge)...)
	if u.Link() != "" {
		f.Evidence = append(f.Evidence, e.atBoot(u.Link())...)
	}
	f.Fix = catalog.RestoreBridgeIP.With(bridge)
	p.Report(f)
}
