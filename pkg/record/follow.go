package record

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/secret"
)

const (
	// durable is how long what was written may wait for the disk: so much is lost at most if the power fails.
	durable = time.Second
	// smallest is how long a file of a database becomes in any case before the next begins.
	smallest = 1 << 20
	// shares is how many files the record has room for: there are always some to remove.
	shares = 8
)

// Follow records a database until the context ends. Name is nb.db or sb.db, with the directory of its zone before it
// if there are several. Lost is told why the connection broke; it is made again. Changed is called after each change.
func (w *Writer) Follow(ctx context.Context, client *ovsdb.Client, name string, changed func(), lost func(error)) error {
	l := &log{w: w, dir: path.Join(databasesDir, name), journal: ovsdb.Journal{Hide: secret.String}}
	err := client.Follow(ctx, func(feed *ovsdb.Feed, began func()) error { return l.follow(ctx, feed, began, changed) }, func(err error) {
		if l.broken == nil {
			lost(err)
		}
	})
	if l.broken != nil {
		err = l.broken
	}
	if cerr := l.end(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// A log is the file of a database that is being written.
type log struct {
	w       *Writer
	dir     string
	journal ovsdb.Journal
	schema  string // as the server sent it
	last    string // names the state on the server

	f      *os.File // nil before the first
	name   string
	begun  time.Time
	time   time.Time // of the last record
	whole  int64     // how long the rows at its beginning are
	size   int64
	synced time.Time
	dirty  bool

	syncing chan error // nil while nothing is

	broken error // the file cannot be written
}

// follow records what one server sends, until the connection breaks.
func (l *log) follow(ctx context.Context, feed *ovsdb.Feed, began, changed func()) error {
	if l.broken != nil {
		return ovsdb.ErrClosed // to end it
	}
	tables, err := ovsdb.Everything(feed.Schema())
	if err != nil {
		return err
	}
	if l.schema != string(feed.Schema()) {
		l.last = "" // all rows, with their new columns
	}
	batch, err := feed.Start(ctx, l.last, tables...)
	if err != nil {
		return err
	}
	if batch.Whole {
		l.schema = string(feed.Schema())
		err = l.begin(func(f *counter, t time.Time) error { return l.journal.Begin(f, t, feed.Schema(), batch.Rows) })
	} else {
		err = l.add(batch)
	}
	began()
	changed()
	for {
		if err != nil {
			l.last = "" // what is written may be a part: begin anew
			if _, ok := errors.AsType[*os.PathError](err); ok {
				l.broken = err
				return ovsdb.ErrClosed
			}
			return err
		}
		l.last = batch.Last
		wait, cancel := context.WithTimeout(ctx, durable)
		batch, err = feed.Next(wait)
		silent := err != nil && wait.Err() != nil
		cancel()
		switch {
		case ctx.Err() != nil:
			t := l.now() // the record goes on until now
			return l.write(t, func(f *counter) error { return l.journal.Alive(f, t) })
		case silent:
			batch.Last = l.last
			err = l.idle(ctx)
		case err != nil:
			return err
		default:
			if err = l.add(batch); err == nil {
				err = l.turn(ctx)
			}
			changed()
		}
	}
}

// now returns the time of the next record.
func (l *log) now() time.Time { return l.after(time.Now()) }

// after returns the time of a record about a moment, later than that of the last record.
func (l *log) after(t time.Time) time.Time {
	t = t.UTC().Truncate(time.Millisecond)
	if earliest := l.time.Add(time.Millisecond); t.Before(earliest) {
		return earliest
	}
	return t
}

// begin begins a file with all rows, which write writes.
func (l *log) begin(write func(f *counter, t time.Time) error) error {
	t := l.now()
	file := t.Format(stamp) + logSuffix
	name := path.Join(l.dir, file)
	var whole int64
	err := l.w.whole(l.dir, called(file), func(out io.Writer) error {
		c := &counter{Writer: out}
		err := write(c, t)
		whole = c.n
		return err
	})
	if err != nil {
		return err
	}
	if whole > l.w.limits.Size/2 {
		_ = l.w.root.Remove(name)
		l.broken = fmt.Errorf("all its rows take %d MB\nhint: give at least --max-size %dM", whole>>20, 4*(whole>>20+1))
		return ovsdb.ErrClosed
	}
	f, err := l.w.root.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	if err := l.end(); err != nil {
		_ = f.Close()
		return err
	}
	l.f, l.name, l.begun, l.time, l.whole, l.size, l.synced = f, name, t, t, whole, whole, time.Now()
	return l.w.grow(whole)
}

// end closes the file and packs it.
func (l *log) end() error {
	if l.f == nil {
		return nil
	}
	var before error
	if l.syncing != nil {
		before = <-l.syncing
	}
	err := errors.Join(before, l.f.Sync(), l.f.Close())
	l.f, l.syncing, l.dirty = nil, nil, false
	if err == nil {
		err = l.w.pack(l.name)
	}
	return err
}

// add writes changes, with the time at which they came: writing waits for the disk now and then, and the changes of the
// other database would seem to come before those that they follow from.
func (l *log) add(b ovsdb.Batch) error {
	t := l.after(b.Time)
	return l.write(t, func(f *counter) error { return l.journal.Add(f, t, b.Rows) })
}

// write appends a record to the file, in one write.
func (l *log) write(t time.Time, write func(f *counter) error) error {
	var text strings.Builder
	if err := write(&counter{Writer: &text}); err != nil {
		return err
	}
	n, err := l.f.WriteString(text.String())
	l.size += int64(n)
	if err != nil {
		return err
	}
	l.time, l.dirty = t, true
	if time.Since(l.synced) >= durable {
		err = l.sync()
	}
	if err == nil {
		err = l.w.grow(int64(n))
	}
	return err
}

// sync has the disk keep what was written, beside what follows: a kill while a slow disk held this up would lose all that came
// meanwhile. Its error is that of the sync before.
func (l *log) sync() error {
	select {
	case err := <-l.syncing:
		l.syncing = nil
		if err != nil {
			return err
		}
	default:
		if l.syncing != nil {
			return nil // one at a time
		}
	}
	l.synced, l.dirty = time.Now(), false
	done, f := make(chan error, 1), l.f
	go func() { done <- f.Sync() }()
	l.syncing = done
	return nil
}

// idle writes that nothing changed, now and then.
func (l *log) idle(ctx context.Context) error {
	if t := l.now(); t.Sub(l.time) >= beat {
		if err := l.write(t, func(f *counter) error { return l.journal.Alive(f, t) }); err != nil {
			return err
		}
		return l.turn(ctx)
	}
	if l.dirty {
		return l.sync()
	}
	return nil
}

// turn begins the next file if this one is long or old. Its rows come from this one, not from the server.
func (l *log) turn(ctx context.Context) error {
	changes := l.size - l.whole
	long := changes > max(l.whole, smallest) || l.size > l.w.limits.Size/shares && changes > l.whole/4
	if !long && time.Since(l.begun) < l.w.limits.Age/shares {
		return nil
	}
	f, err := openRegular(l.w.root, l.name)
	if err != nil {
		return err
	}
	now, err := ovsdb.ParseFile(l.name, f)
	if err != nil {
		return err
	}
	defer now.Close() //nolint:errcheck // only read
	if damage := now.Damage(); damage != "" {
		return errors.New(damage)
	}
	return l.begin(func(f *counter, t time.Time) error { return now.Rewrite(ctx, f, t, []byte(l.schema)) })
}
