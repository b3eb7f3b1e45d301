package archive

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ovnctl/ovnctl/pkg/decompress"
)

// Limits for unpacking a foreign archive. Its files go into one unnamed temporary file, so that nothing is left
// behind.
var (
	maxUnpacked int64 = 16 << 30 // bytes, of all files, nested archives too
	maxRatio    int64 = 2000     // of unpacked bytes to those of the outermost file, beyond minBomb
	minBomb     int64 = 256 << 20
	maxEntries  int64 = 200_000 // of all nested archives, also those that are left out; a name of 64 bytes counts twice
)

const (
	maxDepth  = 64 // of directories
	maxNested = 3  // archives in archives
	maxName   = 4096
	maxLinks  = 16 // in a row
)

// ErrTooLarge reports that an archive unpacks to too much.
var ErrTooLarge = decompress.ErrTooLarge

// A packed store holds an archive's contents. It is safe for concurrent use.
type packed struct {
	spool   *decompress.File
	budget  *decompress.Budget // of the whole input
	size    int64
	entries map[string]*packedFile // including directories; "." is the top
	rejects int                    // left out because of name or type
	damage  []string               // what is lost, and why
}

type packedFile struct {
	name     string // the base name
	off, len int64
	mod      time.Time
	link     string // target, if a link
	dir      bool
	children []string // of a directory
}

func (f *packedFile) Name() string       { return f.name }
func (f *packedFile) Size() int64        { return f.len }
func (f *packedFile) ModTime() time.Time { return f.mod }
func (f *packedFile) IsDir() bool        { return f.dir }
func (f *packedFile) Sys() any           { return nil }
func (f *packedFile) Mode() fs.FileMode {
	if f.dir {
		return fs.ModeDir | 0o700
	}
	return 0o600
}

func newPacked(ctx context.Context) (*packed, error) {
	spool, err := decompress.Spool()
	if err != nil {
		return nil, err
	}
	budget := decompress.NewBudget(ctx, decompress.Limit{Free: minBomb, Ratio: maxRatio}, maxUnpacked, maxEntries)
	return &packed{spool: spool, budget: budget, entries: map[string]*packedFile{".": {name: ".", dir: true}}}, nil
}

// unpackFile opens an archive, or a single file as an archive of one.
func unpackFile(ctx context.Context, name string) (*packed, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		return nil, err
	}
	return unpack(ctx, name, f, fi.ModTime())
}

// unpack reads an archive or a single file of that name.
func unpack(ctx context.Context, name string, r io.Reader, mod time.Time) (*packed, error) {
	p, err := newPacked(ctx)
	if err != nil {
		return nil, err
	}
	if err := p.take(".", withoutSuffix(filepath.Base(name)), p.budget.Outer(r), mod, 0); err != nil {
		_ = p.close()
		return nil, err
	}
	return p, nil
}

// notes returns what the reader should know of an archive that is whole.
func (p *packed) notes() []string {
	if p.rejects == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d entries were left out: their names lead out of the archive or are not UTF-8, or they are no files", p.rejects)}
}

// take unpacks an archive into dir. Anything else becomes the named file.
func (p *packed) take(dir, file string, r io.Reader, mod time.Time, nested int) error {
	unpacked, err := p.budget.Unpack(r)
	if err != nil {
		return err
	}
	buffered := bufio.NewReaderSize(unpacked, 64<<10)
	if !isTar(buffered) {
		return p.add(file, buffered, mod)
	}
	before := len(p.entries)
	err = p.untar(dir, buffered, nested)
	if err == nil { // what follows the last entry has the checksum of the whole
		_, err = io.Copy(io.Discard, buffered)
	}
	if err != nil && !final(err) && len(p.entries) > before {
		// Keep what came before the damage.
		what := "the archive"
		if dir != "." {
			what = dir + " in it"
		}
		p.damage = append(p.damage, fmt.Sprintf("%s is cut short or damaged: what could be read is there (%v)", what, err))
		return nil
	}
	return err
}

// final reports whether an error ends unpacking: what it says of one nested archive holds for the whole input.
func final(err error) bool {
	_, disk := errors.AsType[*fs.PathError](err)
	return disk || errors.Is(err, ErrTooLarge) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// isTar reports whether a tar header, with its magic, comes first.
func isTar(in *bufio.Reader) bool {
	block, _ := in.Peek(512)
	return len(block) == 512 && bytes.Equal(block[257:262], []byte("ustar"))
}

var suffixes = []string{".tar.zst", ".tar.xz", ".tar.gz", ".tar.bz2", ".tgz", ".txz", ".tar", ".gz", ".xz", ".zst", ".bz2"}

// withoutSuffix returns a packed file's unpacked name.
func withoutSuffix(name string) string {
	for _, s := range suffixes {
		if cut, ok := strings.CutSuffix(name, s); ok && cut != "" {
			return cut
		}
	}
	return name
}

func isPackedName(name string) bool { return withoutSuffix(name) != name }

func (p *packed) untar(dir string, r io.Reader, nested int) error {
	end := &trailer{Reader: r}
	in := tar.NewReader(end)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return end.missing()
		}
		if err != nil {
			return err
		}
		if err := p.budget.Meet(len(h.Name) + len(h.Linkname)); err != nil {
			return err
		}
		name, ok := insideName(h.Name)
		if !ok {
			p.rejects++
			continue
		}
		name = path.Join(dir, name)
		switch h.Typeflag {
		case tar.TypeReg:
			if base := path.Base(name); nested < maxNested && isPackedName(base) && !strings.Contains(base, ".log") {
				err = p.takeNested(name, in, h.ModTime, nested+1)
			} else {
				err = p.add(name, in, h.ModTime)
			}
		case tar.TypeDir:
			err = p.enter(name, &packedFile{dir: true, mod: h.ModTime})
		case tar.TypeSymlink:
			err = p.enter(name, &packedFile{link: path.Join(path.Dir(name), h.Linkname), mod: h.ModTime})
			if path.IsAbs(h.Linkname) {
				p.rejects++
				delete(p.entries, name)
			}
		case tar.TypeLink:
			if target, ok := insideName(h.Linkname); ok {
				err = p.enter(name, &packedFile{link: path.Join(dir, target), mod: h.ModTime})
			} else {
				p.rejects++
			}
		default:
			p.rejects++
		}
		if err != nil {
			return err
		}
	}
}

// A trailer counts the zeros at the end of what was read: tar(5) ends an archive with two blocks of them.
type trailer struct {
	io.Reader
	zeros int
}

func (t *trailer) Read(b []byte) (int, error) {
	n, err := t.Reader.Read(b)
	if kept := len(bytes.TrimRight(b[:n], "\x00")); kept > 0 {
		t.zeros = n - kept
	} else {
		t.zeros += n
	}
	return n, err
}

// missing reports that an archive was cut between two entries.
func (t *trailer) missing() error {
	if t.zeros < 512 {
		return errors.New("its end is missing")
	}
	return nil
}

// takeNested unpacks a nested archive into a directory of its name. A failure does not affect the rest.
func (p *packed) takeNested(name string, r io.Reader, mod time.Time, nested int) error {
	inside := withoutSuffix(name)
	err := p.take(inside, inside, r, mod, nested)
	if final(err) {
		return err
	}
	if err != nil {
		p.damage = append(p.damage, fmt.Sprintf("%s in it cannot be unpacked: %v", name, err))
	}
	return nil
}

// insideName returns an archived name relative to the top; false if it leads out or cannot name a file.
func insideName(name string) (string, bool) {
	if len(name) > maxName || strings.Count(name, "/") > maxDepth || strings.ContainsRune(name, 0) || !utf8.ValidString(name) { // io/fs names are UTF-8
		return "", false
	}
	if slices.Contains(strings.Split(name, "/"), "..") || path.IsAbs(name) {
		return "", false
	}
	name = path.Clean(name)
	return name, true
}

// add copies a file into the spool.
func (p *packed) add(name string, r io.Reader, mod time.Time) error {
	f := &packedFile{off: p.size, mod: mod}
	n, err := io.Copy(io.NewOffsetWriter(kept{p}, p.size), r)
	p.size += n
	f.len = n
	if final(err) {
		return err
	}
	if err == nil || n > 0 && p.entries[path.Clean(name)] == nil { // the start of a truncated file, too, unless it is there whole
		if eerr := p.enter(name, f); eerr != nil {
			return eerr
		}
	}
	return err
}

// A kept writer counts what it writes.
type kept struct{ *packed }

func (k kept) WriteAt(b []byte, at int64) (int, error) {
	if err := k.budget.Keep(len(b)); err != nil {
		return 0, err
	}
	return k.spool.WriteAt(b, at)
}

// enter adds an entry; a later one of the same name replaces it.
func (p *packed) enter(name string, f *packedFile) error {
	name = path.Clean(name)
	f.name = path.Base(name)
	if name == "." {
		return nil
	}
	if int64(len(p.entries)) > maxEntries {
		return fmt.Errorf("%w: more than %d entries", ErrTooLarge, maxEntries)
	}
	old := p.entries[name]
	switch {
	case old == nil:
		parent := path.Dir(name)
		if d := p.entries[parent]; d == nil || !d.dir {
			if err := p.enter(parent, &packedFile{dir: true, mod: f.mod}); err != nil {
				return err
			}
		}
		d := p.entries[parent]
		d.children = append(d.children, f.name)
	case old.dir && f.dir:
		return nil
	}
	p.entries[name] = f
	return nil
}

// find follows links to a file. Links lead only to entries.
func (p *packed) find(name string) (*packedFile, error) {
	name = path.Clean(name)
	for range maxLinks {
		f := p.entries[name]
		if f == nil {
			// A directory on the path may be a link.
			at := p.linkOn(name)
			if at == "" {
				return nil, fs.ErrNotExist
			}
			name = path.Join(p.entries[at].link, name[len(at):])
			continue
		}
		if f.link == "" {
			return f, nil
		}
		name = f.link
	}
	return nil, errors.New("too many links")
}

// linkOn returns the first part of a path that is a link, or "".
func (p *packed) linkOn(name string) string {
	for i := 0; i < len(name); i++ {
		if name[i] == '/' {
			if f := p.entries[name[:i]]; f != nil && f.link != "" {
				return name[:i]
			}
		}
	}
	return ""
}

func (p *packed) open(name string) (io.ReadCloser, error) {
	f, err := p.find(name)
	if err != nil {
		return nil, err
	}
	if f.dir {
		return nil, errNotRegular
	}
	return section{io.NewSectionReader(p.spool, f.off, f.len)}, nil
}

// A section of the spool can be read at any offset; the store closes the spool.
type section struct{ *io.SectionReader }

func (section) Close() error { return nil }

func (p *packed) list(name string) ([]string, error) {
	f, err := p.find(name)
	if err != nil {
		return nil, err
	}
	if !f.dir {
		return nil, errors.New("not a directory")
	}
	return slices.Clone(f.children), nil
}

func (p *packed) stat(name string) (fs.FileInfo, error) {
	f, err := p.find(name)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (p *packed) close() error { return p.spool.Close() }
