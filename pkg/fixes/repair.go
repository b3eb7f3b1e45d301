package fixes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/escape"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// A Class is the default answer when a person is asked.
type Class string

// Classes of repairs. What only a person can decide is advice, not a repair.
const (
	Auto Class = "auto" // yes: it is safe and touches no traffic
	Ask  Class = "ask"  // no: it changes traffic, membership or a file
)

// A Risk is what a wrong repair can affect.
type Risk string

// Risks, in their order.
const (
	Low    Risk = "low"    // files and rows that are not in use
	Medium Risk = "medium" // the traffic of one object
	High   Risk = "high"   // a node, or a membership
)

// Risks are all risks, the lowest first.
var Risks = []Risk{Low, Medium, High}

// above reports whether a risk exceeds the allowed one.
func (r Risk) above(limit Risk) bool { return slices.Index(Risks, r) > slices.Index(Risks, limit) }

// A Repair fixes one kind of fault.
type Repair struct {
	Name   string // "attach-uplink"
	Doc    string // the first line is the title; then what it does and what it does not
	Params []Param
	Local  bool // it changes the host that it runs on, not only databases
	Class  Class
	Risk   Risk
	// Check is the check whose finding it fixes, and that verifies it. Also are other checks whose findings it fixes.
	Check string
	Also  []string
	// OneWay is why it cannot be undone; empty if it can.
	OneWay string
	// Plan makes the plan from the current state. It changes nothing. A *Refusal explains why the repair would make
	// things worse, and what to do instead.
	Plan func(d *snapshot.Deployment, a Args) (*Plan, error)
}

// Title returns the first line of Doc.
func (r *Repair) Title() string {
	title, _, _ := strings.Cut(r.Doc, "\n")
	return title
}

func (r *Repair) checks() []string { return append([]string{r.Check}, r.Also...) }

// With returns a call of the repair with arguments, in the order of Params; optional last ones may be omitted.
func (r *Repair) With(args ...string) *Call {
	return &Call{Repair: r.Name, Args: append([]string{}, args...), Class: r.Class, Risk: r.Risk, OneWay: r.OneWay, Local: r.Local}
}

// A Param is an argument of a repair.
type Param struct {
	Name     string `json:"name"` // "BRIDGE"
	Doc      string `json:"doc"`
	Optional bool   `json:"optional"`
}

// Args are a call's arguments by the names of the Params.
type Args map[string]string

// A Call is a repair with its arguments, as a finding proposes it.
type Call struct {
	Repair string   `json:"repair"`
	Args   []string `json:"args"`
	Node   string   `json:"node,omitempty"` // the node that it changes, and must run on; absent if only databases change
	Class  Class    `json:"class"`
	Risk   Risk     `json:"risk"`
	OneWay string   `json:"oneWay,omitempty"` // why it cannot be undone

	Local bool `json:"-"` // as of the Repair
}

// At returns the call for a node, by name.
func (c *Call) At(node string) *Call {
	c.Node = node
	return c
}

// A CallKey identifies a call: the repair, its node and its arguments.
type CallKey string

// Key returns the same for equivalent calls on one node.
func (c *Call) Key() CallKey {
	return CallKey(strings.Join(append([]string{c.Repair, c.Node}, c.Args...), "\x00"))
}

// A Refusal is a repair that would not make things better.
type Refusal struct {
	Why     string // a sentence without period
	Instead string // what to do
}

func (r *Refusal) Error() string {
	if r.Instead == "" {
		return escape.Line(r.Why)
	}
	return fmt.Sprintf("%s\nhint: %s", escape.Line(r.Why), escape.Line(r.Instead))
}

// Refuse returns a Refusal.
func Refuse(instead, format string, args ...any) error {
	return &Refusal{Why: fmt.Sprintf(format, args...), Instead: instead}
}

// Call returns a call of the repair with arguments from a person.
func (r *Repair) Call(args []string) *Call {
	given, err := r.Arguments(args)
	if err != nil {
		return r.With()
	}
	var values []string
	for _, p := range r.Params {
		values = append(values, given[p.Name])
	}
	for len(values) > 0 && values[len(values)-1] == "" {
		values = values[:len(values)-1]
	}
	return r.With(values...)
}

// Arguments parses arguments: in the order of Params, or as NAME=VALUE. An empty one is not given.
func (r *Repair) Arguments(args []string) (Args, error) {
	out := Args{}
	next := 0
	for _, a := range args {
		name, value, named := strings.Cut(a, "=")
		at := slices.IndexFunc(r.Params, func(p Param) bool { return strings.EqualFold(p.Name, name) })
		if !named || at < 0 {
			if next >= len(r.Params) {
				return nil, fmt.Errorf("%s takes %d arguments, and %q is one more", r.Name, len(r.Params), a)
			}
			at, value = next, a
			next++
		}
		if value != "" {
			out[r.Params[at].Name] = value
		}
	}
	for _, p := range r.Params {
		if _, ok := out[p.Name]; !ok && !p.Optional {
			return nil, fmt.Errorf("%s takes %s: %s", r.Name, p.Name, p.Doc)
		}
	}
	return out, nil
}
