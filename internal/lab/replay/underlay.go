package replay

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/pkg/nb"
)

// outside6 is the host behind the underlay in IPv6, as the pages of testdata/deployments have it; that of other labs lies
// in a network that these deployments use themselves.
var outside6 = netip.MustParseAddr("2001:db8:cafe::10")

// underlay finds what the deployment was attached to: the routers of the nodes' network and of provider networks.
func (d *deployment) underlay() error {
	u := lab.Underlay{Outside6: outside6}
	ids := d.nodes[0].Switch[0].ExternalIDs
	encap, err := netip.ParseAddr(ids["ovn-encap-ip"])
	if err != nil {
		return errors.New("no encap address")
	}
	// Nothing says how long the prefix of the nodes' network is, or who its router is.
	network := netip.PrefixFrom(encap, 24).Masked()
	u.Routers = []netip.Prefix{netip.PrefixFrom(network.Addr().Next(), network.Bits())}
	if f := strings.Split(ids["ovn-remote"], ":"); len(f) == 3 {
		u.Central, _ = netip.ParseAddr(f[1])
	}
	if !d.topology.Zones && !u.Central.IsValid() {
		return fmt.Errorf("ovn-remote %q: no address for the central host", ids["ovn-remote"])
	}
	own := d.ownAddresses()
	for _, dir := range slices.Sorted(maps.Keys(d.zones)) {
		z := d.zones[dir]
		for _, r := range z.Routes {
			hop, err := netip.ParseAddr(r.Nexthop)
			if err != nil || own[hop] || hop.IsLinkLocalUnicast() {
				continue
			}
			if router := z.prefixOf(hop); router.IsValid() && !slices.Contains(u.Routers, router) {
				u.Routers = append(u.Routers, router)
			}
		}
	}
	u.MAC = d.learnedMAC(u.Routers)
	d.topology.Underlay = u
	d.routeIPv6()
	d.topology.Bound = map[string]map[string]string{}
	for dir, z := range d.zones {
		d.topology.Bound[cmp.Or(dir, "central")] = z.bound()
	}
	return nil
}

// bound returns the ports that were bound, with their chassis.
func (z *zone) bound() map[string]string {
	ports := map[string]string{}
	for _, b := range z.learned.Bindings {
		if len(b.Chassis) > 0 {
			ports[b.LogicalPort] = string(b.Chassis.Get())
		}
	}
	return ports
}

// ownAddresses returns the addresses that ports of the deployment have.
func (d *deployment) ownAddresses() map[netip.Addr]bool {
	own := map[netip.Addr]bool{}
	for _, z := range d.zones {
		for _, rp := range z.RouterPorts {
			for _, p := range networks(rp) {
				own[p.Addr()] = true
			}
		}
		for _, p := range z.Ports {
			_, addrs := portAddresses(p)
			for _, a := range addrs {
				own[a] = true
			}
		}
		for _, s := range z.Neighbours {
			if a, err := netip.ParseAddr(s.IP); err == nil {
				own[a] = true
			}
		}
	}
	return own
}

// prefixOf returns an address with the length of the router network that it lies in; zero if none.
func (z *zone) prefixOf(a netip.Addr) netip.Prefix {
	for _, rp := range z.RouterPorts {
		for _, p := range networks(rp) {
			if p.Contains(a) {
				return netip.PrefixFrom(a, p.Bits())
			}
		}
	}
	return netip.Prefix{}
}

// networks returns a router port's addresses.
func networks(rp nb.LogicalRouterPort) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range rp.Networks {
		if p, err := netip.ParsePrefix(text); err == nil {
			all = append(all, p)
		}
	}
	return all
}

// learnedMAC returns the MAC address under which the Southbound knows one of the routers: gateways keep using it. Empty
// if it knows none.
func (d *deployment) learnedMAC(routers []netip.Prefix) string {
	for _, dir := range slices.Sorted(maps.Keys(d.zones)) {
		for _, m := range d.zones[dir].learned.MACs {
			is := func(p netip.Prefix) bool { return p.Addr().String() == m.IP }
			if _, err := net.ParseMAC(m.MAC); err == nil && slices.ContainsFunc(routers, is) {
				return m.MAC
			}
		}
	}
	return ""
}

// routeIPv6 gives the underlay's router routes to the IPv6 networks behind routers on it: nobody translates IPv6.
func (d *deployment) routeIPv6() {
	for _, z := range d.zones {
		for _, r := range z.Routers {
			d.routeBehind(z, r)
		}
	}
}

func (d *deployment) routeBehind(z *zone, r nb.LogicalRouterBare) {
	var gateway netip.Addr
	var behind []netip.Prefix
	for _, rp := range z.RouterPorts {
		if !r.Ports.Has(rp.UUID) {
			continue
		}
		for _, p := range networks(rp) {
			switch {
			case !p.Addr().Is6() || p.Addr().IsLinkLocalUnicast():
			case d.router(p.Addr()).IsValid():
				gateway = p.Addr()
			default:
				behind = append(behind, p.Masked())
			}
		}
	}
	for _, p := range behind {
		if gateway.IsValid() {
			d.topology.Routed[p] = gateway
		}
	}
}

// router returns the underlay's router in the network of an address; zero if it is not on the underlay.
func (d *deployment) router(a netip.Addr) netip.Addr {
	for _, r := range d.topology.Underlay.Routers {
		if r.Contains(a) {
			return r.Addr()
		}
	}
	return netip.Addr{}
}
