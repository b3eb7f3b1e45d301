package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/document"
	"github.com/ovnctl/ovnctl/pkg/render"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
	"github.com/ovnctl/ovnctl/pkg/watch"
)

// A findingChange is one line of doctor --watch -o json.
type findingChange struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Time       time.Time      `json:"time"`
	State      string         `json:"state"`
	Since      time.Time      `json:"since"`
	Finding    doctor.Finding `json:"finding"`
}

// What became of a finding.
const (
	appeared = "appeared"
	cleared  = "cleared"
)

// A standingFinding is a finding that has not cleared yet.
type standingFinding struct {
	doctor.Finding
	since time.Time
}

// An exporter shows to others what doctor --serve sees.
type exporter interface {
	Event(watch.Event)
	Failed() // a look has ended with an error
	// saw is told of a look that is over, and of all findings that have not cleared.
	saw(e *examination, began time.Time, report doctor.Report, standing []doctor.Finding)
}

// keepExamining runs the checks again and again, and prints which findings appear and clear.
func (e *examination) keepExamining(ctx context.Context) error {
	followed := e.c
	defer func() {
		if e.c != followed {
			_ = followed.Close()
		}
	}()
	standing := map[doctor.ID]standingFinding{}
	look := func(ctx context.Context, tell func(*examination, doctor.Report) error) error {
		again, began := e.anew(ctx), time.Now()
		report, err := again.examine(ctx)
		switch {
		case err != nil && (e.exporter == nil || ctx.Err() != nil):
			return err
		case err != nil:
			e.exporter.Failed()
			fmt.Fprintf(e.stderr, "ovnctl: %s\n", render.CleanLines(err.Error()))
			return nil
		}
		if err := tell(again, report); err != nil {
			return err
		}
		if e.exporter != nil {
			var all []doctor.Finding
			for _, f := range standing {
				all = append(all, f.Finding)
			}
			e.exporter.saw(again, began, report, all)
		}
		return nil
	}
	unread := map[string]bool{} // sources
	compare := func(again *examination, report doctor.Report) error {
		again.tellUnread(unread)
		return again.compare(standing, report)
	}
	first := compare
	if !e.machine() && e.exporter == nil {
		first = func(again *examination, report doctor.Report) error {
			for _, f := range report.Faults() {
				standing[f.ID()] = standingFinding{f, time.Now()}
			}
			for _, p := range again.c.Problems {
				unread[p.What] = true
			}
			return again.print(ctx, report, nil)
		}
	}
	if err := look(ctx, first); err != nil {
		return err
	}
	// What only the nodes know changes without a word: it is looked at now and then.
	l := lookout{pause: time.Duration(e.watch), after: time.Second, share: 10, cheap: e.watch == defaultWatch && e.exporter == nil}
	note := func(watch.Event) {}
	var moved atomic.Bool // nodes have come or gone
	if e.exporter != nil {
		l.share = 2 // most of a look is waiting, and an alert should not
		note = e.exporter.Event
	}
	opened := time.Now()
	touched := touches(followed)
	e.kept = snapshot.NewKept(touched.same)
	return e.keep(ctx, followed, l, touched, func(ev watch.Event) {
		if ev.Kind == watch.Chassis && ev.Action != "silent" && ev.Action != "caught-up" {
			moved.Store(true)
		}
		note(ev)
	}, func(ctx context.Context) error {
		if moved.Swap(false) || len(e.c.Problems) > 0 && time.Since(opened) > reopenAfter {
			e.reopen(ctx, followed)
			opened = time.Now()
		}
		return look(ctx, compare)
	})
}

// reopenAfter is how long what could not be opened is left alone.
const reopenAfter = time.Minute

// reopen finds the deployment anew: an open one has the nodes that there were. If it cannot be found, the old one shows why.
func (e *examination) reopen(ctx context.Context, followed *cluster.Cluster) {
	c, err := e.openToFix(ctx)
	if err != nil {
		return
	}
	e.choose(c)
	if e.c != followed {
		_ = e.c.Close()
	}
	e.c = c
}

// anew returns the examination of the deployment as it is now. Nodes that an earlier one did not reach are tried again.
func (e *examination) anew(ctx context.Context) *examination {
	again := *e
	again.c = e.c.Again()
	again.c.Problems, again.c.Notes = slices.Clone(e.c.Problems), e.c.Notes
	again.c.DropSilent(ctx)
	if scope, err := e.doctorOptions.scope(ctx, again.c, e.about); err == nil { // else its objects are gone: the old one finds that
		again.scope = scope
	}
	return &again
}

// compare prints what a report has that was not standing, and what it has no more.
func (e *examination) compare(standing map[doctor.ID]standingFinding, report doctor.Report) error {
	now := time.Now()
	found := map[doctor.ID]bool{}
	for _, f := range report.Faults() {
		found[f.ID()] = true
		if _, ok := standing[f.ID()]; ok {
			continue
		}
		standing[f.ID()] = standingFinding{f, now}
		if err := e.tell(now, appeared, standing[f.ID()]); err != nil {
			return err
		}
	}
	undecided := map[string]bool{}
	for _, f := range report.Findings {
		if f.Result == doctor.Unknown {
			undecided[f.Check] = true
		}
	}
	unread := e.unread()
	unseen := func(node string) bool { return slices.Contains(unread, node) }
	var gone []standingFinding
	for id, s := range standing {
		if !found[id] && !undecided[s.Check] && !slices.ContainsFunc(s.Nodes(), unseen) { // what cannot be decided now has not cleared
			delete(standing, id)
			gone = append(gone, s)
		}
	}
	slices.SortFunc(gone, func(a, b standingFinding) int { return strings.Compare(a.Check+a.Title, b.Check+b.Title) })
	for _, s := range gone {
		if err := e.tell(now, cleared, s); err != nil {
			return err
		}
	}
	return nil
}

// tellUnread says once of each source that it cannot be read. Known are those of which that was said.
func (e *examination) tellUnread(known map[string]bool) {
	now := map[string]bool{}
	for _, p := range e.c.Problems {
		if now[p.What] = true; !known[p.What] {
			fmt.Fprintf(e.stderr, "ovnctl: %s\n", render.Clean(problemText(p)))
		}
	}
	clear(known)
	maps.Copy(known, now)
}

// unread returns the names of the nodes that the examination could not reach.
func (e *examination) unread() []string {
	var names []string
	for _, p := range e.c.Problems {
		if p.Node != "" && e.looked.Host(p.Node) == nil {
			names = append(names, p.Node)
		}
	}
	if e.way != nil {
		for _, n := range e.looked.Far {
			names = append(names, n.Name)
		}
	}
	return names
}

// tell prints what became of a finding.
func (e *examination) tell(now time.Time, state string, s standingFinding) error {
	if e.machine() {
		return render.JSONLine(e.stdout, findingChange{
			document.APIVersion, "FindingChange", now.UTC().Truncate(time.Millisecond), state, s.since.UTC().Truncate(time.Millisecond), s.Finding,
		})
	}
	var b strings.Builder
	b.WriteString(now.Format(clock) + "  ")
	if state == cleared {
		fmt.Fprintf(&b, "cleared  %s (%s), since %s\n", render.Clean(s.Title), s.Check, s.since.Format(clock))
	} else {
		fmt.Fprintf(&b, "%s  %s (%s)\n", strings.ToUpper(string(s.Result)), render.Clean(s.Title), s.Check)
		for _, line := range []struct{ label, text string }{{"cause", s.Cause}, {"effect", s.Effect}, {"next", e.repairOf(s.Finding)}} {
			if line.text != "" {
				fmt.Fprintf(&b, "%*s%s: %s\n", len(clock)+2, "", line.label, render.Clean(line.text))
			}
		}
	}
	_, err := io.WriteString(e.stdout, b.String())
	return err
}

// repairOf returns what to do about a finding.
func (e *examination) repairOf(f doctor.Finding) string {
	if f.Fix != nil {
		return e.fixCommand(f.Fix)
	}
	return f.Next
}
