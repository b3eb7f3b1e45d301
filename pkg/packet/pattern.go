package packet

import (
	"encoding/binary"

	"github.com/ovnctl/ovnctl/pkg/lazy"
)

// A Pattern is a set of bits of a flow, for looking up many flows by the same bits. It does not cover tunnel options.
type Pattern struct{ words []patternWord }

// A patternWord is eight bytes of a flow with a mask.
type patternWord struct {
	offset int
	bits   uint64
}

// NewPattern returns the bits set in a flow whose fields hold masks.
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

// Len is the number of pattern words.
func (p Pattern) Len() int { return len(p.words) }

// AppendValues appends the pattern's bits of q.
func (p Pattern) AppendValues(values []uint64, q *Flow) []uint64 {
	for _, w := range p.words {
		values = append(values, w.of(q))
	}
	return values
}

// Hash returns the hash of the values that AppendValues appends.
func (p Pattern) Hash(q *Flow) uint64 {
	h := uint64(hashPrime)
	for _, w := range p.words {
		h = mix(h, w.of(q))
	}
	return h
}

// Hash returns the hash of values from AppendValues.
func Hash(values []uint64) uint64 {
	h := uint64(hashPrime)
	for _, v := range values {
		h = mix(h, v)
	}
	return h
}

const hashPrime = 0x9e3779b97f4a7c15

func mix(h, v uint64) uint64 {
	h = (h ^ v) * hashPrime
	return h ^ h>>29
}

// of is a flow's masked word.
func (w patternWord) of(q *Flow) uint64 { return binary.BigEndian.Uint64(q.data[w.offset:]) & w.bits }

// Matches reports whether q has the values that AppendValues appended for another flow.
func (p Pattern) Matches(q *Flow, values []uint64) bool {
	for i, w := range p.words {
		if w.of(q) != values[i] {
			return false
		}
	}
	return true
}

// Restrict returns the pattern's bits that are also in bits, a list like AppendValues', and their part of values.
func (p Pattern) Restrict(bits, values []uint64) (Pattern, []uint64) {
	var less Pattern
	var left []uint64
	for i, w := range p.words {
		if w.bits &= bits[i]; w.bits != 0 {
			less.words = append(less.words, w)
			left = append(left, values[i]&w.bits)
		}
	}
	return less, left
}

// AddTo sets the pattern's bits in a flow whose fields hold masks.
func (p Pattern) AddTo(mask *Flow) {
	for _, w := range p.words {
		at := mask.data[w.offset : w.offset+8]
		binary.BigEndian.PutUint64(at, binary.BigEndian.Uint64(at)|w.bits)
	}
}

// Layers are the parts of a flow that Open vSwitch compares one after the other: metadata, Ethernet, network, transport.
const Layers = 4

// layerBytes has, by layer, ones in the bytes of a flow that belong to it.
var layerBytes = lazy.Value[*[Layers][flowBytes]byte]{Make: func() *[Layers][flowBytes]byte {
	var layers [Layers][flowBytes]byte
	for at := range flowBytes {
		layer := 0
		switch {
		case at >= atCTNW && at < atCTProto:
			layer = 2
		case at >= atCTTP && at < atEth, at >= atARP:
			layer = 3
		case at >= atNW:
			layer = 2
		case at >= atEth:
			layer = 1
		}
		layers[layer][at] = 0xff
	}
	return &layers
}}

// Layer returns the pattern's bits in one layer.
func (p Pattern) Layer(n int) Pattern {
	var part Pattern
	bytes := &layerBytes.Get()[n]
	for _, w := range p.words {
		if w.bits &= binary.BigEndian.Uint64(bytes[w.offset:]); w.bits != 0 {
			part.words = append(part.words, w)
		}
	}
	return part
}

// Join returns the bits of both patterns, which have none in common; a word may then come twice.
func (p Pattern) Join(q Pattern) Pattern {
	return Pattern{append(p.words[:len(p.words):len(p.words)], q.words...)}
}
