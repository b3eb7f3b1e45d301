package ovsdbtest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// CheckRows checks every tag of the rows against a schema. Columns that the schema lacks must be in
// otherRelease as "Table.column", and those listed must be missing. A projection's columns are columns of its
// table's row, of the same types. Together rows and projections must be all those of the package in the
// current directory.
func CheckRows(t *testing.T, schema string, otherRelease []string, rows, projections []ovsdb.Row) {
	t.Helper()
	text, err := os.ReadFile(schema)
	if err != nil {
		t.Fatal(err)
	}
	var declared struct {
		Tables map[string]struct {
			Columns map[string]struct {
				Type any `json:"type"`
			} `json:"columns"`
		} `json:"tables"`
	}
	if err := json.Unmarshal(text, &declared); err != nil {
		t.Fatal(err)
	}
	var absent, types []string
	for _, row := range rows {
		rt := reflect.TypeOf(row)
		types = append(types, rt.Name())
		table := declared.Tables[row.Table()]
		if f, ok := rt.FieldByName("UUID"); !ok || f.Tag.Get("ovsdb") != "_uuid" {
			t.Errorf("%s has no UUID", rt)
		}
		for column, field := range ovsdb.Columns(reflect.ValueOf(row)) {
			if column == "_uuid" {
				continue
			}
			c, ok := table.Columns[column]
			if !ok {
				absent = append(absent, row.Table()+"."+column)
				continue
			}
			if want := fieldType(c.Type); field.Type().String() != want {
				t.Errorf("%s: %s is %s, want %s", rt, column, field.Type(), want)
			}
		}
	}
	slices.Sort(absent)
	slices.Sort(otherRelease)
	if diff := gocmp.Diff(otherRelease, absent); diff != "" {
		t.Errorf("columns that %s lacks (-listed +found):\n%s", schema, diff)
	}
	for _, row := range projections {
		types = append(types, reflect.TypeOf(row).Name())
		checkProjection(t, row, rows)
	}
	slices.Sort(types)
	if diff := gocmp.Diff(rowTypes(t), types); diff != "" {
		t.Errorf("rows (-in the package +given):\n%s", diff)
	}
}

// checkProjection checks a projection's columns against the full row.
func checkProjection(t *testing.T, projection ovsdb.Row, rows []ovsdb.Row) {
	t.Helper()
	full := slices.IndexFunc(rows, func(row ovsdb.Row) bool { return row.Table() == projection.Table() })
	if full < 0 {
		t.Errorf("%T: no row of %s", projection, projection.Table())
		return
	}
	types := map[string]reflect.Type{}
	for column, field := range ovsdb.Columns(reflect.ValueOf(rows[full])) {
		types[column] = field.Type()
	}
	for column, field := range ovsdb.Columns(reflect.ValueOf(projection)) {
		if types[column] != field.Type() {
			t.Errorf("%T: %s is %s, and %v in %T", projection, column, field.Type(), types[column], rows[full])
		}
	}
}

// fieldType returns the Go type for the type of a column.
func fieldType(declared any) string {
	atom := func(base any) string {
		if m, ok := base.(map[string]any); ok {
			base = m["type"]
		}
		return map[string]string{"string": "string", "integer": "int", "boolean": "bool", "real": "float64", "uuid": "ovsdb.UUID"}[fmt.Sprint(base)]
	}
	m, ok := declared.(map[string]any)
	if !ok {
		return atom(declared)
	}
	if value, ok := m["value"]; ok {
		return fmt.Sprintf("map[%s]%s", atom(m["key"]), atom(value))
	}
	one := func(bound string) bool { return m[bound] == nil || m[bound] == 1.0 }
	if one("min") && one("max") {
		return atom(m["key"])
	}
	text := atom(m["key"])
	if text == "ovsdb.UUID" {
		text = "github.com/ovnctl/ovnctl/pkg/ovsdb.UUID"
	}
	return fmt.Sprintf("ovsdb.Set[%s]", text)
}

// rowTypes returns the structs of the package in the current directory.
func rowTypes(t *testing.T) []string {
	t.Helper()
	var types []string
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.TYPE {
				types = append(types, g.Specs[0].(*ast.TypeSpec).Name.Name)
			}
		}
	}
	slices.Sort(types)
	return types
}

// SameEverywhere reads all rows from the live server, its file as written, its compacted file, a backup and a
// dump, and compares them. It returns the number of rows of each table.
func SameEverywhere(t *testing.T, s *Server, rows ...ovsdb.Row) map[string]int {
	t.Helper()
	live, err := ovsdb.Dial(t.Context(), ovsdb.Config{DB: s.DB, Remotes: s.Remote(), Timeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	want := readAll(t, live, rows)
	counts := map[string]int{}
	for i, row := range rows {
		counts[row.Table()] = reflect.ValueOf(want[i]).Len()
	}

	asWritten, err := ovsdb.OpenFile(s.File)
	if err != nil {
		t.Fatal(err)
	}
	s.Appctl("ovsdb-server/compact")
	compacted, err := ovsdb.OpenFile(s.File)
	if err != nil {
		t.Fatal(err)
	}
	backup, err := ovsdb.ParseFile("backup", bytes.NewReader([]byte(Run(t, "ovsdb-client", "backup", s.Remote(), s.DB))))
	if err != nil {
		t.Fatal(err)
	}
	dump, err := ovsdb.ParseDump(s.DB, "dump", strings.NewReader(Run(t, "ovsdb-client", "dump", "-f", "json", s.Remote(), s.DB)))
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range []struct {
		name string
		snap *ovsdb.Snapshot
	}{{"file", asWritten}, {"compacted file", compacted}, {"backup", backup}, {"dump", dump}} {
		if d := source.snap.Damage(); d != "" {
			t.Errorf("%s: %s", source.name, d)
		}
		got := readAll(t, source.snap, rows)
		for i, row := range rows {
			live := onlyKnown(source.snap, row.Table(), want[i])
			if diff := gocmp.Diff(live, got[i]); diff != "" {
				t.Errorf("%s: %s (-live +%s):\n%s", s.DB, row.Table(), source.name, diff)
			}
		}
	}
	return counts
}

// readAll returns the rows of each table, a []T each, ordered by UUID.
func readAll(t *testing.T, r ovsdb.Reader, rows []ovsdb.Row) []any {
	t.Helper()
	queries := make([]*ovsdb.Query, len(rows))
	for i, row := range rows {
		queries[i] = &ovsdb.Query{Rows: reflect.New(reflect.SliceOf(reflect.TypeOf(row))).Interface()}
	}
	if err := r.Select(context.Background(), queries...); err != nil {
		t.Fatal(err)
	}
	all := make([]any, len(rows))
	for i, q := range queries {
		v := reflect.ValueOf(q.Rows).Elem()
		sorted := make([]reflect.Value, v.Len())
		for j := range sorted {
			sorted[j] = v.Index(j)
		}
		slices.SortFunc(sorted, func(a, b reflect.Value) int {
			return cmp.Compare(a.FieldByName("UUID").String(), b.FieldByName("UUID").String())
		})
		out := reflect.MakeSlice(v.Type(), 0, v.Len())
		for _, row := range sorted {
			out = reflect.Append(out, row)
		}
		all[i] = out.Interface()
	}
	return all
}

// onlyKnown returns the rows without the columns that the source cannot have.
func onlyKnown(r ovsdb.Reader, table string, rows any) any {
	in := reflect.ValueOf(rows)
	out := reflect.MakeSlice(in.Type(), in.Len(), in.Len())
	reflect.Copy(out, in)
	for i := range out.Len() {
		for column, field := range ovsdb.Columns(out.Index(i)) {
			if !r.Has(table, column) {
				field.SetZero()
			}
		}
	}
	return out.Interface()
}

// Northd runs ovn-northd between two servers until stop is called or the test
// ends.
func Northd(t testing.TB, nb, sb *Server) (stop func()) {
	t.Helper()
	cmd := exec.Command("ovn-northd", "--ovnnb-db="+nb.Remote(), "--ovnsb-db="+sb.Remote(),
		"--unixctl="+filepath.Join(sb.Dir, "northd"), "-vconsole:off", "--no-chdir")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	t.Cleanup(stop)
	return stop
}
