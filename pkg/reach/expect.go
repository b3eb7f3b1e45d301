package reach

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// Expectations in a list.
const (
	Allow  = "allow"  // delivered
	Deny   = "deny"   // not delivered, in any way
	Drop   = "drop"   // dropped without notice
	Reject = "reject" // an ICMP error or TCP reset comes back
)

// An Expectation is the result of comparing pairs with a list.
type Expectation struct {
	File        string       `json:"file"`
	Pairs       int          `json:"pairs"` // that were compared
	Differences []Difference `json:"differences"`
}

// A Difference is a pair that differs from the list.
type Difference struct {
	Pair
	Expected string `json:"expected"` // allow, deny, drop or reject
	Line     int    `json:"line"`     // in the list, from 1
}

// Undecided reports whether all differences are pairs with an unknown outcome.
func (e *Expectation) Undecided() bool {
	return !slices.ContainsFunc(e.Differences, func(d Difference) bool { return d.Outcome != journey.Unknown })
}

// A ListError is a line of a list that cannot be parsed.
type ListError struct {
	File string
	Line int // from 1; 0: the list as a whole
	Err  error
}

func (e *ListError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %v", e.File, e.Err)
	}
	return fmt.Sprintf("%s line %d: %v", e.File, e.Line, e.Err)
}

func (e *ListError) Unwrap() error { return e.Err }

// A Rule is one line of a list: what is expected of some pairs.
type Rule struct {
	Line      int
	From, To  string // selectors
	Questions []Question
	Expected  string
}

const ruleForm = "FROM -> TO [PROTOCOL/PORT,...] allow|deny"

// maxLine is the maximum length of a list's line.
const maxLine = 1 << 16

// ParseList parses rules, one per line:
//
//	FROM -> TO [PROTOCOL/PORT,...] allow|deny|drop|reject
//
// FROM and TO are selectors; * selects all workloads. Without a protocol the rule is about the question. A # starts a
// comment. The error is a *ListError, or the reader's.
func ParseList(in io.Reader, file string, q Question) ([]Rule, error) {
	var rules []Rule
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	n := 0
	for lines.Scan() {
		n++
		text, _, _ := strings.Cut(lines.Text(), "#")
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		r, err := parseRule(words, q)
		if err != nil {
			return nil, &ListError{file, n, err}
		}
		r.Line = n
		rules = append(rules, r)
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return nil, &ListError{file, n + 1, fmt.Errorf("longer than %d bytes", maxLine)}
	}
	return rules, lines.Err()
}

func parseRule(words []string, q Question) (Rule, error) {
	if len(words) < 4 || len(words) > 5 || !slices.Contains([]string{"->", "=>", "→"}, words[1]) {
		return Rule{}, fmt.Errorf("expected %s", ruleForm)
	}
	r := Rule{From: words[0], To: words[2], Expected: words[len(words)-1], Questions: []Question{q}}
	if !slices.Contains([]string{Allow, Deny, Drop, Reject}, r.Expected) {
		return Rule{}, fmt.Errorf("%q: expected allow, deny, drop or reject", r.Expected)
	}
	if len(words) == 5 {
		r.Questions = nil
		for text := range strings.SplitSeq(words[3], ",") {
			own, err := parseQuestion(text, q)
			if err != nil {
				return Rule{}, err
			}
			r.Questions = append(r.Questions, own)
		}
	}
	return r, nil
}

// parseQuestion parses tcp/8080, udp/53 or icmp; the rest is taken from q.
func parseQuestion(text string, q Question) (Question, error) {
	protocol, port, hasPort := strings.Cut(text, "/")
	q.Protocol, q.Port = protocol, 0
	switch {
	case protocol == "icmp" && !hasPort:
		return q, nil
	case (protocol == "tcp" || protocol == "udp") && hasPort:
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return q, fmt.Errorf("%q: the port is one of 1 to 65535", text)
		}
		q.Port = int(n)
		return q, nil
	}
	return q, fmt.Errorf("%q: expected tcp/PORT, udp/PORT or icmp", text)
}

// expectations are what a plan's pairs are compared with, by index.
type expectations struct {
	file  string
	rules []*Rule
}

// Checking plans to follow the pairs that rules are about. If several rules are about a pair, the last one counts. With
// selectors only the pairs between these are followed; with a protocol in q only those for it.
func Checking(g *topology.Graph, file string, rules []Rule, from, to []string, q Question, most int) (*Plan, error) {
	b := &checker{
		plan: &Plan{question: q, asked: []asked{}, expect: &expectations{file: file}},
		from: newRoster(g, senders), to: newRoster(g, receivers),
		places: map[asked]int{}, questions: map[Question]int32{}, most: most,
	}
	senders, err := b.only(b.from, from, q)
	if err != nil {
		return nil, err
	}
	receivers, err := b.only(b.to, to, q)
	if err != nil {
		return nil, err
	}
	b.senders, b.receivers = senders, receivers
	for i := range rules {
		if err := b.rule(&rules[i]); err != nil {
			return nil, err
		}
	}
	b.plan.from, b.plan.to = b.from.parties, b.to.parties
	if len(b.plan.asked) == 0 {
		return nil, &ListError{file, 0, errors.New("no line is about what was asked")}
	}
	return b.plan, nil
}

// A checker turns rules into pairs.
type checker struct {
	plan               *Plan
	from, to           *roster
	senders, receivers map[int]bool // nil: all
	places             map[asked]int
	questions          map[Question]int32
	most               int
}

// only returns the parties of selectors; nil for no selectors.
func (b *checker) only(r *roster, selectors []string, q Question) (map[int]bool, error) {
	if len(selectors) == 0 {
		return nil, nil
	}
	wanted := map[int]bool{}
	for _, s := range selectors {
		found, err := r.find(s, q)
		if err != nil {
			return nil, err
		}
		for _, i := range found {
			wanted[i] = true
		}
	}
	return wanted, nil
}

func (b *checker) rule(rule *Rule) error {
	for _, q := range rule.Questions {
		if b.plan.question.Protocol != "" && q != b.plan.question {
			continue
		}
		from, err := b.from.find(rule.From, q)
		if err != nil {
			return &ListError{b.plan.expect.file, rule.Line, err}
		}
		to, err := b.to.find(rule.To, q)
		if err != nil {
			return &ListError{b.plan.expect.file, rule.Line, err}
		}
		for _, i := range from {
			if err := b.expectAll(i, from, to, q, rule); err != nil {
				return err
			}
		}
	}
	return nil
}

// expectAll applies a rule to the pairs of one sender.
func (b *checker) expectAll(i int, from, to []int, q Question, rule *Rule) error {
	for _, j := range to {
		if (b.senders == nil || b.senders[i]) && (b.receivers == nil || b.receivers[j]) {
			b.expect(i, j, q, rule)
		}
	}
	if n := len(b.plan.asked); b.most > 0 && n > b.most {
		return &TooManyError{len(from), len(to), len(from) * len(to), b.most}
	}
	return nil
}

func (b *checker) expect(from, to int, q Question, rule *Rule) {
	q = q.of(b.to.parties[to])
	place, ok := b.questions[q]
	if !ok {
		place = int32(len(b.plan.questions))
		b.questions[q] = place
		b.plan.questions = append(b.plan.questions, q)
	}
	a := asked{int32(from), int32(to), place}
	k, ok := b.places[a]
	if ok {
		b.plan.expect.rules[k] = rule
		return
	}
	if same(b.from.parties[from], b.to.parties[to]) {
		return
	}
	b.places[a] = len(b.plan.asked)
	b.plan.asked = append(b.plan.asked, a)
	b.plan.expect.rules = append(b.plan.expect.rules, rule)
}

// compare finds the pairs that differ from what is expected.
func (e *expectations) compare(r *Result) *Expectation {
	out := &Expectation{File: e.file, Differences: []Difference{}}
	for k, cell := range r.cells {
		p, ok := r.pair(k, cell)
		if !ok {
			continue
		}
		out.Pairs++
		if rule := e.rules[k]; !rule.meets(p.Outcome) {
			out.Differences = append(out.Differences, Difference{p, rule.Expected, rule.Line})
		}
	}
	slices.SortStableFunc(out.Differences, func(a, b Difference) int { return cmp.Compare(a.Line, b.Line) })
	return out
}

func (r *Rule) meets(o journey.Outcome) bool {
	switch r.Expected {
	case Allow:
		return o == journey.Delivered
	case Drop:
		return o == journey.Dropped
	case Reject:
		return o == journey.Rejected
	}
	return o == journey.Dropped || o == journey.Rejected || o == journey.Consumed
}
