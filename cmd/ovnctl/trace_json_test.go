package main

import (
	"encoding"
	"os"
	"reflect"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/journey"
)

// TestTraceJSONDocumented holds docs/json.md against the structs, as TestTopologyJSONDocumented does.
func TestTraceJSONDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	tables := documentedFields(string(text))
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(typ reflect.Type) {
		seen[typ] = true
		name := typ.Name()
		if typ == reflect.TypeFor[decode.LogicalFlow]() {
			name = "Logical"
		}
		compareFields(t, name, tables[name], jsonFields(typ))
		for _, field := range jsonFields(typ) {
			for field.Kind() == reflect.Pointer || field.Kind() == reflect.Slice {
				field = field.Elem()
			}
			if field.Kind() == reflect.Struct && !seen[field] && !field.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
				walk(field)
			}
		}
	}
	walk(reflect.TypeFor[journey.Trace]())
	if len(seen) != 18 {
		t.Errorf("%d types were compared, want 18", len(seen))
	}
}
