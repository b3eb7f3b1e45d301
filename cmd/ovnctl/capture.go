package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/ovnctl/ovnctl/pkg/archive"
	"github.com/ovnctl/ovnctl/pkg/archive/anonymize"
	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/doctor/checks"
	"github.com/ovnctl/ovnctl/pkg/render"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

type captureOptions struct {
	*options
	flows   string
	within  time.Duration
	maxSize int64
	force   bool
	redact  bool
}

func newCapture(root *options) *cobra.Command {
	o := &captureOptions{options: root, within: 8 * time.Minute, maxSize: 4 << 30}
	cmd := &cobra.Command{
		Use:   "capture [FILE]",
		Short: "Save everything the other commands read in one archive",
		Long: `capture reads both databases and all reachable nodes in parallel, and writes
their replies to FILE, a .tar.zst with an index of what was read, what could not
be read and why. Every other command reads it with --offline FILE. Without FILE
the name is made of the time; - is standard output.

It holds no secrets: no private keys, no values of keys like token, password,
psk and auth, no users of URLs. Databases of servers on this host are read from
their files, others in pieces with pauses, so that other clients are not held
up.

A capture that was cut short holds what had been read by then.

With --offline it copies a capture, or one moment of a record (DIR@09:12).
--redact redacts the copy.
` + exitStatusHelp,
		Example: `  ovnctl capture --via ssh
  ovnctl capture before.tar.zst
  ovnctl --offline before.tar.zst doctor
  ovnctl capture --offline /var/lib/ovnctl/record@09:12 --redact case.tar.zst
  ssh node1 ovnctl capture - > node1.tar.zst`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.StringVar(&o.flows, "logical-flows", string(cluster.AllFlows), "`which` logical flows of the Southbound: all, local (of datapaths with a port on the nodes read) or none")
	f.Var((*seconds)(&o.within), "within", "stop after this many `seconds` and keep what was read")
	f.Var((*byteSize)(&o.maxSize), "max-size", "leave out what would make it larger than this many `bytes`, unpacked, with K, M or G")
	f.BoolVar(&o.redact, "redact", false, "replace all names, addresses and UUIDs by pseudonyms, the same everywhere")
	f.BoolVar(&o.force, "force", false, "overwrite FILE")
	_ = cmd.RegisterFlagCompletionFunc("logical-flows", cobra.FixedCompletions([]cobra.Completion{
		cobra.CompletionWithDesc("all", "every logical flow"),
		cobra.CompletionWithDesc("local", "of datapaths with a port on the nodes that are read"),
		cobra.CompletionWithDesc("none", "none"),
	}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (o *captureOptions) check() error {
	if o.offline != "" && cluster.LogicalFlows(o.flows) != cluster.AllFlows {
		return errors.New("--logical-flows chooses what is read of a live deployment, and --offline names saved data: leave one out")
	}
	if o.record != "" {
		return errors.New("--record saves what a command asks; capture saves everything: leave --record out")
	}
	switch cluster.LogicalFlows(o.flows) {
	case cluster.AllFlows, cluster.LocalFlows, cluster.NoFlows:
		return nil
	}
	return fmt.Errorf("--logical-flows %q: expected all, local or none", o.flows)
}

func (o *captureOptions) run(ctx context.Context, args []string) (err error) {
	if err := o.check(); err != nil {
		return usageError{err}
	}
	format, err := o.format(textFormats...)
	if err != nil {
		return err
	}
	name := time.Now().UTC().Format("ovnctl-capture-20060102-150405.tar.zst")
	if len(args) > 0 {
		name = args[0]
	}
	if name == "-" && (format != "text" || o.onTerminal()) {
		return usageError{errors.New("the capture itself goes to standard output with -: send it to a file, without -o\nhint: ovnctl capture FILE")}
	}
	write := o.write
	var c *cluster.Cluster
	switch {
	case o.offline != "":
		tree, terr := o.openSaved(ctx)
		if terr != nil {
			return terr
		}
		write = func(_ context.Context, _ *cluster.Cluster, out io.Writer) (archive.Index, error) {
			return o.copy(tree, out)
		}
		c, err = o.openWith(ctx, cluster.Config{Saved: tree})
	case o.redact:
		write = o.writeRedacted
		fallthrough
	default:
		c, err = o.openBroken(ctx)
	}
	if err != nil {
		return err
	}
	defer o.close(c, &err)
	out, err := o.create(name, o.force)
	if err != nil {
		return usageError{err}
	}
	index, err := write(ctx, c, out)
	if err = cmp.Or(err, out.Close()); err != nil {
		dropEmpty(name)
		return unknownError{fmt.Errorf("%s: %w", name, err)}
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("interrupted: %s holds what was read until then", name)
	}
	if name == "-" {
		return o.captureVerdict(c, index)
	}
	result := newCaptureResult(c, name, index)
	result.copied = o.offline != ""
	if format == "text" {
		_, err = io.WriteString(o.stdout, result.text())
	} else {
		err = render.Write(o.stdout, format, result)
	}
	if err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	return o.captureVerdict(c, index)
}

// dropEmpty removes a file to which nothing was written.
func dropEmpty(name string) {
	if info, err := os.Lstat(name); err == nil && name != "-" && info.Mode().IsRegular() && info.Size() == 0 {
		_ = os.Remove(name)
	}
}

// write captures the deployment into out.
func (o *captureOptions) write(ctx context.Context, c *cluster.Cluster, out io.Writer) (archive.Index, error) {
	w, err := archive.NewWriter(out, version, o.maxSize)
	if err != nil {
		return archive.Index{}, err
	}
	within, cancel := context.WithTimeoutCause(ctx, o.within, fmt.Errorf("--within %s is over", o.within))
	defer cancel()
	err = o.fill(within, c, w)
	index, cerr := w.Close()
	return index, cmp.Or(err, cerr)
}

// writeRedacted captures into a file without a name, so that nothing can leave it behind, then rewrites it: some replacements
// are known only after everything is read.
func (o *captureOptions) writeRedacted(ctx context.Context, c *cluster.Cluster, out io.Writer) (archive.Index, error) {
	spool, err := os.CreateTemp("", "ovnctl-*.tar.zst")
	if err != nil {
		return archive.Index{}, err
	}
	defer spool.Close() //nolint:errcheck // it is gone
	if err := os.Remove(spool.Name()); err != nil {
		return archive.Index{}, err
	}
	if index, err := o.write(ctx, c, spool); err != nil {
		return index, err
	}
	if _, err := spool.Seek(0, io.SeekStart); err != nil {
		return archive.Index{}, err
	}
	tree, err := archive.Read(ctx, "the capture", spool)
	if err != nil {
		return archive.Index{}, err
	}
	defer tree.Close() //nolint:errcheck // only read
	return o.copy(tree, out)
}

// openSaved opens what --offline names, which must be a capture or a moment of a record.
func (o *captureOptions) openSaved(ctx context.Context) (*archive.Tree, error) {
	tree, err := o.saved(ctx)
	if err == nil && tree == nil {
		if tree, err = archive.Open(ctx, o.offline); err != nil {
			err = unknownError{err}
		}
	}
	if err == nil && tree.Index() == nil {
		_ = tree.Close()
		err = usageError{fmt.Errorf("%s is neither a capture nor a record: only those can be copied", o.offline)}
	}
	return tree, err
}

// copy writes what a capture holds, redacted if that is asked for.
func (o *captureOptions) copy(tree *archive.Tree, out io.Writer) (archive.Index, error) {
	w, err := archive.NewWriter(out, version, o.maxSize)
	if err != nil {
		return archive.Index{}, err
	}
	if o.redact {
		err = anonymize.New().Rewrite(tree, w)
	} else {
		err = w.Copy(tree)
	}
	index, cerr := w.Close()
	return index, cmp.Or(err, cerr)
}

// fill reads everything. The index records what timed out.
func (o *captureOptions) fill(ctx context.Context, c *cluster.Cluster, w *archive.Writer) error {
	show := o.progress(0)
	defer show.clear()
	capture := c.Capture(ctx, w)
	capture.Flows = cluster.LogicalFlows(o.flows)
	capture.Progress = func(what string) { show.show("%s, %d MB", what, w.Size()>>20) }
	if err := capture.Databases(ctx); err != nil {
		return err
	}
	capture.Nodes(ctx)
	// Record from hosts what checks may read beyond what they read now; the databases are complete.
	if ctx.Err() == nil {
		ended := 0
		doctor.Examine(snapshot.Look(ctx, capture.Cluster(), snapshot.Options{}), checks.All, func(*doctor.Check, []doctor.Finding) {
			ended++
			show.show("%d of %d checks asked, %d MB", ended, len(checks.All), w.Size()>>20)
		})
	}
	if ctx.Err() != nil {
		w.Miss("", "the rest", context.Cause(ctx))
	}
	return nil
}

func (o *captureOptions) captureVerdict(c *cluster.Cluster, x archive.Index) error {
	for _, p := range c.Problems {
		fmt.Fprintf(o.stderr, "ovnctl: %s\n", render.CleanLines(problemText(p)))
	}
	if len(c.Problems) > 0 {
		return verdict(exitUnknown)
	}
	if unread := x.Unread(); len(unread) > 0 {
		fmt.Fprintf(o.stderr, "ovnctl: %s: %s\n", render.Clean(unread[0].What), render.Clean(unread[0].Why))
		return verdict(exitUnknown)
	}
	return nil
}

func (o *captureOptions) onTerminal() bool {
	f, ok := o.stdout.Writer.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// create opens the file, readable by this user only. What is in one that is overwritten stays until something is written.
func (o *options) create(name string, force bool) (io.WriteCloser, error) {
	if name == "-" {
		return nopCloser{o.stdout}, nil
	}
	flags := os.O_WRONLY | os.O_CREATE
	if !force {
		flags |= os.O_EXCL
	}
	f, err := os.OpenFile(name, flags, 0o600)
	switch {
	case errors.Is(err, os.ErrExist):
		return nil, fmt.Errorf("%s is there already\nhint: give another name, or --force to overwrite it", name)
	case err != nil:
		return nil, err
	}
	return &overwritten{file: f}, nil
}

// An overwritten file loses what is in it with the first write.
type overwritten struct {
	file  *os.File
	begun bool
}

func (f *overwritten) Write(b []byte) (int, error) {
	if !f.begun {
		if err := f.file.Truncate(0); err != nil && !errors.Is(err, syscall.EINVAL) { // a pipe has no length
			return 0, err
		}
		f.begun = true
	}
	return f.file.Write(b)
}

func (f *overwritten) Close() error { return f.file.Close() }

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }
