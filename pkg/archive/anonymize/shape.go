package anonymize

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/pattern"
)

// hexDigits replaces hexadecimal digits, and keeps what is between them, so that strings with a common beginning still have
// one: a UUID, its first digits in a cookie or a device's name.
func (r *Redactor) hexDigits(w string) string {
	if mac, ok := r.bareMAC(w); ok {
		return mac
	}
	var state [16]byte
	state[0] = 'x'
	out := []byte(w)
	for i, c := range out {
		n := strings.IndexByte("0123456789abcdef", c|0x20)
		if n < 0 || c == '-' || c == '_' {
			continue
		}
		r.hex.Encrypt(state[:], state[:])
		other := "0123456789abcdef"[n^int(state[0]&15)]
		if c >= 'A' && c <= 'F' || c < 'a' && strings.ToUpper(w) == w && strings.ToLower(w) != w {
			other = strings.ToUpper(string(other))[0]
		}
		out[i] = other
		state[1] ^= byte(n)
	}
	return string(out)
}

// bareMAC replaces a MAC address without colons, also at the end of a datapath's ID.
func (r *Redactor) bareMAC(w string) (string, bool) {
	if len(w) != 12 && len(w) != 16 {
		return "", false
	}
	b, err := hex.DecodeString(w[len(w)-12:])
	if err != nil || !r.macs[[6]byte(b)] {
		return "", false
	}
	other := r.mac([6]byte(b))
	return w[:len(w)-12] + hex.EncodeToString(other[:]), true
}

// isConstant reports whether a cookie is one that programs write for their own flows.
func isConstant(cookie string) bool {
	switch cookie {
	case "0", "deff105", "ffffffff", "ffffffffffffffff":
		return true
	}
	return false
}

var named = pattern.New(`(?:cookie|obs_point_id|obs_point)[=: ]*$`)

// number replaces a number with 0x if it is an address, a cookie or a text.
func (r *Redactor) number(w string, before []byte) string {
	digits := strings.ToLower(strings.TrimLeft(w[2:], "0"))
	if len(digits) < 5 || len(digits) > 200 {
		if len(digits) > 200 {
			return w[:2] + r.hexDigits(w[2:])
		}
		if len(digits) == 0 || !named.Get().Match(before) {
			return w
		}
	}
	n, _ := new(big.Int).SetString(digits, 16)
	if other := r.numbers[n.String()]; other != "" {
		n.SetString(other, 10)
		return "0x" + n.Text(16)
	}
	if other, ok := r.registers(digits); ok {
		return other
	}
	switch {
	case named.Get().Match(before) && !isConstant(digits):
		width := 8
		if len(digits) > 8 {
			width = 16
		}
		other := strings.TrimLeft(r.hexDigits(strings.Repeat("0", max(0, width-len(digits)))+digits), "0")
		if other == "" {
			other = "0"
		}
		return "0x" + other
	case len(digits) >= 10 && spells(digits), len(digits) > 32:
		return w[:2] + r.hexDigits(w[2:])
	}
	return w
}

// registers replaces the addresses in a number of several registers.
func (r *Redactor) registers(digits string) (string, bool) {
	found := false
	padded := strings.Repeat("0", (8-len(digits)%8)%8) + digits
	var out strings.Builder
	for at := 0; at < len(padded) && len(padded) > 8; at += 8 {
		n, _ := new(big.Int).SetString(padded[at:at+8], 16)
		if other := r.numbers[n.String()]; other != "" {
			n.SetString(other, 10)
			found = true
		}
		fmt.Fprintf(&out, "%08x", n)
	}
	return "0x" + strings.TrimLeft(out.String(), "0"), found
}

// spells reports whether hexadecimal digits are a text.
func spells(digits string) bool {
	b, err := hex.DecodeString(digits)
	return err == nil && isText(b) && !slices.ContainsFunc(b, func(c byte) bool { return c > '~' })
}

var long = pattern.New(`[0-9]+`)

// digits replaces numbers that may be somebody's: in names those of six digits and more, elsewhere those that spell a text, and long
// ones that are in a name.
func (r *Redactor) digits(w string, m mode) string {
	return long.Get().ReplaceAllStringFunc(w, func(n string) string {
		switch {
		case m == names && len(n) >= 6 && !(len(n) == 8 && n >= "16711680" && n <= "16777215"): // tunnel keys
			if r.seeing {
				r.names[n] = true
			}
			return r.decimals(n)
		case len(n) >= 9 && r.names[n]: // an account, say
			return r.decimals(n)
		case len(n) >= 12 && spells(n), len(n) > 20:
			return r.decimals(n)
		}
		return n
	})
}

// decimals replaces decimal digits by as many.
func (r *Redactor) decimals(w string) string {
	sum := r.sum('d', []byte(w))
	out := make([]byte, len(w))
	for i := range out {
		out[i] = '0' + sum[i%len(sum)]%10
		if i == 0 && w[0] != '0' {
			out[i] = '1' + sum[0]%9
		}
	}
	return string(out)
}
