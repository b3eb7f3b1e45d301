package main

import (
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/archive"
	"github.com/ovnctl/ovnctl/pkg/blame"
	"github.com/ovnctl/ovnctl/pkg/cluster"
	"github.com/ovnctl/ovnctl/pkg/compare"
	"github.com/ovnctl/ovnctl/pkg/decode/text"
	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/document"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/flowtable"
	"github.com/ovnctl/ovnctl/pkg/inventory"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/reach"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// TestJSONDocumented holds the tables of the pages against the structs, from each document down: every field is in the
// table of its type, every row of a table is a field, and every table is of a type that some document has.
func TestJSONDocumented(t *testing.T) {
	for page, documents := range map[string]map[string]reflect.Type{
		"json.md": {
			"Envelope": reflect.TypeFor[document.Envelope](), "Source": reflect.TypeFor[cluster.Source](), "Error": reflect.TypeFor[document.Failure](),
			"Topology": reflect.TypeFor[topology.Document](), "List": reflect.TypeFor[inventory.Document](), "ListedACL": reflect.TypeFor[inventory.ACL](),
			"ListedRoute": reflect.TypeFor[inventory.Route](), "ListedInterface": reflect.TypeFor[inventory.Interface](), "Trace": reflect.TypeFor[journey.Document](), "Reach": reflect.TypeFor[reach.Document](),
			"Decoded": reflect.TypeFor[struct {
				document.Envelope
				Lines []text.DecodedLine `json:"lines"`
			}](), "Flows": reflect.TypeFor[flowtable.FlowsDocument](), "Megaflows": reflect.TypeFor[flowtable.MegaflowsDocument](),
			"Report": reflect.TypeFor[doctor.Document](), "Fix": reflect.TypeFor[fixes.Document](), "Repairs": reflect.TypeFor[fixes.RepairsDocument](),
			"Journal": reflect.TypeFor[fixes.JournalDocument](), "Capture": reflect.TypeFor[archive.Index](), "CaptureResult": reflect.TypeFor[captureResult](),
			"Comparison": reflect.TypeFor[compare.Document](), "Ways": reflect.TypeFor[compare.PathsDocument](), "Blame": reflect.TypeFor[blame.Document](), "Record": reflect.TypeFor[recordDocument](), "Demo": reflect.TypeFor[demoDocument](), "Versions": reflect.TypeFor[versionDocument](), "Event": reflect.TypeFor[eventDocument](), "FindingChange": reflect.TypeFor[findingChange](), "Explanation": reflect.TypeFor[explanation](),
		},
		"flow.md":      {"JSON": reflect.TypeFor[flowDocument]()},
		"microflow.md": {"JSON": reflect.TypeFor[microflowDocument]()},
	} {
		t.Run(page, func(t *testing.T) {
			text, err := os.ReadFile("../../docs/" + page)
			if err != nil {
				t.Fatal(err)
			}
			d := sectionsOf{sections: tablesOf(string(text)), seen: map[string][]reflect.Type{}}
			for section, typ := range documents {
				d.compare(t, section, typ, !slices.Contains([]string{"Envelope", "Source", "Capture", "ListedACL", "ListedRoute", "ListedInterface"}, section))
			}
			for section := range d.sections {
				if d.seen[section] == nil {
					t.Errorf("%s: no document has it", section)
				}
			}
		})
	}
}

// sectionsOf are the tables of a page: what stands in the type's column for each field of each section.
type sectionsOf struct {
	sections map[string]map[string]string
	seen     map[string][]reflect.Type
}

var linkedSection = regexp.MustCompile(`\[(\w+)\]\(`)

// compare compares the table of a section with a type, and goes on with the sections that the table names. The fields of
// the envelope stand in a table of their own.
func (d *sectionsOf) compare(t *testing.T, section string, typ reflect.Type, enveloped bool) {
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
		typ = typ.Elem()
	}
	if typ.Kind() == reflect.Interface || slices.Contains(d.seen[section], typ) {
		return
	}
	d.seen[section] = append(d.seen[section], typ)
	table, fields := d.sections[section], jsonFields(typ)
	if enveloped {
		for name := range jsonFields(reflect.TypeFor[document.Envelope]()) {
			delete(fields, name)
		}
	}
	for name := range table {
		if fields[name] == nil {
			t.Errorf("%s: %s has no field %s", section, typ, name)
		}
	}
	for name, field := range fields {
		cell, ok := table[name]
		if !ok {
			t.Errorf("%s: field %s of %s is not documented", section, name, typ)
		}
		if link := linkedSection.FindStringSubmatch(cell); link != nil {
			d.compare(t, link[1], field, false)
		}
	}
}

// tablesOf reads the first two columns of the table of fields below each heading. One that has the fields of another type, too,
// comes after it.
func tablesOf(text string) map[string]map[string]string {
	tables := map[string]map[string]string{}
	var more map[string]string // of the next table
	section := ""
	for line := range strings.Lines(text) {
		cells := strings.Split(line, "|")
		switch {
		case line[0] == '#':
			section, more = strings.TrimSpace(strings.TrimLeft(line, "#")), nil
		case strings.HasPrefix(line, "The fields of ") && linkedSection.MatchString(line):
			more = tables[linkedSection.FindStringSubmatch(line)[1]]
		case strings.HasPrefix(line, "| field |"):
			tables[section] = map[string]string{}
			maps.Copy(tables[section], more)
		case tables[section] != nil && strings.HasPrefix(line, "| `"):
			tables[section][strings.Trim(cells[1], " `")] = cells[2]
		}
	}
	return tables
}

// jsonFields are the fields of a struct by their names in JSON, with those of embedded structs.
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
