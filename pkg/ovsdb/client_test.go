package ovsdb_test

import (
	"context"
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
