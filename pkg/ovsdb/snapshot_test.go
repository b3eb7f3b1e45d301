//go:build lab

package ovsdb_test

import (
	"bytes"
	"crypto/sha1"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
)

// TestConditions evaluates each condition in the server, on its file and on a
// dump: the rows must be the same.
func TestConditions(t *testing.T) {
	s := ovsdbtest.Start(t, ovsdbtest.Northbound)
	s.Transact(
		`{"op":"insert","table":"Logical_Switch","row":{"name":"s","ports":["set",[["named-uuid","a"],["named-uuid","b"],["named-uuid","c"],["named-uuid","d"]]]}}`,
		`{"op":"insert","table":"Logical_Switch_Port","uuid-name":"a","row":{"name":"a","tag":7,"up":true,"addresses":["set",["x","y"]],"options":["map",[["k","1"],["l","2"]]]}}`,
		`{"op":"insert","table":"Logical_Switch_Port","uuid-name":"b","row":{"name":"b","up":false,"addresses":"x","options":["map",[["k","2"]]]}}`,
		`{"op":"insert","table":"Logical_Switch_Port","uuid-name":"c","row":{"name":"c \"é\\ <\u0001>","tag":20,"type":"router"}}`,
		`{"op":"insert","table":"Logical_Switch_Port","uuid-name":"d","row":{"name":"d","tag":100,"dynamic_addresses":""}}`)
	c := dial(t, ovsdb.Config{DB: s.DB, Remotes: s.Remote(), Timeout: 5 * time.Second})
	file, err := ovsdb.OpenFile(s.File)
	if err != nil {
		t.Fatal(err)
	}
	dump, err := ovsdb.ParseDump(s.DB, "dump", strings.NewReader(ovsdbtest.Run(t, "ovsdb-client", "dump", "-f", "json", s.Remote(), s.DB)))
	if err != nil {
		t.Fatal(err)
	}
	all, err := ovsdb.Find[nb.LogicalSwitchPort](t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	type set = ovsdb.Set[string]
	type dict = map[string]string
	values := map[string][]any{
		"name":              {"a", "b", "c \"é\\ <\u0001>", "", "none", set{"a"}},
		"tag":               {7, 20, 8, 100, 1, ovsdb.Set[int]{}, ovsdb.Set[int]{20}},
		"up":                {true, false, ovsdb.Set[bool]{}},
		"addresses":         {"x", "y", set{}, set{"y", "x"}, set{"x", "y", "z"}, set{"z"}},
		"options":           {dict{}, dict{"k": "1"}, dict{"k": "2"}, dict{"k": "1", "l": "2"}, dict{"k": "1", "l": "3"}, dict{"m": ""}},
		"type":              {"", "router"},
		"dynamic_addresses": {"", set{}, "x"},
		"_uuid":             {all[0].UUID, all[1].UUID, ovsdb.UUID("00000000-0000-0000-0000-000000000000")},
	}
	compared, found := 0, 0
	for column, values := range values {
		for _, function := range []string{"==", "!=", "includes", "excludes", "<", "<=", ">", ">="} {
			for _, value := range values {
				where := ovsdb.Where(column, function, value)
				want, err := ovsdb.Find[nb.LogicalSwitchPort](t.Context(), c, where)
				for _, snap := range []*ovsdb.Snapshot{file, dump} {
					got, snapErr := ovsdb.Find[nb.LogicalSwitchPort](t.Context(), snap, where)
					if (err == nil) != (snapErr == nil) {
						t.Errorf("%v: server %v, %s %v", where, err, snap.Origin(), snapErr)
						continue
					}
					if err == nil {
						compared++
						found += len(got)
					}
					if diff := portDiff(want, got); diff != "" {
						t.Errorf("%v: %s: %s", where, snap.Origin(), diff)
					}
				}
			}
		}
	}
	if compared < 200 || found < 200 {
		t.Errorf("only %d conditions with %d rows were compared", compared, found)
	}
	_, err = ovsdb.Find[nb.LogicalSwitchPort](t.Context(), c, ovsdb.Where("name", "~", "a"))
	_, snapErr := ovsdb.Find[nb.LogicalSwitchPort](t.Context(), file, ovsdb.Where("name", "~", "a"))
	if err == nil || snapErr == nil {
		t.Errorf("no such function: %v, %v", err, snapErr)
	}
}

func portDiff(want, got []nb.LogicalSwitchPort) string {
	var a, b []string
	for _, p := range want {
		a = append(a, p.Name)
	}
	for _, p := range got {
		b = append(b, p.Name)
	}
	slices.Sort(a)
	slices.Sort(b)
	if slices.Equal(a, b) {
		return ""
	}
	return fmt.Sprintf("got %q, the server gives %q", b, a)
}

// backup returns a file of n transactions, the schema apart.
func backup(t *testing.T, n int) []byte {
	t.Helper()
	s := ovsdbtest.Start(t, ovsdbtest.Northbound)
	for i := range n {
		s.Transact(fmt.Sprintf(`{"op":"insert","table":"Logical_Switch","row":{"name":"s%d"}}`, i))
	}
	text, err := os.ReadFile(s.File)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// record frames text as a record of a file.
func record(text string) string {
	return fmt.Sprintf("OVSDB JSON %d %x\n%s", len(text), sha1.Sum([]byte(text)), text)
}

func TestDamage(t *testing.T) {
	text := backup(t, 5)
	last := bytes.LastIndex(text, []byte("OVSDB JSON"))
	flipped := bytes.Clone(text)
	flipped[last+100] ^= 1
	for _, test := range []struct {
		name   string
		text   []byte
		rows   int
		damage string // no damage if empty
	}{
		{"sound", text, 5, ""},
		{"cut in a record", text[:len(text)-20], 4, "cut short"},
		{"cut in a header", text[:last+15], 4, "cut short in the line before a record"},
		{"cut between records", text[:last], 4, ""},
		{"flipped bit", flipped, 4, "the checksum does not match"},
		{"rubbish at the end", append(bytes.Clone(text), strings.Repeat("\x00", 4096)...), 5, "not an OVSDB record"},
		{"unknown table", append(bytes.Clone(text), record(`{"Nonsense":{}}`)...), 5, `table "Nonsense" is not in the schema`},
		{"unknown column", append(bytes.Clone(text), record(`{"Logical_Switch":{"11111111-2222-3333-4444-555555555555":{"nonsense":1}}}`)...), 5, "no such column"},
		{"no UUID", append(bytes.Clone(text), record(`{"Logical_Switch":{"1":{"name":"x"}}}`)...), 5, "not a UUID"},
		{"not JSON", append(bytes.Clone(text), record(`{"Logical_Switch":{`)...), 5, "malformed JSON"},
		{"a huge claim", append(bytes.Clone(text), "OVSDB JSON 4000000000 da39a3ee5e6b4b0d3255bfef95601890afd80709\n{}"...), 5, "cut short: 2 of 4000000000 bytes"},
		{"deep", append(bytes.Clone(text), record(`{"_x":`+strings.Repeat("[", 1<<20)+strings.Repeat("]", 1<<20)+`,"Logical_Switch":{"11111111-2222-3333-4444-555555555555":{"name":"x"}}}`)...), 6, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			snap, err := ovsdb.ParseFile("x.db", bytes.NewReader(test.text))
			if err != nil {
				t.Fatal(err)
			}
			if d := snap.Damage(); (d == "") != (test.damage == "") || !strings.Contains(d, test.damage) {
				t.Errorf("damage %q, want %q", d, test.damage)
			}
			if n := len(names(t, snap)); n != test.rows {
				t.Errorf("%d rows, want %d", n, test.rows)
			}
			if snap.Time().IsZero() || time.Since(snap.Time()) > time.Hour {
				t.Errorf("time %v", snap.Time())
			}
		})
	}
	for _, test := range []struct{ name, text, err string }{
		{"empty", "", "x.db: the file is empty"},
		{"not a database", "#!/bin/sh\n", "not an OVSDB record"},
		{"binary", strings.Repeat("\x7fELF", 1000), "not an OVSDB record"},
		{"no schema", record(`{}`), "schema: no name or no tables"},
		{"schema of nothing", record(`{"name":"x","tables":{"T":null}}`), "table T: "},
		{"column of nothing", record(`{"name":"x","tables":{"T":{"columns":{"c":null}}}}`), "column c"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := ovsdb.ParseFile("x.db", strings.NewReader(test.text))
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("error %v", err)
			}
		})
	}
	if _, err := ovsdb.OpenFile("/nonexistent.db"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// TestEphemeral knows that a file cannot hold what the server forgets.
func TestEphemeral(t *testing.T) {
	s := ovsdbtest.Start(t, ovsdbtest.Northbound)
	snap, err := ovsdb.OpenFile(s.File)
	if err != nil {
		t.Fatal(err)
	}
	if snap.Has("Connection", "is_connected") || !snap.Has("Connection", "target") || !snap.Has("Connection", "_uuid") {
		t.Error("ephemeral columns are said to be in the file")
	}
	if snap.Name() != s.DB || snap.Origin() != s.File || snap.Version() == "" || snap.Status() != (ovsdb.Status{}) || snap.Close() != nil {
		t.Errorf("snapshot %s of %s, %s", snap.Name(), snap.Origin(), snap.Version())
	}
}

func TestDumpErrors(t *testing.T) {
	const table = `{"caption":"Logical_Switch table","headings":["_uuid","name"],"data":[[["uuid","11111111-2222-3333-4444-555555555555"],"a"]]}` + "\n"
	for _, test := range []struct {
		name, text, err, damage string
	}{
		{"sound", table, "", ""},
		{"two", table + strings.Replace(table, "Switch", "Router", 1), "", ""},
		{"cut short", table + table[:40], "", "cut short"},
		{"empty", "", "the dump is empty", ""},
		{"text form", "ACL table\n_uuid action\n----- ------\n", "ovsdb-client dump -f json", ""},
		{"no caption", `{"headings":["_uuid"],"data":[]}`, "not a table of a dump", ""},
		{"too few cells", table + `{"caption":"X table","headings":["_uuid","name"],"data":[["x"]]}`, "", "want [\"uuid\""},
		{"no uuid", table + `{"caption":"X table","headings":["name"],"data":[["x"]]}`, "", "a row without _uuid"},
		{"short row", table + `{"caption":"X table","headings":["_uuid","name"],"data":[[["uuid","11111111-2222-3333-4444-555555555555"]]]}`, "", "fewer cells"},
		{"long row", table + `{"caption":"X table","headings":["_uuid"],"data":[[["uuid","11111111-2222-3333-4444-555555555555"],1]]}`, "", "more cells"},
	} {
		t.Run(test.name, func(t *testing.T) {
			snap, err := ovsdb.ParseDump("OVN_Northbound", "x.json", strings.NewReader(test.text))
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := snap.Damage(); (d == "") != (test.damage == "") || !strings.Contains(d, test.damage) {
				t.Errorf("damage %q, want %q", d, test.damage)
			}
			if got := names(t, snap); len(got) != 1 || got[0] != "a" {
				t.Errorf("rows %q", got)
			}
		})
	}
}
