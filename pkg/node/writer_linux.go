package node

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

func (l *local) change(do func(NetworkWriter) error) error {
	return l.inside(withHandle(func(h *netlink.Handle) error { return do(networkWriter{h}) }))
}

// A networkWriter works in the namespace of the thread that made it.
type networkWriter struct{ *netlink.Handle }

func (w networkWriter) index(link string) (int, error) {
	l, err := w.LinkByName(link)
	if err != nil {
		return 0, fmt.Errorf("link %s: %w", link, err)
	}
	return l.Attrs().Index, nil
}

// send sends one message and waits for the kernel's reply.
func send(kind, flags int, body []byte) error {
	req := nl.NewNetlinkRequest(kind, flags|unix.NLM_F_ACK)
	req.AddRawData(body)
	_, err := req.Execute(unix.NETLINK_ROUTE, 0)
	return err
}

const create = unix.NLM_F_CREATE | unix.NLM_F_EXCL

func (w networkWriter) address(kind, flags int, a Address) error {
	i, err := w.index(a.Link)
	if err != nil {
		return err
	}
	return send(kind, flags, addressMessage(a, i))
}

func (w networkWriter) AddAddress(a Address) error    { return w.address(unix.RTM_NEWADDR, create, a) }
func (w networkWriter) DeleteAddress(a Address) error { return w.address(unix.RTM_DELADDR, 0, a) }

func (w networkWriter) route(kind, flags int, r Route) error {
	m, err := routeMessage(r, w.index)
	if err != nil {
		return err
	}
	return send(kind, flags, m)
}

func (w networkWriter) AddRoute(r Route) error {
	return w.route(unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_APPEND, r)
}
func (w networkWriter) DeleteRoute(r Route) error { return w.route(unix.RTM_DELROUTE, 0, r) }

func rule(kind, flags int, r Rule) error {
	m, err := ruleMessage(r)
	if err != nil {
		return err
	}
	return send(kind, flags, m)
}

func (w networkWriter) AddRule(r Rule) error    { return rule(unix.RTM_NEWRULE, create, r) }
func (w networkWriter) DeleteRule(r Rule) error { return rule(unix.RTM_DELRULE, 0, r) }

func (w networkWriter) neighbour(kind, flags int, n Neighbour) error {
	i, err := w.index(n.Link)
	if err != nil {
		return err
	}
	m, err := neighbourMessage(n, i)
	if err != nil {
		return err
	}
	return send(kind, flags, m)
}

// AddNeighbour replaces an entry learned meanwhile.
func (w networkWriter) AddNeighbour(n Neighbour) error {
	return w.neighbour(unix.RTM_NEWNEIGH, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, n)
}
func (w networkWriter) DeleteNeighbour(n Neighbour) error {
	return w.neighbour(unix.RTM_DELNEIGH, 0, n)
}

func (w networkWriter) SetUp(link string, up bool) error {
	l, err := w.LinkByName(link)
	switch {
	case err != nil:
		return fmt.Errorf("link %s: %w", link, err)
	case up:
		return w.LinkSetUp(l)
	}
	return w.LinkSetDown(l)
}

func (w networkWriter) SetMAC(link, mac string) error {
	l, err := w.LinkByName(link)
	if err != nil {
		return fmt.Errorf("link %s: %w", link, err)
	}
	a, err := parseMAC(mac)
	if err != nil {
		return err
	}
	return w.LinkSetHardwareAddr(l, a)
}

func (w networkWriter) SetSysctl(name, value string) error {
	if !filepath.IsLocal(name) || !strings.HasPrefix(name, "net/") {
		return fmt.Errorf("setting %q: not one of a network", name)
	}
	return os.WriteFile("/proc/sys/"+name, []byte(value+"\n"), 0o644)
}

func (w networkWriter) Announce(link string, a netip.Addr) error {
	l, err := w.LinkByName(link)
	if err != nil {
		return fmt.Errorf("link %s: %w", link, err)
	}
	mac := l.Attrs().HardwareAddr
	if len(mac) != 6 {
		return nil
	}
	frame, kind := gratuitousARP(mac, a), uint16(unix.ETH_P_ARP)
	if a.Is6() {
		frame, kind = unsolicitedNA(mac, a), unix.ETH_P_IPV6
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd) //nolint:errcheck // the frame has been sent
	to := &unix.SockaddrLinklayer{Protocol: kind<<8 | kind>>8, Ifindex: l.Attrs().Index, Halen: 6}
	copy(to.Addr[:], frame[:6])
	return unix.Sendto(fd, frame, 0, to)
}

func gratuitousARP(mac net.HardwareAddr, a netip.Addr) []byte {
	ip := a.AsSlice()
	f := append([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, mac...)
	f = append(f, 0x08, 0x06, 0, 1, 0x08, 0x00, 6, 4, 0, 2) // ARP reply: IPv4 on Ethernet
	f = append(append(f, mac...), ip...)
	return append(append(f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), ip...)
}

func unsolicitedNA(mac net.HardwareAddr, a netip.Addr) []byte {
	src := a.AsSlice()
	dst := netip.MustParseAddr("ff02::1").AsSlice()
	na := append([]byte{136, 0, 0, 0, 0x20, 0, 0, 0}, src...) // override flag
	na = append(append(na, 2, 1), mac...)                     // the target's link-layer address
	sum := uint32(len(na)) + unix.IPPROTO_ICMPV6
	for _, b := range [][]byte{src, dst, na} {
		for i := 0; i < len(b); i += 2 {
			sum += uint32(b[i])<<8 | uint32(b[i+1])
		}
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	na[2], na[3] = byte(^sum>>8), byte(^sum)
	f := append([]byte{0x33, 0x33, 0, 0, 0, 1}, mac...)
	f = append(f, 0x86, 0xdd, 0x60, 0, 0, 0, 0, byte(len(na)), unix.IPPROTO_ICMPV6, 255)
	return append(append(append(f, src...), dst...), na...)
}
