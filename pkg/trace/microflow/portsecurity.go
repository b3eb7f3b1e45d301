package microflow

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// An allowance is one port security entry: a MAC address, and IP addresses unless all are allowed.
type allowance struct {
	mac    packet.Value
	v4, v6 []netip.Addr // of prefixes, the addresses as written
}

// parseAllowance parses an entry. Anything after an invalid address is ignored; false if the entry does not begin with
// a MAC address.
func parseAllowance(text string) (allowance, bool) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return allowance{}, false
	}
	mac, ok := packet.ParseMAC(words[0])
	if !ok {
		return allowance{}, false
	}
	a := allowance{mac: mac}
	for _, word := range words[1:] {
		host, _, _ := strings.Cut(word, "/")
		addr, err := netip.ParseAddr(host)
		switch {
		case err != nil:
			return a, true
		case addr.Is4():
			a.v4 = append(a.v4, addr)
		default:
			a.v6 = append(a.v6, addr)
		}
	}
	return a, true
}

// portSecurity writes 1 if port security forbids the packet. The port's first entry with the packet's MAC address
// decides.
func (r *run) portSecurity(a *ovnexpr.Call, port, mac *packet.Field) {
	p := r.portByKey(r.at.Datapath, key(r.p, port))
	if p == nil { // ovn-trace aborts
		if port == inportReg {
			r.fail(errNoInport)
		}
		return
	}
	entries, forbidden := 0, true
	for _, text := range p.Row.PortSecurity {
		one, ok := parseAllowance(text)
		if !ok {
			continue
		}
		entries++
		if one.mac != r.p.Get(mac) {
			continue
		}
		if port == inportReg {
			forbidden = !one.allowsFrom(r.p)
		} else {
			forbidden = !one.allowsTo(r.p)
		}
		break
	}
	r.result(*a.Result, bit(entries > 0 && forbidden))
}

func addr(p *packet.Flow, name string) netip.Addr { return p.Addr(packet.MustField(name)) }

// allowsFrom reports whether a port may send a packet.
func (a allowance) allowsFrom(p *packet.Flow) bool {
	all := len(a.v4)+len(a.v6) == 0
	switch p.Uint("eth_type") {
	case packet.EthIPv4:
		return all || slices.Contains(a.v4, addr(p, "ip_src")) || isDiscover(p)
	case packet.EthARP:
		return p.Get(&packet.ARPSHA) == a.mac && (len(a.v4) == 0 || slices.Contains(a.v4, addr(p, "arp_spa")))
	case packet.EthIPv6:
		return all || a.allowsFrom6(p)
	}
	return true
}

// isDiscover reports whether a DHCP client without an address sends such a packet.
func isDiscover(p *packet.Flow) bool {
	return p.Uint("nw_proto") == packet.ProtoUDP && tpSrc.Get(p).Lo == 68 && tpDst.Get(p).Lo == 67 &&
		p.Get(&packet.IPSrc).IsZero() && p.Get(&packet.IPDst) == packet.Ones(32)
}

func (a allowance) allowsFrom6(p *packet.Flow) bool {
	own := func(name string) bool {
		return slices.Contains(a.v6, addr(p, name)) || addr(p, name) == packet.LinkLocal(a.mac)
	}
	mac := func(name string) bool {
		return p.Get(packet.MustField(name)).IsZero() || p.Get(packet.MustField(name)) == a.mac
	}
	if !own("ipv6_src") {
		return false
	}
	if p.Uint("nw_proto") != packet.ProtoICMPv6 {
		return true
	}
	switch tpSrc.Get(p).Lo {
	case neighbourAsk:
		return mac("arp_sha")
	case neighbourSay:
		return mac("arp_tha") && (len(a.v6) == 0 || own("nd_target"))
	}
	return true
}

// allowsTo reports whether a port may receive a packet.
func (a allowance) allowsTo(p *packet.Flow) bool {
	all := len(a.v4)+len(a.v6) == 0
	switch p.Uint("eth_type") {
	case packet.EthIPv4:
		dst := addr(p, "ip_dst")
		return all || len(a.v4) > 0 && (slices.Contains(a.v4, dst) || dst.IsMulticast() || packet.IsBroadcast(dst))
	case packet.EthIPv6:
		dst := addr(p, "ipv6_dst")
		return all || len(a.v6) > 0 && (slices.Contains(a.v6, dst) || dst == packet.LinkLocal(a.mac) || dst.IsMulticast())
	}
	return true
}
