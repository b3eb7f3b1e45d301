package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// A Node is a node with its Open vSwitch, kernel network and uplinks.
type Node struct {
	*snapshot.Host
	Net     *node.Network
	Uplinks []facts.Uplink
}

// OnNode is the Host of a check that looks at a node with its kernel network. One that cannot be read is reported as unknown.
func OnNode(look func(*Pass, *Node)) func(*Pass, *snapshot.Host) {
	return On("no node with Open vSwitch can be read from here", (*Pass).nodeOf, look)
}

// OnUplinks is the Host of a check that looks at the uplinks of [OnNode]'s nodes.
func OnUplinks(look func(*Pass, *Node, facts.Uplink)) func(*Pass, *snapshot.Host) {
	return OnNode(func(p *Pass, n *Node) {
		for _, u := range n.Uplinks {
			look(p, n, u)
		}
	})
}

func (p *Pass) nodeOf(h *snapshot.Host) (n *Node, applies bool) {
	if _, err := h.Switch(); errors.Is(err, node.ErrUnavailable) {
		return nil, false
	} else if err != nil {
		p.Unknown(NodeObject(h.Name), err)
		return nil, false
	}
	network, ok := Need(p, NodeObject(h.Name), h.Network)
	if !ok {
		return nil, false
	}
	uplinks, ok := Need(p, NodeObject(h.Name), func() ([]facts.Uplink, error) { return facts.UplinksOf(h) })
	if !ok {
		return nil, false
	}
	return &Node{h, network, uplinks}, true
}

// AddressEvidence lists the global addresses of a link.
func (n *Node) AddressEvidence(link string) Evidence {
	var list []string
	for _, a := range facts.Global(n.Net, link) {
		list = append(list, a.Prefix.String())
	}
	return Evidence{Source: Addresses(link), Says: cmp.Or(strings.Join(list, ", "), "no global address")}
}

// RouteEvidence lists routes through a link that have a next hop, at most four.
func (n *Node) RouteEvidence(link string) []Evidence {
	var list []Evidence
	for _, r := range n.Net.Routes {
		if r.Dev == link && r.Via.IsValid() && r.Table != 255 {
			dst := r.Dst.String()
			if r.Dst.Bits() == 0 {
				dst = "default"
			}
			list = append(list, Evidence{Source: Routes(), Says: fmt.Sprintf("%s via %s dev %s", dst, r.Via, link)})
		}
	}
	return list[:min(len(list), 4)]
}

// MissingEncapIPs returns the node's tunnel addresses that no link has, and where they are configured. An address
// within a link's network is left out: it is mistyped rather than missing.
func (n *Node) MissingEncapIPs() (ips []netip.Addr, source Source) {
	all, _ := facts.EncapIPs(n.Host)
	for _, ip := range all {
		near := slices.ContainsFunc(n.Net.Addresses, func(a node.Address) bool {
			return a.Prefix.Addr() == ip || a.Scope == "global" && a.Prefix.Bits() > 0 && a.Prefix.Contains(ip)
		})
		if !near {
			ips = append(ips, ip)
		}
	}
	source = SB("Encap", "")
	if s, err := n.Switch(); err == nil {
		chassis, _, _ := n.ChassisName()
		if value, key := s.Setting("ovn-encap-ip", chassis); value != "" {
			source = Setting("external_ids:" + key)
		}
	}
	return ips, source
}

// BridgesWithoutAddress returns the bridges with an uplink and no global address on either.
func (n *Node) BridgesWithoutAddress() []facts.Uplink {
	hasAddress := func(link string) bool { return len(facts.Global(n.Net, link)) > 0 }
	var list []facts.Uplink
	for _, u := range n.Uplinks {
		if !hasAddress(u.Bridge.Name) && !slices.ContainsFunc(u.Links, hasAddress) {
			list = append(list, u)
		}
	}
	return list
}

// AtBoot lists the configuration files that give a link its addresses at boot.
func (n *Node) AtBoot(link string) []Evidence {
	all, err := facts.PersistentOf(n.Host)
	if err != nil {
		return nil
	}
	var list []Evidence
	for _, p := range all {
		if p.Link != link || !p.Gives() {
			continue
		}
		what := "DHCP"
		if len(p.Addresses) > 0 {
			what = p.Addresses[0].String()
		}
		list = append(list, Evidence{Source: File(p.File, p.Line), Says: fmt.Sprintf("%s gives %s to %s at boot", p.Tool, what, link)})
	}
	return list
}
