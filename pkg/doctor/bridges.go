package doctor

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// An edge is a node with its bridges to the network around it.
type NetNode struct {
	*snapshot.Host
	Net     *node.Network
	Uplinks []snapshot.Uplink
}

// edges calls f for each node of which the switch and the network can be read.
// What it cannot tell of a node it says.
func (p *Pass) NetNodes(f func(*NetNode)) {
	any := false
	for _, h := range p.Hosts {
		go func() { // all nodes are asked side by side, and remember
			if _, err := h.Uplinks(); err == nil {
				_, _ = h.Gate()
			}
		}()
	}
	for _, h := range p.Hosts {
		if _, err := h.Switch(); err != nil {
			if !errors.Is(err, node.ErrUnavailable) && !errors.Is(err, snapshot.ErrNoSwitch) {
				p.Unknown(NodeObject(h.Name), err)
			}
			continue
		}
		n, err := h.Network()
		if err != nil {
			any = true
			p.Unknown(NodeObject(h.Name), err)
			continue
		}
		uplinks, err := h.Uplinks()
		if err != nil {
			p.Unknown(NodeObject(h.Name), err)
			continue
		}
		any = true
		f(&NetNode{h, n, uplinks})
	}
	if !any {
		p.Skip("no node with Open vSwitch can be read from here")
	}
}

func (e *NetNode) BridgeObject(name string) Object {
	return Object{Kind: "bridge", Name: name, Node: e.Name}
}
func (e *NetNode) LinkObject(name string) Object {
	return Object{Kind: "link", Name: name, Node: e.Name}
}

// addressEvidence says which addresses a link has.
func (e *NetNode) AddressEvidence(link string) Evidence {
	var list []string
	for _, a := range snapshot.Global(e.Net, link) {
		list = append(list, a.Prefix.String())
	}
	return Evidence{Source: Addresses(link), Says: noneOr(list)}
}

func noneOr(list []string) string {
	if len(list) == 0 {
		return "none that others can reach"
	}
	return strings.Join(list, ", ")
}

// routeEvidence says which routes lead through a link, the default routes first.
func (e *NetNode) RouteEvidence(link string) []Evidence {
	var list []Evidence
	for _, r := range e.Net.Routes {
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

// homeless are the tunnel addresses of the node that no link has and no other
// link's network holds, as one that was mistyped would be.
func (e *NetNode) MissingEncapIPs() (ips []netip.Addr, source string) {
	all, source := e.EncapIPs()
	for _, ip := range all {
		near := slices.ContainsFunc(e.Net.Addresses, func(a node.Address) bool {
			return a.Prefix.Addr() == ip || a.Scope == "global" && a.Prefix.Bits() > 0 && a.Prefix.Contains(ip)
		})
		if !near {
			ips = append(ips, ip)
		}
	}
	return ips, source
}

// bare are the bridges with an uplink that have no address of their own, and
// whose uplink has none.
func (e *NetNode) WithoutAddress() []snapshot.Uplink {
	var list []snapshot.Uplink
	for _, u := range e.Uplinks {
		held := slices.ContainsFunc(append([]string{u.Bridge.Name}, u.Links...), func(l string) bool { return len(snapshot.Global(e.Net, l)) > 0 })
		if !held {
			list = append(list, u)
		}
	}
	return list
}

// atBoot are the places that give a link its addresses when the host boots.
func (e *NetNode) AtBoot(link string) []Evidence {
	all, err := e.Persistent()
	if err != nil {
		return nil
	}
	var list []Evidence
	for _, p := range all {
		if p.Link == link && p.Gives() {
			what := "DHCP"
			if len(p.Addresses) > 0 {
				what = p.Addresses[0].String()
			}
			list = append(list, Evidence{Source: File(p.File, p.Line), Says: fmt.Sprintf("%s gives %s to %s at boot", p.Tool, what, link)})
		}
	}
	return list
}
