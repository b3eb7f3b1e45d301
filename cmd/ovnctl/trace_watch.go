package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/compare"
	"github.com/ovnctl/ovnctl/pkg/document"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/render"
	"github.com/ovnctl/ovnctl/pkg/trace"
	"github.com/ovnctl/ovnctl/pkg/watch"
)

const (
	// related is how long before a change of the path its causes may lie.
	related = 10 * time.Second
	// mostCauses is how many are shown.
	mostCauses = 5
)

// A pathWatch is trace --watch at work.
type pathWatch struct {
	*traceOptions
	cluster  *cluster.Cluster
	from, to string

	last   *journey.Trace // nil before the first
	failed string         // why the last look gave none

	mu     sync.Mutex
	events []watch.Event // recent ones
}

// runWatch traces again and again, and prints what changes.
func (o *traceOptions) runWatch(ctx context.Context, c *cluster.Cluster, from, to string) error {
	o.standing = &trace.Standing{}
	p := &pathWatch{traceOptions: o, cluster: c, from: from, to: to}
	if err := p.look(ctx); err != nil {
		return err
	}
	l := lookout{pause: time.Duration(o.watch), after: 100 * time.Millisecond, again: 3 * time.Second, share: 3}
	return o.keep(ctx, c, l, nil, p.note, p.look)
}

// note keeps an event as a possible cause.
func (p *pathWatch) note(e watch.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := func(other watch.Event) bool { return e.Time.Sub(other.Time) > related }
	p.events = append(slices.DeleteFunc(p.events, old), e)
	if extra := len(p.events) - 1000; extra > 0 {
		p.events = slices.Delete(p.events, 0, extra)
	}
}

// look traces once and prints what is new. The first trace must succeed.
func (p *pathWatch) look(ctx context.Context) error {
	c := p.cluster.Again()
	c.DropSilent(ctx)
	t, notes, err := p.follow(ctx, c, p.from, p.to)
	now := time.Now()
	switch {
	case err != nil && p.last == nil:
		return err
	case err != nil && ctx.Err() != nil:
		return nil
	case err != nil:
		text := err.Error()
		if text == p.failed {
			return nil
		}
		p.failed = text
		p.warn(c)
		return p.say(now, "cannot be traced: "+render.CleanLines(text), p.last, p.last)
	}
	before, failed := p.last, p.failed
	p.last, p.failed = t, ""
	source := c.Source()
	source.Simulated = t.Simulated
	if before == nil {
		if p.machine() {
			return p.document(source, notes, t)
		}
		return render.Trace(p.stdout, p.style(p.stdout), t, notes, p.verbose)
	}
	difference := compare.DiffPaths(before, t, nil)
	if difference.Same && failed == "" {
		return nil
	}
	if p.machine() {
		return p.document(source, notes, t)
	}
	return p.say(now, pathChange(before, t, difference), before, t)
}

// document prints a trace as a line.
func (p *pathWatch) document(source cluster.Source, notes []string, t *journey.Trace) error {
	return render.JSONLine(p.stdout, journey.Document{Envelope: document.New("Trace", source, notes), Trace: t})
}

// pathChange says how two traces differ.
func pathChange(before, now *journey.Trace, d *compare.PathDifference) string {
	was, is := before.Verdict, now.Verdict
	var b strings.Builder
	b.WriteString(strings.ToUpper(string(is.Outcome)))
	if was.Outcome != is.Outcome {
		b.WriteString(", was " + strings.ToUpper(string(was.Outcome)))
	}
	b.WriteString(": " + render.Clean(is.Sentence))
	if is.Cause != "" && !strings.Contains(is.Sentence, is.Cause) {
		b.WriteString("\ncause: " + render.Clean(is.Cause))
	}
	if d := d.Divergence; d != nil {
		where, elsewhere := stepText(d.A), stepText(d.B)
		if where == elsewhere {
			fmt.Fprintf(&b, "\n%s: the paths diverge at %s", d.Direction, where)
		} else {
			fmt.Fprintf(&b, "\n%s: the path was %s, is %s", d.Direction, where, elsewhere)
		}
	}
	for _, next := range now.Next {
		b.WriteString("\nnext: " + render.Clean(next))
	}
	return b.String()
}

// stepText names a place on a path and what happens there.
func stepText(s *compare.PathStep) string {
	if s == nil {
		return "at its end"
	}
	text := s.Kind + " " + s.Datapath
	if s.Node != "" {
		text += " on " + s.Node
	}
	if s.Step != nil {
		text += ", " + s.Step.Stage
	}
	return render.Clean(text)
}

// say prints a change of the path with what happened before it.
func (p *pathWatch) say(now time.Time, text string, traces ...*journey.Trace) error {
	if p.machine() {
		_, err := fmt.Fprintf(p.stderr, "ovnctl: %s\n", text)
		return err
	}
	indent := strings.Repeat(" ", len(clock)+2)
	var b strings.Builder
	b.WriteString(now.Format(clock) + "  " + strings.ReplaceAll(text, "\n", "\n"+indent) + "\n")
	p.causes(&b, indent, traces)
	_, err := io.WriteString(p.stdout, b.String())
	return err
}

// causes prints the events since the last change that have a part in what the traces cross; others are counted.
func (p *pathWatch) causes(w io.Writer, indent string, traces []*journey.Trace) {
	names := map[string]bool{p.from: true, p.to: true}
	for _, t := range traces {
		onPath(t, names)
	}
	var causes []string
	others := 0
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.events {
		switch {
		case slices.ContainsFunc(e.Names, func(n string) bool { return names[n] }):
			causes = append(causes, eventText(e))
		default:
			others++
		}
	}
	p.events = nil
	if extra := len(causes) - mostCauses; extra > 0 {
		causes = causes[extra:]
		others += extra
	}
	for _, c := range causes {
		fmt.Fprintf(w, "%safter %s\n", indent, c)
	}
	if others > 0 {
		fmt.Fprintf(w, "%safter %s\n", indent, otherChanges(others))
	}
}

// onPath collects the names of what a trace crosses.
func onPath(t *journey.Trace, names map[string]bool) {
	add := func(all ...string) {
		for _, n := range all {
			if n != "" {
				names[n] = true
			}
		}
	}
	walk := journey.Walk{Verdict: t.Verdict, Forward: t.Forward, Reply: t.Reply, Branches: t.Branches}
	add(t.Verdict.Node, t.Verdict.Datapath, t.Verdict.Port)
	if o := t.Verdict.Object; o != nil {
		add(o.Name, o.Owner.FullName(), o.Holder.Name)
	}
	for _, d := range walk.Directions() {
		for _, h := range d.Hops {
			add(h.Node, h.Datapath, h.From, h.To)
			for _, s := range h.Steps {
				if s.Object != nil {
					add(s.Object.Name, s.Object.Owner.FullName(), s.Object.Holder.Name)
				}
			}
		}
	}
}

func otherChanges(n int) string {
	if n == 1 {
		return "1 other change"
	}
	return fmt.Sprintf("%d other changes", n)
}
