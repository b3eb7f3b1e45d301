package host

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
)

var IPOnEnslavedNIC = &doctor.Check{
	Name:     "ip-on-enslaved-nic",
	Category: "node-os",
	Doc: `A port of a bridge has an address of the host

A link that is a port hands all that it receives to the bridge. With an address on it
the host replies from the wrong link, twice or not at all.`,
	Causes: []string{"bridge-ip-lost-after-reboot"},
	Settle: true,
	Run:    doctor.Over2((*doctor.Pass).Uplinks, addressesOnPort),
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
