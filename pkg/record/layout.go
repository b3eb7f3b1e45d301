package record

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"
)

// The names in a record.
const (
	markFile     = "record.json"
	databasesDir = "databases"
	nodesDir     = "nodes"

	logSuffix    = ".db"
	packedSuffix = ".db.zst"
	lookSuffix   = ".tar.zst"
	newPrefix    = ".new-" // of a file that is not complete
)

// A mark is what record.json holds.
type mark struct {
	APIVersion string `json:"apiVersion"` // "ovnctl/v1"
	Kind       string `json:"kind"`       // "Record"
	Version    string `json:"version"`    // of the ovnctl that began it
}

const (
	markVersion = "ovnctl/v1"
	markKind    = "Record"
)

// stamp is the time in a file's name, in UTC.
const stamp = "20060102T150405.000Z"

// beat is how often the file of a database that does not change says so.
const beat = 10 * time.Second

// Bounds for a record of others.
const (
	maxFiles  = 200_000 // in a directory
	maxSeries = 2000    // databases
)

// A series is the files of one database, or of the nodes, in order.
type series struct {
	dir   string
	files []file
}

// A file of a series has what is from its time on until that of the next.
type file struct {
	path string // in the record
	time time.Time
	size int64
}

// list finds the files of a series in a record.
func list(root *os.Root, dir string, suffixes ...string) (series, error) {
	s := series{dir: dir}
	names, err := readNames(root, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	for _, name := range names {
		t, ok := timeOf(name, suffixes...)
		if !ok {
			continue
		}
		f := file{path: path.Join(dir, name), time: t}
		if fi, err := root.Lstat(f.path); err == nil && fi.Mode().IsRegular() {
			f.size = fi.Size()
			s.files = append(s.files, f)
		}
	}
	// Packing a file leaves both for a moment: the shorter name comes first.
	slices.SortFunc(s.files, func(a, b file) int { return cmp.Or(a.time.Compare(b.time), cmp.Compare(len(a.path), len(b.path))) })
	return s, nil
}

// name returns the name of the database: nb.db, or ZONE/nb.db.
func (s series) name() string { return strings.TrimPrefix(s.dir, databasesDir+"/") }

// timeOf returns the time in a file's name.
func timeOf(name string, suffixes ...string) (time.Time, bool) {
	for _, suffix := range suffixes {
		if text, ok := strings.CutSuffix(name, suffix); ok {
			t, err := time.Parse(stamp, text)
			return t, err == nil
		}
	}
	return time.Time{}, false
}

// before returns the last file that begins at or before a time, and when the next one begins; false if there is none.
func (s series) before(t time.Time) (f file, next time.Time, ok bool) {
	for _, g := range s.files {
		if g.time.After(t) {
			return f, g.time, ok
		}
		if !ok || !g.time.Equal(f.time) { // else the same, packed
			f, ok = g, true
		}
	}
	return f, time.Time{}, ok
}

// readNames lists a directory.
func readNames(root *os.Root, dir string) ([]string, error) {
	d, err := root.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer d.Close() //nolint:errcheck // only read
	names, err := d.Readdirnames(maxFiles + 1)
	if len(names) > maxFiles {
		return nil, fmt.Errorf("%s: more than %d files", dir, maxFiles)
	}
	if len(names) > 0 || errors.Is(err, io.EOF) {
		err = nil
	}
	slices.Sort(names)
	return names, err
}

// findDatabases returns the names of the databases in a record: nb.db, or ZONE/nb.db.
func findDatabases(root *os.Root) ([]string, error) {
	tops, err := readNames(root, databasesDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found []string
	for _, top := range tops {
		if isDatabase(top) {
			found = append(found, top)
			continue
		}
		inside, err := readNames(root, path.Join(databasesDir, top))
		if err != nil {
			continue
		}
		for _, name := range inside {
			if isDatabase(name) {
				found = append(found, path.Join(top, name))
			}
		}
	}
	if len(found) > maxSeries {
		return nil, fmt.Errorf("more than %d databases", maxSeries)
	}
	return found, nil
}

func isDatabase(name string) bool { return name == "nb.db" || name == "sb.db" }
