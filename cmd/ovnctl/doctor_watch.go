package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/document"
	"github.com/ovnctl/ovnctl/pkg/render"
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

// keepExamining runs the checks again and again, and prints which findings appear and clear.
func (e *examination) keepExamining(ctx context.Context) error {
	report, err := e.examine(ctx)
	if err != nil {
		return err
	}
	standing := map[doctor.ID]standingFinding{}
	if e.machine() {
		err = e.compare(standing, report)
	} else {
		for _, f := range faults(report.Findings) {
			standing[f.ID()] = standingFinding{f, time.Now()}
		}
		err = e.print(ctx, report, nil)
	}
	if err != nil {
		return err
	}
	// What only the nodes know changes without a word: it is looked at now and then.
	l := lookout{pause: time.Duration(e.watch), after: time.Second, share: 10}
	return e.keep(ctx, e.c, l, func(watch.Event) {}, func(ctx context.Context) error {
		again := *e
		again.c = e.c.Again()
		if scope, err := e.doctorOptions.scope(ctx, again.c, e.about); err == nil { // else its objects are gone: the old one finds that
			again.scope = scope
		}
		report, err := again.examine(ctx)
		if err != nil {
			return err
		}
		return e.compare(standing, report)
	})
}

// faults returns all faults among findings, each before its consequences.
func faults(findings []doctor.Finding) []doctor.Finding {
	var all []doctor.Finding
	for _, f := range findings {
		if f.Result.Fault() {
			all = append(all, f)
		}
		all = append(all, faults(f.Consequences)...)
	}
	return all
}

// compare prints what a report has that was not standing, and what it has no more.
func (e *examination) compare(standing map[doctor.ID]standingFinding, report doctor.Report) error {
	now := time.Now()
	found := map[doctor.ID]bool{}
	for _, f := range faults(report.Findings) {
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
	var gone []standingFinding
	for id, s := range standing {
		if !found[id] && !undecided[s.Check] { // what cannot be decided now has not cleared
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
