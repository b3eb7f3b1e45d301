//go:build lab

package ovsdb_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
)

type logicalSwitch struct {
	UUID        ovsdb.UUID            `ovsdb:"_uuid"`
	Name        string                `ovsdb:"name"`
	OtherConfig map[string]string     `ovsdb:"other_config"`
	Ports       ovsdb.Set[ovsdb.UUID] `ovsdb:"ports"`
	Future      ovsdb.Set[string]     `ovsdb:"of_tomorrow"`
}

func (logicalSwitch) Table() string { return "Logical_Switch" }

type ofTomorrow struct {
	UUID ovsdb.UUID `ovsdb:"_uuid"`
}

func (ofTomorrow) Table() string { return "Of_Tomorrow" }

func dial(t testing.TB, config ovsdb.Config) *ovsdb.Client {
	t.Helper()
	c, err := ovsdb.Dial(context.Background(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestLoad(t *testing.T) {
	s := ovsdbtest.Start(t, ovsdbtest.Northbound)
	s.Transact(
		`{"op":"insert","table":"Logical_Switch","row":{"name":"a","other_config":["map",[["k","v"]]],"ports":["set",[["named-uuid","p"]]]}}`,
		`{"op":"insert","table":"Logical_Switch_Port","uuid-name":"p","row":{"name":"a-1"}}`,
		`{"op":"insert","table":"Logical_Switch","row":{"name":"b"}}`)
	c := dial(t, ovsdb.Config{DB: s.DB, Remotes: s.Remote(), Timeout: 5 * time.Second})
	db := struct {
		Switches []logicalSwitch
		Tomorrow []ofTomorrow
	}{Tomorrow: make([]ofTomorrow, 3)}
	if err := ovsdb.Load(t.Context(), c, &db); err != nil {
		t.Fatal(err)
	}
	if len(db.Switches) != 2 || len(db.Tomorrow) != 0 {
		t.Fatalf("loaded %+v", db)
	}
	found, err := ovsdb.Find[logicalSwitch](t.Context(), c, ovsdb.Where("name", "==", "a"))
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 1 || found[0].OtherConfig["k"] != "v" || len(found[0].Ports) != 1 || len(found[0].UUID) != 36 {
		t.Fatalf("found %+v", found)
	}
	if !c.Has("Logical_Switch", "name") || c.Has("Logical_Switch", "of_tomorrow") || c.Has("Of_Tomorrow", "") {
		t.Error("Has does not know the schema")
	}
	if st := c.Status(); st.Clustered || !st.Leader || !st.Connected || st.Stale {
		t.Errorf("status %+v of a server that stands alone", st)
	}
	snap, err := ovsdb.OpenFile(s.File)
	if err != nil {
		t.Fatal(err)
	}
	found, err = ovsdb.Find[logicalSwitch](t.Context(), snap, ovsdb.Where("name", "==", "a"))
	if err != nil || len(found) != 1 || found[0].OtherConfig["k"] != "v" {
		t.Fatalf("in the file: %+v, %v", found, err)
	}
}

type sparsePort struct {
	UUID          ovsdb.UUID            `ovsdb:"_uuid"`
	Name          string                `ovsdb:"name"`
	Enabled       ovsdb.Set[bool]       `ovsdb:"enabled,sparse"`
	DHCPv4Options ovsdb.Set[ovsdb.UUID] `ovsdb:"dhcpv4_options,sparse"`
	Options       map[string]string     `ovsdb:"options,sparse"`
	Future        ovsdb.Set[string]     `ovsdb:"of_tomorrow,sparse"`
}

func (sparsePort) Table() string { return "Logical_Switch_Port" }

type densePort struct {
	UUID          ovsdb.UUID            `ovsdb:"_uuid"`
	Name          string                `ovsdb:"name"`
	Enabled       ovsdb.Set[bool]       `ovsdb:"enabled"`
	DHCPv4Options ovsdb.Set[ovsdb.UUID] `ovsdb:"dhcpv4_options"`
	Options       map[string]string     `ovsdb:"options"`
	Future        ovsdb.Set[string]     `ovsdb:"of_tomorrow"`
}

func (densePort) Table() string { return "Logical_Switch_Port" }

// A sparse column is no other than the same column asked for in all rows, from a server and from its file, with and
// without a condition, among other tables.
func TestSparse(t *testing.T) {
	s := ovsdbtest.Start(t, ovsdbtest.Northbound)
	s.Transact(
		`{"op":"insert","table":"Logical_Switch","row":{"name":"s","ports":["set",[["named-uuid","a"],["named-uuid","b"],["named-uuid","c"],["named-uuid","d"]]]}}`,
		`{"op":"insert","table":"DHCP_Options","uuid-name":"o","row":{"cidr":"10.0.0.0/24"}}`,
		`{"op":"insert","table":"Logical_Switch_Port","uuid-name":"a","row":{"name":"a"}}`,
		`{"op":"insert","table":"Logical_Switch_Port","uuid-name":"b","row":{"name":"b","enabled":false,"options":["map",[["k","v"]]]}}`,
		`{"op":"insert","table":"Logical_Switch_Port","uuid-name":"c","row":{"name":"c","enabled":true,"dhcpv4_options":["named-uuid","o"]}}`,
		`{"op":"insert","table":"Logical_Switch_Port","uuid-name":"d","row":{"name":"d","enabled":["set",[]],"options":["map",[["k","w"],["l","x"]]]}}`)
	c := dial(t, ovsdb.Config{DB: s.DB, Remotes: s.Remote(), Timeout: 5 * time.Second})
	snap, err := ovsdb.OpenFile(s.File)
	if err != nil {
		t.Fatal(err)
	}
	for _, where := range [][]ovsdb.Condition{nil, {ovsdb.Where("name", "!=", "c")}, {ovsdb.Where("name", "==", "nobody")}} {
		var dense []densePort
		if err := c.Select(t.Context(), &ovsdb.Query{Rows: &dense, Where: where}); err != nil {
			t.Fatal(err)
		}
		want := map[ovsdb.UUID]sparsePort{}
		for _, p := range dense {
			want[p.UUID] = sparsePort(p)
		}
		for name, r := range map[string]ovsdb.Reader{"server": c, "file": snap} {
			var ports []sparsePort
			var switches []logicalSwitch
			if err := r.Select(t.Context(), &ovsdb.Query{Rows: &ports, Where: where}, &ovsdb.Query{Rows: &switches}); err != nil {
				t.Fatal(err)
			}
			got := map[ovsdb.UUID]sparsePort{}
			for _, p := range ports {
				got[p.UUID] = p
			}
			if len(ports) != len(dense) || len(switches) != 1 || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s, where %v: %+v, want %+v; %d switches", name, where, got, want, len(switches))
			}
		}
	}
}

type sparseName struct {
	UUID ovsdb.UUID `ovsdb:"_uuid"`
	Name string     `ovsdb:"name,sparse"`
}

func (sparseName) Table() string { return "Logical_Switch_Port" }

type sparseAlone struct {
	Enabled ovsdb.Set[bool] `ovsdb:"enabled,sparse"`
}

func (sparseAlone) Table() string { return "Logical_Switch_Port" }

// What cannot be sparse is said when it is asked for.
func TestSparseRefused(t *testing.T) {
	s := ovsdbtest.Start(t, ovsdbtest.Northbound)
	c := dial(t, ovsdb.Config{DB: s.DB, Remotes: s.Remote(), Timeout: 5 * time.Second})
	if _, err := ovsdb.Find[sparseName](t.Context(), c); err == nil || !strings.Contains(err.Error(), "neither a set nor a map") {
		t.Errorf("a string: %v", err)
	}
	if _, err := ovsdb.Find[sparseAlone](t.Context(), c); err == nil || !strings.Contains(err.Error(), "no _uuid") {
		t.Errorf("without a _uuid: %v", err)
	}
}
