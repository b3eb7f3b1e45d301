package logicalflow

import (
	"context"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
)

// An environment tells a condition what it asks about ports and sets. It is for one packet: what was asked last is
// likely to be asked again.
type environment struct {
	ctx      context.Context
	net      *Network
	inside   *contents // nil if it could not be read
	resident Resident

	set    *ovnexpr.AddressSet
	port   string // whose groups are there
	groups []string
}

func newEnvironment(ctx context.Context, d *Datapath, r Resident) *environment {
	e := new(environment)
	e.reset(ctx, d, r)
	return e
}

// reset makes the environment that of another packet.
func (e *environment) reset(ctx context.Context, d *Datapath, r Resident) {
	inside, err := d.contents(ctx)
	if err != nil {
		inside = &contents{}
	}
	*e = environment{ctx: ctx, net: d.net, inside: inside, resident: r}
}

// PortName returns the name of a port or multicast group of the datapath.
func (e *environment) PortName(key uint64) (string, bool) {
	if key == 0 {
		return "none", true // OVN's name for no port
	}
	if p := e.inside.byKey[int(key)]; p != nil {
		return p.Name(), true
	}
	if g := e.inside.groups[int(key)]; g != nil {
		return g.Row.Name, true
	}
	return "", false
}

// Resident reports whether a port resides on the chassis that the packet is on.
func (e *environment) Resident(port string) bool { return e.resident != nil && e.resident(port) }

// AddressSet returns the set of a name, nil if there is none.
func (e *environment) AddressSet(name string) (*ovnexpr.AddressSet, error) {
	if e.set != nil && e.set.Name() == name {
		return e.set, nil
	}
	set, err := e.net.addressSet(e.ctx, name)
	e.set = set
	return set, err
}

// InGroup reports whether a port is in a port group. A group of which the Southbound knows no port is empty: it has no
// row there.
func (e *environment) InGroup(port, group string) (bool, error) {
	groups, err := e.groupsOf(port)
	return slices.Contains(groups, group), err
}

// groupsOf are the groups that a port is in.
func (e *environment) groupsOf(port string) ([]string, error) {
	if e.port == port && port != "" {
		return e.groups, nil
	}
	groups, err := e.net.groupsOf(e.ctx, port)
	if err == nil {
		e.port, e.groups = port, groups
	}
	return groups, err
}
