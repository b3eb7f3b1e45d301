package ovn

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// Port security, see "port_security" of Logical_Switch_Port in ovn-nb(5).

// An allowance is one port security entry: a MAC address with the addresses that its owner may use.
type allowance struct {
	mac       packet.Value
	addresses []permitted // none: any
}

// permitted is an address or network that an owner may send from; as a receiver, it also gets its network's broadcasts.
type permitted struct {
	prefix    netip.Prefix // a single address or a whole network
	broadcast netip.Addr   // not valid: none
}

// Secures reports whether port security keeps its owner from sending from an address, with whichever of its MAC addresses.
func Secures(portSecurity []string, from netip.Addr) bool {
	return len(portSecurity) > 0 && !slices.ContainsFunc(security(portSecurity), func(a allowance) bool {
		return len(a.addresses) == 0 || a.has(from)
	})
}

// security parses a port's entries; those without a MAC address are skipped.
func security(entries []string) []allowance {
	var all []allowance
	for _, text := range entries {
		words := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' || r == '\t' })
		if len(words) == 0 {
			continue
		}
		one := allowance{mac: mac(words[0])}
		for _, word := range words[1:] {
			if a, ok := permit(word); ok {
				one.addresses = append(one.addresses, a)
			}
		}
		if !one.mac.IsZero() {
			all = append(all, one)
		}
	}
	return all
}

// permit parses an address: with a prefix length and no host bits, it means the whole network.
func permit(word string) (permitted, bool) {
	if a, err := netip.ParseAddr(word); err == nil {
		return permitted{prefix: netip.PrefixFrom(a, a.BitLen())}, true
	}
	n, err := netip.ParsePrefix(word)
	if err != nil {
		return permitted{}, false
	}
	p := permitted{prefix: n}
	if n.Masked().Addr() != n.Addr() {
		p.prefix = netip.PrefixFrom(n.Addr(), n.Addr().BitLen())
	}
	if n.Addr().Is4() && n.Bits() < 32 {
		b := n.Addr().As4()
		for i := n.Bits(); i < 32; i++ {
			b[i/8] |= 0x80 >> (i % 8)
		}
		p.broadcast = netip.AddrFrom4(b)
	}
	return p, true
}

// restricts reports whether the entry has addresses of a family.
func (a allowance) restricts(is4 bool) bool {
	return slices.ContainsFunc(a.addresses, func(p permitted) bool { return p.prefix.Addr().Is4() == is4 })
}

// has reports whether the owner may use an address.
func (a allowance) has(ip netip.Addr) bool {
	if slices.ContainsFunc(a.addresses, func(p permitted) bool { return p.prefix.Contains(ip) }) {
		return true
	}
	return ip.Is6() && ip == packet.LinkLocal(a.mac) && a.restricts(false)
}

// checkInPortSecurity returns 1 if the packet's sender may not send it.
func (w *walker) checkInPortSecurity(in *instruction) control {
	return w.checkPortSecurity(in, w.visit.Inport, w.maySend)
}

// checkOutPortSecurity returns 1 if the packet's receiver may not receive it.
func (w *walker) checkOutPortSecurity(in *instruction) control {
	return w.checkPortSecurity(in, w.visit.Outport, w.mayReceive)
}

func (w *walker) checkPortSecurity(in *instruction, p *logicalflow.Port, allows func(allowance) bool) control {
	if p == nil {
		return w.result(in, false, Note{Table: "Port_Binding"})
	}
	refused := len(p.Row.PortSecurity) > 0 && !slices.ContainsFunc(security(p.Row.PortSecurity), allows)
	return w.result(in, refused, Note{Table: "Port_Binding", Row: p.Row.UUID, Port: p})
}

// maySend reports whether an entry allows the packet to be sent.
func (w *walker) maySend(a allowance) bool {
	f, p := w.run.fields, &w.packet
	if f.ethSrc.Get(p) != a.mac {
		return false
	}
	free := len(a.addresses) == 0
	switch {
	case isARP(f, p):
		return f.arpSHA.Get(p) == a.mac && (free || a.restricts(true) && a.has(address(f.arpSPA, p)))
	case isIPv4(f, p):
		return free || a.restricts(true) && (a.has(address(f.src4, p)) || w.isDHCPDiscovery())
	case isIPv6(f, p):
		return w.maySendIPv6(a)
	}
	return true
}

// isDHCPDiscovery reports whether the packet requests an address by DHCP.
func (w *walker) isDHCPDiscovery() bool {
	f, p := w.run.fields, &w.packet
	return f.src4.Get(p).IsZero() && f.dst4.Get(p) == packet.Ones(32) && f.proto.Get(p).Lo == packet.ProtoUDP &&
		f.srcPort.Get(p).Lo == 68 && f.dstPort.Get(p).Lo == 67
}

func (w *walker) maySendIPv6(a allowance) bool {
	f, p := w.run.fields, &w.packet
	free := len(a.addresses) == 0
	kind, icmp := f.icmp6Type.Get(p).Lo, f.proto.Get(p).Lo == packet.ProtoICMPv6
	if !free {
		src := address(f.src6, p)
		unset := src.IsUnspecified() && f.dst6.Get(p).Hi>>48 == 0xff02 && icmp && (kind == 131 || kind == 135 || kind == 143)
		if !a.restricts(false) || !a.has(src) && !unset {
			return false
		}
	}
	if !icmp || f.ttl.Get(p).Lo != 255 {
		return true
	}
	switch kind {
	case 135:
		sll := f.ndSLL.Get(p)
		return sll.IsZero() || sll == a.mac
	case 136:
		tll := f.ndTLL.Get(p)
		return (tll.IsZero() || tll == a.mac) && (free || a.has(address(f.ndTarget, p)))
	}
	return true
}

// mayReceive reports whether an entry allows the packet to be received. The MAC address is not compared for multicast
// and broadcast.
func (w *walker) mayReceive(a allowance) bool {
	f, p := w.run.fields, &w.packet
	dst := f.ethDst.Get(p)
	if dst.Bit(40) {
		return true
	}
	if dst != a.mac {
		return false
	}
	if len(a.addresses) == 0 {
		return true
	}
	switch {
	case isIPv4(f, p):
		ip := address(f.dst4, p)
		return a.restricts(true) && (a.has(ip) || packet.IsBroadcast(ip) || ip.IsMulticast() ||
			slices.ContainsFunc(a.addresses, func(p permitted) bool { return p.broadcast == ip }))
	case isIPv6(f, p):
		ip := address(f.dst6, p)
		return a.restricts(false) && (a.has(ip) || ip.IsMulticast())
	}
	return true
}
