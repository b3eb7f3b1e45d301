package openflow

import (
	"math/bits"
	"sync"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// Which bits of a packet decided a lookup follows from how Open vSwitch searches (lib/classifier.h there). It looks into
// a tuple layer by layer, and stops at the first in which no member has the packet's values: later layers did not count.
// Addresses have a trie for the whole table: if no prefix of a tuple's length covers the address, as many leading bits as
// show that are enough. So have the ports of a tuple.

// staging is what a table needs for that, made on the first lookup.
type staging struct {
	once  sync.Once
	tries [len(trieFields)]trie
}

// trieFields are the fields with a trie.
var trieFields = [...]struct {
	field *packet.Field
	needs packet.Prereq
}{
	{&packet.IPDst, packet.NeedsIPv4}, {&packet.IPSrc, packet.NeedsIPv4},
	{&packet.IPv6Dst, packet.NeedsIPv6}, {&packet.IPv6Src, packet.NeedsIPv6},
}

// Tries are the addresses for which a classifier has tries.
type Tries uint8

// A classifier's tries. Tables have them for IPv4 alone, and from Open vSwitch 3.5 on for both; the list of tunnel ports
// has none.
const (
	TriesIPv4 Tries = iota
	TriesBoth
	NoTries
)

// With returns a classifier with tries for some addresses, before its first lookup.
func (c *Classifier) With(t Tries) *Classifier {
	c.tries = t
	return c
}

// has reports whether there is a trie for a field.
func (t Tries) has(needs packet.Prereq) bool {
	return t == TriesBoth || t == TriesIPv4 && needs == packet.NeedsIPv4
}

// A stage is the layers of a tuple up to one.
type stage struct {
	layers  packet.Pattern  // all up to this one
	layer   packet.Pattern  // this one alone
	network bool            // it has addresses
	hashes  map[uint64]bool // of the members' values in all layers; nil in the last stage
}

// prepare fills in stages and tries of a table's tuples.
func (t *table) prepare(c *Classifier) {
	for _, tu := range t.tuples {
		_, mask, _ := c.flows[tu.members[0].index].Match.compile()
		for i, f := range trieFields {
			if !c.tries.has(f.needs) {
				continue
			}
			tu.prefixes[i] = prefixLength(mask.Get(f.field), f.field.Bits)
		}
		tu.portMask = uint32(mask.Get(&packet.TCPSrc).Lo<<16 | mask.Get(&packet.TCPDst).Lo)
		var upTo packet.Pattern
		for n := range packet.Layers {
			layer := tu.pattern.Layer(n)
			if layer.Len() == 0 && (n > 0 || len(tu.optionMasks) == 0) {
				continue
			}
			upTo = upTo.Join(layer)
			tu.stages = append(tu.stages, stage{layers: upTo, layer: layer, network: n == 2, hashes: map[uint64]bool{}})
		}
		if len(tu.stages) > 0 {
			tu.stages[len(tu.stages)-1].hashes = nil
		}
		for _, m := range tu.members {
			value, _, _ := c.flows[m.index].Match.compile()
			for _, o := range m.options {
				if !o.Absent && o.Field != nil && o.Field.IsOption() {
					value.Set(o.Field, o.Value.And(o.Mask))
				}
			}
			for _, s := range tu.stages {
				if s.hashes != nil {
					s.hashes[tu.hash(s.layers, &value)] = true
				}
			}
			for i, n := range tu.prefixes {
				if n > 0 {
					t.staging.tries[i].add(value.Get(trieFields[i].field).Shl(128-trieFields[i].field.Bits), n)
				}
			}
			if tu.portMask != 0 {
				tu.ports.add(packet.Uint(value.Get(&packet.TCPSrc).Lo<<16|value.Get(&packet.TCPDst).Lo).Shl(96), 32-bits.TrailingZeros32(tu.portMask))
			}
		}
	}
}

// hash hashes a packet's values in some layers, with those of its tunnel options.
func (t *tuple) hash(layers packet.Pattern, p *packet.Flow) uint64 {
	if len(t.optionMasks) == 0 {
		return layers.Hash(p)
	}
	values := layers.AppendValues(nil, p)
	for _, o := range t.optionMasks {
		v := p.Get(o.field).And(o.mask)
		present := uint64(0)
		if p.Has(o.field) {
			present = 1
		}
		values = append(values, present, v.Hi, v.Lo)
	}
	return packet.Hash(values)
}

// prefixLength returns the length of a mask of leading bits; 0 for any other.
func prefixLength(mask packet.Value, width int) int {
	for n := 1; n <= width; n++ {
		if mask == packet.Ones(n).Shl(width-n) {
			return n
		}
	}
	return 0
}

// An examination is one lookup that notes the bits that decide.
type examination struct {
	table *table
	p     *packet.Flow
	mask  *packet.Flow
	found [len(trieFields)]*covered
}

// covered is what a trie knows of an address.
type covered struct {
	lengths packet.Value // bit n-1: a prefix of length n covers it
	bits    int          // leading bits that show that there is no other
}

func (t *table) examine(c *Classifier, p, mask *packet.Flow) *examination {
	if mask == nil {
		return nil
	}
	t.staging.once.Do(func() { t.prepare(c) })
	return &examination{table: t, p: p, mask: mask}
}

// again is another lookup of the packet, which asks tries anew.
func (e *examination) again() *examination {
	if e == nil {
		return nil
	}
	return &examination{table: e.table, mask: e.mask}
}

// find searches a tuple like [tuple.find].
func (e *examination) find(t *tuple, p *packet.Flow) (*member, probe) {
	if e == nil {
		return t.find(p)
	}
	e.p = p
	for i, s := range t.stages {
		if s.network && e.excluded(t) {
			e.note(t, i)
			return nil, probe{}
		}
		if s.hashes != nil && !s.hashes[t.hash(s.layers, p)] {
			e.note(t, i+1)
			return nil, probe{}
		}
	}
	m, at := t.find(p)
	if m == nil && t.portMask != 0 {
		value := uint32(p.Get(&packet.TCPSrc).Lo<<16|p.Get(&packet.TCPDst).Lo) & t.portMask
		n := t.ports.lookup(packet.Uint(uint64(value)).Shl(96), 32).bits
		was := [2]packet.Value{e.mask.Get(&packet.TCPSrc), e.mask.Get(&packet.TCPDst)}
		e.note(t, len(t.stages))
		ports := t.portMask & uint32(^uint64(0)<<(32-n))
		e.mask.Set(&packet.TCPSrc, was[0].Or(packet.Uint(uint64(ports>>16))))
		e.mask.Set(&packet.TCPDst, was[1].Or(packet.Uint(uint64(ports&0xffff))))
		return nil, probe{}
	}
	e.note(t, len(t.stages))
	return m, at
}

// note marks the bits of the first stages.
func (e *examination) note(t *tuple, stages int) {
	for _, s := range t.stages[:stages] {
		s.layer.AddTo(e.mask)
	}
	if stages > 0 {
		for _, o := range t.optionMasks {
			e.mask.SetMasked(o.field, o.mask, o.mask)
		}
	}
}

// excluded reports whether a trie shows that a tuple has no member for the packet, and marks the bits that show it.
func (e *examination) excluded(t *tuple) bool {
	for i, n := range t.prefixes {
		if n == 0 {
			continue
		}
		f := trieFields[i].field
		if e.found[i] == nil {
			all := covered{lengths: packet.Ones(128)}
			if e.p.Meets(trieFields[i].needs) {
				all = e.table.staging.tries[i].lookup(e.p.Get(f).Shl(128-f.Bits), f.Bits)
			}
			e.found[i] = &all
		}
		c := e.found[i]
		if c.lengths.Bit(n - 1) {
			continue
		}
		prefix := packet.Ones(c.bits).Shl(f.Bits - c.bits)
		if c.bits <= n {
			e.mask.SetMasked(f, prefix, prefix)
			return true
		}
		if prefix.AndNot(e.mask.Get(f)).IsZero() {
			return true
		}
	}
	return false
}

// A trie holds prefixes of at most 128 bits, which start at bit 127.
type trie struct{ root *trieNode }

type trieNode struct {
	prefix packet.Value // from the root
	length int
	member bool
	next   [2]*trieNode // by the bit after the prefix
}

func bitAt(v packet.Value, n int) int {
	if v.Bit(127 - n) {
		return 1
	}
	return 0
}

// common returns how many leading bits are equal, at most most.
func common(a, b packet.Value, most int) int {
	n := bits.LeadingZeros64(a.Hi ^ b.Hi)
	if n == 64 {
		n += bits.LeadingZeros64(a.Lo ^ b.Lo)
	}
	return min(n, most)
}

func (t *trie) add(prefix packet.Value, length int) {
	at := &t.root
	for {
		n := *at
		if n == nil {
			*at = &trieNode{prefix: prefix, length: length, member: true}
			return
		}
		same := common(prefix, n.prefix, min(length, n.length))
		if same < n.length { // n becomes a child of what both have in common
			split := &trieNode{prefix: prefix, length: same}
			split.next[bitAt(n.prefix, same)] = n
			*at = split
			n = split
		}
		if length == n.length {
			n.member = true
			return
		}
		at = &n.next[bitAt(prefix, n.length)]
	}
}

// lookup finds the prefixes of a value of some width.
func (t *trie) lookup(v packet.Value, width int) (c covered) {
	var before *trieNode
	for n := t.root; n != nil; {
		same := common(v, n.prefix, n.length)
		if same < n.length {
			c.bits = same + 1
			return c
		}
		if n.member {
			c.lengths = c.lengths.Or(packet.Uint(1).Shl(n.length - 1))
		}
		c.bits = n.length
		if n.length >= width {
			return c
		}
		before = n
		n = n.next[bitAt(v, n.length)]
	}
	if before != nil && before.next != [2]*trieNode{} {
		c.bits++
	}
	return c
}
