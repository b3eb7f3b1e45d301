package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/document"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/pattern"
)

// The JSON of the paths of one packet in two states; docs/json.md describes it.
type (
	// A PathsDocument is the paths of one packet in two states: kind Ways.
	PathsDocument struct {
		document.Envelope
		Paths

		From string `json:"-"` // as given
		To   string `json:"-"`
	}

	// Paths are the paths of one packet in two states.
	Paths struct {
		A Side `json:"a"`
		B Side `json:"b"`
		PathDifference
		TraceA *journey.Trace `json:"traceA"`
		TraceB *journey.Trace `json:"traceB"`
	}

	// A PathDifference is where the paths of a packet diverge.
	PathDifference struct {
		Same       bool        `json:"same"`    // both path and verdict
		Divergence *Divergence `json:"parting"` // null: all steps are the same
		Behind     []Change    `json:"behind"`  // related differences
		Others     int         `json:"others"`  // number of other changes
	}

	// A Divergence is the first place where two paths differ.
	Divergence struct {
		Direction string    `json:"direction"`         // forward or reply
		Backend   string    `json:"backend,omitempty"` // of the branch
		A         *PathStep `json:"a"`                 // null: the path has ended
		B         *PathStep `json:"b"`
	}

	// A PathStep is a step and its location.
	PathStep struct {
		Node     string        `json:"node"`
		Datapath string        `json:"datapath"`
		Kind     string        `json:"kind"` // of the hop
		From     string        `json:"from"`
		To       string        `json:"to"`
		Step     *journey.Step `json:"step"` // null: the hop has none, such as a tunnel
	}
)

// DiffPaths compares the paths of a packet. Changes are the differences between the states.
func DiffPaths(a, b *journey.Trace, changes []Change) *PathDifference {
	w := &PathDifference{Behind: []Change{}}
	w.Divergence = divergence(a, b)
	w.Same = w.Divergence == nil && a.Verdict.Outcome == b.Verdict.Outcome
	if w.Same {
		w.Others = len(changes)
		return w
	}
	behind := newBehind(w.Divergence, a, b)
	for _, c := range changes {
		if behind.has(c) {
			w.Behind = append(w.Behind, c)
		}
	}
	w.Others = len(changes) - len(w.Behind)
	return w
}

// A path is one direction of a trace, through one backend.
type path struct {
	direction, backend string
	*journey.Direction
}

func pathsOf(t *journey.Trace) []path {
	paths := []path{{"forward", "", t.Forward}, {"reply", "", t.Reply}}
	for _, b := range t.Branches {
		backend := strings.Join(append([]string{b.Backend}, b.Through...), ", ")
		paths = append(paths, path{"forward", backend, b.Forward}, path{"reply", backend, b.Reply})
	}
	return slices.DeleteFunc(paths, func(w path) bool { return w.Direction == nil })
}

// divergence returns the first step that differs; nil if none does.
func divergence(a, b *journey.Trace) *Divergence {
	inA, inB := pathsOf(a), pathsOf(b)
	like := func(x path) func(path) bool {
		return func(y path) bool { return x.direction == y.direction && x.backend == y.backend }
	}
	for _, x := range inA {
		if i := slices.IndexFunc(inB, like(x)); i >= 0 {
			if p := divergenceOf(x, inB[i]); p != nil {
				return p
			}
		}
	}
	// Paths that only one side has: another backend, or a reply if the packet arrives.
	for _, x := range inA {
		if !slices.ContainsFunc(inB, like(x)) {
			return &Divergence{Direction: x.direction, Backend: x.backend, A: at(stepsOf(x), 0)}
		}
	}
	for _, y := range inB {
		if !slices.ContainsFunc(inA, like(y)) {
			return &Divergence{Direction: y.direction, Backend: y.backend, B: at(stepsOf(y), 0)}
		}
	}
	return nil
}

// divergenceOf returns the first step that differs between two paths in one direction.
func divergenceOf(x, y path) *Divergence {
	a, b := stepsOf(x), stepsOf(y)
	openflow := x.Producer == journey.OpenFlow && y.Producer == journey.OpenFlow
	if x.Producer != y.Producer {
		a, b = logicalSteps(x, a), logicalSteps(y, b)
	}
	for i := range max(len(a), len(b)) {
		if i < len(a) && i < len(b) && a[i].says(openflow) == b[i].says(openflow) {
			continue
		}
		return &Divergence{Direction: x.direction, Backend: x.backend, A: at(a, i), B: at(b, i)}
	}
	return nil
}

func at(steps []PathStep, i int) *PathStep {
	if i >= len(steps) {
		return nil
	}
	return &steps[i]
}

func stepsOf(w path) []PathStep {
	var steps []PathStep
	for _, h := range w.Hops {
		s := PathStep{Node: h.Node, Datapath: h.Datapath, Kind: h.Kind, From: h.From, To: h.To}
		if len(h.Steps) == 0 {
			steps = append(steps, s)
		}
		for i := range h.Steps {
			s.Step = &h.Steps[i]
			steps = append(steps, s)
		}
	}
	return steps
}

// logicalSteps leaves out what a path by the logical flows does not have, but for the step that ends a packet.
func logicalSteps(w path, steps []PathStep) []PathStep {
	var logical []PathStep
	for i, s := range steps {
		if s.Step != nil && s.Step.Logical != nil || i == len(steps)-1 && w.Verdict.Outcome != journey.Delivered {
			logical = append(logical, s)
		}
	}
	return logical
}

// says returns what equal steps have in common. If one of the paths follows the logical flows, there are no OpenFlow
// flows to compare.
func (s PathStep) says(openflow bool) string {
	words := []string{s.Node, s.Datapath, s.Kind}
	if s.Step == nil {
		return strings.Join(words, "\x00")
	}
	words = append(words, s.Step.Pipeline, s.Step.Stage)
	if l := s.Step.Logical; l != nil {
		words = append(words, fmt.Sprint(l.Priority), l.Match, l.Actions)
	}
	if openflow || s.Step.Logical == nil {
		words = append(words, fmt.Sprint(s.Step.Priority), conjunction.Get().ReplaceAllString(s.Step.Match, "conj_id"),
			clause.Get().ReplaceAllString(strings.Join(s.Step.Actions, ","), "conjunction("))
	}
	return strings.Join(words, "\x00")
}

// A behind finds the changes related to a divergence.
type behind struct {
	uuids, ports, datapaths, sets, nodes map[string]bool

	prefixes map[string]bool // UUID prefixes: the cookies of flows
}

// setName matches an address set or a port group in a match.
var setName = pattern.New(`[$@]([A-Za-z0-9_.]+)`)

func newBehind(p *Divergence, a, b *journey.Trace) *behind {
	f := &behind{uuids: map[string]bool{}, ports: map[string]bool{}, datapaths: map[string]bool{}, sets: map[string]bool{}, nodes: map[string]bool{}, prefixes: map[string]bool{}}
	for _, t := range []*journey.Trace{a, b} {
		f.ports[t.Request.From.Port], f.ports[t.Request.To.Port] = true, true
		f.object(t.Verdict.Object)
		f.rule(t.Verdict.Rule)
		for i := range t.Verdict.Near {
			f.rule(&t.Verdict.Near[i])
		}
		for i := range t.Verdict.Allowed {
			f.object(&t.Verdict.Allowed[i])
		}
	}
	if p != nil {
		f.step(p.A)
		f.step(p.B)
	}
	delete(f.ports, "")
	return f
}

func (f *behind) step(s *PathStep) {
	if s == nil {
		return
	}
	f.ports[s.From], f.ports[s.To] = true, true
	f.nodes[s.Node] = true
	if s.Kind == "switch" || s.Kind == "router" {
		f.datapaths[s.Kind+" "+s.Datapath] = true
	}
	if s.Step == nil {
		return
	}
	f.object(s.Step.Object)
	if prefix, ok := strings.CutPrefix(s.Step.Cookie, "0x"); ok {
		f.prefixes[prefix] = true
	}
	if s.Step.Logical != nil {
		f.match(s.Step.Logical.Match)
	}
}

func (f *behind) rule(r *journey.Rule) {
	if r != nil {
		f.object(r.Object)
		f.match(r.Match)
	}
}

func (f *behind) object(o *decode.Object) {
	if o != nil && o.UUID != "" {
		f.uuids[string(o.UUID)] = true
	}
}

func (f *behind) match(text string) {
	for _, m := range setName.Get().FindAllStringSubmatch(text, -1) {
		f.sets[m[1]] = true
	}
}

// has reports whether a change concerns a row that decided or made the flow, a set that a match names, a port, the
// node, or the router where the paths diverge.
func (f *behind) has(c Change) bool {
	switch {
	case f.uuids[c.UUIDA] || f.uuids[c.UUIDB] || f.prefixes[prefixOf(c.UUIDA)] || f.prefixes[prefixOf(c.UUIDB)]:
		return true
	case c.Table == "Address_Set" || c.Table == "Port_Group":
		return f.sets[c.id]
	case c.Table == "Logical_Switch_Port" || c.Table == "Logical_Router_Port" || c.Table == "Port_Binding":
		return f.ports[c.id]
	case c.Group == Nodes:
		return f.nodes[c.Node] || c.Node == "" && f.nodes[c.id]
	}
	return f.datapaths[c.On]
}

// prefixOf returns the cookie of flows made from a row.
func prefixOf(uuid string) string { return uuid[:min(len(uuid), 8)] }
