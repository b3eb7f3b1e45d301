package ovnexpr

import (
	"cmp"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// A number is an integer of 128 bits, as wide as the fields of the languages are: a flow.Value that is quick to compare.
type number struct{ hi, lo uint64 }

// low are the low bits of a value.
func low(v packet.Value) number { return number{v.Hi, v.Lo} }

func (n number) flow() packet.Value { return packet.Value{Hi: n.hi, Lo: n.lo} }

func (n number) and(m number) number { return number{n.hi & m.hi, n.lo & m.lo} }

func (n number) down(by int) number {
	if by >= 64 {
		return number{lo: n.hi >> (by - 64)}
	}
	return number{n.hi >> by, n.lo>>by | n.hi<<(64-by)}
}

func (n number) compare(m number) int {
	if n.hi != m.hi {
		return cmp.Compare(n.hi, m.hi)
	}
	return cmp.Compare(n.lo, m.lo)
}
