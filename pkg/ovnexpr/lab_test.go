//go:build lab

package ovnexpr

import (
	"encoding/json"
	"maps"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/release"
)

// Every logical flow of every topology is understood, and printed as it was.
func TestLogicalFlows(t *testing.T) {
	for name, topology := range topologies() {
		t.Run(name, func(t *testing.T) {
			if name == lab.OVNKubernetes().Name {
				understands(t, labtest.Shared(t, topology))
				return
			}
			understands(t, labtest.Own(t, topology, lab.Options{}))
		})
	}
}

// topologies are those of the lab that have logical flows, and the one that has a flow of every feature.
func topologies() map[string]lab.Topology {
	all := lab.Topologies()
	all[lab.Features().Name] = lab.Features()
	maps.DeleteFunc(all, func(_ string, t lab.Topology) bool { return !t.OVN })
	return all
}

// understands parses, prints and annotates the logical flows of a lab.
func understands(t *testing.T, l *lab.Lab) {
	t.Helper()
	sets := southboundSets(t, l)
	release, err := release.ParseSeries(rows(t, l, "SB_Global")[0].options()["northd_internal_version"])
	if err != nil {
		t.Fatal(err)
	}
	variables := map[string]string{} // those of the last chassis will do: all have them
	for _, row := range rows(t, l, "Chassis_Template_Var") {
		maps.Copy(variables, row.options())
	}
	value := func(name string) (string, bool) { v, ok := variables[name]; return v, ok }
	flows := rows(t, l, "Logical_Flow")
	same, exact := 0, 0
	for _, row := range flows {
		match, actions := row.text("match"), row.text("actions")
		profile := Profile{release, row.options()["acl_ct_translation"] == "true"}
		ok := understandsMatch(t, match, Expand(match, value), profile, sets)
		if understandsActions(t, actions, Expand(actions, value), profile) && ok {
			same++
		}
		if m, err := ParseMatch(match); err == nil && m.String() == match {
			exact++
		}
	}
	t.Logf("OVN %v: %d of %d logical flows are understood and print as they were; %d matches to the byte", release, same, len(flows), exact)
	if same != len(flows) || same < 100 {
		t.Errorf("%d of %d logical flows", same, len(flows))
	}
}

// understandsMatch takes a match as it is written, and expanded.
func understandsMatch(t *testing.T, text, expanded string, p Profile, sets Sets) bool {
	m, err := ParseMatch(text)
	if err != nil {
		t.Errorf("%s: %v", text, err)
		return false
	}
	again, err := ParseMatch(m.String())
	if err != nil || tokens(t, m.String()) != tokens(t, text) {
		t.Errorf("%s\nprints as\n%s (%v)", text, m, err)
		return false
	}
	if diff := cmp.Diff(m.Root, again.Root, equalTrees); diff != "" {
		t.Errorf("%s: the printed text parses to another tree (-first +second)\n%s", text, diff)
		return false
	}
	if m, err = ParseMatch(expanded); err != nil {
		t.Errorf("%s: %v", expanded, err)
		return false
	}
	for _, profile := range []Profile{p, {Conntrack: p.Conntrack}} {
		c, err := m.Annotate(SymbolsOf(profile), sets)
		if err != nil {
			t.Errorf("%s in %v: %v", text, profile, err)
			return false
		}
		if _, err := ParseMatch(c.String()); err != nil {
			t.Errorf("%s: annotated %s: %v", text, c, err)
			return false
		}
	}
	return true
}

// understandsActions takes actions as they are written, and expanded.
func understandsActions(t *testing.T, text, expanded string, p Profile) bool {
	a, err := ParseActions(text)
	if err != nil {
		t.Errorf("%s: %v", text, err)
		return false
	}
	again, err := ParseActions(a.String())
	if err != nil || tokens(t, a.String()) != tokens(t, text) {
		t.Errorf("%s\nprint as\n%s (%v)", text, a, err)
		return false
	}
	if diff := cmp.Diff(a, again, equalTrees); diff != "" {
		t.Errorf("%s: the printed text parses to other actions (-first +second)\n%s", text, diff)
		return false
	}
	if a, err = ParseActions(expanded); err != nil {
		t.Errorf("%s: %v", expanded, err)
		return false
	}
	for _, profile := range []Profile{p, {Conntrack: p.Conntrack}} {
		if _, err := a.Annotate(expanded, SymbolsOf(profile)); err != nil {
			t.Errorf("%s in %v: %v", text, profile, err)
			return false
		}
	}
	return true
}

// tokens writes a text without white space and comments.
func tokens(t *testing.T, text string) string {
	var b strings.Builder
	var err error
	func() {
		defer recoverSyntax(&err)
		for l := newLexer(text); l.tok.kind != end; l.next() {
			b.WriteString(text[l.tok.Start:l.tok.End] + " ")
		}
	}()
	if err != nil {
		t.Errorf("%s: %v", text, err)
	}
	return b.String()
}

// southbound are the sets of a Southbound; port groups go by their names in the Northbound.
type southbound struct {
	addresses map[string]*AddressSet
	ports     map[string]*PortGroup
}

func (s southbound) AddressSet(name string) (*AddressSet, bool) {
	a, ok := s.addresses[name]
	return a, ok
}

func (s southbound) PortGroup(name string) (*PortGroup, bool) {
	g, ok := s.ports[name]
	return g, ok
}

func southboundSets(t testing.TB, l *lab.Lab) southbound {
	s := southbound{map[string]*AddressSet{}, map[string]*PortGroup{}}
	for _, row := range rows(t, l, "Address_Set") {
		set := NewAddressSet(row.text("name"), row.set("addresses"))
		if len(set.Invalid) > 0 {
			t.Errorf("address set %s: %q are no addresses", set.Name(), set.Invalid)
		}
		s.addresses[set.Name()] = set
	}
	members := map[string][]string{}
	for _, row := range rows(t, l, "Port_Group") {
		_, name, _ := strings.Cut(row.text("name"), "_")
		members[name] = append(members[name], row.set("ports")...)
	}
	for name, ports := range members {
		s.ports[name] = NewPortGroup(name, ports)
	}
	return s
}

// A row is a row of a table as ovsdb-client writes it in JSON.
type row map[string]any

func (r row) text(column string) string { s, _ := r[column].(string); return s }

// set reads a column that is a set of strings.
func (r row) set(column string) []string {
	pair, ok := r[column].([]any)
	if !ok {
		return []string{r.text(column)}
	}
	var s []string
	for _, v := range pair[1].([]any) {
		s = append(s, v.(string))
	}
	return s
}

// options are the entries of the columns options, tags and variables.
func (r row) options() map[string]string {
	m := map[string]string{}
	for _, column := range []string{"options", "tags", "variables"} {
		pair, ok := r[column].([]any)
		if !ok {
			continue
		}
		for _, entry := range pair[1].([]any) {
			m[entry.([]any)[0].(string)] = entry.([]any)[1].(string)
		}
	}
	return m
}

func rows(t testing.TB, l *lab.Lab, table string) []row {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ovsdb-client", "dump", "-f", "json", l.SB(), "OVN_Southbound", table).Output()
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Headings []string
		Data     [][]any
	}
	if err := json.Unmarshal(out, &d); err != nil {
		t.Fatal(err)
	}
	rows := make([]row, len(d.Data))
	for i, values := range d.Data {
		rows[i] = row{}
		for j, name := range d.Headings {
			rows[i][name] = values[j]
		}
	}
	return rows
}
