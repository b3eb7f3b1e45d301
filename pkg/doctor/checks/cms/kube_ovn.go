package cms

import (
	"errors"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var KubeOvnJoinGap = &doctor.Check{
	Name:     "kube-ovn-join-gap",
	Category: "kube-ovn",
	Doc: `Rows with which Kube-OVN connects nodes and pods are missing

Checks the default VPC: the default route to the join switch, each node's port node-NODE and
policy 30000, its port groups, each subnet's policy 31000 and the policies 29000 through which
its pods leave, for both families.`,
	Settle: true, // Kube-OVN writes the rows of a new node one by one
	Run: func(p *doctor.Pass) {
		for _, k := range kubeOVNs(p) {
			for _, g := range k.Gaps {
				p.Report(kubeFinding(g))
			}
		}
	},
}

// kubeOVNs yields the zones that Kube-OVN manages. Without any the check is skipped.
func kubeOVNs(p *doctor.Pass) iter.Seq2[*snapshot.Zone, *catalog.KubeOVN] {
	return func(yield func(*snapshot.Zone, *catalog.KubeOVN) bool) {
		found := false
		for z := range p.EachZone() {
			k, err := catalog.ReadKubeOVN(p.Deployment, z)
			switch {
			case errors.Is(err, catalog.ErrNoKubeOVN):
				continue
			case err != nil:
				p.Unknown(doctor.Object{Kind: "zone", Name: z.Name}, err)
				continue
			}
			found = true
			if !yield(z, k) {
				return
			}
		}
		if !found {
			p.Skip(catalog.ErrNoKubeOVN.Error())
		}
	}
}

func kubeFinding(g catalog.KubeGap) doctor.Finding {
	f := doctor.Finding{
		Object: doctor.Object{Kind: g.Kind, Name: g.Name},
		Reason: g.Repair,
		Title:  g.Title,
		Cause:  "kube-ovn-controller has not written it, or it was removed",
		Effect: g.Effect,
	}
	if g.Minor {
		f.Result = doctor.Warning
	}
	for _, s := range g.Says {
		f.Evidence = append(f.Evidence, doctor.Other("Northbound").Says(s))
	}
	f.Concern(doctor.NodeObject(g.Node))
	f.Concern(doctor.Object{Kind: "switch", Name: g.Subnet})
	for _, set := range g.Sets {
		f.Also = append(f.Also, doctor.Object{Kind: "address set", Name: set})
	}
	const restart = "restart kube-ovn-controller, which writes it when it starts: kubectl -n kube-system rollout restart deployment kube-ovn-controller"
	switch r := catalog.Find(g.Repair); {
	case r == nil:
		f.Next = restart
	case !g.Known():
		f.Next = fmt.Sprintf("%s, or %s", restart, g.Advice())
	default:
		f.Fix = r.With(g.Args...)
	}
	return f
}

var KubeOvnNodeIPInSubnet = &doctor.Check{
	Name:     "kube-ovn-node-ip-in-subnet",
	Category: "kube-ovn",
	Doc: `A Kube-OVN subnet overlaps a node's address or route

Kube-OVN sends packets for the addresses of a subnet or the join network to pods. A node with
such an address, or a host in such a network elsewhere, is unreachable. Underlay subnets, which
the nodes share on purpose, are left out.`,
	Host: func(p *doctor.Pass, h *snapshot.Host) {
		if h.Zone() == nil {
			return
		}
		if k, err := catalog.ReadKubeOVN(p.Deployment, h.Zone()); err == nil {
			hostInSubnets(p, h, k)
		}
	},
	Run: func(p *doctor.Pass) {
		for _, k := range kubeOVNs(p) {
			nets := overlaySubnets(k)
			reported := map[inSubnet]bool{}
			for _, n := range k.NodeAddresses() {
				if s, ok := nets.holds(address(n.Addr)); ok && !reported[inSubnet{n.Node, s.subnet}] {
					reported[inSubnet{n.Node, s.subnet}] = true
					p.Report(nodeInSubnet(n.Node, s, fmt.Sprintf("the address %s of node %s is in subnet %s", n.Addr, n.Node, s.subnet), doctor.Other(n.Source).Says(n.Addr.String())))
				}
			}
		}
	},
}

type inSubnet struct{ node, subnet string }

// overlays are the networks used by subnets only.
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

// holds finds the subnet that contains a network, or an address as a full-length prefix.
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
		Next:     fixes.Command("move the pods to a new subnet with another network: kubectl get subnet %s -o yaml; the cidrBlock of a subnet in use cannot change", s.subnet),
	}
}

// hostInSubnets reports a host's addresses and routes that are in a subnet, unless the node's own address is: that is reported by the databases.
func hostInSubnets(p *doctor.Pass, h *snapshot.Host, k *catalog.KubeOVN) {
	n, ok := doctor.Need(p, doctor.NodeObject(h.Name), h.Network)
	if !ok {
		return
	}
	link, nets := k.LinkOf(h), overlaySubnets(k)
	reported := map[inSubnet]bool{}
	for _, a := range k.NodeAddresses() {
		if s, ok := nets.holds(address(a.Addr)); ok {
			reported[inSubnet{a.Node, s.subnet}] = true
		}
	}
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

// stray reports whether the host uses a route into a subnet that does not lead to the join switch.
func stray(n *node.Network, r node.Route, link string) bool {
	if r.Type != "unicast" || r.Table != 254 || r.Dev == link {
		return false
	}
	return !slices.ContainsFunc(n.Routes, func(own node.Route) bool {
		return own.Dst == r.Dst && own.Dev == link && own.Metric < r.Metric
	})
}

var KubeOvnOvn0Wrong = &doctor.Check{
	Name:     "kube-ovn-ovn0-wrong",
	Category: "kube-ovn",
	Doc: `A node's ovn0 differs from its logical port

A Kube-OVN node reaches pods, and pods leave, through ovn0. The link must exist and be up, with
the MAC and the addresses of the logical port node-NODE.`,
	Causes: []string{"vswitchd-not-running", "two-vswitchds", "conf-db-lost-or-corrupt"},
	Host: func(p *doctor.Pass, h *snapshot.Host) {
		o, err := catalog.ReadOVN0(p.Deployment, h)
		if err != nil {
			p.Unknown(doctor.NodeObject(h.Name), err)
			return
		}
		if p.Applies(o != nil, "no host here is a node of Kube-OVN"); o != nil {
			ovn0(p, h.Name, o)
		}
	},
}

func ovn0(p *doctor.Pass, host string, o *catalog.OVN0) {
	port := "node-" + o.Node.Name
	f := doctor.Finding{
		Object: doctor.Object{Kind: "link", Name: o.Name, Node: host},
		Also:   []doctor.Object{doctor.NodeObject(host), doctor.PortObject(port)},
		Effect: "the node and the pods do not reach each other, and packets of pods to the outside through it are lost",
	}
	expected := doctor.NB("Logical_Switch_Port", port).Says("addresses=" + strings.Join(o.Node.Port.Addresses, " "))
	switch {
	case o.Link == nil:
		f.Reason = "missing"
		f.Title = fmt.Sprintf("%s has no link %s", host, o.Name)
		f.Evidence = []doctor.Evidence{doctor.Links().On(host).Says("no " + o.Name), expected}
		if o.Interface == nil {
			f.Evidence = append(f.Evidence, doctor.OVS("Interface", "").Says("none with iface-id="+port))
		}
		f.Cause = "kube-ovn-cni has not created it since the node started, or it was removed"
		f.Next = catalog.RestartKubeOVNCNI(o.Node.Name)
	case o.WrongMAC:
		f.Reason = "mac"
		f.Title = fmt.Sprintf("%s on %s has MAC %s, its logical port has %s", o.Name, host, o.Link.MAC, o.Node.MAC)
		f.Cause = "Open vSwitch recreated the link with a random MAC, or the port was recreated"
	case o.Down:
		f.Reason = "down"
		f.Title = fmt.Sprintf("%s on %s is down", o.Name, host)
		f.Cause = "an operator or the host's network configuration set it down"
	case len(o.Missing) > 0:
		f.Reason = "address"
		f.Title = fmt.Sprintf("%s on %s lacks %s", o.Name, host, o.Missing[0].Addr())
		f.Cause = "the address was removed, or kube-ovn-cni has not set it yet"
	default:
		return
	}
	if o.Link != nil {
		state := "up"
		if o.Down {
			state = "down"
		}
		f.Evidence = []doctor.Evidence{doctor.Link(o.Name).On(host).Says(o.Link.MAC + " " + state), expected}
		for _, a := range o.Missing {
			f.Evidence = append(f.Evidence, doctor.Addresses(o.Name).On(host).Says("no "+a.String()))
		}
		f.Fix = catalog.KubeOVNOVN0.With(o.Node.Name)
	}
	p.Report(f)
}
