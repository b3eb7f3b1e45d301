package cms

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var OVNKJoinSubnetOverlap = &doctor.Check{
	Name:     "ovnk-join-subnet-overlap",
	Category: "ovn-kubernetes",
	Doc: `An internal network of OVN-Kubernetes is in use outside

The join and transit networks (100.64.0.0/16, 100.88.0.0/16, fd98::/64, fd97::/64 by default)
are internal to OVN: packets of pods to these addresses never leave it.`,
	Run: func(p *doctor.Pass) {
		applies := false
		for z, l := range p.Northbounds() {
			inner := innerNetworks(l.Northbound)
			if len(inner) == 0 {
				continue
			}
			applies = true
			for _, h := range p.Hosts {
				if h.Zone() == z {
					hostOverlaps(p, h, inner)
				}
			}
			encapOverlaps(p, z, inner)
		}
		if !applies {
			p.Skip("OVN_Northbound has no cluster router of OVN-Kubernetes")
		}
	},
}

// isOVNKubernetes reports whether a router is a cluster router of OVN-Kubernetes.
func isOVNKubernetes(r nb.LogicalRouter) bool {
	return r.ExternalIDs["k8s-cluster-router"] != "" || r.Name == "ovn_cluster_router"
}

// innerNetworks are the networks of the join and transit switches.
func innerNetworks(north *snapshot.Northbound) []netip.Prefix {
	if !slices.ContainsFunc(north.Routers, isOVNKubernetes) {
		return nil
	}
	seen := map[netip.Prefix]bool{}
	var out []netip.Prefix
	for _, lrp := range north.RouterPorts {
		if !strings.HasPrefix(lrp.Name, "rtoj-") && !strings.HasPrefix(lrp.Name, "rtots-") {
			continue
		}
		for _, text := range lrp.Networks {
			if n, err := netip.ParsePrefix(text); err == nil && !seen[n.Masked()] {
				seen[n.Masked()] = true
				out = append(out, n.Masked())
			}
		}
	}
	return out
}

// hostOverlaps reports addresses and routes of a host in an internal network.
func hostOverlaps(p *doctor.Pass, h *snapshot.Host, inner []netip.Prefix) {
	n, ok := doctor.Need(p, doctor.NodeObject(h.Name), h.Network)
	if !ok {
		return
	}
	ownLink := func(link string) bool { return strings.HasPrefix(link, "ovn-k8s-mp") || link == "lo" }
	for _, net := range inner {
		f := doctor.Finding{
			Object: doctor.NodeObject(h.Name),
			Cause:  "the network " + net.String() + " was in use when OVN-Kubernetes was installed with it",
			Effect: "pods do not reach the hosts of that network: OVN routes it internally",
			Next:   otherNetworks,
		}
		row := doctor.NB("Logical_Router_Port", "").Says("of the join or transit switch: networks in " + net.String())
		inside := func(a node.Address) bool {
			return a.Scope == "global" && !ownLink(a.Link) && net.Contains(a.Prefix.Addr())
		}
		overlaps := func(r node.Route) bool {
			return r.Type == "unicast" && r.Dst.Bits() != 0 && !ownLink(r.Dev) && r.Dst.Overlaps(net)
		}
		if i := slices.IndexFunc(n.Addresses, inside); i >= 0 {
			a := n.Addresses[i]
			f.Reason = "address"
			f.Title = fmt.Sprintf("%s on %s has %s, which is in the internal network %s of OVN-Kubernetes", a.Link, h.Name, a.Prefix.Addr(), net)
			f.Evidence = []doctor.Evidence{doctor.Link(a.Link).On(h.Name).Says(a.Prefix.String()), row}
		} else if i := slices.IndexFunc(n.Routes, overlaps); i >= 0 {
			r := n.Routes[i]
			f.Reason = "route"
			f.Title = fmt.Sprintf("%s has a route to %s, but OVN-Kubernetes uses %s internally", h.Name, r.Dst, net)
			f.Evidence = []doctor.Evidence{doctor.Routes().On(h.Name).Says(fmt.Sprintf("%s via %s dev %s table %d", r.Dst, r.Via, r.Dev, r.Table)), row}
			if r.Dst.Bits() < net.Bits() {
				f.Result = doctor.Warning // that part of it may have no hosts
			}
		} else {
			continue
		}
		p.Report(f)
	}
}

const otherNetworks = "give OVN-Kubernetes other networks: --gateway-v4-join-subnet, --gateway-v6-join-subnet, --cluster-manager-v4-transit-switch-subnet (OpenShift: spec.defaultNetwork.ovnKubernetesConfig)"

// encapOverlaps reports the tunnel addresses of nodes that cannot be read.
func encapOverlaps(p *doctor.Pass, z *snapshot.Zone, inner []netip.Prefix) {
	south, ok := doctor.Need(p, doctor.SouthboundObject, z.Southbound)
	if !ok {
		return
	}
	hosts := map[string]string{}
	for _, c := range south.Chassis {
		hosts[c.Name] = c.Hostname
	}
	for _, e := range south.Encaps {
		a, err := netip.ParseAddr(e.IP)
		if err != nil || p.Host(e.ChassisName) != nil {
			continue
		}
		if i := slices.IndexFunc(inner, func(net netip.Prefix) bool { return net.Contains(a) }); i >= 0 {
			p.Report(doctor.Finding{
				Object:   doctor.NodeObject(hosts[e.ChassisName]),
				Reason:   "encap",
				Title:    fmt.Sprintf("the tunnel address %s of %s is in the internal network %s of OVN-Kubernetes", a, hosts[e.ChassisName], inner[i]),
				Evidence: []doctor.Evidence{doctor.SBRow("Encap", e.UUID, "ip=%s", e.IP)},
				Cause:    "the nodes' network and the join or transit network overlap",
				Effect:   "pods do not reach the hosts of that network",
				Next:     otherNetworks,
			})
		}
	}
}
