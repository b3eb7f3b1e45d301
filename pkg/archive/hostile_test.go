package archive

import (
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/internal/hostile"
)

// TestHostileArchives holds that whatever an archive is, it opens within bounds or fails with a short error: no more bytes and
// entries are kept than the budget has, all of them lie inside and can be read, and nothing is left on the disk.
func TestHostileArchives(t *testing.T) {
	was := []int64{maxUnpacked, maxRatio, minBomb, maxEntries}
	t.Cleanup(func() { maxUnpacked, maxRatio, minBomb, maxEntries = was[0], was[1], was[2], was[3] })
	maxUnpacked, maxRatio, minBomb, maxEntries = 4<<20, 100, 1<<20, 2000
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	opened := 0
	hostile.Each(t, 100, func(t *testing.T, draw *rand.Rand) {
		text := hostile.Archive(draw)
		at := archiveFile(t, text)
		hostile.Bounded(t, 64<<20, func() error {
			p, err := unpackFile(t.Context(), at)
			if err != nil {
				return err
			}
			opened++
			inside(t, p)
			return p.close()
		})
		hostile.Bounded(t, 96<<20, func() error {
			tree, err := Open(t.Context(), at)
			if err != nil {
				return err
			}
			_, _ = tree.Nodes()
			_, _ = tree.Zones()
			return tree.Close()
		})
	})
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if !testing.Short() && opened < 20 { // a short run draws too few to tell
		t.Errorf("only %d of the archives open at all: the rest says little", opened)
	}
}

// inside fails for what goes beyond the budget, or out of the archive.
func inside(t *testing.T, p *packed) {
	t.Helper()
	if p.size > maxUnpacked || int64(len(p.entries)) > maxEntries+1 {
		t.Errorf("%d bytes and %d entries are kept, want at most %d and %d", p.size, len(p.entries), maxUnpacked, maxEntries)
	}
	for name, e := range p.entries {
		if name != "." && (!filepath.IsLocal(name) || !fs.ValidPath(name) || strings.Count(name, "/") > maxDepth) {
			t.Errorf("an entry %q", name)
		}
		if e.dir {
			continue
		}
		f, err := p.open(name)
		if err != nil {
			continue // a link to nowhere
		}
		if n, err := io.Copy(io.Discard, f); err != nil || n > maxUnpacked {
			t.Errorf("%q: %d bytes, %v", name, n, err)
		}
		_ = f.Close()
	}
}
