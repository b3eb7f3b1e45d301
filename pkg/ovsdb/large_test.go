//go:build lab

package ovsdb_test

import (
	"bytes"
	"crypto/sha1"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// flowsFile writes the file of a Southbound with so many logical flows of ten datapaths, compacted.
func flowsFile(t *testing.T, flows int) string {
	t.Helper()
	file := filepath.Join(ovsdbtest.Dir(t), "db")
	ovsdbtest.Run(t, "ovsdb-tool", "create", file, ovsdbtest.Southbound)
	var text strings.Builder
	for i := range flows {
		fmt.Fprintf(&text, `,"%08x-0000-4000-8000-000000000000":{"logical_datapath":["uuid","00000000-0000-4000-8000-%012d"],"pipeline":"ingress","table_id":%d,"priority":%d,`,
			uint32(i)*2654435761, i%10, i%24, 50+i%2000)
		fmt.Fprintf(&text, `"match":"inport == \"p%d\" && ip4.dst == 10.%d.%d.%d && tcp.dst == 80","actions":"reg1 = 10.96.0.1; reg2[0..15] = 80; ct_lb_mark(backends=10.244.1.7:8080);",`, i, i>>16, i>>8&255, i&255)
		fmt.Fprintf(&text, `"external_ids":["map",[["source","northd.c:7021"],["stage-hint","%08x"],["stage-name","ls_in_lb"]]]}`, i)
	}
	var datapaths []string
	for i := range 10 {
		datapaths = append(datapaths, fmt.Sprintf(`"00000000-0000-4000-8000-%012d":{"tunnel_key":%d}`, i, i+1))
	}
	record := fmt.Sprintf("{\"_date\":1700000000000,\"Datapath_Binding\":{%s},\"Logical_Flow\":{%s}}\n", strings.Join(datapaths, ","), text.String()[1:])
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := fmt.Fprintf(f, "OVSDB JSON %d %x\n%s", len(record), sha1.Sum([]byte(record)), record); err != nil {
		t.Fatal(err)
	}
	return file
}

func flows(t *testing.T, r ovsdb.Reader, where ...ovsdb.Condition) []sb.LogicalFlow {
	t.Helper()
	rows, err := ovsdb.Find[sb.LogicalFlow](t.Context(), r, where...)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(rows, func(a, b sb.LogicalFlow) int { return strings.Compare(string(a.UUID), string(b.UUID)) })
	return rows
}

// TestLargeFile reads a file that is too large to be kept in memory: its rows are those that its server serves,
// before and after the server has written to it.
func TestLargeFile(t *testing.T) {
	const n = 22_000
	file := flowsFile(t, n)
	s := ovsdbtest.Serve(t, filepath.Dir(file), file, "OVN_Southbound")
	live := dial(t, ovsdb.Config{DB: s.DB, Remotes: s.Remote(), Timeout: time.Minute})
	check := func(t *testing.T, what string, file *ovsdb.Snapshot, want []sb.LogicalFlow) {
		t.Helper()
		defer file.Close()
		if d := file.Damage(); d != "" {
			t.Errorf("%s: %s", what, d)
		}
		if got := flows(t, file); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %d rows that are not the %d of the server", what, len(got), len(want))
		}
	}
	want := flows(t, live)
	if len(want) != n {
		t.Fatalf("the server has %d rows", len(want))
	}
	check(t, "compacted", open(t, file), want)
	zipped := zip(t, func(w io.Writer) error { return copyFile(w, file) })
	packed, err := ovsdb.ParseFile("db.gz", bytes.NewReader(zipped))
	if err != nil {
		t.Fatal(err)
	}
	check(t, "packed", packed, want)

	snap := open(t, file)
	datapath := ovsdb.Where("logical_datapath", "==", ovsdb.UUID("00000000-0000-4000-8000-000000000003"))
	if got, served := flows(t, snap, datapath), flows(t, live, datapath); len(got) != n/10 || !reflect.DeepEqual(got, served) {
		t.Errorf("%d flows of a datapath, the server has %d", len(got), len(served))
	}
	if got := flows(t, snap, ovsdb.Where("_uuid", "==", want[7].UUID)); len(got) != 1 || !reflect.DeepEqual(got[0], want[7]) {
		t.Errorf("found %v by the UUID of %v", got, want[7])
	}

	s.Transact(`{"op":"delete","table":"Logical_Flow","where":[["priority","<",100]]}`,
		`{"op":"mutate","table":"Logical_Flow","where":[["priority","==",500]],"mutations":[["external_ids","delete",["set",["source"]]],["external_ids","insert",["map",[["more","1"]]]]]}`,
		`{"op":"update","table":"Logical_Flow","where":[["priority","==",600]],"row":{"match":"1","tags":["map",[["a","b"]]]}}`,
		`{"op":"insert","table":"Logical_Flow","row":{"pipeline":"egress","table_id":1,"priority":77,"match":"0","actions":"drop;"}}`)
	// What was opened before holds what was there then.
	check(t, "opened before", snap, want)
	want = flows(t, live)
	if len(want) >= n {
		t.Fatalf("the server still has %d rows", len(want))
	}
	check(t, "written to", open(t, file), want)
}

func copyFile(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}

// TestLargeFileMemory holds a large file open in a small part of its size.
func TestLargeFileMemory(t *testing.T) {
	file := flowsFile(t, 22_000)
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	held := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := held()
	snap := open(t, file)
	defer snap.Close()
	if rows, err := ovsdb.Find[sb.DatapathBinding](t.Context(), snap); err != nil || len(rows) != 10 {
		t.Errorf("%d datapaths, %v", len(rows), err)
	}
	grown := int64(held()) - int64(before)
	runtime.KeepAlive(snap)
	t.Logf("%d bytes for a file of %d", grown, info.Size())
	if grown > info.Size()/4 {
		t.Errorf("%d bytes are held for a file of %d", grown, info.Size())
	}
}

// TestFileChanges changes a file beneath the snapshot that reads from it: rows that are not any more what they
// were are an error, and what has not changed is still there.
func TestFileChanges(t *testing.T) {
	text, err := os.ReadFile(flowsFile(t, 22_000))
	if err != nil {
		t.Fatal(err)
	}
	last := int64(bytes.LastIndex(text, []byte("tcp.dst == 80")))
	for _, test := range []struct {
		name   string
		change func(f *os.File, path string) error
		err    string
	}{
		{"another value", func(f *os.File, _ string) error { _, err := f.WriteAt([]byte("tcp.dst == 81"), last); return err }, "has changed since it was opened"},
		{"cut short", func(f *os.File, _ string) error { return f.Truncate(last) }, "has changed since it was opened"},
		{"empty", func(f *os.File, _ string) error { return f.Truncate(0) }, "has changed since it was opened"},
		{"grown", func(f *os.File, _ string) error { _, err := f.WriteAt([]byte("OVSDB"), int64(len(text))); return err }, ""},
		{"removed", func(_ *os.File, path string) error { return os.Remove(path) }, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "db")
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			snap := open(t, path)
			defer snap.Close()
			if err := test.change(f, path); err != nil {
				t.Fatal(err)
			}
			rows, err := ovsdb.Find[sb.LogicalFlow](t.Context(), snap)
			if test.err == "" {
				if err != nil || len(rows) != 22_000 {
					t.Errorf("%d rows, %v", len(rows), err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.err) || !strings.Contains(err.Error(), path) || rows != nil {
				t.Errorf("%d rows, error %v", len(rows), err)
			}
			// The datapaths are at the beginning.
			if rows, err := ovsdb.Find[sb.DatapathBinding](t.Context(), snap); (err == nil) != (test.name != "empty") || err == nil && len(rows) != 10 {
				t.Errorf("%d datapaths, %v", len(rows), err)
			}
		})
	}
	path := filepath.Join(t.TempDir(), "db")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	snap := open(t, path)
	if err := snap.Close(); err != nil {
		t.Error(err)
	}
	if rows, err := ovsdb.Find[sb.LogicalFlow](t.Context(), snap); err == nil {
		t.Errorf("%d rows out of a closed file", len(rows))
	}
}
