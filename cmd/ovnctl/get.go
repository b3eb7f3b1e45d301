package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/document"
	"github.com/ovnctl/ovnctl/pkg/inventory"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/render"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

type getOptions struct {
	*options
	namespace string
	all       bool
	selector  string
	view      render.ListView
}

func newGet(root *options) *cobra.Command {
	o := &getOptions{options: root}
	cmd := &cobra.Command{
		Use:   "get KIND [NAME...]",
		Short: "List pods, ports, switches, rules, tunnels and more",
		Long: `get lists the objects of one kind, a line each, and reads only what that takes.

Kinds, each with a short name, and what is listed:
` + kindsHelp() + `
A NAME is what the first column says, a name of the databases, the first four or
more digits of a UUID, NAMESPACE/, or a pattern as shop/web-*. Ports, ACLs, NAT,
routes and policies also go by what they are on and what they were made for;
interfaces by bridge and node. KIND/NAME is one object.

-o takes kubectl's formats: wide, name, json, yaml, jsonpath=TEMPLATE and
custom-columns=HEADER:PATH,…; md is for a ticket. docs/json.md has the fields.
` + exitStatusHelp,
		Example: `  ovnctl get pods -n shop
  ovnctl get ports node1 -o wide
  ovnctl get acls --columns for,action,match --sort-by priority
  ovnctl get pods -o custom-columns=POD:.pod,IP:.addresses[0]
  ovnctl get svc -o jsonpath='{range .items[*]}{.service}{"\n"}{end}'`,
		ValidArgsFunction: o.complete,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.run(cmd.Context(), args)
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVarP(&o.namespace, "namespace", "n", "", "only what is in this Kubernetes `namespace`, or was made for objects in it")
	f.BoolVarP(&o.all, "all-namespaces", "A", false, "all namespaces: the default")
	f.StringVarP(&o.selector, "selector", "l", "", "only what has these external_ids: `KEY`=VALUE, KEY!=VALUE, KEY, !KEY, KEY in (A, B)")
	f.StringSliceVar(&o.view.Columns, "columns", nil, "show these `columns`, by their headers; also those of -o wide")
	f.StringVar(&o.view.SortBy, "sort-by", "", "sort by a `column`, or by a JSONPath as .tunnelKey")
	f.BoolVar(&o.view.NoHeaders, "no-headers", false, "without the line of headers")
	cmd.MarkFlagsMutuallyExclusive("namespace", "all-namespaces")
	for _, flag := range []string{"columns", "sort-by"} {
		if err := cmd.RegisterFlagCompletionFunc(flag, completeColumns); err != nil {
			panic(err) // the flags are added above
		}
	}
	return cmd
}

// kindsHelp lists the kinds for the help.
func kindsHelp() string {
	var b strings.Builder
	for _, k := range inventory.Kinds {
		fmt.Fprintf(&b, "  %-11s %-10s %s\n", k.Name, k.Aliases[0], k.About)
	}
	return b.String()
}

func kindNames() []string {
	var names []string
	for _, k := range inventory.Kinds {
		names = append(names, k.Name)
	}
	return names
}

// kindAndNames takes apart what follows get.
func kindAndNames(args []string) (*inventory.Kind, []string, error) {
	if len(args) == 0 {
		return nil, nil, usageError{fmt.Errorf("what to list is missing\nhint: ovnctl get %s", strings.Join(kindNames(), "|"))}
	}
	name, one, isOne := strings.Cut(args[0], "/")
	names := args[1:]
	if isOne {
		names = append([]string{one}, names...)
	}
	if k := inventory.KindOf(name); k != nil {
		return k, names, nil
	}
	hint := "ovnctl get " + strings.Join(kindNames(), "|")
	if near := topology.NearestNames(strings.ToLower(name), kindNames()); len(near) > 0 {
		hint = "did you mean ovnctl get " + strings.Join(near, " or ovnctl get ") + "?"
	}
	return nil, nil, usageError{fmt.Errorf("%q is not a kind of object\nhint: %s", name, hint)}
}

func (o *getOptions) run(ctx context.Context, args []string) (err error) {
	kind, names, err := kindAndNames(args)
	if err != nil {
		return err
	}
	format, err := o.listFormat()
	if err != nil {
		return err
	}
	selector, err := inventory.ParseSelector(o.selector)
	if err != nil {
		return usageError{err}
	}
	stop := o.patience(ctx)
	c, err := o.openDatabases(ctx)
	if err != nil {
		stop()
		return err
	}
	defer o.close(c, &err)
	nodes := kind.Nodes || kind.Attached && format != "table" && format != "name" && format != "md"
	if nodes {
		c.Gather(ctx)
	}
	g, err := topology.Load(ctx, &part{Cluster: c, southbound: kind.Southbound, nodes: nodes})
	stop()
	if err != nil {
		return unknownError{err}
	}
	o.warn(c)
	items, err := o.choose(g, kind, names, selector)
	if err != nil {
		return namesError(err, c)
	}
	doc := &inventory.Document{
		Envelope: document.New("List", c.Source(), slices.Concat(problemTexts(c), g.Notes, c.Notes)), Of: kind.Name, Items: []any{},
	}
	o.view.Labels = g.Labels()
	err = render.List(o.stdout, o.style(o.stdout), format, kind, items, doc, &g.Topology, o.view)
	var wrong render.ViewError
	switch {
	case errors.As(err, &wrong):
		return usageError{err}
	case err != nil:
		return fmt.Errorf("standard output: %w", err)
	}
	if len(items) == 0 && !o.machine() {
		fmt.Fprintf(o.stderr, "ovnctl: no %s%s\n%s", kind.Name, o.restriction(), o.otherWorkloads(g, kind))
	}
	if len(c.Problems) > 0 || g.Failed() {
		return verdict(exitUnknown)
	}
	return nil
}

// listFormat returns the output format; two of them have a template behind them.
func (o *getOptions) listFormat() (string, error) {
	for _, f := range render.ListFormats {
		if template, ok := strings.CutPrefix(o.output, f); ok && strings.HasSuffix(f, "=") {
			if template == "" {
				return "", usageError{fmt.Errorf("output format %s is followed by a template", f)}
			}
			return o.output, nil
		}
	}
	return o.format(render.ListFormats...)
}

// restriction says by what the list was restricted.
func (o *getOptions) restriction() string {
	text := ""
	if o.namespace != "" {
		text += " in namespace " + render.Clean(o.namespace)
	}
	if o.selector != "" {
		text += " with " + render.Clean(o.selector)
	}
	return text
}

// otherWorkloads names the list that has the workloads of a deployment without pods, or without VMs.
func (o *getOptions) otherWorkloads(g *topology.Graph, kind *inventory.Kind) string {
	workloads := []string{"pods", "vms", "ports"}
	if !slices.Contains(workloads, kind.Name) || o.restriction() != "" {
		return ""
	}
	for _, name := range workloads {
		if n := len(inventory.KindOf(name).Items(g)); n > 0 {
			return fmt.Sprintf("hint: %s lists %d\n", o.withSource("ovnctl get "+name), n)
		}
	}
	return ""
}

// choose returns the items with the names, in the namespace, that the selector selects.
func (o *getOptions) choose(g *topology.Graph, kind *inventory.Kind, names []string, selector inventory.Selector) ([]inventory.Item, error) {
	all := kind.Items(g)
	called := make([]bool, len(names))
	var out []inventory.Item
	for _, i := range all {
		if o.namespace != "" && i.Namespace != o.namespace {
			continue
		}
		named := len(names) == 0
		for n, name := range names {
			if i.Called(name) || o.namespace != "" && i.Called(o.namespace+"/"+name) {
				named, called[n] = true, true
			}
		}
		if named && selector.Selects(i.Labels) {
			out = append(out, i)
		}
	}
	if n := slices.Index(called, false); n >= 0 {
		var known []string
		for _, i := range all {
			known = append(known, i.Name)
		}
		return nil, &topology.NameError{Text: names[n], Nearest: topology.NearestNames(names[n], known)}
	}
	return out, nil
}

// complete offers kinds, then the names of objects of the kind.
func (o *getOptions) complete(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 {
		var out []cobra.Completion
		for _, k := range inventory.Kinds {
			out = append(out, cobra.CompletionWithDesc(k.Name, k.About))
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
	kind := inventory.KindOf(args[0])
	if kind == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return o.completeFrom(cmd, func(ctx context.Context, c *cluster.Cluster) []string {
		g, err := topology.Load(ctx, &part{Cluster: c, southbound: kind.Southbound, nodes: kind.Nodes})
		if err != nil {
			return nil
		}
		var names []string
		for _, i := range kind.Items(g) {
			if strings.HasPrefix(i.Name, word) {
				names = append(names, i.Name)
			}
		}
		return slices.Compact(names)
	})
}

func completeColumns(_ *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	kind := inventory.KindOf(args[0])
	if kind == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	before := word[:strings.LastIndex(word, ",")+1]
	var out []cobra.Completion
	for _, c := range render.ListColumns(kind) {
		out = append(out, before+strings.ToLower(strings.ReplaceAll(c, " ", "-")))
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// A part of a cluster is what a list of one kind takes.
type part struct {
	*cluster.Cluster
	southbound, nodes bool
}

// EachZone leaves out a Southbound that is not needed, unless there is nothing else.
func (p *part) EachZone(f func(name string, north, south ovsdb.Reader)) {
	p.Cluster.EachZone(func(name string, north, south ovsdb.Reader) {
		if north != nil && !p.southbound {
			south = nil
		}
		f(name, north, south)
	})
}

// EachNode leaves out the nodes if they are not needed.
func (p *part) EachNode(f func(name, zone string, vswitch ovsdb.Reader)) {
	if p.nodes {
		p.Cluster.EachNode(f)
	}
}
