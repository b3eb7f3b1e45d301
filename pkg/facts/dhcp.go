package facts

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// DHCPFaults returns what keeps OVN from replying to DHCP with these options: the missing or unusable keys, each with
// the reason.
func DHCPFaults(o *nb.DHCPOptions) map[string]string {
	faults := map[string]string{}
	subnet, err := netip.ParsePrefix(o.Cidr)
	if err != nil {
		faults["cidr"] = "is no network: " + o.Cidr
		return faults
	}
	need := func(key string, usable func(string) bool, what string) {
		switch value, ok := o.Options[key]; {
		case !ok:
			faults[key] = "is missing"
		case !usable(value):
			faults[key] = "is no " + what + ": " + value
		}
	}
	if subnet.Addr().Is6() {
		need("server_id", isMAC, "MAC address")
		return faults
	}
	isIPv4 := func(s string) bool { a, err := netip.ParseAddr(s); return err == nil && a.Is4() }
	need("server_id", isIPv4, "address of IPv4")
	need("server_mac", isMAC, "MAC address")
	need("lease_time", func(s string) bool { n, err := strconv.ParseUint(s, 10, 32); return err == nil && n > 0 }, "number of seconds")
	if router, ok := o.Options["router"]; ok && !isIPv4(strings.Trim(strings.SplitN(router, ",", 2)[0], "{} ")) {
		faults["router"] = "is no address of IPv4: " + router
	}
	return faults
}

// DHCPProposal returns values for what DHCPFaults reports, if they follow from the rest: the router of a switch whose
// ports use the options, and the deployment's other options.
func (l *Logical) DHCPProposal(o *nb.DHCPOptions) map[string]string {
	subnet, err := netip.ParsePrefix(o.Cidr)
	if err != nil {
		return nil
	}
	out := map[string]string{}
	gateway, mac := l.gatewayOf(o, subnet)
	if subnet.Addr().Is6() {
		if mac != "" {
			out["server_id"] = mac
		}
		return out
	}
	if a, err := netip.ParseAddr(o.Options["router"]); err == nil && a.Is4() {
		out["server_id"] = a.String()
	} else if gateway.IsValid() {
		out["server_id"], out["router"] = gateway.String(), gateway.String()
	}
	if a, err := netip.ParseAddr(o.Options["server_id"]); err == nil && a.Is4() {
		out["server_id"] = a.String()
	}
	if mac != "" {
		out["server_mac"] = mac
	}
	out["lease_time"] = "3600"
	count := map[string]int{}
	for i := range l.DHCPOptions {
		other := &l.DHCPOptions[i]
		if t := other.Options["lease_time"]; other != o && t != "" && DHCPFaults(other)["lease_time"] == "" {
			if count[t]++; count[t] > count[out["lease_time"]] {
				out["lease_time"] = t
			}
		}
	}
	return out
}

// gatewayOf returns the address and MAC of the router in a network, on a switch whose ports use the options.
func (l *Logical) gatewayOf(o *nb.DHCPOptions, subnet netip.Prefix) (netip.Addr, string) {
	for i := range l.SwitchPorts {
		p := &l.SwitchPorts[i]
		if !p.DHCPv4Options.Has(o.UUID) && !p.DHCPv6Options.Has(o.UUID) {
			continue
		}
		s := l.SwitchOf[p.UUID]
		if s == nil {
			continue
		}
		for _, g := range l.Gateways(s) {
			networks := Networks(g)
			if i := slices.IndexFunc(networks, func(n netip.Prefix) bool { return subnet.Contains(n.Addr()) }); i >= 0 {
				return networks[i].Addr(), strings.ToLower(g.MAC)
			}
		}
	}
	return netip.Addr{}, ""
}

// Serves reports whether DHCP options are for a network in which a port has an address.
func Serves(o *nb.DHCPOptions, p *nb.LogicalSwitchPortBrief) bool {
	subnet, err := netip.ParsePrefix(o.Cidr)
	if err != nil {
		return false
	}
	for _, a := range PortAddresses(p) {
		for _, ip := range a.IPs {
			if subnet.Contains(ip.Addr()) {
				return true
			}
		}
	}
	return false
}

// DHCPOptionsFor returns the DHCPv4 options of all other ports on a port's switch with an address in the same
// network; nil if they have none, or different ones.
func (l *Logical) DHCPOptionsFor(p *nb.LogicalSwitchPortBrief) *nb.DHCPOptions {
	s := l.SwitchOf[p.UUID]
	if s == nil {
		return nil
	}
	rows := snapshot.Index(l.DHCPOptions, func(o *nb.DHCPOptions) ovsdb.UUID { return o.UUID })
	var common *nb.DHCPOptions
	for _, other := range l.PortsOf[s.UUID] {
		if other == p || other.Type != "" || len(other.DHCPv4Options) == 0 {
			continue
		}
		o := rows[other.DHCPv4Options.Get()]
		if o == nil || !Serves(o, p) {
			continue
		}
		if common != nil && common != o {
			return nil
		}
		common = o
	}
	return common
}
