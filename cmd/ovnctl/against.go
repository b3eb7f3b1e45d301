package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/compare"
	"github.com/ovnctl/ovnctl/pkg/document"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/render"
)

// runAgainst traces the packet in two states and reports where the paths diverge.
func (o *traceOptions) runAgainst(ctx context.Context, from, to string) (err error) {
	format, err := o.format(render.PathsFormats...)
	if err != nil {
		return err
	}
	pathA, pathB := cmp.Or(o.offline, live), o.against
	switch {
	case o.observe > 0:
		return usageError{errors.New("--observe needs one live deployment and --against compares two: give one of the two")}
	case pathA == live && pathB == live:
		return usageError{errors.New("both sides are live: there is nothing to compare\nhint: give --offline FILE, or --against FILE, as ovnctl capture writes it")}
	}
	sideA, sideB := *o, *o
	sideA.options, sideB.options = o.at(pathA), o.at(pathB)
	a, err := sideA.open(ctx)
	if err != nil {
		return err
	}
	defer sideA.close(a, &err)
	b, err := sideB.open(ctx)
	if err != nil {
		return err
	}
	defer sideB.close(b, &err)
	doc := compare.PathsDocument{From: from, To: to}
	var notes []string
	for _, s := range []struct {
		name, path string
		*traceOptions
		cluster *cluster.Cluster
		trace   **journey.Trace
	}{{"A", pathA, &sideA, a, &doc.TraceA}, {"B", pathB, &sideB, b, &doc.TraceB}} {
		t, some, err := s.follow(ctx, s.cluster, from, to)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", s.name, s.path, err)
		}
		*s.trace = t
		for _, n := range some {
			notes = append(notes, s.name+": "+n)
		}
	}
	differs, err := compare.Run(ctx, a, b, compare.Options{
		Only: []compare.Group{compare.Nodes, compare.Bindings, compare.Configuration, compare.Learned}, Near: true,
	})
	if err != nil {
		return err
	}
	doc.PathDifference = *compare.DiffPaths(doc.TraceA, doc.TraceB, differs.Changes)
	doc.A, doc.B = side(pathA, a.Source(), doc.TraceA.Simulated), side(pathB, b.Source(), doc.TraceB.Simulated)
	doc.Envelope = document.New("Ways", doc.B.Source, notes)
	unread := o.warnBoth(a, b)
	if err := render.Paths(o.stdout, o.style(o.stdout), format, doc); err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	unknown := doc.TraceA.Verdict.Outcome == journey.Unknown || doc.TraceB.Verdict.Outcome == journey.Unknown
	switch {
	case unknown:
		return verdict(exitUnknown)
	case !doc.PathDifference.Same:
		return verdict(exitFound)
	case unread:
		return verdict(exitUnknown)
	}
	return nil
}
