//go:build lab

package ovsdb_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
)

func zip(t testing.TB, write func(w io.Writer) error) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if err := write(w); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestCompressed reads compressed files like plain ones, by their first bytes, cut
// anywhere and with bits flipped.
func TestCompressed(t *testing.T) {
	text := backup(t, 60)
	plain, err := ovsdb.ParseFile("x.db", bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	all := fileState(t, plain)
	dir := ovsdbtest.Dir(t)
	for tool, suffix := range map[string]string{"gzip": ".gz", "zstd": ".zst"} {
		t.Run(tool, func(t *testing.T) {
			// In pieces, for zstd unpacks a short file all at once or not at all.
			var packed []byte
			for piece := range slices.Chunk(text, 2000) {
				path := filepath.Join(dir, "no-suffix")
				if err := os.WriteFile(path, piece, 0o600); err != nil {
					t.Fatal(err)
				}
				ovsdbtest.Run(t, tool, "-f", path)
				b, err := os.ReadFile(path + suffix)
				if err != nil {
					t.Fatal(err)
				}
				packed = append(packed, b...)
			}
			path := filepath.Join(dir, "packed")
			if err := os.WriteFile(path, packed, 0o600); err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(all, fileState(t, open(t, path))); diff != "" {
				t.Errorf("(-plain +compressed)\n%s", diff)
			}
			r := rand.New(rand.NewPCG(7, 8))
			some, refused := 0, 0
			try := func(what string, at int, packed []byte) {
				snap, err := ovsdb.ParseFile("x.db"+suffix, bytes.NewReader(packed))
				if err != nil {
					refused++
					return
				}
				got := fileState(t, snap)
				for id, row := range got {
					if all[id] != row {
						t.Errorf("%s %d: wrong row %s", what, at, id)
					}
				}
				if len(got) < len(all) && snap.Damage() == "" {
					t.Errorf("%s %d: %d of %d rows, and no damage", what, at, len(got), len(all))
				}
				some++
			}
			for range 200 {
				at := r.IntN(len(packed))
				try("cut at", at, packed[:at])
				flipped := bytes.Clone(packed)
				flipped[at] ^= 1 << r.IntN(8)
				try("flipped", at, flipped)
			}
			t.Logf("%d bytes of %d: %d times read, %d times refused", len(packed), len(text), some, refused)
			if some < 50 || refused < 10 {
				t.Error("too little was tried")
			}
		})
	}
}

// TestBomb gives up on what unpacks to a thousand times its size.
func TestBomb(t *testing.T) {
	bomb := zip(t, func(w io.Writer) error {
		_, err := io.WriteString(w, "OVSDB JSON 1000000000 da39a3ee5e6b4b0d3255bfef95601890afd80709\n")
		zeros := make([]byte, 1<<20)
		for range 200 {
			if err == nil {
				_, err = w.Write(zeros)
			}
		}
		return err
	})
	_, err := ovsdb.ParseFile("x.db.gz", bytes.NewReader(bomb))
	if !errors.Is(err, ovsdb.ErrTooLarge) {
		t.Errorf("%d bytes: error %v", len(bomb), err)
	}
	if _, err := ovsdb.ParseFile("x", strings.NewReader("\x1f\x8b")); err == nil || !strings.Contains(err.Error(), "gzip") {
		t.Errorf("two bytes: %v", err)
	}
}
