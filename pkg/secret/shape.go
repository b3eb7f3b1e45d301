package secret

import (
	"bytes"
	"encoding/base64"
	"math"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/pattern"
)

// shapes are strings that are secrets by their form alone.
var shapes = pattern.New(`\b(?:(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}|gh[opsur]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abeprs]-[\w-]{10,}|` +
	`AIza[\w-]{30,}|eyJ[\w-]{8,}\.[\w-]{8,}\.?[\w-]*|[sr]k_(?:live|test)_\w{16,}|SG\.[\w-]{16,}\.[\w-]{16,}|hv[sb]\.[\w-]{20,}|npm_\w{30,}|ya29\.[\w-]{20,})`)

// scheme is a token after the name of its scheme, as in headers.
var scheme = pattern.New(`(?i)\b(?:bearer|basic)(?:\s+|\s*%20|\\t)([A-Za-z0-9._~+/-]{8,}=*)`)

// A text without any of these has no match of shapes, or of scheme.
var (
	starts  = []string{"AKIA", "ASIA", "ABIA", "ACCA", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "AIza", "eyJ", "k_live_", "k_test_", "SG.", "hvs.", "hvb.", "npm_", "ya29."}
	schemes = []string{"Bearer", "bearer", "BEARER", "Basic", "basic", "BASIC"}
)

const (
	shortest   = 16 // of a run that may be base64
	random     = 32 // of a random string
	disorder   = 4.4
	wrapped    = 60 // of a line of base64 that goes on
	mostNested = 3
)

// beginsShape says which two bytes may begin one of starts or schemes.
var beginsShape = lazy.Value[*[1 << 16]bool]{Make: func() *[1 << 16]bool {
	begin := new([1 << 16]bool)
	for _, s := range slices.Concat(starts, schemes) {
		begin[int(s[0])<<8|int(s[1])] = true
	}
	return begin
}}

// begun reports whether one of starts, and one of schemes, is in text.
func begun(text []byte) (start, scheme bool) {
	begins := beginsShape.Get()
	for i := 0; i+1 < len(text) && !(start && scheme); i++ {
		if !begins[int(text[i])<<8|int(text[i+1])] {
			continue
		}
		here := func(s string) bool { return bytes.HasPrefix(text[i:], []byte(s)) }
		start = start || slices.ContainsFunc(starts, here)
		scheme = scheme || slices.ContainsFunc(schemes, here)
	}
	return start, scheme
}

// shaped finds what is a secret by its form: known ones, tokens after their scheme, base64 of a text with secrets, and random
// strings.
func shaped(text []byte, nested int) []span {
	var found []span
	start, named := begun(text)
	if start {
		for _, at := range shapes.Get().FindAllIndex(text, -1) {
			found = append(found, span{at[0], at[1], Hidden})
		}
	}
	if named {
		for _, at := range scheme.Get().FindAllSubmatchIndex(text, -1) {
			if token := text[at[2]:at[3]]; mixed(token) {
				found = append(found, span{at[2], at[3], Hidden})
			}
		}
	}
	for i := 0; i < len(text); i++ {
		from := i
		for i < len(text) && inBase64(text[i]) {
			i++
		}
		if i-from < shortest || !cased(text[from:i]) {
			continue
		}
		end := unwrap(text, i, i-from)
		run := text[from:end]
		if base64Secret(run, nested) || end == i && disordered(run) {
			found = append(found, span{from, end, Hidden})
		}
		i = end
	}
	return found
}

// inBase64 reports whether c is a character of base64, of either alphabet.
func inBase64(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '+' || c == '/' || c == '_' || c == '-'
}

// mixed reports whether a token has both capitals and small letters, or letters and digits: a word has not.
func mixed(token []byte) bool {
	var upper, lower, digit bool
	for i, c := range token {
		upper = upper || c >= 'A' && c <= 'Z' && i > 0
		lower = lower || c >= 'a' && c <= 'z'
		digit = digit || c >= '0' && c <= '9'
	}
	return upper && lower || digit && (upper || lower)
}

// cased reports whether a run has capitals and small letters.
func cased(run []byte) bool {
	var upper, lower bool
	for _, c := range run {
		upper = upper || c >= 'A' && c <= 'Z'
		lower = lower || c >= 'a' && c <= 'z'
	}
	return upper && lower
}

// unwrap returns the end of base64 that goes on in the next lines, given the end and length of its first.
func unwrap(text []byte, end, length int) int {
	for length >= wrapped {
		next := end
		if bytes.HasPrefix(text[next:], []byte(`\n`)) {
			next += 2
		}
		for next < len(text) && (text[next] == '\n' || text[next] == '\r' || next > end && text[next] == ' ') {
			next++
		}
		from := next
		for next < len(text) && inBase64(text[next]) {
			next++
		}
		if from == end || next == from {
			break
		}
		end, length = next, next-from
	}
	for end < len(text) && text[end] == '=' {
		end++
	}
	return end
}

// base64Secret reports whether a run is base64 of a text with secrets.
func base64Secret(run []byte, nested int) bool {
	if nested >= mostNested {
		return false
	}
	clean := strings.NewReplacer("\\n", "", "\n", "", "\r", "", " ", "", "=", "", "-", "+", "_", "/").Replace(string(run))
	plain, err := base64.RawStdEncoding.DecodeString(clean[:len(clean)/4*4+map[int]int{0: 0, 1: 0, 2: 2, 3: 3}[len(clean)%4]])
	if err != nil {
		return false
	}
	odd := 0
	for _, c := range plain {
		if c < ' ' && c != '\n' && c != '\t' && c != '\r' || c == 0x7f {
			odd++
		}
	}
	return odd == 0 && len(find(plain, nested+1)) > 0
}

// disordered reports whether a run is a random string rather than words: it has all kinds of characters in no order.
func disordered(run []byte) bool {
	run = bytes.TrimRight(run, "=")
	if len(run) < random {
		return false
	}
	var count [256]float64
	changes, upper, lower, digit := 0, 0, 0, 0
	kind := byte(0)
	for _, c := range run {
		count[c]++
		k := c & 0x60
		switch {
		case c >= 'A' && c <= 'Z':
			upper++
		case c >= 'a' && c <= 'z':
			lower++
		case c >= '0' && c <= '9':
			digit++
		case c == '/' || c == '-' || c == '_':
			k = kind
		}
		if k != kind {
			changes++
		}
		kind = k
	}
	bits := 0.0
	for _, n := range count {
		if n > 0 {
			bits -= n / float64(len(run)) * math.Log2(n/float64(len(run)))
		}
	}
	return upper >= 4 && lower >= 4 && digit >= 2 && bits >= disorder && changes*3 >= len(run)
}
