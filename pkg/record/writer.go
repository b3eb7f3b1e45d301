package record

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Limits bound a record.
type Limits struct {
	Size int64         // of all files, in bytes
	Age  time.Duration // of the oldest moment
}

// A Writer writes a record. It is safe for concurrent use.
type Writer struct {
	root   *os.Root
	lock   *os.File
	limits Limits

	mu    sync.Mutex // guards what follows, and is held while files are removed
	grown int64      // bytes written since then
}

// Create begins a record in a directory, or goes on with the one that is there. Version is that of the program. Close the
// Writer.
func Create(dir, version string, limits Limits) (*Writer, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	w := &Writer{root: root, limits: limits}
	if err := w.begin(version); err != nil {
		_ = w.Close()
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return w, nil
}

func (w *Writer) begin(version string) error {
	_, err := w.root.Lstat(markFile)
	if errors.Is(err, fs.ErrNotExist) {
		names, err := readNames(w.root, ".")
		if err != nil {
			return err
		}
		if len(names) > 0 {
			return errors.New("there is something else in this directory\nhint: name a new one, or an empty one")
		}
		text, err := json.Marshal(mark{markVersion, markKind, version})
		if err == nil {
			err = w.whole(".", called(markFile), func(out io.Writer) error { _, err := out.Write(append(text, '\n')); return err })
		}
		if err != nil {
			return err
		}
	} else if err != nil {
		return err
	}
	if err := checkMark(w.root); err != nil {
		return err
	}
	if w.lock, err = openRegular(w.root, markFile); err != nil {
		return err
	}
	if err := syscall.Flock(int(w.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return errors.New("another ovnctl watch --keep is recording here")
	}
	return w.tidy()
}

// Close ends the record. Logs must have ended.
func (w *Writer) Close() error {
	var err error
	if w.lock != nil {
		err = w.lock.Close()
	}
	return cmp.Or(err, w.root.Close())
}

// tidy removes what an earlier writer had not completed, and packs what it left open.
func (w *Writer) tidy() error {
	dirs := []string{".", nodesDir}
	names, err := findDatabases(w.root)
	if err != nil {
		return err
	}
	for _, name := range names {
		dirs = append(dirs, path.Join(databasesDir, name))
	}
	for _, dir := range dirs {
		inside, err := readNames(w.root, dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for _, name := range inside {
			switch {
			case strings.HasPrefix(name, newPrefix):
				err = w.root.Remove(path.Join(dir, name))
			case strings.HasSuffix(name, logSuffix) && strings.HasPrefix(dir, databasesDir):
				err = w.pack(path.Join(dir, name))
			}
			if err != nil {
				return err
			}
		}
	}
	return w.prune()
}

// whole writes a file completely or not at all, also if the power fails. Its name is asked for once it is written.
func (w *Writer) whole(dir string, name func() string, write func(io.Writer) error) error {
	if err := w.root.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	part := path.Join(dir, newPrefix+"file")
	f, err := w.root.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	err = write(f)
	err = cmp.Or(err, f.Sync(), f.Close())
	if err == nil {
		err = w.root.Rename(part, path.Join(dir, name()))
	}
	if err != nil {
		_ = w.root.Remove(part)
	}
	return err
}

// called is the name of a file that is known before it is written.
func called(name string) func() string { return func() string { return name } }

// packing is how files of databases are compressed: with little memory, while the recorder goes on.
var packing = []zstd.EOption{zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1 << 20)}

// pack compresses a file of a database that has ended.
func (w *Writer) pack(name string) error {
	in, err := openRegular(w.root, name)
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // only read
	err = w.whole(path.Dir(name), called(strings.TrimSuffix(path.Base(name), logSuffix)+packedSuffix), func(out io.Writer) error {
		z, err := zstd.NewWriter(out, packing...)
		if err != nil {
			return err
		}
		_, err = io.Copy(z, in)
		return cmp.Or(err, z.Close())
	})
	if err == nil {
		err = w.root.Remove(name)
	}
	return err
}

// prune removes the oldest files until the record is within its limits. What is current stays.
func (w *Writer) prune() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.grown = 0
	names, err := findDatabases(w.root)
	if err != nil {
		return err
	}
	var all []series
	for _, name := range names {
		s, err := list(w.root, path.Join(databasesDir, name), logSuffix, packedSuffix)
		if err != nil {
			return err
		}
		all = append(all, s)
	}
	nodes, err := list(w.root, nodesDir, lookSuffix)
	if err != nil {
		return err
	}
	type past struct {
		file
		until time.Time
	}
	var olds []past
	var size int64
	for _, s := range append(all, nodes) {
		for i, f := range s.files {
			size += f.size
			if i+1 < len(s.files) {
				olds = append(olds, past{f, s.files[i+1].time})
			}
		}
	}
	slices.SortFunc(olds, func(a, b past) int { return a.until.Compare(b.until) })
	for _, f := range olds {
		if size <= w.limits.Size && time.Since(f.until) <= w.limits.Age {
			break
		}
		if err := w.root.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		size -= f.size
	}
	return nil
}

// grow counts bytes that were written, and prunes now and then.
func (w *Writer) grow(n int64) error {
	w.mu.Lock()
	w.grown += n
	due := w.grown > w.limits.Size/100
	w.mu.Unlock()
	if due {
		return w.prune()
	}
	return nil
}

// Look adds a look at the nodes that write writes: a capture without databases. It counts from when it is complete.
func (w *Writer) Look(write func(io.Writer) error) error {
	var n int64
	name := func() string { return time.Now().UTC().Format(stamp) + lookSuffix }
	err := w.whole(nodesDir, name, func(out io.Writer) error {
		c := &counter{Writer: out}
		err := write(c)
		n = c.n
		return err
	})
	if err != nil {
		return err
	}
	return w.grow(n)
}

// A counter counts the bytes written through it.
type counter struct {
	io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n += int64(n)
	return n, err
}
