package doctor

import "slices"

// explain nests each finding under the one that explains it. [Check.Causes] says which check explains which; whether
// two findings are related follows from their objects.
func explain(found []Finding, checks []*Check) []Finding {
	of := map[string]*Check{}
	for _, c := range checks {
		of[c.Name] = c
	}
	parent := make([]int, len(found))
	for i := range found {
		parent[i] = -1
	}
	for i := range found {
		if found[i].Result.Fault() {
			parent[i] = closest(found, parent, i, of[found[i].Check])
		}
	}
	return assemble(found, parent)
}

// closest returns the finding that best explains i, which is of a check; -1 if none.
func closest(found []Finding, parent []int, i int, check *Check) int {
	best, closeness := -1, 0
	consider := func(least int, explains func(*Finding) bool) {
		for j := range found {
			if !explains(&found[j]) || !found[j].Result.Fault() || above(parent, j, i) {
				continue
			}
			if c := related(&found[i], &found[j]); c >= least && c > closeness {
				best, closeness = j, c
			}
		}
	}
	for _, cause := range check.Causes {
		consider(1, func(f *Finding) bool { return f.Check == cause })
	}
	for _, cause := range check.CausesOn {
		consider(sameObject, func(f *Finding) bool { return Kind{f.Check, f.Reason} == cause })
	}
	return best
}

// sameObject is how closely related two findings about one object are.
const sameObject = 3

// above reports whether i is j or above it, so that j must not come above i.
func above(parent []int, j, i int) bool {
	for ; j >= 0; j = parent[j] {
		if j == i {
			return true
		}
	}
	return false
}

// assemble lists the findings without a parent, with the others below them.
func assemble(found []Finding, parent []int) []Finding {
	var under func(int) []Finding
	under = func(of int) []Finding {
		out := []Finding{}
		for i, f := range found {
			if parent[i] == of {
				f.Also, f.Evidence = append([]Object{}, f.Also...), append([]Evidence{}, f.Evidence...) // never null
				f.Consequences = under(i)
				out = append(out, f)
			}
		}
		return out
	}
	return under(-1)
}

// related returns how close a finding is to a possible cause: 0 is unrelated; a common object is closest, then a common
// node, then a cause that concerns the whole deployment.
func related(f, cause *Finding) int {
	for _, o := range f.objects() {
		if o.Kind != "node" && slices.ContainsFunc(cause.objects(), o.same) {
			return sameObject
		}
	}
	mine, theirs := f.Nodes(), cause.Nodes()
	if len(theirs) == 0 {
		return 1
	}
	for _, n := range mine {
		if slices.Contains(theirs, n) {
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
	for _, o := range f.objects() {
		name := o.Node
		if o.Kind == "node" {
			name = o.Name
		}
		if name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
