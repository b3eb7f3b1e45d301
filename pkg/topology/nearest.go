package topology

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
)

// maxNearest is how many similar names are suggested.
const maxNearest = 5

// Nearest returns the names of these kinds most similar to text.
func (g *Graph) Nearest(text string, kinds ...Kind) []string {
	word, rest, typed := g.typed(text)
	if !typed {
		return nearest(text, g.Names(kinds...))
	}
	return nearest(rest, g.called(word))
}

// called returns the names that may follow TYPE: or TYPE/.
func (g *Graph) called(word string) []string {
	t := nameTypes.Get()[word]
	kinds := slices.DeleteFunc(slices.Clone(t.kinds), func(k Kind) bool { return k == KindObject })
	var names []string
	if len(kinds) > 0 {
		names = g.Names(kinds...)
	}
	for _, o := range g.owned {
		if slices.Contains(t.owners, o.owner.Kind) {
			names = append(names, o.owner.FullName())
		}
	}
	if slices.Contains(t.owners, "") {
		for _, pg := range g.PortGroups {
			names = append(names, pg.Name)
		}
	}
	return names
}

// Completions returns the names of these kinds that begin with word, as [Graph.Names] has them; after TYPE: or TYPE/
// those of that type. UUIDs and MAC addresses are offered once their first digits are typed.
func (g *Graph) Completions(word string, kinds ...Kind) []string {
	var out []string
	if head, rest, ok := g.typed(word + "_"); ok {
		typed := word[:len(word)+1-len(rest)]
		if !slices.ContainsFunc(nameTypes.Get()[head].kinds, func(k Kind) bool { return slices.Contains(kinds, k) }) {
			return nil
		}
		for _, name := range g.called(head) {
			out = append(out, typed+name)
		}
	} else {
		out = g.Names(kinds...)
	}
	if len(word) >= 4 && strings.Trim(strings.ToLower(word), "0123456789abcdef-:") == "" {
		out = append(out, g.identifiers(kinds...)...)
	}
	out = slices.DeleteFunc(out, func(name string) bool { return !strings.HasPrefix(name, word) })
	slices.SortFunc(out, CompareNames)
	return slices.Compact(out)
}

// identifiers returns the UUIDs and MAC addresses by which objects can be named, as the CMS writes them.
func (g *Graph) identifiers(kinds ...Kind) []string {
	var out []string
	is := func(k Kind) bool { return slices.Contains(kinds, k) }
	for _, p := range g.Ports {
		if p.Kind == RouterPort && !is(KindRPort) || p.Type == "chassisredirect" {
			continue
		}
		out = append(append(out, p.UUID, p.Name), p.MACs...)
		if p.IsVM() {
			out = append(out, p.Device)
		}
	}
	if is(KindSwitch) {
		for _, s := range g.Switches {
			out = append(out, s.UUID, strings.TrimPrefix(s.Name, neutronPrefix))
		}
	}
	if is(KindRouter) {
		for _, r := range g.Routers {
			out = append(out, r.UUID, strings.TrimPrefix(r.Name, neutronPrefix))
		}
	}
	if is(KindNAT) {
		for _, n := range g.NAT {
			out = append(out, n.ExternalIDs["neutron:fip_id"])
		}
		for _, lb := range g.LoadBalancers {
			out = append(out, lb.ExternalIDs["neutron:fip_id"])
		}
	}
	if is(KindObject) {
		for _, o := range g.owned {
			if o.owner.Kind == groupKinds[0] {
				out = append(out, o.owner.Name)
			}
		}
	}
	return out
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
			p.Kind == SwitchPort && p.Pod == "" && (is(KindPort) || p.IsVM() && is(KindVM)):
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
		for _, v := range lb.VIPs {
			if _, err := netip.ParseAddr(v.Address); err == nil && lb.Service == "" && is(KindService) {
				seen[v.Address] = true // nothing else names the service
			}
		}
	}
	if is(KindBridge) {
		for _, b := range g.Bridges {
			seen[b.Name] = true
		}
	}
	if is(KindNAT) {
		for _, n := range g.NAT {
			seen[n.ExternalIP] = n.Type != "snat" || n.Owner.Name != "" && n.Owner.Role == decode.Own
		}
	}
	if is(KindObject) {
		for _, o := range g.owned {
			seen[o.name()] = true
		}
	}
	delete(seen, "")
	out := make([]string, 0, len(seen))
	for name, is := range seen {
		if !is {
			continue
		}
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
