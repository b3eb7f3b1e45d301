package fixes

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/lazy"
)

// kinds maps the journal's step names to types.
var kinds = lazy.Value[map[string]reflect.Type]{Make: func() map[string]reflect.Type {
	all := map[string]reflect.Type{}
	for _, s := range []Step{Rows{}, File{}, Network{}, Sysctl{}, Service{}, Control{}, Await{}, Module{}, Offload{}, Convert{}} {
		all[kindOf(s)] = reflect.TypeOf(s)
	}
	return all
}}

func kindOf(s Step) string { return strings.ToLower(reflect.TypeOf(s).Name()) }

// A written step is a step in the journal.
type written struct {
	Kind string          `json:"kind"`
	Step json.RawMessage `json:"step"`
}

func write(s Step) (written, error) {
	b, err := json.Marshal(s)
	return written{kindOf(s), b}, err
}

func (w written) read() (Step, error) {
	kind, ok := kinds.Get()[w.Kind]
	if !ok {
		return nil, fmt.Errorf("this version of ovnctl does not know steps of kind %q", w.Kind)
	}
	s := reflect.New(kind)
	if err := json.Unmarshal(w.Step, s.Interface()); err != nil {
		return nil, err
	}
	return s.Elem().Interface().(Step), nil
}
