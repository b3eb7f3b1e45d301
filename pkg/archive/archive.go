// Package archive is the file-system view of saved data: a plain directory, a
// capture, or what other tools collect, seen as such a directory. It knows names
// and bytes, no rows.
//
// A plain directory holds nb.db and sb.db (ovsdb-client(1) backup) and a
// directory for each node:
//
//	nb.db  sb.db               or nb.list/TABLE and sb.list/TABLE, what ovn-nbctl list TABLE prints
//	NODE/conf.db               or conf.json, what ovsdb-client dump -f json prints
//	NODE/flows-BRIDGE.txt      ovs-ofctl dump-flows; groups-, ports-, tlv-map- likewise
//	NODE/network.json  NODE/nat.json
//	NODE/control/              saved replies of daemons
//	NODE/route/  NODE/pod/
//	NODE/files/                files of the node by their paths
//	NODE/absent/files/         empty files in the place of those that are known not to exist
//	NODE/logs/DAEMON.log       the end of a daemon's log
//	NODE/dirs.json  NODE/daemons.json  NODE/processes.json  NODE/firewall.json
//	NODE/units/NAME.json  NODE/features/LINK.json  NODE/space/  NODE/glob/
package archive

import (
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
)

// maxNodes bounds the directories that are taken for nodes.
const maxNodes = 10000

// A Tree is saved data that was opened for reading. No name, and no link in it,
// leads out of it. It may be used concurrently.
type Tree struct {
	store
	path  string
	index *Index
	notes []string
}

// A store holds files by their names, which are relative, with slashes.
type store interface {
	// open opens a regular file.
	open(name string) (io.ReadCloser, error)
	// list lists the names in a directory, in any order.
	list(name string) ([]string, error)
	stat(name string) (fs.FileInfo, error)
	close() error
}

// Open opens a directory, an archive or a single file.
func Open(path string) (*Tree, error) {
	t := &Tree{path: path}
	fi, err := os.Stat(path)
	if err != nil {
		return nil, t.explain("", err)
	}
	switch {
	case fi.IsDir():
		t.store, err = openDirectory(path)
	case fi.Mode().IsRegular():
		t.store, t.notes, err = unpackFile(path)
	default: // a pipe would be waited for
		err = errors.New("neither a directory nor a file")
	}
	if err != nil {
		return nil, t.explain("", err)
	}
	return t.ready()
}

// Read opens an archive that is in memory; name is what people know it by.
func Read(name string, r io.Reader) (*Tree, error) {
	t := &Tree{path: name}
	var err error
	if t.store, t.notes, err = unpack(name, r, time.Time{}); err != nil {
		return nil, t.explain("", err)
	}
	return t.ready()
}

// ready is the tree with its store settled; else it is closed.
func (t *Tree) ready() (*Tree, error) {
	if err := t.settle(); err != nil {
		_ = t.Close()
		return nil, err
	}
	return t, nil
}

// settle sees to it that the store is a plain directory, whatever it was.
func (t *Tree) settle() error {
	some, databases := plain(t.store)
	// An archive of a directory has that alone at its top. With its databases it looks like a zone, but a zone holds no nodes.
	if names, err := t.list("."); err == nil && len(names) == 1 {
		inside := &below{t.store, names[0]}
		nodes, _ := (&Tree{store: inside}).Nodes()
		nodes = slices.DeleteFunc(nodes, ofNode) // a node's own directory "absent" has files as a node has
		if !some || len(nodes) > 0 {
			if some, databases = plain(inside); some {
				t.store = inside
			}
		}
	}
	if databases {
		if t.Has(IndexFile) {
			return t.readIndex()
		}
		return t.addDumps()
	}
	seen, notes, err := recognise(t.store, t.path)
	switch {
	case err != nil:
		return t.explain("", err)
	case seen == nil:
		return nil
	case some: // what is plain stays
		t.store = &overlay{seen, t.store}
	default:
		t.store = seen
	}
	t.notes = append(t.notes, notes...)
	return nil
}

// addDumps shows what commands printed, saved beside the databases of a plain directory, as the files of their nodes.
func (t *Tree) addDumps() error {
	r := newRecogniser(t.store, t.path, nil)
	if err := r.walk(".", 0); err != nil {
		return t.explain("", err)
	}
	for _, name := range r.names {
		r.dump("", name)
	}
	if len(r.files) > 0 {
		t.store = &overlay{t.store, besides{r.mapped}}
	}
	return nil
}

// A besides store has files of a store that is closed elsewhere.
type besides struct{ *mapped }

func (besides) close() error { return nil }

// A below store is a directory of another.
type below struct {
	store
	dir string
}

func (b *below) open(name string) (io.ReadCloser, error) { return b.store.open(path.Join(b.dir, name)) }
func (b *below) list(name string) ([]string, error)      { return b.store.list(path.Join(b.dir, name)) }
func (b *below) stat(name string) (fs.FileInfo, error)   { return b.store.stat(path.Join(b.dir, name)) }

// Lists ends the name of a directory that stands for a database: it holds the tables
// as text.
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

func (t *Tree) readIndex() error {
	text, err := t.ReadFile(IndexFile, maxIndex)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var x Index
	if err := json.Unmarshal(text, &x); err != nil {
		return t.explain(IndexFile, err)
	}
	switch {
	case x.Kind != "Capture":
		return nil
	case x.APIVersion != "ovnctl/v1":
		return t.explain(IndexFile, fmt.Errorf("a capture of version %.20q, which this ovnctl does not know: take a newer one", x.APIVersion))
	case x.Ended.IsZero():
		t.notes = append(t.notes, t.path+": the capture was not finished: what is missing was not read")
	}
	t.index = &x
	return nil
}

// Index is that of a capture; nil: this is none, or was cut off before it got one.
func (t *Tree) Index() *Index { return t.index }

// Notes say what a reader should know of the source.
func (t *Tree) Notes() []string { return t.notes }

// Path is the directory or file, as it was given to Open or Read.
func (t *Tree) Path() string { return t.path }

// Close lets go of the source. Files opened from it must be closed before.
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

// Has reports whether there is a file or directory of that name.
func (t *Tree) Has(name string) bool {
	_, err := t.stat(name)
	return err == nil
}

// ModTime is when a file was last written; zero when it is not there.
func (t *Tree) ModTime(name string) time.Time {
	fi, err := t.stat(name)
	if err != nil {
		return time.Time{}
	}
	return fi.ModTime()
}

// Nodes lists the directories that hold something of a node, sorted.
func (t *Tree) Nodes() ([]string, error) { return t.dirs(ofNode) }

// dirs lists the directories at the top that hold something wanted, sorted.
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

// ofNode reports whether a name is one that a node's directory holds.
func ofNode(name string) bool {
	switch name {
	case "conf.db", "conf.json", "network.json", "nat.json", "dirs.json", "daemons.json", "processes.json", "firewall.json",
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

// explain gives an error the path that people know.
func (t *Tree) explain(name string, err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return fmt.Errorf("%s: %w", path.Join(t.path, name), err)
}
