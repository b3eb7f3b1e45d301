package fixes

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/node"
)

// words joins the nonempty words.
func words(w ...string) string {
	var kept []string
	for _, s := range w {
		if s != "" {
			kept = append(kept, s)
		}
	}
	return strings.Join(kept, " ")
}

func option(name, value string) string {
	if value == "" || value == "0" || value == "invalid IP" || value == "invalid Prefix" {
		return ""
	}
	return name + " " + value
}

// addressWords formats an address for ip-address(8).
func addressWords(a node.Address) string {
	text := a.Prefix.String()
	if a.Peer.IsValid() {
		text = fmt.Sprintf("%s peer %s/%d", a.Prefix.Addr(), a.Peer, a.Prefix.Bits())
	}
	var flags []string
	for _, f := range a.Flags {
		switch f {
		case "noprefixroute", "nodad", "home", "mngtmpaddr", "autojoin", "optimistic":
			flags = append(flags, f)
		}
	}
	lifetime := ""
	if l := a.Lifetime; l != nil {
		lifetime = "valid_lft " + seconds(l.Valid) + " preferred_lft " + seconds(l.Preferred)
	}
	scope := a.Scope
	if scope == "global" {
		scope = ""
	}
	return words(text, option("brd", a.Broadcast.String()), option("label", a.Label), option("scope", scope),
		option("metric", strconv.Itoa(a.Metric)), "dev "+a.Link, strings.Join(flags, " "), lifetime)
}

func seconds(n uint32) string {
	if n == node.Forever {
		return "forever"
	}
	return strconv.FormatUint(uint64(n), 10)
}

// routeWords formats a route for ip-route(8).
func routeWords(r node.Route) string {
	kind := r.Type
	if kind == "unicast" {
		kind = ""
	}
	dst := r.Dst.String()
	if r.Dst.Bits() == 0 {
		dst = "default"
	}
	table := strconv.Itoa(r.Table)
	if r.Table == 254 {
		table = ""
	}
	scope := r.Scope
	if scope == "global" {
		scope = ""
	}
	tos := ""
	if r.TOS != 0 {
		tos = fmt.Sprintf("%#02x", r.TOS)
	}
	way := ""
	switch {
	case r.NextHop != 0:
		way = "nhid " + strconv.Itoa(r.NextHop)
	case r.Hops != nil:
		for _, h := range r.Hops {
			way = words(way, "nexthop", viaWords(r, h.Via), option("dev", h.Dev), "weight "+strconv.Itoa(h.Weight), onlink(h.Flags))
		}
	default:
		way = words(viaWords(r, r.Via), option("dev", r.Dev), onlink(r.Flags))
	}
	expires := ""
	if r.Expires != 0 {
		expires = fmt.Sprintf("expires %d", r.Expires)
	}
	return words(kind, dst, option("from", r.From.String()), option("tos", tos), option("table", table), option("proto", r.Protocol),
		option("scope", scope), option("src", r.Src.String()), option("metric", strconv.Itoa(r.Metric)), option("pref", r.Pref), r.Metrics,
		expires, way, r.Beyond)
}

func viaWords(r node.Route, via netip.Addr) string {
	switch {
	case !via.IsValid():
		return ""
	case r.Dst.Addr().Is4() && via.Is6():
		return "via inet6 " + via.String()
	}
	return "via " + via.String()
}

func onlink(flags []string) string {
	for _, f := range flags {
		if f == "onlink" {
			return f
		}
	}
	return ""
}

// ruleWords formats a rule for ip-rule(8).
func ruleWords(r node.Rule) string {
	not, mark, to := "", "", ""
	if r.Not {
		not = "not"
	}
	if r.Mark != 0 || r.Mask != 0 {
		mark = fmt.Sprintf("fwmark %#x", r.Mark)
		if r.Mask != 1<<32-1 {
			mark += fmt.Sprintf("/%#x", r.Mask)
		}
	}
	if r.Goto != 0 {
		to = fmt.Sprintf("goto %d", r.Goto)
	}
	from := "from all"
	if r.Src.IsValid() {
		from = "from " + r.Src.String()
	}
	return words(not, from, option("to", r.Dst.String()), option("iif", r.Iif), option("oif", r.Oif), mark,
		option("table", strconv.Itoa(r.Table)), to, "prio "+strconv.Itoa(r.Priority), r.More)
}

// six returns the option of ip(8) for IPv6.
func six(is bool) string {
	if is {
		return " -6"
	}
	return ""
}
