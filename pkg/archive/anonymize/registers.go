package anonymize

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"net/netip"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/pattern"
)

// Flows hold addresses in registers: an IPv6 address in four that follow one another, and any address in some bits of a
// longer register.
var (
	fourRegisters = pattern.New(`^reg([048]|12)=(0x[0-9a-f]{1,8}|0),reg(\d+)=(0x[0-9a-f]{1,8}|0),reg(\d+)=(0x[0-9a-f]{1,8}|0),reg(\d+)=(0x[0-9a-f]{1,8}|0)(?:[ ,]|$)`)
	someBits      = pattern.New(`^0x([0-9a-f]{1,32})/0x([0-9a-f]{12,32})->`)
)

// register replaces the address in registers at the beginning of a text that is not empty, and returns how much of the text it stood for; 0 if
// there is none.
func (r *Redactor) register(in []byte) (other string, n int) {
	switch in[0] {
	case 'r':
		return r.fourRegisters(in)
	case '0':
		return r.someBits(in)
	}
	return "", 0
}

// fourRegisters replaces an IPv6 address, or notes it.
func (r *Redactor) fourRegisters(in []byte) (string, int) {
	at := fourRegisters.Get().FindSubmatchIndex(in)
	if at == nil {
		return "", 0
	}
	var b [16]byte
	first, last := 0, 0
	for i := range 4 {
		number, _ := strconv.Atoi(string(in[at[2+4*i]:at[3+4*i]]))
		last = at[5+4*i]
		value, _ := strconv.ParseUint(string(in[at[4+4*i]:last]), 0, 32) // as the pattern has it
		if i == 0 {
			first = number
		}
		if number != first+i {
			return "", 0
		}
		binary.BigEndian.PutUint32(b[4*i:], uint32(value))
	}
	ip := netip.AddrFrom16(b)
	if !r.seen[ip] && !ip.IsLinkLocalUnicast() && b[0]&0xfe != 0xfc && b[0]&0xe0 != 0x20 {
		return "", 0 // other things
	}
	b = r.one(ip).As16()
	var out []string
	for i := range 4 {
		value := "0"
		if n := binary.BigEndian.Uint32(b[4*i:]); n != 0 {
			value = fmt.Sprintf("%#x", n)
		}
		out = append(out, fmt.Sprintf("reg%d=%s", first+i, value))
	}
	return strings.Join(out, ","), last
}

// someBits replaces a MAC address that is written to 48 bits of a register, or notes it.
func (r *Redactor) someBits(in []byte) (string, int) {
	m := someBits.Get().FindSubmatch(in)
	if m == nil {
		return "", 0
	}
	value, _ := new(big.Int).SetString(string(m[1]), 16)
	mask, _ := new(big.Int).SetString(string(m[2]), 16)
	shift := mask.TrailingZeroBits()
	if mask.Rsh(mask, shift).Cmp(big.NewInt(1<<48-1)) != 0 {
		return "", 0
	}
	value.Rsh(value, shift)
	if value.BitLen() > 48 {
		return "", 0
	}
	var mac [6]byte
	value.FillBytes(mac[:])
	if mac == ([6]byte{}) {
		return "", 0
	}
	if r.seeing {
		r.macs[mac] = true
	}
	mac = r.mac(mac)
	value.SetBytes(mac[:])
	return "0x" + value.Lsh(value, shift).Text(16), len("0x") + len(m[1])
}
