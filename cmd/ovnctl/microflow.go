package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/document"
	"github.com/ovnctl/ovnctl/pkg/logicalflow"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovnexpr"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/render"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace/microflow"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// microflowOptions are the options of ovn-trace(8).
type microflowOptions struct {
	*options
	text                            string
	ct                              ctStates
	backend                         backend
	selectID                        uint16
	detailed, summary, minimal, all bool
	friendly, unfriendly            bool
	openFlow                        bool
}

// A microflowDocument is the JSON and YAML form of a microflow's trace.
type microflowDocument struct {
	document.Envelope
	Microflow string          `json:"microflow"` // as given
	Datapath  string          `json:"datapath"`  // as given; may be empty
	Packet    string          `json:"packet"`    // what the microflow means, in the syntax of OVS
	Ties      int             `json:"ties"`      // how often flows of equal priority matched
	Trace     *microflow.Node `json:"trace"`
	// Unread are flows that the packet may hit and that could not be read: the trace ends there, and its outcome is unknown.
	Unread []microflow.Unread `json:"unread"`
	// Templates are flows that the packet may hit on a chassis with values for their template variables.
	Templates []microflow.Unread `json:"templates"`
}

// addMicroflow adds the flags to the trace command that print what ovn-trace prints.
func addMicroflow(cmd *cobra.Command, root *options) {
	o := &microflowOptions{options: root}
	var others []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { others = append(others, f.Name) })
	own := o.addFlags(cmd)
	for _, name := range others {
		cmd.MarkFlagsMutuallyExclusive("microflow", name)
	}
	cmd.Use += " | --microflow EXPRESSION [DATAPATH]"
	cmd.Long = strings.TrimSuffix(cmd.Long, exitStatusHelp) + `
With --microflow the packet is an expression as ovn-trace(8) takes it, and the
output is that of ovn-trace: only the logical pipeline, only one direction.
` + exitStatusHelp
	cmd.Example += `
  ovnctl trace --microflow 'inport == "shop_web-1" && ip4.dst == 10.96.0.10 && tcp.dst == 80 && ip.ttl == 64' --ct new`
	args, run, complete := cmd.Args, cmd.RunE, cmd.ValidArgsFunction
	asked := func() bool { return cmd.Flags().Changed("microflow") }
	cmd.Args = func(cmd *cobra.Command, list []string) error {
		if asked() {
			return cobra.MaximumNArgs(1)(cmd, list)
		}
		return args(cmd, list)
	}
	cmd.ValidArgsFunction = func(cmd *cobra.Command, list []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		switch {
		case !asked():
			return complete(cmd, list, word)
		case len(list) > 0:
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return o.completeNames(cmd, word, topology.KindSwitch, topology.KindRouter)
	}
	cmd.RunE = func(cmd *cobra.Command, list []string) error {
		if asked() {
			return o.run(cmd.Context(), strings.Join(list, ""))
		}
		for _, name := range own {
			if cmd.Flags().Changed(name) {
				return usageError{fmt.Errorf("--%s goes with --microflow only", name)}
			}
		}
		return run(cmd, list)
	}
}

// addFlags adds the flags and returns their names, except --microflow itself.
func (o *microflowOptions) addFlags(cmd *cobra.Command) []string {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.SortFlags = false
	f.Var(&o.ct, "ct", "the connection `STATE` after each conntrack lookup in turn, such as new or est,rpl (default est)")
	f.Var(&o.backend, "lb-dst", "the backend `ADDRESS[:PORT]` that load balancers choose")
	f.Uint16Var(&o.selectID, "select-id", 0, "the `id` that select() chooses")
	f.BoolVar(&o.detailed, "detailed", false, "show the trace table by table (the default)")
	f.BoolVar(&o.summary, "summary", false, "show the trace without tables")
	f.BoolVar(&o.minimal, "minimal", false, "show only what is visible from outside")
	f.BoolVar(&o.all, "all", false, "show all three")
	f.BoolVar(&o.friendly, "friendly-names", true, "show the names that the CMS gave")
	f.BoolVar(&o.unfriendly, "no-friendly-names", false, "show the names of OVN")
	f.BoolVar(&o.openFlow, "openflow", false, "show the OpenFlow flows of this node too (ovn-trace's --ovs)")
	var names []string
	f.VisitAll(func(flag *pflag.Flag) { names = append(names, flag.Name) })
	cmd.Flags().StringVar(&o.text, "microflow", "", "print what ovn-trace prints for the packet that this `expression` describes")
	cmd.Flags().AddFlagSet(f)
	cmd.MarkFlagsMutuallyExclusive("friendly-names", "no-friendly-names")
	complete := func(name string, f cobra.CompletionFunc) {
		if err := cmd.RegisterFlagCompletionFunc(name, f); err != nil {
			panic(err) // the flag is added above
		}
	}
	complete("ct", cobra.FixedCompletions([]cobra.Completion{"new", "est", "est,rpl", "rel", "rel,rpl", "inv"}, cobra.ShellCompDirectiveNoFileComp))
	complete("microflow", o.completeInports)
	return names
}

func (o *microflowOptions) run(ctx context.Context, datapath string) (err error) {
	format, err := o.format(listedFormats...)
	if err != nil {
		return err
	}
	c, err := o.open(ctx)
	if err != nil {
		return err
	}
	defer o.close(c, &err)
	r, err := o.trace(ctx, c, datapath)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	o.warn(c)
	if err != nil {
		return err
	}
	text := render.CleanLines(r.Text(o.formats()))
	switch format {
	case "json", "yaml":
		err = render.Write(o.stdout, format, &microflowDocument{
			Envelope:  document.New("MicroflowTrace", c.Source(), append(problemTexts(c), c.Notes...)),
			Microflow: o.text, Datapath: datapath, Packet: r.Packet(), Ties: r.Ties, Trace: r.Root,
			Unread: append([]microflow.Unread{}, r.Unread...), Templates: append([]microflow.Unread{}, r.Templates...),
		})
	case "md":
		_, err = fmt.Fprintf(o.stdout, "```\n%s```\n", text)
	default:
		_, err = o.stdout.Write([]byte(text))
	}
	if err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	for _, u := range r.Templates {
		fmt.Fprintf(o.stderr, "ovnctl: no chassis, so no values for the template variables: %s\n", render.Clean(u.String()))
	}
	if len(r.Unread) > 0 {
		return unknownError{fmt.Errorf("where the packet goes is unknown: %s", render.Clean(r.Unread[0].String()))}
	}
	return partly(c)
}

// formats returns the requested formats.
func (o *microflowOptions) formats() microflow.Format {
	var f microflow.Format
	for _, one := range []struct {
		asked bool
		microflow.Format
	}{{o.detailed, microflow.Detailed}, {o.summary, microflow.Summary}, {o.minimal, microflow.Minimal}, {o.all, microflow.All}} {
		if one.asked {
			f |= one.Format
		}
	}
	return f
}

// trace traces in the zone that has the port or datapath.
func (o *microflowOptions) trace(ctx context.Context, c *cluster.Cluster, datapath string) (*microflow.Result, error) {
	options := microflow.Options{
		CT: o.ct, Backend: netip.AddrPort(o.backend), SelectID: o.selectID, FullNames: o.unfriendly || !o.friendly,
	}
	if o.openFlow {
		flows, err := flowsByCookie(ctx, c)
		if err != nil {
			return nil, err
		}
		options.OpenFlow = func(_ context.Context, cookie uint32) ([]string, error) { return flows[cookie], nil }
	}
	var nets []*logicalflow.Network
	var refused error
	for _, zone := range c.Zones {
		if zone.SB == nil {
			continue
		}
		net, err := logicalflow.Open(ctx, zone.SB)
		if err != nil {
			return nil, unknownError{err}
		}
		net.IgnoreTags()
		nets = append(nets, net)
		r, err := microflow.Trace(ctx, net, datapath, o.text, options)
		var refusal *microflow.Refusal
		switch {
		case err == nil:
			return r, nil
		case !errors.As(err, &refusal):
			return nil, unknownError{err}
		}
		refused = cmp.Or(refused, err)
	}
	if refused == nil {
		return nil, unknownError{errors.New("no Southbound database could be read\nhint: name it with --sb")}
	}
	return nil, usageError{explainRefusal(ctx, refused, nets)}
}

// explainRefusal adds a hint to a refusal.
func explainRefusal(ctx context.Context, err error, nets []*logicalflow.Network) error {
	var refusal *microflow.Refusal
	var syntax *ovnexpr.SyntaxError
	if !errors.As(err, &refusal) {
		return err
	}
	var near []string
	switch {
	case refusal.Port != "":
		near = topology.NearestNames(refusal.Port, portNames(ctx, nets))
	case refusal.Datapath != "":
		for _, net := range nets {
			for _, d := range net.Datapaths() {
				near = append(near, cmp.Or(d.Name2, d.Name))
			}
		}
		near = topology.NearestNames(refusal.Datapath, near)
	case errors.As(refusal.Err, &syntax) && syntax.End-syntax.Start == len(syntax.Text):
		return fmt.Errorf("%w\nhint: describe exactly one packet: with tcp, for example, also ip4 or ip6", err)
	case errors.As(refusal.Err, &syntax):
		return fmt.Errorf("%w\n%s\nhint: ovn-sb(5) describes the expressions, at Logical_Flow's match", err, syntax.Caret())
	default:
		return fmt.Errorf("%w\nhint: add where the packet comes from: inport == \"PORT\"", err)
	}
	if len(near) == 0 {
		return fmt.Errorf("%w\nhint: ovnctl topology show lists ports and datapaths", err)
	}
	return fmt.Errorf("%w\nhint: did you mean %s?", err, render.Clean(strings.Join(near, " or ")))
}

// portNames returns the names of all readable logical ports.
func portNames(ctx context.Context, nets []*logicalflow.Network) []string {
	var names []string
	for _, net := range nets {
		for _, d := range net.Datapaths() {
			ports, err := d.Ports(ctx)
			if err != nil {
				return names
			}
			for _, p := range ports {
				names = append(names, p.Name())
			}
		}
	}
	return names
}

// completeInports offers the start of a microflow for each port.
func (o *microflowOptions) completeInports(cmd *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	ctx := cmp.Or(cmd.Context(), context.Background())
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	o.timeout = min(o.timeout, completionTime)
	c, err := o.open(ctx)
	if err != nil {
		return nil, directive
	}
	defer c.Close()
	var out []cobra.Completion
	for _, zone := range c.Zones {
		if zone.SB == nil {
			continue
		}
		net, err := logicalflow.Open(ctx, zone.SB)
		if err != nil {
			continue
		}
		for _, name := range portNames(ctx, []*logicalflow.Network{net}) {
			begin := "inport == " + strconv.Quote(name)
			if strings.HasPrefix(begin, word) && begin == render.Clean(begin) {
				out = append(out, begin)
			}
		}
	}
	return out, directive
}

// flowsByCookie returns the OpenFlow flows of this host's integration bridge.
func flowsByCookie(ctx context.Context, c *cluster.Cluster) (map[uint32][]string, error) {
	for _, n := range c.Hosts {
		if !n.Local || n.Vswitch() == nil {
			continue
		}
		rows, err := ovsdb.Find[vswitch.OpenvSwitch](ctx, n.Vswitch())
		if err != nil {
			return nil, unknownError{err}
		}
		bridge := "br-int"
		for _, row := range rows {
			bridge = cmp.Or(row.ExternalIDs["ovn-bridge"], bridge)
		}
		text, err := n.Host.Dump(ctx, bridge, node.Flows)
		if err != nil {
			return nil, unknownError{fmt.Errorf("flows of bridge %s: %w", bridge, err)}
		}
		flows := map[uint32][]string{}
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			digits, ok := strings.CutPrefix(line, "cookie=0x")
			digits, _, _ = strings.Cut(digits, ",")
			if cookie, err := strconv.ParseUint(digits, 16, 32); ok && err == nil {
				flows[uint32(cookie)] = append(flows[uint32(cookie)], line)
			}
		}
		return flows, nil
	}
	return nil, usageError{errors.New("--openflow: no Open vSwitch found on this host\n" +
		"hint: name its database with --ovs, or ask on a node")}
}

// ctStates is a flag that takes connection states, one per use.
type ctStates []uint32

func (s *ctStates) String() string { return "" }
func (s *ctStates) Type() string   { return "STATE" }

func (s *ctStates) Set(text string) error {
	state, err := microflow.ParseCT(text)
	*s = append(*s, state)
	return err
}
