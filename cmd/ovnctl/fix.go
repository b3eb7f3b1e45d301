package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ovnctl/ovnctl/pkg/document"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/render"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

type fixOptions struct {
	*options
	applyOptions
	node string
	done bool
}

func newFix(root *options) *cobra.Command {
	o := &fixOptions{options: root}
	cmd := &cobra.Command{
		Use:   "fix REPAIR [ARGUMENT]...",
		Short: "Repair one fault, or undo a repair",
		Long: `fix carries out one repair. First it shows the plan: each step with what
changes, the classic commands that do the same, the risk, and the traffic it
touches. Then it asks.

Nothing is changed if the state has changed since the plan was made. Each step
is written to a journal before it is made. Afterwards the check that found the
fault runs again: if it still finds it, the repair is rolled back. A run that is
cut off is finished or rolled back by the next one.

A repair that can cut this host off runs under a watchdog: unless it is
confirmed within --confirm-timeout it is rolled back, even if ovnctl or your
login session is gone by then.

Give the arguments in order or as NAME=VALUE.

--node NODE does it on another node, through --via ssh: this program is copied
there unless it is installed, and journal, watchdog and undo are there. If the
connection is lost before the repair is confirmed, the node takes it back.

Output formats: ` + strings.Join(render.FixFormats, ", ") + `.
` + exitStatusHelp,
		Example: `  ovnctl fix list
  ovnctl fix enable-port shop_web-1 --dry-run
  ovnctl fix enable-port PORT=shop_web-1
  ovnctl fix attach-uplink br-ex --node node3 --via ssh
  ovnctl fix undo`,
		Args: cobra.ArbitraryArgs,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return completeFix(args), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.there(cmd, args, o.run) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	cmd.PersistentFlags().StringVar(&o.node, "node", "", "the `node` to repair, from here (default this one)")
	o.applyOptions.addFlags(f)
	_ = cmd.RegisterFlagCompletionFunc("max-risk", completeRisks)
	_ = cmd.RegisterFlagCompletionFunc("node", o.completeNodes)
	cmd.AddCommand(newFixList(o), newFixUndo(o), newFixRecover(o), newFixWatch(o), newFixReady(o))
	return cmd
}

// completeFix offers the repairs, then the argument names of the chosen one.
func completeFix(args []string) []cobra.Completion {
	if len(args) == 0 {
		var names []cobra.Completion
		for _, r := range catalog.Repairs {
			names = append(names, cobra.CompletionWithDesc(r.Name, r.Title()))
		}
		return names
	}
	r := catalog.Find(args[0])
	if r == nil {
		return nil
	}
	var names []cobra.Completion
	for i, p := range r.Params {
		if i >= len(args)-1 {
			names = append(names, cobra.CompletionWithDesc(p.Name+"=", p.Doc))
		}
	}
	return names
}

func newFixList(o *fixOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the repairs, or the runs in the journal",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.there(cmd, args, func(context.Context, []string) error { return o.list() })
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.done, "done", false, "list the runs in the journal")
	addStateDir(f, &o.stateDir)
	o.addOverConnection(f)
	return cmd
}

func newFixUndo(o *fixOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "undo [RUN]",
		Short: "Undo the last repair, or a run by its number",
		Long: `undo undoes the steps of a repair, the last one first, unless somebody has
changed since what it changed. If the repair cannot be undone, it says why and
ends with status 4. A repair that can cut this host off is undone under a
watchdog: unless the undo is confirmed within --confirm-timeout, the repair is
put in place again. With --yes it is confirmed once the gateway and the
Southbound reply, as far as they did before the repair. fix list --done lists
the runs.`,
		Example: `  ovnctl fix undo
  ovnctl fix undo 3`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: o.completeRuns,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.there(cmd, args, o.undo) },
	}
	o.applyOptions.addFlags(cmd.Flags())
	_ = cmd.Flags().MarkHidden("max-risk")
	return cmd
}

// completeRuns offers the runs that were not undone, the last one first.
func (o *fixOptions) completeRuns(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	runs, err := fixes.ReadJournal(o.state(o.stateDir), o.hostRoot).Runs()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []cobra.Completion
	for _, r := range slices.Backward(runs) {
		if r.Damage == nil && r.State() != fixes.Undone {
			out = append(out, cobra.CompletionWithDesc(strconv.Itoa(r.ID), render.Clean(r.Title)))
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

func newFixRecover(o *fixOptions) *cobra.Command {
	leave := 0
	cmd := &cobra.Command{
		Use:   "recover",
		Short: "Finish or roll back a run that was cut off",
		Long: `recover does what every fix does first. A run that was killed, or cut off by a
reboot, is finished if it has begun a step that cannot be undone, or if all its
steps are done and the fault is gone. Otherwise it is rolled back.

A run that can be neither finished nor rolled back blocks all others. --leave
RUN closes it: its changes stay, and fix list --done shows it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.there(cmd, args, func(ctx context.Context, _ []string) error { return o.recover(ctx, leave) })
		},
	}
	addStateDir(cmd.Flags(), &o.stateDir)
	o.addOverConnection(cmd.Flags())
	cmd.Flags().IntVar(&leave, "leave", 0, "close this `run` and keep its changes")
	return cmd
}

// there runs a command on the node that --node names, else here.
func (o *fixOptions) there(cmd *cobra.Command, args []string, here func(context.Context, []string) error) error {
	if done, err := o.elsewhere(cmd.Context(), cmd, o.node, args, o.stateDir, o.yes || o.dryRun); done {
		return err
	}
	if o.overConnection != "" {
		defer o.removeCopies(o.stateDir)
	}
	return here(cmd.Context(), args)
}

// recover finishes or rolls back interrupted runs, or closes one and leaves its changes.
func (o *fixOptions) recover(ctx context.Context, leave int) (err error) {
	if _, err := o.format(render.FixFormats...); err != nil {
		return err
	}
	if leave != 0 {
		return o.leave(ctx, leave)
	}
	o.yes = true // it asks nothing
	l, err := o.openLoop(ctx)
	if err != nil {
		return err
	}
	defer func() { o.close(l.Cluster, &err) }()
	return o.finish(l)
}

// newFixWatch is the watchdog; not for people.
func newFixWatch(o *fixOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:    "watch RUN",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE:   func(cmd *cobra.Command, args []string) error { return o.watch(cmd.Context(), args[0]) },
	}
	addStateDir(cmd.Flags(), &o.stateDir)
	return cmd
}

func (o *fixOptions) watch(ctx context.Context, run string) error {
	id, err := strconv.Atoi(run)
	if err != nil {
		return usageError{err}
	}
	changes.Store(true)
	journal, err := o.journal(o.stateDir)
	if err != nil {
		return err
	}
	defer o.removeCopies(o.stateDir)
	return journal.Watch(ctx, id, func(ctx context.Context) (*fixes.Target, error) {
		c, err := o.openBroken(ctx)
		if err != nil {
			return nil, err
		}
		return fixes.On(snapshot.Look(ctx, c, snapshot.Options{}), o.hostRoot), nil
	})
}

// leave closes a run that can be neither finished nor rolled back.
func (o *fixOptions) leave(ctx context.Context, id int) error {
	journal, err := o.journal(o.stateDir)
	if err != nil {
		return err
	}
	if err := journal.Lock(ctx); err != nil {
		return fixError{err}
	}
	defer journal.Unlock()
	run, err := journal.Leave(id)
	if err != nil {
		return fixError{fmt.Errorf("%w\nhint: ovnctl fix list --done lists the runs", err)}
	}
	_, err = fmt.Fprintf(o.stdout, "run %d, %s, is closed; its changes stay\n", run.ID, render.Clean(run.Title))
	return err
}

func unknownRepair(name string) error {
	var near []string
	for _, r := range catalog.Repairs {
		for word := range strings.SplitSeq(name, "-") {
			if len(word) > 2 && strings.Contains(r.Name, word) && !slices.Contains(near, r.Name) {
				near = append(near, r.Name)
			}
		}
	}
	if len(near) > 0 && len(near) <= 8 {
		return fmt.Errorf("no repair %q\nhint: did you mean %s?", name, strings.Join(near, " or "))
	}
	return fmt.Errorf("no repair %q\nhint: ovnctl fix list has the names", name)
}

// openLoop opens the deployment for a change. The caller closes it.
func (o *fixOptions) openLoop(ctx context.Context) (*fixes.Loop, error) {
	if err := o.applyOptions.check(o.options); err != nil {
		return nil, usageError{err}
	}
	c, err := o.openToFix(ctx)
	if err != nil {
		return nil, err
	}
	l, err := o.loop(ctx, &o.applyOptions, c, 0)
	if err != nil {
		o.close(c, &err)
		return nil, err
	}
	return l, nil
}

func (o *fixOptions) run(ctx context.Context, args []string) (err error) {
	if _, err := o.format(render.FixFormats...); err != nil {
		return err
	}
	if len(args) == 0 {
		return usageError{errors.New("which repair?\nhint: ovnctl fix list has the names, and ovnctl doctor shows which one fixes what it finds")}
	}
	r := catalog.Find(args[0])
	if r == nil {
		return usageError{unknownRepair(args[0])}
	}
	if _, err := r.Arguments(args[1:]); err != nil {
		return usageError{fmt.Errorf("%w\nhint: ovnctl fix %s %s", err, r.Name, r.Usage())}
	}
	l, err := o.openLoop(ctx)
	if err != nil {
		return err
	}
	defer func() { o.close(l.Cluster, &err) }()
	fix, err := l.Repair(ctx, r.Call(args[1:]).At(o.node), nil)
	if err != nil {
		return fixFailure(err)
	}
	return o.finish(l, fix)
}

// finish writes the document, if requested, and returns the exit code.
func (o *fixOptions) finish(l *fixes.Loop, all ...fixes.Fix) error {
	if o.machine() {
		doc := fixes.Document{Envelope: document.New("Fix", l.Cluster.Source(), l.Cluster.Notes), Fixes: all}
		if err := render.Write(o.stdout, o.output, doc); err != nil {
			return fmt.Errorf("standard output: %w", err)
		}
	}
	if slices.ContainsFunc(all, func(f fixes.Fix) bool { return f.Outcome.State.Bad() }) {
		return verdict(exitFix)
	}
	return nil
}

func (o *fixOptions) list() error {
	format, err := o.format(render.FixFormats...)
	if err != nil {
		return err
	}
	if !o.done {
		if format != "table" {
			return render.Write(o.stdout, format, fixes.NewRepairsDocument(catalog.Repairs))
		}
		return render.Repairs(o.stdout, o.style(o.stdout), catalog.Repairs)
	}
	runs, err := fixes.ReadJournal(o.state(o.stateDir), o.hostRoot).Runs()
	if err != nil {
		return unknownError{err}
	}
	if format != "table" {
		return render.Write(o.stdout, format, fixes.NewJournalDocument(runs))
	}
	if len(runs) == 0 {
		_, err := fmt.Fprintln(o.stdout, "no repairs yet")
		return err
	}
	if err := render.WriteTables(o.stdout, o.style(o.stdout), false, render.RunTable(runs)); err != nil {
		return err
	}
	if slices.ContainsFunc(runs, func(r *fixes.Run) bool { return r.Damage != nil }) {
		return verdict(exitUnknown)
	}
	return nil
}

func (o *fixOptions) undo(ctx context.Context, args []string) (err error) {
	if _, err := o.format(render.FixFormats...); err != nil {
		return err
	}
	id := 0
	if len(args) > 0 {
		if id, err = strconv.Atoi(args[0]); err != nil || id <= 0 {
			return usageError{fmt.Errorf("%q is not the number of a run\nhint: ovnctl fix list --done lists the runs", args[0])}
		}
	}
	l, err := o.openLoop(ctx)
	if err != nil {
		return err
	}
	defer func() { o.close(l.Cluster, &err) }()
	run, err := l.Journal.Last(id)
	if err != nil {
		return fixError{fmt.Errorf("%w\nhint: ovnctl fix list --done lists the runs", err)}
	}
	question := "Undo it?"
	if since := l.Journal.Since(run); since != "" && id == 0 {
		older := fmt.Sprintf("the last fix, %s, and changed nothing that is left; the last one in place is run %d, %s", since, run.ID, run.Title)
		if o.yes {
			return usageError{fmt.Errorf("%s\nhint: %s undoes that one", older, o.withSource(fmt.Sprintf("ovnctl fix undo %d --yes", run.ID)))}
		}
		question = strings.ToUpper(older[:1]) + older[1:] + ". Undo that one?"
	}
	fix, err := l.Undo(ctx, run, question)
	if err != nil {
		return fixFailure(err)
	}
	return o.finish(l, fix)
}
