package main

import (
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
func (o *traceOptions) runAgainst(ctx context.Context, pathA, pathB, from, to string) (err error) {
	format, err := o.format(render.PathsFormats...)
	if err != nil {
		return err
	}
	switch {
	case o.observe > 0:
		return usageError{errors.New("--observe needs one live deployment and --against compares two: give one of the two")}
	case pathA == live && pathB == live:
		return usageError{errors.New("both sides are live: there is nothing to compare\nhint: give --offline FILE, or --against FILE, as ovnctl capture writes it")}
	}
	optionsA, optionsB := o.at(pathA), o.at(pathB)
	a, err := optionsA.open(ctx)
	if err != nil {
		return err
	}
	defer optionsA.close(a, &err)
	b, err := optionsB.open(ctx)
	if err != nil {
		return err
	}
	defer optionsB.close(b, &err)
	paths, notes, err := o.paths(ctx, state{pathA, a}, state{pathB, b}, from, to)
	if err != nil {
		return err
	}
	doc := compare.PathsDocument{Envelope: document.New("Ways", paths.B.Source, notes), Paths: *paths, From: from, To: to}
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

// A state is an open deployment, and its name for people.
type state struct {
	path    string
	cluster *cluster.Cluster
}

// paths traces the packet in two states and compares its paths, with notes on what was not read.
func (o *traceOptions) paths(ctx context.Context, a, b state, from, to string) (*compare.Paths, []string, error) {
	var p compare.Paths
	var notes []string
	for _, s := range []struct {
		name string
		state
		trace **journey.Trace
	}{{"A", a, &p.TraceA}, {"B", b, &p.TraceB}} {
		side := *o
		side.options = o.at(s.path)
		t, some, err := side.follow(ctx, s.cluster, from, to)
		if err != nil {
			o.warn(s.cluster)
			return nil, nil, fmt.Errorf("%s, %s: %w", s.name, s.path, err)
		}
		*s.trace = t
		for _, n := range some {
			notes = append(notes, s.name+": "+n)
		}
	}
	return &p, notes, differ(ctx, &p, a, b)
}

// differ compares the paths that were traced in two states.
func differ(ctx context.Context, p *compare.Paths, a, b state) error {
	differs, err := compare.Run(ctx, a.cluster, b.cluster, compare.Options{
		Only: []compare.Group{compare.Nodes, compare.Bindings, compare.Configuration, compare.Learned}, Near: true,
	})
	if err != nil {
		return err
	}
	p.PathDifference = *compare.DiffPaths(p.TraceA, p.TraceB, differs.Changes)
	p.A, p.B = side(a.path, a.cluster.Source(), p.TraceA.Simulated), side(b.path, b.cluster.Source(), p.TraceB.Simulated)
	return nil
}
