package node

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// lookup routes a packet as the host's kernel would, using the saved rules, tables and settings. It returns
// ErrUnavailable where the kernel's choice depends on anything else.
func (n *Network) lookup(q RouteQuery) (*Route, error) {
	if special(q.Dst) || q.Src.IsValid() && special(q.Src) || !n.whole(q.Dst.Is6()) {
		return nil, unavailable("the saved routes do not tell")
	}
	if q.Iif != "" {
		return n.arriving(q)
	}
	if q.Src.IsValid() && !n.Owns(q.Src) {
		return nil, unavailable("%s is not an address of the host", q.Src)
	}
	r, err := n.byRules(q)
	if err != nil {
		return nil, err
	}
	return n.answer(q, r), nil
}

// RouteTraffic routes a packet that the host sends by its rules, tables and settings as they were read, where rules ask for protocols
// and ports. It returns ErrUnavailable where the kernel's choice depends on more.
func (n *Network) RouteTraffic(q RouteQuery, t Traffic) (*Route, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	q.traffic = &t
	return n.lookup(q)
}

// special reports whether an address has routes of its own. Those of 169.254.0.0/16 are like any others; ovn-kubernetes
// gives nodes some for services.
func special(a netip.Addr) bool {
	return a.IsMulticast() || a.IsUnspecified() || a.Is6() && a.IsLinkLocalUnicast() || a.IsLoopback() || a == netip.AddrFrom4([4]byte{255, 255, 255, 255})
}

// arriving routes a packet that arrives: its source may be refused, and for IPv4 the result includes whether the
// host forwards at all.
func (n *Network) arriving(q RouteQuery) (*Route, error) {
	if n.Link(q.Iif) == nil || !q.Src.IsValid() || n.Owns(q.Src) {
		return nil, unavailable("the saved routes do not cover packets from %s that come in by %s", q.Src, q.Iif)
	}
	r, err := n.byRules(q)
	if err != nil {
		return nil, err
	}
	if q.Dst.Is6() {
		return arrived(q, r)
	}
	forwards, known := n.Forwards(q.Iif, false)
	switch {
	case !known:
		return nil, unavailable("whether the host forwards what comes in by %s was not saved", q.Iif)
	case !forwards && r.Type != "local" && r.Type != "broadcast":
		return &Route{Type: "unreachable", Dst: hostPrefix(q.Dst)}, nil
	case r.Type == "unicast" || r.Type == "local":
		if refused, err := n.refuses(q, r); err != nil {
			return nil, err
		} else if refused {
			return &Route{Type: "martian", Dst: hostPrefix(q.Dst)}, nil
		}
	}
	return arrived(q, r)
}

// arrived is the kernel's reply for a packet that arrives; it does not choose a source.
func arrived(q RouteQuery, r Route) (*Route, error) {
	switch r.Type {
	case "unicast":
	case "local":
		r.Dev = "lo"
	case "none", "blackhole", "unreachable", "prohibit":
		return &Route{Type: r.Type, Dst: hostPrefix(q.Dst)}, nil
	default:
		return nil, unavailable("the saved routes do not cover %s addresses", r.Type)
	}
	r.Src = netip.Addr{}
	return answerRoute(q, r), nil
}

// refuses reports whether the kernel rejects an IPv4 packet's source as forged: rp_filter (see ip-sysctl) looks up
// the path back.
func (n *Network) refuses(q RouteQuery, r Route) (bool, error) {
	filter, known := n.RPFilter(q.Iif)
	if !known {
		return false, unavailable("rp_filter of %s was not saved", q.Iif)
	}
	back := RouteQuery{Dst: q.Src, Src: q.Dst}
	if r.Type == "unicast" {
		back.Iif = r.Dev
	}
	way, err := n.byRules(back)
	switch {
	case err != nil:
		return false, err
	case way.Type == "local" || way.Type == "broadcast" || way.Type == "multicast" || way.Type == "anycast":
		return false, unavailable("the saved routes do not cover packets from %s", q.Src)
	case filter == 0:
		return false, nil
	}
	return way.Type != "unicast" || filter == 1 && way.Dev != q.Iif, nil
}

// byRules walks the rules and the tables they lead to; the type is "none" if no route matches.
func (n *Network) byRules(q RouteQuery) (Route, error) {
	from := 0
	for _, rule := range n.Rules {
		if (rule.Family == 6) != q.Dst.Is6() || rule.Priority < from {
			continue
		}
		takes, sure := rule.takes(q)
		switch {
		case !sure:
			return Route{}, unavailable("the saved routes do not say whether rule %d matches the packet", rule.Priority)
		case !takes:
			continue
		case rule.Goto != 0:
			from = rule.Goto
			continue
		case rule.Refuses():
			return Route{Type: rule.action()}, nil
		}
		r, err := n.inTable(rule.Table, q)
		if err != nil {
			return Route{}, err
		}
		if r != nil && r.Type != "throw" {
			return *r, nil
		}
	}
	return Route{Type: "none"}, nil
}

// localTable holds the host's own addresses.
const localTable = 255

// whole reports whether all tables of a family are known, not just main as `ip route` prints it.
func (n *Network) whole(v6 bool) bool {
	return slices.ContainsFunc(n.Rules, func(r Rule) bool { return (r.Family == 6) == v6 && r.Table == localTable }) &&
		slices.ContainsFunc(n.Routes, func(r Route) bool { return r.Dst.Addr().Is6() == v6 && r.Table == localTable })
}

// takes reports whether a rule matches a packet; not sure if it matches on what a RouteQuery lacks.
func (r Rule) takes(q RouteQuery) (takes, sure bool) {
	mask := r.Mask
	if mask == 0 && r.Mark != 0 {
		mask = 1<<32 - 1
	}
	other := r.Iif != "" && r.Iif != cmp.Or(q.Iif, "lo") || r.Oif != "" || (q.Mark^r.Mark)&mask != 0 || r.Dst.IsValid() && !r.Dst.Contains(q.Dst)
	further := false
	for words := strings.Fields(r.More); len(words) > 0; words = words[min(2, len(words)):] {
		switch words[0] {
		case "tos": // a lookup has none
			other = true
		case "ipproto", "sport", "dport":
			if q.traffic == nil {
				other = true // the same
				break
			}
			is, sure := q.traffic.is(words[0], words[min(1, len(words)-1)])
			other, further = other || sure && !is, further || !sure
		case "protocol", "action": // the rule's origin, and what it does
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

// is reports whether a packet is what a selector asks for.
func (t *Traffic) is(selector, value string) (is, sure bool) {
	low, high, ranged := strings.Cut(value, "-")
	if !ranged {
		high = low
	}
	from, err := strconv.ParseUint(low, 10, 16)
	to, err2 := strconv.ParseUint(high, 10, 16)
	if err != nil || err2 != nil {
		return false, false
	}
	var n uint64
	switch {
	case selector == "ipproto":
		n = uint64(t.Protocol)
	case !slices.Contains([]uint8{6, 17, 132}, t.Protocol): // TCP, UDP, SCTP: of others the kernel compares other fields
		return false, false
	case selector == "sport":
		n = uint64(t.SrcPort)
	default:
		n = uint64(t.DstPort)
	}
	return from <= n && n <= to, true
}

const mainTable = 254 // RT_TABLE_MAIN

// longest returns a table's routes with the longest prefix that has an address, and the best metric among these.
func (n *Network) longest(table int, a netip.Addr) []*Route {
	var best []*Route
	for i := range n.Routes {
		r := &n.Routes[i]
		if r.Table != table || r.TOS != 0 || !r.Dst.Contains(a) || slices.Contains(r.Flags, "dead") {
			continue
		}
		switch {
		case len(best) == 0 || r.Dst.Bits() > best[0].Dst.Bits() || r.Dst.Bits() == best[0].Dst.Bits() && r.Metric < best[0].Metric:
			best = []*Route{r}
		case r.Dst.Bits() == best[0].Dst.Bits() && r.Metric == best[0].Metric:
			best = append(best, r)
		}
	}
	return best
}

// inTable finds a table's route for a packet, nil if it has none.
func (n *Network) inTable(table int, q RouteQuery) (*Route, error) {
	best := n.longest(table, q.Dst)
	switch {
	case len(best) == 0:
		return nil, nil
	case len(best) > 1 || len(best[0].Hops) > 0 || best[0].From.IsValid():
		return nil, unavailable("there are several routes to %s, of which the kernel chooses one by more than the destination", q.Dst)
	}
	return best[0], nil
}

// NextHops returns the next hops that the kernel uses for a destination side by side with that of a lookup's answer: it chooses by
// addresses or, where sysctl fib_multipath_hash_policy says so, by ports. Without an answer they are those of the main table.
func (n *Network) NextHops(answer *Route, dst netip.Addr) []NextHop {
	table := mainTable
	if answer != nil {
		table = cmp.Or(answer.Table, mainTable)
	}
	var hops []NextHop
	for _, r := range n.longest(table, dst) {
		hops = append(hops, r.Hops...)
		if dst.Is6() && r.Via.IsValid() && r.Protocol != "ra" { // over IPv6 it joins routes of their own, but for those that routers announce
			hops = append(hops, NextHop{Via: r.Via, Dev: r.Dev})
		}
	}
	hops = slices.DeleteFunc(hops, func(h NextHop) bool { return slices.Contains(h.Flags, "dead") })
	if answer == nil {
		return hops
	}
	is := func(h NextHop) bool { return h.Via == answer.Via && h.Dev == answer.Dev }
	if avoids := dst.Is4() && n.Sysctl[useNeighbours] == "1"; avoids || !slices.ContainsFunc(hops, is) { // it takes one that answers, or none of these
		return []NextHop{{Via: answer.Via, Dev: answer.Dev}}
	}
	return hops
}

// told is the kernel's reply by what was just read of it; false where it has to be asked, for which address it sends from, too.
func (n *Network) told(q RouteQuery) (*Route, bool) {
	r, err := n.lookup(q)
	switch {
	case err != nil:
		return nil, false
	case q.Src.IsValid():
		r.Src = netip.Addr{} // the kernel does not repeat it
	case q.Iif == "" && r.Dev != "" && !r.Src.IsValid():
		return nil, false
	}
	return r, true
}

// answer is the kernel's reply for a packet it sends by a route.
func (n *Network) answer(q RouteQuery, r Route) *Route {
	switch r.Type {
	case "none", "blackhole", "unreachable", "prohibit":
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

// source is the address that the kernel sends from by a route that names none; invalid if uncertain.
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
