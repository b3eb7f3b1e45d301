package cms

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var KubeOvnNodeIPInSubnet = &doctor.Check{
	Name:     "kube-ovn-node-ip-in-subnet",
	Category: "kube-ovn",
	Doc: `A Kube-OVN subnet overlaps a node's address or route

Kube-OVN sends packets for the addresses of a subnet or the join network to pods. A node with
such an address, or a host in such a network elsewhere, is unreachable. Underlay subnets, which
the nodes share on purpose, are left out.`,
	Run: func(p *doctor.Pass) {
		for z, k := range kubeOVNs(p) {
			nets := overlaySubnets(k)
			reported := map[inSubnet]bool{}
			for _, n := range k.NodeAddresses() {
				if s, ok := nets.holds(address(n.Addr)); ok && !reported[inSubnet{n.Node, s.subnet}] {
					reported[inSubnet{n.Node, s.subnet}] = true
					p.Report(nodeInSubnet(n.Node, s, fmt.Sprintf("the address %s of node %s is in subnet %s", n.Addr, n.Node, s.subnet), doctor.Other(n.Source).Says(n.Addr.String())))
				}
			}
			for _, h := range p.Hosts {
				if h.Zone() == z {
					hostInSubnets(p, h, k, nets, reported)
				}
			}
		}
	},
}

type inSubnet struct{ node, subnet string }

// overlays are the networks that belong to subnets only.
type overlays []overlay

type overlay struct {
	subnet string
	cidr   netip.Prefix
}

func overlaySubnets(k *catalog.KubeOVN) overlays {
	var out overlays
	for _, s := range k.Subnets {
		for _, f := range []int{4, 6} {
			if c, ok := s.CIDRs[f]; ok && !s.Underlay {
				out = append(out, overlay{s.Name, c})
			}
		}
	}
	return out
}

// holds finds the subnet of a network, or of an address with its full length.
func (o overlays) holds(p netip.Prefix) (overlay, bool) {
	for _, s := range o {
		if s.cidr.Contains(p.Addr()) && p.Bits() >= s.cidr.Bits() {
			return s, true
		}
	}
	return overlay{}, false
}

func address(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }

func nodeInSubnet(node string, s overlay, title string, seen doctor.Evidence) doctor.Finding {
	return doctor.Finding{
		Object:   doctor.NodeObject(node),
		Also:     []doctor.Object{{Kind: "switch", Name: s.subnet}},
		Title:    title,
		Evidence: []doctor.Evidence{seen, doctor.NB("Logical_Router_Port", "").Says("of subnet " + s.subnet + ": network " + s.cidr.String())},
		Cause:    "the subnet uses a network that is in use outside it",
		Effect:   "pods and the node do not reach each other, and a pod may be given the same address",
		Next:     fmt.Sprintf("move the pods to a new subnet with another network: kubectl get subnet %s -o yaml; the cidrBlock of a subnet in use cannot change", s.subnet),
	}
}

// hostInSubnets reports the addresses and routes of a host that are in a subnet.
func hostInSubnets(p *doctor.Pass, h *snapshot.Host, k *catalog.KubeOVN, nets overlays, reported map[inSubnet]bool) {
	n, ok := doctor.Need(p, doctor.NodeObject(h.Name), h.Network)
	if !ok {
		return
	}
	link := k.LinkOf(h)
	report := func(s overlay, title string, seen doctor.Evidence) {
		if !reported[inSubnet{h.Name, s.subnet}] {
			reported[inSubnet{h.Name, s.subnet}] = true
			p.Report(nodeInSubnet(h.Name, s, title, seen))
		}
	}
	for _, a := range n.Addresses {
		if a.Scope != "global" || a.Link == link || a.Link == "lo" {
			continue
		}
		if s, ok := nets.holds(address(a.Prefix.Addr())); ok {
			report(s, fmt.Sprintf("%s on %s has %s, which is in subnet %s", a.Link, h.Name, a.Prefix.Addr(), s.subnet), doctor.Link(a.Link).On(h.Name).Says(a.Prefix.String()))
		}
	}
	for _, r := range n.Routes {
		if s, ok := nets.holds(r.Dst); ok && stray(n, r, link) {
			report(s, fmt.Sprintf("%s has a route to %s in subnet %s that does not lead to %s", h.Name, r.Dst, s.subnet, link), doctor.Routes().On(h.Name).Says(fmt.Sprintf("%s via %s dev %s", r.Dst, r.Via, r.Dev)))
		}
	}
}

// stray reports whether the host uses a route to a subnet, or to a part of it, that does not lead to the join switch.
func stray(n *node.Network, r node.Route, link string) bool {
	if r.Type != "unicast" || r.Table != 254 || r.Dev == link {
		return false
	}
	return !slices.ContainsFunc(n.Routes, func(own node.Route) bool {
		return own.Dst == r.Dst && own.Dev == link && own.Metric < r.Metric
	})
}
