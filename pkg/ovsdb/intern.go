package ovsdb

import (
	"hash/maphash"
	"math/bits"
)

// interned is a cache of recent short strings, to avoid allocating them again: rows repeat names, keys and
// stages by the thousand. Each string hashes to one slot and the newest wins, since most of a text occurs only
// once.
type interned []string

const (
	fewestInterned = 64
	mostInterned   = 8192
	longInterned   = 40 // longest, in bytes; a UUID has 36
)

var internSeed = maphash.MakeSeed()

// internText returns a cache for a text of size bytes.
func internText(size int) interned { return internPlaces(size / 64) }

// internRows returns a cache for the strings of so many rows.
func internRows(rows int) interned { return internPlaces(4 * rows) }

func internPlaces(n int) interned {
	n = min(max(n, fewestInterned), mostInterned)
	return make(interned, 1<<bits.Len(uint(n-1)))
}

// text returns raw as a string; without a cache always a new one.
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
