package node

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/lazy"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Reads and writes rtnetlink(7) messages for addresses, routes, rules and neighbours. Writing a value that was
// read gives an equal object.

// attrs are a message's attributes by type.
type attrs map[uint16][]byte

func parseAttrs(b []byte) (attrs, error) {
	list, err := nl.ParseRouteAttr(b)
	if err != nil {
		return nil, err
	}
	m := attrs{}
	for _, a := range list {
		m[a.Attr.Type&^unix.NLA_F_NESTED] = a.Value
	}
	return m, nil
}

func (a attrs) number(t uint16) int {
	switch b := a[t]; {
	case len(b) >= 4:
		return int(native.Uint32(b))
	case len(b) >= 1:
		return int(b[0])
	}
	return 0
}

func (a attrs) addr(t uint16) netip.Addr { return addrOf(a[t]) }

func (a attrs) text(t uint16) string { return strings.TrimRight(string(a[t]), "\x00") }

var native = binary.NativeEndian

// A setting is the place of one in the lists of its address family.
type setting struct {
	family uint16
	index  int
}

// devconf is where a link's message holds the settings of sysctlKeys: by the
// numbers of linux/ip.h less one, and of linux/ipv6.h.
var devconf = lazy.Value[map[string]setting]{Make: func() map[string]setting {
	return map[string]setting{
		"net/ipv4/conf/*/forwarding":     {unix.AF_INET, 0},
		"net/ipv4/conf/*/proxy_arp":      {unix.AF_INET, 2},
		"net/ipv4/conf/*/rp_filter":      {unix.AF_INET, 7},
		"net/ipv4/conf/*/arp_announce":   {unix.AF_INET, 17},
		"net/ipv4/conf/*/arp_ignore":     {unix.AF_INET, 18},
		"net/ipv4/conf/*/accept_local":   {unix.AF_INET, 22},
		"net/ipv4/conf/*/src_valid_mark": {unix.AF_INET, 23},
		"net/ipv6/conf/*/forwarding":     {unix.AF_INET6, 0},
		hopLimit("*"):                    {unix.AF_INET6, 1},
		"net/ipv6/conf/*/accept_ra":      {unix.AF_INET6, 3},
		"net/ipv6/conf/*/proxy_ndp":      {unix.AF_INET6, 22},
		"net/ipv6/conf/*/disable_ipv6":   {unix.AF_INET6, 26},
	}
}}

// linkSettings are a link's settings, each family's as 32-bit numbers; none for a family the link does not speak.
type linkSettings struct {
	link string
	conf map[uint16][]byte
}

func parseSettings(m []byte) (linkSettings, error) {
	if len(m) < unix.SizeofIfInfomsg {
		return linkSettings{}, errors.New("short message")
	}
	at, err := parseAttrs(m[unix.SizeofIfInfomsg:])
	if err != nil {
		return linkSettings{}, err
	}
	families, err := parseAttrs(at[unix.IFLA_AF_SPEC])
	if err != nil {
		return linkSettings{}, err
	}
	s := linkSettings{at.text(unix.IFLA_IFNAME), map[uint16][]byte{}}
	for family, conf := range map[uint16]uint16{unix.AF_INET: unix.IFLA_INET_CONF, unix.AF_INET6: unix.IFLA_INET6_CONF} {
		of, err := parseAttrs(families[family])
		if err != nil {
			return linkSettings{}, err
		}
		s.conf[family] = of[conf]
	}
	return s, nil
}

// value is one of sysctlKeys, false if the kernel does not report it.
func (s linkSettings) value(key string) (string, bool) {
	at, ok := devconf.Get()[key]
	conf := s.conf[at.family]
	if !ok || len(conf) < 4*(at.index+1) {
		return "", false
	}
	return strconv.Itoa(int(int32(native.Uint32(conf[4*at.index:])))), true
}

// addressFlags are the flags of ip-address(8) that a reader may set or see.
var addressFlags = []struct {
	bit  uint32
	name string
}{
	{unix.IFA_F_SECONDARY, "secondary"}, // "temporary" for IPv6
	{unix.IFA_F_DADFAILED, "dadfailed"},
	{unix.IFA_F_DEPRECATED, "deprecated"},
	{unix.IFA_F_TENTATIVE, "tentative"},
	{unix.IFA_F_NOPREFIXROUTE, "noprefixroute"},
	{unix.IFA_F_NODAD, "nodad"},
	{unix.IFA_F_OPTIMISTIC, "optimistic"},
	{unix.IFA_F_HOMEADDRESS, "home"},
	{unix.IFA_F_MANAGETEMPADDR, "mngtmpaddr"},
	{unix.IFA_F_MCAUTOJOIN, "autojoin"},
	{unix.IFA_F_STABLE_PRIVACY, "stable-privacy"},
}

// settableFlags are those that the kernel accepts on a new address.
const settableFlags = unix.IFA_F_NOPREFIXROUTE | unix.IFA_F_NODAD | unix.IFA_F_OPTIMISTIC | unix.IFA_F_HOMEADDRESS | unix.IFA_F_MANAGETEMPADDR | unix.IFA_F_MCAUTOJOIN

const ifaRTPriority = 9 // IFA_RT_PRIORITY of linux/if_addr.h

func parseAddress(m []byte, names map[int]string) (Address, error) {
	if len(m) < unix.SizeofIfAddrmsg {
		return Address{}, errors.New("short message")
	}
	h := nl.DeserializeIfAddrmsg(m)
	at, err := parseAttrs(m[unix.SizeofIfAddrmsg:])
	if err != nil {
		return Address{}, err
	}
	local, other := at.addr(unix.IFA_LOCAL), at.addr(unix.IFA_ADDRESS)
	if !local.IsValid() {
		local = other
	}
	if !local.IsValid() {
		return Address{}, nil
	}
	a := Address{
		Link:      names[int(h.Index)],
		Prefix:    netip.PrefixFrom(local, int(h.Prefixlen)), // for a point-to-point address, the length is the peer's
		Scope:     scopeName(int(h.Scope)),
		Broadcast: at.addr(unix.IFA_BROADCAST),
		Label:     at.text(unix.IFA_LABEL),
		Metric:    at.number(ifaRTPriority),
	}
	if other.IsValid() && other != local {
		a.Peer = other
	}
	if a.Label == a.Link {
		a.Label = ""
	}
	flags := uint32(h.Flags)
	if b := at[unix.IFA_FLAGS]; len(b) == 4 {
		flags = native.Uint32(b)
	}
	for _, f := range addressFlags {
		switch {
		case flags&f.bit == 0:
		case f.bit == unix.IFA_F_SECONDARY && local.Is6():
			a.Flags = append(a.Flags, "temporary")
		default:
			a.Flags = append(a.Flags, f.name)
		}
	}
	if flags&unix.IFA_F_PERMANENT == 0 {
		a.Flags = append(a.Flags, "dynamic")
	}
	slices.Sort(a.Flags)
	if b := at[unix.IFA_CACHEINFO]; len(b) >= 8 {
		a.Lifetime = lifetimeOf(native.Uint32(b[4:]), native.Uint32(b))
	}
	return a, nil
}

// addressMessage is the body of a message that adds or deletes an address on the link with that index.
func addressMessage(a Address, index int) []byte {
	family, local := family(a.Prefix.Addr()), a.Prefix.Addr().AsSlice()
	h := nl.NewIfAddrmsg(int(family))
	h.Prefixlen, h.Scope, h.Index = uint8(a.Prefix.Bits()), uint8(number(scopes.Get(), a.Scope)), uint32(index)
	b := h.Serialize()
	b = attr(b, unix.IFA_LOCAL, local)
	if a.Peer.IsValid() {
		b = attr(b, unix.IFA_ADDRESS, a.Peer.AsSlice())
	} else {
		b = attr(b, unix.IFA_ADDRESS, local)
	}
	if a.Broadcast.IsValid() {
		b = attr(b, unix.IFA_BROADCAST, a.Broadcast.AsSlice())
	}
	if a.Prefix.Addr().Is4() {
		label := a.Label
		if label == "" {
			label = a.Link
		}
		b = attr(b, unix.IFA_LABEL, append([]byte(label), 0))
	}
	var flags uint32
	for _, f := range addressFlags {
		if f.bit&settableFlags != 0 && a.Has(f.name) {
			flags |= f.bit
		}
	}
	b = attr(b, unix.IFA_FLAGS, native.AppendUint32(nil, flags))
	if a.Metric != 0 {
		b = attr(b, ifaRTPriority, native.AppendUint32(nil, uint32(a.Metric)))
	}
	if l := a.Lifetime; l != nil {
		info := native.AppendUint32(native.AppendUint32(nil, l.Preferred), l.Valid)
		b = attr(b, unix.IFA_CACHEINFO, append(info, make([]byte, 8)...))
	}
	return b
}

// cloned reports whether a route message is about a cache entry.
func cloned(m []byte) bool {
	return len(m) >= unix.SizeofRtMsg && nl.DeserializeRtMsg(m).Flags&unix.RTM_F_CLONED != 0
}

// The rest of rta_type and of icmpv6's router preference.
const (
	rtaPref         = 20
	rtaEncapType    = 21
	rtaEncap        = 22
	rtaTTLPropagate = 26
	rtaNHID         = 30
)

var preferences = lazy.Value[map[int]string]{Make: func() map[int]string { return map[int]string{1: "high", 3: "low"} }}

// beyond are the route attributes that a Route cannot hold.
var beyond = []struct {
	attr uint16
	name string
}{{rtaEncap, "encap"}, {unix.RTA_FLOW, "realm"}, {rtaTTLPropagate, "ttl-propagate"}}

func parseRoute(m []byte, names map[int]string) (Route, error) {
	if len(m) < unix.SizeofRtMsg {
		return Route{}, errors.New("short message")
	}
	h := nl.DeserializeRtMsg(m)
	at, err := parseAttrs(m[unix.SizeofRtMsg:])
	if err != nil {
		return Route{}, err
	}
	r := Route{
		Type:     routeType(int(h.Type)),
		Dst:      netip.PrefixFrom(at.addr(unix.RTA_DST), int(h.Dst_len)),
		Table:    int(h.Table),
		Via:      at.via(),
		Dev:      names[at.number(unix.RTA_OIF)],
		Src:      at.addr(unix.RTA_PREFSRC),
		Metric:   at.number(unix.RTA_PRIORITY),
		Protocol: routeProtocol(int(h.Protocol)),
		Scope:    scopeName(int(h.Scope)),
		Flags:    hopFlags(h.Flags),
		TOS:      int(h.Tos),
		Pref:     preferences.Get()[at.number(rtaPref)],
		NextHop:  at.number(rtaNHID),
	}
	if !r.Dst.Addr().IsValid() {
		r.Dst = defaultRoute(h.Family == unix.AF_INET6)
	}
	if from := at.addr(unix.RTA_SRC); from.IsValid() {
		r.From = netip.PrefixFrom(from, int(h.Src_len))
	}
	if at[unix.RTA_TABLE] != nil {
		r.Table = at.number(unix.RTA_TABLE)
	}
	if b := at[unix.RTA_CACHEINFO]; len(b) >= 12 {
		r.Expires = max(int(int32(native.Uint32(b[8:])))/100, 0) // USER_HZ
	}
	for _, x := range beyond {
		if at[x.attr] != nil {
			r.Beyond = strings.TrimSpace(r.Beyond + " " + x.name)
		}
	}
	if r.Metrics, err = parseMetrics(at[unix.RTA_METRICS]); err != nil {
		return Route{}, err
	}
	for b := at[unix.RTA_MULTIPATH]; len(b) >= unix.SizeofRtNexthop; {
		size := int(native.Uint16(b))
		if size < unix.SizeofRtNexthop || size > len(b) {
			break
		}
		hop, err := parseAttrs(b[unix.SizeofRtNexthop:size])
		if err != nil {
			return Route{}, err
		}
		if hop[rtaEncap] != nil && r.Beyond == "" {
			r.Beyond = "encap"
		}
		r.Hops = append(r.Hops, NextHop{
			Via: hop.via(), Dev: names[int(native.Uint32(b[4:]))], Weight: int(b[3]) + 1, Flags: hopFlags(uint32(b[2])),
		})
		b = b[min((size+3)&^3, len(b)):]
	}
	return r, nil
}

func (a attrs) via() netip.Addr {
	if b := a[unix.RTA_VIA]; len(b) > 2 {
		return addrOf(b[2:])
	}
	return a.addr(unix.RTA_GATEWAY)
}

var hopBits = []struct {
	bit  uint32
	name string
}{{unix.RTNH_F_DEAD, "dead"}, {unix.RTNH_F_LINKDOWN, "linkdown"}, {unix.RTNH_F_ONLINK, "onlink"}}

func hopFlags(flags uint32) []string {
	var names []string
	for _, f := range hopBits {
		if flags&f.bit != 0 {
			names = append(names, f.name)
		}
	}
	return names
}

// metricNames are ip-route(8)'s names of RTA_METRICS, by number.
var metricNames = []string{
	unix.RTAX_MTU: "mtu", unix.RTAX_WINDOW: "window", unix.RTAX_RTT: "rtt", unix.RTAX_RTTVAR: "rttvar", unix.RTAX_SSTHRESH: "ssthresh",
	unix.RTAX_CWND: "cwnd", unix.RTAX_ADVMSS: "advmss", unix.RTAX_REORDERING: "reordering", unix.RTAX_HOPLIMIT: "hoplimit",
	unix.RTAX_INITCWND: "initcwnd", unix.RTAX_FEATURES: "features", unix.RTAX_RTO_MIN: "rto_min", unix.RTAX_INITRWND: "initrwnd",
	unix.RTAX_QUICKACK: "quickack", unix.RTAX_CC_ALGO: "congctl", unix.RTAX_FASTOPEN_NO_COOKIE: "fastopen_no_cookie",
}

// metricUnits are ip-route(8)'s divisors of metrics.
var metricUnits = lazy.Value[map[string]int]{Make: func() map[string]int { return map[string]int{"rtt": 8, "rttvar": 4} }}

func parseMetrics(b []byte) (string, error) {
	at, err := parseAttrs(b)
	if err != nil {
		return "", err
	}
	lock := at.number(unix.RTAX_LOCK)
	var words []string
	for i, name := range metricNames {
		value, ok := at[uint16(i)]
		if name == "" || !ok && lock>>i&1 == 0 || name == "hoplimit" && at.number(uint16(i)) == 1<<32-1 {
			continue
		}
		words = append(words, name)
		if lock>>i&1 != 0 {
			words = append(words, "lock")
		}
		if name == "congctl" {
			words = append(words, strings.TrimRight(string(value), "\x00"))
			continue
		}
		words = append(words, strconv.Itoa(at.number(uint16(i))/max(metricUnits.Get()[name], 1)))
	}
	return strings.Join(words, " "), nil
}

func metricsAttr(words string) ([]byte, error) {
	var b []byte
	var lock uint32
	for f := strings.Fields(words); len(f) > 0; {
		i := slices.Index(metricNames, f[0])
		name := f[0]
		f = f[1:]
		if len(f) > 0 && f[0] == "lock" {
			lock, f = lock|1<<i, f[1:]
		}
		if i <= unix.RTAX_LOCK || len(f) == 0 {
			return nil, fmt.Errorf("route metrics %q", words)
		}
		if name == "congctl" {
			b = attr(b, uint16(i), append([]byte(f[0]), 0))
		} else {
			n, err := strconv.ParseUint(f[0], 10, 32)
			if err != nil {
				return nil, fmt.Errorf("route metrics %q: %w", words, err)
			}
			b = attr(b, uint16(i), native.AppendUint32(nil, uint32(n)*uint32(max(metricUnits.Get()[name], 1))))
		}
		f = f[1:]
	}
	if lock != 0 {
		b = attr(b, unix.RTAX_LOCK, native.AppendUint32(nil, lock))
	}
	return b, nil
}

// routeMessage is the body of a message that adds or deletes a route; index returns a link's index by name. A
// route that a Route cannot fully hold is an error.
func routeMessage(r Route, index func(link string) (int, error)) ([]byte, error) {
	if r.Beyond != "" {
		return nil, fmt.Errorf("route to %s: its %s is not carried over", r.Dst, r.Beyond)
	}
	kind := slices.Index(routeTypes, r.Type)
	if kind < 0 {
		return nil, fmt.Errorf("route to %s: type %s", r.Dst, r.Type)
	}
	h := nl.RtMsg{RtMsg: unix.RtMsg{
		Family: family(r.Dst.Addr()), Dst_len: uint8(r.Dst.Bits()), Tos: uint8(r.TOS), Table: uint8(min(r.Table, unix.RT_TABLE_COMPAT)),
		Protocol: uint8(number(routeProtocols.Get(), r.Protocol)), Scope: uint8(number(scopes.Get(), r.Scope)), Type: uint8(kind), Flags: hopMask(r.Flags),
	}}
	if r.Table > 255 {
		h.Table = unix.RT_TABLE_COMPAT
	}
	if r.From.IsValid() {
		h.Src_len = uint8(r.From.Bits())
	}
	b := h.Serialize()
	if r.Dst.Bits() > 0 {
		b = attr(b, unix.RTA_DST, r.Dst.Addr().AsSlice())
	}
	if r.From.IsValid() {
		b = attr(b, unix.RTA_SRC, r.From.Addr().AsSlice())
	}
	b = attr(b, unix.RTA_TABLE, native.AppendUint32(nil, uint32(r.Table)))
	if r.Metric != 0 {
		b = attr(b, unix.RTA_PRIORITY, native.AppendUint32(nil, uint32(r.Metric)))
	}
	if r.Src.IsValid() {
		b = attr(b, unix.RTA_PREFSRC, r.Src.AsSlice())
	}
	if r.Pref != "" {
		b = attr(b, rtaPref, []byte{byte(number(preferences.Get(), r.Pref))})
	}
	if r.Expires != 0 {
		b = attr(b, 23, native.AppendUint32(nil, uint32(r.Expires))) // RTA_EXPIRES
	}
	metrics, err := metricsAttr(r.Metrics)
	if err != nil {
		return nil, err
	}
	if metrics != nil {
		b = attr(b, unix.RTA_METRICS, metrics)
	}
	switch {
	case r.NextHop != 0:
		return attr(b, rtaNHID, native.AppendUint32(nil, uint32(r.NextHop))), nil
	case r.Hops == nil:
		return wayAttrs(b, r.Dst.Addr(), r.Via, r.Dev, index)
	}
	var hops []byte
	for _, hop := range r.Hops {
		i, err := index(hop.Dev)
		if err != nil {
			return nil, err
		}
		inner, err := wayAttrs(nil, r.Dst.Addr(), hop.Via, "", index)
		if err != nil {
			return nil, err
		}
		hops = native.AppendUint16(hops, uint16(unix.SizeofRtNexthop+len(inner)))
		hops = append(hops, byte(hopMask(hop.Flags)), byte(hop.Weight-1))
		hops = append(native.AppendUint32(hops, uint32(i)), inner...)
	}
	return attr(b, unix.RTA_MULTIPATH, hops), nil
}

// wayAttrs adds a gateway and a device.
func wayAttrs(b []byte, dst, via netip.Addr, dev string, index func(string) (int, error)) ([]byte, error) {
	switch {
	case !via.IsValid():
	case via.Is4() == dst.Is4():
		b = attr(b, unix.RTA_GATEWAY, via.AsSlice())
	default:
		b = attr(b, unix.RTA_VIA, append(native.AppendUint16(nil, uint16(family(via))), via.AsSlice()...))
	}
	if dev == "" {
		return b, nil
	}
	i, err := index(dev)
	if err != nil {
		return nil, err
	}
	return attr(b, unix.RTA_OIF, native.AppendUint32(nil, uint32(i))), nil
}

// hopMask are the flags settable on a new route.
func hopMask(names []string) uint32 {
	if slices.Contains(names, "onlink") {
		return unix.RTNH_F_ONLINK
	}
	return 0
}

// The attributes and actions of linux/fib_rules.h.
const (
	fraTunID       = 12
	fraSuppressIf  = 13
	fraSuppressLen = 14
	fraTable       = 15
	fraMask        = 16
	fraL3MDev      = 19
	fraUIDs        = 20
	fraProtocol    = 21
	fraIPProto     = 22
	fraSports      = 23
	fraDports      = 24
	ruleToTable    = 1
	ruleGoto       = 2
	ruleNop        = 3
	ruleInvert     = 2 // FIB_RULE_INVERT
	noSuppress     = 1<<32 - 1
	fraSrc, fraDst = unix.RTA_SRC, unix.RTA_DST
	fraIif         = 3
	fraGoto        = 4
	fraPriority    = 6
	fraMark        = 10
	fraOif         = 17
)

func parseRule(m []byte) (Rule, error) {
	if len(m) < unix.SizeofRtMsg {
		return Rule{}, errors.New("short message")
	}
	h := nl.DeserializeRtMsg(m)
	at, err := parseAttrs(m[unix.SizeofRtMsg:])
	if err != nil {
		return Rule{}, err
	}
	r := Rule{
		Family: 4, Priority: at.number(fraPriority), Not: h.Flags&ruleInvert != 0,
		Iif: at.text(fraIif), Oif: at.text(fraOif), Mark: uint32(at.number(fraMark)), Mask: uint32(at.number(fraMask)),
		Table: int(h.Table), Goto: at.number(fraGoto),
	}
	if h.Family == unix.AF_INET6 {
		r.Family = 6
	}
	if a := at.addr(fraSrc); a.IsValid() {
		r.Src = netip.PrefixFrom(a, int(h.Src_len))
	}
	if a := at.addr(fraDst); a.IsValid() {
		r.Dst = netip.PrefixFrom(a, int(h.Dst_len))
	}
	if at[fraTable] != nil {
		r.Table = at.number(fraTable)
	}
	more := ruleMore{tos: int(h.Tos), ipproto: at.number(fraIPProto), l3mdev: at.number(fraL3MDev) != 0, protocol: at.number(fraProtocol)}
	more.sports, more.dports = portRange(at[fraSports]), portRange(at[fraDports])
	if b := at[fraUIDs]; len(b) >= 8 {
		more.uids = fmt.Sprintf("%d-%d", native.Uint32(b), native.Uint32(b[4:]))
	}
	if b := at[fraTunID]; len(b) >= 8 {
		more.tunID = int(binary.BigEndian.Uint64(b))
	}
	for _, s := range []struct {
		attr uint16
		to   *string
	}{{fraSuppressLen, &more.suppressLen}, {fraSuppressIf, &more.suppressIf}} {
		if at[s.attr] != nil && at.number(s.attr) != noSuppress {
			*s.to = strconv.Itoa(at.number(s.attr))
		}
	}
	switch h.Type {
	case ruleToTable, ruleGoto:
	case ruleNop:
		more.action = "nop"
	default:
		more.action = routeType(int(h.Type))
	}
	r.More = more.String()
	return r, nil
}

func portRange(b []byte) string {
	if len(b) < 4 {
		return ""
	}
	from, to := native.Uint16(b), native.Uint16(b[2:])
	if from == to {
		return strconv.Itoa(int(from))
	}
	return fmt.Sprintf("%d-%d", from, to)
}

// ruleMessage is the body of a message that adds or deletes a rule.
func ruleMessage(r Rule) ([]byte, error) {
	h := nl.RtMsg{RtMsg: unix.RtMsg{Family: unix.AF_INET, Table: uint8(min(r.Table, 255)), Type: ruleToTable}}
	if r.Family == 6 {
		h.Family = unix.AF_INET6
	}
	if r.Table > 255 {
		h.Table = unix.RT_TABLE_UNSPEC
	}
	if r.Not {
		h.Flags |= ruleInvert
	}
	var b []byte
	if r.Src.IsValid() {
		h.Src_len, b = uint8(r.Src.Bits()), attr(b, fraSrc, r.Src.Addr().AsSlice())
	}
	if r.Dst.IsValid() {
		h.Dst_len, b = uint8(r.Dst.Bits()), attr(b, fraDst, r.Dst.Addr().AsSlice())
	}
	b = attr(b, fraPriority, native.AppendUint32(nil, uint32(r.Priority)))
	if r.Mark != 0 || r.Mask != 0 {
		b = attr(b, fraMark, native.AppendUint32(nil, r.Mark))
		b = attr(b, fraMask, native.AppendUint32(nil, r.Mask))
	}
	if r.Table > 255 {
		b = attr(b, fraTable, native.AppendUint32(nil, uint32(r.Table)))
	}
	if r.Iif != "" {
		b = attr(b, fraIif, append([]byte(r.Iif), 0))
	}
	if r.Oif != "" {
		b = attr(b, fraOif, append([]byte(r.Oif), 0))
	}
	if r.Goto != 0 {
		h.Type, b = ruleGoto, attr(b, fraGoto, native.AppendUint32(nil, uint32(r.Goto)))
	}
	for f := strings.Fields(r.More); len(f) > 0; {
		word := f[0]
		if word == "l3mdev" {
			b, f = attr(b, fraL3MDev, []byte{1}), f[1:]
			continue
		}
		if len(f) < 2 {
			return nil, fmt.Errorf("rule %d: %s", r.Priority, r.More)
		}
		value := f[1]
		f = f[2:]
		from, to, ranged := strings.Cut(value, "-")
		if !ranged {
			to = from
		}
		n, _ := strconv.ParseUint(from, 0, 64)
		last, _ := strconv.ParseUint(to, 0, 64)
		switch word {
		case "tos":
			h.Tos = uint8(n)
		case "ipproto":
			b = attr(b, fraIPProto, []byte{byte(n)})
		case "sport", "dport":
			t := uint16(fraSports)
			if word == "dport" {
				t = fraDports
			}
			b = attr(b, t, native.AppendUint16(native.AppendUint16(nil, uint16(n)), uint16(last)))
		case "uidrange":
			b = attr(b, fraUIDs, native.AppendUint32(native.AppendUint32(nil, uint32(n)), uint32(last)))
		case "tun_id":
			b = attr(b, fraTunID, binary.BigEndian.AppendUint64(nil, n))
		case "suppress_prefixlength":
			b = attr(b, fraSuppressLen, native.AppendUint32(nil, uint32(n)))
		case "suppress_ifgroup":
			b = attr(b, fraSuppressIf, native.AppendUint32(nil, uint32(n)))
		case "action":
			h.Type = uint8(max(slices.Index(routeTypes, value), 0))
			if value == "nop" {
				h.Type = ruleNop
			}
		case "protocol":
			b = attr(b, fraProtocol, []byte{byte(number(routeProtocols.Get(), value))})
		default:
			return nil, fmt.Errorf("rule %d: %s", r.Priority, r.More)
		}
	}
	return append(h.Serialize(), b...), nil
}

// neighbourMessage is the body of a message that adds or deletes a static neighbour on the link with that index.
func neighbourMessage(n Neighbour, index int) ([]byte, error) {
	mac, err := parseMAC(n.MAC)
	if err != nil {
		return nil, err
	}
	b := []byte{family(n.Addr), 0, 0, 0}
	b = native.AppendUint32(b, uint32(index))
	b = native.AppendUint16(b, unix.NUD_PERMANENT)
	b = append(b, 0, 0) // flags, type
	b = attr(b, unix.NDA_DST, n.Addr.AsSlice())
	return attr(b, unix.NDA_LLADDR, mac), nil
}

// attr appends an attribute.
func attr(b []byte, kind uint16, value []byte) []byte {
	b = native.AppendUint16(b, uint16(unix.SizeofRtAttr+len(value)))
	b = native.AppendUint16(b, kind)
	b = append(b, value...)
	return append(b, make([]byte, -len(value)&3)...)
}

func family(a netip.Addr) uint8 {
	if a.Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}
