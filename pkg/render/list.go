package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/inventory"
	"github.com/ovnctl/ovnctl/pkg/topology"
)

// ListFormats are the formats that [List] writes, the default first. Those that end in = are followed by a template.
var ListFormats = []string{"table", "wide", "name", "json", "yaml", "md", "jsonpath=", "custom-columns="}

// A ListView says how items are listed as text.
type ListView struct {
	Columns   []string // headers of the columns to show, in this order; all of the format if empty
	SortBy    string   // header of the column to sort by, or a JSONPath that begins with . or {
	NoHeaders bool
	Labels    map[string]string // display names of the chassis, by name
}

// A ViewError is a column or template that does not exist or cannot be read: the user's mistake.
type ViewError struct{ error }

// List writes items of a kind, which are those of the document, in one of [ListFormats]. g is where they are from.
func List(w io.Writer, s Style, format string, kind *inventory.Kind, items []inventory.Item, doc *inventory.Document, g *topology.Topology, view ListView) error {
	if strings.HasPrefix(view.SortBy, ".") || strings.HasPrefix(view.SortBy, "{") {
		var err error
		if items, err = sortedByPath(items, view.SortBy); err != nil {
			return err
		}
		view.SortBy = ""
	}
	for _, i := range items {
		doc.Items = append(doc.Items, i.Object)
	}
	name, template, _ := strings.Cut(format, "=")
	switch name {
	case "json", "yaml":
		return Write(w, format, doc)
	case "name":
		var b strings.Builder
		for _, i := range items {
			b.WriteString(Clean(kind.Word()+"/"+i.Name) + "\n")
		}
		_, err := io.WriteString(w, b.String())
		return err
	case "jsonpath":
		text, err := atPath(template, doc)
		if err != nil {
			return err
		}
		_, err = io.WriteString(w, text)
		return err
	}

	t := newTopologyText(&topology.Document{Topology: *g}, TopologyView{Labels: view.Labels})
	tb, err := t.listTable(kind, items, name == "wide" || len(view.Columns) > 0 || view.SortBy != "")
	if name == "custom-columns" {
		tb, err = customTable(template, items)
	}
	if err != nil {
		return err
	}
	shown := len(tb.Header)
	if name != "wide" && name != "custom-columns" && len(view.Columns) == 0 && view.SortBy != "" {
		// The column to sort by may be one of the wide format, which is not shown.
		brief, err := t.listTable(kind, nil, false)
		if err != nil {
			return err
		}
		shown = len(brief.Header)
	}
	if view.SortBy != "" {
		n, err := tb.column(view.SortBy)
		if err != nil {
			return err
		}
		slices.SortStableFunc(tb.rows, func(a, b []Line) int { return topology.CompareNames(a[n].String(), b[n].String()) })
	}
	order := make([]int, 0, shown)
	for n := range shown {
		order = append(order, n)
	}
	if len(view.Columns) > 0 {
		order = order[:0]
		for _, c := range view.Columns {
			n, err := tb.column(c)
			if err != nil {
				return err
			}
			order = append(order, n)
		}
	}
	tb.choose(order)
	tb.bare = view.NoHeaders
	if name == "md" {
		return WriteMarkdownTables(w, tb)
	}
	return WriteTables(w, s, name == "table", tb)
}

// ListColumns returns the headers that a table of a kind can have.
func ListColumns(kind *inventory.Kind) []string {
	tb, err := newTopologyText(&topology.Document{}, TopologyView{}).listTable(kind, nil, true)
	if err != nil {
		return nil
	}
	return tb.Header
}

// listTable returns the table of items of a kind.
func (t *topologyText) listTable(kind *inventory.Kind, items []inventory.Item, wide bool) (*Table, error) {
	switch kind.Name {
	case "pods":
		return tableOf(t.workloadColumns("POD"), items, wide), nil
	case "vms":
		return tableOf(t.workloadColumns("VM"), items, wide), nil
	case "ports":
		return tableOf(t.portColumns(), items, wide), nil
	case "switches":
		return tableOf(t.switchColumns(), items, wide), nil
	case "routers":
		return tableOf(t.routerColumns(), items, wide), nil
	case "services":
		return tableOf(t.balancerColumns(), items, wide), nil
	case "acls":
		return tableOf(t.aclColumns(), items, wide), nil
	case "portgroups":
		return tableOf(t.groupColumns(), items, wide), nil
	case "nat":
		return tableOf(t.natColumns(), items, wide), nil
	case "routes":
		return tableOf(t.routeColumns(), items, wide), nil
	case "policies":
		return tableOf(t.policyColumns(), items, wide), nil
	case "chassis":
		return tableOf(t.chassisColumns(), items, wide), nil
	case "nodes":
		return tableOf(t.nodeColumns(), items, wide), nil
	case "bridges":
		return tableOf(t.bridgeColumns(), items, wide), nil
	case "interfaces":
		return tableOf(t.interfaceColumns(), items, wide), nil
	case "tunnels":
		return tableOf(t.tunnelColumns(), items, wide), nil
	}
	return nil, fmt.Errorf("no table of %s", kind.Name)
}

func tableOf[T any](c columnsOf[T], items []inventory.Item, wide bool) *Table {
	list := make([]T, 0, len(items))
	for _, i := range items {
		if x, ok := i.Object.(T); ok {
			list = append(list, x)
		}
	}
	return c.table("", list, wide)
}

// column returns the number of a column, named by its header in any case, with _ or - for a space.
func (t *Table) column(name string) (int, error) {
	plain := strings.NewReplacer("_", " ", "-", " ")
	for n, h := range t.Header {
		if strings.EqualFold(plain.Replace(h), plain.Replace(name)) {
			return n, nil
		}
	}
	return 0, ViewError{fmt.Errorf("no column %q: expected one of %s", name, strings.Join(t.Header, ", "))}
}

// choose leaves the columns with these numbers, in this order.
func (t *Table) choose(order []int) {
	pick := func(cells []Line) []Line {
		out := make([]Line, 0, len(order))
		for _, n := range order {
			out = append(out, cells[n])
		}
		return out
	}
	header := make([]string, 0, len(order))
	for _, n := range order {
		header = append(header, t.Header[n])
	}
	t.Header = header
	for i, r := range t.rows {
		t.rows[i] = pick(r)
	}
}

// customTable returns the table that kubectl's custom-columns describe: HEADER:PATH, separated by commas.
func customTable(spec string, items []inventory.Item) (*Table, error) {
	tb := &Table{}
	var paths []string
	for part := range strings.SplitSeq(spec, ",") {
		header, path, ok := strings.Cut(part, ":")
		if !ok || header == "" || path == "" {
			return nil, ViewError{fmt.Errorf("custom-columns: %q: expected HEADER:PATH, as in NAME:.name,KEY:.tunnelKey", part)}
		}
		tb.Header, paths = append(tb.Header, header), append(paths, path)
	}
	for _, i := range items {
		data, err := plainData(i.Object)
		if err != nil {
			return nil, err
		}
		var cells []Line
		for _, path := range paths {
			values, err := valuesAt(path, data)
			if err != nil {
				return nil, err
			}
			text := "<none>"
			if len(values) > 0 {
				text = strings.Join(values, ",")
			}
			cells = append(cells, Text(text))
		}
		tb.Row(cells...)
	}
	return tb, nil
}

// sortedByPath sorts items by the values at a path; those without one come first.
func sortedByPath(items []inventory.Item, path string) ([]inventory.Item, error) {
	type keyed struct {
		item inventory.Item
		key  string
	}
	all := make([]keyed, 0, len(items))
	for _, i := range items {
		data, err := plainData(i.Object)
		if err != nil {
			return nil, err
		}
		values, err := valuesAt(path, data)
		if err != nil {
			return nil, err
		}
		all = append(all, keyed{i, strings.Join(values, ",")})
	}
	slices.SortStableFunc(all, func(a, b keyed) int { return topology.CompareNames(a.key, b.key) })
	out := make([]inventory.Item, 0, len(items))
	for _, k := range all {
		out = append(out, k.item)
	}
	return out, nil
}

// plainData returns a value as JSON's types, with clean texts, and whole numbers as such.
func plainData(v any) (any, error) {
	b, err := compact(v)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var data any
	if err := d.Decode(&data); err != nil {
		return nil, err
	}
	return cleanData(data), nil
}

func cleanData(v any) any {
	switch v := v.(type) {
	case string:
		return Clean(v)
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		if f, err := v.Float64(); err == nil {
			return f
		}
		return v.String()
	case []any:
		for i := range v {
			v[i] = cleanData(v[i])
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[Clean(key)] = cleanData(value)
		}
		return out
	}
	return v
}
