package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ovnctl/ovnctl/pkg/blame"
	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/compare"
	"github.com/ovnctl/ovnctl/pkg/document"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/record"
	"github.com/ovnctl/ovnctl/pkg/render"
)

type blameOptions struct {
	*traceOptions
	since string
	looks int
}

func newBlame(root *options) *cobra.Command {
	o := &blameOptions{traceOptions: &traceOptions{options: root}}
	cmd := &cobra.Command{
		Use:   "blame FROM TO --offline RECORD",
		Short: "Find in a record when a path broke, and what changed then",
		Long: `blame searches a record, as ovnctl watch --keep writes it, for the moments when
what becomes of a packet changed, and shows the change that did it. FROM, TO
and the packet are written as for ovnctl trace. --offline RECORD@09:20 searches
until then, --since 09:00 from then on.

It traces the packet at some moments spread over the record, and where two
differ at moments between them, until it has the first with the new verdict. A
verdict that came and went between two of the moments is not seen: --since and
RECORD@TIME narrow the search, --looks makes it denser.
` + exitStatusHelp,
		Example: `  ovnctl blame shop/client shop/web-2 --offline /var/lib/ovnctl/record
  ovnctl blame shop/client svc:shop/web --tcp 80 --offline record@09:20 --since 09:00`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: o.completeEndpoints,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), o.namespace.name(args[0]), o.namespace.name(args[1]))
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.since, "since", "", "search from this `moment` on, as 09:00 or -30m")
	f.IntVar(&o.looks, "looks", 16, "trace at this `number` of moments, spread over the record, to begin with")
	o.addPacket(cmd)
	f.BoolVar(&o.logical, "logical", false, "follow the logical flows only, at the moments when the databases changed")
	return cmd
}

func (o *blameOptions) run(ctx context.Context, from, to string) error {
	format, err := o.format("text", "json", "yaml")
	if err != nil {
		return err
	}
	dir, moment, ok := record.Split(o.offline)
	switch {
	case o.offline == "":
		return usageError{errors.New("blame searches a record: name it with --offline\nhint: ovnctl watch --keep DIR records")}
	case !ok:
		return usageError{fmt.Errorf("%s is no record\nhint: ovnctl watch --keep DIR records; ovnctl compare A B --path FROM TO compares two captures", o.offline)}
	case o.looks < 1 || o.looks > 10_000:
		return usageError{errors.New("--looks: expected 1 to 10000")}
	}
	r, err := record.Open(dir)
	if err != nil {
		return unknownError{err}
	}
	defer r.Close() //nolint:errcheck // only read
	s := &search{blameOptions: o, record: r, dir: dir, from: from, to: to}
	begin, _ := r.Span()
	if o.since != "" {
		if begin, err = r.Moment(o.since); err != nil {
			return usageError{fmt.Errorf("--since: %w", err)}
		}
	}
	end, err := r.Moment(moment)
	if err != nil {
		return usageError{err}
	}
	if begin.After(end) {
		return usageError{fmt.Errorf("--since %s is after the end of the search, %s", o.since, end.Local().Format(record.TimeFormat))}
	}
	doc, err := s.run(ctx, begin, end)
	if err != nil {
		return err
	}
	if format == "text" {
		err = s.print(doc)
	} else {
		err = render.Write(o.stdout, format, doc)
	}
	if err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	switch {
	case len(doc.Changes) > 0:
		return verdict(exitFound)
	case doc.After.Outcome == journey.Unknown:
		return verdict(exitUnknown)
	}
	return nil
}

// A search is a blame at work.
type search struct {
	*blameOptions
	record   *record.Record
	dir      string
	from, to string

	moments  []time.Time
	traces   map[int]traced
	expected map[time.Time]outcome // by the logical flows, when looks at the nodes began
}

// A traced packet is one at a moment.
type traced struct {
	*journey.Trace
	logical bool  // by the logical flows alone
	err     error // why there is no path
	source  cluster.Source
}

// An outcome is what of a verdict must differ for it to be another.
type outcome struct {
	outcome               journey.Outcome
	node, datapath, stage string
}

const (
	// before is how long before a change of the verdict the change behind it may lie: ovn-northd and the nodes take their time.
	before = 10 * time.Second
	// behind is how long after it may be recorded: the two databases are followed side by side.
	behind = 250 * time.Millisecond
)

func (s *search) run(ctx context.Context, begin, end time.Time) (blame.Document, error) {
	var doc blame.Document
	changed, err := s.record.Moments(ctx, begin, end)
	if err != nil {
		return doc, unknownError{err}
	}
	s.moments, s.traces, s.expected = []time.Time{begin}, map[int]traced{}, map[time.Time]outcome{}
	for _, m := range changed {
		if m.Time.After(s.moments[len(s.moments)-1]) {
			s.moments = append(s.moments, m.Time)
		}
	}
	p := s.progress(0)
	defer p.clear()
	found, looked, err := blame.Find(len(s.moments), s.looks, func(i int) (outcome, error) {
		p.show("tracing at %s, %d moments looked at", s.moments[i].Local().Format(clock), len(s.traces))
		t, err := s.trace(ctx, i)
		if err != nil {
			return outcome{}, err
		}
		return essence(t.Verdict), nil
	})
	if err != nil {
		return doc, err
	}
	last, err := s.trace(ctx, len(s.moments)-1)
	if err != nil {
		return doc, err
	}
	if len(found) == 0 && last.err != nil {
		return doc, last.err
	}
	doc = blame.Document{
		Envelope: document.New("Blame", last.source, nil),
		From:     begin.UTC(), To: end.UTC(), Moments: len(s.moments) - 1, Looked: looked,
		Before: s.traces[0].Verdict, After: last.Verdict, Changes: []blame.Change{},
	}
	since := 0 // the first moment with the verdict before
	for i, at := range found {
		p.show("comparing at %s", s.moments[at].Local().Format(clock))
		until := len(s.moments)
		if i+1 < len(found) {
			until = found[i+1]
		}
		later := s.later(at, until)
		paths, err := s.paths(ctx, s.earlier(ctx, since, at), later)
		if err != nil {
			return doc, err
		}
		doc.Changes = append(doc.Changes, blame.Change{Time: s.moments[at].UTC(), Paths: *paths})
		since = later
	}
	return doc, nil
}

func essence(v journey.Verdict) outcome {
	if v.Outcome == journey.Delivered || v.Outcome == journey.Unknown {
		return outcome{outcome: v.Outcome}
	}
	return outcome{v.Outcome, v.Node, v.Datapath, v.Stage}
}

// name names a moment as --offline takes it.
func (s *search) name(t time.Time) string { return s.dir + "@" + t.Local().Format(record.TimeFormat) }

// open opens the deployment at a moment.
func (s *search) open(ctx context.Context, t time.Time) (state, record.State, error) {
	saved, err := s.record.At(ctx, t)
	if err != nil {
		return state{}, saved, unknownError{err}
	}
	c, err := s.at(s.name(t)).openWith(ctx, cluster.Config{Saved: saved.Tree})
	return state{s.name(t), c}, saved, err
}

// trace traces the packet at a moment. What the nodes replied counts, unless the logical flows have come to another verdict
// since then: then they count.
func (s *search) trace(ctx context.Context, i int) (traced, error) {
	if t, ok := s.traces[i]; ok {
		return t, nil
	}
	at, saved, err := s.open(ctx, s.moments[i])
	if err != nil {
		return traced{}, err
	}
	defer at.cluster.Close() //nolint:errcheck // only read
	t, err := s.traceIn(ctx, at, s.logical)
	if err == nil && saved.Stale && t.Logical != nil {
		var then outcome
		if then, err = s.expectedAt(ctx, saved.Nodes); err == nil && then != essence(t.Logical.Verdict) {
			t, err = s.traceIn(ctx, at, true)
		}
	}
	if err != nil {
		return traced{}, err
	}
	s.traces[i] = t
	return t, nil
}

// traceIn traces the packet in one state. An end that is not there gives an unknown verdict: that may be the change.
func (s *search) traceIn(ctx context.Context, at state, logical bool) (traced, error) {
	side := *s.traceOptions
	side.options, side.logical = s.at(at.path), logical
	t, _, err := side.follow(ctx, at.cluster, s.from, s.to)
	source := at.cluster.Source()
	switch {
	case ctx.Err() != nil:
		return traced{}, ctx.Err()
	case err != nil:
		line, _, _ := strings.Cut(err.Error(), "\n")
		t = &journey.Trace{Verdict: journey.Verdict{Outcome: journey.Unknown, Sentence: line}}
	default:
		source.Simulated = t.Simulated
	}
	return traced{t, logical, err, source}, nil
}

// expectedAt returns what became of the packet by the logical flows of a time.
func (s *search) expectedAt(ctx context.Context, t time.Time) (outcome, error) {
	if from, _ := s.record.Span(); t.Before(from) {
		t = from
	}
	if known, ok := s.expected[t]; ok {
		return known, nil
	}
	at, _, err := s.open(ctx, t)
	if err != nil {
		return outcome{}, err
	}
	defer at.cluster.Close() //nolint:errcheck // only read
	expected, err := s.traceIn(ctx, at, true)
	if err != nil {
		return outcome{}, err
	}
	s.expected[t] = essence(expected.Verdict)
	return s.expected[t], nil
}

// earlier returns the moment to compare with the one at which the verdict changed: some time before it, but with the verdict
// before it, and by what the nodes replied if the new one is: logical flows alone do not show what is wrong on a node.
func (s *search) earlier(ctx context.Context, since, at int) int {
	first, there := slices.BinarySearchFunc(s.moments[:at], s.moments[at].Add(-before), time.Time.Compare)
	if !there {
		first--
	}
	first = max(since, first)
	last, err := s.trace(ctx, at-1)
	is, ierr := s.trace(ctx, at)
	if err != nil || ierr != nil {
		return at - 1
	}
	return first + sort.Search(at-1-first, func(n int) bool {
		t, err := s.trace(ctx, first+n)
		return err == nil && essence(t.Verdict) == essence(last.Verdict) && (is.logical || !t.logical)
	})
}

// later returns the moment whose state to compare with an earlier one, when the verdict changed at a moment and the next
// change is at another.
func (s *search) later(at, until int) int {
	i, there := slices.BinarySearchFunc(s.moments[:until], s.moments[at].Add(behind), time.Time.Compare)
	if !there {
		i--
	}
	return i
}

// paths compares the paths at two moments.
func (s *search) paths(ctx context.Context, i, j int) (*compare.Paths, error) {
	a, _, err := s.open(ctx, s.moments[i])
	if err != nil {
		return nil, err
	}
	defer a.cluster.Close() //nolint:errcheck // only read
	b, _, err := s.open(ctx, s.moments[j])
	if err != nil {
		return nil, err
	}
	defer b.cluster.Close() //nolint:errcheck // only read
	was, err := s.trace(ctx, i)
	if err != nil {
		return nil, err
	}
	is, err := s.trace(ctx, j)
	if err != nil {
		return nil, err
	}
	switch { // steps of one kind can be compared
	case was.logical && !is.logical && is.Logical != nil && essence(is.Logical.Verdict) != essence(was.Verdict):
		is, err = s.traceIn(ctx, b, true)
	case is.logical && !was.logical && was.Logical != nil:
		was, err = s.traceIn(ctx, a, true)
	}
	if err != nil {
		return nil, err
	}
	p := &compare.Paths{TraceA: was.Trace, TraceB: is.Trace}
	return p, differ(ctx, p, a, b)
}

// print prints what was found, for people.
func (s *search) print(doc blame.Document) error {
	var b strings.Builder
	for _, c := range doc.Changes {
		was, is := c.TraceA.Verdict, c.TraceB.Verdict
		fmt.Fprintf(&b, "%s  %s, was %s\n\n", c.Time.Local().Format(record.TimeFormat), strings.ToUpper(string(is.Outcome)), strings.ToUpper(string(was.Outcome)))
		if err := render.Paths(&b, s.style(s.stdout), "tree", compare.PathsDocument{Paths: c.Paths, From: s.from, To: s.to}); err != nil {
			return err
		}
		b.WriteByte('\n')
	}
	switch n := len(doc.Changes); n {
	case 0:
		fmt.Fprintf(&b, "the verdict is seen to be the same all the time: %s, %s\n", strings.ToUpper(string(doc.After.Outcome)), render.Clean(doc.After.Sentence))
	case 1:
		b.WriteString("the verdict changed once")
	default:
		fmt.Fprintf(&b, "the verdict changed %d times", n)
	}
	if len(doc.Changes) > 0 {
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "traced at %d of %d moments from %s to %s\n", doc.Looked, doc.Moments+1,
		doc.From.Local().Format(record.TimeFormat), doc.To.Local().Format(record.TimeFormat))
	_, err := io.WriteString(s.stdout, b.String())
	return err
}
