package reach

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/journey"
)

// A Group is a set of parties that share a row or a column.
type Group struct {
	Name    string // of the only member, or of all, shortened
	Members []*Party

	whole bool
}

// Whole reports whether the name covers all members.
func (g Group) Whole() bool { return g.whole }

// A Matrix has a row for each group of senders and a column for each group of receivers.
type Matrix struct {
	From, To []Group
	outcomes []journey.Outcome
}

// At returns the outcome of the pairs of a row and a column; empty if nothing was asked.
func (m *Matrix) At(row, column int) journey.Outcome { return m.outcomes[row*len(m.To)+column] }

// Matrix returns nil unless the result covers all senders with all receivers. With together, senders that behave alike
// towards all receivers share a row, and receivers alike a column; alike means the same outcome for the same reason.
func (r *Result) Matrix(together bool) *Matrix {
	if r.plan.asked != nil {
		return nil
	}
	rows, columns := len(r.From), len(r.To)
	cells := &grid{rows: rows, columns: columns, cells: r.cells}
	fromSets, toSets := singles(rows), singles(columns)
	if together {
		toSets = cells.turned().alike()
		fromSets = cells.split(cells.alike(), toSets)
	}
	m := &Matrix{From: groups(r.From, fromSets), To: groups(r.To, toSets), outcomes: make([]journey.Outcome, len(fromSets)*len(toSets))}
	for i, from := range fromSets {
		for j, to := range toSets {
			m.outcomes[i*len(toSets)+j] = r.outcomeOf(from, to)
		}
	}
	return m
}

// outcomeOf returns the common outcome of the pairs of two groups.
func (r *Result) outcomeOf(from, to []int) journey.Outcome {
	for _, i := range from {
		for _, j := range to {
			switch cell := r.cells[i*len(r.To)+j]; {
			case cell == delivered:
				return journey.Delivered
			case cell >= firstCause:
				return r.cause(cell).Outcome
			}
		}
	}
	return ""
}

func singles(n int) [][]int {
	out := make([][]int, n)
	for i := range out {
		out[i] = []int{i}
	}
	return out
}

// A grid is a table of cells in rows.
type grid struct {
	rows, columns int
	cells         []uint32
}

// turned returns the grid with rows and columns swapped.
func (g *grid) turned() *grid {
	t := &grid{rows: g.columns, columns: g.rows, cells: make([]uint32, len(g.cells))}
	for i := range g.rows {
		for j := range g.columns {
			t.cells[j*g.rows+i] = g.cells[i*g.columns+j]
		}
	}
	return t
}

// alike groups rows that agree in every column. A cell that was not asked agrees with anything: nothing is asked about
// itself.
func (g *grid) alike() [][]int {
	var sets [][]int
	var merged [][]uint32 // what a set's rows have in common
	for i := range g.rows {
		row := g.cells[i*g.columns : (i+1)*g.columns]
		k := slices.IndexFunc(merged, func(m []uint32) bool { return agree(m, row) })
		if k < 0 {
			sets, merged = append(sets, []int{i}), append(merged, slices.Clone(row))
			continue
		}
		sets[k] = append(sets[k], i)
		for j, cell := range row {
			merged[k][j] = max(merged[k][j], cell)
		}
	}
	return sets
}

// split separates rows whose cells in a set of columns differ after all: that of a to b and that of b to a, where
// neither has a cell of its own to show it.
func (g *grid) split(sets, columns [][]int) [][]int {
	var out [][]int
	for _, set := range sets {
		if slices.ContainsFunc(columns, func(c []int) bool { return !g.even(set, c) }) {
			for _, i := range set {
				out = append(out, []int{i})
			}
			continue
		}
		out = append(out, set)
	}
	slices.SortFunc(out, func(a, b []int) int { return cmp.Compare(a[0], b[0]) })
	return out
}

// even reports whether all asked cells of some rows and columns are equal.
func (g *grid) even(rows, columns []int) bool {
	var first uint32
	for _, i := range rows {
		for _, j := range columns {
			switch cell := g.cells[i*g.columns+j]; {
			case cell == notAsked || cell == first:
			case first == notAsked:
				first = cell
			default:
				return false
			}
		}
	}
	return true
}

func agree(a, b []uint32) bool {
	for j := range a {
		if a[j] != b[j] && a[j] != notAsked && b[j] != notAsked {
			return false
		}
	}
	return true
}

func groups(parties []*Party, sets [][]int) []Group {
	namer := newNamer(parties)
	out := make([]Group, len(sets))
	for i, set := range sets {
		for _, k := range set {
			out[i].Members = append(out[i].Members, parties[k])
		}
		out[i].Name, out[i].whole = namer.name(out[i].Members, maxNamed)
	}
	return out
}

// A namer finds short names for sets of parties.
type namer struct {
	all   int
	count map[string]int // how many parties a pattern covers
}

func newNamer(all []*Party) *namer {
	n := &namer{all: len(all), count: map[string]int{}}
	for _, p := range all {
		for _, pattern := range p.patterns() {
			n.count[pattern]++
		}
	}
	return n
}

// patterns returns selectors that include p, the widest first.
func (p *Party) patterns() []string {
	var out []string
	switch {
	case p.Kind == "pod":
		out = append(out, p.Namespace+"/*")
	case p.Kind == "service" && p.Namespace != "":
		return []string{"svc:" + p.Namespace + "/*"}
	case p.Kind == "node":
		return []string{"node:*"}
	default:
		return nil
	}
	if i := strings.LastIndexByte(p.Name, '-'); i > 0 {
		out = append(out, p.Name[:i+1]+"*") // the name that a Deployment or StatefulSet gives its pods
	}
	return out
}

// maxNamed is the maximum number of parts in a group's name.
const maxNamed = 3

// name returns a set's name: all, else patterns with the number of parties they cover, and the others one by one,
// limited to most parts. It is whole if it leaves none out.
func (n *namer) name(set []*Party, most int) (name string, whole bool) {
	switch len(set) {
	case 1:
		return set[0].Name, true
	case n.all:
		return fmt.Sprintf("all %d", n.all), true
	}
	here := map[string]int{}
	for _, p := range set {
		for _, pattern := range p.patterns() {
			here[pattern]++
		}
	}
	var parts []string
	rest := 0
	named := map[string]bool{}
	for _, p := range set {
		part, size := p.Name, 1
		for _, pattern := range p.patterns() {
			if here[pattern] > 1 && here[pattern] == n.count[pattern] {
				part, size = fmt.Sprintf("%s (%d)", pattern, here[pattern]), here[pattern]
				break
			}
		}
		switch {
		case named[part]:
			continue
		case len(parts) < most:
			parts = append(parts, part)
		default:
			rest += size
		}
		named[part] = true
	}
	if rest > 0 {
		parts = append(parts, fmt.Sprintf("%d more", rest))
	}
	return strings.Join(parts, ", "), rest == 0
}

// A Refusal is a policy with the pairs that it stops.
type Refusal struct {
	Policy string
	Pairs  int
	Causes []RefusalCause
}

// A RefusalCause is one cause with its pairs, in short: all of From with all of To.
type RefusalCause struct {
	*Cause
	Bundles []Bundle
}

// A Bundle is every pair from two sets of names, except pairs of one with itself.
type Bundle struct{ From, To string }

// Refusals returns the pairs that are not delivered, by policy, the one that stops most of them first.
func (r *Result) Refusals() []Refusal {
	stopped := make([]map[int][]int, len(r.Causes)) // for each cause: senders by receiver
	for k, cell := range r.cells {
		if cell < firstCause {
			continue
		}
		a := r.plan.pair(k)
		if c := cell - firstCause; stopped[c] == nil {
			stopped[c] = map[int][]int{int(a.to): {int(a.from)}}
		} else {
			stopped[c][int(a.to)] = append(stopped[c][int(a.to)], int(a.from))
		}
	}
	senders, receivers := newNamer(r.From), newNamer(r.To)
	places := map[string]int{}
	var out []Refusal
	for i, c := range r.Causes {
		place, ok := places[c.Policy]
		if !ok {
			place = len(out)
			places[c.Policy] = place
			out = append(out, Refusal{Policy: c.Policy})
		}
		out[place].Pairs += c.Pairs
		out[place].Causes = append(out[place].Causes, RefusalCause{c, r.bundles(stopped[i], senders, receivers)})
	}
	slices.SortStableFunc(out, func(a, b Refusal) int { return cmp.Compare(b.Pairs, a.Pairs) })
	return out
}

// bundles groups receivers that the same senders do not reach. Receivers that differ only in not sending to themselves
// are grouped too.
func (r *Result) bundles(senders map[int][]int, fromNames, toNames *namer) []Bundle {
	var receivers []int
	for to, from := range senders {
		receivers = append(receivers, to)
		slices.Sort(from)
		senders[to] = slices.Compact(from) // there may have been several questions
	}
	slices.Sort(receivers)
	type set struct{ from, to []int }
	var sets []set
	for _, to := range receivers {
		k := slices.IndexFunc(sets, func(s set) bool { return r.sameSenders(s.from, s.to, senders[to], to) })
		if k < 0 {
			sets = append(sets, set{senders[to], []int{to}})
			continue
		}
		sets[k].to = append(sets[k].to, to)
		sets[k].from = union(sets[k].from, senders[to])
	}
	var out []Bundle
	for _, s := range sets {
		from, _ := fromNames.name(pick(r.From, s.from), len(s.from))
		to, _ := toNames.name(pick(r.To, s.to), len(s.to))
		out = append(out, Bundle{from, to})
	}
	return out
}

// sameSenders reports whether one more receiver has the same senders as those so far, except for pairs of one with
// itself. The lists are sorted.
func (r *Result) sameSenders(from, receivers, more []int, to int) bool {
	for len(from) > 0 || len(more) > 0 {
		switch {
		case len(from) > 0 && len(more) > 0 && from[0] == more[0]:
			from, more = from[1:], more[1:]
		case len(more) == 0 || len(from) > 0 && from[0] < more[0]:
			if !same(r.From[from[0]], r.To[to]) {
				return false
			}
			from = from[1:]
		default:
			if !slices.ContainsFunc(receivers, func(t int) bool { return same(r.From[more[0]], r.To[t]) }) {
				return false
			}
			more = more[1:]
		}
	}
	return true
}

func union(a, b []int) []int {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}

func pick(parties []*Party, set []int) []*Party {
	var out []*Party
	for _, i := range set {
		out = append(out, parties[i])
	}
	return out
}
