// Package archive is the file-system view of saved data: a plain directory as
// `ovnctl --offline` takes it. It knows names and bytes, no rows.
//
// A plain directory holds nb.db and sb.db (ovsdb-client(1) backup) and a
// directory for each node:
//
//	nb.db  sb.db
//	NODE/conf.db               or conf.json, what ovsdb-client dump -f json prints
//	NODE/flows-BRIDGE.txt      ovs-ofctl dump-flows; groups-, ports-, tlv-map- likewise
//	NODE/network.json  NODE/nat.json
//	NODE/control/              saved replies of daemons
//	NODE/route/  NODE/pod/  NODE/files/
package archive

import (
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

// maxNodes bounds the directories that are taken for nodes.
const maxNodes = 10000

// A Tree is a directory that was opened for reading. No name, and no symbolic
// link in it, leads out of it. It may be used concurrently.
type Tree struct {
	root *os.Root
	path string
}

// Open opens a directory.
func Open(path string) (*Tree, error) {
	fi, err := os.Stat(path)
	if err != nil {
		return nil, (&Tree{path: path}).explain("", err)
	}
	if !fi.IsDir() {
		return nil, fmt.Errorf("%s: not a directory: unpack it first", path)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &Tree{root: root, path: path}, nil
}

// Path is the directory, as it was given to Open.
func (t *Tree) Path() string { return t.path }

// Close lets go of the directory. Files opened from it stay open.
func (t *Tree) Close() error { return t.root.Close() }

// File opens a regular file; name is relative, with slashes.
func (t *Tree) File(name string) (*os.File, error) {
	// Not blocking: a FIFO in a directory from elsewhere must not hang us.
	f, err := t.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, t.explain(name, err)
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		f.Close()
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

// Has says whether there is a file or directory of that name.
func (t *Tree) Has(name string) bool {
	_, err := t.root.Stat(name)
	return err == nil
}

// ModTime is when a file was last written; zero when it is not there.
func (t *Tree) ModTime(name string) time.Time {
	fi, err := t.root.Stat(name)
	if err != nil {
		return time.Time{}
	}
	return fi.ModTime()
}

// Nodes lists the directories that hold something of a node, sorted.
func (t *Tree) Nodes() ([]string, error) {
	names, err := t.list(".")
	if err != nil {
		return nil, err
	}
	var nodes []string
	for _, name := range names {
		if strings.HasPrefix(name, ".") {
			continue
		}
		inside, err := t.list(name)
		if err == nil && slices.ContainsFunc(inside, ofNode) {
			nodes = append(nodes, name)
		}
		if len(nodes) == maxNodes {
			break
		}
	}
	return nodes, nil
}

// ofNode says whether a name is one that a node's directory holds.
func ofNode(name string) bool {
	switch name {
	case "conf.db", "conf.json", "network.json", "nat.json", "control", "route", "pod", "files":
		return true
	}
	kind, _, _ := strings.Cut(name, "-")
	return path.Ext(name) == ".txt" && slices.Contains([]string{"flows", "groups", "ports", "tlv"}, kind)
}

func (t *Tree) list(name string) ([]string, error) {
	// Only a directory is opened: a FIFO would wait for a writer.
	f, err := t.root.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, t.explain(name, err)
	}
	defer f.Close()
	names, err := f.Readdirnames(maxNodes)
	if err != nil && !errors.Is(err, io.EOF) {
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
