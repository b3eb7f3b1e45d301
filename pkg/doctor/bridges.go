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
type edge struct {
	*snapshot.Host
	n       *node.Network
	uplinks []snapshot.Uplink
}

// edges calls f for each node of which the switch and the network can be read.
// What it cannot tell of a node it says.
func (p *Pass) edges(f func(*edge)) {
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
				p.Unknown(nodeObject(h.Name), err)
			}
			continue
		}
		n, err := h.Network()
		if err != nil {
			any = true
			p.Unknown(nodeObject(h.Name), err)
			continue
		}
		uplinks, err := h.Uplinks()
		if err != nil {
			p.Unknown(nodeObject(h.Name), err)
			continue
		}
		any = true
		f(&edge{h, n, uplinks})
	}
	if !any {
		p.Skip("no node with Open vSwitch can be read from here")
	}
}

func (e *edge) bridge(name string) Object { return Object{Kind: "bridge", Name: name, Node: e.Name} }
func (e *edge) link(name string) Object   { return Object{Kind: "link", Name: name, Node: e.Name} }

// addressEvidence says which addresses a link has.
func (e *edge) addressEvidence(link string) Evidence {
	var list []string
	for _, a := range snapshot.Global(e.n, link) {
		list = append(list, a.Prefix.String())
	}
	return Evidence{Source: "addresses of link " + link, Says: noneOr(list)}
}

func noneOr(list []string) string {
	if len(list) == 0 {
		return "none that others can reach"
	}
	return strings.Join(list, ", ")
}

// routeEvidence says which routes lead through a link, the default routes first.
func (e *edge) routeEvidence(link string) []Evidence {
	var list []Evidence
	for _, r := range e.n.Routes {
		if r.Dev == link && r.Via.IsValid() && r.Table != 255 {
			dst := r.Dst.String()
			if r.Dst.Bits() == 0 {
				dst = "default"
			}
			list = append(list, Evidence{Source: "routes", Says: fmt.Sprintf("%s via %s dev %s", dst, r.Via, link)})
		}
	}
	return list[:min(len(list), 4)]
}

// homeless are the tunnel addresses of the node that no link has and no other
// link's network holds, as one that was mistyped would be.
func (e *edge) homeless() (ips []netip.Addr, source string) {
	all, source := e.EncapIPs()
	for _, ip := range all {
		near := slices.ContainsFunc(e.n.Addresses, func(a node.Address) bool {
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
func (e *edge) bare() []snapshot.Uplink {
	var list []snapshot.Uplink
	for _, u := range e.uplinks {
		held := slices.ContainsFunc(append([]string{u.Bridge.Name}, u.Links...), func(l string) bool { return len(snapshot.Global(e.n, l)) > 0 })
		if !held {
			list = append(list, u)
		}
	}
	return list
}

// atBoot are the places that give a link its addresses when the host boots.
func (e *edge) atBoot(link string) []Evidence {
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
			list = append(list, Evidence{Source: fmt.Sprintf("file %s line %d", p.File, p.Line), Says: fmt.Sprintf("%s gives %s to %s at boot", p.Tool, what, link)})
		}
	}
	return list
}
