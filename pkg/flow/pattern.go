package flow

import "encoding/binary"

// A Pattern is a set of bits of a flow, made for looking up many flows by the
// same bits. Tunnel options are no part of it.
type Pattern struct{ words []patternWord }

// A patternWord is eight bytes of a flow of which some bits count.
type patternWord struct {
	offset int
	bits   uint64
}

// NewPattern returns the bits that are set in a flow whose fields hold masks.
func NewPattern(mask *Flow) Pattern {
	var p Pattern
	for at := 0; at < flowBytes; at += 8 {
		if bits := binary.BigEndian.Uint64(mask.data[at:]); bits != 0 {
			p.words = append(p.words, patternWord{at, bits})
		}
	}
	return p
}

// Key is equal for patterns of the same bits.
func (p Pattern) Key() string {
	key := make([]byte, 0, 10*len(p.words))
	for _, w := range p.words {
		key = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint16(key, uint16(w.offset)), w.bits)
	}
	return string(key)
}

// Hash returns a hash of the bits of q that the pattern has.
func (p Pattern) Hash(q *Flow) uint64 {
	const prime = 0x9e3779b97f4a7c15
	h := uint64(prime)
	for _, w := range p.words {
		h = (h ^ binary.BigEndian.Uint64(q.data[w.offset:])&w.bits) * prime
		h ^= h >> 29
	}
	return h
}

// Values returns those bits of q that the pattern has, as Matches takes them.
func (p Pattern) Values(q *Flow) []uint64 {
	values := make([]uint64, len(p.words))
	for i, w := range p.words {
		values[i] = binary.BigEndian.Uint64(q.data[w.offset:]) & w.bits
	}
	return values
}

// Matches reports whether q has the values that Values returned for another
// flow.
func (p Pattern) Matches(q *Flow, values []uint64) bool {
	for i, w := range p.words {
		if binary.BigEndian.Uint64(q.data[w.offset:])&w.bits != values[i] {
			return false
		}
	}
	return true
}

// AddTo sets the bits of the pattern in a flow whose fields hold masks.
func (p Pattern) AddTo(mask *Flow) {
	for _, w := range p.words {
		at := mask.data[w.offset : w.offset+8]
		binary.BigEndian.PutUint64(at, binary.BigEndian.Uint64(at)|w.bits)
	}
}
