package lflow

import (
	"context"
)

// An environment tells a condition what it asks about ports and sets.
type environment struct {
	ctx      context.Context
	datapath *Datapath
	inside   *contents
	resident Resident
	err      error // of what could not be read
}

func newEnvironment(ctx context.Context, d *Datapath, r Resident) *environment {
	e := &environment{ctx: ctx, datapath: d, resident: r}
	e.inside, e.err = d.contents(ctx)
	if e.inside == nil {
		e.inside = &contents{}
	}
	return e
}

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

func (e *environment) Resident(port string) bool { return e.resident != nil && e.resident(port) }
