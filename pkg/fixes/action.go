package fixes

import (
	"context"
	"encoding/json"
	"fmt"
)

// A stage is how far a step has come, as the present state shows.
type stage string

const (
	untouched stage = "as before"         // as the plan found it: do can run
	halfDone  stage = "half done"         // in part: both do and undo can run
	done      stage = "done"              // as do leaves it: undo can run
	moved     stage = "changed meanwhile" // somebody else changed it: neither can run
	unseen    stage = "unknown"           // no state shows it, as of a command that was sent
)

// An action is a Step that can be carried out. Its methods read the state each
// time, and end with their context.
type action interface {
	Step
	// look is how far it has come and, of moved, what is not as expected.
	look(ctx context.Context, t *Target) (stage, string, error)
	// do carries it out. What a run that was cut off has done already stays.
	do(ctx context.Context, t *Target) error
	// undo undoes what was done of it, even if that is a part.
	undo(ctx context.Context, t *Target) error
	// lasts reports whether it outlasts a boot of the host.
	lasts() bool
	// on names what it changes, to find two steps on one thing.
	on() []string
}

var (
	_ action = &Rows{}
	_ action = File{}
	_ action = Network{}
	_ action = Sysctl{}
	_ action = Service{}
	_ action = Control{}
	_ action = Await{}
	_ action = Module{}
	_ action = Offload{}
	_ action = Convert{}
)

// A written step is a step in the journal.
type written struct {
	Kind string          `json:"kind"`
	Step json.RawMessage `json:"step"`
}

// kinds make a step of each kind from the journal.
var kinds = map[string]func(json.RawMessage) (action, error){
	"rows":    func(b json.RawMessage) (action, error) { s, err := read[Rows](b); return &s, err },
	"file":    func(b json.RawMessage) (action, error) { s, err := read[File](b); return s, err },
	"network": func(b json.RawMessage) (action, error) { s, err := read[Network](b); return s, err },
	"sysctl":  func(b json.RawMessage) (action, error) { s, err := read[Sysctl](b); return s, err },
	"service": func(b json.RawMessage) (action, error) { s, err := read[Service](b); return s, err },
	"control": func(b json.RawMessage) (action, error) { s, err := read[Control](b); return s, err },
	"await":   func(b json.RawMessage) (action, error) { s, err := read[Await](b); return s, err },
	"module":  func(b json.RawMessage) (action, error) { s, err := read[Module](b); return s, err },
	"offload": func(b json.RawMessage) (action, error) { s, err := read[Offload](b); return s, err },
	"convert": func(b json.RawMessage) (action, error) { s, err := read[Convert](b); return s, err },
}

func read[T any](b json.RawMessage) (T, error) {
	var s T
	err := json.Unmarshal(b, &s)
	return s, err
}

func kindOf(s Step) string {
	switch s.(type) {
	case Rows, *Rows:
		return "rows"
	case File:
		return "file"
	case Network:
		return "network"
	case Sysctl:
		return "sysctl"
	case Service:
		return "service"
	case Control:
		return "control"
	case Await:
		return "await"
	case Module:
		return "module"
	case Offload:
		return "offload"
	case Convert:
		return "convert"
	}
	return ""
}

// actionOf is the step as an action.
func actionOf(s Step) (action, error) {
	if rows, ok := s.(Rows); ok {
		return &rows, nil
	}
	a, ok := s.(action)
	if !ok {
		return nil, fmt.Errorf("a step of type %T cannot be carried out", s)
	}
	return a, nil
}

func write(a action) (written, error) {
	b, err := json.Marshal(a)
	return written{kindOf(a), b}, err
}

func (w written) action() (action, error) {
	make, ok := kinds[w.Kind]
	if !ok {
		return nil, fmt.Errorf("this version of ovnctl does not know steps of kind %q", w.Kind)
	}
	return make(w.Step)
}
