package anonymize

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/pattern"
)

// Texts and addresses are also written byte by byte.
var (
	escapes = pattern.New(`^(?:(?:\\x[0-9a-fA-F]{2}){3,}|(?:\\[0-3][0-7]{2}){3,}|(?:%[0-9a-fA-F]{2}){3,})`)
	pairs   = pattern.New(`^[0-9a-fA-F]{2}(?:(?: {1,2}|-)[0-9a-fA-F]{2}){3,}\b`)
	dump    = pattern.New(`(?m)^([0-9a-f]{8}  )[0-9a-f]{2}[ -].*$`) // a line of a hexadecimal dump, with the text at its end
	reverse = pattern.New(`(?i)\b((?:[0-9]{1,3}\.){1,4})in-addr\.arpa\b|\b((?:[0-9a-f]\.){1,32})ip6\.arpa\b`)
)

// escaped replaces a text at the beginning of in that is nothing but escapes, and returns how many bytes of in it is; 0 if there is none.
func (r *Redactor) escaped(in []byte) (string, int) {
	run := escapes.Get().Find(in)
	if run == nil {
		return "", 0
	}
	width, base := len(`\x`)+2, 16
	switch {
	case run[0] == '%':
		width = len("%") + 2
	case run[1] != 'x':
		width, base = len(`\`)+3, 8
	}
	var b []byte
	for i := 0; i < len(run); i += width {
		n, _ := strconv.ParseUint(strings.TrimLeft(string(run[i:i+width]), `\x%`), base, 8) // as the pattern has it
		b = append(b, byte(n))
	}
	if !bytes.ContainsFunc(b, func(c rune) bool { return c >= 0x80 || wordByte(byte(c)) }) { // such as a slash in a URL
		return "", 0
	}
	var out strings.Builder
	for _, c := range r.otherText(b) {
		if base == 8 {
			fmt.Fprintf(&out, `\%03o`, c)
		} else {
			fmt.Fprintf(&out, "%s%02x", run[:width-2], c)
		}
	}
	return out.String(), len(run)
}

// spaced replaces the addresses and texts in bytes with spaces between them at the beginning of in.
func (r *Redactor) spaced(in []byte) (string, int) {
	if len(in) < len("00 00 00 00") || in[2] != ' ' {
		return "", 0
	}
	run := pairs.Get().Find(in)
	if run == nil {
		return "", 0
	}
	digits := bytes.NewBuffer(nil)
	for _, c := range run {
		if c != ' ' && c != '-' {
			digits.WriteByte(c)
		}
	}
	b, err := hex.DecodeString(digits.String())
	if err != nil {
		return "", 0
	}
	other := hex.EncodeToString(r.bytes(b))
	if was := digits.String(); numeric.Get().MatchString(was) && other != was { // may be numbers: they stay such
		other = r.decimals(was)
	}
	out := bytes.Clone(run)
	for i, at := 0, 0; i < len(out); i++ {
		if out[i] != ' ' && out[i] != '-' {
			out[i] = other[at]
			at++
		}
	}
	return string(out), len(run)
}

// reversed replaces the names of reverse DNS in in[from:end], and appends what is around them as atoms; false if there is none.
func (r *Redactor) reversed(out, in []byte, from, end int, m mode) ([]byte, bool) {
	at := reverse.Get().FindSubmatchIndex(in[from:end])
	if at == nil {
		return out, false
	}
	group, width := 2, 8
	if at[group] < 0 {
		group, width = 4, 4
	}
	labels := strings.Split(strings.TrimSuffix(string(in[from+at[group]:from+at[group+1]]), "."), ".")
	other, ok := r.labels(labels, width)
	if !ok {
		return out, false
	}
	if at[0] > 0 {
		out = r.atom(out, in, from, from+at[0], m)
	}
	out = append(out, strings.Join(other, ".")...)
	out = append(out, '.')
	out = append(out, in[from+at[group+1]:from+at[1]]...)
	if from+at[1] < end {
		out = r.atom(out, in, from+at[1], end, m)
	}
	return out, true
}

// labels replaces the labels of an address, or of the beginning of one, in reverse order: bytes, or nibbles, width bits each.
func (r *Redactor) labels(labels []string, width int) ([]string, bool) {
	b, base := make([]byte, 4), 10
	if width == 4 {
		b, base = make([]byte, 16), 16
	}
	for i := range labels {
		n, err := strconv.ParseUint(labels[len(labels)-1-i], base, width)
		if err != nil {
			return nil, false
		}
		b[i*width/8] |= byte(n) << (8 - width - i*width%8)
	}
	ip, _ := netip.AddrFromSlice(b)
	b = r.one(ip).AsSlice()
	out := make([]string, len(labels))
	for i := range labels {
		n := uint64(b[i*width/8]>>(8-width-i*width%8)) & (1<<width - 1)
		out[len(labels)-1-i] = strconv.FormatUint(n, base)
	}
	return out, true
}

// isText reports whether bytes are a text, and not numbers that happen to be printable.
func isText(b []byte) bool {
	letters := 0
	for _, c := range b {
		if c < ' ' || c == 0x7f {
			return false
		}
		if c >= 'A' {
			letters++
		}
	}
	return letters*2 > len(b)
}

// otherText returns letters and digits in the place of a text, as many.
func (r *Redactor) otherText(b []byte) []byte {
	sum := hex.EncodeToString(r.sum('t', b))
	out := make([]byte, len(b))
	for i := range out {
		out[i] = sum[i%len(sum)]
	}
	return out
}
