package node

import (
	"fmt"
	"net/netip"
	"syscall"
)

// answerRoute reduces what the kernel says to a lookup to what answers it, the
// same whichever way it was asked.
func answerRoute(q RouteQuery, r Route) *Route {
	return &Route{Type: r.Type, Dst: hostPrefix(q.Dst), Table: r.Table, Via: r.Via, Dev: r.Dev, Src: r.Src}
}

// refusedRoute reads the error number by which the kernel answers a lookup.
// Some numbers also say that the source is not one of the host's addresses.
func refusedRoute(q RouteQuery, errno syscall.Errno, ownsSrc func() (bool, error)) (*Route, error) {
	types := map[syscall.Errno]string{
		syscall.ENETUNREACH:  "none",
		syscall.EHOSTUNREACH: "unreachable",
		syscall.EACCES:       "prohibit",
		syscall.EXDEV:        "martian",
		syscall.EINVAL:       "blackhole",
	}
	if types[errno] == "" {
		return nil, fmt.Errorf("route lookup for %s: %w", q, errno)
	}
	if (errno == syscall.EINVAL || errno == syscall.ENETUNREACH) && q.Src.IsValid() && q.Iif == "" {
		own, err := ownsSrc()
		if err != nil {
			return nil, fmt.Errorf("route lookup for %s: %w", q, err)
		}
		if !own {
			return nil, fmt.Errorf("route lookup for %s: %s is no address of this host, name the interface the packet arrives on: %w", q, q.Src, errno)
		}
	}
	return &Route{Type: types[errno], Dst: hostPrefix(q.Dst)}, nil
}

func hostPrefix(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }

func defaultRoute(v6 bool) netip.Prefix {
	if v6 {
		return netip.PrefixFrom(netip.IPv6Unspecified(), 0)
	}
	return netip.PrefixFrom(netip.IPv4Unspecified(), 0)
}
