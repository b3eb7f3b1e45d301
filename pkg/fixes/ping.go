package fixes

import (
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/net/icmp"
	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"
)

// ping reports whether an address replies to an ICMP echo request.
func ping(to netip.Addr, within time.Duration) bool {
	network, any, request, reply := "ip4:icmp", "0.0.0.0", icmp.Type(ipv4.ICMPTypeEcho), icmp.Type(ipv4.ICMPTypeEchoReply)
	if to.Is6() {
		network, any, request, reply = "ip6:ipv6-icmp", "::", ipv6.ICMPTypeEchoRequest, ipv6.ICMPTypeEchoReply
	}
	conn, err := icmp.ListenPacket(network, any)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	id := os.Getpid() & 0xffff
	packet, err := (&icmp.Message{Type: request, Body: &icmp.Echo{ID: id, Seq: 1}}).Marshal(nil) // the kernel fills in the checksum of ICMPv6
	if err != nil {
		return false
	}
	if _, err := conn.WriteTo(packet, &net.IPAddr{IP: to.AsSlice(), Zone: to.Zone()}); err != nil {
		return false
	}
	_ = conn.SetReadDeadline(time.Now().Add(within))
	buf := make([]byte, 1500)
	for {
		n, _, err := conn.ReadFrom(buf)
		if err != nil {
			return false
		}
		m, err := icmp.ParseMessage(request.Protocol(), buf[:n])
		if err != nil || m.Type != reply {
			continue
		}
		if echo, ok := m.Body.(*icmp.Echo); ok && echo.ID == id {
			return true
		}
	}
}
