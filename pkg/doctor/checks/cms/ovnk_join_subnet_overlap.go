package cms

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var OVNKJoinSubnetOverlap = &doctor.Check{
	Name:     "ovnk-join-subnet-overlap",
	Category: "ovn-kubernetes",
	Doc: `OVN-Kubernetes' inner networks are in use outside

The join and transit networks (100.64.0.0/16, 100.88.0.0/16, fd98::/64, fd97::/64
unless configured) are OVN's own: what pods send there never leaves.`,
	Run: func(p *doctor.Pass) {
		applies := false
		for _, z := range p.Zones {
			north, ok := doctor.Need(p, doctor.NorthboundObject, z.Northbound)
			if !ok {
				continue
			}
			inner := innerNetworks(north)
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
			p.Skip("no cluster router of OVN-Kubernetes in OVN_Northbound")
		}
	},
}

// isOVNKubernetes says whether a router is a cluster router of OVN-Kubernetes.
func isOVNKubernetes(r nb.LogicalRouter) bool {
	return r.ExternalIDs["k8s-cluster-router"] != "" || r.Name == "ovn_cluster_router"
}

// innerNetworks are the networks of the join and transit switches.
func innerNetworks(north *snapshot.Northbound) []netip.Prefix {
	ours := false
	for _, r := range north.Routers {
		ours = ours || isOVNKubernetes(r)
	}
	if !ours {
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

func hostOverlaps(p *doctor.Pass, h *snapshot.Host, inner []netip.Prefix) {
	n, ok := doctor.Need(p, doctor.NodeObject(h.Name), h.Network)
	if !ok {
		return
	}
	ownLink := func(link string) bool { return strings.HasPrefix(link, "ovn-k8s-mp") || link == "lo" }
	for _, net := range inner {
		f := doctor.Finding{
			Object: doctor.NodeObject(h.Name),
			Cause:  "the network " + net.String() + " was in use when OVN-Kubernetes was set up with it",
			Effect: "pods do not reach the hosts of that network: OVN routes it inside",
			Next:   "give OVN-Kubernetes other networks: --gateway-v4-join-subnet, --gateway-v6-join-subnet, --cluster-manager-v4-transit-switch-subnet (OpenShift: spec.defaultNetwork.ovnKubernetesConfig)",
		}
		row := doctor.Other("Northbound Logical_Router_Port of the join or transit switch").Says("networks in " + net.String())
		said := false
		for _, a := range n.Addresses {
			if a.Scope == "global" && !ownLink(a.Link) && net.Contains(a.Prefix.Addr()) {
				f.Title = fmt.Sprintf("%s on %s has %s, which lies in OVN-Kubernetes' own network %s", a.Link, h.Name, a.Prefix.Addr(), net)
				f.Evidence = []doctor.Evidence{doctor.Link(a.Link).On(h.Name).Says(a.Prefix.String()), row}
				p.Report(f)
				said = true
				break
			}
		}
		for _, r := range n.Routes {
			if said || r.Type != "unicast" || r.Dst.Bits() == 0 || ownLink(r.Dev) || !r.Dst.Overlaps(net) {
				continue
			}
			f.Title = fmt.Sprintf("%s has a route to %s, and OVN-Kubernetes uses %s inside", h.Name, r.Dst, net)
			f.Evidence = []doctor.Evidence{doctor.Routes().On(h.Name).Says(fmt.Sprintf("%s via %s dev %s table %d", r.Dst, r.Via, r.Dev, r.Table)), row}
			if r.Dst.Bits() < net.Bits() {
				f.Result = doctor.Warning // hosts in that part of it there may be, or not
			}
			p.Report(f)
			break
		}
	}
}

// encapOverlaps looks at the nodes that cannot be asked.
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
		for _, net := range inner {
			if net.Contains(a) {
				p.Report(doctor.Finding{
					Object:   doctor.NodeObject(hosts[e.ChassisName]),
					Title:    fmt.Sprintf("the tunnel address %s of %s lies in OVN-Kubernetes' own network %s", a, hosts[e.ChassisName], net),
					Evidence: []doctor.Evidence{doctor.SB("Encap", doctor.Short(e.UUID)).Says("ip=" + e.IP)},
					Cause:    "the nodes' network and the join or transit network overlap",
					Effect:   "pods do not reach the hosts of that network",
					Next:     "give OVN-Kubernetes other networks: --gateway-v4-join-subnet, --cluster-manager-v4-transit-switch-subnet",
				})
			}
		}
	}
}
