//go:build lab

package ovsdb_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

const (
	self  = "11111111-2222-3333-4444-555555555555"
	other = "22222222-2222-3333-4444-555555555555"
	both  = `{"` + self + `":"tcp:10.0.0.1:6643","` + other + `":"tcp:[fd00::2]:6643"}`
	alone = `{"` + self + `":"tcp:10.0.0.1:6643"}`
)

func header(servers, more string) string {
	return raftRecord(`{"server_id":"` + self + `","local_address":"tcp:10.0.0.1:6643","name":"D","cluster_id":"` + other + `","prev_servers":` + servers + more + `}`)
}

func snapshotAt(index int) string {
	return fmt.Sprintf(`,"prev_index":%d,"prev_term":3,"prev_eid":%q,"prev_election_timer":4000,"prev_data":[{"name":"D","version":"1.0.0","tables":{"Logical_Switch":{"columns":{"name":{"type":"string"}},"isRoot":true}}},{}]`, index, other)
}

// logEntry inserts a row of the name.
func logEntry(term, index int, name string) string {
	return raftRecord(fmt.Sprintf(`{"term":%d,"index":%d,"eid":%q,"data":[null,{"Logical_Switch":{"%08d-2222-3333-4444-555555555555":{"name":%q}},"_date":1700000000}]}`, term, index, other, len(name)*1000+index, name))
}

func commit(index int) string { return raftRecord(fmt.Sprintf(`{"commit_index":%d}`, index)) }

// TestRaftLog reads logs that a server would refuse or that take long to bring
// about with real ones.
func TestRaftLog(t *testing.T) {
	begin := header(both, snapshotAt(5))
	a, b, c := logEntry(3, 6, "a"), logEntry(3, 7, "b"), logEntry(3, 8, "c")
	for _, test := range []struct {
		name                 string
		text                 []string
		rows, damage, notice string
	}{
		{"nothing committed", []string{begin, a, b}, "", "", "2 entries beyond the last known commit, 5, are left out"},
		{"some committed", []string{begin, a, b, c, commit(7)}, "a b", "", "1 entry beyond the last known commit, 7, is left out"},
		{"all committed", []string{begin, a, commit(6), b, commit(7)}, "a b", "", ""},
		{"entries without data", []string{begin, a, commit(6), raftRecord(`{"term":4,"index":7}`), raftRecord(`{"term":4,"index":8,"election_timer":2000}`)}, "a", "", ""},
		{"overwritten", []string{begin, a, b, c, commit(6), logEntry(4, 7, "bb"), commit(7)}, "a bb", "", ""},
		{"overwritten and beyond", []string{begin, a, b, c, commit(6), logEntry(4, 7, "bb")}, "a", "", "1 entry beyond the last known commit, 6, is left out"},
		{"alone", []string{header(alone, snapshotAt(5)), a, b}, "a b", "", ""},
		{"alone till others joined", []string{header(alone, snapshotAt(5)), a, raftRecord(`{"term":3,"index":7,"servers":` + both + `}`), c}, "", "", "2 entries beyond the last known commit, 5, are left out"},
		{"alone since the others left", []string{begin, raftRecord(`{"term":3,"index":6,"servers":` + alone + `}`), commit(6), b, c}, "b c", "", ""},
		{"one server, but another", []string{header(`{"`+other+`":"tcp:10.0.0.2:6643"}`, snapshotAt(5)), a}, "", "", "1 entry beyond"},
		{"left", []string{begin, a, commit(6), raftRecord(`{"note":"left"}`)}, "a", "", "has left its cluster"},
		{"other records", []string{begin, raftRecord(`{"term":3,"vote":"` + other + `"}`), raftRecord(`{"term":3,"leader":"` + other + `","comment":"x"}`), raftRecord(`{"note":"transfer leadership","comment":"y"}`), a, commit(6)}, "a", "", ""},
		{"an index above 2**63", []string{header(both, snapshotAt(-2)), logEntry(3, -1, "z"), commit(-1)}, "z", "", ""},
		{"no snapshot", []string{header(both, ""), raftRecord(`{"term":1,"index":1,"eid":"` + other + `","data":[{"name":"D","tables":{"Logical_Switch":{"columns":{"name":{"type":"string"}}}}},{"Logical_Switch":{"` + self + `":{"name":"s"}}}]}`), commit(1)}, "s", "", ""},

		{"a gap", []string{begin, a, commit(6), c}, "a", "entry 8 follows entry 6", ""},
		{"a committed entry replaced", []string{begin, a, commit(6), logEntry(4, 6, "x")}, "a", "entry 6 would replace a committed one", ""},
		{"an older term", []string{begin, a, commit(6), logEntry(2, 7, "x")}, "a", "entry 7 is of term 2, the one before it of 3", ""},
		{"commit beyond the log", []string{begin, a, commit(6), commit(7)}, "a", "entry 7 is committed, but the last one is 6", ""},
		{"commit going back", []string{begin, a, b, commit(7), commit(6)}, "a b", "the commit index goes back from 7 to 6", ""},
		{"a bad entry", []string{begin, a, raftRecord(`{"term":3,"index":7,"data":[null,{"None":{}}]}`), c, commit(8)}, "a", `entry 7: table "None" is not in the schema`, "2 entries"},
		{"three values", []string{begin, a, commit(6), raftRecord(`{"term":3,"index":7,"data":[null,null,null]}`), commit(7)}, "a", "found 3 values", ""},
		{"not an object", []string{begin, a, commit(6), raftRecord(`[1]`)}, "a", "want an object", ""},
		{"a standalone record", []string{begin, a, commit(6), record(`{"Logical_Switch":{}}`)}, "a", `unknown kind of record "JSON"`, ""},
		{"a schema of nothing", []string{begin, a, commit(6), raftRecord(`{"term":3,"index":7,"data":[{},null]}`), commit(7)}, "a", "schema: no name or no tables", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			snap, err := ovsdb.ParseFile("x.db", strings.NewReader(strings.Join(test.text, "")))
			if err != nil {
				t.Fatal(err)
			}
			rows := names(t, snap)
			slices.Sort(rows)
			if got := strings.Join(rows, " "); got != test.rows {
				t.Errorf("rows %q, want %q", got, test.rows)
			}
			if d := snap.Damage(); (d == "") != (test.damage == "") || !strings.Contains(d, test.damage) {
				t.Errorf("damage %q, want %q", d, test.damage)
			}
			if n := snap.Notice(); !strings.Contains(n, test.notice) || test.damage == "" && test.notice == "" && n != "" {
				t.Errorf("notice %q, want %q", n, test.notice)
			}
		})
	}
	for _, test := range []struct{ name, text, err string }{
		{"no servers", raftRecord(`{"server_id":"` + self + `"}`), "header: no server_id or no prev_servers"},
		{"no server_id", raftRecord(`{"prev_servers":{}}`), "header: no server_id or no prev_servers"},
		{"bad server_id", raftRecord(`{"server_id":"x"}`), "not a UUID"},
		{"bad servers", header("[]", snapshotAt(1)), "prev_servers: malformed JSON"},
		{"no schema", header(both, `,"prev_index":1,"prev_term":1,"prev_data":[null,{}]`), "a transaction before any schema"},
		{"no data at all", header(both, ""), "no schema yet; read the file of another member"},
		{"a bad first entry", header(alone, "") + raftRecord(`{"term":1,"index":1,"data":[null,{"T":{}}]}`), "no rows: entry 1: a transaction before any schema"},
		{"not JSON", raftRecord(`{"server_id`), "header: malformed JSON"},
		{"cut", header(both, snapshotAt(1))[:100], "cut short"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := ovsdb.ParseFile("x.db", strings.NewReader(test.text))
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("error %v, want %q", err, test.err)
			}
		})
	}
}
