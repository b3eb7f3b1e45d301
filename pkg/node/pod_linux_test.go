package node

import (
	"net"
	"slices"
	"testing"
)

// sock_diag(7) and /proc/net list the sockets that receive, in both families.
func TestReceiving(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		c, err := net.ListenPacket("udp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		for i, own := range []Socket{{Protocol: "tcp", Local: l.Addr().(*net.TCPAddr).AddrPort()}, {Protocol: "udp", Local: c.LocalAddr().(*net.UDPAddr).AddrPort()}} {
			for name, list := range map[string]func() ([]Socket, error){"sock_diag": receiving[i].diagnosed, "/proc": receiving[i].listed} {
				got, err := list()
				if err != nil || !slices.Contains(got, own) {
					t.Errorf("%s: %v: %v lacks %v", name, err, got, own)
				}
			}
		}
	}
}

// TestV6Only holds that a socket of all IPv6 addresses says whether it takes IPv4.
func TestV6Only(t *testing.T) {
	for network, want := range map[string]bool{"tcp6": true, "tcp": false} {
		l, err := net.Listen(network, "[::]:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		sockets, err := receiving[0].diagnosed()
		port := l.Addr().(*net.TCPAddr).AddrPort().Port()
		i := slices.IndexFunc(sockets, func(s Socket) bool { return s.Local.Port() == port })
		if err != nil || i < 0 || sockets[i].V6Only != want {
			t.Errorf("%s: %v: %v", network, err, sockets)
		}
	}
}
