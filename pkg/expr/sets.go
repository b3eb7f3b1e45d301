package expr

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/flow"
)

// Sets finds the values behind $name and @name.
//
// A port group of the Southbound holds the ports of one datapath; the name in a match is that of the Northbound group.
// Ports are compared by name within the packet's datapath, so that a group may as well hold those of all datapaths.
type Sets interface {
	AddressSet(name string) (*AddressSet, bool)
	PortGroup(name string) (*PortGroup, bool)
}

// An AddressSet is a set of addresses and prefixes, made once and shared by all conditions that refer to it.
type AddressSet struct {
	name    string
	size    int
	byMask  []maskGroup
	bits    int      // the widest member's width
	Invalid []string // what was given and is no integer; ovn-controller leaves it out as well
}

// A maskGroup holds the members that have one mask and are written in one way. There may be many thousand.
type maskGroup struct {
	like   Constant // but for its value
	mask   flow.Value
	values []number // sorted
}

// A number is an integer of 128 bits.
type number struct{ hi, lo uint64 }

func (n number) compare(m number) int {
	return cmp.Or(cmp.Compare(n.hi, m.hi), cmp.Compare(n.lo, m.lo))
}

// NewAddressSet makes an address set of texts such as "10.0.0.1", "fd00::/64" and "0a:00:00:00:00:01".
func NewAddressSet(name string, addresses []string) *AddressSet {
	s := &AddressSet{name: name}
	for _, text := range addresses {
		c, ok := parseConstant(text)
		if !ok || c.Kind != Integer {
			s.Invalid = append(s.Invalid, text)
			continue
		}
		s.size++
		s.bits = max(s.bits, c.width())
		s.add(c)
	}
	for i := range s.byMask {
		g := &s.byMask[i]
		slices.SortFunc(g.values, number.compare)
		g.values = slices.Clip(slices.Compact(g.values))
	}
	return s
}

func (s *AddressSet) add(c Constant) {
	mask := flow.Ones(128)
	if c.Masked {
		mask = c.Mask
	}
	value := c.Value.And(mask)
	c.Value, c.Span = flow.Value{}, Span{}
	i := slices.IndexFunc(s.byMask, func(g maskGroup) bool { return g.like == c })
	if i < 0 {
		i = len(s.byMask)
		s.byMask = append(s.byMask, maskGroup{like: c, mask: mask})
	}
	s.byMask[i].values = append(s.byMask[i].values, number{value.Hi, value.Lo})
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

// Find returns a member that an address is or lies in.
func (s *AddressSet) Find(address flow.Value) (Constant, bool) {
	for i := range s.byMask {
		g := &s.byMask[i]
		n := number{address.Hi & g.mask.Hi, address.Lo & g.mask.Lo}
		if at := g.search(n); at < len(g.values) && g.values[at] == n {
			return g.member(at), true
		}
	}
	return Constant{}, false
}

// search returns where a number is, or would be, among the values.
func (g *maskGroup) search(n number) int {
	return sort.Search(len(g.values), func(i int) bool {
		return g.values[i].hi > n.hi || g.values[i].hi == n.hi && g.values[i].lo >= n.lo
	})
}

func (g *maskGroup) member(i int) Constant {
	c := g.like
	c.Value = flow.Value{Hi: g.values[i].hi, Lo: g.values[i].lo}
	return c
}

// members are the members in the order of a set of strings in a database.
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

// A PortGroup is a set of names of logical ports, made once and shared by all conditions that refer to it.
type PortGroup struct {
	name  string
	ports map[string]bool
}

// NewPortGroup makes a port group.
func NewPortGroup(name string, ports []string) *PortGroup {
	g := &PortGroup{name: name, ports: make(map[string]bool, len(ports))}
	for _, p := range ports {
		g.ports[p] = true
	}
	return g
}

// Name is the name of the group.
func (g *PortGroup) Name() string { return g.name }

// Len is the number of members.
func (g *PortGroup) Len() int { return len(g.ports) }

// Has reports whether a port is a member.
func (g *PortGroup) Has(port string) bool { return g.ports[port] }

// members are the members in the order of a set of strings in a database.
func (g *PortGroup) members() []Constant {
	var all []Constant
	for name := range g.ports {
		all = append(all, Constant{Kind: String, Text: name})
	}
	slices.SortFunc(all, func(a, b Constant) int { return strings.Compare(a.Text, b.Text) })
	return all
}
