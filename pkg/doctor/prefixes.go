package doctor

import (
	"net/netip"
	"slices"
)

// Prefixes is a set of networks that is searched for many addresses: a search costs one lookup for each prefix length.
type Prefixes struct {
	networks map[netip.Prefix]bool
	lengths  []int // of IPv4 and IPv6 together
}

// Add puts a network into the set.
func (s *Prefixes) Add(n netip.Prefix) {
	if s.networks == nil {
		s.networks = map[netip.Prefix]bool{}
	}
	s.networks[n.Masked()] = true
	if !slices.Contains(s.lengths, n.Bits()) {
		s.lengths = append(s.lengths, n.Bits())
	}
}

// Contains reports whether an address is in one of the networks.
func (s *Prefixes) Contains(a netip.Addr) bool {
	return slices.ContainsFunc(s.lengths, func(bits int) bool {
		n, err := a.Prefix(bits)
		return err == nil && s.networks[n]
	})
}
