package host

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/node"
)

// tunnelPort is the UDP port of Geneve.
const tunnelPort = 6081

// ipsecPolicies reports policies that stop packets between a host and what it should reach, one finding for each policy.
func ipsecPolicies(p *doctor.Pass, n *doctor.Node) {
	if n.Net.IPsec == nil || len(n.Net.IPsec.Policies) == 0 {
		return
	}
	seen := map[string]bool{}
	for _, to := range targets(p, n) {
		way, err := n.Node().Route(p.Context(), node.RouteQuery{Dst: to.address})
		if err != nil || !way.Src.IsValid() {
			continue
		}
		out := node.FilterPacket{Protocol: "udp", Src: way.Src, Dst: to.address, SrcPort: tunnelPort, DstPort: tunnelPort}
		in := node.FilterPacket{Protocol: "udp", Src: to.address, Dst: way.Src, SrcPort: tunnelPort, DstPort: tunnelPort}
		for i, direction := range []string{"out", "in"} {
			did, by := n.Net.IPsec.Judge(direction, []node.FilterPacket{out, in}[i])
			if (did == node.IPsecBlocks || did == node.IPsecLacks) && !seen[by.String()] {
				seen[by.String()] = true
				policyStops(p, n, to, did, by)
			}
		}
	}
}

func policyStops(p *doctor.Pass, n *doctor.Node, to target, did node.IPsecVerdict, by *node.IPsecPolicy) {
	way := "to"
	if by.Direction == "in" {
		way = "from"
	}
	f := doctor.Finding{
		Object:   doctor.NodeObject(n.Name),
		Reason:   "ipsec-blocks",
		Also:     []doctor.Object{to.on},
		Title:    fmt.Sprintf("an IPsec policy of %s blocks packets %s %s: %s", n.Name, way, to.what, by),
		Evidence: []doctor.Evidence{doctor.Command("ip xfrm policy").On(n.Name).Says(by.String())},
		Cause:    "the policy was added by hand or by a tool",
		Effect:   fmt.Sprintf("what this host itself exchanges with %s is lost; with a switch in the kernel its tunnels are, too, if the policy is for the nodes' addresses", to.what),
		Next:     "on " + n.Name + ": " + fixes.Command("ip xfrm policy delete src %s dst %s dir %s", by.Src.String(), by.Dst.String(), by.Direction),
	}
	if did == node.IPsecLacks {
		f.Reason = "ipsec-lacks"
		f.Title = fmt.Sprintf("an IPsec policy of %s has packets %s %s encrypted, but there is no security association for that: %s", n.Name, way, to.what, by)
		f.Evidence = append(f.Evidence, doctor.Command("ip xfrm state list nokeys").On(n.Name).Says("no association that the policy needs"))
		f.Cause = "the key exchange with the other end fails or has not begun, or the policy was left behind"
		f.Next = "on " + n.Name + ": ip xfrm state list nokeys; ipsec status; if nothing should be encrypted: " + fixes.Command("ip xfrm policy delete src %s dst %s dir %s", by.Src.String(), by.Dst.String(), by.Direction)
	}
	p.Report(f)
}
