package main

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/internal/lab"
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
		compareFields(t, typ.Name(), tables[typ.Name()], jsonFields(typ))
		for _, field := range jsonFields(typ) {
			for field.Kind() == reflect.Pointer || field.Kind() == reflect.Slice {
				field = field.Elem()
			}
			if field.Kind() == reflect.Struct && !seen[field] {
				walk(field)
			}
		}
	}
	walk(reflect.TypeFor[journey.Trace]())
	if len(seen) != 18 {
		t.Errorf("%d types were compared, want 18", len(seen))
	}
}

// traceDocument checks a document that was printed: two runs are the same but for their source, and no list is null.
func traceDocument(t *testing.T, l *lab.Lab, ask faultAsk) {
	t.Helper()
	d := &traceDraw{lab: l}
	args := append(d.arguments(ask.tracePair), "-o", "json", "--show-commands", "--nb", l.NB(), "--node-exec", l.Dir+"/enter {hostname}")
	var runs [2]string
	for i := range runs {
		got := d.ovnctl(t.Context(), ask.at, args...)
		var doc map[string]json.RawMessage
		if err := json.Unmarshal(got.stdout, &doc); err != nil {
			t.Fatalf("%v\n%s%s", err, got.stdout, got.stderr)
		}
		delete(doc, "source")
		text, err := json.MarshalIndent(doc, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		runs[i] = string(text)
	}
	if runs[0] != runs[1] {
		t.Errorf("%s: two runs differ:\n%s\n%s", ask.tracePair, runs[0], runs[1])
	}
	for _, line := range strings.Split(runs[0], "\n") {
		name, isNull := strings.CutSuffix(strings.TrimSuffix(strings.TrimSpace(line), ","), ": null")
		switch name {
		case `"forward"`, `"reply"`, `"tunnel"`, `"logical"`, `"object"`, `"rule"`:
		default:
			if isNull {
				t.Errorf("%s: %s is null", ask.tracePair, name)
			}
		}
	}
}
