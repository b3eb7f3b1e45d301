package expr

import "github.com/ovnctl/ovnctl/pkg/flow"

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

// A maskGroup holds the members that have one mask.
type maskGroup struct {
	mask   flow.Value
	values map[flow.Value]Constant
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
		mask := flow.Ones(128)
		if c.Masked {
			mask = c.Mask
		}
		s.add(mask, c)
	}
	return s
}

func (s *AddressSet) add(mask flow.Value, c Constant) {
	value := c.Value.And(mask)
	for i := range s.byMask {
		if s.byMask[i].mask == mask {
			s.byMask[i].values[value] = c
			return
		}
	}
	s.byMask = append(s.byMask, maskGroup{mask, map[flow.Value]Constant{value: c}})
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
	for _, g := range s.byMask {
		if c, ok := g.values[address.And(g.mask)]; ok {
			return c, true
		}
	}
	return Constant{}, false
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
