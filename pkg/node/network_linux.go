package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

func (l *local) Network(ctx context.Context) (*Network, error) {
	var n *Network
	err := l.inside(func(h *netlink.Handle) (err error) {
		if n, err = readNetwork(h); err == nil {
			n.Sysctl = readSysctls("/proc/sys")
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("network of %s: %w", l.Name(), err)
	}
	return n, ctx.Err()
}

func (l *local) Route(_ context.Context, q RouteQuery) (r *Route, err error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	err = l.inside(func(h *netlink.Handle) (err error) {
		r, err = router{h}.lookup(q)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("route lookup for %s: %w", q, err)
	}
	return r, nil
}

// again repeats a netlink dump that the kernel says was interrupted by a
// change, up to a few times.
func again[T any](list func() ([]T, error)) ([]T, error) {
	for try := 0; ; try++ {
		v, err := list()
		if try == 4 || !errors.Is(err, netlink.ErrDumpInterrupted) && !errors.Is(err, unix.EINTR) {
			return v, err
		}
	}
}

func readNetwork(h *netlink.Handle) (*Network, error) {
	n := &Network{}
	links, err := again(h.LinkList)
	if err != nil {
		return nil, fmt.Errorf("links: %w", err)
	}
	names := map[int]string{}
	for _, l := range links {
		names[l.Attrs().Index] = l.Attrs().Name
	}
	for _, l := range links {
		n.Links = append(n.Links, linkOf(l, names))
	}
	if err := readAddresses(h, n, names); err != nil {
		return nil, fmt.Errorf("addresses: %w", err)
	}
	if err := readRoutes(h, n, names); err != nil {
		return nil, fmt.Errorf("routes: %w", err)
	}
	if err := readRules(h, n); err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	if err := readNeighbours(h, n, names); err != nil {
		return nil, fmt.Errorf("neighbours: %w", err)
	}
	n.sort()
	return n, nil
}

func linkOf(l netlink.Link, names map[int]string) Link {
	a := l.Attrs()
	link := Link{
		Index:     a.Index,
		Name:      a.Name,
		Kind:      l.Type(),
		MAC:       etherAddr(a.HardwareAddr.String()),
		MTU:       a.MTU,
		Up:        a.Flags&net.FlagUp != 0,
		Oper:      strings.ReplaceAll(a.OperState.String(), "-", ""),
		Master:    names[a.MasterIndex],
		PeerIndex: a.ParentIndex,
	}
	switch link.Kind {
	case "device":
		link.Kind = ""
	case "tuntap":
		link.Kind = "tun"
	}
	if a.NetNsID >= 0 && a.NetNsID <= 1<<31-1 {
		link.PeerNetns = &a.NetNsID
	}
	return link
}

// addressFlags are the flags of ip-address(8); the first means "secondary" for
// IPv4 and "temporary" for IPv6.
var addressFlags = []struct {
	bit  int
	name string
}{
	{unix.IFA_F_SECONDARY, "secondary"},
	{unix.IFA_F_DADFAILED, "dadfailed"},
	{unix.IFA_F_DEPRECATED, "deprecated"},
	{unix.IFA_F_TENTATIVE, "tentative"},
	{unix.IFA_F_NOPREFIXROUTE, "noprefixroute"},
}

func readAddresses(h *netlink.Handle, n *Network, names map[int]string) error {
	list, err := again(func() ([]netlink.Addr, error) { return h.AddrList(nil, netlink.FAMILY_ALL) })
	if err != nil {
		return err
	}
	for _, a := range list {
		prefix := prefixOf(a.IPNet)
		if !prefix.IsValid() {
			continue
		}
		addr := Address{Link: names[a.LinkIndex], Prefix: prefix, Scope: scopeName(a.Scope)}
		if peer := prefixOf(a.Peer); peer.IsValid() && peer.Addr() != prefix.Addr() {
			// Of a point-to-point address the length is that of the peer.
			addr.Prefix, addr.Peer = netip.PrefixFrom(prefix.Addr(), peer.Bits()), peer.Addr()
		}
		for _, f := range addressFlags {
			if a.Flags&f.bit == 0 {
				continue
			}
			if f.name == "secondary" && prefix.Addr().Is6() {
				f.name = "temporary"
			}
			addr.Flags = append(addr.Flags, f.name)
		}
		if a.Flags&unix.IFA_F_PERMANENT == 0 {
			addr.Flags = append(addr.Flags, "dynamic")
		}
		slices.Sort(addr.Flags)
		n.Addresses = append(n.Addresses, addr)
	}
	return nil
}

func readRoutes(h *netlink.Handle, n *Network, names map[int]string) error {
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		// Table 0 with the table filter asks for all tables.
		list, err := again(func() ([]netlink.Route, error) {
			return h.RouteListFiltered(family, &netlink.Route{}, netlink.RT_FILTER_TABLE)
		})
		if err != nil {
			return err
		}
		for _, r := range list {
			n.Routes = append(n.Routes, routeOf(r, family, names))
		}
	}
	return nil
}

func routeOf(r netlink.Route, family int, names map[int]string) Route {
	route := Route{
		Type:     routeType(r.Type),
		Dst:      prefixOf(r.Dst),
		Table:    r.Table,
		Via:      hopVia(r.Gw, r.Via),
		Dev:      names[r.LinkIndex],
		Src:      addrOf(r.Src),
		Metric:   r.Priority,
		Protocol: routeProtocol(int(r.Protocol)),
		Scope:    scopeName(int(r.Scope)),
		Flags:    hopFlags(r.Flags),
	}
	if !route.Dst.IsValid() {
		route.Dst = defaultRoute(family == netlink.FAMILY_V6)
	}
	for _, hop := range r.MultiPath {
		route.Hops = append(route.Hops, NextHop{
			Via:    hopVia(hop.Gw, hop.Via),
			Dev:    names[hop.LinkIndex],
			Weight: hop.Hops + 1,
			Flags:  hopFlags(hop.Flags),
		})
	}
	return route
}

func hopVia(gw net.IP, via netlink.Destination) netip.Addr {
	if v, ok := via.(*netlink.Via); ok {
		return addrOf(v.Addr)
	}
	return addrOf(gw)
}

func hopFlags(flags int) []string {
	var names []string
	for _, f := range []struct {
		bit  int
		name string
	}{{unix.RTNH_F_DEAD, "dead"}, {unix.RTNH_F_LINKDOWN, "linkdown"}, {unix.RTNH_F_ONLINK, "onlink"}} {
		if flags&f.bit != 0 {
			names = append(names, f.name)
		}
	}
	return names
}

func readRules(h *netlink.Handle, n *Network) error {
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		list, err := again(func() ([]netlink.Rule, error) { return h.RuleList(family) })
		if err != nil {
			return err
		}
		for _, r := range list {
			rule := Rule{
				Family:   4,
				Priority: r.Priority,
				Not:      r.Invert,
				Src:      prefixOf(r.Src),
				Dst:      prefixOf(r.Dst),
				Iif:      r.IifName,
				Oif:      r.OifName,
				Mark:     r.Mark,
				Table:    r.Table,
				Goto:     max(r.Goto, 0),
			}
			if family == netlink.FAMILY_V6 {
				rule.Family = 6
			}
			if r.Mask != nil {
				rule.Mask = *r.Mask
			}
			n.Rules = append(n.Rules, rule)
		}
	}
	return nil
}

var neighbourStates = map[int]string{
	unix.NUD_INCOMPLETE: "incomplete", unix.NUD_REACHABLE: "reachable", unix.NUD_STALE: "stale", unix.NUD_DELAY: "delay",
	unix.NUD_PROBE: "probe", unix.NUD_FAILED: "failed", unix.NUD_PERMANENT: "permanent",
}

func readNeighbours(h *netlink.Handle, n *Network, names map[int]string) error {
	list, err := again(func() ([]netlink.Neigh, error) { return h.NeighList(0, netlink.FAMILY_ALL) })
	if err != nil {
		return err
	}
	for _, e := range list {
		state, ok := neighbourStates[e.State]
		if !ok || !addrOf(e.IP).IsValid() { // the kernel's own, for multicast and loopback
			continue
		}
		n.Neighbours = append(n.Neighbours, Neighbour{Link: names[e.LinkIndex], Addr: addrOf(e.IP), MAC: etherAddr(e.HardwareAddr.String()), State: state})
	}
	return nil
}

// A router asks the kernel of one namespace for ways.
type router struct{ *netlink.Handle }

// lookup asks the kernel for the way of a packet. It answers some kinds of
// route by an error number; those are turned back into the kinds.
func (h router) lookup(q RouteQuery) (*Route, error) {
	opts := &netlink.RouteGetOptions{Iif: q.Iif, Mark: q.Mark}
	if q.Src.IsValid() {
		opts.SrcAddr = q.Src.AsSlice()
	}
	found, err := h.RouteGetWithOptions(q.Dst.AsSlice(), opts)
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return refusedRoute(q, errno, h)
	}
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, errors.New("empty answer")
	}
	r := found[0]
	names := map[int]string{}
	if r.LinkIndex > 0 {
		l, err := h.LinkByIndex(r.LinkIndex)
		if err != nil {
			return nil, err
		}
		names[r.LinkIndex] = l.Attrs().Name
	}
	return answerRoute(q, routeOf(r, familyOf(q.Dst), names)), nil
}

func (h router) owns(a netip.Addr) (bool, error) {
	n := &Network{}
	if err := readAddresses(h.Handle, n, nil); err != nil {
		return false, err
	}
	return n.owns(a), nil
}

func familyOf(a netip.Addr) int {
	if a.Is4() {
		return netlink.FAMILY_V4
	}
	return netlink.FAMILY_V6
}

func addrOf(ip net.IP) netip.Addr {
	a, ok := netip.AddrFromSlice(ip)
	if !ok {
		return netip.Addr{}
	}
	return a.Unmap()
}

func prefixOf(n *net.IPNet) netip.Prefix {
	if n == nil {
		return netip.Prefix{}
	}
	bits, _ := n.Mask.Size()
	return netip.PrefixFrom(addrOf(n.IP), bits)
}

// readSysctls reads the settings of sysctlKeys; those of an interface that
// goes away meanwhile are left out.
func readSysctls(root string) map[string]string {
	values := map[string]string{}
	for _, key := range sysctlKeys {
		paths, _ := filepath.Glob(filepath.Join(root, key))
		for _, path := range paths {
			if b, err := os.ReadFile(path); err == nil {
				values[strings.TrimPrefix(path, root+"/")] = strings.TrimSpace(string(b))
			}
		}
	}
	return values
}
