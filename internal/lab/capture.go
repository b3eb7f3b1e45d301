package lab

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// A capture sees the packets of one host, on interfaces with an address: what crosses a node on bridge ports and pod
// links is not the node's own.
type capture struct {
	host  string
	fd    int
	links map[int]bool
}

func (s *State) capture(host string) (*capture, error) {
	c := &capture{host: host, fd: -1, links: map[int]bool{}}
	err := s.InNamespace(host, func() error {
		links, err := net.Interfaces()
		if err != nil {
			return err
		}
		for _, l := range links {
			if addrs, err := l.Addrs(); err == nil && hasGlobal(addrs) {
				c.links[l.Index] = true
			}
		}
		// SOCK_DGRAM strips the link-layer header.
		c.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, int(htons(unix.ETH_P_ALL)))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("capture on %s: %w", host, err)
	}
	return c, nil
}

// hasGlobal reports whether an interface has a global address; every interface that is up has a link-local one.
func hasGlobal(addrs []net.Addr) bool {
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLinkLocalUnicast() {
			return true
		}
	}
	return false
}

func htons(v uint16) uint16 { return v<<8 | v>>8 }

func (c *capture) close() { _ = unix.Close(c.fd) }

// drain passes on the packets received so far: those the host sent and those destined for it.
func (c *capture) drain(see func(p packet, sent bool)) error {
	buf := make([]byte, 2048)
	for {
		n, from, err := unix.Recvfrom(c.fd, buf, 0)
		switch {
		case errors.Is(err, unix.EAGAIN):
			return nil
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return os.NewSyscallError("recvfrom", err)
		}
		at, ok := from.(*unix.SockaddrLinklayer)
		if !ok || !c.links[at.Ifindex] || at.Pkttype != unix.PACKET_HOST && at.Pkttype != unix.PACKET_OUTGOING {
			continue
		}
		if p, ok := parsePacket(buf[:n]); ok {
			p.payload = append([]byte(nil), p.payload...)
			see(p, at.Pkttype == unix.PACKET_OUTGOING)
		}
	}
}

// wait returns when packets may be available, or after d.
func (c *capture) wait(d time.Duration) {
	_, _ = unix.Poll([]unix.PollFd{{Fd: int32(c.fd), Events: unix.POLLIN}}, int(d.Milliseconds()))
}
