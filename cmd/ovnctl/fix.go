package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/render"
)

type fixOptions struct {
	*options
	applyOptions
	done bool
}

func newFix(root *options) *cobra.Command {
	o := &fixOptions{options: root}
	cmd := &cobra.Command{
		Use:   "fix REPAIR [ARGUMENT]...",
		Short: "Mend one thing, or take back what was done",
		Long: `fix carries out one repair. It shows the plan first: each step with what changes,
the classic commands that do the same, the risk, and what traffic it touches. Then
it asks.

Nothing is done if the world has moved on since the plan was made. Each step is
written to a journal before it is made. Afterwards the check that knows the fault
looks again; if it still finds it, all is taken back. A run that is cut off is
finished or taken back by the next one.

What can cut this host off runs under a watchdog: unless the change is confirmed
within --confirm-timeout, it is taken back, also if ovnctl, the login or the
connection are gone by then.

Arguments are given in their order or as NAME=VALUE. Repairs of another node run
on that node.

Output formats: ` + strings.Join(render.FixFormats, ", ") + `.
` + exitStatusHelp,
		Example: `  ovnctl fix list
  ovnctl fix enable-port shop_web-1 --dry-run
  ovnctl fix enable-port PORT=shop_web-1
  ovnctl fix undo`,
		Args: cobra.ArbitraryArgs,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return completeFix(args), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	o.applyOptions.addFlags(f)
	cmd.AddCommand(newFixList(o), newFixUndo(o), newFixRecover(o), newFixWatch(o))
	return cmd
}

// completeFix offers the repairs, then the names of the arguments of the one that is named.
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
		Short: "List the repairs, or what was done",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return o.list() },
	}
	f := cmd.Flags()
	f.BoolVar(&o.done, "done", false, "list what was done, from the journal")
	addStateDir(f, &o.stateDir)
	return cmd
}

func newFixUndo(o *fixOptions) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "undo [RUN]",
		Short: "Take back what was done last, or a run by its number",
		Long: `undo takes back what a repair did, step by step in the reverse order, if nobody has
changed it since. What cannot be undone it says, and ends with status 4.
What can cut this host off is undone under a watchdog, as it was done: unless it is
confirmed within --confirm-timeout, the repair is put in place again. Where nobody is
asked, it counts that what answered before the repair answers again.
fix list --done has the runs.`,
		Example: `  ovnctl fix undo
  ovnctl fix undo 3`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.undo(cmd.Context(), args) },
	}
	o.applyOptions.addFlags(cmd.Flags())
	_ = cmd.Flags().MarkHidden("max-risk")
	return cmd
}

func newFixRecover(o *fixOptions) *cobra.Command {
	leave := 0
	cmd := &cobra.Command{
		Use:   "recover",
		Short: "Finish or take back a run that was cut off",
		Long: `recover does what every fix does first: a run that died, or that the host's end cut
off, is finished if it had begun something that nothing takes back, or if all its steps
were done and the fault is gone; else it is taken back.

One that can be neither finished nor taken back keeps others from being made. --leave RUN
closes it: what it did stays as it is, and fix list --done shows it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if leave != 0 {
				return o.leave(cmd.Context(), leave)
			}
			o.yes = true // there is nothing to ask
			x, done, err := o.fixer(cmd.Context())
			if err != nil {
				return err
			}
			defer done(&err)
			return x.finish(nil)
		},
	}
	addStateDir(cmd.Flags(), &o.stateDir)
	cmd.Flags().IntVar(&leave, "leave", 0, "close this `run` and leave all as it is")
	return cmd
}

// leave closes a run that nothing else can close.
func (o *fixOptions) leave(ctx context.Context, id int) error {
	journal, err := fixes.OpenJournal(o.state(o.stateDir))
	if err != nil {
		return usageError{fmt.Errorf("%w\nhint: run as root, or name a directory with --state-dir", err)}
	}
	if err := journal.Lock(ctx); err != nil {
		return fixError{err}
	}
	defer journal.Unlock()
	run, err := journal.Leave(id)
	if err != nil {
		return fixError{fmt.Errorf("%w\nhint: ovnctl fix list --done shows the runs", err)}
	}
	_, err = fmt.Fprintf(o.stdout, "run %d, %s, is left as it is\n", run.ID, render.Clean(run.Title))
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

// open opens the deployment for a change.
func (o *fixOptions) fixer(ctx context.Context) (*fixer, func(*error), error) {
	if err := o.applyOptions.check(o.options); err != nil {
		return nil, nil, usageError{err}
	}
	stop := o.patience(ctx)
	c, err := o.openBroken(ctx)
	stop()
	if err != nil {
		return nil, nil, err
	}
	done := func(err *error) { o.close(c, err) }
	x, err := o.options.fixer(ctx, &o.applyOptions, c)
	if err != nil {
		done(&err)
		return nil, nil, err
	}
	return x, done, nil
}

func (o *fixOptions) run(ctx context.Context, args []string) (err error) {
	if _, err := o.format(render.FixFormats...); err != nil {
		return err
	}
	if len(args) == 0 {
		return usageError{errors.New("which repair?\nhint: ovnctl fix list has the names, ovnctl doctor says which one mends what")}
	}
	r := catalog.Find(args[0])
	if r == nil {
		return usageError{unknownRepair(args[0])}
	}
	if _, err := r.Arguments(args[1:]); err != nil {
		return usageError{fmt.Errorf("%w\nhint: ovnctl fix %s %s", err, r.Name, render.Usage(r))}
	}
	x, done, err := o.fixer(ctx)
	if err != nil {
		return err
	}
	defer done(&err)
	fix, err := x.mend(ctx, r.Call(args[1:]), nil)
	if err != nil {
		return err
	}
	return x.finish([]render.Fix{fix})
}

// finish writes the document, where one is asked for, and gives the exit code.
func (x *fixer) finish(all []render.Fix) error {
	if x.machine() {
		doc := render.FixDocument{Envelope: render.NewEnvelope("Fix", x.c.Source(), x.c.Notes), Fixes: all}
		if err := render.Write(x.stdout, x.output, doc); err != nil {
			return fmt.Errorf("standard output: %w", err)
		}
	}
	for _, f := range all {
		switch f.Outcome.State {
		case "refused", "rolled back", "failed":
			return verdict(exitFix)
		}
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
			return render.Write(o.stdout, format, render.NewRepairsDocument(catalog.Repairs))
		}
		return render.WriteTables(o.stdout, o.style(o.stdout), false, render.RepairTable(catalog.Repairs))
	}
	runs, err := fixes.ReadJournal(o.state(o.stateDir)).Runs()
	if err != nil {
		return unknownError{err}
	}
	if format != "table" {
		return render.Write(o.stdout, format, render.NewJournalDocument(runs))
	}
	if len(runs) == 0 {
		_, err := fmt.Fprintln(o.stdout, "nothing was done yet")
		return err
	}
	return render.WriteTables(o.stdout, o.style(o.stdout), false, render.RunTable(runs))
}

func (o *fixOptions) undo(ctx context.Context, args []string) (err error) {
	if _, err := o.format(render.FixFormats...); err != nil {
		return err
	}
	id := 0
	if len(args) > 0 {
		if id, err = strconv.Atoi(args[0]); err != nil || id <= 0 {
			return usageError{fmt.Errorf("%q is no run\nhint: ovnctl fix list --done has their numbers", args[0])}
		}
	}
	x, done, err := o.fixer(ctx)
	if err != nil {
		return err
	}
	defer done(&err)
	run, err := x.journal.Last(id)
	if err != nil {
		return fixError{fmt.Errorf("%w\nhint: ovnctl fix list --done shows what was done", err)}
	}
	fix := render.Fix{Call: &fixes.Call{Repair: run.Repair, Args: run.Args}, Plan: render.UndoOf(run)}
	text := !x.machine()
	if text {
		if err := render.Undo(x.stdout, x.style(x.stdout), run); err != nil {
			return err
		}
	}
	if err := run.Undoable(ctx, x.target(ctx)); err != nil {
		return fixError{err}
	}
	var watched fixes.Options
	if run.Cuts {
		byItself := func(ctx context.Context) error { return x.confirmBy(ctx, run.Answered, false) }
		if err := x.watch(ctx, &watched, byItself); err != nil {
			return fixError{err}
		}
	}
	if o.dryRun {
		return x.ended(fix, render.FixOutcome{State: "planned"})
	}
	if !o.yes {
		if yes, err := x.ask(ctx, "Take it back?", false); err != nil || !yes {
			if err != nil {
				return err
			}
			return x.ended(fix, render.FixOutcome{State: "declined"})
		}
	}
	if err := x.lock(ctx); err != nil {
		return fixError{err}
	}
	defer x.journal.Unlock()
	if err := x.journal.Undo(ctx, x.target(ctx), run, watched); err != nil {
		return fixError{err}
	}
	return x.ended(fix, render.FixOutcome{State: "undone", Run: run.ID})
}

func (x *fixer) ended(fix render.Fix, o render.FixOutcome) error {
	fix.Outcome = o
	if !x.machine() {
		if err := render.Outcome(x.stdout, x.style(x.stdout), o); err != nil {
			return fmt.Errorf("standard output: %w", err)
		}
	}
	return x.finish([]render.Fix{fix})
}
