package node

import (
	"net/netip"
	"slices"
	"strings"
)

// lookup answers for a packet that the host sends as its kernel would: from the
// rules and tables as they were saved. Where the kernel chooses by what is not in
// them it is ErrUnavailable. So is the way of a packet that arrives: the kernel
// has more to say of that.
func (n *Network) lookup(q RouteQuery) (*Route, error) {
	special := q.Dst.IsMulticast() || q.Dst.IsUnspecified() || q.Dst.IsLinkLocalUnicast() || q.Dst == netip.AddrFrom4([4]byte{255, 255, 255, 255})
	if special || q.Iif != "" || q.Src.IsValid() && !n.owns(q.Src) || !n.whole(q.Dst.Is6()) {
		return nil, unavailable("the saved routes do not tell")
	}
	from := 0
	for _, rule := range n.Rules {
		if (rule.Family == 6) != q.Dst.Is6() || rule.Priority < from {
			continue
		}
		takes, sure := rule.takes(q)
		switch {
		case !sure:
			return nil, unavailable("whether rule %d takes the packet the saved routes do not tell", rule.Priority)
		case !takes:
			continue
		case rule.Goto != 0:
			from = rule.Goto
			continue
		}
		r, err := n.inTable(rule.Table, q)
		if err != nil {
			return nil, err
		}
		if r != nil && r.Type != "throw" {
			return n.answer(q, *r), nil
		}
	}
	return &Route{Type: "none", Dst: hostPrefix(q.Dst)}, nil
}

// localTable is where the kernel keeps the addresses that are the host's own.
const localTable = 255

// whole says whether there are all tables of a family, and not only the main one as `ip route` prints it.
func (n *Network) whole(v6 bool) bool {
	return slices.ContainsFunc(n.Rules, func(r Rule) bool { return (r.Family == 6) == v6 && r.Table == localTable }) &&
		slices.ContainsFunc(n.Routes, func(r Route) bool { return r.Dst.Addr().Is6() == v6 && r.Table == localTable })
}

// takes says whether a rule is for a packet; not sure: it looks at what a RouteQuery does not have.
func (r Rule) takes(q RouteQuery) (takes, sure bool) {
	mask := r.Mask
	if mask == 0 && r.Mark != 0 {
		mask = 1<<32 - 1
	}
	other := r.Iif != "" && r.Iif != "lo" || r.Oif != "" || (q.Mark^r.Mark)&mask != 0 || r.Dst.IsValid() && !r.Dst.Contains(q.Dst)
	further := false
	for words := strings.Fields(r.More); len(words) > 0; words = words[min(2, len(words)):] {
		switch words[0] {
		case "tos", "ipproto", "sport", "dport": // a lookup has none of them
			other = true
		case "protocol": // who made the rule
		default:
			further = true
		}
	}
	bySource := r.Src.IsValid() && r.Src.Bits() > 0
	if bySource && q.Src.IsValid() {
		other = other || !r.Src.Contains(q.Src)
	}
	switch {
	case other:
		return r.Not, !r.Not || !further
	case further, bySource && !q.Src.IsValid() && q.Dst.Is6(): // the kernel may choose the source first
		return false, false
	case bySource && !q.Src.IsValid():
		return r.Not, true
	}
	return !r.Not, true
}

// inTable finds the route of a table for a packet; nil: it has none.
func (n *Network) inTable(table int, q RouteQuery) (*Route, error) {
	var best []*Route
	for i := range n.Routes {
		r := &n.Routes[i]
		if r.Table != table || r.TOS != 0 || !r.Dst.Contains(q.Dst) || slices.Contains(r.Flags, "dead") {
			continue
		}
		switch {
		case len(best) == 0 || r.Dst.Bits() > best[0].Dst.Bits() || r.Dst.Bits() == best[0].Dst.Bits() && r.Metric < best[0].Metric:
			best = []*Route{r}
		case r.Dst.Bits() == best[0].Dst.Bits() && r.Metric == best[0].Metric:
			best = append(best, r)
		}
	}
	switch {
	case len(best) == 0:
		return nil, nil
	case len(best) > 1 || len(best[0].Hops) > 0 || best[0].From.IsValid():
		return nil, unavailable("there are several routes to %s, of which the kernel chooses one by more than the destination", q.Dst)
	}
	return best[0], nil
}

// answer is what the kernel says of a packet that it sends by a route.
func (n *Network) answer(q RouteQuery, r Route) *Route {
	switch r.Type {
	case "blackhole", "unreachable", "prohibit":
		return &Route{Type: r.Type, Dst: hostPrefix(q.Dst)}
	case "local", "anycast":
		r.Dev = "lo"
	}
	if q.Src.IsValid() {
		r.Src = q.Src
	} else if !r.Src.IsValid() {
		r.Src = n.source(q.Dst, r)
	}
	return answerRoute(q, r)
}

// source is the address that the kernel sends from by a route that names none; it is not valid where that is not certain.
func (n *Network) source(dst netip.Addr, r Route) netip.Addr {
	var own []netip.Addr
	for _, a := range n.Addresses {
		if a.Link != r.Dev || a.Scope != "global" || a.Prefix.Addr().Is6() != dst.Is6() || slices.ContainsFunc([]string{"deprecated", "tentative", "dadfailed"}, a.Has) {
			continue
		}
		own = append(own, a.Prefix.Addr())
	}
	if len(own) != 1 {
		return netip.Addr{}
	}
	return own[0]
}
