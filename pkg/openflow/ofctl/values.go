package ofctl

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// value reads a value of a field, with its mask. Both may have more bits than the field, if not more bytes.
func (r *reader) value(f *packet.Field, s string, a arg) (v, mask packet.Value, err *Error) {
	mask = f.Mask()
	if s == "*" {
		return v, packet.Value{}, nil
	}
	exact := true // whether the mask is of all bits
	bad := func(format string, args ...any) (packet.Value, packet.Value, *Error) {
		return v, mask, a.bad(format, args...)
	}
	switch f.Format {
	case packet.Decimal, packet.Hex:
		v, mask, exact, err = number(f, s, a)
	case packet.Ethernet:
		v, mask, exact, err = ethernet(s, a)
	case packet.IPv4:
		v, mask, exact, err = ipv4(s, a)
	case packet.IPv6:
		v, mask, exact, err = ipv6(s, a)
	case packet.Port:
		port, ok := r.port(s)
		if !ok {
			if f.Name == "in_port" {
				return bad("%s: invalid or unknown port for %s", s, f.Name)
			}
			return bad("%s: port value out of range for %s", s, f.Name)
		}
		v = packet.Uint(port)
	case packet.Frag:
		var ok bool
		if v, mask, ok = fragment(f, s); !ok {
			return bad("%s: unknown fragment type (valid types are \"no\", \"yes\", \"first\", \"later\", \"not_later\"", s)
		}
	case packet.TypePair:
		v, err = packetType(s, a)
	default:
		v, mask, err = flags(f, s, a)
	}
	if err == nil && !exact && !mask.IsZero() && !f.Maskable {
		return bad("%s: invalid mask for field %s", s, f.Name)
	}
	return v.And(mask), mask, err
}

func number(f *packet.Field, s string, a arg) (v, mask packet.Value, exact bool, err *Error) {
	bad := func(what string, tooLarge bool) (packet.Value, packet.Value, bool, *Error) {
		if tooLarge {
			return v, mask, false, a.bad("%s: %s too large for %d-byte field %s", s, what, size(f), f.Name)
		}
		return v, mask, false, a.bad("%s: bad syntax for %s %s", s, f.Name, what)
	}
	v, rest, ok, tooLarge := integer(s, size(f))
	if !ok || tooLarge || rest != "" && rest[0] != '/' {
		return bad("value", tooLarge)
	}
	if rest == "" && f.IsOption() {
		return v, f.Mask(), true, nil
	}
	if rest == "" {
		return v, packet.Ones(8 * size(f)), true, nil
	}
	mask, rest, ok, tooLarge = integer(rest[1:], size(f))
	if !ok || tooLarge || rest != "" {
		return bad("mask", tooLarge)
	}
	return v, mask, mask == packet.Ones(min(8*size(f), 128)), nil
}

// mac passes an Ethernet address.
func (c *scanner) mac(to *packet.Value) *scanner { return c.octets(6, ":", 16, to) }

// octets passes n bytes, written in a base, with a separator between them. Each counts modulo 256.
func (c *scanner) octets(n int, separator string, base int, to *packet.Value) *scanner {
	for i := range n {
		if i > 0 {
			c.lit(separator)
		}
		var b uint64
		c.num(base, 8, &b)
		*to = to.Shl(8).Or(packet.Uint(b))
	}
	return c
}

func ethernet(s string, a arg) (v, mask packet.Value, exact bool, err *Error) {
	if scan(s).mac(&v).done() {
		return v, packet.Ones(48), true, nil
	}
	v = packet.Value{}
	if scan(s).mac(&v).lit("/").mac(&mask).done() {
		return v, mask, mask == packet.Ones(48), nil
	}
	return v, mask, false, a.bad("%s: invalid Ethernet address", s)
}

// ip passes an IPv4 address.
func (c *scanner) ip(to *packet.Value) *scanner { return c.octets(4, ".", 10, to) }

func ipv4(s string, a arg) (v, mask packet.Value, exact bool, err *Error) {
	address := scan(s).ip(&v)
	if !address.ok {
		return v, mask, false, a.bad("%s: invalid IP address", s)
	}
	var bits uint64
	switch rest := address.text; {
	case rest == "":
		return v, packet.Ones(32), true, nil
	case scan(rest).lit("/").ip(&mask).done():
	case scan(rest).lit("/").num(10, 32, &bits).done():
		if bits > 32 {
			return v, mask, false, a.bad("%s: IPv4 network prefix bits not between 0 and 32, inclusive", s)
		}
		mask = packet.Ones(int(bits)).Shl(32 - int(bits))
	default:
		return v, mask, false, a.bad("%s: invalid IP address", s)
	}
	return v, mask, mask == packet.Ones(32), nil
}

func ipv6(s string, a arg) (v, mask packet.Value, exact bool, err *Error) {
	text, rest, masked := strings.Cut(s, "/")
	v, ok := ipv6Address(text)
	if !ok {
		return v, mask, false, a.bad("%s: invalid IPv6 address", s)
	}
	if !masked {
		return v, packet.Ones(128), true, nil
	}
	if mask, ok = ipv6Address(rest); ok {
		return v, mask, mask == packet.Ones(128), nil
	}
	var bits uint64
	if !scan(rest).num(10, 32, &bits).done() {
		return v, mask, false, a.bad("%s: invalid IPv6 address", s)
	}
	if bits > 128 {
		return v, mask, false, a.bad("%s: IPv6 network prefix bits not between 0 and 128, inclusive", s)
	}
	return v, packet.Ones(int(bits)).Shl(128 - int(bits)), bits == 128, nil
}

func ipv6Address(s string) (packet.Value, bool) {
	address, err := netip.ParseAddr(s)
	if err != nil || !address.Is6() || address.Zone() != "" {
		return packet.Value{}, false
	}
	return packet.FromAddr(address), true
}

// port reads a port: a number that OpenFlow 1.0 or a later version has, a reserved name or a port of the bridge.
func (r *reader) port(s string) (uint64, bool) {
	const newReserved = 0xffffff00 // what OpenFlow 1.1 and later have as 0xff00
	if n, ok := decimal(s); ok {
		switch {
		case n <= 0xffff:
			return n, true
		case n >= newReserved:
			return n & 0xffff, true
		}
		return 0, false
	}
	id, err := packet.ParsePort(s)
	if err != nil {
		return 0, false
	}
	if id.Name == "" {
		return uint64(id.Number), s != "" && hexDigit(s[0]) != 0 // 0x5 is no port here
	}
	return 0, slices.Contains(r.names.Ports, id.Name)
}

func fragment(f *packet.Field, s string) (v, mask packet.Value, ok bool) {
	v, mask, err := f.ParseValue(strings.ToLower(s))
	return v, mask, err == nil && !strings.ContainsAny(s, "/0123456789")
}

func packetType(s string, a arg) (packet.Value, *Error) {
	bad := func(what string) (packet.Value, *Error) {
		return packet.Value{}, a.bad("%s: bad syntax for packet type %s", s, what)
	}
	rest, ok := strings.CutPrefix(s, "(")
	if !ok {
		return bad("missing '('")
	}
	ns, rest, ok, tooLarge := integer(rest, 2)
	if !ok || tooLarge {
		return bad("ns")
	}
	if rest, ok = strings.CutPrefix(rest, ","); !ok {
		return bad("missing ','")
	}
	kind, rest, ok, tooLarge := integer(rest, 2)
	if !ok || tooLarge {
		return bad("ns_type")
	}
	if !strings.HasPrefix(rest, ")") {
		return bad("missing ')'")
	}
	return ns.Shl(16).Or(kind), nil
}

// flags reads flags as "new|trk", "+new-est" or a number with its mask.
func flags(f *packet.Field, s string, a arg) (v, mask packet.Value, err *Error) {
	name, allowed := "ct_state", uint64(0xff) // what a match can have
	switch f.Format {
	case packet.TCPNames:
		name, allowed = "TCP", 0xfff
	case packet.TunnelNames:
		name, allowed = "tunnel", 1
	}
	unknown := func(near string) (packet.Value, packet.Value, *Error) {
		return v, mask, a.bad("%s: unknown %s flag(s)", near, name)
	}
	var number, bits uint64
	if c := scan(s).num(0, 32, &number).lit("/").num(0, 32, &bits); c.ok {
		if (number|bits)&^allowed != 0 {
			return unknown(s)
		}
		return packet.Uint(number), packet.Uint(bits), nil
	}
	if s != "" && (s[0] == '+' || s[0] == '-') {
		for rest := s; rest != ""; {
			sign := rest[0]
			if sign != '+' && sign != '-' {
				return v, mask, a.bad("%s: %s must be preceded by '+' (for SET) or '-' (NOT SET)", rest, name)
			}
			rest = rest[1:]
			n := length(rest, "+-")
			bit, ok := f.Flag(rest[:n])
			switch {
			case !ok || bit.Lo&^allowed != 0:
				return unknown(rest)
			case !mask.And(bit).IsZero():
				return v, mask, a.bad("%s: Each %s flag can be specified only once", rest, name)
			case sign == '+':
				v = v.Or(bit)
			}
			mask, rest = mask.Or(bit), rest[n:]
		}
		return v, mask, nil
	}
	for rest := s; rest != ""; {
		if c := scan(rest).num(0, 64, &number); c.ok {
			if number&^allowed != 0 {
				return unknown(s)
			}
			v, rest = v.Or(packet.Uint(number)), strings.TrimPrefix(c.text, "|")
			continue
		}
		n := length(rest, "|")
		bit, ok := f.Flag(rest[:n])
		if !ok || bit.Lo&^allowed != 0 {
			return unknown(s)
		}
		v, rest = v.Or(bit), strings.TrimPrefix(rest[n:], "|")
	}
	return v, f.Mask(), nil
}
