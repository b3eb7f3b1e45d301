package ovnexpr

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// reference evaluates a match straight from the table of symbols and the syntax tree: numbers are big.Int, predicates
// are parsed where they are met, sets are gone through.
type reference struct {
	p *packet.Flow
	t *testing.T
}

func define(name string) definition {
	d := definition{}
	for _, one := range definitions {
		if one.name == name {
			d = one // the last is the newest
		}
	}
	if d.name != "" {
		return d
	}
	var n, of int
	switch {
	case strings.HasPrefix(name, "xx"), name == "xreg4":
		return definition{name: name, field: name}
	case strings.HasPrefix(name, "xreg"):
		_, _ = fmt.Sscanf(name, "xreg%d", &n)
		of = 64 * (1 - n%2)
		return definition{name: name, bits: fmt.Sprintf("xxreg%d[%d..%d]", n/2, of, of+63)}
	}
	return definition{name: name, field: name} // reg0 to reg9 are fields of pkg/packet as well
}

// value reads bits of a symbol from the packet.
func (r reference) value(name string, lo, bits int) *big.Int {
	d := define(name)
	for d.bits != "" {
		l := newLexer(d.bits)
		f := l.field()
		lo += f.Lo
		d = define(f.Name)
	}
	f, ok := packet.Lookup(d.field)
	if !ok {
		r.t.Fatalf("%s: no field %q", name, d.field)
	}
	if bits == 0 {
		bits = f.Bits
	}
	v := new(big.Int).SetBytes(r.p.Get(f).Bytes(16))
	v.Rsh(v, uint(lo))
	return cut(v, bits)
}

func cut(v *big.Int, bits int) *big.Int {
	ones := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(bits)), big.NewInt(1))
	return new(big.Int).And(v, ones)
}

// needs evaluates the prerequisites of a symbol and of those it is part of.
func (r reference) needs(name string) bool {
	d := define(name)
	if d.needs != "" && !r.text(d.needs) {
		return false
	}
	if d.bits != "" {
		l := newLexer(d.bits)
		return r.needs(l.field().Name)
	}
	return true
}

func (r reference) text(s string) bool {
	m, err := ParseMatch(s)
	if err != nil {
		r.t.Fatal(err)
	}
	return r.node(m.Root, false)
}

func (r reference) node(n Node, neg bool) bool {
	switch n := n.(type) {
	case *Or, *And:
		var operands []Node
		_, and := n.(*And)
		if o, ok := n.(*Or); ok {
			operands = o.Operands
		} else {
			operands = n.(*And).Operands
		}
		held := 0
		for _, o := range operands {
			if r.node(o, neg) {
				held++
			}
		}
		if and != neg {
			return held == len(operands)
		}
		return held > 0
	case *Not:
		return r.node(n.Operand, !neg)
	case *Paren:
		return r.node(n.Inner, neg)
	case *Literal:
		return n.True != neg
	case *Resident:
		return testPorts.Resident(n.Port) != neg
	case *Bare:
		return r.compare(n.Field, NotEqual, Constant{}, neg)
	case *Compare:
		if n.Op == NotEqual != neg { // none of them: a conjunction
			return r.each(n.Field, n.Op, n.Values, neg, true)
		}
		return r.each(n.Field, n.Op, n.Values, neg, false)
	case *Between:
		a := r.compare(n.Field, n.LeftOp.turn(), n.Left.Items[0], neg)
		b := r.compare(n.Field, n.RightOp, n.Right.Items[0], neg)
		if neg {
			return a || b
		}
		return a && b
	}
	r.t.Fatalf("%T", n)
	return false
}

// each compares with every constant, and with every member of a set.
func (r reference) each(f Field, op Op, v Values, neg, all bool) bool {
	var constants []Constant
	for _, c := range v.Items {
		switch c.Kind {
		case AddressSets:
			for _, address := range testAddresses[c.Text] {
				member, _ := parseConstant(address)
				constants = append(constants, member)
			}
		case PortGroups:
			for _, name := range testGroups[c.Text] {
				constants = append(constants, Constant{Kind: String, Text: name})
			}
		default:
			constants = append(constants, c)
		}
	}
	if len(constants) == 0 {
		return (op == NotEqual) != neg
	}
	held := 0
	for _, c := range constants {
		if r.compare(f, op, c, neg) {
			held++
		}
	}
	if all {
		return held == len(constants)
	}
	return held > 0
}

func (r reference) compare(f Field, op Op, c Constant, neg bool) bool {
	d := define(f.Name)
	if d.predicate != "" {
		holds := r.text(d.predicate)
		return holds == ((c.Value.Lo&1 == 1) != (op == NotEqual) != neg)
	}
	if neg {
		op = op.invert()
	}
	if !r.needs(f.Name) {
		return false
	}
	if c.Kind == String {
		for key, name := range testPorts {
			if name == c.Text {
				return op.holdsFor(r.value(f.Name, 0, 0).Cmp(new(big.Int).SetUint64(key)))
			}
		}
		return false
	}
	s, _ := SymbolsOf(Profile{}).Lookup(f.Name)
	bits, lo := s.Bits, 0
	if f.Bits {
		bits, lo = f.Hi-f.Lo+1, f.Lo
	}
	v, want := r.value(f.Name, lo, bits), cut(new(big.Int).SetBytes(c.Value.Bytes(16)), bits)
	if c.Masked {
		mask := new(big.Int).SetBytes(c.Mask.Bytes(16))
		v.And(v, mask)
		want.And(want, mask)
	}
	return op.holdsFor(v.Cmp(want))
}

func (o Op) holdsFor(cmp int) bool {
	return [...]bool{cmp == 0, cmp != 0, cmp < 0, cmp <= 0, cmp > 0, cmp >= 0}[o]
}

// A generator makes matches and packets that are likely to meet.
type generator struct{ *rand.Rand }

func (g generator) pick(words ...string) string { return words[g.IntN(len(words))] }

// fieldConstants are constants that suit fields.
var fieldConstants = map[string][]string{
	"eth.type": {"0x800", "0x86dd", "0x806"}, "ip.proto": {"6", "17", "58", "1"}, "eth.dst": {"0a:00:00:00:00:01", "ff:ff:ff:ff:ff:ff", "01:00:00:00:00:00/01:00:00:00:00:00", "$macs"},
	"ip4.src": {"10.0.0.1", "10.0.0.0/24", "$as4", "$empty", "10.0.0.1/255.0.0.255", "10.0.0.1/24"}, "ip6.dst": {"fd00::1", "fd00::/64", "ff02::1", "$as6"},
	"tcp.dst": {"80", "443", "0x50/0xf0"}, "udp.src": {"53", "80"}, "icmp6.type": {"135", "136", "143"}, "icmp4.code": {"0", "3"},
	"reg0": {"0", "5", "0x80000000/0x80000000"}, "xxreg0": {"5", "0x50000000000000000"}, "reg9": {"1", "2"}, "ct_mark": {"1", "0x2/0x2"},
	"ct_label.label": {"0x55", "5"}, "vlan.vid": {"5", "6"}, "arp.op": {"1", "2"}, "ip.ttl": {"1", "255"}, "tcp.flags": {"2", "0/0x7"},
	"inport": {"\"a\"", "\"b\"", "@pg", "@none", "\"nowhere\""}, "outport": {"\"a\"", "\"c\"", "@pg"},
}

var fieldNames, bareNames []string

func init() {
	for name := range fieldConstants {
		fieldNames = append(fieldNames, name)
	}
	for _, d := range definitions {
		if d.predicate != "" || strings.HasPrefix(d.name, "ct.") || strings.HasPrefix(d.name, "flags.l") {
			bareNames = append(bareNames, d.name)
		}
	}
}

func (g generator) match(depth int) string {
	if depth > 0 && g.IntN(3) > 0 {
		op, n := g.pick(" && ", " || "), 2+g.IntN(2)
		parts := make([]string, n)
		for i := range parts {
			parts[i] = g.match(depth - 1)
			if strings.Contains(parts[i], "&&") || strings.Contains(parts[i], "||") || g.IntN(4) == 0 {
				parts[i] = g.pick("", "!") + "(" + parts[i] + ")"
			}
		}
		return strings.Join(parts, op)
	}
	name := fieldNames[g.IntN(len(fieldNames))]
	constants := fieldConstants[name]
	switch g.IntN(10) {
	case 0:
		return g.pick("0", "1", "is_chassis_resident(\"a\")", "!is_chassis_resident(\"b\")")
	case 1, 2, 3:
		return g.pick("", "!") + bareNames[g.IntN(len(bareNames))]
	case 4:
		return name + fmt.Sprintf("[%d]", g.IntN(12))
	case 5:
		return name + fmt.Sprintf("[%d..%d] %s %d", g.IntN(4), 4+g.IntN(8), g.pick(opNames[:]...), g.IntN(300))
	case 6:
		return g.pick(constants...) + g.pick(" < ", " <= ", " > ", " >= ") + name + g.pick(" < ", " <= ", " > ", " >= ") + g.pick(constants...)
	case 7:
		return name + g.pick(" == ", " != ") + "{" + g.pick(constants...) + ", " + g.pick(constants...) + "}"
	}
	return name + " " + g.pick(opNames[:]...) + " " + g.pick(constants...)
}

func (g generator) packet() *packet.Flow {
	p := new(packet.Flow)
	for name, values := range map[string][]string{
		"eth_type": {"0x800", "0x86dd", "0x806", "0x8035", "0x9000"}, "nw_proto": {"6", "17", "58", "1", "2", "132"},
		"eth_dst": {"0a:00:00:00:00:01", "ff:ff:ff:ff:ff:ff", "33:33:00:00:00:01", "01:00:5e:00:00:01"}, "ip_src": {"10.0.0.1", "10.0.0.7", "10.0.1.9", "224.0.0.1"},
		"ip_dst": {"10.0.0.1", "224.0.0.5"}, "ipv6_dst": {"fd00::1", "fd00::2", "ff02::1", "ff02::16", "ff02::1:ff00:1"}, "ipv6_src": {"fe80::1", "fd01::9"},
		"tcp_dst": {"80", "443", "0", "85"}, "tcp_src": {"135", "136", "53", "80", "143", "130"}, "reg0": {"0", "5", "0x80000005"}, "reg2": {"0", "5"},
		"reg3": {"0", "5"}, "reg9": {"0", "1", "2"}, "ct_state": {"0", "0x21", "0x22", "0x2a", "0x30", "1"}, "ct_mark": {"0", "1", "2"},
		"ct_label": {"0", "0x55000000000000000000000000"}, "vlan_tci": {"0", "0x1005", "5", "0x3006"}, "arp_op": {"1", "2", "58", "6"}, "nw_ttl": {"1", "255", "64"},
		"tcp_flags": {"0", "2", "0x12"}, "reg14": {"0", "1", "2", "3", "9"}, "reg15": {"1", "3"}, "ip_frag": {"0", "1", "3"}, "reg10": {"0", "1"},
	} {
		f, _ := packet.Lookup(name)
		c, _ := parseConstant(values[g.IntN(len(values))])
		if name == "arp_op" && p.Uint("eth_type")&0xfff != 0x806 {
			continue // shares its place with nw_proto
		}
		p.Set(f, c.Value)
	}
	return p
}

// The answer of an annotated match is that of the plain reading, and the leaves that decided are enough to give it.
func TestMatchesAsReference(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	g := generator{rand.New(rand.NewPCG(seed, 0))}
	defer func() { t.Logf("seed %d", seed) }()
	draws := 3000
	if testing.Short() {
		draws = 300
	}
	valid, refused, held := 0, 0, 0
	for valid < draws {
		text := g.match(3)
		m, err := ParseMatch(text)
		if err != nil {
			refused++
			continue
		}
		c, err := m.Annotate(SymbolsOf(Profile{}), groups{})
		if err != nil {
			refused++
			continue
		}
		lazy, err := m.Annotate(SymbolsOf(Profile{}), Lazy)
		if err != nil {
			t.Fatalf("%s: %v without its sets", text, err)
		}
		valid++
		for range 15 {
			p := g.packet()
			got, decisions := c.Evaluate(p, testPorts)
			want := reference{p, t}.node(m.Root, false)
			if c.Matches(p, testPorts) != want || got != want {
				t.Fatalf("%s\n%s\nis %v of\n%s\nwant %v", text, c, got, p, want)
			}
			known := map[Node]bool{}
			for _, d := range decisions {
				known[d.Leaf] = d.Holds
			}
			if answer, ok := determined(m.Root, false, known); !ok || answer != want {
				t.Fatalf("%s\nis %v of\n%s\nbut what decided gives %v (%v): %v", text, want, p, answer, ok, decisions)
			}
			if l, err := lazy.Holds(p, &fetched{ports: testPorts}); l != want || err != nil {
				t.Fatalf("%s\n%s\nis %v (%v) of\n%s\nwant %v", text, lazy, l, err, p, want)
			}
			if (c.Missing(p, testPorts) == nil) != want {
				t.Fatalf("%s\nis %v of\n%s\nand misses %v", text, want, p, c.Missing(p, testPorts))
			}
			if want {
				held++
			}
		}
	}
	t.Logf("%d matches, %d packets each, %d refused; %d answers were true", valid, 15, refused, held)
	if held < valid*15/10 || held > valid*15*9/10 {
		t.Errorf("%d answers of %d are true: the test does not test", held, valid*15)
	}
}

// determined evaluates a match of whose leaves only some are known; ok reports whether they are enough.
func determined(n Node, neg bool, known map[Node]bool) (holds, ok bool) {
	var operands []Node
	conjunction := !neg
	switch n := n.(type) {
	case *Not:
		return determined(n.Operand, !neg, known)
	case *Paren:
		return determined(n.Inner, neg, known)
	case *And:
		operands = n.Operands
	case *Or:
		operands, conjunction = n.Operands, neg
	default:
		holds, ok = known[n]
		return holds, ok
	}
	all := true
	for _, o := range operands {
		h, known := determined(o, neg, known)
		if known && h != conjunction {
			return h, true
		}
		all = all && known
	}
	return conjunction, all
}
