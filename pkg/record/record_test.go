package record_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ovnctl/ovnctl/pkg/archive"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
	"github.com/ovnctl/ovnctl/pkg/record"
)

// schemaText has columns of every shape: sets, maps, references, optional and single values, and one that no file keeps.
const schemaText = `{"name":"OVN_Northbound","version":"1.0.0","tables":{
	"Thing":{"isRoot":true,"columns":{
		"name":{"type":"string"},
		"count":{"type":"integer"},
		"maybe":{"type":{"key":"string","min":0,"max":1}},
		"words":{"type":{"key":"string","min":0,"max":"unlimited"}},
		"pairs":{"type":{"key":"string","value":"string","min":0,"max":"unlimited"}},
		"parts":{"type":{"key":{"type":"uuid","refTable":"Part"},"min":0,"max":"unlimited"}},
		"state":{"type":{"key":"string","min":0,"max":1},"ephemeral":true}}},
	"Part":{"columns":{"size":{"type":{"key":"integer","min":0,"max":3}}}}}}`

func start(t *testing.T) *ovsdbtest.Server {
	t.Helper()
	schema := filepath.Join(t.TempDir(), "schema")
	if err := os.WriteFile(schema, []byte(schemaText), 0o600); err != nil {
		t.Fatal(err)
	}
	return ovsdbtest.Start(t, schema)
}

var plenty = record.Limits{Size: 1 << 30, Age: time.Hour}

// A recording is a record being written.
type recording struct {
	t      *testing.T
	dir    string
	writer *record.Writer
	mu     sync.Mutex
	seen   int // changes
	stop   func()
}

// keep records a server's database.
func keep(t *testing.T, s *ovsdbtest.Server, dir string, limits record.Limits) *recording {
	t.Helper()
	w, err := record.Create(dir, "test", limits)
	if err != nil {
		t.Fatal(err)
	}
	r := &recording{t: t, dir: dir, writer: w}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- w.Follow(ctx, s.Dial(), "nb.db", func() { r.mu.Lock(); r.seen++; r.mu.Unlock() }, func(error) {})
	}()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(r.stop)
	r.until(func() bool { return r.changes() > 0 })
	return r
}

func (r *recording) changes() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen
}

func (r *recording) until(ok func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatal("it was not recorded within a minute")
		}
	}
}

// transact changes the database and waits until that is recorded.
func (r *recording) transact(s *ovsdbtest.Server, operations ...string) {
	r.t.Helper()
	before := r.changes()
	s.Transact(operations...)
	r.until(func() bool { return r.changes() > before })
}

// change is a random change that is never none.
func change(n int) []string {
	set := func(words ...string) string { b, _ := json.Marshal([]any{"set", words}); return string(b) }
	pairs := fmt.Sprintf(`["map",[["n","%d"],["k%d","v"]]]`, n, rand.IntN(5))
	row := fmt.Sprintf(`{"name":"t%d","count":%d,"maybe":%s,"words":%s,"pairs":%s,"state":"s%d"}`,
		rand.IntN(4), n, []string{`["set",[]]`, `"m"`}[rand.IntN(2)], set(fmt.Sprint("w", n), fmt.Sprint("x", rand.IntN(3))), pairs, n)
	switch {
	case n%5 == 0 || n < 3:
		return []string{fmt.Sprintf(`{"op":"insert","table":"Part","row":{"size":%d},"uuid-name":"p"}`, n),
			fmt.Sprintf(`{"op":"insert","table":"Thing","row":{"name":"t%d","count":%d,"parts":["named-uuid","p"]}}`, n%4, n)}
	case n%11 == 0:
		return []string{`{"op":"delete","table":"Thing","where":[["name","==","t1"]]}`, fmt.Sprintf(`{"op":"insert","table":"Thing","row":{"count":%d}}`, n)}
	}
	return []string{fmt.Sprintf(`{"op":"update","table":"Thing","where":[["count","<",%d]],"row":%s}`, n, row)}
}

// rows are all rows of a database file without what is as a new row has it.
func rows(t *testing.T, file io.Reader) map[string]map[string]string {
	t.Helper()
	db, err := ovsdb.ParseFile("test", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close() //nolint:errcheck // only read
	if damage := db.Damage(); damage != "" {
		t.Fatal(damage)
	}
	all := map[string]map[string]string{}
	for _, table := range []string{"Thing", "Part"} {
		if err := db.EachRaw(table, func(raw ovsdb.Raw) error {
			row := map[string]string{}
			for column, value := range raw {
				switch text := canonical(string(value)); text {
				case "set ", "map ", `""`, "0":
				default:
					if column != "_uuid" && column != "state" { // a backup lacks that
						row[column] = text
					}
				}
			}
			all[table+" "+string(raw.UUID())] = row
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// canonical sorts the elements of a set or map.
func canonical(text string) string {
	var kind string
	var elements []json.RawMessage
	var parts []json.RawMessage
	if json.Unmarshal([]byte(text), &parts) != nil || len(parts) != 2 || json.Unmarshal(parts[0], &kind) != nil || json.Unmarshal(parts[1], &elements) != nil {
		return text
	}
	if kind == "set" && len(elements) == 1 {
		return string(elements[0])
	}
	slices.SortFunc(elements, func(a, b json.RawMessage) int { return bytes.Compare(a, b) })
	var texts []string
	for _, e := range elements {
		var v any
		_ = json.Unmarshal(e, &v) // it was parsed before; < may be written in two ways
		texts = append(texts, fmt.Sprint(v))
	}
	return kind + " " + strings.Join(texts, " ")
}

func backup(t *testing.T, s *ovsdbtest.Server) map[string]map[string]string {
	t.Helper()
	var b bytes.Buffer
	if err := s.Dial().Backup(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return rows(t, &b)
}

// at are the rows of the record at a moment.
func at(t *testing.T, r *record.Record, when time.Time) map[string]map[string]string {
	t.Helper()
	state, err := r.At(t.Context(), when)
	if err != nil {
		t.Fatal(err)
	}
	defer state.Tree.Close() //nolint:errcheck // only read
	f, err := state.Tree.File("nb.db")
	if err != nil {
		t.Fatal(err)
	}
	return rows(t, f)
}

func open(t *testing.T, dir string) *record.Record {
	t.Helper()
	r, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// A known state is what the server had at a time.
type known struct {
	time time.Time
	rows map[string]map[string]string
}

// TestRecord changes a database, also while nobody records and while the server is away, and holds every moment against what
// the server had then.
func TestRecord(t *testing.T) {
	s := start(t)
	dir := filepath.Join(t.TempDir(), "record")
	var states []known
	n := 0
	changes := func(r *recording, count int) {
		for range count {
			n++
			r.transact(s, change(n)...)
			time.Sleep(3 * time.Millisecond) // later than any record of it, in whole milliseconds
			states = append(states, known{time.Now(), backup(t, s)})
			time.Sleep(2 * time.Millisecond)
		}
	}
	r := keep(t, s, dir, plenty)
	changes(r, 40)
	s.Kill()
	s.Restart() // it forgot what it had sent: all rows come anew
	r.until(func() bool { return len(names(t, dir)) == 2 })
	changes(r, 20)
	r.stop()
	n++
	s.Transact(change(n)...)
	r = keep(t, s, dir, plenty)
	changes(r, 20)
	open1 := open(t, dir) // while it is written
	if diff := cmp.Diff(states[10].rows, at(t, open1, states[10].time)); diff != "" {
		t.Errorf("while it is written (-want +got):\n%s", diff)
	}
	r.stop()
	got := open(t, dir)
	copied := copied(t, got)
	for i, state := range states {
		if _, to := got.Span(); state.time.After(to) {
			state.time = to
		}
		for name, r := range map[string]*record.Record{"record": got, "copy": copied} {
			if diff := cmp.Diff(state.rows, at(t, r, state.time)); diff != "" {
				t.Fatalf("change %d of the %s, %s (-want +got):\n%s", i, name, state.time, diff)
			}
		}
	}
	from, to := got.Span()
	moments, err := got.Moments(t.Context(), from, to)
	if err != nil {
		t.Fatal(err)
	}
	if len(moments) != 80 { // what came while nobody recorded is in the rows of the next file
		t.Errorf("%d moments, want 80", len(moments))
	}
	for _, m := range moments {
		if m.Database != "nb.db" || m.Rows["Thing"] == 0 {
			t.Errorf("moment %+v", m)
		}
	}
}

// names are the files of the database in a record.
func names(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "databases/nb.db/2*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// copied is a copy of a record, file by file.
func copied(t *testing.T, r *record.Record) *record.Record {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "copy")
	w, err := record.Create(dir, "test", plenty)
	if err != nil {
		t.Fatal(err)
	}
	err = r.Files(t.Context(), func(f record.File, _ int) error {
		if f.Look == nil {
			return w.AddLog(f.Database, f.Time, f.Log)
		}
		return w.AddLook(f.Time, func(out io.Writer) error {
			a, err := archive.NewWriter(out, "test", 1<<20)
			if err == nil {
				err = a.Copy(f.Look)
			}
			if err == nil {
				_, err = a.Close()
			}
			return err
		})
	})
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return open(t, dir)
}

// TestTools reads a file of a record with the tool of OVS, which checks every record of it.
func TestTools(t *testing.T) {
	s := start(t)
	dir := filepath.Join(t.TempDir(), "record")
	r := keep(t, s, dir, plenty)
	for n := range 10 {
		r.transact(s, change(n)...)
	}
	log := ovsdbtest.Run(t, "ovsdb-tool", "-mm", "show-log", names(t, dir)[0])
	if got := strings.Count(log, "changes, by ovnctl"); got != 10 {
		t.Errorf("%d changes in the log, want 10:\n%s", got, log)
	}
}

// TestCut cuts a record off at every byte of its end, and damages it: what was written before is there.
func TestCut(t *testing.T) {
	s := start(t)
	dir := filepath.Join(t.TempDir(), "record")
	r := keep(t, s, dir, plenty)
	var states []known
	for n := range 4 {
		r.transact(s, change(n)...)
		states = append(states, known{time.Now(), backup(t, s)})
		time.Sleep(2 * time.Millisecond)
	}
	name := names(t, dir)[0]
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	r.stop()
	mark, err := os.ReadFile(filepath.Join(dir, "record.json"))
	if err != nil {
		t.Fatal(err)
	}
	var ends []int // of the records
	for i := 0; i < len(whole); {
		var length int
		var sum string
		header, _, _ := bytes.Cut(whole[i:], []byte("\n"))
		if _, err := fmt.Sscanf(string(header), "OVSDB JSON %d %s", &length, &sum); err != nil {
			t.Fatal(err)
		}
		i += len(header) + 1 + length
		ends = append(ends, i)
	}
	ends = ends[len(ends)-5:] // of the rows at the beginning or the first change, and of the four changes
	cut := func(text []byte) *record.Record {
		dir := t.TempDir()
		for file, content := range map[string][]byte{"record.json": mark, "databases/nb.db/" + filepath.Base(name): text} {
			if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(file)), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, file), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return open(t, dir)
	}
	check := func(what string, got *record.Record, complete int) {
		t.Helper()
		_, to := got.Span()
		if diff := cmp.Diff(states[complete-1].rows, at(t, got, to)); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", what, diff)
		}
		_ = got.Close()
	}
	step := 1
	if testing.Short() {
		step = 13
	}
	for size := ends[1]; size <= len(whole); size += step {
		complete := 0
		for _, end := range ends[1:] {
			if end <= size {
				complete++
			}
		}
		check(fmt.Sprint("cut off at byte ", size), cut(whole[:size]), complete)
	}
	// Blocks that were promised and not written, and a changed byte.
	check("zeros", cut(append(bytes.Clone(whole[:ends[2]]), make([]byte, 5000)...)), 2)
	torn := bytes.Clone(whole)
	clear(torn[ends[3]+60:])
	check("a record without its end", cut(torn), 3)
	for _, i := range []int{ends[2] + 1, ends[2] + 15, ends[2] + 70, ends[3] - 2} {
		changed := bytes.Clone(whole)
		changed[i] ^= 1
		check(fmt.Sprint("byte ", i, " changed"), cut(changed), 2)
	}
}

// TestRing keeps within its limits, and every moment that is left can be opened.
func TestRing(t *testing.T) {
	s := start(t)
	dir := filepath.Join(t.TempDir(), "record")
	limits := record.Limits{Size: 1 << 20, Age: time.Hour}
	r := keep(t, s, dir, limits)
	noise := func() string {
		b := make([]byte, 30_000)
		for i := range b {
			b[i] = byte('a' + rand.IntN(26))
		}
		return string(b)
	}
	r.transact(s, `{"op":"insert","table":"Thing","row":{"name":"noise"}}`)
	for n := range 150 {
		r.transact(s, fmt.Sprintf(`{"op":"update","table":"Thing","where":[],"row":{"count":%d,"maybe":%q}}`, n, noise()))
		if n%10 == 0 {
			if size := sizeOf(t, dir); size > limits.Size*5/4 {
				t.Fatalf("after %d changes it takes %d bytes", n, size)
			}
		}
	}
	r.stop()
	got := open(t, dir)
	from, to := got.Span()
	moments, err := got.Moments(t.Context(), from, to)
	if err != nil {
		t.Fatal(err)
	}
	if len(moments) == 0 || len(moments) >= 150 {
		t.Errorf("%d moments are left", len(moments))
	}
	last := ""
	for _, m := range moments {
		for id, row := range at(t, got, m.Time) {
			if row["count"] == last {
				t.Errorf("%s: %s has the count of the moment before, %s", m.Time, id, last)
			}
			last = row["count"]
		}
	}
	if last != "149" {
		t.Errorf("the last count is %s", last)
	}
	if _, err := got.At(t.Context(), from.Add(-time.Millisecond)); err == nil || !strings.Contains(err.Error(), "begins at") {
		t.Errorf("before the beginning: %v", err)
	}
}

func sizeOf(t *testing.T, dir string) (n int64) {
	t.Helper()
	_ = filepath.Walk(dir, func(_ string, fi os.FileInfo, err error) error {
		if err == nil && fi.Mode().IsRegular() {
			n += fi.Size()
		}
		return nil
	})
	return n
}

// TestSecrets keeps no secret, and what lies beside one is right.
func TestSecrets(t *testing.T) {
	s := start(t)
	dir := filepath.Join(t.TempDir(), "record")
	r := keep(t, s, dir, plenty)
	for _, pairs := range []string{
		`[["password","hunter2-very-long"],["a","1"]]`,
		`[["password","hunter3-very-long"],["a","2"],["b","<&>"]]`,
		`[["a","3"]]`,
	} {
		if r.changes() == 1 {
			r.transact(s, `{"op":"insert","table":"Thing","row":{"pairs":["map",`+pairs+`]}}`)
		} else {
			r.transact(s, `{"op":"update","table":"Thing","where":[],"row":{"pairs":["map",`+pairs+`]}}`)
		}
	}
	text, err := os.ReadFile(names(t, dir)[0])
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte("hunter")) {
		t.Error("a secret is in the file")
	}
	r.stop()
	got := open(t, dir)
	_, to := got.Span()
	for _, row := range at(t, got, to) {
		if want := "map [a 3] [password <hidden>]"; row["pairs"] != want {
			t.Errorf("pairs are %s, want %s", row["pairs"], want)
		}
	}
}

// TestLook gives a moment the look at the nodes that fits it.
func TestLook(t *testing.T) {
	s := start(t)
	dir := filepath.Join(t.TempDir(), "record")
	r := keep(t, s, dir, plenty)
	look := func(text string) time.Time {
		t.Helper()
		time.Sleep(3 * time.Millisecond)
		if err := r.writer.Look(func(out io.Writer) error {
			w, err := archive.NewWriter(out, "test", 1<<20)
			if err != nil {
				return err
			}
			if err := w.Node("node1", "node1").Keep("flows-br-int.txt", "flows", []byte(text)); err != nil {
				return err
			}
			_, err = w.Close()
			return err
		}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(3 * time.Millisecond)
		return time.Now()
	}
	moment := func() time.Time {
		time.Sleep(3 * time.Millisecond)
		now := time.Now()
		time.Sleep(3 * time.Millisecond)
		return now
	}
	early := moment()
	first := look("first")
	r.transact(s, change(0)...)
	between := moment()
	r.transact(s, change(1)...)
	changed := moment()
	second := look("second")
	r.transact(s, change(2)...)
	r.stop()
	got := open(t, dir)
	copied := copied(t, got)
	_, to := got.Span()
	for _, test := range []struct {
		name  string
		time  time.Time
		want  string
		stale bool
	}{
		{"before any look, and nothing changed until the first", early, "first", false},
		{"at a look", first, "first", false},
		{"changed since, and again before the next look", between, "first", true},
		{"changed since, but not until the next look", changed, "second", false},
		{"at the second", second, "second", false},
		{"at the end", to, "second", true},
	} {
		for _, r := range []*record.Record{got, copied} {
			state, err := r.At(t.Context(), test.time)
			if err != nil {
				t.Fatal(err)
			}
			text, err := state.Tree.ReadFile("node1/flows-br-int.txt", 100)
			if string(text) != test.want || state.Stale != test.stale || state.Tree.Index().Apart != test.stale {
				t.Errorf("%s: %q, stale %v, %v; want %q, %v", test.name, text, state.Stale, err, test.want, test.stale)
			}
			_ = state.Tree.Close()
		}
	}
}

func TestMoment(t *testing.T) {
	s := start(t)
	dir := filepath.Join(t.TempDir(), "record")
	keep(t, s, dir, plenty).transact(s, change(0)...)
	r := open(t, dir)
	from, to := r.Span()
	for _, test := range []struct {
		text string
		want time.Time
		err  string
	}{
		{"", to, ""},
		{to.Local().Format("15:04:05.000"), to, ""},
		{to.Local().Format("2006-01-02T15:04:05.000"), to, ""},
		{to.Local().Format("2006-01-02 15:04:05.000"), to, ""},
		{to.UTC().Format(time.RFC3339Nano), to, ""},
		{"-" + to.Sub(from).String(), from, ""},
		{"-1h", to, "the record begins at"},
		{"2999-01-01T00:00", to, "the record ends at"},
		{"yesterday", to, "is no moment"},
		{"-", to, "is no moment"},
	} {
		got, err := r.Moment(test.text)
		if test.err == "" && (err != nil || !got.Equal(test.want)) || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
			t.Errorf("%q is %v, %v; want %v, %q", test.text, got, err, test.want, test.err)
		}
	}
}

// TestOthers is handed what no recorder wrote.
func TestOthers(t *testing.T) {
	const mark = `{"apiVersion":"ovnctl/v1","kind":"Record"}`
	const log = "databases/nb.db/20261126T090000.000Z.db"
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name  string
		files map[string]string // a link if it begins with ->
		want  string
	}{
		{"no mark", nil, "this is no record"},
		{"another mark", map[string]string{"record.json": `{"kind":"Recipe"}`}, "does not know"},
		{"a mark that leads out", map[string]string{"record.json": "->" + outside}, "this is no record"},
		{"nothing in it", map[string]string{"record.json": mark}, "nothing is recorded yet"},
		{"no database", map[string]string{"record.json": mark, log: "hello"}, "has no rows"},
		{"a length without end", map[string]string{"record.json": mark, log: "OVSDB JSON 4000000000 0000000000000000000000000000000000000000\n{"}, "has no rows"},
		{"a file that leads out", map[string]string{"record.json": mark, log: "->" + outside}, "nothing is recorded yet"},
		{"names that are no times", map[string]string{"record.json": mark, "databases/nb.db/x.db": "OVSDB", "databases/nb.db/..db": ""}, "nothing is recorded yet"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range test.files {
				name = filepath.Join(dir, name)
				err := os.MkdirAll(filepath.Dir(name), 0o700)
				if target, ok := strings.CutPrefix(text, "->"); ok && err == nil {
					err = os.Symlink(target, name)
				} else if err == nil {
					err = os.WriteFile(name, []byte(text), 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			r, err := record.Open(dir)
			if err == nil {
				defer r.Close() //nolint:errcheck // only read
				_, to := r.Span()
				_, err = r.At(t.Context(), to)
			}
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

// TestOneWriter refuses a second writer, and a directory with something else in it.
func TestOneWriter(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "record")
	w, err := record.Create(dir, "test", plenty)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := record.Create(dir, "test", plenty); err == nil || !strings.Contains(err.Error(), "another") {
		t.Errorf("a second writer: %v", err)
	}
	_ = w.Close()
	if w, err = record.Create(dir, "test", plenty); err != nil {
		t.Fatal(err)
	}
	_ = w.Close()
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "thesis"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := record.Create(full, "test", plenty); err == nil || !strings.Contains(err.Error(), "something else") {
		t.Errorf("a directory of others: %v", err)
	}
}
