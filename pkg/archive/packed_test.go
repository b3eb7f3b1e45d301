package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

type entry struct {
	header tar.Header
	text   string
}

func file(name, text string) entry {
	return entry{tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600}, text}
}

func tarOf(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		e.header.Size = int64(len(e.text))
		if err := w.WriteHeader(&e.header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.text); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gzipped(t *testing.T, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func openBytes(t *testing.T, name string, b []byte) (*Tree, error) {
	t.Helper()
	at := filepath.Join(t.TempDir(), name)
	write(t, at, string(b))
	tree, err := Open(t.Context(), at)
	if err == nil {
		t.Cleanup(func() { _ = tree.Close() })
	}
	return tree, err
}

// What leads out of an archive is left out, and what remains is read.
func TestArchiveStaysInside(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	outside := filepath.Join(t.TempDir(), "outside")
	write(t, outside, "outside")
	link := func(kind byte, name, to string) entry {
		return entry{header: tar.Header{Typeflag: kind, Name: name, Linkname: to, Mode: 0o777}}
	}
	tree, err := openBytes(t, "x.tar", tarOf(t,
		file("nb.db", "north"),
		file("../evil", "x"), file("a/../../evil", "x"), file("/etc/evil", "x"), file(strings.Repeat("d/", 100)+"deep", "x"), file(strings.Repeat("n", 5000), "x"),
		link(tar.TypeSymlink, "abs", outside), link(tar.TypeSymlink, "up", "../../../../../.."+outside), link(tar.TypeSymlink, "loop", "loop"),
		link(tar.TypeSymlink, "one", "two"), link(tar.TypeSymlink, "two", "one"), link(tar.TypeSymlink, "in", "node1/conf.db"), link(tar.TypeSymlink, "dir", "node1"),
		link(tar.TypeLink, "hard", outside), link(tar.TypeLink, "soft", "nb.db"),
		entry{header: tar.Header{Typeflag: tar.TypeFifo, Name: "fifo"}}, entry{header: tar.Header{Typeflag: tar.TypeChar, Name: "zero", Devmajor: 1, Devminor: 5}},
		file("node1/conf.db", "conf"),
	))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"nb.db": "north", "node1/conf.db": "conf", "in": "conf", "dir/conf.db": "conf", "soft": "north"} {
		if b, err := tree.ReadFile(name, 100); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	for _, name := range []string{"evil", "../evil", "etc/evil", "abs", "up", "loop", "one", "two", "hard", "fifo", "zero", "deep", outside, "dir", "."} {
		if b, err := tree.ReadFile(name, 100); err == nil {
			t.Errorf("%s: %q, want an error", name, b)
		}
	}
	if len(tree.Notes()) != 1 || !strings.Contains(tree.Notes()[0], "left out") {
		t.Errorf("notes %q", tree.Notes())
	}
	if left, err := filepath.Glob(filepath.Join(temporary, "ovnctl-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q %v", left, err)
	}
}

// What unpacks to more than is sensible is refused, each bound by itself.
func TestArchiveBombs(t *testing.T) {
	was := []int64{maxUnpacked, maxRatio, minBomb, maxEntries}
	t.Cleanup(func() { maxUnpacked, maxRatio, minBomb, maxEntries = was[0], was[1], was[2], was[3] })
	zeros := strings.Repeat("\x00", 5<<18) // more than a bound of 1 MiB
	inside := gzipped(t, tarOf(t, file("nb.db", zeros)))
	many := make([]entry, 300)
	for i := range many {
		many[i] = file(fmt.Sprintf("f%d", i), "x")
	}
	for _, c := range []struct {
		name  string
		bytes []byte
		limit func()
	}{
		{"size", tarOf(t, file("nb.db", zeros)), func() { maxUnpacked = 1 << 20 }},
		{"size of all", tarOf(t, file("a", zeros[:1<<20]), file("b", zeros[:1<<20]), file("nb.db", "")), func() { maxUnpacked = 1<<20 + 1 }},
		{"ratio", gzipped(t, tarOf(t, file("nb.db", zeros))), func() { minBomb, maxRatio = 1<<20, 100 }},
		{"ratio of a file", gzipped(t, []byte(zeros)), func() { minBomb, maxRatio = 1<<20, 100 }},
		{"inside another", tarOf(t, file("a/inner.tar.gz", string(inside))), func() { minBomb, maxRatio = 1<<20, 100 }},
		{"inside three others", tarOf(t, file("a.tar.gz", string(gzipped(t, tarOf(t, file("b.tar.gz", string(gzipped(t, tarOf(t, file("c.tar.gz", string(inside))))))))))), func() { minBomb, maxRatio = 1<<20, 100 }},
		{"holes", holes(t, 4<<20), func() { minBomb, maxRatio = 1<<20, 100 }},
		{"many small ones", tarOf(t, file("a.tar.gz", string(inside)), file("b.tar.gz", string(inside)), file("c.tar.gz", string(inside))), func() { minBomb, maxRatio = 2<<20, 10 }},
		{"one name again and again", tarOf(t, slices.Repeat([]entry{file("nb.db", "x")}, 300)...), func() { maxEntries = 100 }},
		{"names that are left out", tarOf(t, slices.Repeat([]entry{file("../nb.db", "x")}, 300)...), func() { maxEntries = 100 }},
		{"long names", tarOf(t, file("a/"+strings.Repeat("n", 4000), "x"), file("b/"+strings.Repeat("n", 4000), "x")), func() { maxEntries = 100 }},
		{"entries", tarOf(t, many...), func() { maxEntries = 100 }},
		{"directories", tarOf(t, file(strings.Repeat("d/", 60)+"x", ""), file("e/"+strings.Repeat("d/", 60)+"x", ""), file("f", "")), func() { maxEntries = 100 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			maxUnpacked, maxRatio, minBomb, maxEntries = was[0], was[1], was[2], was[3]
			if _, err := openBytes(t, "fine", c.bytes); err != nil {
				t.Fatalf("within bounds: %v", err)
			}
			c.limit()
			if _, err := openBytes(t, "bomb", c.bytes); !errors.Is(err, ErrTooLarge) {
				t.Errorf("%v, want ErrTooLarge", err)
			}
		})
	}
}

// holes is an archive with a sparse file of some size and no data, PAX 1.0.
func holes(t *testing.T, size int64) []byte {
	t.Helper()
	// The writer does not write such records: they are those of a file with other keys of the same length.
	h := entry{header: tar.Header{Typeflag: tar.TypeReg, Name: "GNUSparseFile.0/nb.db", Mode: 0o600, Format: tar.FormatPAX, PAXRecords: map[string]string{
		"gnu.sparse.major": "1", "gnu.sparse.minor": "0", "gnu.sparse.name": "nb.db", "gnu.sparse.realsize": fmt.Sprint(size),
	}}, text: fmt.Sprintf("1\n%d\n0\n", size) + strings.Repeat("\x00", 512-len(fmt.Sprintf("1\n%d\n0\n", size)))}
	return bytes.ReplaceAll(tarOf(t, h), []byte("gnu.sparse."), []byte("GNU.sparse."))
}

// TestUnpackingEnds holds that unpacking stops at once when its context ends, however little is read of a bomb.
func TestUnpackingEnds(t *testing.T) {
	was := []int64{maxUnpacked, maxRatio, minBomb}
	t.Cleanup(func() { maxUnpacked, maxRatio, minBomb = was[0], was[1], was[2] })
	maxUnpacked, maxRatio, minBomb = 1<<50, 1<<40, 1<<50
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	for name, b := range map[string][]byte{"holes": holes(t, 1<<40), "packed holes": gzipped(t, holes(t, 1<<40))} {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(50*time.Millisecond, cancel)
		start := time.Now()
		if _, err := Open(ctx, archiveFile(t, b)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(start); took > 30*time.Second { // it would take hours
			t.Errorf("%s: ends after %s", name, took)
		}
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// Archives in archives are opened three deep; what lies deeper stays a file.
func TestArchiveNested(t *testing.T) {
	b := tarOf(t, file("sb.db", "south"))
	for range 3 {
		b = tarOf(t, file("x.tar.gz", string(gzipped(t, b))))
	}
	p, err := unpackFile(t.Context(), archiveFile(t, b))
	if err != nil {
		t.Fatal(err)
	}
	defer p.close() //nolint:errcheck // only read
	if f, err := p.open("x/x/x/sb.db"); err != nil {
		t.Error(err)
	} else if text, err := io.ReadAll(f); err != nil || string(text) != "south" {
		t.Errorf("%q %v", text, err)
	}
	q, err := unpackFile(t.Context(), archiveFile(t, tarOf(t, file("x.tar.gz", string(gzipped(t, b))))))
	if err != nil {
		t.Fatal(err)
	}
	defer q.close() //nolint:errcheck // only read
	if _, err := q.stat("x/x/x/x.tar.gz"); err != nil {
		t.Error(err)
	}
}

func archiveFile(t *testing.T, b []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "a.tar")
	write(t, name, string(b))
	return name
}

// Any text opens, or fails, without a panic.
func FuzzOpen(f *testing.F) {
	t := &testing.T{}
	f.Add(tarOf(t, file("nb.db", "x"), file("a/b", "y")))
	f.Add(gzipped(t, tarOf(t, file("sos_commands/x", "x"), file("hostname", "h"))))
	f.Add([]byte("OVSDB JSON 5 x\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		tree, err := Open(t.Context(), archiveFile(t, b))
		if err != nil {
			return
		}
		_, _ = tree.Nodes()
		_, _ = tree.Zones()
		_ = tree.Close()
	})
}

// A capture that ends anywhere gives whole files, and those in the order they were written.
func TestWriterCut(t *testing.T) {
	var b bytes.Buffer
	w, err := NewWriter(&b, "test", 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Checkpoint(); err != nil {
		t.Fatal(err)
	}
	var ends []int
	for i := range 10 {
		if err := w.Keep("node1", fmt.Sprintf("node1/files/%d", i), "a file", []byte(strings.Repeat(fmt.Sprint(i), 1000))); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, b.Len())
	}
	for n := ends[0]; n < b.Len(); n += 7 {
		tree, err := openBytes(t, "cut.tar.zst", b.Bytes()[:n])
		if err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		if x := tree.Index(); x == nil || !x.Ended.IsZero() || len(tree.Damage()) == 0 {
			t.Fatalf("cut at %d: index %+v, damage %q", n, x, tree.Damage())
		}
		for i, end := range ends {
			if _, err := tree.ReadFile(fmt.Sprintf("node1/files/%d", i), 1000); end <= n && err != nil {
				t.Fatalf("cut at %d: file %d was written by %d: %v", n, i, end, err)
			}
		}
	}
}

// What is lost of an archive is told, wherever in it, and what was whole before stays.
func TestDamage(t *testing.T) {
	const index = `{"apiVersion":"ovnctl/v1","kind":"Capture","started":"2026-01-01T00:00:00Z"}`
	nested := gzipped(t, tarOf(t, file("nb.db", "north"), file("sb.db", "south")))
	whole := tarOf(t, file(IndexFile, index), file(IndexFile, index))
	for _, test := range []struct {
		name, want string
		text       []byte
	}{
		{"nothing", "", tarOf(t, file("nb.db", ""), file("x.tar.gz", string(nested)))},
		{"an archive in it", "x in it is cut short or damaged: what could be read is there (the compressed file is cut short)", tarOf(t, file("nb.db", ""), file("x.tar.gz", string(nested[:len(nested)-9])))},
		{"a file in it", "x.gz in it cannot be unpacked: compressed with gzip: ", tarOf(t, file("nb.db", ""), file("x.gz", "\x1f\x8b"))},
		{"no end", "the archive is cut short or damaged: what could be read is there (its end is missing)", tarOf(t, file("nb.db", ""))[:512]},
		{"a second index", "the archive is cut short or damaged: what could be read is there (unexpected EOF)", whole[:3*512+20]},
		{"an unfinished capture", "the capture was not finished: what is missing was not read", whole},
		{"an index of nothing", "index.json, which says what it should have: ", tarOf(t, file(IndexFile, index[:20]))},
	} {
		tree, err := openBytes(t, "x.tar", test.text)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if got := strings.Join(tree.Damage(), "; "); !strings.HasPrefix(got, test.want) || (test.want == "") != (got == "") {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
		if x := tree.Index(); test.name == "a second index" && (x == nil || x.Kind != "Capture") {
			t.Errorf("%s: the first is lost: %+v", test.name, x)
		}
	}
}

// The replies saved for a node are no dumps that lie beside the databases.
func TestRepliesOfNodes(t *testing.T) {
	tree, err := openBytes(t, "x.tar", tarOf(t, file("nb.db", ""), file("sb.db", ""), file("node1/control/ovs-vswitchd-dpctl_dump-flows-8d4bc347.txt", "")))
	if err != nil {
		t.Fatal(err)
	}
	if nodes, err := tree.Nodes(); err != nil || !slices.Equal(nodes, []string{"node1"}) {
		t.Errorf("%q %v", nodes, err)
	}
}

func TestWriterLimit(t *testing.T) {
	var b bytes.Buffer
	w, err := NewWriter(&b, "test", 1000)
	if err != nil {
		t.Fatal(err)
	}
	for name, size := range map[string]int{"a": 600, "b": 600} {
		if err := w.Keep("", name, name, make([]byte, size)); err != nil && !errors.Is(err, ErrFull) {
			t.Fatal(err)
		}
	}
	x, err := w.Close()
	if err != nil || len(x.Files) != 1 || len(x.Failed) != 1 || !slices.Contains([]string{"a", "b"}, x.Failed[0].What) {
		t.Errorf("%+v %v", x, err)
	}
	if _, err := zstd.NewReader(&b); err != nil {
		t.Error(err)
	}
}
