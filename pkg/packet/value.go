package packet

import (
	"encoding/binary"
	"math/big"
	"math/bits"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/lazy"
)

// MaxBits is the width of the widest fields, tun_metadata0 to tun_metadata63.
const maxBits = 992

// A Value is a field value: an unsigned integer of at most [MaxBits] bits. Values can be compared with ==, and the zero
// Value is 0.
type Value struct {
	Hi, Lo uint64 // the low 128 bits
	wide   string // the bits above, big-endian, without leading zeros
}

// Uint returns n as a Value.
func Uint(n uint64) Value { return Value{Lo: n} }

// FromBytes reads b as a big-endian number. Bits above MaxBits are dropped.
func FromBytes(b []byte) Value {
	if len(b) > maxBits/8 {
		b = b[len(b)-maxBits/8:]
	}
	var low [16]byte
	if len(b) <= 16 {
		copy(low[16-len(b):], b)
		return Value{Hi: binary.BigEndian.Uint64(low[:8]), Lo: binary.BigEndian.Uint64(low[8:])}
	}
	v := FromBytes(b[len(b)-16:])
	b = b[:len(b)-16]
	for len(b) > 0 && b[0] == 0 {
		b = b[1:]
	}
	v.wide = string(b)
	return v
}

// Bytes returns the low n bytes of v, big-endian.
func (v Value) Bytes(n int) []byte {
	b := make([]byte, n)
	v.put(b)
	return b
}

// put writes the low len(b) bytes of v into b, big-endian.
func (v Value) put(b []byte) {
	var low [16]byte
	binary.BigEndian.PutUint64(low[:8], v.Hi)
	binary.BigEndian.PutUint64(low[8:], v.Lo)
	if len(b) <= 16 {
		copy(b, low[16-len(b):])
		return
	}
	clear(b)
	copy(b[len(b)-16:], low[:])
	rest, wide := b[:len(b)-16], v.wide
	if len(wide) > len(rest) {
		wide = wide[len(wide)-len(rest):]
	}
	copy(rest[len(rest)-len(wide):], wide)
}

// allOnes is the wide part of a value of all ones: what most masks of a tunnel option share.
var allOnes = lazy.Value[string]{Make: func() string { return strings.Repeat("\xff", maxBits/8-16) }}

// Ones returns a Value whose low n bits are set.
func Ones(n int) Value {
	switch {
	case n <= 0:
		return Value{}
	case n <= 64:
		return Value{Lo: ^uint64(0) >> (64 - n)}
	case n <= 128:
		return Value{Hi: ^uint64(0) >> (128 - n), Lo: ^uint64(0)}
	}
	v := Value{Hi: ^uint64(0), Lo: ^uint64(0), wide: allOnes.Get()}
	if n < maxBits {
		wide := []byte(allOnes.Get()[:(n-128+7)/8])
		wide[0] >>= len(wide)*8 - (n - 128)
		v.wide = string(wide)
	}
	return v
}

// IsZero reports whether v is 0.
func (v Value) IsZero() bool { return v == Value{} }

// BitLen returns the number of bits needed to write v; 0 for 0.
func (v Value) BitLen() int {
	switch {
	case v.wide != "":
		return 128 + len(v.wide)*8 - bits.LeadingZeros8(v.wide[0])
	case v.Hi != 0:
		return 64 + bits.Len64(v.Hi)
	}
	return bits.Len64(v.Lo)
}

// Bit reports whether bit n, counted from the least significant, is set.
func (v Value) Bit(n int) bool { return !v.Shr(n).And(Uint(1)).IsZero() }

// And returns the bits set in both v and w.
func (v Value) And(w Value) Value {
	r := Value{Hi: v.Hi & w.Hi, Lo: v.Lo & w.Lo}
	if v.wide != "" && w.wide != "" {
		return fromBig(new(big.Int).And(v.big(), w.big()))
	}
	return r
}

// Or returns the bits set in v or w.
func (v Value) Or(w Value) Value {
	if v.wide != "" || w.wide != "" {
		return fromBig(new(big.Int).Or(v.big(), w.big()))
	}
	return Value{Hi: v.Hi | w.Hi, Lo: v.Lo | w.Lo}
}

// AndNot returns the bits set in v and not in w.
func (v Value) AndNot(w Value) Value {
	if v.wide != "" {
		return fromBig(new(big.Int).AndNot(v.big(), w.big()))
	}
	return Value{Hi: v.Hi &^ w.Hi, Lo: v.Lo &^ w.Lo}
}

// Shl returns v shifted left by n bits; bits above MaxBits are dropped.
func (v Value) Shl(n int) Value {
	switch {
	case n <= 0 || v.IsZero():
		return v
	case v.BitLen()+n > 128:
		if n >= maxBits {
			return Value{}
		}
		return fromBig(new(big.Int).Lsh(v.big(), uint(n)))
	case n >= 64:
		return Value{Hi: v.Lo << (n - 64)}
	}
	return Value{Hi: v.Hi<<n | v.Lo>>(64-n), Lo: v.Lo << n}
}

// Shr returns v shifted right by n bits.
func (v Value) Shr(n int) Value {
	switch {
	case n <= 0:
		return v
	case v.wide != "":
		return fromBig(new(big.Int).Rsh(v.big(), uint(n)))
	case n >= 64:
		return Value{Lo: v.Hi >> (n - 64)}
	}
	return Value{Hi: v.Hi >> n, Lo: v.Lo>>n | v.Hi<<(64-n)}
}

func (v Value) big() *big.Int {
	return new(big.Int).SetBytes(v.Bytes(16 + len(v.wide)))
}

func fromBig(i *big.Int) Value { return FromBytes(i.Bytes()) }

// Hex returns v in hexadecimal with a 0x prefix, and "0" for zero, as Open vSwitch writes it.
func (v Value) Hex() string { return string(v.appendHex(nil)) }

func (v Value) appendHex(b []byte) []byte {
	switch {
	case v.IsZero():
		return append(b, '0')
	case v.Hi == 0 && v.wide == "":
		return strconv.AppendUint(append(b, "0x"...), v.Lo, 16)
	}
	return v.big().Append(append(b, "0x"...), 16)
}

// Decimal returns v in decimal.
func (v Value) Decimal() string { return string(v.appendDecimal(nil)) }

func (v Value) appendDecimal(b []byte) []byte {
	if v.Hi == 0 && v.wide == "" {
		return strconv.AppendUint(b, v.Lo, 10)
	}
	return v.big().Append(b, 10)
}

// String returns v in hexadecimal.
func (v Value) String() string { return v.Hex() }

// parseNumber parses a number as the OVS tools write it: decimal, hexadecimal after 0x, or octal after 0.
func parseNumber(s string) (Value, bool) {
	base, digits := 10, s
	switch {
	case len(s) > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X'):
		base, digits = 16, s[2:]
	case len(s) > 1 && s[0] == '0':
		base, digits = 8, s[1:]
	}
	if digits == "" || len(digits) > 400 {
		return Value{}, false
	}
	var n Value
	if len(digits) <= 15 {
		var u uint64
		for i := range len(digits) {
			d, ok := digit(digits[i], base)
			if !ok {
				return Value{}, false
			}
			u = u*uint64(base) + d
		}
		n.Lo = u
		return n, true
	}
	for i := range len(digits) {
		if _, ok := digit(digits[i], base); !ok {
			return Value{}, false
		}
	}
	i, ok := new(big.Int).SetString(digits, base)
	if !ok || i.BitLen() > maxBits {
		return Value{}, false
	}
	return fromBig(i), true
}

func digit(c byte, base int) (uint64, bool) {
	d := uint64(99)
	switch {
	case '0' <= c && c <= '9':
		d = uint64(c - '0')
	case 'a' <= c && c <= 'f':
		d = uint64(c-'a') + 10
	case 'A' <= c && c <= 'F':
		d = uint64(c-'A') + 10
	}
	return d, d < uint64(base)
}
