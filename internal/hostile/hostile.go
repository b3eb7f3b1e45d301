// Package hostile draws what an attacker may send, for the tests of what reads it: archives, database files, replies of daemons.
// They lie about their sizes, end early, contain themselves, and are deeper, longer and more than is sensible.
package hostile

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/ovnctl/ovnctl/internal/turn"
)

// Each draws n inputs, a tenth in a short run, and gives each to a test, with the generator that drew it.
func Each(t *testing.T, n int, test func(t *testing.T, draw *rand.Rand)) {
	t.Helper()
	seed := turn.Seed(t)
	if testing.Short() {
		n /= 10
	}
	for i := range n {
		t.Run(strconv.Itoa(i), func(t *testing.T) { test(t, rand.New(rand.NewPCG(seed, uint64(i)))) })
	}
}

// one draws one of several.
func one[T any](draw *rand.Rand, of ...T) T { return of[draw.IntN(len(of))] }

// sometimes is true one time in n.
func sometimes(draw *rand.Rand, n int) bool { return draw.IntN(n) == 0 }

// damaged is a text that is cut short, or has other bytes somewhere, or both.
func damaged(draw *rand.Rand, text []byte) []byte {
	text = bytes.Clone(text)
	for sometimes(draw, 2) && len(text) > 0 {
		text[draw.IntN(len(text))] = byte(draw.Uint32())
	}
	if sometimes(draw, 2) && len(text) > 0 {
		text = text[:draw.IntN(len(text))]
	}
	return text
}

// number is a number that somebody might not expect.
func number(draw *rand.Rand) string {
	return one(draw, "0", "1", "-1", "7", "65536", "2147483648", "9223372036854775807", "9223372036854775808", "18446744073709551616", "1e400", "-0.0", "1e15", "0x10", "nan",
		strings.Repeat("9", 1+draw.IntN(400)))
}

// word is a string that somebody might not expect.
func word(draw *rand.Rand) string {
	return one(draw, "", "a", "name", "\x00", "a\nhint: b", "\x1b[2J", "\xff\xfe", "../../x", "\u202e", "_uuid", "_date", strings.Repeat("w", 1+draw.IntN(5000)))
}

// value is JSON, or nearly: of some depth, with names that come twice.
func value(draw *rand.Rand, depth int) string {
	if depth == 0 {
		return one(draw, number(draw), strconv.Quote(word(draw)), "null", "true", `["uuid","11111111-2222-3333-4444-555555555555"]`, `["named-uuid","x"]`, `["set",[]]`, `["map",[[]]]`, `["map",[["a","b"],["a","c"]]]`, `["set",7]`)
	}
	var parts []string
	for range draw.IntN(4) {
		parts = append(parts, value(draw, depth-1))
	}
	if sometimes(draw, 2) {
		return "[" + strings.Join(parts, ",") + "]"
	}
	name := fmt.Sprintf("%q:", one(draw, "a", "T", "name", "error", word(draw)))
	for i := range parts {
		parts[i] = name + parts[i]
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// deep is a value within very many others.
func deep(draw *rand.Rand) string {
	n := one(draw, 10, 1000, 20_000)
	return strings.Repeat(one(draw, "[", `{"a":`), n) + "1"
}

// Bounded runs what reads an input, and fails if it allocates more than some bytes altogether, which bounds both its memory and its
// work, or if its error is more than a person reads.
func Bounded(t *testing.T, most uint64, read func() error) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := read()
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > most {
		t.Errorf("%d MiB were allocated, want at most %d", n>>20, most>>20)
	}
	if err == nil {
		return
	}
	if text := err.Error(); len(text) > 4096 || strings.ContainsFunc(text, unicode.IsControl) {
		t.Errorf("an error of %d bytes: %.300q", len(text), text)
	}
}
