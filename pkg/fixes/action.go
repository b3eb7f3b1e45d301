package fixes

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
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

// kinds are the types of steps by the names that the journal has for them.
var kinds = func() map[string]reflect.Type {
	all := map[string]reflect.Type{}
	for _, a := range []action{&Rows{}, File{}, Network{}, Sysctl{}, Service{}, Control{}, Await{}, Module{}, Offload{}, Convert{}} {
		all[kindOf(a)] = reflect.Indirect(reflect.ValueOf(a)).Type()
	}
	return all
}()

func kindOf(s Step) string {
	return strings.ToLower(reflect.Indirect(reflect.ValueOf(s)).Type().Name())
}

// A written step is a step in the journal.
type written struct {
	Kind string          `json:"kind"`
	Step json.RawMessage `json:"step"`
}

func write(a action) (written, error) {
	b, err := json.Marshal(a)
	return written{kindOf(a), b}, err
}

func (w written) action() (action, error) {
	kind, ok := kinds[w.Kind]
	if !ok {
		return nil, fmt.Errorf("this version of ovnctl does not know steps of kind %q", w.Kind)
	}
	s := reflect.New(kind)
	if err := json.Unmarshal(w.Step, s.Interface()); err != nil {
		return nil, err
	}
	return actionOf(s.Elem().Interface().(Step))
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
