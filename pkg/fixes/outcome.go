package fixes

import (
	"errors"
	"fmt"
)

// A Fix is a requested repair and its outcome.
type Fix struct {
	Call    *Call        `json:"call,omitzero"`
	Plan    *PlanSummary `json:"plan,omitzero"`
	Outcome Outcome      `json:"outcome"`
}

// An Outcome is the outcome of a repair.
type Outcome struct {
	State  OutcomeState `json:"state"`
	Reason Reason       `json:"reason,omitempty"` // what failed, if refused, rolled back or failed
	Run    int          `json:"run,omitempty"`    // in the journal, for fix undo
	OneWay string       `json:"oneWay,omitempty"` // why fix undo cannot undo it
	Why    string       `json:"why,omitempty"`    // the Reason in words
	Before []string     `json:"before,omitempty"` // what the check found before
	After  []string     `json:"after,omitempty"`  // and after
}

// An OutcomeState is how a repair ended.
type OutcomeState string

// Outcomes.
const (
	OutcomePlanned    OutcomeState = "planned" // --dry-run
	OutcomeDeclined   OutcomeState = "declined"
	OutcomeRefused    OutcomeState = "refused" // nothing was changed
	OutcomeFixed      OutcomeState = "fixed"
	OutcomeAlready    OutcomeState = "already fixed" // by somebody else, between the plan and the first step
	OutcomeUndone     OutcomeState = "undone"
	OutcomeRolledBack OutcomeState = "rolled back"
	OutcomeFailed     OutcomeState = "failed" // and could not be rolled back
)

// Bad reports whether the repair was requested and not made.
func (s OutcomeState) Bad() bool { return s == OutcomeRefused || s.Broke() }

// Broke reports whether the repair was started and failed.
func (s OutcomeState) Broke() bool { return s == OutcomeRolledBack || s == OutcomeFailed }

// A Reason is why a repair was refused or rolled back. The journal holds it.
type Reason string

// Reasons.
const (
	NotPlanned   Reason = "not planned"    // it would make things worse, or its arguments do not fit
	NotAsPlanned Reason = "not as planned" // something changed after the plan was made
	TooRisky     Reason = "too risky"      // above --max-risk
	NotWatched   Reason = "not watched"    // it can cut the host off, and no watchdog can run
	NotWritten   Reason = "not written"    // the journal cannot be written
	StepFailed   Reason = "step failed"
	NotVerified  Reason = "not verified"  // the check still finds the fault
	NotConfirmed Reason = "not confirmed" // nobody confirmed that the host can be reached
	CutOff       Reason = "cut off"       // the process that carried it out died
	Asked        Reason = "asked for"
)

func refused(reason Reason, why error) Outcome {
	return Outcome{State: OutcomeRefused, Reason: reason, Why: why.Error()}
}

// A Failure is a plan that was not carried out, or did not help.
type Failure struct {
	Reason Reason
	Why    error
	State  OutcomeState
	Stuck  error // why it could not be rolled back, or why the journal does not record that it was
}

func (f *Failure) Error() string {
	switch {
	case f.State == OutcomeRefused:
		return fmt.Sprintf("%v; nothing was changed", f.Why)
	case f.State == OutcomeRolledBack:
		return fmt.Sprintf("%v; rolled back", f.Why)
	case errors.Is(f.Stuck, errUnwritten) && !errors.Is(f.Stuck, errNow):
		return fmt.Sprintf("%v; %v", f.Why, f.Stuck)
	}
	return fmt.Sprintf("%v; it could not be rolled back: %v", f.Why, f.Stuck)
}

// Unwrap returns why.
func (f *Failure) Unwrap() error { return f.Why }
