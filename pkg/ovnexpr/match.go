package ovnexpr

import (
	"strconv"
	"strings"
)

// A Match is a parsed match.
type Match struct {
	Text string // the parsed text
	Root Node
}

// A Node is part of a match: an *[Or], *[And], *[Not], *[Paren], *[Literal], *[Bare], *[Compare], *[Between] or
// *[Resident]. The last five are leaves. String writes text that parses to an equal tree.
type Node interface {
	String() string
	Range() Span
	node()
}

// An Or holds if one of its operands does. There are at least two.
type Or struct {
	Operands []Node
	Span
}

// An And holds if all of its operands do. There are at least two.
type And struct {
	Operands []Node
	Span
}

// A Not holds if its operand does not.
type Not struct {
	Operand Node
	Span
}

// A Paren is an expression in parentheses.
type Paren struct {
	Inner Node
	Span
}

// A Literal is 1 or 0: all packets, or none.
type Literal struct {
	True bool
	Span
}

// A Bare is a predicate or a one-bit field by itself: ip4, ct.new, reg0[3].
type Bare struct {
	Field Field
	Span
}

// A Compare compares a field with constants.
type Compare struct {
	Field    Field
	Op       Op // with the field on the left
	Values   Values
	Reversed bool // the constants were written on the left
	Span
}

// A Between compares a field with a bound on either side: 1024 <= tcp.src <= 49151.
type Between struct {
	Left    Values
	LeftOp  Op // as written, between Left and Field
	Field   Field
	RightOp Op
	Right   Values
	Span
}

// A Resident holds on the chassis where a port resides: is_chassis_resident("port").
type Resident struct {
	Port string
	Span
}

func (*Or) node()       {}
func (*And) node()      {}
func (*Not) node()      {}
func (*Paren) node()    {}
func (*Literal) node()  {}
func (*Bare) node()     {}
func (*Compare) node()  {}
func (*Between) node()  {}
func (*Resident) node() {}

// An Op is a relational operator.
type Op uint8

// The relational operators.
const (
	Equal Op = iota
	NotEqual
	Less
	LessEqual
	Greater
	GreaterEqual
)

var opNames = [...]string{"==", "!=", "<", "<=", ">", ">="}

// String returns the operator's sign.
func (o Op) String() string { return opNames[o] }

// turn is the operator with its sides swapped.
func (o Op) turn() Op { return [...]Op{Equal, NotEqual, Greater, GreaterEqual, Less, LessEqual}[o] }

// invert is the operator that holds when o does not.
func (o Op) invert() Op { return [...]Op{NotEqual, Equal, GreaterEqual, Greater, LessEqual, Less}[o] }

// ordered reports whether the operator needs an order.
func (o Op) ordered() bool { return o > NotEqual }

// A Field is a field or some of its bits, as written.
type Field struct {
	Name   string
	Bits   bool // [Lo..Hi] was written
	Lo, Hi int
	Span
}

// String writes the field in OVN syntax.
func (f Field) String() string {
	switch {
	case !f.Bits:
		return f.Name
	case f.Lo == f.Hi:
		return f.Name + "[" + strconv.Itoa(f.Lo) + "]"
	}
	return f.Name + "[" + strconv.Itoa(f.Lo) + ".." + strconv.Itoa(f.Hi) + "]"
}

func (n *Or) String() string { return join(n.Operands, " || ") }

func (n *And) String() string { return join(n.Operands, " && ") }

func (n *Not) String() string { return "!" + n.Operand.String() }

func (n *Paren) String() string { return "(" + n.Inner.String() + ")" }

func (n *Literal) String() string {
	if n.True {
		return "1"
	}
	return "0"
}

func (n *Bare) String() string { return n.Field.String() }

// String writes the comparison, each side as in the text.
func (n *Compare) String() string {
	if n.Reversed {
		return n.Values.String() + " " + n.Op.turn().String() + " " + n.Field.String()
	}
	return n.Field.String() + " " + n.Op.String() + " " + n.Values.String()
}

func (n *Between) String() string {
	return n.Left.String() + " " + n.LeftOp.String() + " " + n.Field.String() + " " + n.RightOp.String() + " " + n.Right.String()
}

func (n *Resident) String() string { return "is_chassis_resident(" + quote(n.Port) + ")" }

func join(nodes []Node, sep string) string {
	s := make([]string, len(nodes))
	for i, n := range nodes {
		s[i] = n.String()
	}
	return strings.Join(s, sep)
}

// Leaves returns the leaves of the match in text order.
func (m *Match) Leaves() []Node { return leaves(m.Root, nil) }

func leaves(n Node, to []Node) []Node {
	var operands []Node
	switch n := n.(type) {
	case *Or:
		operands = n.Operands
	case *And:
		operands = n.Operands
	case *Not:
		to = leaves(n.Operand, to)
	case *Paren:
		to = leaves(n.Inner, to)
	default:
		to = append(to, n)
	}
	for _, o := range operands {
		to = leaves(o, to)
	}
	return to
}
