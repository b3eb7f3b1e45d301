package topology

import (
	"cmp"
	"slices"
	"strings"
)

// maxNearest is how many similar names are suggested.
const maxNearest = 5

// Nearest returns the names of these kinds most similar to text.
func (g *Graph) Nearest(text string, kinds ...Kind) []string {
	wanted := strings.ToLower(text)
	if word, rest, ok := strings.Cut(wanted, ":"); ok && prefixes[word] != nil {
		wanted, kinds = rest, prefixes[word]
	}
	return nearest(wanted, g.Names(kinds...))
}

// NearestNames returns the names most similar to text, best first.
func NearestNames(text string, names []string) []string { return nearest(text, names) }

// nearest returns the names most similar to wanted, best first.
func nearest(wanted string, names []string) []string {
	type scored struct {
		name  string
		score int
	}
	wanted = strings.ToLower(wanted)
	var found []scored
	for _, name := range names {
		plain := strings.ToLower(name)
		score := distance(wanted, plain)
		if _, last, ok := strings.Cut(plain, "/"); ok {
			score = min(score, distance(wanted, last))
		}
		if wanted != "" && strings.Contains(plain, wanted) {
			score = min(score, 1)
		}
		if wanted != "" && strings.HasPrefix(plain, wanted) {
			score = 0
		}
		if score <= max(2, len(wanted)/2) {
			found = append(found, scored{name, score})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int {
		return cmp.Or(cmp.Compare(a.score, b.score), CompareNames(a.name, b.name))
	})
	var out []string
	for _, f := range found[:min(len(found), maxNearest)] {
		out = append(out, f.name)
	}
	return out
}

// Names returns the names of these kinds, all kinds if none are given, as an operator would type them, sorted and
// unique.
func (g *Graph) Names(kinds ...Kind) []string {
	is := func(k Kind) bool { return len(kinds) == 0 || slices.Contains(kinds, k) }
	seen := map[string]bool{}
	for _, p := range g.Ports {
		switch {
		case p.Type == "chassisredirect":
		case p.Pod != "" && is(KindPod):
			seen[p.Pod] = true
		case p.Kind == RouterPort && is(KindRPort),
			p.Kind == SwitchPort && p.Pod == "" && (is(KindPort) || p.Device != "" && is(KindVM)):
			seen[cmp.Or(p.DisplayName, p.Name)] = true
		}
	}
	if is(KindSwitch) {
		for _, s := range g.Switches {
			seen[cmp.Or(s.DisplayName, s.Name)] = true
		}
	}
	if is(KindRouter) {
		for _, r := range g.Routers {
			seen[cmp.Or(r.DisplayName, r.Name)] = true
		}
	}
	if is(KindNode) {
		for _, c := range g.Chassis {
			seen[chassisLabel(c)] = true
		}
		for _, n := range g.Nodes {
			seen[n.Name] = true
		}
	}
	for _, lb := range g.LoadBalancers {
		if lb.Service != "" && is(KindService) {
			seen[lb.Service] = true
		} else if is(KindBalancer) {
			seen[lb.Name] = true
		}
	}
	if is(KindBridge) {
		for _, b := range g.Bridges {
			seen[b.Name] = true
		}
	}
	delete(seen, "")
	out := make([]string, 0, len(seen))
	for name := range seen {
		out = append(out, name)
	}
	slices.SortFunc(out, CompareNames)
	return out
}

// maxCompared bounds the work of comparing names, which may be of any length.
const maxCompared = 64

// distance returns how many characters to insert, delete or replace, or neighbors to swap, turn a into b.
func distance(a, b string) int {
	a, b = a[:min(len(a), maxCompared)], b[:min(len(b), maxCompared)]
	var before, last []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(row[j]+1, last[j+1]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
