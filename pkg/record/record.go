package record

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/ovnctl/ovnctl/pkg/archive"
	"github.com/ovnctl/ovnctl/pkg/decompress"
	"github.com/ovnctl/ovnctl/pkg/lazy"
)

// A Record is a record opened for reading. It may be written meanwhile.
type Record struct {
	dir       string
	root      *os.Root
	databases []series // in the order of their names
	nodes     series
	from, to  time.Time
}

// Is reports whether a directory is a record.
func Is(dir string) bool {
	fi, err := os.Stat(filepath.Join(dir, markFile))
	return err == nil && fi.Mode().IsRegular()
}

// Open opens the record in a directory.
func Open(dir string) (*Record, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	r := &Record{dir: dir, root: root}
	if err := r.read(); err != nil {
		_ = root.Close()
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return r, nil
}

func (r *Record) read() error {
	if err := checkMark(r.root); err != nil {
		return err
	}
	names, err := findDatabases(r.root)
	if err != nil {
		return err
	}
	r.databases = nil
	for _, name := range names {
		s, err := list(r.root, path.Join(databasesDir, name), logSuffix, packedSuffix)
		if err != nil {
			return err
		}
		if len(s.files) > 0 {
			r.databases = append(r.databases, s)
		}
	}
	if r.nodes, err = list(r.root, nodesDir, lookSuffix); err != nil {
		return err
	}
	if len(r.databases) == 0 {
		return errors.New("nothing is recorded yet: no database could be read\nhint: ovnctl watch --keep DIR records")
	}
	r.from, r.to = time.Time{}, time.Time{}
	for _, s := range r.databases {
		if first := s.files[0].time; first.After(r.from) {
			r.from = first
		}
		last := s.files[len(s.files)-1]
		end := last.time
		if err := r.scan(last, false, func(e entry) bool { end = latest(end, e.time); return true }); errors.Is(err, fs.ErrNotExist) {
			return err
		}
		r.to = latest(r.to, end)
	}
	if n := len(r.nodes.files); n > 0 {
		r.to = latest(r.to, r.nodes.files[n-1].time)
	}
	r.to = latest(r.to, r.from)
	return nil
}

// checkMark returns an error unless the directory is marked as a record that this program knows.
func checkMark(root *os.Root) error {
	f, err := openRegular(root, markFile)
	if err != nil {
		return fmt.Errorf("this is no record: %w", unnamed(err))
	}
	defer f.Close() //nolint:errcheck // only read
	text, err := io.ReadAll(io.LimitReader(f, 64<<10))
	var m mark
	if err == nil {
		err = json.Unmarshal(text, &m)
	}
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", markFile, err)
	case m.Kind != markKind || m.APIVersion != markVersion:
		return fmt.Errorf("%s: a %.20q of version %.20q, which this ovnctl does not know: take a newer one", markFile, m.Kind, m.APIVersion)
	}
	return nil
}

// unnamed returns an error without the path in it.
func unnamed(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// openRegular opens a regular file. It does not wait for the writer of a pipe.
func openRegular(root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = fmt.Errorf("%s: not a regular file", name)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func (r *Record) scan(f file, texts bool, visit func(entry) bool) error {
	in, err := openRegular(r.root, f.path)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // only read
	return scan(in, texts, visit)
}

// Close releases the record. Trees of it stay open.
func (r *Record) Close() error { return r.root.Close() }

// Span returns the first and the last moment of the record. All databases are there from the first on.
func (r *Record) Span() (from, to time.Time) { return r.from, r.to }

// Size returns the bytes that the record takes.
func (r *Record) Size() (n int64) {
	for _, s := range append(slices.Clone(r.databases), r.nodes) {
		for _, f := range s.files {
			n += f.size
		}
	}
	return n
}

// A State is a deployment as of a moment.
type State struct {
	Tree  *archive.Tree // the caller closes it
	Nodes time.Time     // when the look at the nodes began; zero: there is none
	Stale bool          // the databases changed after that
}

// At opens the deployment as of a moment. The moment must be within the Span.
func (r *Record) At(ctx context.Context, t time.Time) (State, error) {
	state, err := r.at(ctx, t)
	if errors.Is(err, fs.ErrNotExist) { // it is written meanwhile, and a file was packed or has gone
		if err = r.read(); err == nil {
			state, err = r.at(ctx, t)
		}
	}
	if err != nil {
		return State{}, fmt.Errorf("%s: %w", r.dir, err)
	}
	return state, nil
}

func (r *Record) at(ctx context.Context, t time.Time) (State, error) {
	if err := r.Within(t); err != nil {
		return State{}, err
	}
	m := &opening{record: r, time: t, extra: map[string]archive.Extra{}, next: never}
	m.index = archive.Index{APIVersion: markVersion, Kind: "Capture", Started: t.UTC(), Ended: t.UTC()}
	err := m.logs()
	var base *archive.Tree
	if err == nil {
		base, err = m.look(ctx)
	}
	if err != nil {
		for _, c := range m.closers {
			_ = c()
		}
		return State{}, err
	}
	state := State{Tree: archive.Join(archive.Parts{
		Name: r.dir + "@" + t.Local().Format(TimeFormat), Index: m.index, Base: base, Extra: m.extra, Notes: m.notes, Close: m.closers,
	})}
	if base != nil {
		state.Nodes, state.Stale = base.Index().Started, m.stale(base)
	}
	return state, nil
}

// never is after any moment.
var never = time.Unix(1<<40, 0)

// An opening is a moment being opened.
type opening struct {
	record *Record
	time   time.Time

	changed, next time.Time // when a database last changed before the moment, and when one first did after it

	index   archive.Index
	notes   []string
	extra   map[string]archive.Extra
	closers []func() error
}

func (m *opening) note(format string, args ...any) {
	m.notes = append(m.notes, fmt.Sprintf(format, args...))
}

// logs adds the databases as of the moment.
func (m *opening) logs() error {
	for _, s := range m.record.databases {
		f, next, ok := s.before(m.time)
		if !ok {
			continue
		}
		in, err := openRegular(m.record.root, f.path)
		if err != nil {
			return err
		}
		m.closers = append(m.closers, in.Close)
		last, end := f.time, int64(0)
		err = scan(in, false, func(e entry) bool {
			switch {
			case e.time.After(m.time) && e.same:
				return true
			case e.time.After(m.time):
				m.next = earliest(m.next, e.time)
				return false
			case !e.same && e.time.After(f.time):
				m.changed = latest(m.changed, e.time)
			}
			last, end = latest(last, e.time), e.end
			return true
		})
		if end == 0 {
			return fmt.Errorf("%s has no rows: %w", f.path, cmp.Or(err, errCut))
		}
		if !next.IsZero() {
			m.next = earliest(m.next, next)
		}
		name := s.name()
		m.gap(name, last, next, err)
		m.extra[name] = archive.Extra{Size: end, Time: last, Open: func() (io.ReadCloser, error) { return part(in, end) }}
		m.index.Files = append(m.index.Files, archive.IndexEntry{Name: name, What: "all tables", Size: int(end), Time: last.UTC()})
		db := archive.IndexDatabase{Name: titles.Get()[path.Base(name)], File: name, Origin: path.Join(m.record.dir, f.path), Time: m.time.UTC(), Snapshot: true}
		if path.Base(name) == "sb.db" {
			db.LogicalFlows = "all"
		}
		m.index.Databases = append(m.index.Databases, db)
	}
	return nil
}

var titles = lazy.Value[map[string]string]{Make: func() map[string]string {
	return map[string]string{"nb.db": "OVN_Northbound", "sb.db": "OVN_Southbound"}
}}

// gap notes that a database was not followed at the moment.
func (m *opening) gap(name string, last, next time.Time, err error) {
	if m.time.Sub(last) <= 2*beat && err == nil || m.time.Sub(last) < time.Second {
		return
	}
	until := "the end of the record"
	if !next.IsZero() {
		until = next.Local().Format(TimeFormat)
	}
	why := "it was not followed"
	if err != nil && !errors.Is(err, errCut) {
		why = "the file is damaged: " + err.Error()
	}
	m.note("%s is as of %s: nothing is recorded of it from then to %s (%s)", name, last.Local().Format(TimeFormat), until, why)
}

// look opens a look at the nodes; nil if there is none. It is the last one before the moment. If the databases changed since that
// began, the next one is better, unless they change again before its end.
func (m *opening) look(ctx context.Context) (*archive.Tree, error) {
	f, next, ok := m.record.nodes.before(m.time)
	var base *archive.Tree
	var err error
	if ok {
		if base, err = m.record.openLook(ctx, f); err != nil {
			return nil, err
		}
	}
	if (base == nil || m.stale(base)) && !next.IsZero() && !next.After(m.next) {
		g, _, _ := m.record.nodes.before(next)
		later, err := m.record.openLook(ctx, g)
		switch {
		case err != nil: // the other has to do
		case base == nil:
			base, f = later, g
		case m.stale(later):
			_ = later.Close()
		default:
			_ = base.Close()
			base, f = later, g
		}
	}
	if base != nil {
		m.describe(base.Index(), f.time)
	}
	return base, nil
}

// openLook opens a look at the nodes.
func (r *Record) openLook(ctx context.Context, f file) (*archive.Tree, error) {
	in, err := openRegular(r.root, f.path)
	if err != nil {
		return nil, err
	}
	defer in.Close() //nolint:errcheck // only read
	base, err := archive.Read(ctx, path.Join(r.dir, f.path), in)
	if err == nil && base.Index() == nil {
		_ = base.Close()
		err = fmt.Errorf("%s is no capture", f.path)
	}
	return base, err
}

// stale reports whether the databases changed after a look at the nodes had begun.
func (m *opening) stale(look *archive.Tree) bool { return look.Index().Started.Before(m.changed) }

// describe takes over what the index of a look says.
func (m *opening) describe(x *archive.Index, ended time.Time) {
	m.index.Version, m.index.Nodes, m.index.Failed = x.Version, x.Nodes, x.Failed
	m.index.Files = append(m.index.Files, x.Files...)
	m.index.Notes = append(m.index.Notes, x.Notes...)
	switch age := m.time.Sub(ended); {
	case age >= time.Second:
		m.note("the nodes are as of %s, %s before", ended.Local().Format(TimeFormat), age.Round(time.Second))
	case age <= -time.Second:
		m.note("the nodes are as of %s, %s later; the databases did not change until then", ended.Local().Format(TimeFormat), -age.Round(time.Second))
	}
	m.index.Apart = x.Started.Before(m.changed)
}

// part opens the beginning of a file of a database, unpacked.
func part(f *os.File, end int64) (io.ReadCloser, error) {
	unpacked, err := decompress.NewReader(io.NewSectionReader(f, 0, 1<<62), unpacking)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(io.LimitReader(unpacked, end)), nil
}

// A Moment is when something changed.
type Moment struct {
	Time     time.Time      `json:"time"`
	Database string         `json:"database,omitempty"` // nb.db, or ZONE/nb.db; empty for a look at the nodes
	Rows     map[string]int `json:"rows,omitempty"`     // how many rows of each table changed
}

// Moments returns when something changed after from, until to, in order. A file of which nothing can be read has none.
func (r *Record) Moments(ctx context.Context, from, to time.Time) ([]Moment, error) {
	all, err := r.moments(ctx, from, to)
	if errors.Is(err, fs.ErrNotExist) {
		if err = r.read(); err == nil {
			all, err = r.moments(ctx, from, to)
		}
	}
	return all, err
}

func (r *Record) moments(ctx context.Context, from, to time.Time) ([]Moment, error) {
	var all []Moment
	for _, s := range r.databases {
		name := s.name()
		for i, f := range s.files {
			after := i+1 < len(s.files) && !s.files[i+1].time.After(from)
			if f.time.After(to) || after || i > 0 && f.time.Equal(s.files[i-1].time) {
				continue
			}
			err := r.scan(f, true, func(e entry) bool {
				if rows := e.tables(); len(rows) > 0 && e.time.After(from) && e.time.After(f.time) && !e.time.After(to) {
					all = append(all, Moment{e.time, name, rows})
				}
				return ctx.Err() == nil && !e.time.After(to)
			})
			if errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
	}
	for _, f := range r.nodes.files {
		if f.time.After(from) && !f.time.After(to) {
			all = append(all, Moment{Time: f.time})
		}
	}
	slices.SortStableFunc(all, func(a, b Moment) int { return a.Time.Compare(b.Time) })
	return all, nil
}
