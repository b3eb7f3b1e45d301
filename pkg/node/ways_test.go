//go:build lab

package node_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ovnctl/ovnctl/pkg/held"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

var values = cmp.Options{
	cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
	cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
	cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b }),
	cmpopts.IgnoreUnexported(node.PodNet{}),
}

// furnish gives node1 one of everything that a Network can hold.
func furnish(t *testing.T) {
	t.Helper()
	add := func(line string) { enter(t, "node1", strings.Fields(line)...) }
	add("ip link add va type veth peer name vb")
	t.Cleanup(func() { enter(t, "node1", "ip", "link", "del", "va") })
	t.Cleanup(func() { enter(t, "node1", "ip", "xfrm", "policy", "flush") })
	for _, line := range []string{
		"ip link add brx type bridge",
		"ip link set vb master brx",
		"ip link set va up",
		"ip addr add 10.99.0.1 peer 10.99.0.2/24 dev va",
		"ip addr add 10.88.0.1/24 dev va",
		"ip addr add 169.254.7.2/29 dev va",
		"ip route add 10.77.0.0/16 via 169.254.7.4 dev va src 169.254.7.2",
		"ip addr add 10.88.0.5/24 dev va",
		"ip addr add fd99::1/64 dev va nodad",
		"ip addr add fd99::5/64 dev va nodad preferred_lft 0",
		"ip link set vb up",
		"ip rule add from 192.0.2.4 oif lo goto 32766 prio 50",
		"ip rule add to 198.51.100.0/24 fwmark 0x7 table 77 prio 51",
		"ip -6 rule add not from fd01::/64 to fd02::/16 iif va fwmark 0x10/0xf0 table 1000 prio 77",
		"ip route add 192.0.2.0/28 nexthop via 10.88.0.7 dev va weight 3 nexthop via 10.88.0.8 dev va onlink",
		"ip -6 route add 2001:db8:1::/64 nexthop via fd99::7 weight 3 nexthop via fd99::8",
		"ip route add blackhole 192.0.2.16/28",
		"ip route add unreachable 192.0.2.32/28",
		"ip route add prohibit 192.0.2.48/28",
		"ip route add throw 192.0.2.64/28 table 77",
		"ip -6 route add blackhole 2001:db8:2::/64",
		"ip -6 route add unreachable 2001:db8:3::/64",
		"ip -6 route add prohibit 2001:db8:4::/64",
		"ip route add 192.0.2.80/28 via inet6 fd99::3 dev va",
		"ip route add default via 10.88.0.3 dev va table 77 proto static metric 55",
		"ip neigh add 10.88.0.9 lladdr 0a:00:00:00:00:09 dev va nud permanent",
		"ip neigh add fd99::9 lladdr 0a:00:00:00:00:09 dev va nud permanent",
		"ip addr add 10.77.0.1/24 brd 10.77.0.99 label va:x metric 77 noprefixroute dev va",
		"ip addr add fd77::1/64 dev va nodad noprefixroute metric 300",
		"ip rule add from 10.77.0.0/24 iif va ipproto tcp dport 80-90 table 77 prio 52",
		"ip rule add tos 0x10 table main suppress_prefixlength 0 prio 53",
		"ip rule add from 10.77.0.7 blackhole prio 54",
		"ip xfrm policy add dir out dst 192.0.2.0/24 proto tcp dport 80 action block priority 7",
		"ip xfrm policy add dir fwd src fd01::/16 dst fd02::/16 mark 0x5 tmpl src fd01::1 dst fd02::1 proto esp spi 0x17 reqid 3 mode tunnel level use tmpl proto ah mode transport",
		"ip xfrm policy add dir in dst 192.0.2.0/24 dev va",
		"ip route add 192.0.2.96/28 via 10.88.0.3 dev va metric 9 mtu 1400 advmss 1360 initcwnd 20 proto 42",
		"ip route add tos 0x10 192.0.2.112/28 dev va src 10.88.0.1 scope link",
		"ip -6 route add 2001:db8:5::/64 via fd99::7 dev va metric 5 pref high hoplimit 9",
		"ip -6 route add 2001:db8:6::/64 from fd01::/64 via fd99::7 dev va",
		"ip nexthop add id 7 via 10.88.0.3 dev va",
		"ip route add 192.0.2.128/28 nhid 7",
		"sysctl -qw net.ipv4.conf.va.rp_filter=2 net.ipv6.conf.va.forwarding=1 net.ipv4.conf.va.forwarding=1",
		"sysctl -qw net.ipv4.conf.vb.proxy_arp=1 net.ipv4.conf.vb.arp_announce=2 net.ipv4.conf.vb.arp_ignore=3 net.ipv4.conf.vb.accept_local=1 net.ipv4.conf.vb.src_valid_mark=1",
		"sysctl -qw net.ipv6.conf.vb.accept_ra=2 net.ipv6.conf.vb.proxy_ndp=1 net.ipv6.conf.brx.disable_ipv6=1",
		"tc qdisc add dev va clsact", "tc qdisc add dev vb ingress", "tc qdisc add dev vb root tbf rate 1mbit burst 10k limit 10k",
		"nft add table ip ovnctl-test",
		"nft add chain ip ovnctl-test post { type nat hook postrouting priority 100 ; }",
		`nft add rule ip ovnctl-test post ip saddr 10.244.0.0/16 oifname "eth0" counter masquerade comment "dnat me not"`,
		`nft add rule ip ovnctl-test post ip daddr 192.0.2.1 accept comment "no masquerade here"`,
		"nft add chain ip ovnctl-test pre { type nat hook prerouting priority -100 ; }",
		"nft add chain ip ovnctl-test more",
		"nft add rule ip ovnctl-test pre jump more",
		"nft add rule ip ovnctl-test more tcp dport 80 dnat to 10.244.1.5:8080",
		"nft add rule ip ovnctl-test more tcp dport 81 redirect to :8081",
		"nft add table ip6 ovnctl-test",
		"nft add chain ip6 ovnctl-test post { type nat hook postrouting priority 100 ; }",
		"nft add rule ip6 ovnctl-test post ip6 saddr fd00::/8 snat to fd99::1",
	} {
		add(line)
	}
	t.Cleanup(func() {
		for _, line := range []string{
			"ip link del brx", "ip rule del prio 50", "ip rule del prio 51", "ip rule del prio 52", "ip rule del prio 53", "ip rule del prio 54", "ip -6 rule del prio 77",
			"ip route del 192.0.2.16/28", "ip route del 192.0.2.32/28", "ip route del 192.0.2.48/28", "ip route del 192.0.2.64/28 table 77",
			"ip -6 route del 2001:db8:2::/64", "ip -6 route del 2001:db8:3::/64", "ip -6 route del 2001:db8:4::/64",
			"nft delete table ip ovnctl-test", "nft delete table ip6 ovnctl-test",
		} {
			add(line)
		}
	})
}

// network reads a host's network without what changes by itself.
func network(t *testing.T, h node.Host) *node.Network {
	t.Helper()
	n, err := h.Network(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	delete(n.Sysctl, "net/netfilter/nf_conntrack_count")
	for i := range n.Neighbours {
		if n.Neighbours[i].State != "permanent" {
			n.Neighbours[i].State = ""
		}
	}
	return n
}

func TestNetworkBothWays(t *testing.T) {
	eachWay(t, func(t *testing.T, remote entrance) {
		furnish(t)
		n := network(t, local(t, "node1"))
		if diff := cmp.Diff(n, network(t, remote(t, "node1")), values); diff != "" {
			t.Errorf("here and behind a command differ (-here +behind):\n%s", diff)
		}
		for link, want := range map[string]string{"va": "clsact", "vb": "ingress"} {
			if got := n.Link(link).Attached; !slices.Equal(got, []string{want}) {
				t.Errorf("attached to %s: %q, want %s", link, got, want)
			}
		}
		va := n.Link("va")
		if va == nil || va.Kind != "veth" || !va.Up || va.PeerIndex != n.Link("vb").Index || va.PeerNetns != nil || n.Link("vb").Master != "brx" {
			t.Errorf("veth within the host: %+v, other end %+v", va, n.Link("vb"))
		}
		if l := n.Link("lo"); l == nil || l.Kind != "" || l.MAC != "" || l.MTU != 65536 {
			t.Errorf("loopback: %+v", l)
		}
		if mode, known := n.RPFilter("va"); mode != 2 || !known {
			t.Errorf("rp_filter of va: %d, known %v", mode, known)
		}
		if v4, known := n.Forwards("va", false); !v4 || !known {
			t.Errorf("IPv4 forwarding of va: %v, known %v", v4, known)
		}
		if v6, known := n.Forwards("nope", true); v6 || known {
			t.Errorf("IPv6 forwarding of no link: %v, known %v", v6, known)
		}
		for _, want := range []node.Route{
			{Type: "blackhole", Dst: netip.MustParsePrefix("192.0.2.16/28"), Table: 254, Protocol: "boot", Scope: "global"},
			{Type: "throw", Dst: netip.MustParsePrefix("192.0.2.64/28"), Table: 77, Protocol: "boot", Scope: "global"},
			{Type: "unicast", Dst: netip.MustParsePrefix("0.0.0.0/0"), Table: 77, Via: netip.MustParseAddr("10.88.0.3"), Dev: "va", Metric: 55, Protocol: "static", Scope: "global"},
			{Type: "unicast", Dst: netip.MustParsePrefix("192.0.2.80/28"), Table: 254, Via: netip.MustParseAddr("fd99::3"), Dev: "va", Protocol: "boot", Scope: "global"},
			{Type: "unicast", Dst: netip.MustParsePrefix("192.0.2.0/28"), Table: 254, Protocol: "boot", Scope: "global", Hops: []node.NextHop{
				{Via: netip.MustParseAddr("10.88.0.7"), Dev: "va", Weight: 3},
				{Via: netip.MustParseAddr("10.88.0.8"), Dev: "va", Weight: 1, Flags: []string{"onlink"}},
			}},
		} {
			if !slices.ContainsFunc(n.Routes, func(r node.Route) bool { return cmp.Equal(r, want, values) }) {
				t.Errorf("no route %+v", want)
			}
		}
		if n.IPsec == nil || len(n.IPsec.Policies) != 3 || !n.IPsec.Policies[2].Block || n.IPsec.Policies[2].DstPort != 80 || len(n.IPsec.Policies[0].Needs) != 2 || !n.IPsec.Policies[1].Part {
			t.Errorf("policies of IPsec: %+v", n.IPsec)
		}
		rule := node.Rule{Family: 6, Priority: 77, Not: true, Src: netip.MustParsePrefix("fd01::/64"), Dst: netip.MustParsePrefix("fd02::/16"), Iif: "va", Mark: 0x10, Mask: 0xf0, Table: 1000}
		if !slices.Contains(n.Rules, rule) {
			t.Errorf("no rule %+v in %+v", rule, n.Rules)
		}
		addr := node.Address{Link: "va", Prefix: netip.MustParsePrefix("10.99.0.1/24"), Peer: netip.MustParseAddr("10.99.0.2"), Scope: "global"}
		if !slices.ContainsFunc(n.Addresses, func(a node.Address) bool { return cmp.Equal(a, addr, values) }) {
			t.Errorf("no address %+v in %+v", addr, n.Addresses)
		}
	})
}

// What was read of a node stays as it was read, though the memory of it is freed and the kernel says something else since.
func TestKeptAsText(t *testing.T) {
	eachWay(t, func(t *testing.T, remote entrance) {
		h := remote(t, "node1")
		text := func() string {
			n, err := h.Network(t.Context())
			chains, err2 := h.Firewall(t.Context())
			b, err3 := json.Marshal([]any{n, chains})
			if err := errors.Join(err, err2, err3); err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		before := text()
		furnish(t)
		if strings.Contains(before, "ovnctl-test") || !strings.Contains(before, "genev_sys") && !strings.Contains(before, "br-int") {
			t.Fatalf("read before: %.500s", before)
		}
		runtime.GC()
		if after := text(); after != before {
			t.Errorf("(-first +after it was freed):\n%s", cmp.Diff(before, after))
		}
		if !held.Stays(h) {
			t.Error("it does not say so")
		}
	})
}

func TestRouteBothWays(t *testing.T) {
	eachWay(t, func(t *testing.T, remote entrance) {
		furnish(t)
		here, behind := local(t, "node1"), remote(t, "node1")
		for _, c := range []struct{ dst, src, iif, want, dev, via string }{
			{dst: "192.0.2.17", want: "blackhole"},
			{dst: "192.0.2.33", want: "unreachable"},
			{dst: "192.0.2.49", want: "prohibit"},
			{dst: "2001:db8:2::1", want: "blackhole"},
			{dst: "2001:db8:3::1", want: "unreachable"},
			{dst: "2001:db8:4::1", want: "prohibit"},
			{dst: "192.0.2.81", want: "unicast", dev: "va", via: "fd99::3"},
			{dst: "10.88.0.77", want: "unicast", dev: "va"},
			{dst: "fd99::77", want: "unicast", dev: "va"},
			{dst: "10.88.0.5", want: "local", dev: "lo"},
			{dst: "fd99::1", want: "local", dev: "lo"},
			{dst: "10.88.0.255", want: "broadcast", dev: "va"},
			{dst: "203.0.113.10", want: "unicast", dev: "br-ex", via: "172.30.0.1"},
			{dst: "2001:db8:113::10", want: "unicast", dev: "br-ex", via: "fd00:172:30::1"},
			{dst: "10.88.0.77", src: "10.88.0.1", want: "unicast", dev: "va"},
			{dst: "10.88.0.1", src: "10.88.0.9", iif: "va", want: "local"},
			{dst: "203.0.113.10", src: "10.88.0.9", iif: "va", want: "unicast", dev: "br-ex", via: "172.30.0.1"},
			{dst: "192.0.2.17", src: "10.88.0.9", iif: "va", want: "blackhole"},
			{dst: "fd00:172:30::2", src: "fd99::9", iif: "va", want: "unicast", dev: "br-ex"},
		} {
			q := node.RouteQuery{Dst: netip.MustParseAddr(c.dst), Iif: c.iif}
			if c.src != "" {
				q.Src = netip.MustParseAddr(c.src)
			}
			r, err := here.Route(t.Context(), q)
			if err != nil {
				t.Errorf("%s: %v", q, err)
				continue
			}
			if r.Type != c.want || c.dev != "" && r.Dev != c.dev || c.via != "" && r.Via.String() != c.via {
				t.Errorf("%s: %+v, want %s dev %s via %s", q, r, c.want, c.dev, c.via)
			}
			r2, err := behind.Route(t.Context(), q)
			if diff := cmp.Diff(r, r2, values); err != nil || diff != "" {
				t.Errorf("%s behind a command: %v (-here +behind):\n%s", q, err, diff)
			}
		}
		mark := node.RouteQuery{Dst: netip.MustParseAddr("198.51.100.1"), Mark: 7}
		for _, h := range []node.Host{here, behind} {
			if r, err := h.Route(t.Context(), mark); err != nil || r.Table != 77 || r.Via.String() != "10.88.0.3" {
				t.Errorf("%s: %+v, %v, want table 77", mark, r, err)
			}
			foreign := node.RouteQuery{Dst: netip.MustParseAddr("10.88.0.77"), Src: netip.MustParseAddr("192.0.2.200")}
			if r, err := h.Route(t.Context(), foreign); err == nil || !strings.Contains(err.Error(), "is not an address of this host") {
				t.Errorf("%s: %+v, %v, want an error that explains the source", foreign, r, err)
			}
			for _, q := range []node.RouteQuery{{}, {Dst: mark.Dst, Iif: "a b"}, {Dst: mark.Dst, Iif: "-x"}, {Dst: mark.Dst, Src: netip.MustParseAddr("::1")}} {
				if r, err := h.Route(t.Context(), q); err == nil {
					t.Errorf("%s: %+v, want an error", q, r)
				}
			}
			if r, err := h.Route(t.Context(), node.RouteQuery{Dst: mark.Dst, Iif: "nope"}); err == nil {
				t.Errorf("from a link that is not there: %+v", r)
			}
		}
	})
}

// Strict rp_filter makes the kernel refuse a source: that is an answer.
func TestMartian(t *testing.T) {
	furnish(t)
	enter(t, "node1", "sysctl", "-qw", "net.ipv4.conf.va.rp_filter=1")
	q := node.RouteQuery{Dst: netip.MustParseAddr("203.0.113.10"), Src: netip.MustParseAddr("172.30.0.99"), Iif: "va"}
	for _, h := range []node.Host{local(t, "node1"), remote(t, "node1")} {
		if r, err := h.Route(t.Context(), q); err != nil || r.Type != "martian" {
			t.Errorf("%s: %+v, %v, want martian", q, r, err)
		}
	}
}

func TestNATBothWays(t *testing.T) {
	eachWay(t, func(t *testing.T, remote entrance) {
		furnish(t)
		want := []node.NATRule{
			{Family: "ip", Table: "ovnctl-test", Chain: "post", Hook: "postrouting", Action: "masquerade", Text: `ip saddr 10.244.0.0/16 oifname "eth0" masquerade comment "dnat me not"`},
			{Family: "ip", Table: "ovnctl-test", Chain: "more", Action: "dnat", Text: "tcp dport 80 dnat to 10.244.1.5:8080"},
			{Family: "ip", Table: "ovnctl-test", Chain: "more", Action: "redirect", Text: "tcp dport 81 redirect to :8081"},
			{Family: "ip6", Table: "ovnctl-test", Chain: "post", Hook: "postrouting", Action: "snat", Text: "ip6 saddr fd00::/8 snat to fd99::1"},
		}
		for _, h := range []node.Host{local(t, "node1"), remote(t, "node1")} {
			chains, err := h.Firewall(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			rules := slices.DeleteFunc(node.NATRules(chains), func(r node.NATRule) bool { return r.Table != "ovnctl-test" })
			if diff := cmp.Diff(want, rules); diff != "" {
				t.Errorf("%s (-want +got):\n%s", h.Origin(), diff)
			}
		}
	})
}

// Here no command-line tool is needed, but for what says so: without nft what
// translates is unknown, not nothing.
func TestWithoutTools(t *testing.T) {
	h := local(t, "node1")
	pod := podOn(t, "node1").Link
	enter := filepath.Join(hosts.Dir, "enter")
	if out, err := exec.Command(enter, "node1", "nft", "add table inet other").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() { _ = exec.Command(enter, "node1", "nft", "delete table inet other").Run() }) // behind it PATH is whole again
	t.Setenv("PATH", t.TempDir())
	if rules, err := h.Firewall(t.Context()); !errors.Is(err, node.ErrUnavailable) {
		t.Errorf("translation: %v, %v, want ErrUnavailable", rules, err)
	}
	flows, err := h.Dump(t.Context(), "br-int", node.Flows)
	if !errors.Is(err, node.ErrUnavailable) {
		t.Errorf("flows: %d bytes, %v, want ErrUnavailable", len(flows), err)
	}
	if _, err := h.Dump(t.Context(), "br-int", node.TLVMap); err != nil {
		t.Error(err)
	}
	if _, err := h.Control(t.Context(), "ovn-controller", "version"); err != nil {
		t.Error(err)
	}
	if _, err := h.Pod(t.Context(), pod); err != nil {
		t.Error(err)
	}
	if _, err := h.Route(t.Context(), node.RouteQuery{Dst: netip.MustParseAddr("::1")}); err != nil {
		t.Error(err)
	}
	network(t, h)
	rows(t, h)
}

func TestControlBothWays(t *testing.T) {
	eachWay(t, func(t *testing.T, remote entrance) {
		here, behind := local(t, "node1"), remote(t, "node1")
		for _, c := range [][]string{
			{"ovs-vswitchd", "version"},
			{"ovs-vswitchd", "list-commands"},
			{"ovs-vswitchd", "ofproto/trace", "br-int", `in_port=LOCAL,tcp,nw_src=10.0.0.1,nw_dst=10.0.0.2`},
			{"ovs-vswitchd", "ofproto/trace", "br-int", "nonsense"},
			{"ovs-vswitchd", "it's \"no\" $(command) `at` all\\"},
			{"ovs-vswitchd", "ofproto/trace", "no\nbridge", "*"},
			{"ovs-vswitchd", "ofproto/trace", "REQUESTS\nREQUESTS\n", "$(command)"},
			{"ovsdb-server", "ovsdb-server/list-dbs"},
			{"ovn-controller", "connection-status"},
			{"ovn-controller", "nope"},
		} {
			want, err := here.Control(t.Context(), c[0], c[1], c[2:]...)
			got, err2 := behind.Control(t.Context(), c[0], c[1], c[2:]...)
			if want != got || (err == nil) != (err2 == nil) {
				t.Errorf("%q: here %q, %v; behind a command %q, %v", c, want, err, got, err2)
				continue
			}
			if err == nil {
				if want == "" {
					t.Errorf("%q: empty reply", c)
				}
				continue
			}
			r, ok := errors.AsType[*node.ControlError](err)
			r2, ok2 := errors.AsType[*node.ControlError](err2)
			if !ok || !ok2 || *r != *r2 || r.Text == "" {
				t.Errorf("%q: here %v, behind a command %v, want equal *ControlError", c, err, err2)
			}
		}
		for _, h := range []node.Host{here, behind} {
			for _, c := range [][]string{{"../x", "version"}, {"", "version"}, {"ovs-vswitchd", "--version"}, {"ovs-vswitchd", "a", "\x00"}} {
				if reply, err := h.Control(t.Context(), c[0], c[1], c[2:]...); err == nil {
					t.Errorf("%q: %q, want an error", c, reply)
				}
			}
			if _, err := h.Control(t.Context(), "ovn-northd", "version"); err == nil || !strings.Contains(err.Error(), "no control socket") {
				t.Errorf("a daemon that does not run: %v", err)
			}
		}
	})
}

func TestDumpBothWays(t *testing.T) {
	eachWay(t, func(t *testing.T, remote entrance) {
		here, behind := local(t, "node1"), remote(t, "node1")
		for _, kind := range []node.DumpKind{node.TLVMap, node.Groups, node.Ports} {
			for _, bridge := range []string{"br-int", "br-ex"} {
				want, err := behind.Dump(t.Context(), bridge, kind) // what ovs-ofctl prints
				if err != nil {
					t.Fatal(err)
				}
				got, err := here.Dump(t.Context(), bridge, kind)
				if diff := cmp.Diff(want, got); err != nil || diff != "" {
					t.Errorf("%s of %s: %v (-ovs-ofctl +here):\n%s", kind, bridge, err, diff)
				}
			}
		}
		if text, err := here.Dump(t.Context(), "br-int", node.TLVMap); err != nil || !strings.Contains(text, "0x102  0x80       4  tun_metadata0") {
			t.Errorf("OVN's option is not in the table: %v\n%s", err, text)
		}
		flows, err := here.Dump(t.Context(), "br-int", node.Flows)
		if err != nil || strings.Count(flows, "\n") < 1000 {
			t.Errorf("flows of br-int: %v, %d lines", err, strings.Count(flows, "\n"))
		}
		for _, h := range []node.Host{here, behind} {
			for _, bridge := range []string{"nope", "../br-int", "", "-x"} {
				if text, err := h.Dump(t.Context(), bridge, node.TLVMap); err == nil {
					t.Errorf("bridge %q: %q, want an error", bridge, text)
				}
			}
			if text, err := h.Dump(t.Context(), "br-int", "queues"); err == nil {
				t.Errorf("a table of no name: %q, want an error", text)
			}
		}
	})
}

type vswitchRows struct {
	Systems    []vswitch.OpenvSwitch
	Bridges    []vswitch.Bridge
	Ports      []vswitch.Port
	Interfaces []vswitch.Interface
}

func rows(t *testing.T, h node.Host) vswitchRows {
	t.Helper()
	db, err := h.Vswitch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	var r vswitchRows
	if err := ovsdb.Load(t.Context(), db, &r); err != nil {
		t.Fatal(err)
	}
	for i := range r.Systems { // what changes by itself
		r.Systems[i].CurCfg = 0
	}
	return r
}

var anyOrder = cmp.Options{
	cmpopts.IgnoreFields(vswitch.Interface{}, "Statistics"), // counted from one look to the next
	cmpopts.IgnoreFields(vswitch.OpenvSwitch{}, "Statistics"),
	cmpopts.EquateEmpty(),
	cmpopts.SortSlices(func(a, b vswitch.Bridge) bool { return a.UUID < b.UUID }),
	cmpopts.SortSlices(func(a, b vswitch.Port) bool { return a.UUID < b.UUID }),
	cmpopts.SortSlices(func(a, b vswitch.Interface) bool { return a.UUID < b.UUID }),
	cmpopts.SortSlices(func(a, b ovsdb.UUID) bool { return a < b }),
}

func TestVswitchBothWays(t *testing.T) {
	eachWay(t, func(t *testing.T, remote entrance) {
		want := rows(t, local(t, "node1"))
		if len(want.Interfaces) < 5 {
			t.Fatalf("only %d interfaces", len(want.Interfaces))
		}
		if diff := cmp.Diff(want, rows(t, remote(t, "node1")), anyOrder); diff != "" {
			t.Errorf("rows differ (-here +behind):\n%s", diff)
		}
	})
}

func TestPodBothWays(t *testing.T) {
	eachWay(t, func(t *testing.T, remote entrance) {
		pod := podOn(t, "node1")
		here, err := local(t, "node1").Pod(t.Context(), pod.Link)
		if err != nil {
			t.Fatal(err)
		}
		behind, err := remote(t, "node1").Pod(t.Context(), pod.Link)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []*node.PodNet{here, behind} {
			for i := range p.Network.Neighbours {
				p.Network.Neighbours[i].State = ""
			}
			if p.Link.Name != "eth0" || p.Link.MAC != pod.MAC || !strings.HasSuffix(p.Netns, pod.Name) {
				t.Errorf("%s: %s in %s, want eth0 %s in %s", pod.Link, p.Link.Name, p.Netns, pod.MAC, pod.Name)
			}
			if !slices.ContainsFunc(p.Network.Addresses, func(a node.Address) bool { return a.Prefix == pod.IPv4 }) {
				t.Errorf("%s has not %s: %+v", pod.Name, pod.IPv4, p.Network.Addresses)
			}
			for dst, via := range map[string]netip.Addr{"203.0.113.10": pod.Gateway4, "2001:db8:113::10": pod.Gateway6} {
				r, err := p.Route(t.Context(), node.RouteQuery{Dst: netip.MustParseAddr(dst)})
				if err != nil || r.Type != "unicast" || r.Dev != "eth0" || r.Via != via {
					t.Errorf("%s to %s: %+v, %v, want via %s", pod.Name, dst, r, err, via)
				}
			}
		}
		if diff := cmp.Diff(here, behind, values); diff != "" {
			t.Errorf("here and behind a command differ (-here +behind):\n%s", diff)
		}
		for _, h := range []node.Host{local(t, "node1"), remote(t, "node1")} {
			if p, err := h.Pod(t.Context(), "br-int"); !errors.Is(err, node.ErrUnavailable) {
				t.Errorf("behind br-int: %+v, %v, want ErrUnavailable", p, err)
			}
			if p, err := h.Pod(t.Context(), "nope"); err == nil {
				t.Errorf("behind no link: %+v", p)
			}
		}
	})
}

func TestReadFileBothWays(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "it's $a file")
	if err := os.WriteFile(name, []byte("one\ntwo"), 0o600); err != nil {
		t.Fatal(err)
	}
	large := filepath.Join(dir, "large")
	if err := os.WriteFile(large, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(large, 17<<20); err != nil {
		t.Fatal(err)
	}
	for _, h := range []node.Host{local(t, "node1"), remote(t, "node1")} {
		if b, err := h.ReadFile(t.Context(), name); err != nil || string(b) != "one\ntwo" {
			t.Errorf("%s: %q, %v", h.Origin(), b, err)
		}
		if b, err := h.ReadFile(t.Context(), filepath.Join(dir, "nope")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a file that is not there: %q, %v", h.Origin(), b, err)
		}
		for _, name := range []string{dir, large, "/dev/zero"} {
			if b, err := h.ReadFile(t.Context(), name); err == nil {
				t.Errorf("%s: %s: %d bytes, want an error", h.Origin(), name, len(b))
			}
		}
	}
}
