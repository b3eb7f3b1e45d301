package archive

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// An Extra is a file that Join adds.
type Extra struct {
	Size int64
	Time time.Time // when it was last written
	Open func() (io.ReadCloser, error)
}

// Parts are what Join makes a tree of.
type Parts struct {
	Name  string // for people
	Index Index
	Base  *Tree // nil: there is none
	Extra map[string]Extra
	Notes []string
	Close []func() error // called after the base is closed
}

// Join returns what a tree holds with more files, as a capture of that index. It takes ownership of the base.
func Join(p Parts) *Tree {
	s := &joined{extra: p.Extra, closers: p.Close}
	t := &Tree{path: p.Name, index: &p.Index, store: s, notes: p.Notes}
	if p.Base != nil {
		t.notes, t.damage = slices.Concat(p.Base.notes, p.Notes), p.Base.damage
		s.closers = append([]func() error{p.Base.Close}, p.Close...)
		t.store = &overlay{s, besides{p.Base.store}}
	}
	return t
}

// A joined store holds the files that were added.
type joined struct {
	extra   map[string]Extra
	closers []func() error
}

func (j *joined) open(name string) (io.ReadCloser, error) {
	if e, ok := j.extra[path.Clean(name)]; ok {
		return e.Open()
	}
	return nil, fs.ErrNotExist
}

func (j *joined) list(dir string) ([]string, error) {
	var names []string
	for name := range j.extra {
		if dir = path.Clean(dir); dir != "." {
			inside, ok := strings.CutPrefix(name, dir+"/")
			if !ok {
				continue
			}
			name = inside
		}
		if first, _, _ := strings.Cut(name, "/"); !slices.Contains(names, first) {
			names = append(names, first)
		}
	}
	if len(names) == 0 && dir != "." {
		return nil, fs.ErrNotExist
	}
	return names, nil
}

func (j *joined) stat(name string) (fs.FileInfo, error) {
	name = path.Clean(name)
	if e, ok := j.extra[name]; ok {
		return &packedFile{name: path.Base(name), len: e.Size, mod: e.Time}, nil
	}
	if _, err := j.list(name); err != nil {
		return nil, err
	}
	return &packedFile{name: path.Base(name), dir: true}, nil
}

func (j *joined) close() error {
	var errs []error
	for _, c := range j.closers {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}

// Copy writes all that a capture holds, or a moment of a record.
func (w *Writer) Copy(t *Tree) error {
	x := t.Index()
	if x == nil {
		return errors.New("this is not a capture")
	}
	times := map[string]time.Time{}
	for _, f := range x.Files {
		content, err := t.ReadFile(f.Name, maxCopied)
		if err != nil {
			return err
		}
		if err := w.Keep(f.Node, f.Name, f.What, content); err != nil {
			return err
		}
		times[f.Name] = f.Time
	}
	w.Describe(func(y *Index) {
		for i := range y.Files {
			y.Files[i].Time = times[y.Files[i].Name]
		}
		y.Started, y.Redacted, y.Apart, y.Nodes, y.Databases = x.Started, x.Redacted, x.Apart, x.Nodes, x.Databases
		y.Failed, y.Notes = append(y.Failed, x.Failed...), slices.Concat(x.Notes, t.notes)
	})
	return nil
}

// maxCopied bounds a file of a capture, in bytes.
const maxCopied = 4 << 30
