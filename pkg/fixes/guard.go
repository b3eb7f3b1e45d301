package fixes

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// ErrChanged is a state that is not the one the plan was made from.
var ErrChanged = errors.New("the state has changed since the plan was made")

// A preparer is a step that notes something before the journal has it.
type preparer interface {
	ready(ctx context.Context, t *Target) (action, error)
}

func ready(ctx context.Context, a action, t *Target) (action, error) {
	if p, ok := a.(preparer); ok {
		return p.ready(ctx, t)
	}
	return a, nil
}

// check reports what is in the way of a plan, before anybody is asked: secrets,
// missing files, a state that has changed. It changes nothing.
func (p *Plan) check(ctx context.Context, t *Target) error {
	actions, err := p.actions()
	if err != nil {
		return err
	}
	return guard(ctx, t, actions)
}

// guard checks all steps whose state can be known now. A step that follows one
// that starts a daemon, or that changes the same thing, is checked when it runs.
func guard(ctx context.Context, t *Target, actions []action) error {
	seen := touched{}
	for _, a := range actions {
		switch a.(type) {
		case Service, Control, Await, Module:
			return nil
		}
		if seen.add(a) {
			continue
		}
		if _, err := ready(ctx, a, t); err != nil {
			return err
		}
		at, why, err := a.look(ctx, t)
		switch {
		case err != nil:
			return err
		case at == moved || at == halfDone:
			return fmt.Errorf("%w: %s", ErrChanged, why)
		}
	}
	return nil
}

// touched are the things that steps change.
type touched map[string]bool

// has reports whether a step changes one of them.
func (t touched) has(a action) bool {
	return slices.ContainsFunc(a.on(), func(on string) bool { return t[on] })
}

// add adds what a step changes and reports whether some of it was there already.
func (t touched) add(a action) bool {
	had := t.has(a)
	for _, on := range a.on() {
		t[on] = true
	}
	return had
}
