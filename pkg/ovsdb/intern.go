package ovsdb

import (
	"hash/maphash"
	"math/bits"
)

// interned are short strings that were met lately, which are then not allocated again: rows repeat names, keys and
// stages by the thousand. Each has one place; what comes later takes it, for most of what a text has is met but once.
type interned []string

const (
	fewestInterned = 64
	mostInterned   = 8192
	longInterned   = 40 // bytes of the longest; a UUID has 36
)

var internSeed = maphash.MakeSeed()

// internText returns places for the strings of a text of so many bytes.
func internText(size int) interned { return internPlaces(size / 64) }

// internRows returns places for the strings of so many rows.
func internRows(rows int) interned { return internPlaces(4 * rows) }

func internPlaces(n int) interned {
	n = min(max(n, fewestInterned), mostInterned)
	return make(interned, 1<<bits.Len(uint(n-1)))
}

// text is raw as a string. Without places it is always a new one.
func (in interned) text(raw []byte) string {
	if len(in) == 0 || len(raw) > longInterned {
		return string(raw)
	}
	at := &in[maphash.Bytes(internSeed, raw)&uint64(len(in)-1)]
	if *at != string(raw) {
		*at = string(raw)
	}
	return *at
}
