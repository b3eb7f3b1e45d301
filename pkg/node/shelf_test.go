package node

import (
	"bytes"
	"crypto/rand"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The first MiB is in memory and the rest in a file, and all of it is what was kept.
func TestShelf(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var s Shelf
	texts, kept := randomTexts(40), make([]shelved, 40)
	var all sync.WaitGroup
	for i, text := range texts {
		all.Go(func() { kept[i] = s.keep(text) })
	}
	all.Wait()
	same(t, texts, kept)
	here := 0
	for _, k := range kept {
		if here += len(k.packed); (k.file == nil) != (k.packed != nil) {
			t.Errorf("in memory and in a file, or in neither: %d bytes", k.size)
		}
	}
	if here == 0 || here > mostHeld || s.held != here {
		t.Errorf("%d bytes in memory, %d counted", here, s.held)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for _, k := range kept {
		if _, err := k.text(); (err != nil) != (k.file != nil) {
			t.Errorf("after Close: %v", err)
		}
	}
}

// Where no file can be made, and without a Shelf, all is in memory.
func TestNoShelf(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	for _, s := range []*Shelf{nil, {}} {
		texts := randomTexts(40)
		var kept []shelved
		for _, text := range texts {
			kept = append(kept, s.keep(text))
		}
		same(t, texts, kept)
	}
}

// randomTexts are texts that cannot be packed, of 64 KiB.
func randomTexts(n int) [][]byte {
	texts := make([][]byte, n)
	for i := range texts {
		texts[i] = make([]byte, 64<<10)
		_, _ = rand.Read(texts[i])
	}
	return texts
}

func same(t *testing.T, texts [][]byte, kept []shelved) {
	t.Helper()
	for i, k := range kept {
		if got, err := k.text(); err != nil || !bytes.Equal(got, texts[i]) {
			t.Errorf("text %d: %v, or another text", i, err)
		}
	}
}

// What frame writes parseParts reads, also where a command printed what looks like a frame.
func TestFrame(t *testing.T) {
	want := map[string]part{
		"addr":  {out: []byte("[]\n"), code: 0},
		"nft":   {out: []byte{}, err: "nft: not found\nsh: 1", code: 127},
		"conf":  {out: []byte("Y begin addr\n\nY said addr 1\n\nY end addr"), code: 1},
		"lines": {out: []byte("\n\n"), err: "\n"},
	}
	if diff := cmp.Diff(want, parseParts(frame(want, "X"), "X"), cmp.AllowUnexported(part{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
