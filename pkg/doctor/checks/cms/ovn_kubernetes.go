package cms

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var OVNKEgressipStale = &doctor.Check{
	Name:     "ovnk-egressip-stale",
	Category: "ovn-kubernetes",
	Doc: `A stale row of an EgressIP remains

OVN-Kubernetes writes a NAT and a policy row for each pod of an EgressIP. With a stale row the
next pod that gets the address leaves the cluster with the wrong address. A policy that leads to
a node without the NAT row is stale, too.`,
	Run: func(p *doctor.Pass) {
		rows := 0
		for _, l := range p.Northbounds() {
			for _, r := range facts.EgressRows(p.Deployment, l.Northbound) {
				rows++
				egressRow(p, r)
			}
		}
		if rows == 0 {
			p.Skip("OVN_Northbound has no rows of an EgressIP")
		}
	},
}

func egressRow(p *doctor.Pass, r facts.EgressRow) {
	f := doctor.Finding{
		Object:   doctor.RouterObject(r.Router),
		Also:     []doctor.Object{{Kind: r.Table, Name: string(r.UUID)}},
		Evidence: []doctor.Evidence{doctor.NB(r.Table, doctor.Short(r.UUID)).Says(r.Says)},
		Cause:    "ovnkube was down, or failed, when the pod or the EgressIP was removed",
	}
	switch {
	case r.Stale != "":
		f.Reason = "stale"
		f.Title = fmt.Sprintf("router %s still has a row of EgressIP %s for %s", r.Router.Name, r.Name, r.PodIP)
		f.Evidence = append(f.Evidence, doctor.NB("Logical_Switch_Port", "").Says(r.Stale))
		f.Effect = "a pod that has that address now, or gets it, leaves the cluster with " + r.Egress
		f.Fix = catalog.DeleteEgressRow.With(string(r.UUID))
	case r.Conflict != nil:
		f.Reason = "two-addresses"
		f.Title = fmt.Sprintf("%s leaves router %s with two addresses, %s and %s", r.PodIP, r.Router.Name, r.Conflict.Egress, r.Egress)
		f.Evidence = append(f.Evidence, doctor.NB(r.Conflict.Table, doctor.Short(r.Conflict.UUID)).Says(r.Conflict.Says))
		f.Effect = "a connection gets one of the two; which one is undefined"
		f.Next = "find the assigned one: kubectl get egressip -o wide; then restart ovnkube-node on the node, which rewrites the rows"
	case r.Unserved != nil:
		where := "router port " + r.Unserved.Port
		if r.Unserved.Zone != "" {
			where += " in zone " + r.Unserved.Zone
		}
		f.Reason = "unserved"
		f.Title = fmt.Sprintf("EgressIP %s leads %s to %s (%s), where no row translates it", r.Name, cmp.Or(r.Pod, r.PodIP), r.Unserved.Nexthop, where)
		f.Evidence = append(f.Evidence, doctor.NB("NAT", "").Says(fmt.Sprintf("none of EgressIP %s with logical_ip=%s there", r.Name, r.PodIP)))
		f.Cause = "the EgressIP is on another node now, or the NAT row was deleted"
		f.Effect = "the pod's packets to the outside are lost, or leave with another address"
		f.Next = "the assigned node: kubectl get egressip " + r.Name + " -o wide; restart ovnkube there and on the pod's node: it writes the rows of its zone again"
	default:
		return
	}
	p.Report(f)
}

var OVNKJoinSubnetOverlap = &doctor.Check{
	Name:     "ovnk-join-subnet-overlap",
	Category: "ovn-kubernetes",
	Doc: `An internal network of OVN-Kubernetes is in use outside

The join and transit networks (100.64.0.0/16, 100.88.0.0/16, fd98::/64, fd97::/64 by default)
are internal to OVN: packets of pods to these addresses never leave it.`,
	Host: func(p *doctor.Pass, h *snapshot.Host) {
		if h.Zone() == nil {
			return
		}
		if l, err := facts.LogicalOf(h.Zone()); err == nil {
			hostOverlaps(p, h, innerNetworks(l.Northbound))
		}
	},
	Run: func(p *doctor.Pass) {
		applies := false
		for z, l := range p.Northbounds() {
			inner := innerNetworks(l.Northbound)
			if len(inner) == 0 {
				continue
			}
			applies = true
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

// innerNetworks returns the networks of the join and transit switches.
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

// hostOverlaps reports a host's addresses and routes in an internal network.
func hostOverlaps(p *doctor.Pass, h *snapshot.Host, inner []netip.Prefix) {
	if len(inner) == 0 {
		return
	}
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
				f.Result = doctor.Warning // that part may have no hosts
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

var TransientScrubsLivePods = &doctor.Check{
	Name:     "transient-scrubs-live-pods",
	Category: "ovn-kubernetes",
	Doc: `A restart of the Open vSwitch container deletes the ports of live pods

OVN-Kubernetes marks the port of every pod as transient. Where Open vSwitch runs in a container
that starts it with --delete-transient-ports, each restart of that container, not only a
reboot, deletes them, and nothing adds them again.`,
	Host: doctor.On("no host here runs Open vSwitch in a container with transient ports of pods", scrubs, func(p *doctor.Pass, f *doctor.Finding) { p.Report(*f) }),
}

// scrubs returns the finding of a host whose Open vSwitch container deletes pod ports when it restarts; applies if Open
// vSwitch runs in a container there, or that cannot be read.
func scrubs(p *doctor.Pass, h *snapshot.Host) (f *doctor.Finding, applies bool) {
	s, err := h.Switch()
	if err != nil {
		return nil, false // other checks report it
	}
	_, pods := facts.TransientPorts(s)
	if len(pods) == 0 {
		return nil, false
	}
	contained, by, err := facts.Contained(h)
	if err != nil && (!errors.Is(err, node.ErrUnavailable) || h.Local) {
		p.Unknown(doctor.NodeObject(h.Name), err)
	}
	if err != nil || !contained {
		return nil, err != nil
	}
	processes, ok := doctor.Need(p, doctor.NodeObject(h.Name), h.Processes)
	if !ok {
		return nil, true
	}
	i := slices.IndexFunc(processes, func(process node.Process) bool {
		line := strings.Join(process.Args, " ")
		return process.Container && (strings.Contains(line, "ovnkube.sh") || strings.Contains(line, facts.DeleteTransient))
	})
	if i < 0 {
		p.Unknown(doctor.NodeObject(h.Name), fmt.Errorf("%d ports of pods are transient and Open vSwitch runs in a container (%s); it is unknown whether that container deletes them when it restarts: search its start script for %s", len(pods), by, facts.DeleteTransient))
		return nil, true
	}
	return &doctor.Finding{
		Object: doctor.NodeObject(h.Name),
		Title:  fmt.Sprintf("a restart of the Open vSwitch container of %s deletes the ports of %d live pods", h.Name, len(pods)),
		Evidence: []doctor.Evidence{
			doctor.OVS("Port", "").On(h.Name).Says(doctor.AtMost(pods, 5) + ": other_config:transient=true, and the interface has an iface-id"),
			doctor.Other(by).Says("in a container"),
			doctor.Process(processes[i].PID).On(h.Name).Says(strings.Join(processes[i].Args, " ") + ": starts ovsdb-server with " + facts.DeleteTransient),
		},
		Cause:  "the container starts ovsdb-server with " + facts.DeleteTransient + ", which is meant for a reboot",
		Effect: "after an upgrade, an eviction or a crash of the container these pods have no network until they are recreated",
		Next:   "remove " + facts.DeleteTransient + " from the container's start, or upgrade to a release that does not mark pods' ports; delete pods that have lost theirs, so that they are recreated",
	}, true
}
