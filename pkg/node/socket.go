package node

import (
	"cmp"
	encoding "encoding/hex"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// A Socket is a port on which a program receives: a listening TCP socket, or a bound and unconnected UDP socket.
type Socket struct {
	Protocol string         `json:"protocol"`         // "tcp", "udp"
	Local    netip.AddrPort `json:"local"`            // an unspecified address stands for all
	V6Only   bool           `json:"v6only,omitempty"` // with the unspecified IPv6 address: not for IPv4. False where that is not known
	Link     string         `json:"link,omitempty"`   // it receives by this interface alone
	// Full is set if a socket of TCP has more connections than its queue holds, listen(2): the kernel drops those that begin. False
	// where that is not known.
	Full bool `json:"full,omitempty"`
}

// socketTables are the files of /proc/net with a namespace's sockets, and the state of those that receive.
var socketTables = []struct{ name, protocol, state string }{
	{"tcp", "tcp", "0A"}, {"tcp6", "tcp", "0A"}, {"udp", "udp", "07"}, {"udp6", "udp", "07"},
}

// parseSockets parses a file of socketTables, proc(5). The addresses are words in the order of the host's bytes, here of
// a little-endian host.
func parseSockets(text, protocol, state string) []Socket {
	var list []Socket
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 4 || words[3] != state {
			continue
		}
		address, port, _ := strings.Cut(words[1], ":")
		number, err := strconv.ParseUint(port, 16, 16)
		bytes, err2 := encoding.DecodeString(address)
		if err != nil || err2 != nil || len(bytes)%4 != 0 {
			continue
		}
		for word := range slices.Chunk(bytes, 4) {
			slices.Reverse(word)
		}
		a, ok := netip.AddrFromSlice(bytes)
		s := Socket{Protocol: protocol, Local: netip.AddrPortFrom(a.Unmap(), uint16(number))}
		if ok && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// sortSockets puts sockets in one order, however they were read: ss(8) and the kernel have others.
func sortSockets(list []Socket) []Socket {
	slices.SortFunc(list, func(a, b Socket) int {
		return cmp.Or(cmp.Compare(a.Protocol, b.Protocol), a.Local.Compare(b.Local), cmp.Compare(a.Link, b.Link))
	})
	return list
}

// parseSS parses what ss(8) lists of sockets that receive: protocol, state, two queues, the local address and the peer's. A star
// stands for all addresses of both families.
func parseSS(text string) []Socket {
	list := []Socket{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 5 {
			continue
		}
		i := strings.LastIndexByte(words[4], ':')
		if i < 0 {
			continue
		}
		number, err := strconv.ParseUint(words[4][i+1:], 10, 16)
		address, link, _ := strings.Cut(words[4][:i], "%")
		queued, err3 := strconv.Atoi(words[2])
		room, err4 := strconv.Atoi(words[3])
		s := Socket{Protocol: words[0], Link: link, Full: words[1] == "LISTEN" && err3 == nil && err4 == nil && queued > room}
		a, err2 := netip.ParseAddr(strings.Trim(address, "[]"))
		switch {
		case address == "*":
			a, err2 = netip.IPv6Unspecified(), nil
		case a == netip.IPv6Unspecified():
			s.V6Only = true
		}
		if s.Local = netip.AddrPortFrom(a.Unmap(), uint16(number)); err == nil && err2 == nil && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// Receivers returns those of the sockets that receive packets for an address and port that come in by a link; empty: from the
// host itself. A socket of all IPv6 addresses receives those of IPv4, too, unless it is known not to.
func Receivers(sockets []Socket, protocol string, to netip.AddrPort, link string) []Socket {
	var found []Socket
	for _, s := range sockets {
		if s.Protocol != protocol || s.Local.Port() != to.Port() || s.Link != "" && s.Link != link {
			continue
		}
		own := s.Local.Addr()
		if own == to.Addr() || own.IsUnspecified() && (to.Addr().Is4() && !s.V6Only || own.Is6() && to.Addr().Is6()) {
			found = append(found, s)
		}
	}
	return found
}
