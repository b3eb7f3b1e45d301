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
	ready(ctx context.Context, t *Target) (Step, error)
}

func ready(ctx context.Context, s Step, t *Target) (Step, error) {
	if p, ok := s.(preparer); ok {
		return p.ready(ctx, t)
	}
	return s, nil
}

// guard reports what is in the way of a plan: secrets, missing files, a state that
// has changed. It checks all steps whose state can be known now. A step that follows
// one that starts a daemon, or that changes the same thing, is checked when it runs.
func (p *Plan) guard(ctx context.Context, t *Target) error {
	seen := touched{}
	for _, s := range p.Steps {
		switch s.(type) {
		case Service, Control, Await, Module:
			return nil
		}
		if seen.add(s) {
			continue
		}
		if _, err := ready(ctx, s, t); err != nil {
			return err
		}
		at, why, err := s.look(ctx, t)
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
func (t touched) has(s Step) bool {
	return slices.ContainsFunc(s.Summary().on, func(on string) bool { return t[on] })
}

// add adds what a step changes and reports whether some of it was there already.
func (t touched) add(s Step) bool {
	had := t.has(s)
	for _, on := range s.Summary().on {
		t[on] = true
	}
	return had
}
