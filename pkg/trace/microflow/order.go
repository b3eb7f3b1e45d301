package microflow

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"strconv"
)

// ovn-trace walks its tables in hash order, and takes the first of several rows that would do. This file reproduces
// that order.

// walked returns items in the iteration order of an Open vSwitch hash table, inserted in the given order: bucket by
// bucket, the last inserted first.
func walked[T any](items []T, hash func(T) uint32) []T {
	table := make([][]T, 1)
	insert := func(item T) {
		i := hash(item) & uint32(len(table)-1)
		table[i] = append(table[i], item)
	}
	order := func() (all []T) {
		for _, bucket := range table {
			slices.Reverse(bucket)
			all = append(all, bucket...)
		}
		return all
	}
	for n, item := range items {
		insert(item)
		if (n+1)/2 > len(table)-1 {
			all := order()
			table = make([][]T, bucketsFor(n+1))
			for _, item := range all {
				insert(item)
			}
		}
	}
	return order()
}

// bucketsFor returns the number of buckets of a table that grows to n items.
func bucketsFor(n int) int {
	if n < 2 {
		return 1
	}
	return max(4, 1<<bits.Len(uint(n/2)))
}

// rowHash returns a row's hash: the first 32 bits of its UUID.
func rowHash[S ~string](uuid S) uint32 {
	n, _ := strconv.ParseUint(string(uuid)[:min(8, len(uuid))], 16, 32)
	return uint32(n)
}

// textHash returns a text's hash: 32-bit MurmurHash3, with the end of the text treated as a whole word.
func textHash(text string) uint32 {
	b, hash := []byte(text), uint32(0)
	for len(b) > 0 {
		var word [4]byte
		b = b[copy(word[:], b):]
		k := bits.RotateLeft32(binary.LittleEndian.Uint32(word[:])*0xcc9e2d51, 15) * 0x1b873593
		hash = bits.RotateLeft32(hash^k, 13)*5 + 0xe6546b64
	}
	hash ^= uint32(len(text))
	hash = (hash ^ hash>>16) * 0x85ebca6b
	hash = (hash ^ hash>>13) * 0xc2b2ae35
	return hash ^ hash>>16
}
