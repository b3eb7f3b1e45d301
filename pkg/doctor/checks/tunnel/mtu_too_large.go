package tunnel

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var MTUTooLarge = &doctor.Check{
	Name:     "mtu-too-large",
	Category: "tunnel",
	Doc: `Packets of pods are too large for the tunnel

A tunnel adds its headers: of Geneve 58 bytes over IPv4 and 78 over IPv6, of VXLAN 50
and 70. A pod whose MTU with these is larger than what carries the tunnel loses its
large packets, and only these.`,
	Run: func(p *doctor.Pass) {
		for c := range p.Chassis() {
			n, ok := doctor.Need(p, doctor.NodeObject(c.Name), c.Network)
			if !ok {
				continue
			}
			south, ok := doctor.Need(p, doctor.NodeObject(c.Name), c.Southbound)
			if !ok {
				continue
			}
			podsTooLarge(p, c, n, south)
			gatewayMTU(p, c, n)
		}
	},
}

// A carrier is what carries a node's tunnels to the peers that are reached best
// or worst: the smallest counts.
type carrier struct {
	mtu      int
	link     string
	peer     netip.Addr
	kind     string // "geneve", "vxlan"
	overhead int
}

// right is the largest MTU that a pod may have.
func (c carrier) right() int { return c.mtu - c.overhead }

var overheads = map[string][2]int{"geneve": {58, 78}, "vxlan": {50, 70}, "stt": {58, 78}}

// carrierOf finds what the node's tunnels leave by; nil: it has no peers.
func carrierOf(c *doctor.Chassis, n *node.Network, south *snapshot.Southbound) *carrier {
	types, _ := c.OVS.Setting("ovn-encap-type", c.SystemID)
	mine := strings.Split(types, ",")
	var worst *carrier
	for i := range south.Chassis {
		peer := &south.Chassis[i]
		if peer.Name == c.SystemID {
			continue
		}
		for _, e := range south.EncapsOf(peer) {
			ip, err := netip.ParseAddr(e.IP)
			size, known := overheads[e.Type]
			if err != nil || !known || !slices.Contains(mine, e.Type) {
				continue
			}
			r := wayTo(n, ip)
			if r == nil || n.Link(r.Dev) == nil || r.Type == "local" {
				continue
			}
			x := carrier{mtu: n.Link(r.Dev).MTU, link: r.Dev, peer: ip, kind: e.Type, overhead: size[0]}
			if ip.Is6() {
				x.overhead = size[1]
			}
			x.mtu = min(x.mtu, routeMTU(r, x.mtu))
			if worst == nil || x.right() < worst.right() {
				worst = &x
			}
		}
	}
	return worst
}

// routeMTU is the MTU that a route sets, else that of its link.
func routeMTU(r *node.Route, link int) int {
	f := slices.DeleteFunc(strings.Fields(r.Metrics), func(w string) bool { return w == "lock" })
	if at := slices.Index(f, "mtu"); at >= 0 && at+1 < len(f) {
		if mtu, err := strconv.Atoi(f[at+1]); err == nil && mtu > 0 {
			return mtu
		}
	}
	return link
}

// wayTo is the route of the main table that the host takes to an address.
func wayTo(n *node.Network, ip netip.Addr) *node.Route {
	var best *node.Route
	for i, r := range n.Routes {
		if r.Table != 254 || r.Type != "unicast" || r.Dst.Addr().Is4() != ip.Is4() || !r.Dst.Contains(ip) || r.Dev == "" {
			continue
		}
		if best == nil || r.Dst.Bits() > best.Dst.Bits() || r.Dst.Bits() == best.Dst.Bits() && r.Metric < best.Metric {
			best = &n.Routes[i]
		}
	}
	return best
}

// Pods are looked into one by one, so on this host so many, and few on another.
const (
	podsHere = 200
	podsFar  = 2
)

func podsTooLarge(p *doctor.Pass, c *doctor.Chassis, n *node.Network, south *snapshot.Southbound) {
	way := carrierOf(c, n, south)
	if way == nil {
		return
	}
	type large struct {
		port, where string
		mtu         int
	}
	var found []large
	looked := 0
	for _, plug := range c.OVS.Plugs() {
		id := plug.InterfaceBrief.ExternalIDs["iface-id"]
		l := n.Link(plug.Name)
		if plug.Bridge.Name != c.Bridge || id == "" || l == nil {
			continue
		}
		if plug.Type == "internal" || l.Kind == "tun" {
			if l.MTU > way.right() {
				found = append(found, large{id, "link " + l.Name, l.MTU})
			}
			continue
		}
		limit := podsHere
		if !c.Local {
			limit = podsFar
		}
		// The pod's end decides; where the node's end is small enough the pod's
		// cannot send more.
		if l.MTU <= way.right() || looked >= limit {
			continue
		}
		looked++
		pod, err := c.Pod(plug.Name)
		if err != nil {
			continue // its own checks tell of a veth that leads nowhere
		}
		if pod.Link.MTU > way.right() {
			found = append(found, large{id, fmt.Sprintf("link %s in %s", pod.Link.Name, pod.Netns), pod.Link.MTU})
		}
	}
	if len(found) == 0 {
		return
	}
	var names []string
	f := doctor.Finding{
		Object: doctor.NodeObject(c.Name),
		Also:   []doctor.Object{doctor.LinkObject(c.Host, way.link)},
		Cause:  "the cluster's MTU was set for a larger network, or the network's was lowered",
		Effect: "small packets pass and large ones do not: TLS handshakes, downloads and image pulls between nodes hang",
	}
	for _, x := range found {
		names = append(names, x.port)
		f.Also = append(f.Also, doctor.PortObject(x.port))
		if len(f.Evidence) < 4 {
			f.Evidence = append(f.Evidence, doctor.Other(x.where).Says(fmt.Sprintf("mtu %d", x.mtu)))
		}
	}
	f.Title = fmt.Sprintf("on %s the MTU of %s is larger than the tunnel carries: %d, right is at most %d", c.Name, someOf(names), found[0].mtu, way.right())
	f.Evidence = append(f.Evidence, doctor.Link(way.link).Says(fmt.Sprintf("carries the tunnel to %s with mtu %d; %s adds %d", way.peer, way.mtu, way.kind, way.overhead)))
	f.Next = fmt.Sprintf("set the cluster's MTU to %d where its management system is configured and make the pods anew, or raise that of %s to %d", way.right(), way.link, found[0].mtu+way.overhead)
	p.Report(f)
}

// someOf are the first names of a list, and how many more there are.
func someOf(names []string) string {
	if len(names) <= 2 {
		return strings.Join(names, " and ")
	}
	return fmt.Sprintf("%s and %d more", names[0], len(names)-1)
}

// gatewayMTU looks at what the node's gateway routers take for the MTU of the
// network outside.
func gatewayMTU(p *doctor.Pass, c *doctor.Chassis, n *node.Network) {
	rows, err := c.Zone().Northbound()
	if err != nil {
		return // the tunnels have been told; this is a part
	}
	uplinks, err := c.Uplinks()
	if err != nil {
		return
	}
	smallest, link := 0, ""
	for _, u := range uplinks {
		for _, name := range u.Links {
			if l := n.Link(name); l != nil && u.Networks != nil && (smallest == 0 || l.MTU < smallest) {
				smallest, link = l.MTU, name
			}
		}
	}
	for _, r := range rows.Routers {
		if smallest == 0 || c.SystemID == "" || r.Options["chassis"] != c.SystemID {
			continue
		}
		for _, port := range rows.RouterPorts {
			mtu, err := strconv.Atoi(port.Options["gateway_mtu"])
			if err != nil || mtu <= smallest || !r.Ports.Has(port.UUID) {
				continue
			}
			p.Report(doctor.Finding{
				Object: doctor.PortObject(port.Name),
				Also:   []doctor.Object{doctor.NodeObject(c.Name), doctor.LinkObject(c.Host, link)},
				Title:  fmt.Sprintf("router port %s takes the network outside for %d bytes wide, and %s of %s is %d", port.Name, mtu, link, c.Name, smallest),
				Evidence: []doctor.Evidence{doctor.NB("Logical_Router_Port", port.Name).Says("options:gateway_mtu=" + port.Options["gateway_mtu"]),
					doctor.Link(link).Says(fmt.Sprintf("mtu %d", smallest))},
				Cause:  "the MTU of the uplink was lowered, or that of the port set for another network",
				Effect: "senders are not told that their packets are too large: large ones are lost on the way outside",
				Next:   fixes.Command("ovn-nbctl set Logical_Router_Port %s options:gateway_mtu=%d", port.Name, smallest),
			})
		}
	}
}
