package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/document"
	"github.com/ovnctl/ovnctl/pkg/memory"
	"github.com/ovnctl/ovnctl/pkg/reach"
	"github.com/ovnctl/ovnctl/pkg/render"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace/cause"
)

type reachOptions struct {
	*options
	namespace  namespace
	from, to   []string
	tcp, udp   oncePort
	icmp       bool
	sourcePort int
	v4, v6     bool
	logical    bool
	expect     string
	maxPairs   int
}

// reachMemory is the soft memory limit: all flows of a large deployment are kept, some 500 MB.
const reachMemory = 2 << 30

func newReach(root *options) *cobra.Command {
	o := &reachOptions{options: root}
	cmd := &cobra.Command{
		Use:   "reach [FROM] [TO]",
		Short: "Show who can talk to whom",
		Long: `reach follows a packet and its reply, as trace does, between every pair of a
selection. It reads the databases once, and looks at the nodes in reach, up to
32: a tunnel that loses packets, or a pod that is not attached, is named.
--logical reads no node.

FROM and TO are what trace takes, or sets: NAMESPACE/ or ns:NAMESPACE,
svc:NAMESPACE/, switch:NAME, node:NODE/ (the workloads on it; node:NODE is the
node itself), label:KEY=VALUE (external_ids of the port), names with * and ?,
and all. The default is all pods, VMs and other workloads. --from and --to can
be repeated; with one of them, the arguments are the other side.

--expect FILE compares with a list of lines
  FROM -> TO [tcp/PORT,udp/PORT,icmp] allow|deny
and exits with status 1 if something differs. -o expect prints such a list.

Output formats: ` + strings.Join(render.ReachFormats, ", ") + `.
` + exitStatusHelp,
		Example: `  ovnctl reach --tcp 8080
  ovnctl reach shop/ bank/ --tcp 8080 -o list
  ovnctl reach shop/ ops/debug --to bank/ --to svc:bank/vault --tcp 8080
  ovnctl reach label:app=web external:203.0.113.10
  ovnctl reach --expect policies.txt`,
		ValidArgsFunction: o.completeSelectors,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !cmd.Flags().Changed("memory") && os.Getenv("GOMEMLIMIT") == "" {
				debug.SetMemoryLimit(min(reachMemory, memory.Limit()))
			}
			if len(args)+len(o.from)+len(o.to) == 0 && o.expect == "" {
				all := o.namespace.objects(nil)
				args = append(all, all...) // from it to itself
			}
			o.from, o.to = o.namespace.names(o.from), o.namespace.names(o.to)
			return o.run(cmd.Context(), o.namespace.names(args))
		},
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.namespace.addFlag(f)
	f.StringArrayVar(&o.from, "from", nil, "who sends: a `selector`; can be repeated")
	f.StringArrayVar(&o.to, "to", nil, "who receives: a `selector`; can be repeated")
	f.Var(&o.tcp, "tcp", "a TCP connection to this `port`")
	f.Var(&o.udp, "udp", "a UDP datagram to this `port`")
	f.BoolVar(&o.icmp, "icmp", false, "an echo request (the default, but for services)")
	o.sourcePort = defaultSourcePort
	f.Var((*port)(&o.sourcePort), "source-port", "the `port` it is sent from")
	f.BoolVarP(&o.v4, "ipv4", "4", false, "IPv4 only")
	f.BoolVarP(&o.v6, "ipv6", "6", false, "IPv6 only")
	f.BoolVar(&o.logical, "logical", false, "read no node: follow the logical flows only")
	f.StringVar(&o.expect, "expect", "", "compare with the list in `file`; - is standard input")
	f.IntVar(&o.maxPairs, "max-pairs", 5000000, "ask at most so `many` pairs; 0 for any number")
	cmd.MarkFlagsMutuallyExclusive("tcp", "udp", "icmp")
	cmd.MarkFlagsMutuallyExclusive("ipv4", "ipv6")
	return cmd
}

func (o *reachOptions) run(ctx context.Context, args []string) (err error) {
	format, err := o.format(render.ReachFormats...)
	if err != nil {
		return err
	}
	if err := o.sides(args); err != nil {
		return usageError{err}
	}
	rules, err := o.rules()
	if err != nil {
		return err
	}
	c, g, err := o.read(ctx)
	if err != nil {
		return err
	}
	defer o.close(c, &err)
	plan, err := o.plan(g, rules)
	if err != nil {
		return o.planError(err, c)
	}
	result, err := o.ask(ctx, c, g, plan)
	if err != nil {
		return err
	}
	if o.machine() {
		o.warn(c)
	}
	notes := slices.Concat(c.Notes, problemTexts(c), g.Notes)
	if n := result.Unasked; n > 0 {
		notes = append(notes, fmt.Sprintf("%d pairs were left out: their ends have no addresses of the same family", n))
	}
	switch n := result.Unread; {
	case len(n) == 0:
	case o.logical:
		notes = append(notes, "logical flows only: no node was read")
	case len(n) > 6:
		notes = append(notes, fmt.Sprintf("%d nodes were not read: they are assumed to carry packets", len(n)))
	default:
		notes = append(notes, "not read, and assumed to carry packets: "+strings.Join(n, ", "))
	}
	doc := reach.Document{Envelope: document.New("Reach", c.Source(), notes), Result: result}
	if err := render.Reach(o.stdout, o.style(o.stdout), format, doc, render.ReachView{Notes: notes, Next: o.next(result), Page: o.pageOf(c, "Who can talk to whom")}); err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	dark := result.Summary.Pairs > 0 && result.Summary.Unknown == result.Summary.Pairs
	return reachVerdict(result.Expect, dark || len(c.Problems) > 0 || g.Failed())
}

// sides assigns the arguments to source or destination.
func (o *reachOptions) sides(args []string) error {
	switch {
	case len(args) == 0:
	case len(o.from) > 0 && len(o.to) > 0:
		return fmt.Errorf("%q: --from and --to already name both sides", args[0])
	case len(o.to) > 0:
		o.from = args
	case len(o.from) > 0:
		o.to = args
	case len(args) > 2:
		return errors.New("more than two selectors\nhint: name one side by a flag: ovnctl reach FROM FROM --to TO")
	default:
		o.from, o.to = args[:1], args[1:]
	}
	return nil
}

func (o *reachOptions) question() reach.Question {
	q := reach.Question{SourcePort: o.sourcePort}
	switch {
	case o.tcp != 0:
		q.Protocol, q.Port = "tcp", int(o.tcp)
	case o.udp != 0:
		q.Protocol, q.Port = "udp", int(o.udp)
	case o.icmp:
		q.Protocol, q.SourcePort = "icmp", 0
	}
	switch {
	case o.v4:
		q.Family = 4
	case o.v6:
		q.Family = 6
	}
	return q
}

// rules parses --expect; nil without it.
func (o *reachOptions) rules() ([]reach.Rule, error) {
	if o.expect == "" {
		return nil, nil
	}
	in := o.stdin
	if o.expect != "-" {
		f, err := os.Open(o.expect)
		if err != nil {
			return nil, usageError{err}
		}
		defer f.Close()
		in = f
	}
	rules, err := reach.ParseList(in, o.expect, o.question())
	if err == nil && len(rules) == 0 {
		err = fmt.Errorf("%s: no lines", o.expect)
	}
	if err != nil {
		return nil, usageError{err}
	}
	return rules, nil
}

// read opens the deployment and reads its databases.
func (o *reachOptions) read(ctx context.Context) (*cluster.Cluster, *topology.Graph, error) {
	defer o.patience(ctx)()
	c, err := o.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	g, err := topology.Load(ctx, c)
	if err != nil {
		_ = c.Close()
		return nil, nil, unknownError{err}
	}
	return c, g, nil
}

func (o *reachOptions) plan(g *topology.Graph, rules []reach.Rule) (*reach.Plan, error) {
	if o.expect != "" {
		return reach.Checking(g, o.expect, rules, o.from, o.to, o.question(), o.maxPairs)
	}
	return reach.Between(g, o.from, o.to, o.question(), o.maxPairs)
}

// planError marks the user's mistakes, like namesError.
func (o *reachOptions) planError(err error, c *cluster.Cluster) error {
	var many *reach.TooManyError
	var list *reach.ListError
	var name *topology.NameError
	if errors.As(err, &many) || errors.As(err, &list) && !errors.As(err, &name) {
		return usageError{err}
	}
	o.warn(c)
	return namesError(err, c)
}

func (o *reachOptions) ask(ctx context.Context, c *cluster.Cluster, g *topology.Graph, plan *reach.Plan) (*reach.Result, error) {
	p := o.progress(plan.Pairs())
	defer p.clear()
	beneath := &reach.Beneath{Unread: plan.Nodes(c)}
	if !o.logical {
		var err error
		if beneath, err = reach.LookBeneath(ctx, c, g, plan); err != nil {
			return nil, err
		}
	}
	walk, classes, err := reach.NewWalk(ctx, c, g, plan, beneath, p.loading)
	if err == nil {
		defer debug.SetGCPercent(debug.SetGCPercent(reach.GCPercent)) // what is read stays
		var result *reach.Result
		if result, err = plan.Run(ctx, walk, reach.Options{Classes: classes, Progress: p.asked}); err == nil {
			result.Unread = beneath.Unread
			return result, nil
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, unknownError{err}
}

// reachVerdict returns the exit code.
func reachVerdict(e *reach.Expectation, unread bool) error {
	switch {
	case e != nil && len(e.Differences) > 0 && !e.Undecided():
		return verdict(exitFound)
	case unread, e != nil && len(e.Differences) > 0:
		return verdict(exitUnknown)
	}
	return nil
}

// next returns a trace of an undelivered pair; with an expectation, of an unexpected one.
func (o *reachOptions) next(r *reach.Result) []string {
	pair, ok := r.Example()
	if !ok {
		return nil
	}
	words := []string{"--" + pair.Protocol}
	if pair.Port != 0 {
		words[0] += fmt.Sprintf("=%d", pair.Port)
	}
	if o.v6 {
		words = append(words, "-6")
	}
	return []string{o.sameSource(cause.Ovnctl("trace", []string{pair.From, pair.To}, words...))}
}

// completeSelectors offers possible sources and destinations.
func (o *reachOptions) completeSelectors(cmd *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return o.completeNames(cmd, word, topology.Endpoints...)
}
