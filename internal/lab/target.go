package lab

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
)

// A target is a probe's destination, and where it may surface.
type target struct {
	proto string // icmp, tcp, udp
	addr  netip.AddrPort
	sinks []string
}

func (s *State) resolve(to, proto string, port int) (target, error) {
	kind := strings.TrimSuffix(proto, "6")
	if !slices.Contains([]string{"icmp", "tcp", "udp"}, kind) {
		return target{}, fmt.Errorf("probe %s: not a protocol; icmp, tcp and udp are, and icmp6, tcp6, udp6", proto)
	}
	t := target{proto: kind}
	v6 := kind != proto
	addr, err := netip.ParseAddr(to)
	if err != nil {
		if addr, port, t.sinks, err = s.named(to, kind, v6, port); err != nil {
			return target{}, err
		}
	} else {
		t.sinks = s.owners(addr, kind, port)
	}
	if port == 0 {
		port = Ports[0]
	}
	t.addr = netip.AddrPortFrom(addr, uint16(port))
	return t, nil
}

// named finds the address, port and hosts behind a name.
func (s *State) named(to, kind string, v6 bool, port int) (netip.Addr, int, []string, error) {
	pick := func(a4, a6 netip.Addr) netip.Addr {
		if v6 {
			return a6
		}
		return a4
	}
	var addr netip.Addr
	var sinks []string
	if p, ok := s.Topology.Pod(to); ok {
		addr, sinks = pick(p.IPv4.Addr(), p.IPv6.Addr()), []string{p.host()}
	} else if n, ok := s.Topology.Node(to); ok {
		addr, sinks = pick(n.IPv4.Addr(), n.IPv6.Addr()), []string{n.Name}
	} else if to == internet {
		addr, sinks = pick(Internet4, Internet6), []string{internet}
	} else if svc, ok := s.Topology.Service(to, kind); ok {
		addr, sinks = pick(svc.VIP4, svc.VIP6), svc.Backends
		if port == 0 {
			port = svc.Port
		}
	} else {
		return addr, 0, nil, fmt.Errorf("probe to %s: no such pod, node, service (%s) or address", to, kind)
	}
	if !addr.IsValid() {
		return addr, 0, nil, fmt.Errorf("probe to %s: has no address of that family", to)
	}
	return addr, port, sinks, nil
}

// owners returns the hosts that an address belongs to: one, the pods of a service, or none.
func (s *State) owners(addr netip.Addr, kind string, port int) []string {
	for _, p := range s.Topology.Pods {
		if addr == p.IPv4.Addr() || addr == p.IPv6.Addr() {
			return []string{p.host()}
		}
	}
	if addr == Internet4 || addr == Internet6 {
		return []string{internet}
	}
	for _, svc := range s.Topology.Services {
		if (addr == svc.VIP4 || addr == svc.VIP6) && kind == svc.Protocol && port == svc.Port {
			return svc.Backends
		}
	}
	for _, svc := range s.Topology.Services {
		atGateway := func(n Node) bool { return addr == n.Gateway4 || addr == n.Gateway6 }
		if kind == svc.Protocol && port == svc.NodePort && slices.ContainsFunc(s.Topology.Nodes, atGateway) {
			return svc.Backends
		}
	}
	for _, n := range s.Topology.Nodes {
		if s.hasAddress(n.Name, addr) {
			return []string{n.Name}
		}
	}
	return nil
}

func (s *State) hasAddress(host string, addr netip.Addr) bool {
	found := false
	_ = s.InNamespace(host, func() error {
		addrs, err := net.InterfaceAddrs()
		for _, a := range addrs {
			if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr() == addr {
				found = true
			}
		}
		return err
	})
	return found
}
