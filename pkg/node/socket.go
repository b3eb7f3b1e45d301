package node

import (
	encoding "encoding/hex"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// A Socket is a port on which a program receives: a listening TCP socket, or a bound and unconnected UDP socket.
type Socket struct {
	Protocol string         `json:"protocol"` // "tcp", "udp"
	Local    netip.AddrPort `json:"local"`    // an unspecified address stands for all
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
		s := Socket{protocol, netip.AddrPortFrom(a.Unmap(), uint16(number))}
		if ok && !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// Receives reports whether one of the sockets receives packets for an address and port. A socket of all IPv6 addresses is
// taken to receive those of IPv4 too.
func Receives(sockets []Socket, protocol string, to netip.AddrPort) bool {
	return slices.ContainsFunc(sockets, func(s Socket) bool {
		if s.Protocol != protocol || s.Local.Port() != to.Port() {
			return false
		}
		own := s.Local.Addr()
		return own == to.Addr() || own.IsUnspecified() && (own.Is6() || to.Addr().Is4())
	})
}
