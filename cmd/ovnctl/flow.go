package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/document"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/openflow"
	"github.com/ovnctl/ovnctl/pkg/openflow/ofctl"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/packet"
	"github.com/ovnctl/ovnctl/pkg/render"
	"github.com/ovnctl/ovnctl/pkg/trace/ovs"
	"github.com/ovnctl/ovnctl/pkg/trace/ovssim"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// flowOptions are the options of ofproto/trace, ovs-vswitchd(8), and our own.
type flowOptions struct {
	*options
	text, node, bridge string
	next               []string
	names              bool
	decode             bool
	simulate           bool
	added              []string
	generate           bool
}

// A flowDocument is the JSON and YAML form of a flow's trace.
type flowDocument struct {
	document.Envelope
	Node   string     `json:"node"`
	Bridge string     `json:"bridge"`
	Flow   string     `json:"flow"` // as given
	Passes []ovs.Pass `json:"passes"`
	Raw    flowRaw    `json:"raw"`
}

// flowRaw is the trace as text, and its producer.
type flowRaw struct {
	Producer string `json:"producer"` // ovs-vswitchd, or ovnctl if simulated
	Text     string `json:"text"`
}

// addFlow adds the flags to the trace command that print what ofproto/trace prints.
func addFlow(cmd *cobra.Command, root *options) {
	o := &flowOptions{options: root}
	var others []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { others = append(others, f.Name) })
	own := o.addFlags(cmd)
	for _, name := range others {
		cmd.MarkFlagsMutuallyExclusive("flow", name)
	}
	cmd.Use += " | --flow FLOW"
	cmd.Long = strings.TrimSuffix(cmd.Long, exitStatusHelp) + `
With --flow the packet is a flow as ofproto/trace takes it (ovs-vswitchd(8)),
and ovs-vswitchd of one node traces it through OpenFlow tables to datapath
actions. If the node is unreachable, or with --simulate, ovnctl simulates it;
with --add-flow as if the bridge had that flow, too, and with --generate as if
it learned from the packet. Nothing is changed.
` + exitStatusHelp
	cmd.Example += `
  ovnctl trace --flow 'in_port=3,icmp,nw_src=10.244.1.5,nw_dst=10.244.2.5,nw_ttl=64' --ct-next new --decode`
	args, run, complete := cmd.Args, cmd.RunE, cmd.ValidArgsFunction
	asked := func() bool { return cmd.Flags().Changed("flow") }
	cmd.Args = func(cmd *cobra.Command, list []string) error {
		if asked() {
			return cobra.NoArgs(cmd, list)
		}
		return args(cmd, list)
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, list []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if asked() {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, list, word)
	}
	cmd.RunE = func(cmd *cobra.Command, list []string) error {
		if asked() {
			return o.run(cmd.Context())
		}
		for _, name := range own {
			if cmd.Flags().Changed(name) {
				return usageError{fmt.Errorf("--%s goes with --flow only", name)}
			}
		}
		return run(cmd, list)
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if strings.HasSuffix(err.Error(), " in -generate") {
			return errGenerate
		}
		return cmd.Parent().FlagErrorFunc()(cmd, err)
	})
}

var errGenerate = errors.New("-generate is refused: it sends a packet, and ovnctl only reads\n" +
	"hint: --generate simulates what the switch would learn from it; `ovs-appctl ofproto/trace` can send")

// addFlags adds the flags and returns their names, except --flow itself.
func (o *flowOptions) addFlags(cmd *cobra.Command) []string {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.SortFlags = false
	f.StringVar(&o.node, "node", "", "the `node` (default this one, or the only one)")
	f.StringVar(&o.bridge, "bridge", "", "the `bridge` that the packet enters (default the integration bridge)")
	f.StringArrayVar(&o.next, "ct-next", nil, "the `state` in which the packet returns from conntrack, once for each time (default trk,new)")
	f.BoolVar(&o.names, "names", false, "show ports by name")
	f.BoolVar(&o.decode, "decode", false, "name OVN's numbers, as ovnctl decode does")
	f.BoolVar(&o.simulate, "simulate", false, "simulate the switch from its dumps, even if it can be reached")
	f.StringArrayVar(&o.added, "add-flow", nil, "simulate the bridge with this `flow` added, as ovs-ofctl add-flow takes it; may be repeated")
	f.BoolVar(&o.generate, "generate", false, "simulate what the switch learns from the packet, too: flows and MAC addresses, which later passes meet")
	var names []string
	f.VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	cmd.Flags().StringVar(&o.text, "flow", "", "print what ofproto/trace prints for the packet of this `flow`")
	cmd.Flags().AddFlagSet(f)
	if err := errors.Join(cmd.RegisterFlagCompletionFunc("ct-next", cobra.FixedCompletions([]cobra.Completion{"trk,new", "trk,est", "trk,est,rpl", "trk,rel", "trk,rel,rpl", "trk,inv"}, cobra.ShellCompDirectiveNoFileComp)),
		cmd.RegisterFlagCompletionFunc("bridge", o.completeBridges),
		cmd.RegisterFlagCompletionFunc("flow", o.completePorts)); err != nil {
		panic(err) // the flags are added above
	}
	o.completeNode(cmd)
	return names
}

// A flowTrace is a trace of one node.
type flowTrace struct {
	chassis  *chassis
	bridge   string
	producer string
	text     string
	trace    *openflow.Trace
	notes    []string
}

func (o *flowOptions) run(ctx context.Context) (err error) {
	format, err := o.format(listedFormats...)
	if err != nil {
		return err
	}
	next, err := o.states()
	if err != nil {
		return err
	}
	c, err := o.openOwn(ctx)
	if err != nil {
		return err
	}
	defer o.close(c, &err)
	t, err := o.trace(ctx, c, next)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	o.warn(c)
	if err != nil {
		return err
	}
	if format == "tree" || format == "md" {
		for _, note := range append(t.notes, t.connections()...) {
			fmt.Fprintf(o.stderr, "ovnctl: %s\n", render.CleanLines(note))
		}
	}
	if err := o.print(ctx, c, format, t); err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	return partly(c)
}

func (o *flowOptions) print(ctx context.Context, c *cluster.Cluster, format string, t *flowTrace) error {
	switch format {
	case "json", "yaml":
		return render.Write(o.stdout, format, &flowDocument{
			Envelope: document.New("FlowTrace", c.Source(), append(append(problemTexts(c), c.Notes...), t.notes...)),
			Node:     t.chassis.Node.Name, Bridge: t.bridge, Flow: o.text, Passes: ovs.Passes(t.trace),
			Raw: flowRaw{Producer: t.producer, Text: t.text},
		})
	case "md":
		if _, err := fmt.Fprintln(o.stdout, "```"); err != nil {
			return err
		}
		defer func() { _, _ = fmt.Fprintln(o.stdout, "```") }()
	}
	if !o.decode {
		_, err := o.stdout.Write([]byte(render.CleanLines(t.text)))
		return err
	}
	a := t.chassis.annotator(ctx, t.bridge)
	lines := strings.Split(strings.TrimSuffix(t.text, "\n"), "\n")
	for _, line := range lines {
		a.Learn(line)
	}
	a.Calibrate(ctx)
	style := o.style(o.stdout)
	for _, line := range lines {
		if err := render.NamedLine(o.stdout, style, line, a.Line(ctx, line).Names); err != nil {
			return err
		}
	}
	return nil
}

// states parses --ct-next.
func (o *flowOptions) states() ([]uint32, error) {
	var list []uint32
	for _, text := range o.next {
		state, err := packet.ParseCTState(text)
		if err != nil {
			return nil, usageError{fmt.Errorf("--ct-next %q: %w\nhint: a list of new, est, rel, rpl, inv, trk, snat and dnat, such as trk,est", text, err)}
		}
		const tracked = 0x20
		list = append(list, state|tracked)
	}
	return list, nil
}

// trace has the node's ovs-vswitchd trace the packet, or simulates it.
func (o *flowOptions) trace(ctx context.Context, c *cluster.Cluster, next []uint32) (*flowTrace, error) {
	ch, err := o.chassis(ctx, c, o.node)
	if err != nil {
		return nil, err
	}
	if ch.Node == nil {
		return nil, usageError{errors.New("which node?\nhint: give --node NODE; ovnctl topology show lists the nodes")}
	}
	t := &flowTrace{chassis: ch, bridge: o.bridge, notes: ch.notes}
	bridges, err := bridgeNames(ctx, ch.Node)
	if err != nil {
		return nil, unknownError{err}
	}
	if t.bridge == "" {
		t.bridge = ch.Names.Bridge
		if !slices.Contains(bridges, t.bridge) && len(bridges) > 0 {
			t.bridge = bridges[0]
		}
	}
	if !slices.Contains(bridges, t.bridge) {
		return nil, usageError{fmt.Errorf("node %s has no bridge %q\nhint: its bridges are %s", render.Clean(ch.Node.Name), t.bridge, cmp.Or(render.Clean(strings.Join(bridges, ", ")), "none"))}
	}
	if o.simulate || o.offline != "" || len(o.added) > 0 || o.generate {
		return t, o.simulated(ctx, t, next)
	}
	return t, o.asked(ctx, t)
}

// asked traces with ovs-vswitchd.
func (o *flowOptions) asked(ctx context.Context, t *flowTrace) error {
	args := []string{t.bridge, o.text}
	for _, state := range o.next {
		args = append(args, "--ct-next", state)
	}
	if o.names {
		args = append(args, "--names")
	}
	reply, err := t.chassis.Host.Control(ctx, "ovs-vswitchd", "ofproto/trace", args...)
	var refused *node.ControlError
	switch {
	case errors.As(err, &refused):
		return usageError{fmt.Errorf("ovs-vswitchd: %s\nhint: ovs-fields(7) has the fields; the protocol comes before the fields that need it: tcp,tcp_dst=80", render.Clean(strings.TrimSpace(refused.Text)))}
	case err != nil:
		return unknownError{fmt.Errorf("%w\nhint: --simulate needs only the flows, if those can be read", err)}
	}
	t.producer, t.text = "ovs-vswitchd", reply
	if t.trace, err = openflow.ParseTrace(reply); err != nil {
		return unknownError{fmt.Errorf("the reply of ovs-vswitchd to ofproto/trace: %w", err)}
	}
	return nil
}

// simulated computes the trace from dumps.
func (o *flowOptions) simulated(ctx context.Context, t *flowTrace, next []uint32) error {
	packet, err := packet.Parse(o.text)
	if err != nil {
		return usageError{fmt.Errorf("%w\nhint: ovs-fields(7) has the fields", err)}
	}
	source, missing := ovssim.Read(ctx, t.chassis.Host)
	for _, err := range missing {
		if source != nil {
			t.notes = append(t.notes, "treated as empty: "+err.Error())
		}
	}
	if source == nil {
		return unknownError{errors.Join(missing...)}
	}
	for _, err := range source.ReadConnections(ctx, t.chassis.Host) {
		t.notes = append(t.notes, "treated as new: "+err.Error())
	}
	if err := o.addFlows(source, t.bridge); err != nil {
		return err
	}
	source.Names = o.names
	t.trace, err = ovssim.NewSwitch(*source).Trace(t.bridge, packet, ovssim.Options{Next: next, Generate: o.generate})
	if err != nil {
		return unknownError{fmt.Errorf("%w\nhint: the flows of the bridge could not be read", err)}
	}
	t.producer, t.text = "ovnctl", t.trace.String()
	t.notes = append(t.notes, "simulated from the flows of node "+t.chassis.Node.Name+"; the megaflow is an estimate")
	return nil
}

// addFlows adds the flows of --add-flow.
func (o *flowOptions) addFlows(source *ovssim.Source, bridge string) error {
	var names ofctl.Names
	for _, b := range source.Bridges {
		if b.Name != bridge {
			continue
		}
		for _, p := range b.Ports {
			names.Ports = append(names.Ports, p.Port.Name)
		}
	}
	for _, text := range o.added {
		e, err := ofctl.ParseFlow(text, names)
		if refused, ok := errors.AsType[*ofctl.Error](err); ok {
			return usageError{fmt.Errorf("--add-flow: %s\n%s\nhint: ovs-fields(7) and ovs-actions(7) have the syntax", render.Clean(refused.Error()), refused.Caret())}
		}
		if err != nil {
			return usageError{fmt.Errorf("--add-flow: %w", err)}
		}
		source.AddFlow(bridge, e)
	}
	return nil
}

// connections names the connections that matched the packet.
func (t *flowTrace) connections() []string {
	var notes []string
	for _, p := range ovs.Passes(t.trace) {
		if p.Connection != "" {
			notes = append(notes, fmt.Sprintf("ct_state=%s of %s", p.CTState, p.Connection))
		}
	}
	return notes
}

// bridgeNames returns a node's bridges, sorted.
func bridgeNames(ctx context.Context, n *cluster.Node) ([]string, error) {
	rows, err := ovsdb.Find[vswitch.Bridge](ctx, n.Vswitch())
	var names []string
	for _, row := range rows {
		names = append(names, row.Name)
	}
	slices.Sort(names)
	return names, err
}

// completeBridges offers the bridges of the node.
func (o *flowOptions) completeBridges(cmd *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var list []cobra.Completion
	o.completion(cmd, func(ctx context.Context, n *cluster.Node) {
		names, err := bridgeNames(ctx, n)
		if err != nil {
			return
		}
		for _, name := range names {
			if strings.HasPrefix(name, word) && name == render.Clean(name) {
				list = append(list, name)
			}
		}
	})
	return list, cobra.ShellCompDirectiveNoFileComp
}

// completePorts offers the start of a flow for each port of the bridge.
func (o *flowOptions) completePorts(cmd *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var list []cobra.Completion
	o.completion(cmd, func(ctx context.Context, n *cluster.Node) {
		rows, err := ovsdb.Find[vswitch.Interface](ctx, n.Vswitch())
		if err != nil {
			return
		}
		for _, row := range rows {
			if len(row.OFPort) == 0 || row.OFPort[0] < 0 {
				continue
			}
			begin := fmt.Sprintf("in_port=%d", row.OFPort[0])
			if pod := row.ExternalIDs["iface-id"]; pod != "" && strings.HasPrefix(begin, word) && pod == render.Clean(pod) {
				list = append(list, cobra.CompletionWithDesc(begin, pod))
			}
		}
	})
	return list, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// completion opens the node, for as long as a shell waits for a completion.
func (o *flowOptions) completion(cmd *cobra.Command, offer func(context.Context, *cluster.Node)) {
	ctx, cancel := context.WithTimeout(cmp.Or(cmd.Context(), context.Background()), completionTime)
	defer cancel()
	o.timeout = min(o.timeout, completionTime)
	c, err := o.open(ctx)
	if err != nil {
		return
	}
	defer c.Close() //nolint:errcheck // only read
	if n, err := o.nodeFor(ctx, c, o.node); err == nil && n != nil {
		offer(ctx, n)
	}
}
