package doctor

import (
	"net/netip"
	"slices"
)

// prefixes are networks that are asked for many addresses: an answer costs as many
// looks as there are different lengths.
type Prefixes struct {
	by      map[netip.Prefix]bool
	lengths []int // of IPv4 and IPv6 together
}

func (s *Prefixes) Add(n netip.Prefix) {
	if s.by == nil {
		s.by = map[netip.Prefix]bool{}
	}
	s.by[n.Masked()] = true
	if !slices.Contains(s.lengths, n.Bits()) {
		s.lengths = append(s.lengths, n.Bits())
	}
}

// has says whether an address is in one of the networks.
func (s *Prefixes) Has(a netip.Addr) bool {
	return slices.ContainsFunc(s.lengths, func(bits int) bool {
		n, err := a.Prefix(bits)
		return err == nil && s.by[n]
	})
}
