package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/document"
	"github.com/ovnctl/ovnctl/pkg/picture"
	"github.com/ovnctl/ovnctl/pkg/render"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

type topologyOptions struct {
	*options
	namespace                namespace
	logical, physical, drawn bool
}

func newTopology(root *options) *cobra.Command {
	show := newTopologyShow(root)
	cmd := newTopologyShow(root) // ovnctl topology, without a command, shows
	cmd.Use, cmd.Aliases = "topology", []string{"topo"}
	cmd.Short = "Show what the deployment is made of"
	cmd.AddCommand(show)
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		err := run(cmd, args)
		if name, ok := errors.AsType[*topology.NameError](err); ok && len(args) > 0 && len(name.Matches) == 0 {
			if near := nearCommands(cmd, args[0]); near != "" { // no NAME, but a command
				err = fmt.Errorf("%w\nhint: did you mean %s?", err, near)
			}
		}
		return err
	}
	return cmd
}

func newTopologyShow(root *options) *cobra.Command {
	o := &topologyOptions{options: root}
	cmd := &cobra.Command{
		Use:   "show [NAME...]",
		Short: "Show the logical and the physical network",
		Long: `show joins the Northbound, the Southbound and the Open_vSwitch database of every
node that can be read: switches, routers and ports with their addresses; which
chassis holds each port and each gateway, and which should; load balancers, NAT,
routes and policies; tunnels, bridges and uplinks; and why a port or tunnel is
down. Any of the databases may be missing.

With names it shows only these, in all detail, and what is around them. A NAME
is that of a switch, router, port, chassis, node, bridge, service or load
balancer, NAMESPACE/POD, an address, or the first four or more digits of a UUID;
where it could be several, write TYPE/NAME: switch, router, lsp, lrp, pod, vm,
node, bridge, svc, lb. Objects of a CMS have types, too: ns/shop,
netpol/bank/deny, egressip/exit, udn/blue/net, network/UUID, sg/UUID, fip/UUID,
vpc/NAME and more: docs/topology.md lists them.

Output formats: ` + strings.Join(render.TopologyFormats, ", ") + `.
` + exitStatusHelp,
		Example: `  ovnctl topology show
  ovnctl topology show shop/web-1
  ovnctl topology show node:node2 -o wide
  ovnctl topology show --map
  ovnctl topology show -o svg > network.svg
  ovnctl topology show --logical -o dot | dot -Tsvg > network.svg`,
		ValidArgsFunction: o.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), o.namespace.objects(args))
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.namespace.addFlag(f)
	f.BoolVar(&o.logical, "logical", false, "leave out chassis, nodes, bridges and tunnels")
	f.BoolVar(&o.physical, "physical", false, "only chassis, nodes, bridges, tunnels and the ports they hold")
	f.BoolVar(&o.drawn, "map", false, "draw it in characters: for up to four chassis; -o svg draws any number")
	cmd.MarkFlagsMutuallyExclusive("logical", "physical")
	return cmd
}

func (o *topologyOptions) run(ctx context.Context, names []string) (err error) {
	format, err := o.format(render.TopologyFormats...)
	if err != nil {
		return err
	}
	if o.drawn && format != render.TopologyFormats[0] {
		return usageError{fmt.Errorf("--map draws in characters and -o %s is another format: give one of the two", format)}
	}
	c, g, err := o.read(ctx, format == "tree" && len(names) == 0)
	if err != nil {
		return err
	}
	defer o.close(c, &err)
	shown, focus, notes, err := o.choose(g, names)
	if err != nil {
		o.warn(c)
		return namesError(err, c)
	}
	notes = append(slices.Clone(c.Notes), notes...)
	doc := &topology.Document{
		Envelope: document.New("Topology", c.Source(), slices.Concat(problemTexts(c), g.Notes, notes)),
		Topology: shown,
	}
	if o.showCommands {
		doc.Commands = topologyCommands(g)
	}
	view := render.TopologyView{From: sources(c), Notes: append(slices.Clone(g.Notes), notes...), Focus: focus, Labels: g.Labels(), Page: o.pageOf(c, "Topology")}
	if format == "md" {
		view.Notes = doc.Notes // pasted without standard error
	}
	o.warn(c) // first, as the reader may cut off the output
	if o.drawn {
		err = o.printMap(&shown)
	} else if err = render.Topology(o.stdout, o.style(o.stdout), format, doc, view); err != nil {
		err = fmt.Errorf("standard output: %w", err)
	}
	if err != nil {
		return err
	}
	if len(c.Problems) > 0 || g.Failed() {
		return verdict(exitUnknown)
	}
	return nil
}

// printMap draws a deployment in characters, if it is small enough.
func (o *topologyOptions) printMap(t *topology.Topology) error {
	if n := len(t.Chassis); n > picture.MostColumns {
		return usageError{fmt.Errorf("--map draws up to %d chassis and there are %d\nhint: name some of them, or draw a picture: ovnctl topology show -o svg", picture.MostColumns, n)}
	}
	if err := render.TopologyMap(o.stdout, o.style(o.stdout), t); err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	return nil
}

// read opens the deployment and reads all of it, in brief what the tree of a whole topology shows.
func (o *topologyOptions) read(ctx context.Context, brief bool) (*cluster.Cluster, *topology.Graph, error) {
	defer o.patience(ctx)()
	c, err := o.openDatabases(ctx)
	if err != nil {
		return nil, nil, err
	}
	c.Gather(ctx)
	load := topology.Load
	if brief {
		load = func(ctx context.Context, s topology.Source) (*topology.Graph, error) {
			return topology.LoadBrief(ctx, s, render.FewServices)
		}
	}
	g, err := load(ctx, c)
	if err = cmp.Or(ctx.Err(), err); err != nil {
		_ = c.Close()
		return nil, nil, unknownError{err}
	}
	return c, g, nil
}

// patience prints after a second which source is being waited for, unless stop is called first: a silent one takes
// until the timeout.
func (o *options) patience(ctx context.Context) (stop func()) {
	if o.offline != "" {
		return func() {}
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	var wg sync.WaitGroup
	wg.Go(func() {
		<-ctx.Done()
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			fmt.Fprintf(o.stderr, "ovnctl: waiting up to %s for each source (-t SECONDS changes that)\n", o.timeout)
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}

// choose returns the part of the graph that names and flags select, the UUIDs of named objects, and notes on the
// selection.
func (o *topologyOptions) choose(g *topology.Graph, names []string) (shown topology.Topology, focus, notes []string, err error) {
	shown = g.Topology
	if len(names) > 0 {
		var matches []topology.Match
		for _, name := range names {
			found, err := g.Resolve(name, topology.Objects...)
			if err != nil {
				return shown, nil, nil, err
			}
			if several(found) {
				return shown, nil, nil, &topology.NameError{Text: name, Matches: found}
			}
			if len(found) > 1 {
				notes = append(notes, name+" is "+strings.Join(matchNames(found), " and "))
			}
			for _, m := range found {
				focus = append(focus, m.UUIDs()...)
			}
			matches = append(matches, found...)
		}
		shown = g.Narrow(matches...)
	}
	switch {
	case o.logical:
		shown = shown.Logical()
	case o.physical:
		shown = shown.Physical()
	}
	return shown, focus, notes, nil
}

// several reports whether two matches are of one kind: a switch and a node of one name are shown together, but two pods
// are ambiguous.
func several(matches []topology.Match) bool {
	seen := map[topology.Kind]bool{}
	for _, m := range matches {
		if seen[m.Kind] {
			return true
		}
		seen[m.Kind] = true
	}
	return false
}

func matchNames(matches []topology.Match) []string {
	var out []string
	for _, m := range matches {
		out = append(out, m.Name)
	}
	return out
}

// namesError is the user's mistake, unless an unreadable database may have the name.
func namesError(err error, c *cluster.Cluster) error {
	var name *topology.NameError
	if !errors.As(err, &name) || len(name.Matches) == 0 && len(c.Problems) > 0 {
		return unknownError{err}
	}
	return usageError{err}
}

// warn prints to standard error what could not be read.
func (o *options) warn(c *cluster.Cluster) {
	for _, text := range problemTexts(c) {
		fmt.Fprintf(o.stderr, "ovnctl: %s\n", render.Clean(text))
	}
}

// partly returns the verdict on an answer that rests on a part of this host's zone.
func partly(c *cluster.Cluster) error {
	if slices.ContainsFunc(c.Problems, func(p cluster.Problem) bool { return !p.OtherZone }) {
		return verdict(exitUnknown)
	}
	return nil
}

func problemText(p cluster.Problem) string {
	if p.Next == "" {
		return p.Error()
	}
	return p.Error() + " (" + p.Next + ")"
}

func problemTexts(c *cluster.Cluster) []string {
	var out []string
	for _, p := range c.Problems {
		out = append(out, problemText(p))
	}
	return out
}

// mostNamed is how many nodes are named as a source; of more, the number is.
const mostNamed = 20

// sources lists what was read.
func sources(c *cluster.Cluster) []string {
	s := c.Source()
	var out []string
	nodes := strings.Join(s.Nodes, ", ")
	if len(s.Nodes) > mostNamed {
		nodes = strconv.Itoa(len(s.Nodes))
	}
	for _, part := range []struct{ what, where string }{{"Northbound", s.NB}, {"Southbound", s.SB}, {"nodes", nodes}} {
		if part.where != "" {
			out = append(out, part.what+": "+part.where)
		}
	}
	if s.Stale {
		out = append(out, "stale: a database is cut off from its cluster")
	}
	return out
}

// topologyCommands are the classic commands that show what the graph was built from.
func topologyCommands(g *topology.Graph) []string {
	var out []string
	if len(g.Switches)+len(g.Routers) > 0 {
		out = append(out, "ovn-nbctl show", "ovn-nbctl lb-list", "ovn-nbctl lr-route-list ROUTER", "ovn-nbctl lr-nat-list ROUTER", "ovn-nbctl lr-policy-list ROUTER")
	}
	if len(g.Topology.Chassis) > 0 {
		out = append(out, "ovn-sbctl show")
	}
	if len(g.Nodes) > 0 {
		out = append(out, "ovs-vsctl show", "ovs-vsctl list Interface")
	}
	return out
}

// completionTime is how long a shell waits for names.
const completionTime = 2 * time.Second

// complete offers the names of everything that can be shown.
func (o *topologyOptions) complete(cmd *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return o.completeNames(cmd, word, topology.Objects...)
}

// completeNodes offers the nodes.
func (o *options) completeNodes(cmd *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return o.completeNames(cmd, word, topology.KindNode)
}

// completeNames offers names of these kinds that begin with word.
func (o *options) completeNames(cmd *cobra.Command, word string, kinds ...topology.Kind) ([]cobra.Completion, cobra.ShellCompDirective) {
	return o.completeFrom(cmd, func(ctx context.Context, c *cluster.Cluster) []string {
		g, err := topology.Load(ctx, c)
		if err != nil {
			return nil
		}
		return g.Completions(word, kinds...)
	})
}

// completeFrom offers names that are found in the databases alone: nodes take too long.
func (o *options) completeFrom(cmd *cobra.Command, names func(context.Context, *cluster.Cluster) []string) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	o.timeout = min(o.timeout, completionTime)
	c, err := o.open(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer c.Close()
	var out []cobra.Completion
	for _, name := range names(ctx, c) {
		if name == render.Clean(name) {
			out = append(out, name)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
