package anonymize

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/big"
	"math/bits"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/pattern"
)

// addresses replaces addresses of all kinds, in every form that Open vSwitch and OVN write.
type addresses struct {
	key     []byte
	seen    map[netip.Addr]bool
	macs    map[[6]byte]bool
	numbers map[string]string         // decimal, of addresses also written as numbers
	others  map[netip.Addr]netip.Addr // replacements
	groups  map[[3]byte][3]byte       // ends of solicited-node groups, with replacements
}

func newAddresses() addresses {
	return addresses{key: randomKey(), seen: map[netip.Addr]bool{}, macs: map[[6]byte]bool{}, others: map[netip.Addr]netip.Addr{}}
}

func randomKey() []byte {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never fails
	return key
}

const (
	bytesForm  = `\b[0-9a-fA-F]{2}(?:\.[0-9a-fA-F]{2}){5,}\b|\b[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){6,}\b` // userdata and notes; fingerprints
	macForm    = `\b[0-9A-Fa-f]{2}(?:(?::[0-9A-Fa-f]{2}){5}|(?:-[0-9A-Fa-f]{2}){5})\b|\b[0-9a-f]{4}\.[0-9a-f]{4}\.[0-9a-f]{4}\b`
	v4Form     = `[0-9]{1,3}(?:\.[0-9]{1,3}){3}`
	dashedForm = `[0-9]{1,3}(?:-[0-9]{1,3}){3}|[0-9]{1,3}(?:_[0-9]{1,3}){3}`
	v6Form     = `(?:\b[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{0,4}){2,7}|::(?:[0-9A-Fa-f]{1,4}(?::[0-9A-Fa-f]{1,4}){0,6})?)(?:\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3})?`
)

var address = pattern.New(bytesForm + `|` + macForm + `|` + v6Form + `|` + v4Form + `|` + dashedForm)

// part reports whether a token is within a word or a longer number.
func part(text []byte, from, to int) bool {
	edge := func(i int) bool {
		return i < 0 || i >= len(text) || !(text[i] >= '0' && text[i] <= '9' || text[i] >= 'a' && text[i] <= 'z' || text[i] >= 'A' && text[i] <= 'Z')
	}
	return !edge(from-1) || !edge(to)
}

func parseMAC(token []byte) (mac [6]byte, ok bool) {
	if len(token) != 17 && len(token) != 14 {
		return mac, false
	}
	b, err := hex.DecodeString(strings.NewReplacer(":", "", "-", "", ".", "").Replace(string(token)))
	if err != nil || len(b) != 6 {
		return mac, false
	}
	return [6]byte(b), true
}

func isMAC(token []byte) bool {
	_, ok := parseMAC(token)
	return ok
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
	for range 50 {
		if !a.collides() {
			break
		}
		a.key = randomKey()
		clear(a.others)
	}
	a.groups = map[[3]byte][3]byte{}
	for ip := range a.seen {
		if b := ip.AsSlice(); ip.Is6() {
			a.groups[[3]byte(b[13:])] = [3]byte(a.ip(ip).AsSlice()[13:])
		}
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
	if other, ok := a.groups[low]; ok {
		return other
	}
	if low == [3]byte{} {
		return low
	}
	return [3]byte(a.sum('s', low[:]))
}

// ip replaces an address; two with a common prefix still have one afterwards.
func (a *addresses) ip(ip netip.Addr) netip.Addr {
	ip = ip.WithZone("")
	other, ok := a.others[ip]
	if !ok {
		if len(a.others) > 1<<20 {
			clear(a.others)
		}
		other = a.pseudonym(ip)
		a.others[ip] = other
	}
	return other
}

// scopes are networks whose addresses stay within them: what they are for depends on it.
var scopes = []netip.Prefix{
	netip.MustParsePrefix("172.16.0.0/12"), netip.MustParsePrefix("192.168.0.0/16"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("169.254.0.0/16"),
	netip.MustParsePrefix("fe80::/64"),
}

func (a *addresses) pseudonym(ip netip.Addr) netip.Addr {
	b := ip.AsSlice()
	switch {
	case ip.Is6() && ip.IsMulticast():
		if isSolicited(ip) {
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
	}
	out := append([]byte(nil), b...)
	for bit := first; bit < len(b)*8; bit++ {
		if inScope(ip, bit) {
			continue
		}
		prefix := make([]byte, 0, 18)
		prefix = append(prefix, b[:bit/8]...)
		prefix = append(prefix, b[bit/8]&^(0xff>>(bit%8)))
		prefix = binary.BigEndian.AppendUint16(prefix, uint16(bit))
		out[bit/8] ^= a.sum('i', prefix)[0] & 1 << (7 - bit%8)
	}
	other, _ := netip.AddrFromSlice(out)
	return other
}

var solicitedNodes = netip.MustParsePrefix("ff02::1:ff00:0/104")

// isSolicited reports whether an address is a solicited-node group, which ends as the addresses in it do, RFC 4291 section 2.7.1.
func isSolicited(ip netip.Addr) bool {
	return solicitedNodes.Contains(ip)
}

// inScope reports whether a bit of an address is one of the first ones of a scope.
func inScope(ip netip.Addr, bit int) bool {
	for _, s := range scopes {
		if s.Addr().BitLen() == ip.BitLen() && bit < s.Bits() && netip.PrefixFrom(ip, bit).Masked() == netip.PrefixFrom(s.Addr(), bit).Masked() {
			return true
		}
	}
	return false
}

// address returns the replacement of in[from:to]; "" if that is no address.
func (r *Redactor) address(in []byte, from, to int) string {
	token := in[from:to]
	if len(token) < 4 && string(token) != "::" && string(token) != "::1" || part(in, from, to) {
		return ""
	}
	masks := from > 1 && in[from-1] == '/' && (in[from-2] == ':' || strings.IndexByte("0123456789abcdefABCDEF", in[from-2]) >= 0)
	if mac, ok := parseMAC(token); ok {
		if masks && from >= len("00:00:00:00:00:00/") && isMAC(in[from-len("00:00:00:00:00:00/"):from-1]) {
			return string(token)
		}
		if r.seeing {
			r.macs[mac] = true
		}
		other := r.mac(mac)
		switch token[2] {
		case ':', '-':
			sep := string(token[2])
			return strings.ReplaceAll(fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", other[0], other[1], other[2], other[3], other[4], other[5]), ":", sep)
		}
		return fmt.Sprintf("%x.%x.%x", other[:2], other[2:4], other[4:])
	}
	if len(token) > 17 && token[2] == '.' || len(token) > 17 && token[2] == ':' && bytes.Count(token, []byte(":")) > 7 {
		if token[2] == ':' {
			return r.hexDigits(string(token))
		}
		return r.dotted(string(token))
	}
	for _, sep := range []string{"-", "_"} {
		if bytes.Contains(token, []byte(sep)) {
			ip, err := netip.ParseAddr(strings.ReplaceAll(string(token), sep, "."))
			if err != nil {
				return ""
			}
			return strings.ReplaceAll(r.one(ip).String(), ".", sep)
		}
	}
	ip, ok := parseIP(token)
	if !ok {
		return r.colons(string(token))
	}
	if masks && isMask(ip) {
		return string(token)
	}
	other := r.one(ip)
	if bits, ok := length(in[to:]); ok && bits <= ip.BitLen() && netip.PrefixFrom(ip, bits).Masked().Addr() == ip {
		other = netip.PrefixFrom(other, bits).Masked().Addr()
	}
	tail := ""
	if strings.HasSuffix(string(token), ":") && !strings.HasSuffix(string(token), "::") {
		tail = ":"
	}
	return other.String() + tail
}

// colons replaces a MAC address without leading zeros, or a text in bytes with colons; it returns "" for anything else.
func (r *Redactor) colons(token string) string {
	if shortMAC.Get().MatchString(token) {
		var mac [6]byte
		for i, part := range strings.Split(token, ":") {
			n, _ := strconv.ParseUint(part, 16, 8) // as the pattern has it
			mac[i] = byte(n)
		}
		if r.seeing {
			r.macs[mac] = true
		}
		other := r.mac(mac)
		return net.HardwareAddr(other[:]).String()
	}
	if b, err := hex.DecodeString(strings.ReplaceAll(token, ":", "")); err == nil && len(token) == 3*len(b)-1 && isText(b) {
		return r.hexDigits(token)
	}
	return ""
}

var shortMAC = pattern.New(`^[0-9a-fA-F]{1,2}(?::[0-9a-fA-F]{1,2}){5}$`)

// one replaces an address, or notes it.
func (r *Redactor) one(ip netip.Addr) netip.Addr {
	if r.seeing {
		if !stays(ip) {
			r.seen[ip.WithZone("")] = true
		}
		return ip
	}
	return r.ip(ip)
}

// isMask reports whether an address is ones and then zeros.
func isMask(ip netip.Addr) bool {
	n := new(big.Int).SetBytes(ip.AsSlice())
	n.Xor(n, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(ip.BitLen())), big.NewInt(1))) // zeros, then ones
	return new(big.Int).And(n, new(big.Int).Add(n, big.NewInt(1))).Sign() == 0
}

// length returns the prefix length that follows as "/24" or as a mask.
func length(rest []byte) (int, bool) {
	if len(rest) < 2 || rest[0] != '/' {
		return 0, false
	}
	rest = rest[1:]
	if at := address.Get().FindIndex(rest); at != nil && at[0] == 0 {
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

// replace replaces a known address in place, or the group of one. It reports whether b is one.
func (a *addresses) replace(b []byte) bool {
	if len(b) == 6 {
		mac := [6]byte(b)
		if a.macs[mac] || mac[0] == 0x33 && mac[1] == 0x33 && mac[2] == 0xff {
			mac = a.mac(mac)
			copy(b, mac[:])
			return true
		}
		return false
	}
	ip, ok := netip.AddrFromSlice(b)
	if !ok || !a.seen[ip] && !isSolicited(ip) {
		return false
	}
	copy(b, a.ip(ip).AsSlice())
	return true
}

// dotted replaces the addresses and texts in bytes written with dots.
func (r *Redactor) dotted(text string) string {
	b, err := hex.DecodeString(strings.ReplaceAll(text, ".", ""))
	if err != nil || r.seeing {
		return ""
	}
	var out []string
	for _, c := range r.bytes(b) {
		out = append(out, fmt.Sprintf("%02x", c))
	}
	return strings.Join(out, ".")
}

// bytes replaces the addresses and texts in bytes, in place, once it is known which addresses there are.
func (r *Redactor) bytes(b []byte) []byte {
	if r.seeing {
		return b
	}
	free := make([]bool, len(b)) // of addresses
	for i := 0; i < len(b); {
		at := slices.IndexFunc([]int{16, 6, 4}, func(n int) bool { return i+n <= len(b) && r.replace(b[i:i+n]) })
		free[i] = at < 0
		i += []int{1, 16, 6, 4}[at+1]
	}
	for i := 0; i < len(b); i++ {
		from, letters := i, 0
		for i < len(b) && free[i] && (wordByte(b[i]) && b[i] < 0x80 || strings.IndexByte("-_./@: ", b[i]) >= 0) {
			if b[i] >= 'A' {
				letters++
			}
			i++
		}
		if letters >= 3 && i-from >= 4 || i-from >= len("1.2.3.4") && address.Get().Match(b[from:i]) {
			copy(b[from:i], r.otherText(b[from:i]))
		}
	}
	return b
}
