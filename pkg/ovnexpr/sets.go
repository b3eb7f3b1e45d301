package ovnexpr

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/packet"
)

// Sets looks up the values of $name and @name.
//
// A Southbound port group holds the ports of one datapath; a match uses the name of the Northbound group. Ports are
// compared by name within the packet's datapath, so a group may as well hold those of all datapaths.
type Sets interface {
	AddressSet(name string) (*AddressSet, bool)
	PortGroup(name string) (*PortGroup, bool)
}

// Lazy are sets known only by name: any name. Matches annotated with them need an Env that is a [Fetcher], which is
// asked for a set when an evaluation reaches it.
var Lazy Sets = lazySets{}

type lazySets struct{}

func (lazySets) AddressSet(name string) (*AddressSet, bool) {
	return &AddressSet{name: name, lazy: true}, true
}

func (lazySets) PortGroup(name string) (*PortGroup, bool) {
	return &PortGroup{name: name, lazy: true}, true
}

// An AddressSet is a set of addresses and prefixes, built once and shared by all conditions that use it.
type AddressSet struct {
	name    string
	byMask  []maskGroup
	size    int
	bits    int      // the widest member's width
	lazy    bool     // only the name is known
	Invalid []string // given but not integers; ovn-controller skips them too
}

// A maskGroup holds the members with the same mask and notation. There may be many thousand.
type maskGroup struct {
	like   Constant // without its value
	mask   number
	values []number // sorted
}

// NewAddressSet builds an address set from texts like "10.0.0.1", "fd00::/64" and "0a:00:00:00:00:01".
func NewAddressSet(name string, addresses []string) *AddressSet {
	s := &AddressSet{name: name}
	for _, text := range addresses {
		c, ok := parseConstant(text)
		if !ok || c.Kind != Integer {
			s.Invalid = append(s.Invalid, text)
			continue
		}
		s.add(c)
	}
	s.sort()
	return s
}

func (s *AddressSet) add(c Constant) {
	s.bits = max(s.bits, c.width())
	mask := number{^uint64(0), ^uint64(0)}
	if c.Masked {
		mask = low(c.Mask)
	}
	value := low(c.Value).and(mask)
	c.Value, c.Span = packet.Value{}, Span{}
	i := slices.IndexFunc(s.byMask, func(g maskGroup) bool { return g.like == c })
	if i < 0 {
		i = len(s.byMask)
		s.byMask = append(s.byMask, maskGroup{like: c, mask: mask})
	}
	s.byMask[i].values = append(s.byMask[i].values, value)
}

// sort prepares the set for lookups.
func (s *AddressSet) sort() {
	for i := range s.byMask {
		g := &s.byMask[i]
		slices.SortFunc(g.values, number.compare)
		g.values = slices.Clip(slices.Compact(g.values))
		s.size += len(g.values)
	}
}

// parseConstant reads a text that is one constant.
func parseConstant(text string) (c Constant, ok bool) {
	var err error
	func() {
		defer recoverSyntax(&err)
		l := newLexer(text)
		c = l.oneConstant()
		l.force(end)
	}()
	return c, err == nil
}

// Name is the name of the set.
func (s *AddressSet) Name() string { return s.name }

// Len is the number of members.
func (s *AddressSet) Len() int { return s.size }

// has reports whether a number is a member or inside one.
func (s *AddressSet) has(n number) bool {
	for i := range s.byMask {
		if _, ok := s.byMask[i].find(n); ok {
			return true
		}
	}
	return false
}

// find looks a number up under the mask.
func (g *maskGroup) find(n number) (at int, ok bool) {
	return slices.BinarySearchFunc(g.values, n.and(g.mask), number.compare)
}

func (g *maskGroup) member(i int) Constant {
	c := g.like
	c.Value = g.values[i].flow()
	return c
}

// members are the members in the order of a database string set.
func (s *AddressSet) members() []Constant {
	var all []Constant
	for i := range s.byMask {
		for at := range s.byMask[i].values {
			all = append(all, s.byMask[i].member(at))
		}
	}
	slices.SortFunc(all, func(a, b Constant) int { return strings.Compare(a.String(), b.String()) })
	return all
}

// A PortGroup is a set of logical port names, built once and shared by all conditions that refer to it.
type PortGroup struct {
	name  string
	ports map[string]bool
	lazy  bool // only the name is known
}

// NewPortGroup builds a port group with its members. It is for callers that have all groups, such as tests; evaluations
// use a [Fetcher] instead.
func NewPortGroup(name string, ports []string) *PortGroup {
	g := &PortGroup{name: name, ports: make(map[string]bool, len(ports))}
	for _, p := range ports {
		g.ports[p] = true
	}
	return g
}

// Len is the number of members.
func (g *PortGroup) Len() int { return len(g.ports) }

// Has reports whether a port is a member.
func (g *PortGroup) Has(port string) bool { return g.ports[port] }

// members are the members in the order of a database string set.
func (g *PortGroup) members() []Constant {
	var all []Constant
	for name := range g.ports {
		all = append(all, Constant{Kind: String, Text: name})
	}
	slices.SortFunc(all, func(a, b Constant) int { return strings.Compare(a.Text, b.Text) })
	return all
}

// A number is a 128-bit integer, as wide as any field of the languages: a packet.Value that compares quickly.
type number struct{ hi, lo uint64 }

// low is a value's low 128 bits.
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
