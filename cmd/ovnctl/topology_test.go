package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/document"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// TestTopologyScripts runs the scripts about topology show. They read the
// directory net: three nodes of the ovn-kubernetes style, saved from a lab without
// its logical flows, in which the pod ops/debug was disabled and the device of
// shop/web-3 taken away.
func TestTopologyScripts(t *testing.T) {
	saved, err := filepath.Abs("testdata/topology")
	if err != nil {
		t.Fatal(err)
	}
	runScripts(t, "testdata/topology*.txtar", func(env *testscript.Env) error {
		return os.Symlink(saved, filepath.Join(env.WorkDir, "net"))
	})
}

// TestTopologyJSONDocumented holds docs/json.md against the structs: every field
// is in the table of its type, and every row of a table is a field.
func TestTopologyJSONDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	tables := documentedFields(string(text))
	compareType(t, tables, reflect.TypeFor[document.Envelope]())
	compareFields(t, "Source", tables["Source"], jsonFields(reflect.TypeFor[cluster.Source]()))
	compareFields(t, "Topology", tables["Topology"], documentFields(reflect.TypeFor[topology.Document]()))
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		for _, field := range jsonFields(typ) {
			for field.Kind() == reflect.Pointer || field.Kind() == reflect.Slice {
				field = field.Elem()
			}
			if field.Kind() != reflect.Struct || seen[field] {
				continue
			}
			seen[field] = true
			compareFields(t, field.Name(), tables[field.Name()], jsonFields(field))
			walk(field)
		}
	}
	walk(reflect.TypeFor[topology.Topology]())
	if len(seen) < 20 {
		t.Errorf("only %d types were compared", len(seen))
	}

	compareFields(t, "Error", tables["Error"], documentFields(reflect.TypeFor[document.Failure]()))
}

// compareFields compares what the documentation has with what the struct has.
func compareFields(t *testing.T, section string, documented map[string]bool, fields map[string]reflect.Type) {
	t.Helper()
	for name := range fields {
		if !documented[name] {
			t.Errorf("docs/json.md, %s: field %s is not documented", section, name)
		}
	}
	for name := range documented {
		if fields[name] == nil {
			t.Errorf("docs/json.md, %s: there is no field %s", section, name)
		}
	}
}

// compareType compares the section of a type that is part of a document.
func compareType(t *testing.T, tables map[string]map[string]bool, typ reflect.Type) {
	t.Helper()
	section := strings.ToUpper(typ.Name()[:1]) + typ.Name()[1:]
	compareFields(t, section, tables[section], jsonFields(typ))
}

// documentFields are the fields of a document without those of its envelope.
func documentFields(typ reflect.Type) map[string]reflect.Type {
	fields := jsonFields(typ)
	for name := range jsonFields(reflect.TypeFor[document.Envelope]()) {
		delete(fields, name)
	}
	return fields
}

// documentedFields reads the first column of the table below each heading.
func documentedFields(text string) map[string]map[string]bool {
	tables := map[string]map[string]bool{}
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#") {
			section = strings.TrimSpace(strings.TrimLeft(line, "#"))
			tables[section] = map[string]bool{}
		}
		if rest, ok := strings.CutPrefix(line, "| `"); ok {
			name, _, _ := strings.Cut(rest, "`")
			tables[section][name] = true
		}
	}
	return tables
}

// jsonFields are the fields of a struct by their names in JSON, with those of
// embedded structs.
func jsonFields(typ reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	if typ.Kind() == reflect.Pointer { // embedded so
		typ = typ.Elem()
	}
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "" && f.IsExported():
			for n, t := range jsonFields(f.Type) {
				fields[n] = t
			}
		case name != "" && name != "-":
			fields[name] = f.Type
		}
	}
	return fields
}
