package node

import (
	"fmt"
	"net/netip"
	"syscall"
)

// answerRoute reduces the kernel's reply to a lookup to its result, the same for netlink and ip(8).
func answerRoute(q RouteQuery, r Route) *Route {
	return &Route{Type: r.Type, Dst: hostPrefix(q.Dst), Table: r.Table, Via: r.Via, Dev: r.Dev, Src: r.Src}
}

// refusedRoute interprets the error number of a failed lookup. Some numbers have two meanings; the host tells them
// apart.
func refusedRoute(q RouteQuery, errno syscall.Errno, host interface {
	owns(netip.Addr) (bool, error)
	lookup(RouteQuery) (*Route, error)
}) (*Route, error) {
	types := map[syscall.Errno]string{
		syscall.ENETUNREACH:  "none",
		syscall.EHOSTUNREACH: "unreachable",
		syscall.EACCES:       "prohibit",
		syscall.EXDEV:        "martian",
		syscall.EINVAL:       "blackhole",
	}
	answer := &Route{Type: types[errno], Dst: hostPrefix(q.Dst)}
	switch {
	case answer.Type == "":
		return nil, errno
	case errno == syscall.EINVAL && q.Iif != "":
		// A blackhole, or the source is refused: then the host itself
		// would find a route.
		own, err := host.lookup(RouteQuery{Dst: q.Dst, Mark: q.Mark})
		if err != nil {
			return nil, err
		}
		if own.Type != "blackhole" {
			answer.Type = "martian"
		}
	case (errno == syscall.EINVAL || errno == syscall.ENETUNREACH) && q.Src.IsValid() && q.Iif == "":
		own, err := host.owns(q.Src)
		if err != nil {
			return nil, err
		}
		if !own {
			return nil, fmt.Errorf("%s is not an address of this host, name the interface the packet arrives on: %w", q.Src, errno)
		}
	}
	return answer, nil
}

func hostPrefix(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }

func defaultRoute(v6 bool) netip.Prefix {
	if v6 {
		return netip.PrefixFrom(netip.IPv6Unspecified(), 0)
	}
	return netip.PrefixFrom(netip.IPv4Unspecified(), 0)
}
