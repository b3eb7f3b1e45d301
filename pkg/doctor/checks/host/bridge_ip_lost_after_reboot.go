package host

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var BridgeIPLostAfterReboot = &doctor.Check{
	Name:     "bridge-ip-lost-after-reboot",
	Category: "node-os",
	Doc: `A bridge to the network outside has lost its addresses

After a boot the distribution gives the addresses to the network card, while the card
is a port of the bridge; or nobody gives them to anyone.`,
	Causes: []string{"vswitchd-not-running", "uplink-not-in-bridge", "bridge-link-down", "conf-db-lost-or-corrupt"},
	Settle: true,
	Run: func(p *doctor.Pass) {
		p.NetNodes(func(e *doctor.NetNode) {
			for _, u := range e.Uplinks {
				if e.Net.Link(u.Bridge.Name) == nil || len(snapshot.Global(e.Net, u.Bridge.Name)) > 0 {
					continue // without a link of its own there is nothing to give addresses to
				}
				if nic := u.Link(); nic != "" && len(snapshot.Global(e.Net, nic)) > 0 {
					bridgeIPOnNIC(p, e, u)
				}
			}
			bridgeIPNowhere(p, e)
		})
	},
}

// bridgeIPOnNIC reports a bridge whose uplink has the addresses.
func bridgeIPOnNIC(p *doctor.Pass, e *doctor.NetNode, u snapshot.Uplink) {
	nic, bridge := u.Link(), u.Bridge.Name
	proof := []doctor.Evidence{
		{Source: doctor.OVS("Bridge", bridge), Says: fmt.Sprintf("its uplink is %s, by %s", nic, u.Source)},
		e.AddressEvidence(bridge), e.AddressEvidence(nic),
	}
	fix := catalog.RestoreBridgeIP.With(bridge)
	if u.Port == nil {
		fix = catalog.AttachUplink.With(bridge, nic)
	}
	p.Report(doctor.Finding{
		Object:   e.BridgeObject(bridge),
		Also:     []doctor.Object{doctor.NodeObject(e.Name), e.LinkObject(nic)},
		Title:    fmt.Sprintf("bridge %s has no address, its uplink %s has %s", bridge, nic, snapshot.Global(e.Net, nic)[0].Prefix),
		Evidence: append(append(proof, e.RouteEvidence(nic)...), e.AtBoot(nic)...),
		Cause:    "the host gave the addresses to the network card, as it does at boot, and nobody moved them to the bridge",
		Effect:   "what arrives for the host is handed to the bridge, which does not have the address: tunnels, the API server and the world outside are out of reach",
		Fix:      fix,
	})
}

// bridgeIPNowhere reports the bridge that should have the node's tunnel address
// where no link has it.
func bridgeIPNowhere(p *doctor.Pass, e *doctor.NetNode) {
	ips, source := e.MissingEncapIPs()
	bare := e.WithoutAddress()
	if len(ips) == 0 || len(bare) == 0 {
		return
	}
	f := doctor.Finding{
		Cause:  "nobody gave the bridge its addresses when the host booted, or somebody took them away",
		Effect: "the node's tunnels have no end, and what is reached through the bridge is not: the databases, the API server, the world outside",
	}
	proof := []doctor.Evidence{{Source: doctor.Other(source), Says: fmt.Sprintf("tunnel address %s, which no link has", ips[0])}}
	if len(bare) > 1 {
		f.Object, f.Also = doctor.NodeObject(e.Name), nil
		f.Title = fmt.Sprintf("no link of %s has %s, and %d bridges have no address", e.Name, ips[0], len(bare))
		f.Next = fmt.Sprintf("ovnctl fix restore-bridge-ip %s, if it is that one", bare[0].Bridge.Name)
		for _, u := range bare {
			f.Also = append(f.Also, e.BridgeObject(u.Bridge.Name))
			proof = append(proof, e.AddressEvidence(u.Bridge.Name))
		}
		f.Evidence = proof
		p.Report(f)
		return
	}
	u := bare[0]
	bridge := u.Bridge.Name
	if e.Net.Link(bridge) == nil {
		return
	}
	f.Object, f.Also = e.BridgeObject(bridge), []doctor.Object{doctor.NodeObject(e.Name)}
	f.Title = fmt.Sprintf("bridge %s has no address, and no link has %s", bridge, ips[0])
	proof = append(proof, e.AddressEvidence(bridge))
	for _, nic := range u.Links {
		f.Also = append(f.Also, e.LinkObject(nic))
		proof = append(proof, e.AddressEvidence(nic))
	}
	f.Evidence = append(proof, e.AtBoot(bridge)...)
	if u.Link() != "" {
		f.Evidence = append(f.Evidence, e.AtBoot(u.Link())...)
	}
	f.Fix = catalog.RestoreBridgeIP.With(bridge)
	p.Report(f)
}
