package archive

import (
	"archive/tar"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/ovnctl/ovnctl/pkg/secret"
)

// A Writer writes a capture, a .tar.zst. What was written is readable at any time, even if the writer is killed. It
// is safe for concurrent use.
type Writer struct {
	mu     sync.Mutex
	packer *zstd.Encoder
	tar    *tar.Writer
	index  Index
	kept   map[string]string // hashes by name
	size   int64             // of all files, unpacked
	limit  int64
	full   bool
	err    error // the stream's: no more can be written
	saved  time.Time
}

// ErrFull reports that a capture has reached its size limit.
var ErrFull = errors.New("the capture has reached its size limit")

// indexEvery is how often the index is written while files come in.
const indexEvery = 5 * time.Second

// NewWriter starts a capture of at most limit bytes, unpacked; version is that of the program.
func NewWriter(w io.Writer, version string, limit int64) (*Writer, error) {
	packer, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	if err != nil {
		return nil, err
	}
	now := time.Now().UTC()
	return &Writer{
		packer: packer, tar: tar.NewWriter(packer), kept: map[string]string{}, limit: limit, saved: now,
		index: Index{
			APIVersion: "ovnctl/v1", Kind: "Capture", Version: version, Started: now,
			Nodes: []IndexNode{}, Databases: []IndexDatabase{}, Files: []IndexEntry{}, Failed: []IndexFailure{}, Notes: []string{},
		},
	}, nil
}

// Describe changes the index.
func (w *Writer) Describe(change func(*Index)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.index)
}

// Size returns the bytes written, unpacked.
func (w *Writer) Size() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.size
}

// Keep writes a file of a node, or of none. It replaces an earlier one of that name.
func (w *Writer) Keep(node, name, what string, content []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now().UTC()
	sum := sha256.Sum256(content)
	hash := hex.EncodeToString(sum[:])
	if w.err != nil || w.kept[name] == hash {
		return w.err
	}
	if w.size+int64(len(content)) > w.limit {
		w.full = true
		w.index.Failed = append(w.index.Failed, IndexFailure{Node: node, What: what, Why: ErrFull.Error(), Time: now})
		return ErrFull
	}
	if err := w.add(name, content, now); err != nil {
		return err
	}
	w.size += int64(len(content))
	if w.kept[name] != "" {
		w.index.Files = slices.DeleteFunc(w.index.Files, func(e IndexEntry) bool { return e.Name == name })
	}
	w.kept[name] = hash
	w.index.Files = append(w.index.Files, IndexEntry{Name: name, What: what, Node: node, Size: len(content), SHA256: hash, Time: now})
	if now.Sub(w.saved) >= indexEvery {
		w.saved = now
		return w.addIndex(now)
	}
	return nil
}

// Full reports whether the size limit left something out.
func (w *Writer) Full() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.full
}

// Miss notes what could not be read.
func (w *Writer) Miss(node, what string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := IndexFailure{Node: node, What: what, Why: strings.TrimPrefix(err.Error(), what+": "), Time: time.Now().UTC()}
	same := func(g IndexFailure) bool { return g.Node == f.Node && g.What == f.What && g.Why == f.Why }
	if !slices.ContainsFunc(w.index.Failed, same) {
		w.index.Failed = append(w.index.Failed, f)
	}
}

// Checkpoint writes the current index, so that a capture that ends here tells what it lacks.
func (w *Writer) Checkpoint() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return w.err
	}
	w.saved = time.Now().UTC()
	return w.addIndex(w.saved)
}

// Close ends the capture with its index and returns that. It does not close the underlying writer.
func (w *Writer) Close() (Index, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.index.Ended = time.Now().UTC()
	if w.err != nil {
		return w.index, w.err
	}
	return w.index, cmp.Or(w.addIndex(w.index.Ended), w.tar.Close(), w.packer.Close())
}

func (w *Writer) addIndex(now time.Time) error {
	text, err := json.MarshalIndent(w.index, "", "\t")
	if err != nil {
		return err
	}
	return w.add(IndexFile, append(secret.Text(text), '\n'), now)
}

// add appends a file to the archive and flushes it.
func (w *Writer) add(name string, content []byte, now time.Time) error {
	w.err = w.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(content)), Mode: 0o600, ModTime: now, Format: tar.FormatPAX})
	if w.err == nil {
		_, w.err = w.tar.Write(content)
	}
	if w.err == nil {
		w.err = cmp.Or(w.tar.Flush(), w.packer.Flush())
	}
	return w.err
}

// Node returns a writer to a node's own directory.
func (w *Writer) Node(node, dir string) *NodeWriter { return &NodeWriter{w, node, dir} }

// A NodeWriter keeps one node's replies.
type NodeWriter struct {
	w         *Writer
	node, dir string
}

// Keep writes a file of the node.
func (n *NodeWriter) Keep(name, what string, content []byte) error {
	return n.w.Keep(n.node, path.Join(n.dir, name), what, content)
}

// Miss notes what the node did not reply to.
func (n *NodeWriter) Miss(what string, err error) { n.w.Miss(n.node, what, err) }

// A Directory keeps a node's replies in a directory of the file system.
type Directory string

// Keep writes a file completely or not at all.
func (d Directory) Keep(name, _ string, content []byte) (err error) {
	name = filepath.Join(string(d), filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".new-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	if _, err := f.Write(content); err != nil {
		_ = f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// Miss does nothing: a missing file means no reply.
func (d Directory) Miss(string, error) {}
