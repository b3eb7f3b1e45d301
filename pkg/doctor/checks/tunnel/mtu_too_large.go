package tunnel

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var MTUTooLarge = &doctor.Check{
	Name:     "mtu-too-large",
	Category: "tunnel",
	Doc: `The MTU of pods is too large for the tunnel

A tunnel adds its headers: Geneve 58 bytes over IPv4 and 78 over IPv6, VXLAN 50 and 70. If the
MTU of a pod plus the headers exceeds the MTU of the underlay, the pod loses its large packets,
and only these.`,
	Host: doctor.OnChassis(func(p *doctor.Pass, c *doctor.Chassis) {
		n, ok := doctor.Need(p, doctor.NodeObject(c.Name), c.Network)
		if !ok {
			return
		}
		south, ok := doctor.Need(p, doctor.NodeObject(c.Name), c.Southbound)
		if !ok {
			return
		}
		podsTooLarge(p, c, n, south)
		gatewayMTU(p, c, n)
	}),
}

// An underlay is the path of a node's tunnels with the smallest MTU.
type underlay struct {
	mtu      int
	link     string
	peer     netip.Addr
	kind     string // "geneve", "vxlan"
	overhead int
}

// podMTU returns the largest MTU that a pod may have.
func (u underlay) podMTU() int { return u.mtu - u.overhead }

var overheads = lazy.Value[map[string][2]int]{Make: func() map[string][2]int {
	return map[string][2]int{"geneve": {58, 78}, "vxlan": {50, 70}, "stt": {58, 78}}
}}

// underlayOf returns the underlay of a node's tunnels; nil if it has no peers.
func underlayOf(c *doctor.Chassis, n *node.Network, south *snapshot.Southbound) *underlay {
	types, _ := c.OVS.Setting("ovn-encap-type", c.SystemID)
	mine := strings.Split(types, ",")
	var worst *underlay
	uplinks := map[string]*node.Link{} // by the device of the route
	for _, peer := range everyPeer(c.Zone(), south) {
		if peer.Name == c.SystemID {
			continue
		}
		for _, e := range peer.encaps {
			ip, err := netip.ParseAddr(e.IP)
			size, known := overheads.Get()[e.Type]
			if err != nil || !known || !slices.Contains(mine, e.Type) {
				continue
			}
			r := routeTo(n, ip)
			if r == nil || n.Link(r.Dev) == nil || r.Type == "local" {
				continue
			}
			x := underlay{mtu: n.Link(r.Dev).MTU, link: r.Dev, peer: ip, kind: e.Type, overhead: size[0]}
			if ip.Is6() {
				x.overhead = size[1]
			}
			uplink, looked := uplinks[r.Dev]
			if !looked {
				uplink = switched(c, n, r.Dev)
				uplinks[r.Dev] = uplink
			}
			if uplink != nil {
				x.mtu, x.link = uplink.MTU, uplink.Name
			} else {
				x.mtu = min(x.mtu, routeMTU(r, x.mtu))
			}
			if worst == nil || x.podMTU() < worst.podMTU() {
				worst = &x
			}
		}
	}
	return worst
}

// switched returns the uplink with the smallest MTU of the bridge whose own port a link is, if the switch runs in userspace:
// tunnels then leave by the uplink, and neither that port nor the kernel's route limits them. It is nil otherwise.
func switched(c *doctor.Chassis, n *node.Network, link string) (least *node.Link) {
	for _, i := range c.OVS.BridgeInterfaces() {
		l := n.Link(i.Name)
		if i.Bridge.Name != link || i.Bridge.DatapathType != "netdev" || i.Type != "" && i.Type != "system" || l == nil {
			continue
		}
		if least == nil || l.MTU < least.MTU {
			least = l
		}
	}
	return least
}

// routeMTU returns a route's own MTU, else its link's.
func routeMTU(r *node.Route, link int) int {
	f := slices.DeleteFunc(strings.Fields(r.Metrics), func(w string) bool { return w == "lock" })
	if at := slices.Index(f, "mtu"); at >= 0 && at+1 < len(f) {
		if mtu, err := strconv.Atoi(f[at+1]); err == nil && mtu > 0 {
			return mtu
		}
	}
	return link
}

// routeTo returns the main table's route for an address.
func routeTo(n *node.Network, ip netip.Addr) *node.Route {
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

// How many pods of this host and of another are read, a few at a time.
const (
	podsHere   = 200
	podsFar    = 40
	podsAtOnce = 8
)

// A largeMTU is a logical port's link with too large an MTU.
type largeMTU struct {
	port   string
	source doctor.Source
	mtu    int
}

// largeMTUs returns the links of a node's logical ports with an MTU above a limit.
func largeMTUs(c *doctor.Chassis, n *node.Network, most int) []largeMTU {
	var found []largeMTU
	var veths []snapshot.BridgeInterface
	pods := podsFar
	if c.Local {
		pods = podsHere
	}
	for _, i := range c.OVS.BridgeInterfaces() {
		id, l := i.InterfaceBrief.ExternalIDs["iface-id"], n.Link(i.Name)
		switch {
		case i.Bridge.Name != c.Bridge || id == "" || l == nil || l.MTU <= most: // a pod cannot send more than the node's end accepts
		case i.Type == "internal" || l.Kind == "tun":
			found = append(found, largeMTU{id, doctor.Link(l.Name).On(c.Name), l.MTU})
		case len(veths) < pods: // the pod's end decides
			veths = append(veths, i)
		}
	}
	ends := make([]*node.PodNet, len(veths))
	var reads errgroup.Group
	reads.SetLimit(podsAtOnce)
	for at, i := range veths {
		reads.Go(func() error {
			ends[at], _ = c.Pod(i.Name) // other checks report a broken veth
			return nil
		})
	}
	_ = reads.Wait()
	for at, pod := range ends {
		if pod != nil && pod.Link.MTU > most {
			found = append(found, largeMTU{veths[at].ExternalIDs["iface-id"], doctor.Link(pod.Link.Name).InPod(), pod.Link.MTU})
		}
	}
	return found
}

func podsTooLarge(p *doctor.Pass, c *doctor.Chassis, n *node.Network, south *snapshot.Southbound) {
	under := underlayOf(c, n, south)
	if under == nil {
		return
	}
	found := largeMTUs(c, n, under.podMTU())
	if len(found) == 0 {
		return
	}
	var names []string
	f := doctor.Finding{
		Object: doctor.NodeObject(c.Name),
		Also:   []doctor.Object{doctor.LinkObject(c.Host, under.link)},
		Cause:  "the cluster's MTU was set for a network with a larger MTU, or the network's MTU was lowered",
		Effect: "small packets pass and large ones do not: TLS handshakes, downloads and image pulls between nodes hang",
	}
	for _, x := range found {
		names = append(names, x.port)
		f.Also = append(f.Also, doctor.PortObject(x.port))
		if len(f.Evidence) < 4 {
			f.Evidence = append(f.Evidence, x.source.Says(fmt.Sprintf("mtu %d", x.mtu)))
		}
	}
	f.Title = fmt.Sprintf("the MTU of %s on %s is too large for the tunnel: %d, at most %d fits", doctor.AtMost(names, 2), c.Name, found[0].mtu, under.podMTU())
	f.Evidence = append(f.Evidence, doctor.Link(under.link).On(c.Name).Says(fmt.Sprintf("carries the tunnel to %s with mtu %d; %s adds %d", under.peer, under.mtu, under.kind, under.overhead)))
	f.Next = fmt.Sprintf("set the cluster's MTU to %d in its CMS and recreate the pods, or raise that of %s to %d", under.podMTU(), under.link, found[0].mtu+under.overhead)
	p.Report(f)
}

// gatewayMTU compares the gateway_mtu of the node's gateway routers with the uplink.
func gatewayMTU(p *doctor.Pass, c *doctor.Chassis, n *node.Network) {
	rows, err := c.Zone().Northbound()
	if err != nil {
		return // tunnels do not need the Northbound
	}
	uplinks, err := facts.UplinksOf(c.Host)
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
				Title:  fmt.Sprintf("router port %s has gateway_mtu %d, but the MTU of %s on %s is %d", port.Name, mtu, link, c.Name, smallest),
				Evidence: []doctor.Evidence{doctor.NB("Logical_Router_Port", port.Name).Says("options:gateway_mtu=" + port.Options["gateway_mtu"]),
					doctor.Link(link).Says(fmt.Sprintf("mtu %d", smallest))},
				Cause:  "the MTU of the uplink was lowered, or that of the port set for another network",
				Effect: "senders get no ICMP error for packets that are too large: large packets to the outside are lost",
				Next:   fixes.Command("ovn-nbctl set Logical_Router_Port %s options:gateway_mtu=%d", port.Name, smallest),
			})
		}
	}
}
