package packet

// Ethernet types named in OpenFlow.
const (
	EthIPv4          = 0x0800
	EthARP           = 0x0806
	EthRARP          = 0x8035
	EthIPv6          = 0x86dd
	EthMPLS          = 0x8847
	EthMPLSMulticast = 0x8848
	EthNSH           = 0x894f
)

// IP protocols named in OpenFlow.
const (
	ProtoICMP   = 1
	ProtoTCP    = 6
	ProtoUDP    = 17
	ProtoICMPv6 = 58
	ProtoSCTP   = 132
)

// The tcp_flags bits that determine a segment's kind.
const (
	TCPSYN   = 0x02
	TCPReset = 0x04
	TCPACK   = 0x10
)

// A Keyword is a word in a match that stands for a packet type.
type Keyword struct {
	Name    string
	EthType uint64 // 0: any
	Proto   uint64 // 0: any
}

var keywords = []Keyword{
	{"eth", 0, 0},
	{"ip", EthIPv4, 0}, {"ipv4", EthIPv4, 0}, {"ipv6", EthIPv6, 0}, {"ip6", EthIPv6, 0},
	{"icmp", EthIPv4, ProtoICMP}, {"icmp6", EthIPv6, ProtoICMPv6},
	{"tcp", EthIPv4, ProtoTCP}, {"tcp6", EthIPv6, ProtoTCP},
	{"udp", EthIPv4, ProtoUDP}, {"udp6", EthIPv6, ProtoUDP},
	{"sctp", EthIPv4, ProtoSCTP}, {"sctp6", EthIPv6, ProtoSCTP},
	{"arp", EthARP, 0}, {"rarp", EthRARP, 0},
	{"mpls", EthMPLS, 0}, {"mplsm", EthMPLSMulticast, 0},
}

// LookupKeyword finds a keyword: "tcp", "ip", "icmp6", "eth".
func LookupKeyword(name string) (Keyword, bool) {
	for _, k := range keywords {
		if k.Name == name {
			return k, true
		}
	}
	return Keyword{}, false
}

// keywordOf is the keyword for printing a packet; "" if none.
func keywordOf(eth, proto uint64) string {
	name := ""
	for _, k := range keywords {
		if k.EthType == 0 || k.EthType != eth {
			continue
		}
		if k.Proto == 0 && name == "" || k.Proto != 0 && k.Proto == proto {
			name = k.Name
		}
	}
	return name
}

// KeywordOf finds the word for packets of an Ethernet type and, if known, an IP protocol, as ovs-ofctl prints it.
func KeywordOf(eth, proto uint64, known bool) (Keyword, bool) {
	if !known {
		proto = 0
	}
	return LookupKeyword(keywordOf(eth, proto))
}

// Apply gives p the keyword's type.
func (k Keyword) Apply(p *Flow) {
	if k.EthType != 0 {
		p.Set(&EthType, Uint(k.EthType))
	}
	if k.Proto != 0 {
		p.Set(&NWProto, Uint(k.Proto))
	}
}

// Is reports whether p has that type.
func (k Keyword) Is(p *Flow) bool {
	return (k.EthType == 0 || p.Uint("eth_type") == k.EthType) && (k.Proto == 0 || p.Uint("nw_proto") == k.Proto)
}
