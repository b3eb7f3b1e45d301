package main

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/decode"
	"github.com/ovnctl/ovnctl/pkg/decode/text"
	"github.com/ovnctl/ovnctl/pkg/flowtable"
)

// TestDecodedJSONDocumented holds docs/json.md against the structs, as TestTopologyJSONDocumented does.
func TestDecodedJSONDocumented(t *testing.T) {
	raw, err := os.ReadFile("../../docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	tables := documentedFields(string(raw))
	for _, typ := range []reflect.Type{
		reflect.TypeFor[text.DecodedLine](), reflect.TypeFor[decode.Name](), reflect.TypeFor[decode.DecodedFlow](), reflect.TypeFor[decode.Object](),
		reflect.TypeFor[flowtable.FlowTable](), reflect.TypeFor[flowtable.FlowRow](), reflect.TypeFor[flowtable.Cache](),
		reflect.TypeFor[flowtable.CacheStats](), reflect.TypeFor[flowtable.MegaflowRow](), reflect.TypeFor[flowtable.FlowRule](),
	} {
		compareFields(t, typ.Name(), tables[typ.Name()], jsonFields(typ))
	}
	compareFields(t, "Logical", tables["Logical"], jsonFields(reflect.TypeFor[decode.LogicalFlow]()))
}

// TestDecodeCompressed names the tool that opens what is compressed.
func TestDecodeCompressed(t *testing.T) {
	for begin, tool := range map[string]string{
		"\x1f\x8b\x08\x00\x00": "zcat", "\x28\xb5\x2f\xfd\x04": "zstdcat", "\xfd7zXZ\x00": "xzcat", "BZh91AY": "bzcat",
	} {
		var out, errs strings.Builder
		code := run(t.Context(), []string{"decode", "--plain"}, strings.NewReader(begin+"\n"), &out, &errs)
		if want := "hint: " + tool + " FILE | ovnctl decode"; code != exitUsage || !strings.Contains(errs.String(), want) {
			t.Errorf("%q: exit %d, %s; want %q", begin, code, errs.String(), want)
		}
	}
}
