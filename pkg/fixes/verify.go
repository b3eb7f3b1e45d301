package fixes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ovnctl/ovnctl/pkg/escape"
)

// A Subject is what a fault is about.
type Subject struct {
	Object string `json:"object,omitempty"` // "bridge br-ex on node1"
	Zone   string `json:"zone,omitempty"`   // of a logical object, where there are several
}

// A Fault is a check's finding, as far as a repair needs it.
type Fault struct {
	Check string
	Subject
	Title   string
	Unknown bool  // the check could not decide, for the reason in Title
	Fix     *Call // that it proposes; nil if none
}

// A verification runs the checks that asked for a repair before and after it.
type verification struct {
	loop    *Loop
	checks  []string
	targets map[Subject]bool // must be without faults afterwards; nil means all that had none before
	known   map[Subject]bool // those that had faults before

	before, after []string // what the checks found
}

// aim runs the checks before a repair, and chooses what must be right after it: the fault's object, or those whose
// faults propose the same call. One look is enough for a fault that was found before.
func (v *verification) aim(ctx context.Context, call *Call, fault *Fault) {
	v.known = map[Subject]bool{}
	for _, f := range v.loop.Examine(ctx, v.checks, fault == nil) {
		if f.Unknown {
			continue
		}
		v.known[f.Subject] = true
		if fault != nil && f.Subject != fault.Subject || fault == nil && (f.Fix == nil || f.Fix.Key() != call.Key()) {
			continue
		}
		if v.targets == nil {
			v.targets = map[Subject]bool{}
		}
		v.targets[f.Subject] = true
		v.before = append(v.before, f.Title)
	}
}

// subject returns what is repaired, if it is a single one.
func (v *verification) subject() Subject {
	for s := range v.targets {
		if len(v.targets) == 1 {
			return s
		}
	}
	return Subject{}
}

// settling is how long daemons may take to show a repair's effect.
const settling = 30 * time.Second

// wait runs the checks until the fault is gone.
func (v *verification) wait(ctx context.Context) error {
	if len(v.checks) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(v.loop.settling, settling))
	defer cancel()
	var left *Fault
	err := wait(ctx, 300*time.Millisecond, func() (bool, error) {
		left = v.left(v.loop.Examine(ctx, v.checks, false))
		return left == nil, nil
	})
	switch {
	case err == nil:
		v.after = nil
		for _, name := range v.checks {
			v.after = append(v.after, name+" no longer finds it")
		}
		return nil
	case left.Unknown:
		v.after = []string{"unknown: " + left.Title}
		return fmt.Errorf("the check could not be run: %s", escape.Line(left.Title))
	}
	v.after = []string{left.Title}
	return errors.New(escape.Line(left.Title))
}

// left returns what keeps the repair from being verified: a fault, or else an undecided check.
func (v *verification) left(found []Fault) *Fault {
	i := slices.IndexFunc(found, func(f Fault) bool {
		return !f.Unknown && (v.targets[f.Subject] || v.targets == nil && !v.known[f.Subject])
	})
	if i < 0 && len(v.targets) > 0 {
		i = slices.IndexFunc(found, func(f Fault) bool { return f.Unknown })
	}
	if i < 0 {
		return nil
	}
	return &found[i]
}
