package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ovnctl/ovnctl/pkg/archive"
	"github.com/ovnctl/ovnctl/pkg/archive/anonymize"
	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/document"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/record"
	"github.com/ovnctl/ovnctl/pkg/render"
)

// keeping are the flags of watch --keep.
type keeping struct {
	dir     string
	maxSize int64
	maxAge  time.Duration
	every   time.Duration
}

func (k *keeping) addFlags(f *pflag.FlagSet) {
	f.StringVar(&k.dir, "keep", "", "also record what happens in this `directory`, for --offline DIR@TIME and blame")
	f.Var((*byteSize)(&k.maxSize), "max-size", "of a record: remove the oldest beyond this many `bytes`, with K, M or G")
	f.DurationVar(&k.maxAge, "max-age", k.maxAge, "of a record: remove what is older than this `time`")
	f.Var((*seconds)(&k.every), "nodes-every", "of a record: look at the nodes at least every so many `seconds`, and after changes")
}

func (k *keeping) check(f *pflag.FlagSet) error {
	for _, name := range []string{"max-size", "max-age", "nodes-every"} {
		if k.dir == "" && f.Changed(name) {
			return fmt.Errorf("--%s is of a record\nhint: --keep DIR records", name)
		}
	}
	switch {
	case k.maxAge < time.Minute:
		return fmt.Errorf("--max-age %s: expected a minute at least, as 48h", k.maxAge)
	case k.maxSize < 1<<20:
		return errors.New("--max-size: expected 1M at least, as 2G")
	}
	return nil
}

// lookout says when the nodes are looked at.
func (k *keeping) lookout() lookout { return lookout{pause: k.every, after: time.Second, share: 4} }

// One look at the nodes has so many bytes at most, unpacked, and takes so long: what is not read by then is left out.
const (
	mostOfLook  = 1 << 30
	longestLook = 5 * time.Minute
)

// startKeeping begins to record. The context that it returns ends when there is nothing to record any more; the function waits
// for the end of the recording, and says whether it failed.
func (o *watchOptions) startKeeping(ctx context.Context, c *cluster.Cluster) (context.Context, func() error, error) {
	w, err := record.Create(o.keeping.dir, version, record.Limits{Size: o.keeping.maxSize, Age: o.keeping.maxAge})
	if err != nil {
		return ctx, nil, usageError{err}
	}
	fmt.Fprintf(o.stderr, "ovnctl: recording in %s\n", render.Clean(o.keeping.dir))
	ctx, cancel := context.WithCancel(ctx)
	news := make(bell, 1)
	var failed atomic.Bool
	complain := func(err error) {
		fmt.Fprintf(o.stderr, "ovnctl: --keep: %s\n", render.CleanLines(err.Error()))
	}
	var following, looking sync.WaitGroup
	for i, z := range c.Zones {
		for file, db := range map[string]ovsdb.Reader{"nb.db": z.NB, "sb.db": z.SB} {
			client, ok := db.(*ovsdb.Client)
			if !ok {
				continue
			}
			following.Go(func() {
				changed := func() { news.ring(time.Now()) }
				if err := w.Follow(ctx, client, path.Join(c.ZoneDir(i), file), changed, complain); err != nil {
					failed.Store(true)
					complain(err)
				}
			})
		}
	}
	looking.Go(func() {
		said := ""
		_ = o.keeping.lookout().run(ctx, news, func(ctx context.Context) error {
			if err := o.lookAtNodes(ctx, w); err != nil && ctx.Err() == nil && err.Error() != said {
				said = err.Error()
				complain(err)
			}
			return nil
		})
	})
	go func() {
		following.Wait()
		cancel()
	}()
	return ctx, func() error {
		cancel()
		following.Wait()
		looking.Wait()
		if err := w.Close(); err != nil {
			return err
		}
		if failed.Load() {
			return verdict(exitUnknown)
		}
		return nil
	}, nil
}

// lookAtNodes records what the nodes reply. The deployment is opened anew: nodes come and go.
func (o *watchOptions) lookAtNodes(ctx context.Context, w *record.Writer) error {
	c, err := o.open(ctx)
	if err != nil {
		return err
	}
	defer c.Close() //nolint:errcheck // only read
	if !slices.ContainsFunc(c.Hosts, func(n *cluster.Node) bool { return !n.Far() }) {
		return nil
	}
	return w.Look(func(out io.Writer) error {
		a, err := archive.NewWriter(out, version, mostOfLook)
		if err != nil {
			return err
		}
		within, cancel := context.WithTimeout(ctx, longestLook)
		defer cancel()
		c.Capture(within, a).Nodes(within)
		a.Describe(func(x *archive.Index) { // what is missing of the databases is in their own files
			x.Failed = slices.DeleteFunc(x.Failed, func(f archive.IndexFailure) bool { return f.Node == "" })
		})
		_, err = a.Close()
		return cmp.Or(err, ctx.Err())
	})
}

// openMoment opens a moment of a record.
func openMoment(ctx context.Context, dir, text string) (*archive.Tree, error) {
	r, err := record.Open(dir)
	if err != nil {
		return nil, unknownError{err}
	}
	defer r.Close() //nolint:errcheck // only read
	t, err := r.Moment(text)
	if err != nil {
		return nil, usageError{err}
	}
	state, err := r.At(ctx, t)
	if err != nil {
		return nil, unknownError{err}
	}
	return state.Tree, nil
}

// redactRecord writes a redacted copy of a record into a new directory.
func (o *watchOptions) redactRecord(ctx context.Context, from, to string, redactor *anonymize.Redactor) error {
	r, err := record.Open(from)
	if err != nil {
		return unknownError{err}
	}
	defer r.Close() //nolint:errcheck // only read
	if names, err := os.ReadDir(to); err == nil && len(names) > 0 {
		return usageError{fmt.Errorf("%s is there already\nhint: give another name", to)}
	}
	unfinished, err := os.MkdirTemp(filepath.Dir(filepath.Clean(to)), ".ovnctl-*")
	if err != nil {
		return usageError{err}
	}
	defer os.RemoveAll(unfinished) //nolint:errcheck // once finished it has its name
	w, err := record.Create(unfinished, version, record.Limits{Size: math.MaxInt64, Age: math.MaxInt64})
	if err != nil {
		return unknownError{err}
	}
	err = cmp.Or(o.redactFiles(ctx, r, w, redactor), w.Close())
	if err == nil {
		err = os.Rename(unfinished, to)
	}
	if err != nil {
		return unknownError{fmt.Errorf("%s: %w", to, err)}
	}
	return nil
}

// redactFiles reads all files twice: some replacements are known only after everything is read.
func (o *watchOptions) redactFiles(ctx context.Context, r *record.Record, w *record.Writer, redactor *anonymize.Redactor) error {
	show := o.progress(0)
	defer show.clear()
	err := r.Files(ctx, func(f record.File, left int) error {
		show.show("finding the names: %d files left", left)
		if f.Look != nil {
			return redactor.See(f.Look)
		}
		redactor.SeeFile(f.Database, f.Log)
		return nil
	})
	if err != nil {
		return err
	}
	return r.Files(ctx, func(f record.File, left int) error {
		show.show("replacing them: %d files left", left)
		if f.Look == nil {
			name, text := redactor.File(f.Database, f.Log)
			return w.AddLog(name, f.Time, text)
		}
		return w.AddLook(f.Time, func(out io.Writer) error {
			a, err := archive.NewWriter(out, version, mostOfLook)
			if err != nil {
				return err
			}
			err = redactor.Write(f.Look, a)
			_, cerr := a.Close()
			return cmp.Or(err, cerr)
		})
	})
}

// A recordDocument says what a record has: kind Record.
type recordDocument struct {
	document.Envelope
	Path    string          `json:"path"`
	From    time.Time       `json:"from"`
	To      time.Time       `json:"to"`
	Size    int64           `json:"size"`    // in bytes
	Moments []record.Moment `json:"moments"` // when something changed
}

// mostListed is how many moments the text has.
const mostListed = 50

// listRecord prints what a record has.
func (o *watchOptions) listRecord(ctx context.Context, dir string) error {
	r, err := record.Open(dir)
	if err != nil {
		return unknownError{err}
	}
	defer r.Close() //nolint:errcheck // only read
	from, to := r.Span()
	doc := recordDocument{Path: dir, From: from.UTC(), To: to.UTC(), Size: r.Size()}
	if doc.Moments, err = r.Moments(ctx, from, to); err != nil {
		return unknownError{err}
	}
	doc.Envelope = document.New("Record", nil, nil)
	if o.output == "json" {
		err = render.Write(o.stdout, "json", doc)
	} else {
		_, err = io.WriteString(o.stdout, doc.text())
	}
	if err != nil {
		return fmt.Errorf("standard output: %w", err)
	}
	return nil
}

// text has the changes of the Northbound: those of the Southbound follow from them, and are counted.
func (d recordDocument) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "from  %s\nto    %s\nsize  %.1f MB\n", d.From.Local().Format(record.TimeFormat), d.To.Local().Format(record.TimeFormat), float64(d.Size)/(1<<20))
	var lines []string
	south, looks := 0, 0
	for _, m := range d.Moments {
		switch path.Base(m.Database) {
		case "nb.db":
			if text := rowsText(m.Rows); text != "" {
				lines = append(lines, fmt.Sprintf("%s  %s%s\n", m.Time.Local().Format(record.TimeFormat), zoneText(m.Database), text))
			}
		case "sb.db":
			south++
		default:
			looks++
		}
	}
	fmt.Fprintf(&b, "%d changes of the Northbound, %d of the Southbound, %d looks at the nodes\n", len(lines), south, looks)
	if len(lines) == 0 {
		return b.String()
	}
	b.WriteString("\nchanges of the Northbound, in rows\n")
	if more := len(lines) - mostListed; more > 0 {
		fmt.Fprintf(&b, "  %d earlier ones: -o json has them\n", more)
		lines = lines[more:]
	}
	for _, line := range lines {
		b.WriteString("  " + line)
	}
	return b.String()
}

// rowsText counts the rows that changed; empty if only progress was noted.
func rowsText(rows map[string]int) string {
	var parts []string
	for _, table := range slices.Sorted(maps.Keys(rows)) {
		if table != "NB_Global" {
			parts = append(parts, fmt.Sprintf("%d %s", rows[table], render.Clean(table)))
		}
	}
	return strings.Join(parts, ", ")
}

func zoneText(database string) string {
	if zone := path.Dir(database); zone != "." {
		return "zone " + render.Clean(zone) + ": "
	}
	return ""
}

// completeMoments offers moments of a record: its ends, and the last changes of the Northbound.
func completeMoments(ctx context.Context, dir, word string) (out []cobra.Completion) {
	r, err := record.Open(dir)
	if err != nil {
		return nil
	}
	defer r.Close() //nolint:errcheck // only read
	from, to := r.Span()
	add := func(moment, about string) {
		if strings.HasPrefix(dir+"@"+moment, word) {
			out = append(out, cobra.CompletionWithDesc(dir+"@"+moment, about))
		}
	}
	add(to.Local().Format(record.TimeFormat), "the end")
	for _, ago := range []time.Duration{time.Minute, 15 * time.Minute, time.Hour} {
		if !to.Add(-ago).Before(from) {
			add("-"+strings.TrimSuffix(strings.TrimSuffix(ago.String(), "0s"), "0m"), "before the end")
		}
	}
	add(from.Local().Format(record.TimeFormat), "the beginning")
	if hour := to.Add(-time.Hour); hour.After(from) {
		from = hour
	}
	moments, _ := r.Moments(ctx, from, to)
	const most = 20
	for _, m := range slices.Backward(moments) {
		if text := rowsText(m.Rows); path.Base(m.Database) == "nb.db" && text != "" && len(out) < most {
			add(m.Time.Local().Format(record.TimeFormat), text)
		}
	}
	return out
}
