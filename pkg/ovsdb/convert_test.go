//go:build lab

package ovsdb_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
)

// TestConversionWithoutData takes the data out of the record of a conversion,
// as Open vSwitch 3.2 and later write it, and compares the rows with what the
// server made of them.
func TestConversionWithoutData(t *testing.T) {
	t.Parallel()
	schema := edited(t, ovsdbtest.Northbound, func(map[string]any) {})
	cluster := ovsdbtest.StartCluster(t, schema, 1)
	s := cluster.Members[0]
	cluster.Leader()
	s.Transact(`{"op":"insert","table":"Logical_Switch","row":{"name":"a","ports":["set",[["named-uuid","p"],["named-uuid","q"]]],"acls":["set",[["named-uuid","x"],["named-uuid","y"]]],"copp":["named-uuid","c"]}}`,
		`{"op":"insert","table":"Logical_Switch_Port","uuid-name":"p","row":{"name":"p","tag":7,"type":"router","options":["map",[["a","b"]]]}}`,
		`{"op":"insert","table":"Logical_Switch_Port","uuid-name":"q","row":{"name":"q","dhcpv4_options":["named-uuid","d"]}}`,
		`{"op":"insert","table":"DHCP_Options","uuid-name":"d","row":{"cidr":"10.0.0.0/8"}}`,
		`{"op":"insert","table":"Copp","uuid-name":"c","row":{"name":"c"}}`,
		`{"op":"insert","table":"ACL","uuid-name":"x","row":{"match":"x","priority":1,"action":"drop","direction":"to-lport"}}`,
		`{"op":"insert","table":"ACL","uuid-name":"y","row":{"match":"y","priority":2,"action":"drop","direction":"to-lport"}}`,
		`{"op":"insert","table":"Port_Group","row":{"name":"pg","ports":["set",[["named-uuid","p"],["named-uuid","q"]]],"acls":["named-uuid","y"]}}`,
		`{"op":"insert","table":"Logical_Router_Policy","uuid-name":"z","row":{"priority":3,"match":"z","action":"allow"}}`,
		`{"op":"insert","table":"Logical_Router","row":{"name":"r","policies":["named-uuid","z"]}}`)
	s.Transact(`{"op":"mutate","table":"Logical_Switch_Port","where":[["name","==","p"]],"mutations":[["options","insert",["map",[["c","d"]]]]]}`,
		`{"op":"update","table":"ACL","where":[["match","==","y"]],"row":{"priority":5}}`)
	before := open(t, s.File)
	ovsdbtest.Run(t, "ovsdb-client", "convert", s.Remote(), edited(t, schema, func(tables map[string]any) {
		delete(columns(tables, "Logical_Switch"), "ports") // its ports go, and what refers to them
		delete(columns(tables, "Logical_Switch"), "acls")  // an ACL goes, the other is in a group
		delete(columns(tables, "Logical_Switch"), "copp")
		delete(columns(tables, "Logical_Router"), "copp")
		delete(tables, "Copp")
		columns(tables, "ACL")["tier"] = map[string]any{"type": "integer"}
		columns(tables, "ACL")["priority"] = map[string]any{"type": "real"}
		columns(tables, "ACL")["match"] = map[string]any{"type": map[string]any{"key": "string", "min": 0, "max": "unlimited"}}
		columns(tables, "Logical_Router")["name"] = map[string]any{"type": map[string]any{"key": "string", "min": 0, "max": 1}}
		columns(tables, "Port_Group")["name"] = map[string]any{"type": map[string]any{"key": "string", "min": 0, "max": 1}}
		columns(tables, "Logical_Router_Policy")["action"] = map[string]any{"type": map[string]any{"key": "string", "min": 0, "max": "unlimited"}}
	}))
	s.Transact(`{"op":"insert","table":"Port_Group","row":{"name":"later"}}`)
	text, err := os.ReadFile(s.File)
	if err != nil {
		t.Fatal(err)
	}
	stripped, n := withoutData(t, text)
	if n != 1 {
		t.Fatalf("%d conversions in the file", n)
	}
	snap, err := ovsdb.ParseFile("stripped", bytes.NewReader(stripped))
	if err != nil || snap.Damage() != "" {
		t.Fatalf("%v %s", err, snap.Damage())
	}
	want := liveState(t, s, snap)
	if diff := gocmp.Diff(want, fileState(t, snap)); diff != "" {
		t.Errorf("(-live +file)\n%s", diff)
	}
	if diff := gocmp.Diff(want, fileState(t, open(t, s.File))); diff != "" {
		t.Errorf("with data: (-live +file)\n%s", diff)
	}
	rows := len(fileState(t, before))
	t.Logf("%d rows before, %d after", rows, len(want))
	if len(want) >= rows {
		t.Error("no row is gone: nothing was tested")
	}
}

// TestConvertedWhileServed asks a server for a schema that it has taken over from a conversion.
func TestConvertedWhileServed(t *testing.T) {
	t.Parallel()
	schema := edited(t, ovsdbtest.Northbound, func(map[string]any) {})
	s := ovsdbtest.Start(t, schema)
	config := ovsdb.Config{DB: s.DB, Remotes: s.Remote()}
	if !dial(t, config).Has("Copp", "external_ids") {
		t.Fatal("the column that is to go is not there")
	}
	ovsdbtest.Run(t, "ovsdb-client", "convert", s.Remote(), edited(t, schema, func(tables map[string]any) { delete(columns(tables, "Copp"), "external_ids") }))
	if dial(t, config).Has("Copp", "external_ids") {
		t.Error("the schema is that of before the conversion")
	}
}

// TestOtherReleases reads files that servers of other releases wrote; the dumps
// beside them are what these servers served. conversion-3.5 is a schema made
// to lose references of every kind, converted by Open vSwitch 3.5.0;
// upgrade-26.03 is a Northbound of OVN 23.03 converted to that of 26.03.
func TestOtherReleases(t *testing.T) {
	for file, db := range map[string]string{"conversion-3.5.db": "D", "upgrade-26.03.db.gz": "OVN_Northbound"} {
		t.Run(file, func(t *testing.T) {
			snap := open(t, filepath.Join("testdata", file))
			name, _, _ := strings.Cut(file, ".db")
			f, err := os.Open(filepath.Join("testdata", name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			dump, err := ovsdb.ParseDump(db, f.Name(), f)
			if err != nil {
				t.Fatal(err)
			}
			want, got := fileState(t, dump), fileState(t, snap)
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("(-server +file)\n%s", diff)
			}
			t.Logf("schema %s, %d rows", snap.Version(), len(got))
		})
	}
}

// withoutData rewrites the conversions in a file to have the schema alone.
func withoutData(t testing.TB, text []byte) (stripped []byte, n int) {
	t.Helper()
	starts := frames(t, text)
	for i := range starts[1:] {
		record := text[starts[i]:starts[i+1]]
		_, body, _ := bytes.Cut(record, []byte("\n"))
		var entry map[string]json.RawMessage
		if err := json.Unmarshal(body, &entry); err != nil {
			t.Fatal(err)
		}
		var data []json.RawMessage
		if entry["data"] != nil {
			if err := json.Unmarshal(entry["data"], &data); err != nil {
				t.Fatal(err)
			}
		}
		if len(data) == 2 && string(data[0]) != "null" {
			n++
			entry["data"] = fmt.Appendf(nil, "[%s,null]", data[0])
			body, err := json.Marshal(entry)
			if err != nil {
				t.Fatal(err)
			}
			record = []byte(raftRecord(string(body)))
		}
		stripped = append(stripped, record...)
	}
	return stripped, n
}
