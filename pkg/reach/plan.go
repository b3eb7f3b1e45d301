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

// A Walk returns the fate of the first packet of a connection between two parties, and of its reply. It must be safe
// for concurrent use. Like, unless it is nil, tells which other senders of a class fare the same. An error is trace.ErrNoFamily,
// or something that could not be read: that pair is then unknown, and the rest continues.
type Walk func(ctx context.Context, from, to topology.Match, q Question) (c Cause, like *Likeness, err error)

// A Plan is the pairs to follow.
type Plan struct {
	question  Question
	questions []Question
	from, to  []*Party
	asked     []asked // nil: each of from with each of to, the first question
	expect    *expectations
}

// An asked pair holds indexes into the plan.
type asked struct{ from, to, question int32 }

// A TooManyError is a plan with more pairs than the caller allows.
type TooManyError struct{ From, To, Pairs, Max int }

func (e *TooManyError) Error() string {
	return fmt.Sprintf("%d senders and %d receivers make %d pairs, which is more than %d\nhint: name fewer of them, or give --max-pairs %d",
		e.From, e.To, e.Pairs, e.Max, e.Pairs)
}

// Between plans to follow all pairs of parties that match the selectors from and to, limited to most (0: no limit). No
// selectors mean all workloads.
func Between(g *topology.Graph, from, to []string, q Question, most int) (*Plan, error) {
	senders, receivers := newRoster(g, senders), newRoster(g, receivers)
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

// Pairs returns the number of pairs, including those of one with itself.
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

// Options configure how a plan is run.
type Options struct {
	Workers int      // goroutines; 0: one per core
	Classes *Classes // of senders of which one is followed for all; nil: all are
	// Progress is called now and then, and at the end, with the number of pairs done. It may be nil.
	Progress func(done int)
}

// GCPercent is a value for debug.SetGCPercent, the garbage allowed relative to live data: what is read stays and what
// is followed is freed at once, so that collecting less often is a third faster.
const GCPercent = 300

// stretch is how many pairs a worker takes at a time.
const stretch = 64

// maxFailures is how many consecutive pairs may fail to be read before a run gives up: each may take until its timeout.
const maxFailures = 100

// Run follows all pairs. What could not be read makes a pair unknown; the error is for when hardly anything is readable
// any more, or the context's.
func (p *Plan) Run(ctx context.Context, walk Walk, o Options) (*Result, error) {
	r := &Result{Question: p.question, From: p.from, To: p.to, Causes: []*Cause{}, Unread: []string{}, plan: p, cells: make([]uint32, p.Pairs())}
	w := &work{plan: p, walk: walk, result: r, index: map[string]uint32{}, alike: o.Classes.between(p)}
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
	r.Followed = int(w.followed.Load())
	r.settle()
	if p.expect != nil {
		r.Expect = p.expect.compare(r)
	}
	return r, nil
}

// work is the state that the workers share.
type work struct {
	plan *Plan
	walk Walk
	next atomic.Int64 // the first pair not taken yet
	done atomic.Int64

	alike    *alike
	followed atomic.Int64

	failures atomic.Int64 // consecutive
	giveUp   func(error)

	mu     sync.Mutex
	result *Result
	index  map[string]uint32 // cells by cause key
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

// cell follows one pair.
func (w *work) cell(ctx context.Context, a asked) uint32 {
	from, to := w.plan.from[a.from], w.plan.to[a.to]
	if same(from, to) {
		return notAsked
	}
	if cell, ok := w.alike.cell(a); ok {
		return cell
	}
	w.followed.Add(1)
	c, like, err := w.walk(ctx, from.match, to.match, w.plan.questions[a.question].of(to))
	cell := w.settled(c, err)
	if err == nil {
		w.alike.keep(a, like, cell)
	}
	return cell
}

// settled returns the cell of a pair that was followed.
func (w *work) settled(c Cause, err error) uint32 {
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

// same reports whether two parties are the same, which can only talk to itself.
func same(a, b *Party) bool {
	if a.match.Port != nil || b.match.Port != nil {
		return a.match.Port == b.match.Port
	}
	return a.Name == b.Name
}

// maxCauses bounds how many causes are kept.
const maxCauses = 10000

// cause returns the cell of a cause, and stores the cause.
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
