package trace

import (
	"net/netip"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/pattern"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// A host is a node's own network as the databases know it.
type host struct {
	chassis *topology.Chassis
	port    *topology.Port // its own port on the overlay; nil if there is none
	// addresses are its own on the underlay: its tunnel endpoints, and those whose packets routers send to its port.
	addresses []netip.Addr
}

// hosts are the hosts of a deployment.
type hosts struct {
	byChassis map[string]*host // by system-id
	byPort    map[string]*host // by name of their port
	byAddress map[netip.Addr]*host
}

// hostsOf derives the hosts from a graph.
func hostsOf(g *topology.Graph) *hosts {
	all := &hosts{byChassis: map[string]*host{}, byPort: map[string]*host{}, byAddress: map[netip.Addr]*host{}}
	ports := map[netip.Addr]*host{}
	for _, c := range g.Chassis {
		h := &host{chassis: c, port: g.HostPort(c)}
		all.byChassis[c.Name] = h
		if h.port != nil {
			all.byPort[h.port.Name] = h
			for _, a := range addressesOn(h.port) {
				ports[a] = h
			}
		}
		for _, e := range c.Encaps {
			if a, err := netip.ParseAddr(e.IP); err == nil {
				all.add(h, a)
			}
		}
	}
	for _, p := range g.Policies {
		if h := handedTo(p, ports); h != nil {
			if a, ok := destinationOf(p.Match); ok {
				all.add(h, a)
			}
		}
	}
	return all
}

func (all *hosts) add(h *host, a netip.Addr) {
	if !slices.Contains(h.addresses, a) {
		h.addresses = append(h.addresses, a)
		all.byAddress[a] = h
	}
}

// handedTo returns the host whose port is the only one a routing policy sends packets to; nil if it does anything else.
func handedTo(p *topology.Policy, ports map[netip.Addr]*host) *host {
	if p.Action != "reroute" || len(p.NextHops) != 1 {
		return nil
	}
	a, err := netip.ParseAddr(p.NextHops[0])
	if err != nil {
		return nil
	}
	return ports[a]
}

var destination = pattern.New(`\bip[46]\.dst == ([0-9a-fA-F.:]+)(\s|$)`)

// destinationOf returns the single destination address of a match.
func destinationOf(match string) (netip.Addr, bool) {
	found := destination.Get().FindStringSubmatch(match)
	if found == nil {
		return netip.Addr{}, false
	}
	a, err := netip.ParseAddr(found[1])
	return a, err == nil
}

// has reports whether an address is one of the host's own.
func (h *host) has(a netip.Addr) bool {
	return slices.Contains(h.addresses, a) || h.port != nil && slices.Contains(h.port.Addresses, a.String())
}

// source returns the address that the host sends from to the overlay: with Kube-OVN, the node address on its route;
// otherwise its port's address. Not valid if the host has none of the family.
func (h *host) source(v6 bool) netip.Addr {
	ofFamily := func(a netip.Addr) bool { return a.Is6() == v6 }
	own, overlay := slices.IndexFunc(h.addresses, ofFamily), -1
	var ports []netip.Addr
	if h.port != nil {
		ports = addressesOn(h.port)
		overlay = slices.IndexFunc(ports, ofFamily)
	}
	switch {
	case own >= 0 && (overlay < 0 || h.port.ExternalIDs["vendor"] == "kube-ovn"):
		return h.addresses[own]
	case overlay >= 0:
		return ports[overlay]
	}
	return netip.Addr{}
}

func addressesOn(p *topology.Port) []netip.Addr {
	var out []netip.Addr
	for _, text := range p.Addresses {
		if a, err := netip.ParseAddr(text); err == nil {
			out = append(out, a)
		}
	}
	return out
}
