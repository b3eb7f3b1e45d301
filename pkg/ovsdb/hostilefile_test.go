package ovsdb_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/ovnctl/ovnctl/internal/hostile"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

type hostileRow struct {
	UUID  ovsdb.UUID            `ovsdb:"_uuid"`
	Name  string                `ovsdb:"name"`
	Count int                   `ovsdb:"count"`
	Refs  ovsdb.Set[ovsdb.UUID] `ovsdb:"refs"`
	Keys  map[string]string     `ovsdb:"keys"`
}

func (hostileRow) Table() string { return "T" }

// TestHostileFiles holds that whatever a database file is, it is read within bounds or refused with a short error, and that what comes
// of it are rows, the same from memory and from the disk.
func TestHostileFiles(t *testing.T) {
	opened, found := 0, 0
	hostile.Each(t, 600, func(t *testing.T, draw *rand.Rand) {
		text := hostile.Database(draw)
		path := filepath.Join(t.TempDir(), "x.db")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		var rows [2][]hostileRow
		for i, open := range []func() (*ovsdb.Snapshot, error){
			func() (*ovsdb.Snapshot, error) { return ovsdb.ParseFile("x.db", bytes.NewReader(text)) },
			func() (*ovsdb.Snapshot, error) { return ovsdb.OpenFile(path) },
		} {
			hostile.Bounded(t, 64<<20, func() error {
				s, err := open()
				if err != nil {
					return err
				}
				opened++
				rows[i], err = ovsdb.Find[hostileRow](t.Context(), s)
				found += len(rows[i])
				_, _ = ovsdb.Find[hostileRow](t.Context(), s, ovsdb.Where("count", "<", 5))
				_, _ = s.Notice(), s.Damage()
				_ = s.Close()
				return err
			})
		}
		if len(rows[0]) != len(rows[1]) {
			t.Errorf("%d rows from memory, and %d from the disk", len(rows[0]), len(rows[1]))
		}
		for _, r := range rows[0] {
			if len(r.UUID) != 36 {
				t.Errorf("a row with the UUID %q", r.UUID)
			}
		}
	})
	if !testing.Short() && (opened < 100 || found < 100) { // a short run draws too few to tell
		t.Errorf("%d of the files opened, with %d rows: the rest says little", opened, found)
	}
}
