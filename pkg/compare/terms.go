package compare

import (
	"slices"

	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
)

// terms compares two matches by the conditions that have to hold together, so that a long one which differs in a port says just
// that. It returns nil if either cannot be read, or if nothing that they share remains.
func terms(a, b string) []Term {
	inA, inB := conditions(a), conditions(b)
	if inA == nil || inB == nil {
		return nil
	}
	onlyA := slices.DeleteFunc(slices.Clone(inA), func(n ovnexpr.Node) bool { return contains(inB, n) })
	onlyB := slices.DeleteFunc(slices.Clone(inB), func(n ovnexpr.Node) bool { return contains(inA, n) })
	if len(onlyA) == len(inA) && len(inA) > 1 {
		return nil
	}
	var out []Term
	for _, x := range onlyA {
		i := slices.IndexFunc(onlyB, func(y ovnexpr.Node) bool { return tested(x) != "" && tested(x) == tested(y) })
		if i < 0 {
			out = append(out, Term{A: x.String()})
			continue
		}
		out = append(out, Term{Name: tested(x), A: tests(x), B: tests(onlyB[i])})
		onlyB = slices.Delete(onlyB, i, i+1)
	}
	for _, y := range onlyB {
		out = append(out, Term{B: y.String()})
	}
	return out
}

// conditions returns the conditions of a match that have to hold together.
func conditions(match string) []ovnexpr.Node {
	m, err := ovnexpr.ParseMatch(match)
	if err != nil {
		return nil
	}
	var out []ovnexpr.Node
	var walk func(n ovnexpr.Node)
	walk = func(n ovnexpr.Node) {
		switch x := n.(type) {
		case *ovnexpr.And:
			for _, o := range x.Operands {
				walk(o)
			}
		case *ovnexpr.Paren:
			if _, ok := x.Inner.(*ovnexpr.And); ok {
				walk(x.Inner)
				return
			}
			out = append(out, n)
		default:
			out = append(out, n)
		}
	}
	walk(m.Root)
	return out
}

func contains(nodes []ovnexpr.Node, n ovnexpr.Node) bool {
	return slices.ContainsFunc(nodes, func(x ovnexpr.Node) bool { return x.String() == n.String() })
}

// tested returns the field that a condition compares, with the operator unless it is ==; empty if it is no comparison.
func tested(n ovnexpr.Node) string {
	c, ok := n.(*ovnexpr.Compare)
	if !ok {
		return ""
	}
	if c.Op == ovnexpr.Equal {
		return c.Field.String()
	}
	return c.Field.String() + " " + c.Op.String()
}

// tests returns what a comparison compares with.
func tests(n ovnexpr.Node) string { return n.(*ovnexpr.Compare).Values.String() }
