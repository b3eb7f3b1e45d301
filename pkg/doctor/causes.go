package doctor

import (
	"slices"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// explain nests each finding under the one that explains it. [Check.Causes] says which check explains which; whether
// two findings are related follows from their objects.
func explain(found []Finding, checks []*Check) []Finding {
	of := map[string]*Check{}
	for _, c := range checks {
		of[c.Name] = c
	}
	n := &nesting{found: found, parent: make([]int, len(found)), concerned: make([]concern, len(found)), faults: map[string][]int{}}
	for i := range found {
		n.parent[i] = -1
		if found[i].Result.Fault() {
			n.concerned[i] = found[i].concern()
			n.faults[found[i].Check] = append(n.faults[found[i].Check], i)
		}
	}
	for i := range found {
		if found[i].Result.Fault() {
			n.parent[i] = n.closest(i, of[found[i].Check])
		}
	}
	return n.under(-1)
}

// A nesting puts findings under others.
type nesting struct {
	found     []Finding
	parent    []int            // of each finding; -1: none
	concerned []concern        // of each fault
	faults    map[string][]int // of each check
}

// closest returns the finding that best explains i, which is of a check; -1 if none.
func (n *nesting) closest(i int, check *Check) int {
	best, closeness := -1, 0
	consider := func(cause Kind, anyReason bool, least int) {
		for _, j := range n.faults[cause.Check] {
			if !anyReason && n.found[j].Reason != cause.Reason || n.above(j, i) {
				continue
			}
			if c := related(&n.concerned[i], &n.concerned[j]); c >= least && c > closeness {
				best, closeness = j, c
			}
		}
	}
	for _, cause := range check.Causes {
		consider(Kind{Check: cause}, true, 1)
	}
	for _, cause := range check.CausesOn {
		consider(cause, false, sameObject)
	}
	return best
}

// sameObject is how closely related two findings about one object are.
const sameObject = 3

// above reports whether i is j or above it, so that j must not come above i.
func (n *nesting) above(j, i int) bool {
	for ; j >= 0; j = n.parent[j] {
		if j == i {
			return true
		}
	}
	return false
}

// under lists the findings with a parent, with those below them.
func (n *nesting) under(parent int) []Finding {
	out := []Finding{}
	for i, f := range n.found {
		if n.parent[i] == parent {
			f.Also, f.Evidence = append([]Object{}, f.Also...), append([]Evidence{}, f.Evidence...) // never null
			f.Consequences = n.under(i)
			out = append(out, f)
		}
	}
	return out
}

// A concern is what a finding concerns, to be looked up: every node of a large deployment may have the same fault.
type concern struct {
	objects []Object // that are no nodes
	rows    map[ovsdb.UUID]bool
	names   map[Object]bool // with kind, name and node alone
	rowless map[Object]bool // those of names without a row
	nodes   map[string]bool
}

func (f *Finding) concern() concern {
	c := concern{rows: map[ovsdb.UUID]bool{}, names: map[Object]bool{}, rowless: map[Object]bool{}, nodes: map[string]bool{}}
	for _, o := range f.objects() {
		if n := o.node(); n != "" {
			c.nodes[n] = true
		}
		if o.Kind == "node" {
			continue
		}
		c.objects = append(c.objects, o)
		c.names[o.named()] = true
		if o.Row != "" {
			c.rows[o.Row] = true
		} else {
			c.rowless[o.named()] = true
		}
	}
	return c
}

// has reports whether one of the objects is the same as another: by their rows if both are known, else by name.
func (c *concern) has(o Object) bool {
	if o.Row == "" {
		return c.names[o.named()]
	}
	return c.rows[o.Row] || c.rowless[o.named()]
}

// related returns how close a finding is to a possible cause: 0 is unrelated; a common object is closest, then a common
// node, then a cause that concerns the whole deployment.
func related(f, cause *concern) int {
	if slices.ContainsFunc(f.objects, cause.has) {
		return sameObject
	}
	if len(cause.nodes) == 0 {
		return 1
	}
	few, many := f.nodes, cause.nodes
	if len(few) > len(many) {
		few, many = many, few
	}
	for n := range few {
		if many[n] {
			return 2
		}
	}
	return 0
}

// objects returns all objects of a finding.
func (f *Finding) objects() []Object { return append([]Object{f.Object}, f.Also...) }

// Nodes returns the names of the nodes that a finding concerns, each once, that of its object first.
func (f *Finding) Nodes() []string {
	var out []string
	seen := map[string]bool{}
	for _, o := range f.objects() {
		if name := o.node(); name != "" && !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	return out
}
