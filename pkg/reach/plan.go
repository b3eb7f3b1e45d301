package reach

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace"
)

// A Walk says what becomes of the first packet of a connection from one to the other, and of its reply. It is called from
// several goroutines. An error is trace.ErrNoFamily, or something that could not be read: the pair is unknown then, and the
// rest goes on.
type Walk func(ctx context.Context, from, to topology.Match, q Question) (Cause, error)

// A Plan is the pairs to ask.
type Plan struct {
	question  Question
	questions []Question
	from, to  []*Party
	asked     []asked // nil: each of from with each of to, the first question
	expect    *expectations
}

// An asked pair has the places of its parts in the plan.
type asked struct{ from, to, question int32 }

// A TooManyError is a plan with more pairs than its caller wants to ask.
type TooManyError struct{ From, To, Pairs, Max int }

func (e *TooManyError) Error() string {
	return fmt.Sprintf("%d senders and %d receivers make %d pairs, which is more than %d\nhint: name fewer of them, or give --max-pairs %d",
		e.From, e.To, e.Pairs, e.Max, e.Pairs)
}

// Between plans to ask everybody whom the selectors from mean of everybody whom the selectors to mean, at most so many pairs
// (0: any number). No selectors mean all workloads.
func Between(g *topology.Graph, from, to []string, q Question, most int) (*Plan, error) {
	senders, receivers := newRoster(g, Senders), newRoster(g, Receivers)
	for _, side := range []struct {
		*roster
		selectors []string
	}{{senders, from}, {receivers, to}} {
		selectors := side.selectors
		if len(selectors) == 0 {
			selectors = []string{topology.All}
		}
		for _, s := range selectors {
			if _, err := side.find(s, q); err != nil {
				return nil, err
			}
		}
	}
	p := &Plan{question: q, questions: []Question{q}, from: senders.parties, to: receivers.parties}
	if n := p.Pairs(); most > 0 && n > most {
		return nil, &TooManyError{len(p.from), len(p.to), n, most}
	}
	return p, nil
}

// Pairs is how many there are, those of one with itself included.
func (p *Plan) Pairs() int {
	if p.asked != nil {
		return len(p.asked)
	}
	return len(p.from) * len(p.to)
}

func (p *Plan) pair(k int) asked {
	if p.asked != nil {
		return p.asked[k]
	}
	return asked{from: int32(k / len(p.to)), to: int32(k % len(p.to))}
}

// Options say how a plan is carried out.
type Options struct {
	Workers int // goroutines; 0: one a core
	// Progress is called now and then, and at the end, with the number of pairs that are done. It may be nil.
	Progress func(done int)
}

// GCPercent is how much garbage there may be, beside what is kept, for debug.SetGCPercent: what is read stays, and what is
// followed goes at once, so that collecting seldom is quicker by a third.
const GCPercent = 400

// stretch is how many pairs a worker takes at a time.
const stretch = 64

// maxFailures is how many pairs in a row may fail to be read before a source is given up: each may take until its timeout.
const maxFailures = 100

// Run asks all pairs. What could not be read makes a pair unknown; the error is for when hardly anything can be read any
// more, or that of the context.
func (p *Plan) Run(ctx context.Context, walk Walk, o Options) (*Result, error) {
	r := &Result{Question: p.question, From: p.from, To: p.to, Causes: []*Cause{}, plan: p, cells: make([]uint32, p.Pairs())}
	w := &work{plan: p, walk: walk, result: r, index: map[string]uint32{}}
	workers := o.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	asking, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	w.giveUp = giveUp
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() { w.work(asking) })
	}
	stop := w.report(o.Progress)
	wg.Wait()
	stop()
	if err := context.Cause(asking); err != nil {
		return nil, err
	}
	r.settle()
	if p.expect != nil {
		r.Expect = p.expect.compare(r)
	}
	return r, nil
}

// work is what the workers share.
type work struct {
	plan *Plan
	walk Walk
	next atomic.Int64 // the first pair that nobody has taken
	done atomic.Int64

	failures atomic.Int64 // in a row
	giveUp   func(error)

	mu     sync.Mutex
	result *Result
	index  map[string]uint32 // cells by the keys of causes
}

// interval is how often progress is reported.
const interval = 200 * time.Millisecond

func (w *work) report(progress func(int)) (stop func()) {
	if progress == nil {
		return func() {}
	}
	quit := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				progress(int(w.done.Load()))
			case <-quit:
				progress(int(w.done.Load()))
				return
			}
		}
	})
	return func() {
		close(quit)
		wg.Wait()
	}
}

func (w *work) work(ctx context.Context) {
	total := int64(len(w.result.cells))
	for {
		start := w.next.Add(stretch) - stretch
		end := min(start+stretch, total)
		if start >= end {
			return
		}
		for k := start; k < end; k++ {
			if ctx.Err() != nil {
				return
			}
			w.result.cells[k] = w.cell(ctx, w.plan.pair(int(k)))
		}
		w.done.Add(end - start)
	}
}

// cell asks one pair.
func (w *work) cell(ctx context.Context, a asked) uint32 {
	from, to := w.plan.from[a.from], w.plan.to[a.to]
	if same(from, to) {
		return notAsked
	}
	c, err := w.walk(ctx, from.match, to.match, w.plan.questions[a.question].of(to))
	switch {
	case errors.Is(err, trace.ErrNoFamily):
		return noFamily
	case err != nil:
		if w.failures.Add(1) >= maxFailures {
			w.giveUp(err)
		}
		return w.cause(Cause{Outcome: journey.Unknown, Text: err.Error()})
	}
	if w.failures.Load() != 0 {
		w.failures.Store(0)
	}
	if c.Outcome == journey.Delivered {
		return delivered
	}
	return w.cause(c)
}

// same reports whether two parties are one, which can only speak to itself.
func same(a, b *Party) bool {
	if a.match.Port != nil || b.match.Port != nil {
		return a.match.Port == b.match.Port
	}
	return a.Name == b.Name
}

// maxCauses bounds how many causes are kept.
const maxCauses = 10000

// cause is the cell of a cause, which it keeps.
func (w *work) cause(c Cause) uint32 {
	key := c.key()
	w.mu.Lock()
	defer w.mu.Unlock()
	cell, ok := w.index[key]
	if !ok && len(w.result.Causes) >= maxCauses {
		c = Cause{Outcome: c.Outcome, Text: fmt.Sprintf("more than %d different causes: ask for fewer pairs", maxCauses)}
		key = c.key()
		cell, ok = w.index[key]
	}
	if !ok {
		cell = firstCause + uint32(len(w.result.Causes))
		w.index[key] = cell
		w.result.Causes = append(w.result.Causes, &c)
	}
	return cell
}
