package host

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
)

var BridgeIPLostAfterReboot = &doctor.Check{
	Name:     "bridge-ip-lost-after-reboot",
	Category: "node-os",
	Doc: `An external bridge has lost its addresses

At boot the distribution gives the host's addresses to the NIC although the NIC is a port
of the bridge, or nothing configures them at all.`,
	Causes: []string{"vswitchd-not-running", "uplink-not-in-bridge", "bridge-link-down", "conf-db-lost-or-corrupt"},
	Settle: true,
	Host: doctor.OnNode(func(p *doctor.Pass, n *doctor.Node) {
		for _, u := range n.Uplinks {
			if n.Net.Link(u.Bridge.Name) == nil || len(facts.Global(n.Net, u.Bridge.Name)) > 0 {
				continue // without a link it can have no address
			}
			if nic := u.Link(); nic != "" && len(facts.Global(n.Net, nic)) > 0 {
				addressesOnUplink(p, n, u)
			}
		}
		addressesNowhere(p, n)
	}),
}

// addressesOnUplink reports a bridge whose addresses are on its uplink.
func addressesOnUplink(p *doctor.Pass, n *doctor.Node, u facts.Uplink) {
	nic, bridge := u.Link(), u.Bridge.Name
	evidence := []doctor.Evidence{
		{Source: doctor.OVS("Bridge", bridge), Says: fmt.Sprintf("its uplink is %s, by %s", nic, u.Source)},
		n.AddressEvidence(bridge), n.AddressEvidence(nic),
	}
	fix := catalog.RestoreBridgeIP.With(bridge)
	if u.Port == nil {
		fix = catalog.AttachUplink.With(bridge, nic)
	}
	p.Report(doctor.Finding{
		Object:   doctor.BridgeObject(n.Host, bridge),
		Reason:   "address-on-uplink",
		Also:     []doctor.Object{doctor.NodeObject(n.Name), doctor.LinkObject(n.Host, nic)},
		Title:    fmt.Sprintf("bridge %s has no address; its uplink %s has %s", bridge, nic, facts.Global(n.Net, nic)[0].Prefix),
		Evidence: append(append(evidence, n.RouteEvidence(nic)...), n.AtBoot(nic)...),
		Cause:    "the host configured the NIC at boot, and nothing moved the addresses to the bridge",
		Effect:   "the bridge receives the host's packets and does not have the address: tunnels, the API server and external networks are unreachable",
		Fix:      fix,
	})
}

// addressesNowhere reports the bridge that should have the node's tunnel address, if no link has it.
func addressesNowhere(p *doctor.Pass, n *doctor.Node) {
	ips, source := n.MissingEncapIPs()
	bridges := n.BridgesWithoutAddress()
	if len(ips) == 0 || len(bridges) == 0 {
		return
	}
	f := doctor.Finding{
		Reason:   "no-address",
		Evidence: []doctor.Evidence{{Source: source, Says: fmt.Sprintf("no link has the tunnel address %s", ips[0])}},
		Cause:    "nothing configured the bridge at boot, or its addresses were removed",
		Effect:   "the node has no tunnel endpoint; databases, API server and external networks behind the bridge are unreachable",
	}
	bridge := bridges[0].Bridge.Name
	if len(bridges) > 1 {
		f.Object = doctor.NodeObject(n.Name)
		f.Title = fmt.Sprintf("no link of %s has %s, and %d bridges have no address", n.Name, ips[0], len(bridges))
		f.Next = fixes.Command("ovnctl fix restore-bridge-ip %s, if it is this bridge", bridge)
		for _, u := range bridges {
			f.Also = append(f.Also, doctor.BridgeObject(n.Host, u.Bridge.Name))
			f.Evidence = append(f.Evidence, n.AddressEvidence(u.Bridge.Name))
		}
		p.Report(f)
		return
	}
	if n.Net.Link(bridge) == nil {
		return
	}
	f.Object, f.Also = doctor.BridgeObject(n.Host, bridge), []doctor.Object{doctor.NodeObject(n.Name)}
	f.Title = fmt.Sprintf("bridge %s has no address, and no link has %s", bridge, ips[0])
	f.Evidence = append(f.Evidence, n.AddressEvidence(bridge))
	for _, nic := range bridges[0].Links {
		f.Also = append(f.Also, doctor.LinkObject(n.Host, nic))
		f.Evidence = append(f.Evidence, n.AddressEvidence(nic))
	}
	f.Evidence = append(f.Evidence, n.AtBoot(bridge)...)
	if nic := bridges[0].Link(); nic != "" {
		f.Evidence = append(f.Evidence, n.AtBoot(nic)...)
	}
	f.Fix = catalog.RestoreBridgeIP.With(bridge)
	p.Report(f)
}

var IPOnEnslavedNIC = &doctor.Check{
	Name:     "ip-on-enslaved-nic",
	Category: "node-os",
	Doc: `A port of a bridge has an address of the host

A link that is a port hands all that it receives to the bridge. With an address on it
the host replies from the wrong link, twice or not at all.`,
	Causes: []string{"bridge-ip-lost-after-reboot"},
	Settle: true,
	Host:   doctor.OnUplinks(addressesOnPort),
}

func addressesOnPort(p *doctor.Pass, n *doctor.Node, u facts.Uplink) {
	bridge := u.Bridge.Name
	for _, nic := range u.Links {
		own := facts.Global(n.Net, nic)
		if u.Port == nil || len(own) == 0 {
			continue
		}
		evidence := []doctor.Evidence{{Source: doctor.OVS("Port", u.Port.Name), Says: "is in bridge " + bridge}, n.AddressEvidence(nic), n.AddressEvidence(bridge)}
		f := doctor.Finding{
			Object:   doctor.LinkObject(n.Host, nic),
			Also:     []doctor.Object{doctor.NodeObject(n.Name), doctor.BridgeObject(n.Host, bridge)},
			Title:    fmt.Sprintf("%s is a port of bridge %s and has %s", nic, bridge, own[0].Prefix),
			Evidence: append(append(evidence, n.RouteEvidence(nic)...), n.AtBoot(nic)...),
			Cause:    "network scripts, NetworkManager or a person gave the link an address after it became a port",
			Effect:   "replies leave by the wrong link; neighbours get two ARP replies for one address, or none",
		}
		if u.Link() != "" && n.Net.Link(bridge) != nil {
			f.Fix = catalog.MoveAddresses.With(bridge)
		} else {
			f.Next = fixes.Command("ip addr add %s dev %s; ip addr del %s dev %s", own[0].Prefix, bridge, own[0].Prefix, nic)
		}
		p.Report(f)
	}
}

var BridgeLinkDown = &doctor.Check{
	Name:     "bridge-link-down",
	Category: "node-os",
	Doc: `The link of a bridge with the host's addresses is down

The host reaches its network through the bridge's own link. While that is down, the
kernel keeps no routes and no IPv6 addresses on it.`,
	Causes: []string{"vswitchd-not-running"},
	Settle: true,
	Host:   doctor.OnUplinks(linkDown),
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
