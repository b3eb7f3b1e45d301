package facts

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/pattern"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// A PodLink is the link between a host and its cluster's pods.
type PodLink struct {
	Link string // "ovn0", "ovn-k8s-mp0", "tun0"
	CMS  decode.CMS
	Pods []PodNetwork
	// Forwards: the pods reach external networks through the host, which forwards and translates. Why is the
	// evidence.
	Forwards bool
	Why      string
}

// A PodNetwork is a network of pods that the host should have a route for.
type PodNetwork struct {
	Prefix netip.Prefix
	Via    netip.Addr // the next hop; none if the network is on the link
	Src    netip.Addr // the source that the CMS sets on the route; none: the kernel chooses
	Source string     // the evidence
}

// PodLinkOf returns the host's link to the pods, nil if none.
func PodLinkOf(h *snapshot.Host) (*PodLink, error) {
	return snapshot.Derive(h, "", func() (*PodLink, error) {
		s, err := h.Switch()
		if err != nil {
			return nil, err
		}
		for _, p := range s.BridgeInterfaces() {
			if p.Type != "internal" {
				continue
			}
			switch p.Name {
			case "ovn-k8s-mp0":
				return northboundLink(h, p.Name, decode.OVNKubernetes, ovnKubernetesLink)
			case "ovn0":
				return northboundLink(h, p.Name, decode.KubeOVN, kubeOVNLink)
			case "tun0":
				return openShiftLink(h, p.Name, p.Bridge.Name)
			}
		}
		return nil, nil
	})
}

func northboundLink(h *snapshot.Host, link string, cms decode.CMS, read func(*snapshot.Host, *PodLink, *snapshot.Northbound, *node.Network)) (*PodLink, error) {
	z := h.Zone()
	if z == nil {
		return nil, h.Deployment().MissingDatabase("OVN_Northbound", "--nb")
	}
	rows, err := z.Northbound()
	if err != nil {
		return nil, err
	}
	n, err := h.Network()
	if err != nil {
		return nil, err
	}
	g := &PodLink{Link: link, CMS: cms}
	read(h, g, rows, n)
	return g, nil
}

// routerAt returns a router's address in the network of one of a link's addresses; ports are the router's.
func routerAt(rows *snapshot.Northbound, ports ovsdb.Set[ovsdb.UUID], own netip.Prefix) netip.Addr {
	for _, p := range rows.RouterPorts {
		if !ports.Has(p.UUID) {
			continue
		}
		for _, network := range p.Networks {
			if a, err := netip.ParsePrefix(network); err == nil && a.Contains(own.Addr()) {
				return a.Addr()
			}
		}
	}
	return netip.Addr{}
}

// ovnKubernetesLink: the node's gateway router has a route for each pod network, and the host the same through the
// management port.
func ovnKubernetesLink(h *snapshot.Host, g *PodLink, rows *snapshot.Northbound, n *node.Network) {
	chassis, _, _ := h.ChassisName()
	var cluster, gateway *nb.LogicalRouter
	for i, r := range rows.Routers {
		switch {
		case r.ExternalIDs["k8s-cluster-router"] != "" || r.Name == "ovn_cluster_router":
			cluster = &rows.Routers[i]
		case chassis != "" && r.Options["chassis"] == chassis:
			gateway = &rows.Routers[i]
		}
	}
	if cluster == nil || gateway == nil {
		return
	}
	own := Global(n, g.Link)
	for _, s := range rows.StaticRoutes {
		prefix, err := netip.ParsePrefix(s.IPPrefix)
		hop, _ := netip.ParseAddr(s.Nexthop)
		switch {
		case err != nil:
		case gateway.StaticRoutes.Has(s.UUID) && prefix.Bits() > 0 && s.Policy.Get() != "src-ip":
			vias := routersFor(rows, cluster, own, prefix)
			if i := slices.IndexFunc(vias, prefix.Contains); i >= 0 {
				g.add(PodNetwork{Prefix: prefix, Via: vias[i], Source: "static route of router " + gateway.Name})
			}
		case cluster.StaticRoutes.Has(s.UUID) && s.Policy.Get() == "src-ip":
			if slices.ContainsFunc(own, func(a node.Address) bool { return a.Prefix.Addr() == hop }) {
				g.Forwards, g.Why = true, "router "+cluster.Name+" sends what "+s.IPPrefix+" sends outside to "+hop.String()+" of this host"
			}
		}
	}
}

// routersFor returns a router's addresses on the link's networks, of a prefix's family.
func routersFor(rows *snapshot.Northbound, r *nb.LogicalRouter, own []node.Address, prefix netip.Prefix) []netip.Addr {
	var vias []netip.Addr
	for _, a := range own {
		if via := routerAt(rows, r.Ports, a.Prefix); via.IsValid() && a.Prefix.Addr().Is4() == prefix.Addr().Is4() {
			vias = append(vias, via)
		}
	}
	return vias
}

// kubeOVNLink: the networks of the default VPC's switches, except external ones.
func kubeOVNLink(h *snapshot.Host, g *PodLink, rows *snapshot.Northbound, n *node.Network) {
	var vpc *nb.LogicalRouter
	for i, r := range rows.Routers {
		if r.Name == "ovn-cluster" {
			vpc = &rows.Routers[i]
		}
	}
	if vpc == nil {
		return
	}
	underlay := underlayPorts(rows)
	own := Global(n, g.Link)
	encaps, _ := EncapIPs(h)
	for _, p := range rows.RouterPorts {
		if !vpc.Ports.Has(p.UUID) || underlay[p.Name] {
			continue
		}
		for _, network := range p.Networks {
			prefix, err := netip.ParsePrefix(network)
			if err != nil || slices.ContainsFunc(own, func(a node.Address) bool { return prefix.Contains(a.Prefix.Addr()) }) {
				continue // the join network itself is on the link
			}
			vias := routersFor(rows, vpc, own, prefix)
			if len(vias) == 0 {
				continue
			}
			pods := PodNetwork{Prefix: prefix.Masked(), Via: vias[0], Source: "logical router port " + p.Name}
			held := slices.DeleteFunc(slices.Clone(encaps), func(ip netip.Addr) bool { return ip.Is4() != vias[0].Is4() || Holder(n, ip) == nil })
			if len(held) > 0 {
				pods.Src = held[len(held)-1]
			}
			g.add(pods)
		}
	}
	if len(g.Pods) > 0 {
		g.Forwards, g.Why = true, "Kube-OVN sends what pods of the default VPC send outside to ovn0 of their node"
	}
}

// underlayPorts returns the router ports whose switch has a port to an external network.
func underlayPorts(rows *snapshot.Northbound) map[string]bool {
	byID := snapshot.Index(rows.SwitchPorts, func(p *nb.LogicalSwitchPortBrief) ovsdb.UUID { return p.UUID })
	found := map[string]bool{}
	for _, s := range rows.Switches {
		localnet := slices.ContainsFunc(s.Ports, func(id ovsdb.UUID) bool { return byID[id] != nil && byID[id].Type == "localnet" })
		for _, id := range s.Ports {
			if p := byID[id]; localnet && p != nil && p.Type == "router" {
				found[p.Options["router-port"]] = true
			}
		}
	}
	return found
}

var sdnPods = pattern.New(`table=30,.*\bip,nw_dst=(\S+) actions=goto_table:90`)

// openShiftLink: the cluster network is what the bridge sends into the tunnel.
func openShiftLink(h *snapshot.Host, link, bridge string) (*PodLink, error) {
	flows, err := h.Flows(bridge)
	if err != nil {
		return nil, err
	}
	g := &PodLink{Link: link, CMS: decode.OpenShiftSDN}
	for _, f := range flows {
		m := sdnPods.Get().FindStringSubmatch(f.String())
		if m == nil {
			continue
		}
		if prefix, err := netip.ParsePrefix(m[1]); err == nil {
			g.add(PodNetwork{Prefix: prefix, Source: "flows of bridge " + bridge})
		}
	}
	if len(g.Pods) > 0 {
		g.Forwards, g.Why = true, "OpenShift SDN sends what pods send outside to tun0 of their node"
	}
	return g, nil
}

func (g *PodLink) add(p PodNetwork) {
	if !slices.ContainsFunc(g.Pods, func(x PodNetwork) bool { return x.Prefix == p.Prefix }) {
		g.Pods = append(g.Pods, p)
		slices.SortFunc(g.Pods, func(a, b PodNetwork) int {
			return cmp.Or(a.Prefix.Addr().Compare(b.Prefix.Addr()), cmp.Compare(a.Prefix.Bits(), b.Prefix.Bits()))
		})
	}
}

// Routed reports whether the host has a route for a network through the link.
func (g *PodLink) Routed(n *node.Network, p PodNetwork) bool {
	return slices.ContainsFunc(n.Routes, func(r node.Route) bool {
		return r.Dev == g.Link && r.Table == 254 && r.Type == "unicast" && r.Dst.Bits() <= p.Prefix.Bits() && r.Dst.Bits() > 0 && r.Dst.Contains(p.Prefix.Addr())
	})
}

// Missing returns the pod networks that the host has no route for. Two or more parts of a network count as the whole.
func (g *PodLink) Missing(n *node.Network) []PodNetwork {
	var missing []PodNetwork
	for _, p := range g.Pods {
		parts := 0
		for _, r := range n.Routes {
			if r.Dev == g.Link && r.Table == 254 && r.Protocol != "kernel" && r.Dst.Bits() > p.Prefix.Bits() && p.Prefix.Contains(r.Dst.Addr()) {
				parts++
			}
		}
		if !g.Routed(n, p) && parts < 2 {
			missing = append(missing, p)
		}
	}
	return missing
}
