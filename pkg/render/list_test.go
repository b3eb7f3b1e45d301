package render

import (
	"slices"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/inventory"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// Each kind has a table, whose brief form is the beginning of the wide one.
func TestListTables(t *testing.T) {
	for _, kind := range inventory.Kinds {
		wide := ListColumns(kind)
		brief, err := newTopologyText(&topology.Document{}, TopologyView{}).listTable(kind, nil, false)
		if err != nil || len(wide) <= len(brief.Header) || !slices.Equal(brief.Header, wide[:len(brief.Header)]) {
			t.Errorf("%s: columns %v, %v wide, %v", kind.Name, brief, wide, err)
		}
		sorted := slices.Sorted(slices.Values(wide))
		if len(slices.Compact(sorted)) != len(wide) {
			t.Errorf("%s: a column twice: %v", kind.Name, wide)
		}
	}
}

// What a terminal would interpret does not come through any format.
func TestListSafe(t *testing.T) {
	const bad = "x\x1b[31m\u202ey\nz"
	p := &topology.Port{Name: bad, Pod: "shop/" + bad, UUID: "u", MACs: []string{bad}, ExternalIDs: map[string]string{bad: bad}}
	kind := inventory.KindOf("pods")
	items := []inventory.Item{{Name: p.Pod, Object: p}}
	for _, format := range []string{
		"table", "wide", "name", "json", "yaml", "md", "jsonpath={.items[*].name}", "jsonpath={.items}", "jsonpath={.items[0].externalIds}",
		"custom-columns=A:.name,B:.externalIds,C:.macs",
	} {
		var out strings.Builder
		if err := List(&out, Style{}, format, kind, items, &inventory.Document{}, &topology.Topology{}, ListView{}); err != nil {
			t.Errorf("%s: %v", format, err)
		}
		if !strings.Contains(out.String(), "x") || strings.ContainsAny(out.String(), "\x1b\u202e") || strings.Contains(out.String(), "y\nz") {
			t.Errorf("%s: %q", format, out.String())
		}
	}
}

// JSONPath is kubectl's, with whole numbers as such.
func TestListPaths(t *testing.T) {
	kind := inventory.KindOf("ports")
	var items []inventory.Item
	for i, name := range []string{"b", "a"} {
		items = append(items, inventory.Item{Name: name, Object: &topology.Port{Name: name, TunnelKey: 1000000 * (i + 1), Addresses: []string{"10.0.0.1", "10.0.0.2"}}})
	}
	for format, want := range map[string]string{
		`jsonpath={range .items[*]}{.name}{"\t"}{.tunnelKey}{"\n"}{end}`: "b\t1000000\na\t2000000\n",
		`jsonpath={.items[?(@.tunnelKey>1500000)].name}`:                 "a",
		`jsonpath={.items[0].missing}`:                                   "",
		`custom-columns=N:.name,IPS:addresses,ONE:{.addresses[1]}`:       "N  IPS                      ONE\nb  [\"10.0.0.1\",\"10.0.0.2\"]  10.0.0.2\na  [\"10.0.0.1\",\"10.0.0.2\"]  10.0.0.2\n",
	} {
		var out strings.Builder
		if err := List(&out, Style{}, format, kind, items, &inventory.Document{}, &topology.Topology{}, ListView{}); err != nil || out.String() != want {
			t.Errorf("%s: %q, %v", format, out.String(), err)
		}
	}
	for _, path := range []string{".name", "{.name}"} {
		var out strings.Builder
		if err := List(&out, Style{}, "name", kind, items, &inventory.Document{}, &topology.Topology{}, ListView{SortBy: path}); err != nil || out.String() != "lsp/a\nlsp/b\n" {
			t.Errorf("sorted by %s: %q, %v", path, out.String(), err)
		}
	}
}
