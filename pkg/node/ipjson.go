package node

import (
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// The objects that ip(8) prints with -N -d -j, as far as a Network holds them.
type (
	ipLink struct {
		Index   int     `json:"ifindex"`
		Name    string  `json:"ifname"`
		Peer    int     `json:"link_index"`
		Parent  *string `json:"link"`
		Netns   *int    `json:"link_netnsid"`
		Flags   []string
		MTU     int
		Oper    string `json:"operstate"`
		Master  string
		Qdisc   string
		XDP     json.RawMessage
		Address string
		Info    struct {
			Kind string `json:"info_kind"`
		} `json:"linkinfo"`
		Addresses []ipAddr `json:"addr_info"`
	}
	ipAddr struct {
		Family        string
		Local         netip.Addr
		Peer          netip.Addr `json:"address"`
		Bits          int        `json:"prefixlen"`
		Scope         string
		Secondary     bool
		Temporary     bool
		DADFailed     bool
		Deprecated    bool
		Tentative     bool
		NoPrefixRoute bool
		Dynamic       bool
		NoDAD         bool
		Optimistic    bool
		Home          bool
		MngTmpAddr    bool
		AutoJoin      bool
		StablePrivacy bool `json:"stable-privacy"`
		Broadcast     netip.Addr
		Label         string
		Metric        int
		Valid         *uint32 `json:"valid_life_time"`
		Preferred     *uint32 `json:"preferred_life_time"`
	}
	ipHop struct {
		Gateway netip.Addr
		Via     struct{ Host netip.Addr }
		Dev     string
		Weight  int
		Flags   []string
	}
	ipRoute struct {
		ipHop
		Type     string
		Dst      string
		Table    string
		PrefSrc  netip.Addr
		Metric   int
		Protocol string
		Scope    string
		Hops     []ipHop `json:"nexthops"`
		From     string
		TOS      string
		Pref     string
		NHID     int
		Expires  int
		Metrics  []map[string]any
		Encap    json.RawMessage
		Flow     json.RawMessage
		TTL      json.RawMessage `json:"ttl-propogate"` //nolint:misspell // as ip(8) spells it
	}
	ipRule struct {
		Priority int
		Src      string
		SrcBits  *int `json:"srclen"`
		Dst      string
		DstBits  *int `json:"dstlen"`
		Iif      string
		Oif      string
		Mark     string `json:"fwmark"`
		Mask     string `json:"fwmask"`
		Table    string
		Goto     json.RawMessage
		TOS      string
		IPProto  string
		Sport    *int
		SportLo  int `json:"sport_start"`
		SportHi  int `json:"sport_end"`
		Dport    *int
		DportLo  int  `json:"dport_start"`
		DportHi  int  `json:"dport_end"`
		UIDLo    *int `json:"uid_start"`
		UIDHi    int  `json:"uid_end"`
		TunID    int  `json:"tun_id"`
		Suppress *int `json:"suppress_prefixlen"`
		IfGroup  any  `json:"suppress_ifgroup"`
		Action   string
		Protocol string
	}
	ipNeighbour struct {
		Dst     netip.Addr
		Dev     string
		LLAddr  string
		State   []string
		Updated int
	}
)

// parseIPAddr parses `ip -N -d -j addr`, which includes the links.
func parseIPAddr(b []byte, n *Network) error {
	var list []ipLink
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	index := map[string]int{}
	for _, l := range list {
		index[l.Name] = l.Index
	}
	for _, l := range list {
		link := Link{
			Index:     l.Index,
			Name:      l.Name,
			Kind:      l.Info.Kind,
			MAC:       etherAddr(l.Address),
			MTU:       l.MTU,
			Up:        slices.Contains(l.Flags, "UP"),
			Oper:      strings.ToLower(l.Oper),
			Master:    l.Master,
			NoARP:     slices.Contains(l.Flags, "NOARP"),
			Qdisc:     l.Qdisc,
			PeerIndex: l.Peer,
			PeerNetns: l.Netns,
		}
		if l.XDP != nil {
			link.Attached = []string{"xdp"}
		}
		if l.Parent != nil {
			link.PeerIndex = index[*l.Parent]
		}
		n.Links = append(n.Links, link)
		for _, a := range l.Addresses {
			if !a.Local.IsValid() {
				continue
			}
			addr := Address{Link: l.Name, Prefix: netip.PrefixFrom(a.Local, a.Bits), Peer: a.Peer, Scope: numberOr(a.Scope, scopeName),
				Broadcast: a.Broadcast, Metric: a.Metric}
			addr.Flags = a.flags()
			if a.Label != l.Name {
				addr.Label = a.Label
			}
			if a.Valid != nil && a.Preferred != nil {
				addr.Lifetime = lifetimeOf(*a.Valid, *a.Preferred)
			}
			n.Addresses = append(n.Addresses, addr)
		}
	}
	return nil
}

// flags names the flags that are set.
func (a *ipAddr) flags() []string {
	var names []string
	for _, f := range []struct {
		set  bool
		name string
	}{
		{a.AutoJoin, "autojoin"}, {a.DADFailed, "dadfailed"}, {a.Deprecated, "deprecated"}, {a.Dynamic, "dynamic"}, {a.Home, "home"},
		{a.MngTmpAddr, "mngtmpaddr"}, {a.NoDAD, "nodad"}, {a.NoPrefixRoute, "noprefixroute"}, {a.Optimistic, "optimistic"},
		{a.Secondary, "secondary"}, {a.StablePrivacy, "stable-privacy"}, {a.Temporary, "temporary"}, {a.Tentative, "tentative"},
	} {
		if f.set {
			names = append(names, f.name)
		}
	}
	return names
}

// parseIPRoute parses `ip -N -d -j route` of one family: a list, or the reply to a lookup.
func parseIPRoute(b []byte, v6 bool) ([]Route, error) {
	var list []ipRoute
	if err := json.Unmarshal(b, &list); err != nil {
		return nil, err
	}
	var routes []Route
	for _, r := range list {
		dst, err := parsePrefix(r.Dst, v6)
		if err != nil {
			return nil, err
		}
		table, err := strconv.Atoi(r.Table)
		if err != nil {
			return nil, fmt.Errorf("routing table %q is not a number: this ip(8) is too old", r.Table)
		}
		route := Route{
			Type:     numberOr(r.Type, routeType),
			Dst:      dst,
			Table:    table,
			Via:      r.via(),
			Dev:      r.Dev,
			Src:      r.PrefSrc,
			Metric:   r.Metric,
			Protocol: numberOr(r.Protocol, routeProtocol),
			Scope:    numberOr(r.Scope, scopeName),
			Flags:    knownHopFlags(r.Flags),
			TOS:      int(hexNumber(r.TOS)),
			NextHop:  r.NHID,
			Expires:  r.Expires,
			Metrics:  metricWords(r.Metrics),
		}
		if r.Pref != "medium" {
			route.Pref = r.Pref
		}
		if r.From != "" {
			if route.From, err = parsePrefix(r.From, v6); err != nil {
				return nil, err
			}
		}
		for _, x := range []struct {
			value json.RawMessage
			name  string
		}{{r.Encap, "encap"}, {r.Flow, "realm"}, {r.TTL, "ttl-propagate"}} {
			if x.value != nil {
				route.Beyond = strings.TrimSpace(route.Beyond + " " + x.name)
			}
		}
		for _, h := range r.Hops {
			route.Hops = append(route.Hops, NextHop{Via: h.via(), Dev: h.Dev, Weight: h.Weight, Flags: knownHopFlags(h.Flags)})
		}
		routes = append(routes, route)
	}
	return routes, nil
}

func (h ipHop) via() netip.Addr {
	if h.Gateway.IsValid() {
		return h.Gateway
	}
	return h.Via.Host
}

func knownHopFlags(flags []string) []string {
	var known []string
	for _, f := range []string{"dead", "linkdown", "onlink"} {
		if slices.Contains(flags, f) {
			known = append(known, f)
		}
	}
	return known
}

// parseIPRule parses `ip -N -d -j rule` of one family.
func parseIPRule(b []byte, family int) ([]Rule, error) {
	// "not" has the value null: only its presence counts.
	var present []map[string]json.RawMessage
	if err := json.Unmarshal(b, &present); err != nil {
		return nil, err
	}
	var list []ipRule
	if err := json.Unmarshal(b, &list); err != nil {
		return nil, err
	}
	var rules []Rule
	for i, r := range list {
		_, not := present[i]["not"]
		rule := Rule{Family: family, Priority: r.Priority, Not: not, Iif: r.Iif, Oif: r.Oif}
		var err error
		if rule.Src, err = rulePrefix(r.Src, r.SrcBits); err != nil {
			return nil, err
		}
		if rule.Dst, err = rulePrefix(r.Dst, r.DstBits); err != nil {
			return nil, err
		}
		if r.Mark != "" {
			rule.Mark, rule.Mask = hexNumber(r.Mark), 0xffffffff
			if r.Mask != "" {
				rule.Mask = hexNumber(r.Mask)
			}
		}
		rule.Table, _ = strconv.Atoi(r.Table) // no table: goto or another action
		rule.Goto, _ = strconv.Atoi(string(r.Goto))
		_, l3mdev := present[i]["l3mdev"]
		_, nop := present[i]["nop"]
		rule.More = r.more(l3mdev, nop).String()
		rules = append(rules, rule)
	}
	return rules, nil
}

func (r ipRule) more(l3mdev, nop bool) ruleMore {
	m := ruleMore{tos: int(hexNumber(r.TOS)), tunID: r.TunID, l3mdev: l3mdev}
	m.ipproto, _ = strconv.Atoi(strings.TrimPrefix(r.IPProto, "ipproto-"))
	m.sports, m.dports = portsOf(r.Sport, r.SportLo, r.SportHi), portsOf(r.Dport, r.DportLo, r.DportHi)
	if r.UIDLo != nil {
		m.uids = fmt.Sprintf("%d-%d", *r.UIDLo, r.UIDHi)
	}
	if r.Suppress != nil {
		m.suppressLen = strconv.Itoa(*r.Suppress)
	}
	if r.IfGroup != nil {
		m.suppressIf = fmt.Sprint(r.IfGroup)
	}
	if r.Action != "" {
		m.action = numberOr(r.Action, routeType)
	}
	if nop {
		m.action = "nop"
	}
	if r.Protocol != "" {
		m.protocol = number(routeProtocols.Get(), r.Protocol)
	}
	return m
}

func portsOf(one *int, from, to int) string {
	switch {
	case one != nil:
		return strconv.Itoa(*one)
	case to != 0:
		return fmt.Sprintf("%d-%d", from, to)
	}
	return ""
}

// metricWords returns a route's metrics in the kernel's order. ip(8) leaves "lock" out of its JSON.
func metricWords(list []map[string]any) string {
	var words []string
	for _, m := range list {
		for _, name := range []string{"mtu", "window", "rtt", "rttvar", "ssthresh", "cwnd", "advmss", "reordering", "hoplimit", "initcwnd",
			"features", "rto_min", "initrwnd", "quickack", "congestion", "fastopen_no_cookie"} {
			value, ok := m[name]
			if !ok {
				continue
			}
			if name == "congestion" {
				name = "congctl"
			}
			if f, ok := value.(float64); ok {
				value = int(f)
			}
			words = append(words, name, fmt.Sprint(value))
		}
	}
	return strings.Join(words, " ")
}

// parseIPNeighbour parses `ip -N -j neigh`.
func parseIPNeighbour(b []byte) ([]Neighbour, error) {
	var list []ipNeighbour
	if err := json.Unmarshal(b, &list); err != nil {
		return nil, err
	}
	known := []string{"incomplete", "reachable", "stale", "delay", "probe", "failed", "permanent"}
	var entries []Neighbour
	for _, e := range list {
		if len(e.State) != 1 || !slices.Contains(known, strings.ToLower(e.State[0])) || !e.Dst.IsValid() {
			continue
		}
		entry := Neighbour{Link: e.Dev, Addr: e.Dst, MAC: etherAddr(e.LLAddr), State: strings.ToLower(e.State[0])}
		if entry.State == "failed" {
			entry.Since = e.Updated
		}
		entries = append(entries, entry)
	}
	return entries, nil
}

func parsePrefix(s string, v6 bool) (netip.Prefix, error) {
	if s == "default" {
		return defaultRoute(v6), nil
	}
	if a, err := netip.ParseAddr(s); err == nil {
		return hostPrefix(a), nil
	}
	return netip.ParsePrefix(s)
}

func rulePrefix(s string, bits *int) (netip.Prefix, error) {
	if s == "" || s == "all" {
		return netip.Prefix{}, nil
	}
	a, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Prefix{}, err
	}
	if bits == nil {
		return hostPrefix(a), nil
	}
	return netip.PrefixFrom(a, *bits), nil
}

func hexNumber(s string) uint32 {
	n, _ := strconv.ParseUint(s, 0, 32)
	return uint32(n)
}

// numberOr returns the name of a number; anything else already is a name.
func numberOr(s string, name func(int) string) string {
	if n, err := strconv.Atoi(s); err == nil {
		return name(n)
	}
	return s
}

// etherAddr is an Ethernet address, "" if none: other link layers' are no use here, and
// loopback's is zero.
func etherAddr(s string) string {
	a, err := net.ParseMAC(s)
	if err != nil || len(a) != 6 || a.String() == "00:00:00:00:00:00" {
		return ""
	}
	return a.String()
}

// parseTC notes what tc(8) lists of queueing disciplines.
func parseTC(b []byte, n *Network) error {
	var list []struct {
		Kind, Dev string
		Root      bool
		Options   json.RawMessage // which they are depends on the kind
	}
	if err := json.Unmarshal(b, &list); err != nil {
		return err
	}
	for _, q := range list {
		n.attach(q.Dev, q.Kind)
		var options struct {
			Limit, Burst *int
			Loss         struct{ Loss float64 } `json:"loss-random"`
		}
		if q.Root && json.Unmarshal(q.Options, &options) == nil {
			n.limit(q.Dev, queue{q.Kind, options.Limit, options.Burst, options.Loss.Loss >= 1}.passes())
		}
	}
	return nil
}
