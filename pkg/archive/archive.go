// Package archive is the file-system view of saved data: a plain directory, a capture, or what other tools collect,
// presented as one. It knows names and bytes, not rows.
//
// A plain directory holds nb.db and sb.db (ovsdb-client(1) backup) and a
// directory for each node:
//
//	nb.db  sb.db               or nb.list/TABLE and sb.list/TABLE, what ovn-nbctl list TABLE prints
//	NODE/conf.db               or conf.json, what ovsdb-client dump -f json prints
//	NODE/flows-BRIDGE.txt      ovs-ofctl dump-flows; groups-, ports-, tlv-map- likewise
//	NODE/network.json
//	NODE/control/              saved replies of daemons
//	NODE/route/  NODE/pod/
//	NODE/files/                files of the node by their paths
//	NODE/absent/files/         empty files in the place of those that are known not to exist
//	NODE/logs/DAEMON.log       the end of a daemon's log
//	NODE/dirs.json  NODE/daemons.json  NODE/processes.json  NODE/firewall.json
//	NODE/units/NAME.json  NODE/features/LINK.json  NODE/space/  NODE/glob/
package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/memory"
)

// maxNodes bounds the directories treated as nodes.
const maxNodes = 10000

// A Tree is saved data opened for reading. No name or link in it leads outside. It is safe for concurrent use.
type Tree struct {
	store
	path  string
	index *Index

	notes, damage []string
}

// A store holds files by relative, slash-separated names.
type store interface {
	// open opens a regular file.
	open(name string) (io.ReadCloser, error)
	// list lists the names in a directory, in any order.
	list(name string) ([]string, error)
	stat(name string) (fs.FileInfo, error)
	close() error
}

// Open opens a directory, an archive or a single file. Unpacking ends with the context.
func Open(ctx context.Context, path string) (*Tree, error) {
	t := &Tree{path: path}
	fi, err := os.Stat(path)
	if err != nil {
		return nil, t.explain("", err)
	}
	switch {
	case fi.IsDir():
		t.store, err = openDirectory(path)
	case fi.Mode().IsRegular():
		err = t.unpacked(unpackFile(ctx, path))
	default: // a pipe would block
		err = errors.New("neither a directory nor a file")
	}
	if err != nil {
		return nil, t.explain("", err)
	}
	return t.ready(ctx)
}

// Read opens an archive in memory; name is what people know it by.
func Read(ctx context.Context, name string, r io.Reader) (*Tree, error) {
	t := &Tree{path: name}
	if err := t.unpacked(unpack(ctx, name, r, time.Time{})); err != nil {
		return nil, t.explain("", err)
	}
	return t.ready(ctx)
}

// unpacked takes what an archive holds.
func (t *Tree) unpacked(p *packed, err error) error {
	if err == nil {
		t.store, t.notes, t.damage = p, p.notes(), p.damage
	}
	return err
}

// ready settles and returns the tree; on failure it closes it.
func (t *Tree) ready(ctx context.Context) (*Tree, error) {
	if err := t.settle(ctx); err != nil {
		_ = t.Close()
		return nil, err
	}
	return t, nil
}

// settle turns the store into a plain directory, whatever it was.
func (t *Tree) settle(ctx context.Context) error {
	some, databases := plain(t.store)
	// An archive of a directory has only that at its top. Its databases make it look like a zone, but a zone holds no
	// nodes.
	if names, err := t.list("."); err == nil && len(names) == 1 {
		inside := &below{t.store, names[0]}
		nodes, _ := (&Tree{store: inside}).Nodes()
		nodes = slices.DeleteFunc(nodes, ofNode) // a node's own "absent" has the files of a node
		if !some || len(nodes) > 0 {
			if some, databases = plain(inside); some {
				t.store = inside
			}
		}
	}
	if databases {
		if t.Has(IndexFile) {
			return t.readIndex(ctx)
		}
		return t.addDumps()
	}
	whole := t.store
	if d, ok := whole.(directory); ok {
		var err error
		if whole, t.damage, err = unpackInside(ctx, d); err != nil {
			return t.explain("", err)
		}
	}
	seen, notes, err := recognise(whole, t.path)
	switch {
	case err != nil:
		return t.explain("", err)
	case seen == nil:
		return nil
	case some: // keep what is plain
		t.store = &overlay{seen, t.store}
	default:
		t.store = seen
	}
	t.notes = append(t.notes, notes...)
	return nil
}

// addDumps maps command output saved beside the databases of a plain directory to its nodes' files.
func (t *Tree) addDumps() error {
	r := newRecogniser(t.store, t.path)
	if err := r.walk(".", 0); err != nil {
		return t.explain("", err)
	}
	for _, name := range r.names {
		if inside := strings.SplitN(name, "/", 3); len(inside) < 3 || !ofNode(inside[1]) { // else a reply saved under its own name
			r.dump("", name)
		}
	}
	if len(r.files) > 0 {
		t.store = &overlay{t.store, besides{r.mapped}}
	}
	return nil
}

// A besides store is closed elsewhere.
type besides struct{ store }

func (besides) close() error { return nil }

// A below store is a directory of another store.
type below struct {
	store
	dir string
}

func (b *below) open(name string) (io.ReadCloser, error) { return b.store.open(path.Join(b.dir, name)) }
func (b *below) list(name string) ([]string, error)      { return b.store.list(path.Join(b.dir, name)) }
func (b *below) stat(name string) (fs.FileInfo, error)   { return b.store.stat(path.Join(b.dir, name)) }

// Lists is the suffix of a directory that stands for a database and holds its tables as text.
const Lists = ".list"

// ofZone reports whether a name is that of a Northbound or Southbound.
func ofZone(name string) bool {
	side := strings.TrimSuffix(strings.TrimSuffix(name, ".db"), Lists)
	return side != name && (side == "nb" || side == "sb")
}

// Databases reports whether there are databases at the top.
func (t *Tree) Databases() bool {
	names, err := t.list(".")
	return err == nil && slices.ContainsFunc(names, ofZone)
}

// Zones lists the directories with databases of their own, sorted.
func (t *Tree) Zones() ([]string, error) {
	return t.dirs(ofZone)
}

// maxIndex bounds an index, in bytes.
const maxIndex = 64 << 20

func (t *Tree) readIndex(ctx context.Context) error {
	text, err := t.ReadFile(IndexFile, maxIndex)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var x Index
	if err := json.Unmarshal(text, &x); err != nil {
		t.index = &Index{} // with it what the capture has is taken for a part of it
		t.damage = append(t.damage, fmt.Sprintf("%s, which says what it should have: %v", IndexFile, err))
		return nil
	}
	switch {
	case x.Kind != "Capture":
		return nil
	case x.APIVersion != "ovnctl/v1":
		return t.explain(IndexFile, fmt.Errorf("a capture of version %.20q, which this ovnctl does not know: take a newer one", x.APIVersion))
	}
	t.index = &x
	for _, f := range x.Unread() {
		t.damage = append(t.damage, fmt.Sprintf("it was captured without %s: %s", f.What, f.Why))
	}
	if !x.Ended.IsZero() {
		return t.compare(ctx, x.Files)
	}
	if len(t.damage) == 0 {
		t.damage = append(t.damage, "the capture was not finished: what is missing was not read")
	}
	return nil
}

// compare notes which files of a capture are missing or not as its index has them.
func (t *Tree) compare(ctx context.Context, files []IndexEntry) error {
	const mostNamed = 3
	var named []string
	lost := 0
	seen := map[string]bool{}
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		again := seen[f.Name]
		seen[f.Name] = true
		if again || t.holds(f) {
			continue
		}
		if lost++; lost <= mostNamed {
			named = append(named, f.Name)
		}
	}
	if lost == 0 {
		return nil
	}
	if lost > mostNamed {
		named = append(named, fmt.Sprintf("and %d more", lost-mostNamed))
	}
	t.damage = append(t.damage, fmt.Sprintf("%d of %d files are missing, or damaged or changed since: %s", lost, len(files), strings.Join(named, ", ")))
	return nil
}

// holds reports whether a file is there as it was captured.
func (t *Tree) holds(f IndexEntry) bool {
	in, err := t.open(f.Name)
	if err != nil {
		return false
	}
	defer in.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, in)
	return err == nil && hex.EncodeToString(sum.Sum(nil)) == f.SHA256
}

// Index returns a capture's index; nil if this is none, or was cut off before its index.
func (t *Tree) Index() *Index { return t.index }

// Damage returns what is lost of the source, and why: what it lacks may have been there.
func (t *Tree) Damage() []string { return t.damage }

// Notes returns notes on the source for the reader.
func (t *Tree) Notes() []string { return t.notes }

// Path returns the directory or file as given to Open or Read.
func (t *Tree) Path() string { return t.path }

// Close releases the source. Close files opened from it first.
func (t *Tree) Close() error { return t.close() }

// File opens a regular file; name is relative, with slashes.
func (t *Tree) File(name string) (io.ReadCloser, error) {
	f, err := t.open(name)
	if err != nil {
		return nil, t.explain(name, err)
	}
	return f, nil
}

// ReadFile reads a regular file of at most limit bytes.
func (t *Tree) ReadFile(name string, limit int64) ([]byte, error) {
	limit = min(limit, max(0, memory.Left()/2)) // as it is, and what is made of it
	f, err := t.File(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, t.explain(name, err)
	}
	if int64(len(b)) > limit {
		return nil, t.explain(name, fmt.Errorf("larger than %d bytes", limit))
	}
	return b, nil
}

// Has reports whether that file or directory exists.
func (t *Tree) Has(name string) bool {
	_, err := t.stat(name)
	return err == nil
}

// ModTime returns when a file was last written; zero if missing.
func (t *Tree) ModTime(name string) time.Time {
	fi, err := t.stat(name)
	if err != nil {
		return time.Time{}
	}
	return fi.ModTime()
}

// Nodes lists the directories with files of a node, sorted.
func (t *Tree) Nodes() ([]string, error) { return t.dirs(ofNode) }

// dirs lists the top-level directories with a wanted file, sorted.
func (t *Tree) dirs(wanted func(name string) bool) ([]string, error) {
	names, err := t.List(".")
	if err != nil {
		return nil, err
	}
	var found []string
	for _, name := range names {
		if strings.HasPrefix(name, ".") {
			continue
		}
		inside, err := t.List(name)
		if err == nil && slices.ContainsFunc(inside, wanted) {
			found = append(found, name)
		}
		if len(found) == maxNodes {
			break
		}
	}
	return found, nil
}

// ofNode reports whether a node's directory has such a name.
func ofNode(name string) bool {
	switch name {
	case "conf.db", "conf.json", "network.json", "dirs.json", "daemons.json", "processes.json", "firewall.json",
		"control", "route", "pod", "files", "absent", "logs", "units", "features", "space", "glob":
		return true
	}
	kind, _, _ := strings.Cut(name, "-")
	return path.Ext(name) == ".txt" && slices.Contains([]string{"flows", "groups", "ports", "tlv", "meters"}, kind)
}

// List lists the names in a directory, sorted.
func (t *Tree) List(name string) ([]string, error) {
	names, err := t.list(name)
	if err != nil {
		return nil, t.explain(name, err)
	}
	slices.Sort(names)
	return names, nil
}

// explain adds the path that people know to an error.
func (t *Tree) explain(name string, err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return fmt.Errorf("%s: %w", path.Join(t.path, name), err)
}
