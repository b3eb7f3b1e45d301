package ofctl

import (
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// traced are fields of a trace that no flow can have.
var traced = []string{"vlan_tci0", "vlan_tci1", "dl_vlan0", "dl_vlan1", "dl_vlan_pcp0", "dl_vlan_pcp1", "mpls_lse1", "mpls_lse2"}

// field finds a field by its name in matches and set_field, which is not the one of NXM or OXM.
func field(name string) (*packet.Field, bool) {
	f, ok := packet.Lookup(name)
	if !ok || slices.Contains(traced, name) || name != f.Name && !slices.Contains(f.Aliases, name) {
		return nil, false
	}
	return f, true
}

// anyField finds a field by any of its names.
func anyField(name string) (*packet.Field, bool) {
	f, ok := packet.Lookup(name)
	return f, ok && !slices.Contains(traced, name)
}

// optionBits is the width of a tunnel option's field.
const optionBits = 124 * 8

// width is the number of bits that parts of a field can name.
func width(f *packet.Field) int {
	switch {
	case f.IsOption():
		return optionBits
	case f.Name == "vlan_vid":
		return 12
	}
	return f.Bits
}

// size is the number of bytes that a value of the field takes.
func size(f *packet.Field) int {
	if f.IsOption() {
		return optionBits / 8
	}
	if f.Format == packet.Ethernet {
		return 6
	}
	n := 1
	for 8*n < f.Bits {
		n *= 2
	}
	return n
}

// A part is some bits of a field.
type part struct {
	*packet.Field
	lo, bits int
}

// String is the part as ovs-ofctl prints it.
func (p part) String() string {
	if p.Field == nil {
		return ""
	}
	return packet.Subfield{Field: p.Field, Lo: p.lo, Bits: p.bits}.String()
}

func (p part) whole() bool { return p.lo == 0 && p.bits == width(p.Field) }

// parsePart reads a field or bits of it: reg0, reg0[], NXM_NX_REG0[5], reg0[0..7].
func parsePart(s string, at int) (part, *Error) {
	p, rest, err := leadingPart(s, at)
	if err == nil && rest != "" {
		err = arg{key: s, at: at}.fault("unexpected input following field syntax")
	}
	return p, err
}

// leadingPart reads a field or bits of it at the start of a text, and returns what follows.
func leadingPart(s string, at int) (p part, rest string, err *Error) {
	name := s[:length(s, "[-")]
	bad := func(format string, args ...any) (part, string, *Error) {
		return part{}, "", arg{key: s, at: at}.fault("%s: "+format, append([]any{s}, args...)...)
	}
	f, ok := anyField(name)
	if !ok {
		return bad("unknown field `%s'", name)
	}
	from, to := uint64(0), uint64(width(f)-1)
	if rest = s[len(name):]; strings.HasPrefix(rest, "[") {
		span := scan(rest).lit("[").num(10, 32, &from).lit("..").num(10, 32, &to)
		single := scan(rest).lit("[").num(10, 32, &from)
		switch {
		case strings.HasPrefix(rest, "[]"):
			from, to = 0, uint64(width(f)-1)
		case span.lit("]").ok:
		case single.lit("]").ok:
			to = from
		default:
			return bad("syntax error expecting [] or [<bit>] or [<start>..<end>]")
		}
		rest = rest[strings.IndexByte(rest, ']')+1:]
	}
	switch lo, hi := int32(from), int32(to); {
	case lo > hi:
		return bad("starting bit %d is after ending bit %d", lo, hi)
	case uint32(lo) >= uint32(width(f)):
		return bad("starting bit %d is not valid because field is only %d bits wide", lo, width(f))
	case uint32(hi) >= uint32(width(f)):
		return bad("ending bit %d is not valid because field is only %d bits wide", hi, width(f))
	default:
		return part{f, int(lo), int(hi-lo) + 1}, rest, nil
	}
}

// fits reads a number for the bits of a part. The text behind it is ignored where exact is false.
func (p part) fits(s string, exact bool) (v packet.Value, read, ok bool) {
	v, rest, ok, tooLarge := integer(s, size(p.Field))
	if !ok || tooLarge || exact && rest != "" {
		return v, false, false
	}
	return v, true, v.BitLen() <= p.bits
}

// mask has the bits of the part.
func (p part) mask() packet.Value { return packet.Ones(min(p.bits, 128)).Shl(p.lo) }
