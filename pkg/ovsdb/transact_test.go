//go:build lab

package ovsdb_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
)

func TestTransact(t *testing.T) {
	s := ovsdbtest.Start(t, ovsdbtest.Northbound)
	c := dial(t, ovsdb.Config{DB: s.DB, Remotes: s.Remote(), Timeout: 5 * time.Second})
	const id = ovsdb.UUID("11111111-2222-3333-4444-555555555555")
	results, err := c.Transact(t.Context(),
		ovsdb.Comment("ovnctl: a test"),
		ovsdb.Insert("Logical_Switch", id, map[string]any{
			"name": "a", "ports": ovsdb.Set[ovsdb.UUID]{ovsdb.Named("p")},
			"other_config": map[string]string{"k": "v", "l": "w"},
		}),
		ovsdb.Insert("Logical_Switch_Port", ovsdb.Named("p"), map[string]any{"name": "a-1", "up": true, "tag": 7, "addresses": []string{"x", "y"}}),
		ovsdb.Insert("Logical_Switch", "", nil))
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 4 || results[1].UUID != id || len(results[2].UUID) != 36 {
		t.Fatalf("results %+v", results)
	}
	find := func() nb.LogicalSwitch {
		t.Helper()
		rows, err := ovsdb.Find[nb.LogicalSwitch](t.Context(), c, ovsdb.Where("_uuid", "==", id))
		if err != nil || len(rows) != 1 {
			t.Fatalf("%v, %v", rows, err)
		}
		return rows[0]
	}
	if sw := find(); sw.Name != "a" || sw.Ports[0] != results[2].UUID || sw.OtherConfig["l"] != "w" {
		t.Fatalf("inserted %+v", sw)
	}

	// A guard that holds, and one whose rows have moved on.
	guard := ovsdb.Wait("Logical_Switch", []string{"name", "other_config"},
		[]map[string]any{{"name": "a", "other_config": map[string]string{"k": "v", "l": "w"}}}, ovsdb.Where("_uuid", "==", id))
	rename := ovsdb.Update("Logical_Switch", map[string]any{"name": "b"}, ovsdb.Where("_uuid", "==", id))
	results, err = c.Transact(t.Context(), guard, rename)
	if err != nil || results[1].Count != 1 || find().Name != "b" {
		t.Fatalf("guarded update: %+v, %v", results, err)
	}
	_, err = c.Transact(t.Context(), guard, ovsdb.Delete("Logical_Switch", ovsdb.Where("_uuid", "==", id)))
	var refused *ovsdb.OperationError
	if !errors.Is(err, ovsdb.ErrGuard) || !errors.As(err, &refused) || refused.Index != 0 || refused.Op != "wait" {
		t.Fatalf("guard that does not hold: %v", err)
	}
	if !strings.Contains(err.Error(), "the database has changed meanwhile, nothing was done") || find().Name != "b" {
		t.Fatalf("guard that does not hold: %v, %+v", err, find())
	}
	none := ovsdb.Wait("Logical_Switch", []string{"name"}, nil, ovsdb.Where("name", "==", "c"))
	add := ovsdb.Insert("Logical_Switch", "", map[string]any{"name": "c"})
	if _, err = c.Transact(t.Context(), none, add); err != nil {
		t.Fatalf("guard that there is none: %v", err)
	}
	if _, err = c.Transact(t.Context(), none, add); !errors.Is(err, ovsdb.ErrGuard) {
		t.Fatalf("guard that there is none, but there is: %v", err)
	}

	results, err = c.Transact(t.Context(), ovsdb.Mutate("Logical_Switch", []ovsdb.Mutation{
		{Column: "other_config", Mutator: "delete", Value: ovsdb.Set[string]{"k"}},
		{Column: "other_config", Mutator: "insert", Value: map[string]string{"m": "x"}},
	}, ovsdb.Where("_uuid", "==", id)))
	if sw := find(); err != nil || results[0].Count != 1 || len(sw.OtherConfig) != 2 || sw.OtherConfig["m"] != "x" {
		t.Fatalf("mutated %+v, %v", sw, err)
	}

	for _, test := range []struct {
		name  string
		op    ovsdb.Operation
		is    error
		index int
		words string
	}{
		{"enum", ovsdb.Insert("ACL", "", map[string]any{"action": "nonsense"}), ovsdb.ErrConstraint, 0, "insert in ACL: constraint violation"},
		{"reference", ovsdb.Insert("Logical_Switch", "", map[string]any{"ports": ovsdb.UUID("00000000-0000-0000-0000-000000000001")}), ovsdb.ErrReference, 1, "referential integrity"},
		{"index", ovsdb.Insert("Address_Set", "", map[string]any{"name": "twice"}), ovsdb.ErrConstraint, 1, "identical values"},
		{"no such table", ovsdb.Insert("Nonsense", "", nil), nil, 0, "Nonsense"},
		{"no such column", ovsdb.Insert("ACL", "", map[string]any{"nonsense": 1}), nil, 0, "nonsense"},
		{"no condition", ovsdb.Delete("Logical_Switch"), nil, -1, "delete in Logical_Switch: no condition"},
		{"no column type", ovsdb.Insert("ACL", "", map[string]any{"match": make(chan int)}), nil, -1, "insert in ACL: column match: a column cannot hold a chan int"},
	} {
		t.Run(test.name, func(t *testing.T) {
			ops := []ovsdb.Operation{test.op}
			if test.name == "index" {
				if _, err := c.Transact(t.Context(), test.op); err != nil {
					t.Fatal(err)
				}
			}
			before := len(names(t, c))
			_, err := c.Transact(t.Context(), ops...)
			if err == nil || !strings.Contains(err.Error(), test.words) || test.is != nil && !errors.Is(err, test.is) {
				t.Fatalf("error %v", err)
			}
			var refused *ovsdb.OperationError
			if errors.As(err, &refused) != (test.index >= 0) || refused != nil && refused.Index != test.index {
				t.Errorf("operation error %+v, want index %d", refused, test.index)
			}
			if errors.Is(err, ovsdb.ErrUnknownOutcome) || len(names(t, c)) != before {
				t.Errorf("refused, but %d rows, were %d: %v", len(names(t, c)), before, err)
			}
		})
	}

	// A deleted row comes back under its UUID.
	old := find()
	if _, err := c.Transact(t.Context(), ovsdb.Delete("Logical_Switch", ovsdb.Where("_uuid", "==", id))); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Transact(t.Context(), ovsdb.Insert("Logical_Switch", id, map[string]any{"name": old.Name})); err != nil || find().Name != "b" {
		t.Fatalf("inserted again: %v", err)
	}
}
