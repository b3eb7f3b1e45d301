package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/doctor/checks"
	"github.com/ovnctl/ovnctl/pkg/document"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/probe"
	"github.com/ovnctl/ovnctl/pkg/render"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
	"github.com/ovnctl/ovnctl/pkg/topology"
	"github.com/ovnctl/ovnctl/pkg/trace"
)

type doctorOptions struct {
	*options
	checks.Selection
	applyOptions
	namespace  namespace
	fix        bool
	failOn     string
	allNodes   bool
	nodes      []string
	parallel   int
	sample     time.Duration
	send       bool
	listChecks bool
	stats      bool
	watch      watchInterval
	serve      listenAddress
	webConfig  string
}

// defaultWatch is the longest pause of --watch alone, unless that costs too much.
const defaultWatch = watchInterval(30 * time.Second)

func newDoctor(root *options) *cobra.Command {
	o := &doctorOptions{options: root}
	cmd := &cobra.Command{
		Use:   "doctor [OBJECT [OBJECT]]",
		Short: "Find faults, explain them, and repair them",
		Long: `doctor looks for known faults of Open vSwitch and OVN: on this node, on the
nodes that --node-exec reaches, and in the databases. Each finding has the
evidence, the cause, what it breaks, and the repair. Findings that another one
explains are listed below it.

It changes nothing without --fix. A check that could not decide says why.

--send sends packets through every tunnel between the nodes in reach, both ways,
small and of full size, and shows who reaches whom. They belong to no logical
network: who receives them discards them.

--all-nodes reads all nodes side by side, --parallel at a time, and groups what
it finds: each cause once, with the nodes that have it, and the nodes with what
was found on each. A node that cannot be reached is named with the reason, and
does not hold up the others. --node names the nodes to read, in place of all;
with --fix the one to repair.

--watch goes on until interrupted: it checks again when the databases change, at
least every so many seconds, and prints what is found and what has cleared. With
-o json each is a line.

--serve does the same and shows it to Prometheus: /metrics at ADDRESS, which is
127.0.0.1:9476 unless given, and /healthz and /readyz. --web.config.file sets
TLS and passwords as for any exporter. With --send each look sends packets, too.

OBJECT restricts it to the path of a pod (NAMESPACE/POD), a node or another
object that trace takes; two of them, to the path between them.

Output formats: ` + strings.Join(render.DoctorFormats, ", ") + `.
` + exitStatusHelp,
		Example: `  ovnctl doctor
  ovnctl doctor --via ssh --sample 15s
  ovnctl doctor --via ssh --send
  ovnctl doctor shop/web-1
  ovnctl doctor --only mac-binding-stale -o json
  ovnctl doctor --via ssh --all-nodes
  ovnctl doctor --via ssh --node node2 --node node3
  ovnctl doctor --watch
  ovnctl doctor --serve :9476 --watch 15
  ovnctl doctor --fix`,
		Args: func(cmd *cobra.Command, args []string) error {
			return cobra.MaximumNArgs(2)(cmd, o.objects(cmd, args))
		},
		ValidArgsFunction: o.complete,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.runThere(cmd, o.objects(cmd, args)) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.namespace.addFlag(f)
	f.StringSliceVar(&o.Only, "only", nil, "run only these `checks`")
	f.StringSliceVar(&o.Skip, "skip", nil, "do not run these `checks`")
	f.StringSliceVar(&o.Categories, "category", nil, "run only the checks of these `categories`")
	f.StringVar(&o.failOn, "fail-on", string(doctor.Error), "exit with status 1 at this `result` or worse: error, warning or never")
	f.Var((*seconds)(&o.sample), "sample", "read counters a second time after this many `seconds`")
	f.BoolVar(&o.send, "send", false, "send packets through every tunnel between the nodes, small and of full size, and find what is lost")
	f.BoolVar(&o.allNodes, "all-nodes", false, "read all nodes side by side, and group what is found by cause and by node; the default of kubectl ovnctl")
	f.StringArrayVar(&o.nodes, "node", nil, "read this `node` alone; may be repeated. With --fix, repair it there")
	f.IntVar(&o.parallel, "parallel", 32, "with --all-nodes or --node, read this `many` nodes at a time")
	f.Var(&o.watch, "watch", "check again when something changes, at least every so many `seconds`, until interrupted")
	f.Lookup("watch").NoOptDefVal = strconv.Itoa(int(time.Duration(defaultWatch).Seconds()))
	f.Var(&o.serve, "serve", "do so, and serve metrics for Prometheus at this `address`")
	f.Lookup("serve").NoOptDefVal = "127.0.0.1:9476"
	f.StringVar(&o.webConfig, "web.config.file", "", "with --serve, `file` with TLS and passwords, as exporters of Prometheus read it")
	f.BoolVar(&o.listChecks, "list-checks", false, "list the checks")
	f.BoolVar(&o.stats, "stats", false, "also show what was read, and how long each read took")
	f.BoolVar(&o.fix, "fix", false, "offer the repairs of what is found: show each plan, and ask")
	o.applyOptions.addFlags(f)
	for _, name := range []string{"fix", "list-checks", "stats"} {
		cmd.MarkFlagsMutuallyExclusive("watch", name)
		cmd.MarkFlagsMutuallyExclusive("serve", name)
	}
	names := func(of func() []string) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return of(), cobra.ShellCompDirectiveNoFileComp
		}
	}
	for _, flag := range []string{"only", "skip"} {
		_ = cmd.RegisterFlagCompletionFunc(flag, names(checkNames))
	}
	_ = cmd.RegisterFlagCompletionFunc("node", o.completeNodes)
	_ = cmd.RegisterFlagCompletionFunc("category", names(checks.Categories))
	_ = cmd.RegisterFlagCompletionFunc("serve", completeWords("127.0.0.1:9476", ":9476"))
	_ = cmd.RegisterFlagCompletionFunc("max-risk", completeRisks)
	_ = cmd.RegisterFlagCompletionFunc("fail-on", completeWords(string(doctor.Error), string(doctor.Warning), "never"))
	return cmd
}

// objects returns the arguments without the values of flags that may stand alone.
func (o *doctorOptions) objects(cmd *cobra.Command, args []string) []string {
	return o.namespace.objects(o.watch.take(cmd, o.serve.take(cmd, args)))
}

// runThere runs doctor, with --fix on the node that --node names.
func (o *doctorOptions) runThere(cmd *cobra.Command, args []string) error {
	if !o.fix || len(o.nodes) == 0 {
		return o.run(cmd.Context(), args)
	}
	if len(o.nodes) > 1 {
		return usageError{errors.New("--fix repairs one node at a time: give --node once")}
	}
	if done, err := o.elsewhere(cmd.Context(), cmd, o.nodes[0], args, o.stateDir, o.yes || o.dryRun); done {
		return err
	}
	return o.run(cmd.Context(), args)
}

func checkNames() []string {
	var names []string
	for _, c := range checks.All {
		names = append(names, c.Name)
	}
	return names
}

func (o *doctorOptions) run(ctx context.Context, args []string) (err error) {
	format, err := o.format(render.DoctorFormats...)
	if err != nil {
		return err
	}
	switch o.failOn {
	case string(doctor.Error), string(doctor.Warning), "never":
	default:
		return usageError{fmt.Errorf("--fail-on %q: expected error, warning or never", o.failOn)}
	}
	checks, err := checks.Choose(o.Selection)
	if err != nil {
		return usageError{err}
	}
	if o.listChecks {
		return render.WriteTables(o.stdout, o.style(o.stdout), false, render.CheckTable(checks))
	}
	if err := o.checkFix(); err != nil {
		return usageError{err}
	}
	if err := o.checkNodes(); err != nil {
		return usageError{err}
	}
	if o.outside() && !o.fix && len(o.nodes)+len(args) == 0 {
		o.allNodes = true
	}
	if o.send && o.offline != "" {
		return usageError{errors.New("--send needs running nodes and --offline reads a capture: give one of the two")}
	}
	if err := o.checkServe(); err != nil {
		return usageError{err}
	}
	if o.watch > 0 && (o.offline != "" || format != "table" && format != "short" && format != "json") {
		return usageError{errors.New("--watch needs a live deployment, and prints table, short or json")}
	}
	var export exporter
	if o.serve != "" { // before what takes time
		var end func(*error)
		if export, end, err = o.export(ctx); err != nil {
			return err
		}
		defer end(&err)
	}
	// What is read is kept until the end: collecting garbage meanwhile costs a sixth of the time and finds little.
	// --memory still applies.
	debug.SetGCPercent(400)
	if o.allNodes || o.watch > 0 {
		o.keepMuch()
	}
	c, err := o.openToFix(ctx)
	if err != nil {
		return err
	}
	e := &examination{doctorOptions: o, c: c, checks: checks, format: format, about: args, exporter: export}
	defer func() { o.close(e.c, &err) }()
	if err := o.inReach(c); err != nil {
		return usageError{err}
	}
	o.choose(c)
	if e.scope, err = o.scope(ctx, c, args); err != nil {
		return err
	}
	if o.fix {
		if o.overConnection != "" {
			defer o.removeCopies(o.stateDir)
		}
		return e.repair(ctx)
	}
	o.tellOpen(o.stateDir)
	if o.watch > 0 {
		return e.keepExamining(ctx)
	}
	report, err := e.examine(ctx)
	if err != nil {
		return err
	}
	return cmp.Or(e.print(ctx, report, nil), e.verdict(report))
}

// checkFix validates the flags about repairs.
func (o *doctorOptions) checkFix() error {
	if o.fix {
		if o.output == "md" || o.output == "svg" || o.output == "html" || o.output == "junit" {
			return fmt.Errorf("--fix prints table, short, json or yaml, not %s", o.output)
		}
		return o.applyOptions.check(o.options)
	}
	return nil
}

// checkNodes validates the flags about nodes.
func (o *doctorOptions) checkNodes() error {
	switch {
	case o.parallel < 1 || o.parallel > 1000:
		return fmt.Errorf("--parallel %d: expected 1 to 1000", o.parallel)
	case o.allNodes && len(o.nodes) > 0:
		return errors.New("--all-nodes reads all nodes and --node some: give one of the two")
	case o.allNodes && o.fix:
		return errors.New("--fix repairs one node at a time: name it with --node in place of --all-nodes")
	}
	return nil
}

// inReach reports which of the requested nodes do not exist or cannot be reached.
func (o *doctorOptions) inReach(c *cluster.Cluster) error {
	for _, name := range o.nodes {
		n := c.Node(name)
		switch {
		case n == nil && (c.Central == nil || c.Central.Name != name):
			var names []string
			for _, h := range c.Hosts {
				names = append(names, h.Name)
			}
			return fmt.Errorf("not found: node %q\nhint: the nodes are %s", name, render.Clean(doctor.AtMost(names, 20)))
		case n != nil && n.Far() && o.offline == "" && o.way == nil:
			return fmt.Errorf("node %s is another host\nhint: give --via ssh or --node-exec 'PREFIX {hostname}' to reach it, or run ovnctl there", render.Clean(name))
		}
	}
	if o.allNodes && o.offline == "" && o.way == nil && slices.ContainsFunc(c.Hosts, func(n *cluster.Node) bool { return n.Far() && !n.VTEP() }) {
		return errors.New("--all-nodes: nothing says how to reach the other nodes\nhint: give --via ssh, or --node-exec 'PREFIX {hostname}' with another command")
	}
	return nil
}

// choose leaves the nodes that --node names.
func (o *doctorOptions) choose(c *cluster.Cluster) {
	if len(o.nodes) == 0 {
		return
	}
	var others []*cluster.Node
	for _, n := range c.Hosts {
		if !slices.Contains(o.nodes, n.Name) && (n.SystemID == "" || !slices.Contains(o.nodes, n.SystemID)) {
			others = append(others, n)
		}
	}
	c.Drop(others...)
}

// An examination is one run of doctor on an open deployment.
type examination struct {
	*doctorOptions
	c      *cluster.Cluster
	checks []*doctor.Check
	scope  *doctor.Scope // nil for everything
	format string
	about  []string // names that define scope

	exporter exporter // with --serve

	kept   *snapshot.Kept       // with --watch: from look to look
	looked *snapshot.Deployment // latest snapshot
	named  []string             // hosts that it began with
	heard  *doctor.Gathering    // what they need not be asked again
	mesh   *probe.Mesh          // with --send
	took   time.Duration
}

// examine runs the checks on a fresh snapshot.
func (e *examination) examine(ctx context.Context) (doctor.Report, error) {
	start := time.Now()
	e.looked = snapshot.Look(ctx, e.c, snapshot.Options{Sample: e.sample, Parallel: e.parallel, Kept: e.kept, Timed: e.stats})
	e.gather()
	chosen, err := e.sendTunnels(ctx)
	if err != nil {
		return doctor.Report{}, err
	}
	report := e.ask(e.looked, chosen)
	e.took = time.Since(start)
	if err := ctx.Err(); err != nil {
		return report, unknownError{err}
	}
	if e.scope == nil {
		return report.Whole(), nil
	}
	return report.Within(e.scope), nil
}

// gather reads the nodes side by side, with --all-nodes or --node.
func (e *examination) gather() {
	e.named, e.heard = nil, nil
	if !e.allNodes && len(e.nodes) == 0 {
		return
	}
	for _, h := range e.looked.Hosts {
		if !h.Central() {
			e.named = append(e.named, h.Name)
		}
	}
	show := e.progress(len(e.named))
	defer show.clear()
	done, lost := 0, 0
	tell := func() {
		words := ""
		if lost > 0 {
			words = fmt.Sprintf(", %d not reached", lost)
		}
		show.show("%d of %d nodes%s", done, len(e.named), words)
	}
	tell()
	e.heard = doctor.Gather(e.looked, e.checks, func(h *snapshot.Host, reached bool) {
		if h.Central() {
			return
		}
		if done++; !reached {
			lost++
		}
		tell()
	})
}

// byNode adds to a document the faults by cause and by node, with --all-nodes.
func (e *examination) byNode(doc *doctor.Document) {
	if !e.allNodes {
		return
	}
	unread := map[string]string{}
	names := slices.Clone(e.named)
	for _, n := range e.looked.Far {
		names = append(names, n.Name)
		unread[n.Name] = "there is no data of it"
	}
	for _, p := range e.c.Problems {
		if p.Node != "" && e.looked.Host(p.Node) == nil {
			unread[p.Node] = p.Error()
		}
	}
	doc.Groups = doc.ByCause(len(names) - len(unread))
	doc.Nodes = doc.ByNode(names, unread)
}

// sendTunnels sends packets through all tunnels, with --send, and returns the checks with the one that they decide.
func (e *examination) sendTunnels(ctx context.Context) ([]*doctor.Check, error) {
	if !e.send {
		return e.checks, nil
	}
	show := e.progress(0)
	show.show("sending packets through the tunnels")
	defer show.clear()
	var err error
	if e.mesh, err = probe.Tunnels(ctx, e.c); err != nil {
		if e.exporter != nil { // the other checks are wanted all the same
			fmt.Fprintf(e.stderr, "ovnctl: no packets sent: %s\n", render.CleanLines(err.Error()))
			return e.checks, nil
		}
		return nil, unknownError{err}
	}
	return checks.Sent(e.checks, e.mesh), nil
}

// drawn reports whether the map is shown.
func (e *examination) drawn() bool { return e.format == "svg" || e.format == "html" }

// print writes a report, and in a document the repairs made.
func (e *examination) print(ctx context.Context, report doctor.Report, fixed []fixes.Fix) error {
	if e.machine() || e.format == "junit" || e.drawn() {
		e.warn(e.c)
	}
	problems := problemTexts(e.c)
	doc := doctor.Document{
		Envelope: document.New("Report", e.c.Source(), slices.Concat(e.c.Notes, problems)),
		Report:   report, Fixes: fixed, Tunnels: e.mesh,
	}
	e.byNode(&doc)
	if e.showCommands {
		doc.Commands = report.Commands()
	}
	if e.stats {
		doc.Stats = &doctor.Stats{Took: e.took, Reads: e.looked.Reads()}
	}
	view := render.DoctorView{About: strings.Join(e.about, " and "), Unread: append(problems, e.farNodes(e.looked)...), Sources: sources(e.c), Next: e.next(report), Command: e.fixCommand, Saved: e.offline != ""}
	if e.drawn() {
		view.Page = e.pageOf(e.c, "Findings")
		var err error
		if view.Map, err = drawnTopology(ctx, e.c); err != nil {
			return err
		}
	}
	if err := render.Doctor(e.stdout, e.style(e.stdout), e.format, doc, view); err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	return nil
}

// mostNext is how many nodes are named in what to run next.
const mostNext = 3

// next returns what to run after a report for people: the repairs here, and those on other nodes.
func (e *examination) next(r doctor.Report) []string {
	if e.fix || e.offline != "" || e.allNodes { // a capture cannot be repaired, and groups have their commands
		return nil
	}
	var nodes []string
	risks := map[string]string{}
	for _, f := range r.Findings {
		if !f.Result.Fault() || f.Fix == nil {
			continue
		}
		node := f.Fix.Node
		if here := e.looked.Local(); here != nil && here.Name == node {
			node = ""
		}
		if !slices.Contains(nodes, node) {
			nodes = append(nodes, node)
		}
		if f.Fix.Risk == fixes.High {
			risks[node] = " --max-risk high"
		}
	}
	var commands []string
	for _, node := range nodes[:min(len(nodes), mostNext)] {
		command := "ovnctl doctor --fix"
		if node != "" {
			command += " --node " + fixes.Word(node)
		}
		commands = append(commands, e.sameSource(command+risks[node])+"   shows a plan for each repair, and asks")
	}
	return commands
}

// repair offers the repairs for the findings, the worst first.
func (e *examination) repair(ctx context.Context) error {
	l, err := e.loop(ctx, &e.applyOptions, e.c, e.sample)
	if err != nil {
		return err
	}
	l.Operator.(*operator).apart = true
	var report doctor.Report
	fixed, err := l.Run(ctx, func(ctx context.Context) ([]fixes.Fault, error) {
		if e.looked != nil && !e.machine() {
			fmt.Fprintln(e.stdout)
		}
		e.c = l.Cluster
		var err error
		if report, err = e.examine(ctx); err == nil && !e.machine() {
			err = e.print(ctx, report, nil)
		}
		return faultsOf(report.Findings, false), err
	})
	e.c = l.Cluster
	if err == nil && e.machine() {
		err = e.print(ctx, report, fixed)
	}
	switch {
	case err != nil:
		return fixFailure(err)
	case slices.ContainsFunc(fixed, func(f fixes.Fix) bool { return f.Outcome.State.Broke() }):
		return verdict(exitFix)
	}
	return e.verdict(report)
}

// scope returns the scope of the named objects, nil if none was named.
func (o *doctorOptions) scope(ctx context.Context, c *cluster.Cluster, names []string) (*doctor.Scope, error) {
	if len(names) == 0 {
		return nil, nil
	}
	var g *topology.Graph
	var err error
	if len(names) == 1 {
		g, err = topology.Load(ctx, c)
	} else {
		g, err = topology.LoadBetween(ctx, c, names[0], names[1])
	}
	if err != nil {
		return nil, unknownError{err}
	}
	var named []topology.Match
	for _, name := range names {
		found, err := g.Resolve(name) // a node and its switch often share a name; match both
		if err != nil {
			return nil, usageError{err}
		}
		named = append(named, found...)
	}
	if len(names) == 1 {
		return doctor.NewScope(g, named), nil
	}
	t, _, err := trace.Run(ctx, c, g, trace.Query{From: names[0], To: names[1], Logical: true})
	if err != nil {
		return nil, unknownError{fmt.Errorf("the path from %s to %s: %w", names[0], names[1], err)}
	}
	return doctor.NewScope(g, named, t), nil
}

// ask runs the checks. On a terminal it shows progress meanwhile: a sample or an unreachable node takes time.
func (e *examination) ask(d *snapshot.Deployment, checks []*doctor.Check) doctor.Report {
	show := e.progress(len(checks))
	ended, found := 0, ""
	report := e.heard.Examine(d, checks, func(c *doctor.Check, findings []doctor.Finding) {
		ended++
		if slices.ContainsFunc(findings, func(f doctor.Finding) bool { return f.Result.Fault() }) {
			found = ", something found"
		}
		show.show("%d of %d checks%s", ended, len(checks), found)
	})
	show.clear()
	return report
}

// complete offers the objects in the deployment.
func (o *doctorOptions) complete(cmd *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) >= 2 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return o.completeNames(cmd, word, topology.Objects...)
}

// farNodes names the nodes that were not read, unless the operator is elsewhere and asked for this one.
func (o *doctorOptions) farNodes(d *snapshot.Deployment) []string {
	if len(d.Far) == 0 || o.overConnection != "" {
		return nil
	}
	var names []string
	for _, n := range d.Far {
		names = append(names, n.Name)
	}
	if len(names) > 5 {
		names = append(names[:4], fmt.Sprintf("%d more", len(names)-4))
	}
	if o.offline != "" {
		return []string{fmt.Sprintf("nodes %s: %s has no data of them", strings.Join(names, ", "), o.offline)}
	}
	return []string{fmt.Sprintf("nodes %s (--via ssh reaches them)", strings.Join(names, ", "))}
}

// verdict returns the exit code for a report.
func (e *examination) verdict(r doctor.Report) error {
	if e.failOn != "never" && r.Worst().AtLeast(doctor.Result(e.failOn)) {
		return verdict(exitFound)
	}
	if len(e.c.Problems) > 0 || e.unasked() || e.allNodes && len(e.looked.Far) > 0 || e.tooLarge(r) {
		return verdict(exitUnknown)
	}
	return nil
}

// tooLarge reports whether something was left out because it is too large for the memory limit.
func (e *examination) tooLarge(r doctor.Report) bool {
	return slices.ContainsFunc(e.looked.Reads(), func(r snapshot.Read) bool { return errors.Is(r.Err, ovsdb.ErrTooLarge) }) ||
		slices.ContainsFunc(r.Findings, func(f doctor.Finding) bool { return f.Result == doctor.Unknown && f.Reason == doctor.TooLarge })
}

// unasked reports whether a named node was not read: no finding about it means little.
func (e *examination) unasked() bool {
	return slices.ContainsFunc(e.looked.Far, func(n *cluster.Node) bool {
		return slices.Contains(e.about, n.Name) || slices.Contains(e.about, "node:"+n.Name)
	})
}
