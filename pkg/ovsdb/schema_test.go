//go:build lab

package ovsdb_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
)

// edited writes the installed schema with changes to its tables.
func edited(t *testing.T, schema string, change func(tables map[string]any)) string {
	t.Helper()
	text, err := os.ReadFile(schema)
	if err != nil {
		t.Fatal(err)
	}
	var s map[string]any
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	change(s["tables"].(map[string]any))
	delete(s, "cksum")
	if text, err = json.Marshal(s); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(ovsdbtest.Dir(t), "schema")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func columns(tables map[string]any, table string) map[string]any {
	return tables[table].(map[string]any)["columns"].(map[string]any)
}

// TestForeignSchema reads servers that know less, more and other than we do,
// live and from their files.
func TestForeignSchema(t *testing.T) {
	older := edited(t, ovsdbtest.Northbound, func(tables map[string]any) {
		delete(tables, "BFD")
		delete(columns(tables, "Logical_Router_Static_Route"), "bfd")
		delete(tables, "Copp")
		delete(columns(tables, "Logical_Switch"), "copp")
		delete(columns(tables, "Logical_Router"), "copp")
		delete(columns(tables, "Logical_Switch_Port"), "up")
		delete(columns(tables, "Logical_Switch_Port"), "options")
	})
	newer := edited(t, ovsdbtest.Northbound, func(tables map[string]any) {
		columns(tables, "Logical_Switch_Port")["colour"] = map[string]any{"type": map[string]any{"key": "string", "value": "integer", "min": 0, "max": "unlimited"}}
		columns(tables, "ACL")["tier"] = map[string]any{"type": "integer"}
		tables["Of_Tomorrow"] = map[string]any{"columns": map[string]any{"name": map[string]any{"type": "string"}}, "isRoot": true}
		// One value where there were many, and many where there was one.
		columns(tables, "Logical_Switch_Port")["type"] = map[string]any{"type": map[string]any{"key": "string", "min": 0, "max": 1}}
		columns(tables, "Logical_Switch_Port")["tag"] = map[string]any{"type": "integer"}
	})
	type tables struct {
		Ports    []nb.LogicalSwitchPort
		Switches []nb.LogicalSwitch
		BFD      []nb.BFD
		Tomorrow []ofTomorrow
		ACLs     []nb.ACL
	}
	fill := []string{
		`{"op":"insert","table":"Logical_Switch","row":{"name":"s","ports":["named-uuid","p"],"acls":["named-uuid","a"]}}`,
		`{"op":"insert","table":"Logical_Switch_Port","uuid-name":"p","row":{"name":"s-1","type":"router","tag":4,"addresses":"unknown"}}`,
		`{"op":"insert","table":"ACL","uuid-name":"a","row":{"match":"1","priority":1,"action":"drop","direction":"to-lport"}}`,
	}
	for _, test := range []struct {
		name, schema        string
		more                []string
		bfd, up, tier, then bool
	}{
		{"older", older, nil, false, false, false, false},
		{"newer", newer, []string{
			`{"op":"insert","table":"Of_Tomorrow","row":{"name":"x"}}`,
			`{"op":"update","table":"Logical_Switch_Port","where":[],"row":{"colour":["map",[["red",1]]]}}`,
			`{"op":"update","table":"ACL","where":[],"row":{"tier":2}}`,
		}, true, true, true, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := ovsdbtest.Start(t, test.schema)
			s.Transact(append(fill, test.more...)...)
			c := dial(t, ovsdb.Config{DB: s.DB, Remotes: s.Remote(), Timeout: 5 * time.Second})
			snap, err := ovsdb.OpenFile(s.File)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range []ovsdb.Reader{c, snap} {
				db := tables{BFD: make([]nb.BFD, 1), Tomorrow: make([]ofTomorrow, 2)}
				if err := ovsdb.Load(t.Context(), r, &db); err != nil {
					t.Fatal(err)
				}
				if r.Has("BFD", "") != test.bfd || r.Has("Logical_Switch_Port", "up") != test.up || r.Has("ACL", "tier") != test.tier || r.Has("Of_Tomorrow", "") != test.then {
					t.Errorf("%s: Has does not know the schema", r.Origin())
				}
				p := db.Ports[0]
				if p.Name != "s-1" || p.Type != "router" || p.Tag.Get() != 4 || len(p.Up) != 0 || !p.Addresses.Has("unknown") {
					t.Errorf("%s: port %+v", r.Origin(), p)
				}
				if len(db.BFD) != 0 || len(db.Tomorrow) != len(test.more)/3 || (db.ACLs[0].Tier == 2) != test.tier {
					t.Errorf("%s: loaded %+v", r.Origin(), db)
				}
				_, err := ovsdb.Find[nb.LogicalSwitchPort](t.Context(), r, ovsdb.Where("of_yesterday", "==", "x"))
				if !errors.Is(err, ovsdb.ErrNoColumn) || !strings.Contains(err.Error(), "Logical_Switch_Port") || !strings.Contains(err.Error(), "of_yesterday") {
					t.Errorf("%s: condition on a column that is not there: %v", r.Origin(), err)
				}
			}
		})
	}
}

type wrongSwitch struct {
	UUID ovsdb.UUID `ovsdb:"_uuid"`
	Name int        `ovsdb:"name"`
}

func (wrongSwitch) Table() string { return "Logical_Switch" }

type manyNames struct {
	UUID  ovsdb.UUID `ovsdb:"_uuid"`
	Ports ovsdb.UUID `ovsdb:"ports"`
}

func (manyNames) Table() string { return "Logical_Switch" }

type notAColumn struct {
	Name chan int `ovsdb:"name"`
}

func (notAColumn) Table() string { return "Logical_Switch" }

// TestWrongType reads columns into fields that do not fit.
func TestWrongType(t *testing.T) {
	s := ovsdbtest.Start(t, ovsdbtest.Northbound)
	s.Transact(`{"op":"insert","table":"Logical_Switch","row":{"name":"a","ports":["set",[["named-uuid","p"],["named-uuid","q"]]]}}`,
		`{"op":"insert","table":"Logical_Switch_Port","uuid-name":"p","row":{"name":"a-1"}}`,
		`{"op":"insert","table":"Logical_Switch_Port","uuid-name":"q","row":{"name":"a-2"}}`)
	c := dial(t, ovsdb.Config{DB: s.DB, Remotes: s.Remote(), Timeout: 5 * time.Second})
	snap, err := ovsdb.OpenFile(s.File)
	if err != nil {
		t.Fatal(err)
	}
	good, err := ovsdb.Find[logicalSwitch](t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []ovsdb.Reader{c, snap} {
		rows := []wrongSwitch{{Name: 7}}
		err := r.Select(t.Context(), &ovsdb.Query{Rows: &rows})
		if err == nil || !strings.Contains(err.Error(), "table Logical_Switch, column name, row "+string(good[0].UUID)) {
			t.Errorf("%s: %v", r.Origin(), err)
		}
		if len(rows) != 1 || rows[0].Name != 7 {
			t.Errorf("rows changed though there was an error: %v", rows)
		}
		if _, err := ovsdb.Find[manyNames](t.Context(), r); err == nil || !strings.Contains(err.Error(), "want one value") {
			t.Errorf("%s: two values in one field: %v", r.Origin(), err)
		}
		if _, err := ovsdb.Find[notAColumn](t.Context(), r); err == nil || !strings.Contains(err.Error(), "no column fits") {
			t.Errorf("%s: channel: %v", r.Origin(), err)
		}
		var one logicalSwitch
		for _, wrong := range []any{nil, one, &one, []logicalSwitch{}, &[]int{}} {
			if err := r.Select(t.Context(), &ovsdb.Query{Rows: wrong}); err == nil {
				t.Errorf("%s: rows of type %T", r.Origin(), wrong)
			}
		}
		for _, wrong := range []any{nil, 1, one, struct{ A []logicalSwitch }{}, &struct{ A int }{}} {
			if err := ovsdb.Load(t.Context(), r, wrong); err == nil {
				t.Errorf("%s: loaded into %T", r.Origin(), wrong)
			}
		}
	}
}
