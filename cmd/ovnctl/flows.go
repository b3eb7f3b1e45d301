package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/desired"
	"github.com/ovnctl/ovnctl/pkg/document"
	"github.com/ovnctl/ovnctl/pkg/flowtable"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/release"
	"github.com/ovnctl/ovnctl/pkg/render"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace/cause"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

type flowsOptions struct {
	*options
	node, bridge     string
	table            tableNumber
	stage, port, pod string
	cookie           cookie
	object           string
	drops, datapath  bool
	expected         bool
	sort             string
	top              int
	watch            watchInterval
	show             flowtable.Filter
}

func newFlows(root *options) *cobra.Command {
	o := &flowsOptions{options: root}
	cmd := &cobra.Command{
		Use:   "flows",
		Short: "Show the OpenFlow flows of a bridge and what each was made for",
		Long: `flows lists the flows of a node's integration bridge with their logical flows
and Northbound objects: packets, stage, what happens to a packet that matches,
what the flow was made for, and its match with names. Flows that have dropped
packets come first, the busiest at the top.

--expected compiles the logical flows as ovn-controller does and shows what it
would install beside what is installed; flows that differ come first. Flows of
ovn-controller's own tables are left out: other rows are their origin.

--datapath shows the cache of the OVS datapath instead: its hit rate, and its
megaflows with the OpenFlow flows that each came from (one ofproto/trace per
megaflow).
` + exitStatusHelp,
		Example: `  ovnctl flows --drops
  ovnctl flows --pod shop/web-1 --sort packets --top 20
  ovnctl flows --object 'NetworkPolicy bank/deny-all' --watch
  ovnctl flows --stage ls_out_acl -o wide
  ovnctl flows --node node2 --via ssh --cookie 0xf4099249
  ovnctl flows --expected --stage ls_in_acl
  ovnctl flows --datapath --top 5`,
		Args: func(cmd *cobra.Command, args []string) error {
			args = o.watch.take(cmd, args)
			if len(args) == 1 && !cmd.Flags().Changed("watch") && !number(args[0]) {
				return fmt.Errorf("flows takes no argument\nhint: %s shows a bridge", cause.Shell("ovnctl", "flows", "--bridge", args[0]))
			}
			return cobra.NoArgs(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.node, "node", "", "the `node` (default this one, or the only one)")
	f.StringVar(&o.bridge, "bridge", "", "the `bridge` (default the integration bridge)")
	o.table = -1
	f.Var(&o.table, "table", "only flows of this OpenFlow table `number`")
	f.StringVar(&o.stage, "stage", "", "only flows of this `stage`, such as ls_in_acl, or of a table of ovn-controller, such as local_output")
	f.StringVar(&o.port, "port", "", "only flows that match on, send to or were made for the logical port or interface of this `name`")
	f.StringVar(&o.pod, "pod", "", "the same for the pod `NAMESPACE/POD`")
	f.Var(&o.cookie, "cookie", "only flows with this cookie, `hexadecimal`")
	f.StringVar(&o.object, "object", "", "only flows made for this object: TYPE/`name`, part of its name or owner, or the start of its UUID")
	f.BoolVar(&o.drops, "drops", false, "only flows that drop")
	f.StringVar(&o.sort, "sort", "", "`order`: "+strings.Join(flowtable.Orders(), ", ")+" (default trouble: flows that drop packets first)")
	f.IntVar(&o.top, "top", 0, "show only the first `number` (default all; with --datapath or --watch 20)")
	f.Var(&o.watch, "watch", "repeat every `seconds`, with packets per second, until interrupted")
	f.Lookup("watch").NoOptDefVal = "2"
	f.BoolVar(&o.expected, "expected", false, "show what ovn-controller would install beside what is installed")
	f.BoolVar(&o.datapath, "datapath", false, "show the datapath's cache and the flows that its megaflows came from")
	cmd.MarkFlagsMutuallyExclusive("table", "stage")
	cmd.MarkFlagsMutuallyExclusive("port", "pod")
	for _, name := range []string{"bridge", "table", "stage", "port", "pod", "cookie", "object", "drops", "expected"} {
		cmd.MarkFlagsMutuallyExclusive("datapath", name)
	}
	cmd.MarkFlagsMutuallyExclusive("expected", "bridge")
	cmd.MarkFlagsMutuallyExclusive("expected", "watch")
	o.completeNode(cmd)
	o.complete(cmd)
	return cmd
}

func number(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

// complete offers sort orders, stages, ports and pods.
func (o *flowsOptions) complete(cmd *cobra.Command) {
	for name, f := range map[string]cobra.CompletionFunc{
		"sort": completeWords(flowtable.Orders()...), "stage": completeStages,
		"port": o.completePorts(topology.KindPort, topology.KindRPort), "pod": o.completePorts(topology.KindPod),
	} {
		if err := cmd.RegisterFlagCompletionFunc(name, f); err != nil {
			panic(err) // the flag is added above
		}
	}
}

// completeStages offers stages and tables. They are listed when asked for, not at each start.
func completeStages(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return decode.Stages(), cobra.ShellCompDirectiveNoFileComp
}

func (o *flowsOptions) completePorts(kinds ...topology.Kind) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return o.completeNames(cmd, word, kinds...)
	}
}

func (o *flowsOptions) run(ctx context.Context) (err error) {
	format, err := o.format(flowsFormats...)
	if err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	c, err := o.openOwn(ctx)
	if err != nil {
		return err
	}
	defer o.close(c, &err)
	ch, err := o.chassis(ctx, c, o.node)
	if err != nil {
		return err
	}
	if ch.Node == nil {
		return o.noNode(c)
	}
	o.warn(c)
	if o.datapath {
		err = o.repeat(ctx, o.megaflows(ctx, c, ch, format))
	} else {
		err = o.bridgeFlows(ctx, c, ch, format)
	}
	if err != nil {
		return err
	}
	if len(c.Problems) > 0 {
		return verdict(exitUnknown)
	}
	return nil
}

func (o *flowsOptions) check() error {
	if o.sort != "" && !slices.Contains(flowtable.Orders(), o.sort) {
		return usageError{fmt.Errorf("--sort %q: expected one of %s", o.sort, strings.Join(flowtable.Orders(), ", "))}
	}
	if o.top < 0 {
		return usageError{errors.New("--top: expected a number of flows")}
	}
	if o.watch != 0 && o.machine() {
		return usageError{errors.New("--watch cannot be used with -o json or yaml\nhint: run the command again instead")}
	}
	if o.watch != 0 && o.offline != "" {
		return usageError{errors.New("--watch needs a live node: the flows of a capture do not change")}
	}
	if o.top == 0 && (o.datapath || o.watch != 0) {
		o.top = 20
	}
	return nil
}

// noNode is the error for a missing node name; it lists the nodes.
func (o *flowsOptions) noNode(c *cluster.Cluster) error {
	var names []string
	for _, n := range c.Hosts {
		names = append(names, n.Name)
	}
	if i := slices.IndexFunc(c.Problems, func(p cluster.Problem) bool { return p.What == "Open_vSwitch" }); o.node == "" && i >= 0 {
		return unknownError{errors.New(problemText(c.Problems[i]))}
	}
	if len(names) == 0 {
		return unknownError{errors.New("no Open vSwitch found on this host\nhint: run ovnctl on a node, or give --node, and --via ssh or --node-exec")}
	}
	return usageError{fmt.Errorf("which node? this host is not one\nhint: give --node, one of %s", render.Clean(strings.Join(names, ", ")))}
}

// bridgeFlows shows the flows of a bridge.
func (o *flowsOptions) bridgeFlows(ctx context.Context, c *cluster.Cluster, ch *chassis, format string) error {
	bridge, err := o.findBridge(ctx, ch)
	if err != nil {
		return err
	}
	if err := o.filter(ctx, c, ch, bridge); err != nil {
		return err
	}
	namer := ch.namer(ctx)
	var before []flowtable.Flow
	var last time.Time
	return o.repeat(ctx, func(ctx context.Context) error {
		dump, err := ch.Host.Dump(ctx, bridge, node.Flows)
		if err != nil {
			return unknownError{fmt.Errorf("flows of bridge %s: %w", bridge, err)}
		}
		now := time.Now()
		all, skipped := flowtable.Parse(ctx, dump, bridge, namer)
		if o.stage != "" && len((flowtable.Filter{Stage: o.stage}).Select(all)) == 0 {
			return usageError{fmt.Errorf("bridge %s has no flow in stage %q\nhint: column TABLE of ovnctl flows shows the stages of this release", render.Clean(bridge), o.stage)}
		}
		if !last.IsZero() {
			flowtable.Rates(before, all, now.Sub(last))
		}
		rated := !last.IsZero()
		before, last = all, now
		var problems []desired.Problem
		if o.expected {
			if all, problems, err = o.expect(ctx, c, ch, all, namer); err != nil {
				return err
			}
		}
		found := o.show.Select(all)
		order := o.sort
		switch {
		case order == "" && o.expected:
			order = "difference"
		case order == "" && rated:
			order = "rate"
		case order == "":
			order = "trouble"
		}
		flowtable.Order(found, order)
		t := flowtable.FlowTable{
			Node: ch.Node.Name, Bridge: bridge, Tables: ch.Calibration.Source(), Total: len(all), Found: len(found), Flows: []flowtable.FlowRow{},
		}
		if bridge != ch.Names.Bridge {
			t.Tables = ""
		}
		if o.expected {
			t.Expected = flowtable.Count(found, problems)
		}
		for i := range found[:o.first(len(found))] {
			t.Flows = append(t.Flows, found[i].JSON(ctx, bridge, namer, rated))
		}
		notes := slices.Concat(problemTexts(c), c.Notes, ch.notes)
		if skipped > 0 {
			notes = append(notes, fmt.Sprintf("%d lines of the dump could not be read", skipped))
		}
		switch format {
		case "json", "yaml":
			return render.Write(o.stdout, format, flowtable.FlowsDocument{Envelope: document.New("Flows", c.Source(), notes), FlowTable: t})
		}
		for _, note := range ch.notes {
			fmt.Fprintln(o.stderr, render.Clean(note))
		}
		return render.Flows(o.stdout, o.style(o.stdout), format == "wide", t)
	})
}

// expect compiles the logical flows of the tables that are asked for, and returns the flows of those tables beside what
// ovn-controller would install.
func (o *flowsOptions) expect(ctx context.Context, c *cluster.Cluster, ch *chassis, all []flowtable.Flow, namer *decode.Namer) ([]flowtable.Flow, []desired.Problem, error) {
	zone := zoneOf(c, ch.Node)
	if zone == nil || zone.SB == nil {
		return nil, nil, unknownError{errors.New("the Southbound of this node was not read, so what ovn-controller would install is not known")}
	}
	if ch.Names.Version == (release.Version{}) {
		ch.notes = append(ch.notes, "the release of ovn-controller is not known: that of ovn-northd is taken")
	}
	n := &desired.Node{SystemID: ch.Names.Chassis, Version: ch.Calibration.Version, Tables: desired.TablesOf(ch.Calibration)}
	entries := make([]openflow.FlowEntry, len(all))
	for i := range all {
		entries[i] = all[i].Entry
	}
	n.Installed(entries)
	groups, err := ch.Host.Dump(ctx, ch.Names.Bridge, node.Groups)
	if err != nil {
		return nil, nil, unknownError{fmt.Errorf("groups of bridge %s: %w", ch.Names.Bridge, err)}
	}
	n.ParseGroups(groups)
	if meters, err := ch.Host.Control(ctx, "ovn-controller", "meter-table-list"); err == nil {
		n.ParseMeters(meters)
	} else {
		ch.notes = append(ch.notes, "flows with meters are not compiled: "+err.Error())
	}
	var own desired.Switch
	if err := ovsdb.Load(ctx, ch.Vswitch(), &own); err != nil {
		return nil, nil, unknownError{err}
	}
	n.Switch(own)
	asked := func(f *flowtable.Flow) bool {
		return n.Tables.In(&f.Entry) && (o.show.Table == nil || *o.show.Table == f.Entry.Table.Number)
	}
	var where []ovsdb.Condition
	if t := o.show.Table; t != nil {
		pipeline, id := n.Tables.Logical(*t)
		where = []ovsdb.Condition{ovsdb.Where("pipeline", "==", pipeline), ovsdb.Where("table_id", "==", id)}
	}
	rows, flows, err := desired.Read(ctx, zone.SB, where...)
	if err != nil {
		return nil, nil, unknownError{err}
	}
	wanted, problems := desired.New(rows, n).All(flows)
	installed := slices.DeleteFunc(slices.Clone(all), func(f flowtable.Flow) bool { return !asked(&f) })
	return flowtable.Expect(ctx, installed, wanted, problems, ch.Names.Bridge, namer), problems, nil
}

// first returns how many of n flows to show.
func (o *flowsOptions) first(n int) int {
	if o.top == 0 {
		return n
	}
	return min(n, o.top)
}

// repeat calls show once, or with --watch until interrupted.
func (o *flowsOptions) repeat(ctx context.Context, show func(context.Context) error) error {
	interval := time.Duration(o.watch)
	clear := o.style(o.stdout).Width > 0
	for rounds := 0; ; rounds++ {
		if interval > 0 && clear {
			if _, err := fmt.Fprint(o.stdout, "\x1b[H\x1b[2J"); err != nil {
				return err
			}
		}
		switch err := show(ctx); {
		case err != nil && interval > 0 && ctx.Err() != nil:
			return nil // interrupted while reading
		case err != nil && rounds > 0: // ovs-vswitchd may be busy or restarting: continue
			fmt.Fprintf(o.stderr, "ovnctl: %s\n", render.CleanLines(err.Error()))
		case err != nil:
			return err
		}
		if interval == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(interval):
		}
		if !clear {
			if _, err := fmt.Fprintln(o.stdout); err != nil {
				return err
			}
		}
	}
}

// findBridge returns the named bridge, else the integration bridge, else the only one.
func (o *flowsOptions) findBridge(ctx context.Context, ch *chassis) (string, error) {
	rows, err := ovsdb.Find[vswitch.Bridge](ctx, ch.Vswitch())
	if err != nil {
		return "", unknownError{err}
	}
	var names []string
	for _, row := range rows {
		names = append(names, row.Name)
	}
	slices.Sort(names)
	want := o.bridge
	switch {
	case want != "":
	case slices.Contains(names, ch.Names.Bridge):
		return ch.Names.Bridge, nil
	case len(names) == 1:
		return names[0], nil
	}
	if !slices.Contains(names, want) {
		if want == "" {
			return "", usageError{fmt.Errorf("node %s has no integration bridge\nhint: give --bridge, one of %s", render.Clean(ch.Node.Name), render.Clean(strings.Join(names, ", ")))}
		}
		return "", usageError{fmt.Errorf("node %s has no bridge %q\nhint: its bridges are %s", render.Clean(ch.Node.Name), want, render.Clean(strings.Join(names, ", ")))}
	}
	return want, nil
}

// filter builds the filter from the flags.
func (o *flowsOptions) filter(ctx context.Context, c *cluster.Cluster, ch *chassis, bridge string) error {
	o.show = flowtable.Filter{Stage: o.stage, Object: o.object, Drops: o.drops}
	if o.table >= 0 {
		n := int(o.table)
		o.show.Table = &n
	}
	if o.cookie.given {
		o.show.Cookie = &o.cookie.value
	}
	if strings.ContainsAny(o.object, ":/") && !strings.Contains(o.object, " ") { // TYPE/NAME; else a part of a name
		for _, m := range o.resolve(ctx, c, o.object) {
			o.show.Rows = append(o.show.Rows, m.UUIDs()...)
		}
	}
	text := o.port
	if o.pod != "" {
		text = "Pod " + o.pod
	}
	if text == "" {
		return nil
	}
	if o.show.Ports = flowtable.FindPorts(ch.Names, bridge, text); len(o.show.Ports) > 0 {
		return nil
	}
	for _, m := range o.resolve(ctx, c, cmp.Or(o.port, o.pod)) { // a name that only its CMS knows
		if m.Port != nil && m.Kind != topology.KindNode {
			o.show.Ports = append(o.show.Ports, flowtable.FindPorts(ch.Names, bridge, m.Port.Name)...)
		}
	}
	if len(o.show.Ports) > 0 {
		return nil
	}
	hint := "ovnctl topology show lists ports and pods"
	if o.pod != "" && !strings.Contains(o.pod, "/") {
		hint = "write it as NAMESPACE/POD"
	}
	return usageError{fmt.Errorf("not found: %s on node %s\nhint: %s", strings.TrimPrefix(text, "Pod "), render.Clean(ch.Node.Name), hint)}
}

// resolve returns what an operator's name stands for; nothing if that is not known.
func (o *flowsOptions) resolve(ctx context.Context, c *cluster.Cluster, name string) []topology.Match {
	g, err := topology.Load(ctx, c)
	if err != nil {
		return nil
	}
	found, err := g.Resolve(name, topology.Objects...)
	if err != nil {
		return nil
	}
	return found
}

// megaflows shows the datapath's cache.
func (o *flowsOptions) megaflows(ctx context.Context, c *cluster.Cluster, ch *chassis, format string) func(context.Context) error {
	namer := ch.namer(ctx)
	namer.Calibrate(ctx)
	var before []flowtable.Megaflow
	var last time.Time
	return func(ctx context.Context) error {
		dump, err := node.Megaflows(ctx, ch.Host)
		if err != nil {
			return unknownError{fmt.Errorf("flows of the datapath: %w", err)}
		}
		now := time.Now()
		all, masks := flowtable.ParseMegaflows(ctx, dump, namer)
		if !last.IsZero() {
			flowtable.MegaflowRates(before, all, now.Sub(last))
		}
		rated := !last.IsZero()
		before, last = all, now
		order := o.sort
		if order == "" && rated {
			order = "rate"
		}
		flowtable.OrderMegaflows(all, order)
		cache := flowtable.Cache{Node: ch.Node.Name, Stats: o.stats(ctx, ch, masks), Found: len(all), Megaflows: []flowtable.MegaflowRow{}}
		for i := range all[:o.first(len(all))] {
			o.rules(ctx, ch, namer, &all[i])
			cache.Megaflows = append(cache.Megaflows, all[i].JSON(rated))
		}
		switch format {
		case "json", "yaml":
			notes := slices.Concat(problemTexts(c), c.Notes, ch.notes)
			return render.Write(o.stdout, format, flowtable.MegaflowsDocument{Envelope: document.New("Megaflows", c.Source(), notes), Cache: cache})
		}
		return render.Megaflows(o.stdout, o.style(o.stdout), cache)
	}
}

// stats reads how well the cache works. What cannot be read is unknown.
func (o *flowsOptions) stats(ctx context.Context, ch *chassis, masks int) flowtable.CacheStats {
	ask := func(command string) string {
		text, err := ch.Host.Control(ctx, "ovs-vswitchd", command)
		if err != nil {
			return ""
		}
		return text
	}
	return flowtable.Stats(ask("dpctl/show"), ask("upcall/show"), ask("dpif-netdev/pmd-stats-show"), masks)
}

// rules finds the OpenFlow flows behind a megaflow: those that one of its packets matches now.
func (o *flowsOptions) rules(ctx context.Context, ch *chassis, namer *decode.Namer, m *flowtable.Megaflow) {
	reply, err := ch.Host.Control(ctx, "ovs-vswitchd", "ofproto/trace", m.Key.String())
	if err == nil {
		m.Rules, err = flowtable.RulesOf(ctx, reply, namer)
	}
	switch {
	case errors.Is(err, node.ErrUnavailable) && o.offline != "":
		m.Unknown = "only a live ovs-vswitchd can say"
	case err != nil:
		m.Unknown, _, _ = strings.Cut(err.Error(), "\n")
	}
}

// tableNumber is a flag that takes an OpenFlow table number.
type tableNumber int

func (t *tableNumber) String() string { return "" }
func (t *tableNumber) Type() string   { return "number" }

func (t *tableNumber) Set(text string) error {
	n, err := strconv.ParseUint(text, 10, 8)
	if err != nil {
		return errors.New("expected 0 to 255; for names use --stage")
	}
	*t = tableNumber(n)
	return nil
}

// cookie is a flag that takes a cookie, with or without 0x.
type cookie struct {
	given bool
	value uint64
}

func (c *cookie) String() string { return "" }
func (c *cookie) Type() string   { return "hexadecimal" }

func (c *cookie) Set(text string) error {
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 64)
	if err != nil {
		return errors.New("expected a cookie such as 0xf4099249")
	}
	*c = cookie{true, n}
	return nil
}

// watchInterval is a flag that takes seconds; 0 does not watch.
type watchInterval time.Duration

// take returns the arguments without seconds at their end that belong to --watch: as it may stand alone, pflag reads
// "--watch 2" as --watch and an argument.
func (w *watchInterval) take(cmd *cobra.Command, args []string) []string {
	if last := len(args) - 1; last >= 0 && cmd.Flags().Changed("watch") && w.Set(args[last]) == nil {
		return args[:last]
	}
	return args
}

func (w *watchInterval) String() string { return "" }
func (w *watchInterval) Type() string   { return "seconds" }

func (w *watchInterval) Set(text string) error {
	var s seconds
	if err := s.Set(text); err != nil {
		return err
	}
	*w = max(watchInterval(s), watchInterval(100*time.Millisecond))
	return nil
}
