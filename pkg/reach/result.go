package reach

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/document"
	"github.com/ovnctl/ovnctl/pkg/journey"
)

// A Cause is why a pair is not delivered. Pairs with the same cause share it.
type Cause struct {
	Policy  string          `json:"policy"`  // the CMS name of the deciding object, else the object, else the text
	Outcome journey.Outcome `json:"outcome"` // of the round trip
	Reply   bool            `json:"reply"`   // the packet arrives but its reply does not
	Stage   string          `json:"stage"`   // where it ended; may be empty
	Text    string          `json:"text"`
	Object  *decode.Object  `json:"object"` // the deciding row, null if none
	Pairs   int             `json:"pairs"`  // how many it stops
	// Kind is the kind of cause that Text words.
	Kind journey.CauseKind `json:"-"`
}

// key returns what distinguishes causes.
func (c *Cause) key() string {
	object := ""
	if c.Object != nil {
		object = string(c.Object.UUID)
	}
	direction := "forward"
	if c.Reply {
		direction = "reply"
	}
	return strings.Join([]string{string(c.Outcome), direction, c.Stage, object, c.Text}, "\x00")
}

func policyOf(c *Cause) string {
	if c.Object == nil {
		return c.Text
	}
	return cmp.Or(c.Object.Owner.String(), strings.TrimSpace(c.Object.Kind+" "+c.Object.Name), c.Text)
}

// A Pair is one sender and one receiver.
type Pair struct {
	From     string          `json:"from"`
	To       string          `json:"to"`
	Protocol string          `json:"protocol"`
	Port     int             `json:"port"`
	Outcome  journey.Outcome `json:"outcome"` // of the round trip
	Cause    *int            `json:"cause"`   // its index in causes; null if delivered
}

// A Tally counts pairs by outcome.
type Tally struct {
	Pairs     int `json:"pairs"` // that were asked
	Delivered int `json:"delivered"`
	Rejected  int `json:"rejected"`
	Consumed  int `json:"consumed"`
	Dropped   int `json:"dropped"`
	Unknown   int `json:"unknown"`
}

func (t *Tally) add(o journey.Outcome, n int) {
	t.Pairs += n
	switch o {
	case journey.Delivered:
		t.Delivered += n
	case journey.Rejected:
		t.Rejected += n
	case journey.Consumed:
		t.Consumed += n
	case journey.Dropped:
		t.Dropped += n
	default:
		t.Unknown += n
	}
}

// A Result is who can talk to whom. It is kind Reach of the JSON contract, except for the pairs, which come from
// [Result.Pairs]: there may be too many to hold at once.
type Result struct {
	Question Question     `json:"question"`
	From     []*Party     `json:"from"`
	To       []*Party     `json:"to"`
	Summary  Tally        `json:"summary"`
	Causes   []*Cause     `json:"causes"`
	Expect   *Expectation `json:"expect"` // null unless pairs were compared with a list
	// Unasked counts pairs whose ends share no address family.
	Unasked int `json:"unasked"`
	// Followed counts the pairs that were followed one by one: the others are like one of them.
	Followed int `json:"followed"`
	// Unread names the nodes that were not looked at, of which the best is assumed.
	Unread []string `json:"unread"`

	plan  *Plan
	cells []uint32 // by pair of the plan: notAsked, delivered, or firstCause plus the cause's index
}

// Cell values.
const (
	notAsked   = 0
	noFamily   = 1
	delivered  = 2
	firstCause = 3
)

// Pairs returns all pairs that were followed, in plan order.
func (r *Result) Pairs() iter.Seq[Pair] {
	return func(yield func(Pair) bool) {
		for k, cell := range r.cells {
			if p, ok := r.pair(k, cell); ok && !yield(p) {
				return
			}
		}
	}
}

// Example returns a pair to examine: one that differs from what is expected, else one that the most frequent cause
// stops; ok is false if there is none.
func (r *Result) Example() (p Pair, ok bool) {
	if r.Expect != nil {
		if len(r.Expect.Differences) == 0 {
			return Pair{}, false
		}
		return r.Expect.Differences[0].Pair, true
	}
	for p := range r.Pairs() {
		if p.Cause != nil && *p.Cause == 0 {
			return p, true
		}
	}
	return Pair{}, false
}

func (r *Result) pair(k int, cell uint32) (Pair, bool) {
	if cell < delivered {
		return Pair{}, false
	}
	a := r.plan.pair(k)
	q := r.plan.questions[a.question].of(r.To[a.to])
	p := Pair{From: r.From[a.from].Name, To: r.To[a.to].Name, Protocol: q.Protocol, Port: q.Port, Outcome: journey.Delivered}
	if c := r.cause(cell); c != nil {
		i := int(cell - firstCause)
		p.Outcome, p.Cause = c.Outcome, &i
	}
	return p, true
}

// cause returns a cell's cause; nil if the pair was delivered or not asked.
func (r *Result) cause(cell uint32) *Cause {
	if cell < firstCause {
		return nil
	}
	return r.Causes[cell-firstCause]
}

// settle sorts the causes independently of who found them first, and counts pairs.
func (r *Result) settle() {
	order := make([]int, len(r.Causes))
	counts := make([]int, len(r.Causes))
	for i := range order {
		order[i] = i
	}
	for _, cell := range r.cells {
		switch {
		case cell == noFamily:
			r.Unasked++
		case cell == delivered:
			r.Summary.add(journey.Delivered, 1)
		case cell >= firstCause:
			counts[cell-firstCause]++
		}
	}
	for i, c := range r.Causes {
		c.Pairs = counts[i]
		c.Policy = policyOf(c)
		r.Summary.add(c.Outcome, c.Pairs)
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(r.Causes[a].key(), r.Causes[b].key()))
	})
	sorted, place := make([]*Cause, len(order)), make([]uint32, len(order))
	for i, was := range order {
		sorted[i], place[was] = r.Causes[was], uint32(i)
	}
	r.Causes = sorted
	for k, cell := range r.cells {
		if cell >= firstCause {
			r.cells[k] = firstCause + place[cell-firstCause]
		}
	}
}

// A Document is the JSON and YAML form of who can talk to whom. The pairs come last, one per line.
type Document struct {
	document.Envelope
	*Result
	Pairs []Pair `json:"pairs"` // the printed pairs come from Result.Pairs
}
