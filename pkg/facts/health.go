package facts

import (
	"net/netip"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// A HealthMapping is one entry of Load_Balancer.ip_port_mappings: by which port a backend is watched, and
// from which address.
type HealthMapping struct {
	Key    string     // as it is in the column
	Port   string     // the logical port
	Source netip.Addr // zero: it is none
	Raw    string     // of the source
}

// HealthMappings are the entries of ip_port_mappings by backend.
func HealthMappings(lb *nb.LoadBalancer) map[netip.Addr]HealthMapping {
	out := make(map[netip.Addr]HealthMapping, len(lb.IPPortMappings))
	for key, value := range lb.IPPortMappings {
		backend, err := netip.ParseAddr(strings.Trim(key, "[]"))
		if err != nil {
			continue
		}
		m := HealthMapping{Key: key}
		m.Port, m.Raw, _ = strings.Cut(value, ":")
		if i := strings.IndexByte(value, '['); i > 0 { // a port's name may have colons, an address of IPv6 is in brackets
			m.Port, m.Raw = strings.TrimSuffix(value[:i], ":"), value[i:]
			if j := strings.IndexByte(m.Raw, ']'); j > 0 {
				m.Raw = m.Raw[:j+1]
			}
		} else if backend.Is4() {
			m.Raw, _, _ = strings.Cut(m.Raw, ":") // newer releases may name a zone behind it
		}
		if a, err := netip.ParseAddr(strings.Trim(m.Raw, "[]")); err == nil {
			m.Source = a
		}
		out[backend] = m
	}
	return out
}

// PortOf is the port without a type that has an address, nil where there is none or more than one.
func (l *Logical) PortOf(a netip.Addr) *nb.LogicalSwitchPortBrief {
	var found *nb.LogicalSwitchPortBrief
	for i := range l.SwitchPorts {
		p := &l.SwitchPorts[i]
		if p.Type != "" || !hasAddress(p, a) {
			continue
		}
		if found != nil {
			return nil
		}
		found = p
	}
	return found
}

func hasAddress(p *nb.LogicalSwitchPortBrief, a netip.Addr) bool {
	for _, own := range PortAddresses(p) {
		for _, ip := range own.IPs {
			if ip.Addr() == a {
				return true
			}
		}
	}
	return false
}

// HealthSource says what is wrong with an address as the source of health checks of a port; empty: nothing.
// The address has to be nobody's on the port's switch: OVN answers for it there.
func (l *Logical) HealthSource(p *nb.LogicalSwitchPortBrief, a netip.Addr, bound func(port string) bool) string {
	s := l.SwitchOf[p.UUID]
	if s == nil {
		return "port " + p.Name + " is on no switch"
	}
	for _, g := range l.Gateways(s) {
		for _, n := range Networks(g) {
			if n.Addr() == a {
				return "it is the address of the router, port " + g.Name
			}
		}
	}
	for _, other := range l.PortsOf[s.UUID] {
		if other.Type == "" && hasAddress(other, a) && bound(other.Name) {
			return "it is the address of port " + other.Name + ", which is in use"
		}
	}
	return ""
}

// HealthSourceFor is the address from which a port can be watched: that from which the other ports of its switch are.
func (l *Logical) HealthSourceFor(b *snapshot.Balancers, p *nb.LogicalSwitchPortBrief, v6 bool, bound func(port string) bool) netip.Addr {
	var common netip.Addr
	s := l.SwitchOf[p.UUID]
	if s == nil {
		return common
	}
	for i := range b.LoadBalancers {
		for _, m := range HealthMappings(&b.LoadBalancers[i]) {
			other := l.SwitchPort[m.Port]
			if other == nil || l.SwitchOf[other.UUID] != s || !m.Source.IsValid() || m.Source.Is6() != v6 || l.HealthSource(p, m.Source, bound) != "" {
				continue
			}
			if common.IsValid() && m.Source.Less(common) || !common.IsValid() {
				common = m.Source
			}
		}
	}
	return common
}
