package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/pkg/blame"
	"github.com/ovnctl/ovnctl/pkg/journey"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
	"github.com/ovnctl/ovnctl/pkg/record"
)

// keepRecord records two real databases with the real ovn-northd between them, while an ACL between two ports comes and goes. It returns
// moments before the ACL, while it is there, and after.
func keepRecord(t *testing.T) (dir string, before, during, after time.Time) {
	t.Helper()
	north, south := ovsdbtest.Start(t, ovsdbtest.Northbound), ovsdbtest.Start(t, ovsdbtest.Southbound)
	ovsdbtest.Northd(t, north, south)
	south.Transact(chassisRow("n1", "node1"))
	north.Transact(`{"op":"insert","table":"Logical_Switch","row":{"name":"sw","other_config":["map",[["subnet","10.244.0.0/24"]]],"ports":["set",[["named-uuid","a"],["named-uuid","b"]]]}}`,
		`{"op":"insert","table":"Logical_Switch_Port","uuid-name":"a","row":{"name":"a","addresses":"0a:58:0a:f4:00:05 10.244.0.5"}}`,
		`{"op":"insert","table":"Logical_Switch_Port","uuid-name":"b","row":{"name":"b","addresses":"0a:58:0a:f4:00:06 10.244.0.6"}}`)
	dir = filepath.Join(t.TempDir(), "record")
	w := startWatch(t, north, south, "--keep", dir)
	w.until("the record", func() bool {
		found, _ := filepath.Glob(filepath.Join(dir, "databases/*/*.db")) // the pattern is valid
		return len(found) == 2
	})
	changed := func(operations ...string) time.Time {
		t.Helper()
		r := moments(t, dir)
		north.Transact(operations...)
		w.until("the change of the Southbound that follows", func() bool { return moments(t, dir) > r+1 })
		time.Sleep(300 * time.Millisecond) // ovn-northd may write twice
		return time.Now()
	}
	w.until("the port bindings", func() bool { return reference(south, "Port_Binding", `["logical_port","==","b"]`) != "" })
	south.Transact(`{"op":"update","table":"Port_Binding","where":[],"row":{"up":true,"chassis":` + reference(south, "Chassis", `["name","==","n1"]`) + `}}`)
	time.Sleep(time.Second)
	before = time.Now()
	during = changed(`{"op":"insert","table":"ACL","uuid-name":"d","row":{"direction":"to-lport","priority":2000,"match":"tcp.dst == 80","action":"drop"}}`,
		`{"op":"mutate","table":"Logical_Switch","where":[],"mutations":[["acls","insert",["named-uuid","d"]]]}`)
	after = changed(`{"op":"update","table":"Logical_Switch","where":[],"row":{"acls":["set",[]]}}`)
	if code := w.end(); code != exitOK {
		t.Fatalf("exit %d\n%s", code, w.errs.String())
	}
	return dir, before, during, after
}

// TestKeep asks several commands for moments of a record.
func TestKeep(t *testing.T) {
	t.Parallel()
	dir, before, during, after := keepRecord(t)
	ovnctl := func(args ...string) (int, string, string) {
		var out, errs bytes.Buffer
		code := run(t.Context(), args, strings.NewReader(""), &out, &errs)
		return code, out.String(), errs.String()
	}
	at := func(when time.Time) string { return dir + "@" + when.Format(record.TimeFormat) }
	last, since, redacted := at(during), before.Format(record.TimeFormat), filepath.Join(t.TempDir(), "redacted")
	if code, out, errs := ovnctl("watch", "--redact", dir, redacted); code != exitOK || !strings.Contains(out, "1 ACL, 1 Logical_Switch") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}
	_, out, _ := ovnctl("get", "ports", "-o", "name", "--offline", redacted)
	others := strings.Fields(out) // the names of the ports there
	if len(others) != 2 {
		t.Fatalf("the redacted record has ports %q", others)
	}
	for _, test := range []struct {
		args []string
		code int
		want string // in the output
	}{
		{[]string{"get", "acls", "--offline", at(before)}, exitOK, ""},
		{[]string{"get", "acls", "--offline", last}, exitOK, "tcp.dst == 80"},
		{[]string{"trace", "lsp:a", "lsp:b", "--tcp", "80", "--logical", "--offline", at(before)}, exitOK, "DELIVERED"},
		{[]string{"trace", "lsp:a", "lsp:b", "--tcp", "80", "--logical", "--offline", last}, exitFound, "DROPPED"},
		{[]string{"compare", at(before), last, "--only", "configuration"}, exitFound, "+ ACL to-lport 2000 drop if tcp.dst == 80"},
		{[]string{"compare", at(before), last, "--path", "lsp:a", "lsp:b", "--tcp", "80"}, exitFound, "+ ACL to-lport 2000 drop if tcp.dst == 80"},
		{[]string{"watch", "--list", dir}, exitOK, "1 ACL, 1 Logical_Switch"},
		{[]string{"blame", "lsp:a", "lsp:b", "--tcp", "80", "--offline", dir, "--since", since}, exitFound, "the verdict changed 2 times"},
		{[]string{"blame", "lsp:a", "lsp:b", "--tcp", "80", "--offline", dir, "--since", since}, exitFound, "- ACL to-lport 2000 drop if tcp.dst == 80"},
		{[]string{"blame", "lsp:a", "lsp:b", "--tcp", "81", "--offline", dir, "--since", since}, exitOK, "the same all the time"},
		{[]string{"__complete", "get", "acls", "--offline", dir + "@"}, exitOK, "1 ACL, 1 Logical_Switch"},

		{[]string{"blame", "lsp:a", "lsp:nobody", "--offline", dir}, exitUsage, "nobody"},
		{[]string{"blame", "lsp:a", "lsp:b"}, exitUsage, "--keep"},
		{[]string{"blame", "lsp:a", "lsp:b", "--offline", t.TempDir()}, exitUsage, "is no record"},
		{[]string{"blame", "lsp:a", "lsp:b", "--offline", dir, "--since", "soon"}, exitUsage, "is no moment"},
		{[]string{"get", "acls", "--offline", dir + "@-100h"}, exitUsage, "the record begins at"},
		{[]string{"get", "acls", "--offline", dir + "@2999-01-01T00:00"}, exitUsage, "the record ends at"},
		{[]string{"watch", "--list", t.TempDir()}, exitUnknown, "no record"},
		{[]string{"watch", "--max-size", "2G"}, exitUsage, "--keep DIR records"},
		{[]string{"blame", others[0], others[1], "--tcp", "80", "--offline", redacted, "--since", since}, exitFound, "the verdict changed 2 times"},
		{[]string{"watch", "--redact", dir, redacted}, exitUsage, "is there already"},
		{[]string{"watch", "--redact", dir}, exitUsage, "expected a directory for the copy"},
		{[]string{"watch", "--redact", t.TempDir(), filepath.Join(t.TempDir(), "copy")}, exitUnknown, "no record"},
		{[]string{"watch", "--redact", dir, "/no/where/copy"}, exitUsage, "/no/where"},
	} {
		code, out, errs := ovnctl(test.args...)
		if code != test.code || !strings.Contains(out+errs, test.want) {
			t.Errorf("%s: exit %d, want %d with %q\n%s%s", strings.Join(test.args, " "), code, test.code, test.want, out, errs)
		}
	}

	// A moment is copied as a capture, which needs no record; and without names.
	saved := filepath.Join(t.TempDir(), "saved.tar.zst")
	if code, _, errs := ovnctl("capture", "--offline", last, saved); code != exitOK {
		t.Fatalf("exit %d\n%s", code, errs)
	}
	if code, out, errs := ovnctl("trace", "lsp:a", "lsp:b", "--tcp", "80", "--logical", "--offline", saved); code != exitFound || !strings.Contains(out, "DROPPED") {
		t.Errorf("exit %d\n%s%s", code, out, errs)
	}

	_, out, _ = ovnctl("blame", "lsp:a", "lsp:b", "--tcp", "80", "--offline", dir, "--since", since, "-o", "json")
	var doc blame.Document
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Before.Outcome != journey.Delivered || doc.After.Outcome != journey.Delivered || len(doc.Changes) != 2 {
		t.Fatalf("%s to %s with %d changes", doc.Before.Outcome, doc.After.Outcome, len(doc.Changes))
	}
	for i, span := range [][2]time.Time{{before, during}, {during, after}} {
		if when := doc.Changes[i].Time; when.Before(span[0].Truncate(time.Millisecond)) || when.After(span[1]) {
			t.Errorf("change %d at %s, want it between %s and %s", i, when, span[0], span[1])
		}
	}
}

// moments is how many moments a record has.
func moments(t *testing.T, dir string) int {
	t.Helper()
	r, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close() //nolint:errcheck // only read
	from, to := r.Span()
	all, err := r.Moments(t.Context(), from, to)
	if err != nil {
		t.Fatal(err)
	}
	return len(all)
}
