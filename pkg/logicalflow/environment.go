package logicalflow

import (
	"context"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
)

// An environment provides ports and sets to a condition. It is for one packet and caches the last set and port looked
// up.
type environment struct {
	ctx      context.Context
	net      *Network
	inside   *contents // nil if unreadable
	resident Resident

	set    *ovnexpr.AddressSet
	port   string // the port of groups
	groups []string
}

func newEnvironment(ctx context.Context, d *Datapath, r Resident) *environment {
	e := new(environment)
	e.reset(ctx, d, r)
	return e
}

// reset reuses the environment for another packet.
func (e *environment) reset(ctx context.Context, d *Datapath, r Resident) {
	inside, err := d.contents(ctx)
	if err != nil {
		inside = &contents{}
	}
	*e = environment{ctx: ctx, net: d.net, inside: inside, resident: r}
}

// PortName returns the name of a port or multicast group in the datapath.
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

// Resident reports whether a port resides on the packet's chassis.
func (e *environment) Resident(port string) bool { return e.resident != nil && e.resident(port) }

// AddressSet returns a set by name, nil if not found.
func (e *environment) AddressSet(name string) (*ovnexpr.AddressSet, error) {
	if e.set != nil && e.set.Name() == name {
		return e.set, nil
	}
	set, err := e.net.addressSet(e.ctx, name)
	e.set = set
	return set, err
}

// InGroup reports whether a port is in a port group. A group without ports in the Southbound is empty: it has no row
// there.
func (e *environment) InGroup(port, group string) (bool, error) {
	groups, err := e.groupsOf(port)
	return slices.Contains(groups, group), err
}

// groupsOf returns a port's groups.
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
