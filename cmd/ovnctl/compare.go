package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/compare"
	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/document"
	"github.com/ovnctl/ovnctl/pkg/render"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// live is the source that is not a capture.
const live = "live"

type compareOptions struct {
	*options
	only    []string
	all     bool
	verbose bool
	path    bool
	packet  *traceOptions // for path
}

func newCompare(root *options) *cobra.Command {
	o := &compareOptions{options: root, packet: &traceOptions{options: root}}
	var groups []string
	for _, g := range compare.Groups {
		groups = append(groups, string(g))
	}
	cmd := &cobra.Command{
		Use:   "compare A B [--path FROM TO]",
		Short: "Show what differs between two states, of which either may be live",
		Long: `compare shows what differs between A and B, the later one: chassis, releases,
bridges and addresses of the nodes, where ports are bound, the configuration,
what was learned, and the flows, by what they were made for. Each is what
--offline takes (a capture, sosreport, must-gather, directory or database file)
or the word live (./live is a file of that name).

Rows that were re-created are matched by name. What changes all the time, such
as counters and timestamps, is left out unless --all is given. What was not read
on one side is listed, and is not a difference.

--path FROM TO compares what becomes of one packet, where its paths diverge and
which differences are behind it; the packet is given as for ovnctl trace.
` + exitStatusHelp,
		Example: `  ovnctl compare yesterday.tar.zst live --via ssh
  ovnctl compare before.tar.zst after.tar.zst
  ovnctl compare before.tar.zst live --only configuration,bindings -o md
  ovnctl compare before.tar.zst after.tar.zst --only openflow -o wide
  ovnctl compare record@09:12 record@09:20 --path shop/client shop/web-2`,
		Args: func(cmd *cobra.Command, args []string) error {
			if o.path {
				return cobra.ExactArgs(4)(cmd, args)
			}
			return cobra.ExactArgs(2)(cmd, args)
		},
		ValidArgsFunction: o.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.path {
				return o.runPath(cmd.Context(), args)
			}
			return o.run(cmd.Context(), args[0], args[1])
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringSliceVar(&o.only, "only", nil, "only these `groups`, comma separated: "+strings.Join(groups, ", "))
	f.BoolVar(&o.all, "all", false, "also compare counters, timestamps and every flow")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "rows as the databases have them, instead of the words of the CMS: -o wide")
	f.BoolVar(&o.path, "path", false, "compare the paths of a packet, FROM and TO")
	o.packet.addPacket(cmd)
	_ = cmd.RegisterFlagCompletionFunc("only", cobra.FixedCompletions(groups, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (o *compareOptions) run(ctx context.Context, pathA, pathB string) (err error) {
	format, err := o.format(render.CompareFormats...)
	if err != nil {
		return err
	}
	if o.verbose && format == "table" {
		format = "wide"
	}
	only, err := o.groups()
	if err != nil {
		return err
	}
	switch {
	case o.offline != "":
		return usageError{errors.New("compare takes both sources as arguments: leave --offline out")}
	case pathA == live && pathB == live:
		return usageError{errors.New("both sides are live: there is nothing to compare\nhint: ovnctl capture FILE saves a state")}
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
	result, err := compare.Run(ctx, a, b, compare.Options{Only: only, All: o.all, Namer: o.namer})
	if err != nil {
		return err
	}
	unread := o.warnBoth(a, b)
	doc := compare.Document{
		Envelope: document.New("Comparison", b.Source(), notesOfBoth(a, b)),
		A:        side(pathA, a.Source(), nil), B: side(pathB, b.Source(), nil),
		Comparison: *result,
	}
	view := render.CompareView{Page: optionsB.pageOf(b, "Two states")}
	if format == "html" {
		if view.Before, err = drawnTopology(ctx, a); err != nil {
			return err
		}
	}
	if format == "html" || format == "svg" {
		if view.After, err = drawnTopology(ctx, b); err != nil {
			return err
		}
	}
	if err := render.Compare(o.stdout, o.style(o.stdout), format, doc, view); err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	switch {
	case !result.Equal:
		return verdict(exitFound)
	case unread:
		return verdict(exitUnknown)
	}
	return nil
}

func drawnTopology(ctx context.Context, c *cluster.Cluster) (*topology.Topology, error) {
	g, err := topology.Load(ctx, c)
	if err != nil {
		return nil, unknownError{err}
	}
	return &g.Topology, nil
}

// runPath compares the paths of a packet in the two states.
func (o *compareOptions) runPath(ctx context.Context, args []string) error {
	if o.offline != "" {
		return usageError{errors.New("compare takes both sources as arguments: leave --offline out")}
	}
	return o.packet.runAgainst(ctx, args[0], args[1], o.packet.namespace.name(args[2]), o.packet.namespace.name(args[3]))
}

// complete offers the moments of records as sources, then the ends of a path.
func (o *compareOptions) complete(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	switch {
	case len(args) < 2:
		return completeOffline(cmd, args, word)
	case o.path && len(args) < 4:
		saved := *o.options
		saved.offline = args[1]
		return saved.completeNames(cmd, word, topology.Endpoints...)
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

func side(path string, source cluster.Source, simulated []string) compare.Side {
	source.Simulated = simulated
	return compare.Side{Path: path, Source: source, Time: source.Time}
}

func (o *compareOptions) groups() ([]compare.Group, error) {
	var groups []compare.Group
	for _, name := range o.only {
		if !slices.Contains(compare.Groups, compare.Group(name)) {
			return nil, usageError{fmt.Errorf("--only %q: expected some of %v", name, compare.Groups)}
		}
		groups = append(groups, compare.Group(name))
	}
	return groups, nil
}

// namer names the numbers in a node's flows.
func (o *options) namer(ctx context.Context, c *cluster.Cluster, n *cluster.Node) (*decode.Namer, error) {
	ch, err := o.chassis(ctx, c, n.Name)
	if err != nil {
		return nil, err
	}
	return ch.namer(ctx), nil
}

// at returns the options for one of two sources: a capture at a path, or live.
func (o *options) at(source string) *options {
	side := *o
	side.offline = ""
	if source != live {
		side.offline = source
		side.nb, side.sb, side.ovs, side.nodeExec, side.via, side.way, side.record = "", "", "", "", "", nil, ""
	}
	return &side
}

// warnBoth prints what could not be read on either side, and reports whether there was any.
func (o *options) warnBoth(a, b *cluster.Cluster) bool {
	for _, side := range []struct {
		name string
		c    *cluster.Cluster
	}{{"A", a}, {"B", b}} {
		for _, text := range problemTexts(side.c) {
			fmt.Fprintf(o.stderr, "ovnctl: %s: %s\n", side.name, render.Clean(text))
		}
	}
	return len(a.Problems)+len(b.Problems) > 0
}

// notesOfBoth returns the notes of both sides, each with its name.
func notesOfBoth(a, b *cluster.Cluster) []string {
	var notes []string
	for _, n := range a.Notes {
		notes = append(notes, "A: "+n)
	}
	for _, n := range b.Notes {
		notes = append(notes, "B: "+n)
	}
	return notes
}
