package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

func (l *local) Network(ctx context.Context) (*Network, error) {
	var n *Network
	err := l.inside(func(h *netlink.Handle) (err error) {
		if n, err = readNetwork(h); err == nil {
			n.Sysctl, err = readSysctls("/proc/sys")
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
	if err := readAddresses(n, names); err != nil {
		return nil, fmt.Errorf("addresses: %w", err)
	}
	if err := readRoutes(n, names); err != nil {
		return nil, fmt.Errorf("routes: %w", err)
	}
	if err := readRules(n); err != nil {
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

func readAddresses(n *Network, names map[int]string) error {
	msgs, err := dump(unix.RTM_GETADDR, unix.RTM_NEWADDR, nl.NewIfAddrmsg(unix.AF_UNSPEC))
	if err != nil {
		return err
	}
	for _, m := range msgs {
		a, err := parseAddress(m, names)
		if err != nil {
			return err
		}
		if a.Prefix.IsValid() {
			n.Addresses = append(n.Addresses, a)
		}
	}
	return nil
}

func readRoutes(n *Network, names map[int]string) error {
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		msgs, err := dump(unix.RTM_GETROUTE, unix.RTM_NEWROUTE, &nl.RtMsg{RtMsg: unix.RtMsg{Family: family}})
		if err != nil {
			return err
		}
		for _, m := range msgs {
			if cloned(m) {
				continue
			}
			r, err := parseRoute(m, names)
			if err != nil {
				return err
			}
			n.Routes = append(n.Routes, r)
		}
	}
	return nil
}

func readRules(n *Network) error {
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		msgs, err := dump(unix.RTM_GETRULE, unix.RTM_NEWRULE, nl.NewIfInfomsg(int(family)))
		if err != nil {
			return err
		}
		for _, m := range msgs {
			r, err := parseRule(m)
			if err != nil {
				return err
			}
			n.Rules = append(n.Rules, r)
		}
	}
	return nil
}

// dump asks the kernel of the thread's namespace for all of a kind.
func dump(get, answer uint16, of ...nl.NetlinkRequestData) ([][]byte, error) {
	return again(func() ([][]byte, error) {
		req := nl.NewNetlinkRequest(int(get), unix.NLM_F_DUMP)
		for _, d := range of {
			req.AddData(d)
		}
		return req.Execute(unix.NETLINK_ROUTE, answer)
	})
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
	return answerRoute(q, foundRoute(r, names)), nil
}

// foundRoute is the answer to a lookup.
func foundRoute(r netlink.Route, names map[int]string) Route {
	via := addrOf(r.Gw)
	if v, ok := r.Via.(*netlink.Via); ok {
		via = addrOf(v.Addr)
	}
	return Route{Type: routeType(r.Type), Table: r.Table, Via: via, Dev: names[r.LinkIndex], Src: addrOf(r.Src)}
}

func (h router) owns(a netip.Addr) (bool, error) {
	n := &Network{}
	if err := readAddresses(n, nil); err != nil {
		return false, err
	}
	return n.owns(a), nil
}

func addrOf(ip net.IP) netip.Addr {
	a, ok := netip.AddrFromSlice(ip)
	if !ok {
		return netip.Addr{}
	}
	return a.Unmap()
}

// readSysctls reads the settings of sysctlKeys. Those of the links the kernel
// tells in one answer: a hundred links have a thousand such files.
func readSysctls(root string) (map[string]string, error) {
	values := map[string]string{}
	for _, key := range sysctlKeys {
		for _, key := range slices.Compact([]string{strings.Replace(key, "*", "all", 1), strings.Replace(key, "*", "default", 1)}) {
			if b, err := readProc(root+"/"+key, nil); err == nil {
				values[key] = strings.TrimSpace(string(b))
			}
		}
	}
	const skipStats = 1 << 3 // RTEXT_FILTER_SKIP_STATS
	msgs, err := dump(unix.RTM_GETLINK, unix.RTM_NEWLINK, nl.NewIfInfomsg(unix.AF_UNSPEC), nl.NewRtAttr(unix.IFLA_EXT_MASK, nl.Uint32Attr(skipStats)))
	if err != nil {
		return nil, err
	}
	for _, m := range msgs {
		s, err := parseSettings(m)
		if err != nil {
			return nil, err
		}
		for _, key := range sysctlKeys {
			if value, ok := s.value(key); ok {
				values[strings.Replace(key, "*", s.link, 1)] = value
			}
		}
	}
	return values, nil
}
