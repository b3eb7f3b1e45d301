package node

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/lazy"
)

// A Network is the kernel's view of a host's network, each list in a fixed order.
type Network struct {
	Links      []Link      `json:"links"`
	Addresses  []Address   `json:"addresses"`
	Routes     []Route     `json:"routes"`
	Rules      []Rule      `json:"rules"`
	Neighbours []Neighbour `json:"neighbours"`

	// Sysctl holds net/ipv4/ip_forward, the size of the conntrack table and, per interface (and "all" and "default"), the settings of sysctlKeys:
	// forwarding, rp_filter, accept_ra, disable_ipv6 and others. Unreadable settings are absent.
	Sysctl map[string]string `json:"sysctl"`

	// IPsec is nil if it is unknown.
	IPsec *IPsec `json:"ipsec,omitzero"`
}

// A Link is a network interface, ip-link(8).
type Link struct {
	Index  int    `json:"index"`
	Name   string `json:"name"`
	Kind   string `json:"kind,omitempty"` // "veth", "tun", "bridge", "openvswitch", …; "" for hardware
	MAC    string `json:"mac,omitempty"`
	MTU    int    `json:"mtu"`
	Up     bool   `json:"up"`               // administratively
	Oper   string `json:"oper"`             // operstate: "up", "down", "unknown", "lowerlayerdown", …
	Master string `json:"master,omitempty"` // the bridge, bond, VRF or datapath it belongs to
	NoARP  bool   `json:"noarp,omitempty"`  // it asks for no MAC addresses
	Qdisc  string `json:"qdisc,omitempty"`  // the root queueing discipline, tc(8): "noqueue", "fq_codel", "netem", …
	// Passes is the size in bytes, with the Ethernet header, of the largest packet that the root queueing discipline lets
	// pass, where it has a limit that a packet can exceed, tc-tbf(8); 0: it drops all; nil: any passes, or it is unknown.
	Passes *int `json:"passes,omitzero"`
	// Attached is what may drop its packets beside Open vSwitch and the packet filter: "clsact" or "ingress", the filters of
	// tc(8); "xdp", a program.
	Attached  []string `json:"attached,omitzero"`
	PeerIndex int      `json:"peer,omitempty"`     // index of a veth's other end or the parent; 0: none
	PeerNetns *int     `json:"peerNetns,omitzero"` // nsid of the peer's namespace; nil: this one
}

// An Address is an address of an interface, ip-address(8).
type Address struct {
	Link   string       `json:"link"`
	Prefix netip.Prefix `json:"prefix"`         // the address with its prefix length
	Peer   netip.Addr   `json:"peer,omitzero"`  // point-to-point only
	Scope  string       `json:"scope"`          // "global", "link", "host", …
	Flags  []string     `json:"flags,omitzero"` // "dadfailed", "deprecated", "dynamic", "secondary", "tentative", "noprefixroute", …

	Broadcast netip.Addr `json:"broadcast,omitzero"`
	Label     string     `json:"label,omitempty"`   // IPv4, unless it is the link's name
	Metric    int        `json:"metric,omitempty"`  // of the route that comes with it
	Lifetime  *Lifetime  `json:"lifetime,omitzero"` // nil: permanent
}

// A Lifetime is how long an address remains valid, in seconds from the read.
type Lifetime struct {
	Valid     uint32 `json:"valid"`
	Preferred uint32 `json:"preferred"` // 0: the address is deprecated
}

// Forever is a Lifetime without end.
const Forever uint32 = 1<<32 - 1

// Has reports whether an address has a flag.
func (a Address) Has(flag string) bool { return slices.Contains(a.Flags, flag) }

// A Route is an entry of a routing table, or the kernel's reply to a lookup.
type Route struct {
	// Type is "unicast", "local", "broadcast", "multicast", "anycast",
	// "blackhole", "unreachable", "prohibit" or "throw"; of a lookup also
	// "none", when no entry matches, and "martian", when the kernel refuses
	// the source on that interface (rp_filter).
	Type     string       `json:"type"`
	Dst      netip.Prefix `json:"dst"` // for a lookup, the address queried
	Table    int          `json:"table,omitempty"`
	Via      netip.Addr   `json:"via,omitzero"`
	Dev      string       `json:"dev,omitempty"`
	Src      netip.Addr   `json:"src,omitzero"` // the source the kernel would choose
	Metric   int          `json:"metric,omitempty"`
	Protocol string       `json:"protocol,omitempty"` // "kernel", "boot", "static", "ra", … or its number
	Scope    string       `json:"scope,omitempty"`
	Hops     []NextHop    `json:"hops,omitzero"`  // multipath, instead of Via and Dev
	Flags    []string     `json:"flags,omitzero"` // "dead", "linkdown", "onlink"

	From    netip.Prefix `json:"from,omitzero"`     // source prefix, IPv6 only
	TOS     int          `json:"tos,omitempty"`     // type of service it applies to, IPv4 only
	Pref    string       `json:"pref,omitempty"`    // of a router, IPv6 only: "low" or "high"
	Metrics string       `json:"metrics,omitempty"` // "mtu lock 1400 advmss 1360", as ip-route(8) takes them
	NextHop int          `json:"nhid,omitempty"`    // the nexthop object that Via and Dev, or Hops, come from
	Expires int          `json:"expires,omitempty"` // seconds from the read, IPv6 only
	// Beyond names the attributes that a Route cannot hold: "encap", "realm".
	Beyond string `json:"beyond,omitempty"`
}

// A NextHop is one of the next hops of a multipath Route.
type NextHop struct {
	Via    netip.Addr `json:"via,omitzero"`
	Dev    string     `json:"dev,omitempty"`
	Weight int        `json:"weight"`
	Flags  []string   `json:"flags,omitzero"`
}

// A Rule chooses a routing table, ip-rule(8).
type Rule struct {
	Family   int          `json:"family"` // 4 or 6
	Priority int          `json:"priority"`
	Not      bool         `json:"not,omitempty"`
	Src      netip.Prefix `json:"src,omitzero"`
	Dst      netip.Prefix `json:"dst,omitzero"`
	Iif      string       `json:"iif,omitempty"`
	Oif      string       `json:"oif,omitempty"`
	Mark     uint32       `json:"mark,omitempty"`
	Mask     uint32       `json:"mask,omitempty"` // of Mark
	Table    int          `json:"table,omitempty"`
	Goto     int          `json:"goto,omitempty"`
	// More holds further selectors and actions as ip-rule(8) takes them, with numbers for names: "ipproto 6 dport
	// 80", "suppress_prefixlength 0", "action blackhole".
	More string `json:"more,omitempty"`
}

// ByTraffic reports whether the rule is for some protocols, ports or users alone, which [Host].Route does not tell.
func (r Rule) ByTraffic() bool {
	return slices.ContainsFunc([]string{"ipproto ", "sport ", "dport ", "uidrange "}, func(word string) bool { return strings.Contains(r.More, word) })
}

// Refuses reports whether the rule itself stops packets: "blackhole", "unreachable" or "prohibit".
func (r Rule) Refuses() bool { return r.action() != "" && r.action() != "nop" }

// action is what the rule does instead of leading to a table; empty if it leads to one.
func (r Rule) action() string {
	_, action, _ := strings.Cut(r.More, "action ")
	action, _, _ = strings.Cut(action, " ")
	return action
}

// A Neighbour is an ARP or ND cache entry, ip-neighbour(8), permanent or learned, without the kernel's own for
// multicast and loopback.
type Neighbour struct {
	Link  string     `json:"link"`
	Addr  netip.Addr `json:"addr"`
	MAC   string     `json:"mac,omitempty"`
	State string     `json:"state"` // "reachable", "stale", "failed", "permanent", …
	// Since is how many seconds before the read it failed. Nothing has been sent to it since: then the kernel would have asked
	// again.
	Since int `json:"since,omitempty"`
}

// Silent reports whether it has not replied to the kernel's requests for its MAC address: who is asked again and again, as packets
// for it come, is incomplete, and who is not is failed.
func (n Neighbour) Silent() bool { return n.State == "failed" || n.State == "incomplete" }

// Link finds an interface by name, nil if not found.
func (n *Network) Link(name string) *Link {
	for i := range n.Links {
		if n.Links[i].Name == name {
			return &n.Links[i]
		}
	}
	return nil
}

// Forwards reports whether the host forwards packets of a family that arrive on an interface. Known is false if
// the setting could not be read.
func (n *Network) Forwards(link string, v6 bool) (forwards, known bool) {
	key := "net/ipv4/conf/" + link + "/forwarding"
	if v6 {
		key = "net/ipv6/conf/" + link + "/forwarding"
	}
	v, known := n.sysctl(key)
	return v != 0, known
}

// IgnoresEcho reports whether the host answers no echo requests of a family, and by which setting.
func (n *Network) IgnoresEcho(v6 bool) (setting string, ignores bool) {
	path := echoIgnored[0]
	if v6 {
		path = echoIgnored[1]
	}
	return strings.ReplaceAll(path, "/", "."), n.Sysctl[path] == "1"
}

// echoIgnored are the settings by which a host answers no echo requests.
var echoIgnored = [2]string{"net/ipv4/icmp_echo_ignore_all", "net/ipv6/icmp/echo_ignore_all"}

// defaultTTL is the setting of the TTL that packets over IPv4 begin with, and hopLimit that over IPv6 of a link.
const defaultTTL = "net/ipv4/ip_default_ttl"

func hopLimit(link string) string { return "net/ipv6/conf/" + link + "/hop_limit" }

// TTL returns the TTL or hop limit that a packet of the host begins with, and the setting that has it, as sysctl(8) names it;
// false if it is unknown. Link is where it leaves if its route does not tell.
func (n *Network) TTL(q RouteQuery, t Traffic, link string) (ttl int, setting string, known bool) {
	q.traffic = &t
	if r, err := n.byRules(q); err == nil {
		link = cmp.Or(r.Dev, link)
		if _, rest, ok := strings.Cut(" "+r.Metrics, " hoplimit "); ok {
			text, _, _ := strings.Cut(rest, " ")
			if ttl, err := strconv.Atoi(text); err == nil {
				return ttl, "hoplimit of the route", true
			}
		}
	}
	key := defaultTTL
	if q.Dst.Is6() {
		key = hopLimit(link)
	}
	ttl, known = n.sysctl(key)
	return ttl, strings.ReplaceAll(key, "/", "."), known
}

// useNeighbours has the kernel prefer, of several next hops over IPv4, those that answered.
const useNeighbours = "net/ipv4/fib_multipath_use_neigh"

// RPFilter is the reverse path filter in effect on an interface, IPv4 only: 0 off, 1 strict, 2 loose. The kernel
// takes the larger of the interface's value and that of "all".
func (n *Network) RPFilter(link string) (mode int, known bool) {
	own, ok := n.sysctl("net/ipv4/conf/" + link + "/rp_filter")
	all, okAll := n.sysctl("net/ipv4/conf/all/rp_filter")
	return max(own, all), ok && okAll
}

// Owns reports whether an address is one of its own.
func (n *Network) Owns(a netip.Addr) bool {
	return slices.ContainsFunc(n.Addresses, func(own Address) bool { return own.Prefix.Addr() == a })
}

func (n *Network) sysctl(key string) (int, bool) {
	v, err := strconv.Atoi(n.Sysctl[key])
	return v, err == nil
}

// sort puts n into the order its readers rely on, regardless of how the kernel or ip(8) listed it.
func (n *Network) sort() {
	slices.SortFunc(n.Links, func(a, b Link) int { return cmp.Compare(a.Index, b.Index) })
	// The kernel prefers the first address of a link: keep its order.
	slices.SortStableFunc(n.Addresses, func(a, b Address) int { return cmp.Compare(a.Link, b.Link) })
	slices.SortFunc(n.Routes, func(a, b Route) int {
		return cmp.Or(cmp.Compare(a.Table, b.Table), a.Dst.Addr().Compare(b.Dst.Addr()), cmp.Compare(a.Dst.Bits(), b.Dst.Bits()),
			cmp.Compare(a.Metric, b.Metric), cmp.Compare(a.Dev, b.Dev), cmp.Compare(a.Type, b.Type), a.Via.Compare(b.Via), a.Src.Compare(b.Src))
	})
	// Rules of equal priority apply in the order they were added: keep it.
	slices.SortStableFunc(n.Rules, func(a, b Rule) int {
		return cmp.Or(cmp.Compare(a.Family, b.Family), cmp.Compare(a.Priority, b.Priority))
	})
	slices.SortFunc(n.Neighbours, func(a, b Neighbour) int {
		return cmp.Or(cmp.Compare(a.Link, b.Link), a.Addr.Compare(b.Addr))
	})
	if n.IPsec != nil {
		n.IPsec.sort()
	}
}

// sysctlKeys are the patterns below /proc/sys that Network.Sysctl holds.
var sysctlKeys = []string{
	"net/ipv4/ip_forward",
	defaultTTL,
	hopLimit("*"),
	"net/netfilter/nf_conntrack_count",
	"net/netfilter/nf_conntrack_max",
	echoIgnored[0],
	echoIgnored[1],
	useNeighbours,
	"net/ipv4/conf/*/forwarding",
	"net/ipv4/conf/*/rp_filter",
	"net/ipv4/conf/*/arp_ignore",
	"net/ipv4/conf/*/arp_announce",
	"net/ipv4/conf/*/accept_local",
	"net/ipv4/conf/*/proxy_arp",
	"net/ipv4/conf/*/src_valid_mark",
	"net/ipv6/conf/*/forwarding",
	"net/ipv6/conf/*/accept_ra",
	"net/ipv6/conf/*/disable_ipv6",
	"net/ipv6/conf/*/proxy_ndp",
}

// attach notes a queueing discipline of a link if it takes filters in front of everything else.
func (n *Network) attach(link, kind string) {
	if l := n.Link(link); l != nil && (kind == "clsact" || kind == "ingress") {
		l.Attached = append(l.Attached, kind)
	}
}

// validLink reports whether the kernel would accept name for an interface.
func validLink(name string) bool {
	return name != "" && len(name) < 16 && name != "." && name != ".." &&
		!strings.HasPrefix(name, "-") && !strings.ContainsAny(name, "/: \t\n\v\f\r\x00")
}

// Numbers of rtnetlink(7) with ip(8)'s names.
var (
	routeTypes     = []string{"unspec", "unicast", "local", "broadcast", "anycast", "multicast", "blackhole", "unreachable", "prohibit", "throw", "nat", "xresolve"}
	routeProtocols = lazy.Value[map[int]string]{Make: func() map[int]string {
		return map[int]string{0: "", 1: "redirect", 2: "kernel", 3: "boot", 4: "static", 8: "gated", 9: "ra", 10: "mrt", 11: "zebra", 12: "bird", 13: "dnrouted", 14: "xorp", 15: "ntk", 16: "dhcp", 18: "keepalived", 42: "babel", 186: "bgp", 187: "isis", 188: "ospf", 189: "rip", 192: "eigrp"}
	}}
	scopes = lazy.Value[map[int]string]{Make: func() map[int]string {
		return map[int]string{0: "global", 200: "site", 253: "link", 254: "host", 255: "nowhere"}
	}}
)

func routeType(n int) string {
	if n >= 0 && n < len(routeTypes) {
		return routeTypes[n]
	}
	return strconv.Itoa(n)
}

func routeProtocol(n int) string {
	if s, ok := routeProtocols.Get()[n]; ok {
		return s
	}
	return strconv.Itoa(n)
}

func scopeName(n int) string {
	if s, ok := scopes.Get()[n]; ok {
		return s
	}
	return strconv.Itoa(n)
}

// number returns the number of a name in one of these maps; anything else is parsed as a number.
func number(names map[int]string, name string) int {
	for n, s := range names {
		if s == name {
			return n
		}
	}
	n, _ := strconv.Atoi(name)
	return n
}

// lifetimeOf is nil for a permanent address.
func lifetimeOf(valid, preferred uint32) *Lifetime {
	if valid == Forever && preferred == Forever {
		return nil
	}
	return &Lifetime{Valid: valid, Preferred: preferred}
}

// ruleMore is what Rule.More holds.
type ruleMore struct {
	tos, ipproto, tunID     int
	sports, dports, uids    string
	suppressLen, suppressIf string
	l3mdev                  bool
	action                  string
	protocol                int
}

func (m ruleMore) String() string {
	var words []string
	add := func(word, value string) {
		if value != "" && value != "0" {
			words = append(words, word, value)
		}
	}
	if m.tos != 0 {
		add("tos", fmt.Sprintf("%#02x", m.tos))
	}
	add("ipproto", strconv.Itoa(m.ipproto))
	add("sport", m.sports)
	add("dport", m.dports)
	if m.uids != "" {
		words = append(words, "uidrange", m.uids)
	}
	add("tun_id", strconv.Itoa(m.tunID))
	for _, s := range [][2]string{{"suppress_prefixlength", m.suppressLen}, {"suppress_ifgroup", m.suppressIf}} {
		if s[1] != "" {
			words = append(words, s[0], s[1])
		}
	}
	if m.l3mdev {
		words = append(words, "l3mdev")
	}
	add("action", m.action)
	if p := routeProtocol(m.protocol); p != "kernel" { // the kernel's own are known by their priority
		add("protocol", p)
	}
	return strings.Join(words, " ")
}

func parseMAC(s string) (net.HardwareAddr, error) {
	mac, err := net.ParseMAC(s)
	if err == nil && len(mac) != 6 {
		err = fmt.Errorf("%s: not an Ethernet address", s)
	}
	return mac, err
}
