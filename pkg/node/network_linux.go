package node

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"

	"github.com/ovnctl/ovnctl/pkg/lazy"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

func (l *local) Network(ctx context.Context) (*Network, error) {
	var n *Network
	err := l.inside(func() (err error) {
		n, err = readNetwork("/proc/sys")
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
	err = l.inside(withHandle(func(h *netlink.Handle) (err error) {
		r, err = router{h}.lookup(q)
		return err
	}))
	if err != nil {
		return nil, fmt.Errorf("route lookup for %s: %w", q, err)
	}
	return r, nil
}

// readNetwork reads the thread's namespace, and its settings from sysctls, the path of /proc/sys, unless empty.
func readNetwork(sysctls string) (*Network, error) {
	k, err := dialKernel()
	if err != nil {
		return nil, err
	}
	defer k.close()
	n := &Network{}
	links, err := k.dump(unix.RTM_GETLINK, unix.RTM_NEWLINK, nl.NewIfInfomsg(unix.AF_UNSPEC), nl.NewRtAttr(unix.IFLA_EXT_MASK, nl.Uint32Attr(skipStats)))
	if err != nil {
		return nil, fmt.Errorf("links: %w", err)
	}
	names, err := readLinks(n, links)
	if err != nil {
		return nil, fmt.Errorf("links: %w", err)
	}
	if err := readAttached(k, n, names); err != nil {
		return nil, fmt.Errorf("queueing disciplines: %w", err)
	}
	if err := readAddresses(k, n, names); err != nil {
		return nil, fmt.Errorf("addresses: %w", err)
	}
	if err := readRoutes(k, n, names); err != nil {
		return nil, fmt.Errorf("routes: %w", err)
	}
	if err := readRules(k, n); err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	if err := readNeighbours(k, n, names); err != nil {
		return nil, fmt.Errorf("neighbours: %w", err)
	}
	n.IPsec = readIPsec()
	n.sort()
	if sysctls != "" {
		if n.Sysctl, err = readSysctls(sysctls, links); err != nil {
			return nil, fmt.Errorf("settings: %w", err)
		}
	}
	return n, nil
}

// skipStats has the kernel omit counters, the bulk of a link's message: RTEXT_FILTER_SKIP_STATS.
const skipStats = 1 << 3

// readLinks returns the names by index.
func readLinks(n *Network, msgs [][]byte) (map[int]string, error) {
	names := map[int]string{}
	links := make([]netlink.Link, 0, len(msgs))
	for _, m := range msgs {
		l, err := netlink.LinkDeserialize(nil, m)
		if err != nil {
			return nil, err
		}
		links = append(links, l)
		names[l.Attrs().Index] = l.Attrs().Name
	}
	for i, l := range links {
		link := linkOf(l, names)
		link.Qdisc, link.NoARP = qdiscOf(msgs[i]), l.Attrs().RawFlags&unix.IFF_NOARP != 0
		n.Links = append(n.Links, link)
	}
	return names, nil
}

// readAttached reads which links have filters of tc(8).
func readAttached(k *kernel, n *Network, names map[int]string) error {
	msgs, err := k.dump(unix.RTM_GETQDISC, unix.RTM_NEWQDISC, &nl.TcMsg{})
	if err != nil {
		return err
	}
	for _, m := range msgs {
		if len(m) < nl.SizeofTcMsg {
			return errors.New("short message")
		}
		attributes, err := nl.ParseRouteAttr(m[nl.SizeofTcMsg:])
		if err != nil {
			return err
		}
		var q queue
		var options []byte
		for _, a := range attributes {
			switch a.Attr.Type {
			case nl.TCA_KIND:
				q.kind = unix.ByteSliceToString(a.Value)
			case nl.TCA_OPTIONS:
				options = a.Value
			}
		}
		about := nl.DeserializeTcMsg(m)
		link := names[int(about.Ifindex)]
		n.attach(link, q.kind)
		if about.Parent == netlink.HANDLE_ROOT {
			q.read(options)
			n.limit(link, q.passes())
		}
	}
	return nil
}

// read reads the options that count from the kernel's: struct tc_fifo_qopt, tc_netem_qopt, and in an attribute tc_tbf_qopt.
func (q *queue) read(options []byte) {
	switch q.kind {
	case "pfifo", "bfifo":
		if len(options) >= 4 {
			limit := int(binary.NativeEndian.Uint32(options))
			q.limit = &limit
		}
	case "netem":
		if len(options) >= nl.SizeofTcNetemQopt {
			q.loses = nl.DeserializeTcNetemQopt(options).Loss == math.MaxUint32
		}
	case "tbf":
		attributes, err := nl.ParseRouteAttr(options)
		if err != nil {
			return
		}
		for _, a := range attributes {
			if a.Attr.Type != nl.TCA_TBF_PARMS || len(a.Value) < nl.SizeofTcTbfQopt {
				continue
			}
			const tick = 64 // nanoseconds, PSCHED_TICKS2NS
			tbf := nl.DeserializeTcTbfQopt(a.Value)
			burst := int(uint64(tbf.Rate.Rate) * uint64(tbf.Buffer) * tick / 1e9)
			q.burst = &burst
		}
	}
}

// qdiscOf returns the root queueing discipline in a message about a link.
func qdiscOf(msg []byte) string {
	if len(msg) < unix.SizeofIfInfomsg {
		return ""
	}
	attributes, err := nl.ParseRouteAttr(msg[unix.SizeofIfInfomsg:])
	if err != nil {
		return ""
	}
	for _, a := range attributes {
		if a.Attr.Type == unix.IFLA_QDISC {
			return unix.ByteSliceToString(a.Value)
		}
	}
	return ""
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
	if a.Xdp != nil && a.Xdp.Attached {
		link.Attached = []string{"xdp"}
	}
	if a.NetNsID >= 0 && a.NetNsID <= 1<<31-1 {
		link.PeerNetns = &a.NetNsID
	}
	return link
}

func readAddresses(k *kernel, n *Network, names map[int]string) error {
	msgs, err := k.dump(unix.RTM_GETADDR, unix.RTM_NEWADDR, nl.NewIfAddrmsg(unix.AF_UNSPEC))
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

func readRoutes(k *kernel, n *Network, names map[int]string) error {
	msgs, err := k.dump(unix.RTM_GETROUTE, unix.RTM_NEWROUTE, &nl.RtMsg{})
	if err != nil {
		return err
	}
	for _, m := range msgs {
		if cloned(m) || !ofIP(m) {
			continue
		}
		r, err := parseRoute(m, names)
		if err != nil {
			return err
		}
		n.Routes = append(n.Routes, r)
	}
	return nil
}

func readRules(k *kernel, n *Network) error {
	msgs, err := k.dump(unix.RTM_GETRULE, unix.RTM_NEWRULE, nl.NewIfInfomsg(unix.AF_UNSPEC))
	if err != nil {
		return err
	}
	for _, m := range msgs {
		if !ofIP(m) {
			continue
		}
		r, err := parseRule(m)
		if err != nil {
			return err
		}
		n.Rules = append(n.Rules, r)
	}
	return nil
}

// ofIP reports whether a route or rule is of a family we show: a request for all families also returns MPLS and
// multicast routing.
func ofIP(m []byte) bool { return len(m) > 0 && (m[0] == unix.AF_INET || m[0] == unix.AF_INET6) }

// A kernel is queried over one socket, in the namespace of the thread that made it.
type kernel struct{ socket *nl.SocketHandle }

func dialKernel() (*kernel, error) {
	s, err := nl.Subscribe(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, err
	}
	k := &kernel{&nl.SocketHandle{Socket: s}}
	timeout := unix.NsecToTimeval(defaultTimeout.Nanoseconds())
	if err := errors.Join(s.SetSendTimeout(&timeout), s.SetReceiveTimeout(&timeout)); err != nil {
		k.close()
		return nil, err
	}
	return k, nil
}

func (k *kernel) close() { k.socket.Close() }

// dump requests all objects of a kind, and retries a few times if the kernel reports a change in between.
func (k *kernel) dump(get, answer uint16, of ...nl.NetlinkRequestData) ([][]byte, error) {
	for try := 0; ; try++ {
		req := nl.NewNetlinkRequest(int(get), unix.NLM_F_DUMP)
		req.Sockets = map[int]*nl.SocketHandle{unix.NETLINK_ROUTE: k.socket}
		for _, d := range of {
			req.AddData(d)
		}
		msgs, err := req.Execute(unix.NETLINK_ROUTE, answer)
		if try == 4 || !errors.Is(err, netlink.ErrDumpInterrupted) && !errors.Is(err, unix.EINTR) {
			return msgs, err
		}
	}
}

var neighbourStates = lazy.Value[map[int]string]{Make: func() map[int]string {
	return map[int]string{
		unix.NUD_INCOMPLETE: "incomplete", unix.NUD_REACHABLE: "reachable", unix.NUD_STALE: "stale", unix.NUD_DELAY: "delay",
		unix.NUD_PROBE: "probe", unix.NUD_FAILED: "failed", unix.NUD_PERMANENT: "permanent",
	}
}}

func readNeighbours(k *kernel, n *Network, names map[int]string) error {
	msgs, err := k.dump(unix.RTM_GETNEIGH, unix.RTM_NEWNEIGH, &netlink.Ndmsg{})
	if err != nil {
		return err
	}
	for _, m := range msgs {
		e, err := netlink.NeighDeserialize(m)
		if err != nil {
			return err
		}
		state, ok := neighbourStates.Get()[e.State]
		if !ok || !addrOf(e.IP).IsValid() { // the kernel's own, for multicast and loopback
			continue
		}
		entry := Neighbour{Link: names[e.LinkIndex], Addr: addrOf(e.IP), MAC: etherAddr(e.HardwareAddr.String()), State: state}
		if state == "failed" {
			entry.Since = updated(m)
		}
		n.Neighbours = append(n.Neighbours, entry)
	}
	return nil
}

// updated returns how many seconds ago the entry in a message changed: struct nda_cacheinfo has it after two other times, in
// ticks of USER_HZ.
func updated(msg []byte) int {
	const head, hz = 12, 100
	attributes, err := nl.ParseRouteAttr(msg[min(head, len(msg)):])
	if err != nil {
		return 0
	}
	for _, a := range attributes {
		if a.Attr.Type == unix.NDA_CACHEINFO && len(a.Value) >= 12 {
			return int(binary.NativeEndian.Uint32(a.Value[8:]) / hz)
		}
	}
	return 0
}

// A router asks one namespace's kernel for routes.
type router struct{ *netlink.Handle }

// lookup asks the kernel for a packet's route. The kernel reports some route types as error numbers; these are
// mapped back to the types.
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
		return nil, errors.New("empty reply")
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

// foundRoute is the result of a lookup.
func foundRoute(r netlink.Route, names map[int]string) Route {
	via := addrOf(r.Gw)
	if v, ok := r.Via.(*netlink.Via); ok {
		via = addrOf(v.Addr)
	}
	return Route{Type: routeType(r.Type), Table: r.Table, Via: via, Dev: names[r.LinkIndex], Src: addrOf(r.Src)}
}

func (h router) owns(a netip.Addr) (bool, error) {
	k, err := dialKernel()
	if err != nil {
		return false, err
	}
	defer k.close()
	n := &Network{}
	if err := readAddresses(k, n, nil); err != nil {
		return false, err
	}
	return n.Owns(a), nil
}

func addrOf(ip net.IP) netip.Addr {
	a, ok := netip.AddrFromSlice(ip)
	if !ok {
		return netip.Addr{}
	}
	return a.Unmap()
}

// readSysctls reads the settings of sysctlKeys. Those of links come with the kernel's link messages: a hundred
// links have a thousand such files.
func readSysctls(root string, links [][]byte) (map[string]string, error) {
	values := map[string]string{}
	for _, key := range sysctlKeys {
		for _, key := range slices.Compact([]string{strings.Replace(key, "*", "all", 1), strings.Replace(key, "*", "default", 1)}) {
			if b, err := readProc(root+"/"+key, nil); err == nil {
				values[key] = strings.TrimSpace(string(b))
			}
		}
	}
	for _, m := range links {
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
