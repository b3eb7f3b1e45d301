package anonymize

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/big"
	"math/bits"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// addresses replaces addresses of all kinds, in every form that Open vSwitch and OVN write.
type addresses struct {
	key     []byte
	settled bool
	seen    map[netip.Addr]bool
	macs    map[[6]byte]bool
	numbers map[string]string // decimal, of addresses also written as numbers
}

func newAddresses() addresses {
	return addresses{key: randomKey(), seen: map[netip.Addr]bool{}, macs: map[[6]byte]bool{}}
}

func randomKey() []byte {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	return key
}

const (
	macForm = `\b[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5}\b`
	v4Form  = `[0-9]{1,3}(?:\.[0-9]{1,3}){3}`
	v6Form  = `(?:\b[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{0,4}){2,7}|::(?:[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4}){0,6})?)(?:\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3})?`
)

var (
	address = regexp.MustCompile(macForm + `|` + v6Form + `|\b` + v4Form)
	hexForm = regexp.MustCompile(`0x[0-9a-fA-F]{5,32}`)
	dotted  = regexp.MustCompile(`[0-9a-f]{2}(?:\.[0-9a-f]{2}){5,}`) // userdata and notes
)

func (a *addresses) seeAddresses(text []byte) {
	for _, at := range address.FindAllIndex(text, -1) {
		token := text[at[0]:at[1]]
		if len(token) < 4 || part(text, at) {
			continue
		}
		if mac, ok := parseMAC(token); ok {
			a.macs[mac] = true
		} else if ip, ok := parseIP(token); ok && !stays(ip) {
			a.seen[ip] = true
		}
	}
}

// part reports whether a token is within a word or a longer number.
func part(text []byte, at []int) bool {
	edge := func(i int) bool {
		return i < 0 || i >= len(text) || !(text[i] >= '0' && text[i] <= '9' || text[i] >= 'a' && text[i] <= 'z' || text[i] >= 'A' && text[i] <= 'Z')
	}
	return !edge(at[0]-1) || !edge(at[1])
}

func parseMAC(token []byte) (mac [6]byte, ok bool) {
	if len(token) != 17 {
		return mac, false
	}
	n, err := hex.Decode(mac[:], []byte(strings.ReplaceAll(string(token), ":", "")))
	return mac, err == nil && n == 6
}

func parseIP(token []byte) (netip.Addr, bool) {
	text := string(token)
	if !strings.HasSuffix(text, "::") {
		text = strings.TrimSuffix(text, ":")
	}
	ip, err := netip.ParseAddr(text)
	return ip, err == nil
}

// stays reports whether an address is nobody's own: multicast, loopback, unspecified.
func stays(ip netip.Addr) bool {
	if ip.Is4() {
		b := ip.As4()
		return b[0] == 0 || b[0] == 127 || b[0] == 255 || ip.IsMulticast() || b == [4]byte{169, 254, 0, 0}
	}
	return ip.IsUnspecified() || ip.IsLoopback() || ip.IsMulticast()
}

// settleAddresses picks a key that maps no address to one that was seen.
func (a *addresses) settleAddresses() {
	a.settled = true
	for range 50 {
		if !a.collides() {
			break
		}
		a.key = randomKey()
	}
	a.numbers = map[string]string{}
	for ip := range a.seen {
		a.numbers[decimal(ip.AsSlice())] = decimal(a.ip(ip).AsSlice())
	}
	for mac := range a.macs {
		other := a.mac(mac)
		a.numbers[decimal(mac[:])] = decimal(other[:])
	}
}

func (a *addresses) collides() bool {
	for ip := range a.seen {
		if other := a.ip(ip); other != ip && a.seen[other] {
			return true
		}
	}
	for mac := range a.macs {
		if other := a.mac(mac); other != mac && a.macs[other] {
			return true
		}
	}
	return false
}

func decimal(b []byte) string { return new(big.Int).SetBytes(b).String() }

func (a *addresses) sum(kind byte, b []byte) []byte {
	h := hmac.New(sha256.New, a.key)
	h.Write([]byte{kind, byte(len(b))})
	h.Write(b)
	return h.Sum(nil)
}

// letters replaces a word so that only the key links the two.
func (a *addresses) letters(w string) string { return hex.EncodeToString(a.sum('w', []byte(w))[:4]) }

// mac replaces a unicast address and keeps multicast ones, but those of IPv6 neighbor discovery follow the addresses
// they are for.
func (a *addresses) mac(mac [6]byte) [6]byte {
	switch {
	case mac == [6]byte{}, mac == [6]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}:
		return mac
	case mac[0] == 0x33 && mac[1] == 0x33 && mac[2] == 0xff:
		low := a.solicited([3]byte(mac[3:]))
		copy(mac[3:], low[:])
		return mac
	case mac[0]&1 != 0 || mac[1]|mac[2]|mac[3]|mac[4]|mac[5] == 0: // multicast, or a mask
		return mac
	}
	var other [6]byte
	copy(other[:], a.sum('m', mac[:]))
	other[0] = other[0]&^1 | 2
	return other
}

// solicited returns the last bytes of an address's solicited-node group.
func (a *addresses) solicited(low [3]byte) [3]byte {
	for ip := range a.seen {
		if b := ip.AsSlice(); ip.Is6() && [3]byte(b[13:]) == low {
			return [3]byte(a.ip(ip).AsSlice()[13:])
		}
	}
	if low == [3]byte{} {
		return low
	}
	return [3]byte(a.sum('s', low[:]))
}

// ip replaces an address; two with a common prefix still have one afterwards.
func (a *addresses) ip(ip netip.Addr) netip.Addr {
	ip = ip.WithZone("")
	b := ip.AsSlice()
	switch {
	case ip.Is6() && ip.IsMulticast():
		if b[11] == 1 && b[12] == 0xff && b[1] == 2 {
			low := a.solicited([3]byte(b[13:]))
			copy(b[13:], low[:])
		}
		out, _ := netip.AddrFromSlice(b)
		return out
	case stays(ip):
		return ip
	case ip.Is6() && ip.IsLinkLocalUnicast() && b[11] == 0xff && b[12] == 0xfe: // from a MAC address
		mac := a.mac([6]byte{b[8] ^ 2, b[9], b[10], b[13], b[14], b[15]})
		copy(b[8:], []byte{mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]})
		out, _ := netip.AddrFromSlice(b)
		return out
	}
	first := 8
	if ip.Is6() {
		first = 16
		if ip.IsLinkLocalUnicast() {
			first = 64
		}
	} else if ip.IsLinkLocalUnicast() {
		first = 16
	}
	out := append([]byte(nil), b...)
	for bit := first; bit < len(b)*8; bit++ {
		prefix := make([]byte, 0, 18)
		prefix = append(prefix, b[:bit/8]...)
		prefix = append(prefix, b[bit/8]&^(0xff>>(bit%8)))
		prefix = binary.BigEndian.AppendUint16(prefix, uint16(bit))
		out[bit/8] ^= a.sum('i', prefix)[0] & 1 << (7 - bit%8)
	}
	other, _ := netip.AddrFromSlice(out)
	return other
}

func (a *addresses) replaceAddresses(text []byte) []byte {
	text = replace(dotted, text, func(at []int) string { return a.bytes(string(text[at[0]:at[1]])) })
	text = replace(hexForm, text, func(at []int) string {
		n, ok := new(big.Int).SetString(string(text[at[0]+2:at[1]]), 16)
		if other := a.numbers[n.String()]; ok && other != "" {
			n.SetString(other, 10)
			return "0x" + n.Text(16)
		}
		return ""
	})
	return replace(address, text, func(at []int) string {
		token := text[at[0]:at[1]]
		if len(token) < 4 || part(text, at) {
			return ""
		}
		if mac, ok := parseMAC(token); ok {
			if at[0] > 0 && text[at[0]-1] == '/' {
				return "" // a mask
			}
			other := a.mac(mac)
			return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", other[0], other[1], other[2], other[3], other[4], other[5])
		}
		ip, ok := parseIP(token)
		if !ok || at[0] > 0 && text[at[0]-1] == '/' {
			return ""
		}
		other := a.ip(ip)
		if bits, ok := length(text[at[1]:]); ok && bits <= ip.BitLen() {
			if netip.PrefixFrom(ip, bits).Masked().Addr() == ip {
				other = netip.PrefixFrom(other, bits).Masked().Addr()
			}
		}
		tail := ""
		if strings.HasSuffix(string(token), ":") && !strings.HasSuffix(string(token), "::") {
			tail = ":"
		}
		return other.String() + tail
	})
}

// length returns the prefix length that follows as "/24" or as a mask.
func length(rest []byte) (int, bool) {
	if len(rest) < 2 || rest[0] != '/' {
		return 0, false
	}
	rest = rest[1:]
	if at := address.FindIndex(rest); at != nil && at[0] == 0 {
		if mask, ok := parseIP(rest[:at[1]]); ok {
			ones := 0
			for _, b := range mask.AsSlice() {
				ones += bits.LeadingZeros8(^b)
			}
			return ones, true
		}
	}
	end := 0
	for end < len(rest) && end < 3 && rest[end] >= '0' && rest[end] <= '9' {
		end++
	}
	ones, err := strconv.Atoi(string(rest[:end]))
	return ones, err == nil
}

// replace replaces a known address in place. It reports whether b is one.
func (a *addresses) replace(b []byte) bool {
	if len(b) == 6 {
		mac := [6]byte(b)
		if a.macs[mac] {
			mac = a.mac(mac)
			copy(b, mac[:])
			return true
		}
		return false
	}
	ip, ok := netip.AddrFromSlice(b)
	if !ok || !a.seen[ip] {
		return false
	}
	copy(b, a.ip(ip).AsSlice())
	return true
}

// bytes replaces the addresses in bytes written with dots.
func (a *addresses) bytes(text string) string {
	b, err := hex.DecodeString(strings.ReplaceAll(text, ".", ""))
	if err != nil {
		return ""
	}
	for i := 0; i < len(b); {
		at := slices.IndexFunc([]int{16, 6, 4}, func(n int) bool { return i+n <= len(b) && a.replace(b[i:i+n]) })
		i += []int{1, 16, 6, 4}[at+1]
	}
	var out []string
	for _, c := range b {
		out = append(out, fmt.Sprintf("%02x", c))
	}
	return strings.Join(out, ".")
}

// replace replaces each match by the result of with; empty keeps it.
func replace(re *regexp.Regexp, text []byte, with func(at []int) string) []byte {
	var out []byte
	last := 0
	for _, at := range re.FindAllIndex(text, -1) {
		if other := with(at); other != "" {
			out = append(append(out, text[last:at[0]]...), other...)
			last = at[1]
		}
	}
	return append(out, text[last:]...)
}
