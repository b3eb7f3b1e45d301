package node

import (
	"fmt"
	"net/netip"
)

// A NetworkWriter changes what Host.Network reads, on the local host. It is for pkg/fixes alone, which plans,
// guards and journals each change.
//
// Adding what exists or deleting what is gone fails: syscall.EEXIST, ESRCH, EADDRNOTAVAIL or ENOENT.
type NetworkWriter interface {
	AddAddress(Address) error
	DeleteAddress(Address) error
	// AddRoute adds a route after equal ones through other links.
	AddRoute(Route) error
	DeleteRoute(Route) error
	AddRule(Rule) error
	DeleteRule(Rule) error
	// AddNeighbour adds a static neighbour.
	AddNeighbour(Neighbour) error
	DeleteNeighbour(Neighbour) error
	SetUp(link string, up bool) error
	SetMAC(link, mac string) error
	SetSysctl(name, value string) error
	// Announce advertises the MAC address of a link's address on its segment: a gratuitous ARP reply, or an
	// unsolicited neighbour advertisement.
	Announce(link string, a netip.Addr) error
}

// ChangeNetwork runs do in the network namespace of h, which must be the local host.
func ChangeNetwork(h Host, do func(NetworkWriter) error) error {
	l, ok := h.(*local)
	if !ok {
		return fmt.Errorf("network of %s: only that of the host that ovnctl runs on is changed", h.Name())
	}
	return l.change(do)
}
