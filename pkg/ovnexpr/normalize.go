package ovnexpr

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/release"
)

// maxAlternatives bounds the comparisons made by normalizing: conjunctions of disjunctions multiply.
const maxAlternatives = 1 << 16

// A normalizer converts annotated formulas to normal form: a constant, a comparison, a conjunction of operands that are
// each about a different symbol, or a disjunction of those. All comparisons are then for equality.
//
// OVN's normal form is not minimal, and it decides whether ovn-trace considers a formula ambiguous. So it matters here,
// too, where duplicates are dropped and where not.
type normalizer struct {
	version  release.Series
	left     int                    // alternatives that may still be made
	many     func()                 // reports that there are too many
	resident func(port string) bool // nil: all ports reside here
}

func (n *normalizer) spend(alternatives int) {
	if n.left -= alternatives; n.left < 0 {
		n.many()
	}
}

// simple replaces all comparisons with comparisons for equality and drops constants.
func (n *normalizer) simple(f *formula) *formula {
	switch f.kind {
	case isComparison:
		if f.symbol.IsString() {
			return f
		}
		n.spend(1)
		return n.equalities(f)
	case isAll, isAny:
		var operands []*formula
		for _, o := range f.operands {
			o = n.simple(o)
			if o.kind != isConstant {
				operands = append(operands, o)
			} else if o.holds == (f.kind == isAny) {
				return o
			}
		}
		return merge(f.kind, operands...)
	case isResidence:
		return truth((n.resident == nil || n.resident(f.port)) == f.holds)
	}
	return f
}

// equalities replaces a comparison by one or more for equality.
func (n *normalizer) equalities(f *formula) *formula {
	switch f.op {
	case Equal:
		if f.mask.IsZero() {
			return truth(true)
		}
		return f
	case NotEqual:
		return n.differs(f)
	}
	lo, width := oneRange(f.mask)
	if width == 0 {
		return truth(false)
	}
	less := f.op == Less || f.op == LessEqual
	orEqual := f.op == LessEqual || f.op == GreaterEqual
	extreme := packet.Value{} // none is less, or greater
	if less {
		extreme = f.mask
	}
	switch {
	case f.value == extreme && orEqual:
		return truth(true)
	case f.value == extreme:
		return n.differs(f)
	}
	var any []*formula
	if orEqual {
		any = append(any, f.equal(f.masked))
	}
	for i := lo; i < lo+width; i++ {
		if f.value.Bit(i) == less {
			any = append(any, f.equal(f.masked.flip(i, lo)))
		}
	}
	n.spend(len(any))
	return merge(isAny, any...)
}

// differs is true if some bit differs from a comparison's value: in later releases, with the bits above it equal.
func (n *normalizer) differs(f *formula) *formula {
	var any []*formula
	for i := range f.symbol.Bits {
		if !f.mask.Bit(i) {
			continue
		}
		if n.version.Has(release.DisjointAlternatives) {
			any = append(any, f.equal(f.masked.flip(i, 0)))
			continue
		}
		bit := packet.Uint(1).Shl(i)
		any = append(any, f.equal(masked{bit.AndNot(f.value), bit}))
	}
	n.spend(len(any))
	return merge(isAny, any...)
}

// equal is a comparison for equality of the same symbol with other bits.
func (f *formula) equal(b masked) *formula {
	return &formula{kind: isComparison, symbol: f.symbol, masked: b}
}

// flip inverts bit i and clears the bits from lo up to it.
func (b masked) flip(i, lo int) masked {
	below := packet.Ones(i - lo).Shl(lo)
	bit := packet.Uint(1).Shl(i)
	value := b.value.AndNot(below)
	if value.Bit(i) {
		value = value.AndNot(bit)
	} else {
		value = value.Or(bit)
	}
	return masked{value, b.mask.AndNot(below)}
}

// both merges the bits that two require; ok is false if they conflict.
func (b masked) both(c masked) (d masked, ok bool) {
	shared := b.mask.And(c.mask)
	return masked{b.value.Or(c.value), b.mask.Or(c.mask)}, b.value.And(shared) == c.value.And(shared)
}

// oneRange returns the lowest bit and the number of bits of a value whose ones are contiguous; else 0, 0.
func oneRange(v packet.Value) (lo, n int) {
	n = bits.OnesCount64(v.Hi) + bits.OnesCount64(v.Lo)
	if lo = v.BitLen() - n; n == 0 || packet.Ones(n).Shl(lo) != v {
		return 0, 0
	}
	return lo, n
}

// normal is the normal form of a simple formula.
func (n *normalizer) normal(f *formula) *formula {
	switch f.kind {
	case isAll:
		return n.normalAll(f)
	case isAny:
		return n.normalAny(f.operands)
	}
	return f
}

func (n *normalizer) normalAny(operands []*formula) *formula {
	var any []*formula
	for _, o := range operands {
		if o.kind == isAll {
			o = n.normalAll(o)
		}
		switch {
		case o.kind != isConstant:
			any = append(any, o)
		case o.holds:
			return o
		}
	}
	return merge(isAny, any...)
}

func (n *normalizer) normalAll(f *formula) *formula {
	bySymbol := map[*Symbol][]*formula{}
	var symbols []*Symbol
	var mixed []*formula
	for _, o := range f.operands {
		s := o.only()
		if s == nil {
			mixed = append(mixed, o)
			continue
		}
		if bySymbol[s] == nil {
			symbols = append(symbols, s)
		}
		bySymbol[s] = append(bySymbol[s], o)
	}
	slices.SortFunc(symbols, func(a, b *Symbol) int { return strings.Compare(a.Name, b.Name) })
	slices.SortStableFunc(mixed, func(a, b *formula) int { return len(a.operands) - len(b.operands) })
	var all []*formula
	for _, s := range symbols {
		o := n.one(merge(isAll, bySymbol[s]...), s)
		switch {
		case o.kind == isAny && s.crossed:
			mixed = append(mixed, o)
		case o.kind != isConstant:
			all = append(all, o)
		case !o.holds:
			return o
		}
	}
	if len(mixed) == 0 {
		return merge(isAll, all...)
	}
	return n.distribute(mixed[0], append(all, mixed[1:]...))
}

// distribute is the normal form of a disjunction and other operands: it multiplies them out.
func (n *normalizer) distribute(or *formula, others []*formula) *formula {
	any := make([]*formula, len(or.operands))
	for i, o := range or.operands {
		n.spend(1 + len(others))
		any[i] = merge(isAll, append([]*formula{o}, others...)...)
	}
	return n.normalAny(any)
}

// one reduces a formula about one symbol to a comparison, a disjunction of comparisons, or a constant.
func (n *normalizer) one(f *formula, s *Symbol) *formula {
	switch {
	case f.kind == isAny:
		operands := mapped(f.operands, func(o *formula) *formula { return n.one(o, s) })
		var any []*formula
		for _, o := range operands {
			if o.kind != isConstant {
				any = append(any, o)
			} else if o.holds {
				return o
			}
		}
		return n.distinct(merge(isAny, any...))
	case f.kind == isAll && s.IsString():
		return n.samePort(f, s)
	case f.kind == isAll:
		return n.sameBits(f, s)
	}
	return f
}

// distinct drops duplicates from a disjunction of comparisons, and in later releases what another operand covers.
func (n *normalizer) distinct(f *formula) *formula {
	if f.kind != isAny {
		return f
	}
	type key struct {
		masked
		port string
	}
	seen := map[key]bool{}
	var any []*formula
	for _, o := range f.operands {
		if k := (key{o.masked, o.port}); !seen[k] {
			seen[k] = true
			any = append(any, o)
		}
	}
	if n.version.Has(release.CoveredAlternatives) {
		n.spend(len(any) * len(any) / 64)
		any = uncovered(any)
	}
	return merge(isAny, any...)
}

// uncovered drops comparisons of numbers that hold only where another does.
func uncovered(any []*formula) []*formula {
	return slices.DeleteFunc(slices.Clone(any), func(f *formula) bool {
		return !f.symbol.IsString() && slices.ContainsFunc(any, func(o *formula) bool {
			return o != f && o.mask.AndNot(f.mask).IsZero() && f.value.And(o.mask) == o.value
		})
	})
}

// split sorts the operands of a conjunction about one symbol into comparisons and disjunctions. It returns false if one
// of them is never true.
func (n *normalizer) split(f *formula, s *Symbol) (comparisons, disjunctions []*formula, ok bool) {
	for _, o := range f.operands {
		o = n.one(o, s)
		switch {
		case o.kind == isComparison:
			comparisons = append(comparisons, o)
		case o.kind == isAny:
			disjunctions = append(disjunctions, o)
		case !o.holds:
			return nil, nil, false
		}
	}
	return comparisons, disjunctions, true
}

// samePort is the normal form of a conjunction about one string field.
func (n *normalizer) samePort(f *formula, s *Symbol) *formula {
	comparisons, disjunctions, ok := n.split(f, s)
	if !ok {
		return truth(false)
	}
	candidates := comparisons[:min(1, len(comparisons))]
	if len(comparisons) == 0 {
		candidates, disjunctions = disjunctions[0].operands, disjunctions[1:]
	}
	var any []*formula
	for _, c := range candidates {
		same := func(o *formula) bool { return o.port == c.port }
		differs := func(o *formula) bool { return !same(o) }
		lacks := func(d *formula) bool { return !slices.ContainsFunc(d.operands, same) }
		if !slices.ContainsFunc(comparisons, differs) && !slices.ContainsFunc(disjunctions, lacks) {
			any = append(any, c)
		}
	}
	return merge(isAny, any...)
}

// sameBits is the normal form of a conjunction about one number.
func (n *normalizer) sameBits(f *formula, s *Symbol) *formula {
	comparisons, disjunctions, ok := n.split(f, s)
	var sum masked
	for _, c := range comparisons {
		var agree bool
		sum, agree = sum.both(c.masked)
		ok = ok && agree
	}
	if !ok {
		return truth(false)
	}
	like := &formula{symbol: s}
	result := like.equal(sum)
	for _, d := range disjunctions {
		result = n.distinct(n.product(like, result, d))
	}
	if result.kind == isComparison && result.mask.IsZero() {
		return truth(true)
	}
	return result
}

// product is the disjunction of what an operand of a and one of b agree on.
func (n *normalizer) product(like, a, b *formula) *formula {
	var any []*formula
	for _, x := range a.alternatives() {
		n.spend(len(b.operands))
		for _, y := range b.operands {
			if c, ok := x.both(y.masked); ok {
				any = append(any, like.equal(c))
			}
		}
	}
	return merge(isAny, any...)
}

// alternatives are the comparisons that a formula about one number offers.
func (f *formula) alternatives() []*formula {
	switch f.kind {
	case isAny:
		return f.operands
	case isComparison:
		return []*formula{f}
	}
	return nil
}
