package ovnexpr

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A Format is how an integer is written.
type Format uint8

// The formats of integers.
const (
	Decimal Format = iota
	Hex
	IPv4
	IPv6
	Ethernet
)

// bits is the address width of a format; 0 for numbers.
func (f Format) bits() int { return [...]int{IPv4: 32, IPv6: 128, Ethernet: 48}[f] }

// A ConstantKind is a constant's kind.
type ConstantKind uint8

// The kinds of constants.
const (
	Integer     ConstantKind = iota
	String                   // "name"
	AddressSets              // $name, an Address_Set row
	PortGroups               // @name, a Port_Group row
	Template                 // ^NAME, a Chassis_Template_Var variable that was not expanded
)

// A Constant is a value, or the name of values kept elsewhere.
type Constant struct {
	Kind ConstantKind
	Text string // a String's value; for others but Integer, the name without its prefix

	Value      packet.Value // of an Integer, as written; bits outside the mask are ignored
	Mask       packet.Value // if Masked
	Masked     bool
	High       string // the hexadecimal digits before those of Value, if it has more than 128 bits
	MaskHigh   string // and those before Mask
	Format     Format
	MaskFormat Format // Decimal after an address: the mask is a prefix length

	Span
}

// String writes the constant in OVN syntax.
func (c Constant) String() string {
	switch c.Kind {
	case String:
		return quote(c.Text)
	case AddressSets:
		return "$" + c.Text
	case PortGroups:
		return "@" + c.Text
	case Template:
		return "^" + c.Text
	}
	s := formatInteger(c.High, c.Value, c.Format)
	if !c.Masked {
		return s
	}
	if c.MaskFormat == Decimal && (c.Format == IPv4 || c.Format == IPv6) {
		_, n := oneRange(c.Mask)
		return s + "/" + strconv.Itoa(n)
	}
	return s + "/" + formatInteger(c.MaskHigh, c.Mask, c.MaskFormat)
}

func formatInteger(high string, v packet.Value, f Format) string {
	switch f {
	case Decimal:
		return strconv.FormatUint(v.Lo, 10)
	case IPv4, IPv6:
		return v.Addr(f.bits()).String()
	case Ethernet:
		mac := &packet.EthSrc
		return mac.Print(v)
	}
	if high != "" {
		return fmt.Sprintf("0x%s%016x%016x", high, v.Hi, v.Lo)
	}
	if v.Hi != 0 {
		return fmt.Sprintf("0x%x%016x", v.Hi, v.Lo)
	}
	return "0x" + strconv.FormatUint(v.Lo, 16)
}

// width is the number of bits a field needs to be compared with an integer.
func (c Constant) width() int {
	switch {
	case c.Masked:
		return bitLen(c.MaskHigh, c.Mask)
	case c.Format.bits() > 0:
		return c.Format.bits()
	}
	return bitLen(c.High, c.Value)
}

// bitLen is how many bits a number has that begins with these hexadecimal digits.
func bitLen(high string, v packet.Value) int {
	if high == "" {
		return v.BitLen()
	}
	first, _ := strconv.ParseUint(high[:1], 16, 8) // a digit: the lexer has read it
	return 128 + 4*len(high) - 4 + bits.Len64(first)
}

// Values are the constants on one side of a comparison.
type Values struct {
	Braces bool // a set in braces
	Items  []Constant
	Span
}

// String writes the constants in OVN syntax.
func (v Values) String() string {
	s := make([]string, len(v.Items))
	for i, c := range v.Items {
		s[i] = c.String()
	}
	if v.Braces {
		return "{" + strings.Join(s, ", ") + "}"
	}
	return strings.Join(s, ", ")
}

// constantKinds are the tokens that are constants.
var constantKinds = lazy.Value[map[kind]ConstantKind]{Make: func() map[kind]ConstantKind {
	return map[kind]ConstantKind{integer: Integer, quoted: String, macro: AddressSets, group: PortGroups, template: Template}
}}

// constant reads one constant.
func (l *lexer) oneConstant() Constant {
	k, ok := constantKinds.Get()[l.tok.kind]
	if !ok {
		l.syntax("expecting constant")
	}
	c := l.tok.value
	c.Kind, c.Text, c.Span = k, l.tok.text, l.tok.Span
	l.next()
	return c
}

// values reads a constant, or constants in braces. Strings and integers do not mix.
func (l *lexer) values() Values {
	v := Values{Span: l.tok.Span}
	if !l.match("{") {
		v.Items = []Constant{l.oneConstant()}
		return v
	}
	v.Braces = true
	text, known := false, false
	for {
		at := l.tok.Span
		c := l.oneConstant()
		isText := c.Kind == String || c.Kind == PortGroups
		if c.Kind != Template {
			if known && isText != text {
				panic(syntaxAt(l.in, at, "expecting %s", map[bool]string{true: "string", false: "integer"}[text]))
			}
			text, known = isText, true
		}
		v.Items = append(v.Items, c)
		l.match(",")
		v.End = l.tok.End
		if l.match("}") {
			return v
		}
	}
}
