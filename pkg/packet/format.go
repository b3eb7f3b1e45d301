package packet

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

var ctStateNames = []string{"new", "est", "rel", "rpl", "inv", "trk", "snat", "dnat"}
var tcpFlagNames = []string{"fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr", "ns", "[200]", "[400]", "[800]"}
var tunFlagNames = []string{"oam", "df", "csum", "key"}

func (f *Field) flagNames() []string {
	switch f.Format {
	case StateNames:
		return ctStateNames
	case TCPNames:
		return tcpFlagNames
	}
	return tunFlagNames
}

// Flag returns the bit of a flag of ct_state, tcp_flags or tun_flags.
func (f *Field) Flag(name string) (Value, bool) { return flag(f.flagNames(), name) }

func flag(names []string, name string) (Value, bool) {
	i := slices.Index(names, name)
	if i < 0 {
		return Value{}, false
	}
	return Uint(1 << i), true
}

// fragNames are ip_frag's values with their masks.
var fragNames = []struct {
	name        string
	value, mask uint64
}{
	{"no", 0, 3}, {"yes", 1, 1}, {"first", 1, 3}, {"later", 3, 3}, {"later", 2, 2}, {"not_later", 0, 2},
}

// Print writes a value of the field as Open vSwitch does in actions.
func (f *Field) Print(v Value) string { return f.PrintMasked(v, f.Mask()) }

// PrintMasked writes the bits of a value selected by mask as Open vSwitch does in actions: "10.0.0.0/8", "0x1/0xff",
// "96/0xf0".
func (f *Field) PrintMasked(v, mask Value) string { return string(f.AppendMasked(nil, v, mask)) }

// PrintMatch writes the bits of a value selected by mask as Open vSwitch does in matches and flows, where some numbers
// are written differently than in actions: vlan_tci=0x0000, tp_dst=0x50/0xfff0.
func (f *Field) PrintMatch(v, mask Value) string { return string(f.AppendMatch(nil, v, mask)) }

// AppendMasked appends what PrintMasked returns.
func (f *Field) AppendMasked(b []byte, v, mask Value) []byte {
	all := f.Mask()
	mask, v = mask.And(all), v.And(all)
	exact := mask == all
	switch f.Format {
	case IPv4, IPv6:
		return appendIP(b, v, mask, f.Bits)
	case Ethernet:
		b = appendMAC(b, v)
		if !exact {
			b = appendMAC(append(b, '/'), mask)
		}
		return b
	case Port:
		if exact && v.Lo <= 0xffff {
			return append(b, PortID{Number: uint32(v.Lo)}.String()...)
		}
	case Frag:
		for _, n := range fragNames {
			if v.Lo == n.value && mask.Lo == n.mask {
				return append(b, n.name...)
			}
		}
	case StateNames, TCPNames, TunnelNames:
		if b, ok := appendFlags(b, v, mask, exact, f.flagNames()); ok {
			return b
		}
	case TypePair:
		if exact {
			b = strconv.AppendUint(append(b, '('), v.Lo>>16, 10)
			return append(Uint(v.Lo&0xffff).appendHex(append(b, ',')), ')')
		}
	case Decimal:
		b = v.appendDecimal(b)
		if !exact {
			b = mask.appendHex(append(b, '/'))
		}
		return b
	}
	b = v.appendHex(b)
	if !exact {
		b = mask.appendHex(append(b, '/'))
	}
	return b
}

// AppendMatch appends what PrintMatch returns.
func (f *Field) AppendMatch(b []byte, v, mask Value) []byte {
	all := f.Mask()
	v, mask = v.And(all), mask.And(all)
	exact := mask == all
	switch {
	case f.digits > 0 && exact:
		return appendDigits(append(b, "0x"...), v.Lo, f.digits)
	case f.digits > 0:
		b = appendDigits(append(b, "0x"...), v.Lo, f.digits)
		return appendDigits(append(b, "/0x"...), mask.Lo, f.digits)
	case f.Name == "nsh_flags" && !exact:
		b = appendDigits(append(b, "0x"...), v.Lo, 2)
		return appendDigits(append(b, "/0x"...), mask.Lo, 2)
	case f.Format == Decimal && !exact:
		b = strconv.AppendUint(append(b, "0x"...), v.Lo, 16)
		return strconv.AppendUint(append(b, "/0x"...), mask.Lo, 16)
	}
	return f.AppendMasked(b, v, mask)
}

// appendDigits appends a number's last hexadecimal digits.
func appendDigits(b []byte, n uint64, digits int) []byte {
	for shift := 4 * (digits - 1); shift >= 0; shift -= 4 {
		b = append(b, "0123456789abcdef"[n>>shift&0xf])
	}
	return b
}

func appendIP(b []byte, v, mask Value, bits int) []byte {
	b = appendAddr(b, v, bits)
	switch {
	case mask == Ones(bits):
		return b
	case prefixLen(mask, bits) > 0:
		return strconv.AppendInt(append(b, '/'), int64(prefixLen(mask, bits)), 10)
	}
	return appendAddr(append(b, '/'), mask, bits)
}

func appendAddr(b []byte, v Value, bits int) []byte {
	if bits == 128 && v.BitLen() > 16 && v.BitLen() <= 32 { // as inet_ntop(3) does
		return v.Addr(32).AppendTo(append(b, "::"...))
	}
	return v.Addr(bits).AppendTo(b) // also writes embedded IPv4 addresses like ::ffff:1.2.3.4
}

// prefixLen returns the length of a CIDR mask, or -1 if not one.
func prefixLen(mask Value, bits int) int {
	for n := range bits + 1 {
		if mask == Ones(n).Shl(bits-n) {
			return n
		}
	}
	return -1
}

func appendMAC(b []byte, v Value) []byte {
	for shift := 40; shift > 0; shift -= 8 {
		b = append(appendDigits(b, v.Lo>>shift, 2), ':')
	}
	return appendDigits(b, v.Lo, 2)
}

// appendFlags writes "a|b" for exact values and "+a-b" for masked ones. It fails on unnamed bits.
func appendFlags(b []byte, v, mask Value, exact bool, names []string) ([]byte, bool) {
	named := Ones(len(names))
	switch {
	case !v.AndNot(named).IsZero():
		return b, false
	case exact && v.IsZero():
		return append(b, '0'), true
	case exact:
		for i, name := range names {
			if v.Bit(i) {
				b = append(append(b, name...), '|')
			}
		}
		return b[:len(b)-1], true
	case !mask.AndNot(named).IsZero() || mask.IsZero() || !v.AndNot(mask).IsZero():
		return b, false
	}
	for i, name := range names {
		if mask.Bit(i) {
			b = append(append(b, "-+"[v.And(Uint(1<<i)).Shr(i).Lo]), name...)
		}
	}
	return b, true
}

// ParseValue parses a value of the field, with an optional mask. It rejects values wider than the field.
func (f *Field) ParseValue(s string) (v, mask Value, err error) {
	v, mask, ok := f.parse(s)
	if !ok {
		return v, mask, &SyntaxError{Text: s, Msg: "bad value for " + f.Name}
	}
	if v.BitLen() > f.Bits || mask.BitLen() > f.Bits {
		return v, mask, &SyntaxError{Text: s, Msg: fmt.Sprintf("value too wide for the %d bits of %s", f.Bits, f.Name)}
	}
	return v, mask, nil
}

func (f *Field) parse(s string) (v, mask Value, ok bool) {
	mask = f.Mask()
	switch f.Format {
	case Port:
		if port, err := ParsePort(s); err == nil && port.Name == "" {
			return Uint(uint64(port.Number)), mask, true
		}
		return v, mask, false
	case Frag:
		for _, n := range fragNames {
			if s == n.name {
				return Uint(n.value), Uint(n.mask), true
			}
		}
	case TypePair:
		if v, ok := parsePacketType(s); ok {
			return v, mask, true
		}
	case StateNames, TCPNames, TunnelNames:
		if v, m, ok := parseFlags(s, f.flagNames()); ok {
			if m.IsZero() {
				m = mask
			}
			return v, m, true
		}
	}
	value, m, masked := strings.Cut(s, "/")
	if v, ok = f.parseOne(value); !ok {
		return v, mask, false
	}
	if !masked {
		return v, mask, true
	}
	if f.Format == IPv4 || f.Format == IPv6 {
		if n, err := strconv.Atoi(m); err == nil {
			return v, Ones(n).Shl(f.Bits - n), n >= 0 && n <= f.Bits
		}
	}
	mask, ok = f.parseOne(m)
	return v, mask, ok
}

func (f *Field) parseOne(s string) (Value, bool) {
	switch f.Format {
	case IPv4, IPv6:
		a, err := netip.ParseAddr(s)
		if err != nil || a.Zone() != "" || a.BitLen() != f.Bits {
			break
		}
		return FromAddr(a), true
	case Ethernet:
		if v, ok := ParseMAC(s); ok {
			return v, true
		}
	}
	return parseNumber(s)
}

// ParseMAC parses an Ethernet address: 0a:00:00:00:00:01; false for anything else.
func ParseMAC(s string) (Value, bool) {
	var n uint64
	parts := 0
	for part := range strings.SplitSeq(s, ":") {
		b, err := strconv.ParseUint(part, 16, 8)
		if err != nil || len(part) > 2 {
			return Value{}, false
		}
		n = n<<8 | b
		parts++
	}
	return Uint(n), parts == 6
}

func parsePacketType(s string) (Value, bool) {
	inner, ok := strings.CutPrefix(s, "(")
	inner, ok2 := strings.CutSuffix(inner, ")")
	ns, kind, ok3 := strings.Cut(inner, ",")
	a, ok4 := parseNumber(strings.TrimSpace(ns))
	b, ok5 := parseNumber(strings.TrimSpace(kind))
	good := ok && ok2 && ok3 && ok4 && ok5 && a.BitLen() <= 16 && b.BitLen() <= 16
	return Uint(a.Lo<<16 | b.Lo), good
}

// parseFlags parses "a|b" (mask 0: all bits) and "+a-b".
func parseFlags(s string, names []string) (v, mask Value, ok bool) {
	if s == "" {
		return v, mask, false
	}
	if s[0] != '+' && s[0] != '-' {
		for name := range strings.SplitSeq(s, "|") {
			bit, ok := flag(names, name)
			if !ok {
				return v, mask, false
			}
			v = v.Or(bit)
		}
		return v, mask, true
	}
	for s != "" {
		sign := s[0]
		end := strings.IndexAny(s[1:], "+-") + 1
		if end == 0 {
			end = len(s)
		}
		bit, ok := flag(names, s[1:end])
		if !ok {
			return v, mask, false
		}
		if sign == '+' {
			v = v.Or(bit)
		}
		mask = mask.Or(bit)
		s = s[end:]
	}
	return v, mask, true
}

// ParseCTState parses conntrack states as --ct-next takes them: "trk,new", "trk|new" or "+trk+new".
func ParseCTState(s string) (uint32, error) {
	v, _, ok := parseFlags(strings.ReplaceAll(s, ",", "|"), ctStateNames)
	if !ok {
		return 0, &SyntaxError{Text: s, Msg: "bad ct_state"}
	}
	return uint32(v.Lo), nil
}
