//go:build lab

package ovsdb_test

import (
	"bytes"
	"crypto/sha1"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
)

// A state is all rows of a database, with all columns that a file can hold.
type state map[string]string

func fileState(t testing.TB, s *ovsdb.Snapshot) state {
	t.Helper()
	rows, err := s.State(func(table, column string) bool { return !s.Has(table, column) })
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// liveState asks the server; like is the file that tells which columns matter.
func liveState(t testing.TB, s *ovsdbtest.Server, like *ovsdb.Snapshot) state {
	t.Helper()
	dump, err := ovsdb.ParseDump(s.DB, "dump", strings.NewReader(ovsdbtest.Run(t, "ovsdb-client", "dump", "-f", "json", s.Remote(), s.DB)))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := dump.State(func(table, column string) bool { return !like.Has(table, column) })
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func open(t testing.TB, path string) *ovsdb.Snapshot {
	t.Helper()
	s, err := ovsdb.OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := s.Damage(); d != "" {
		t.Fatalf("%s: %s", path, d)
	}
	return s
}

// parse reads a file as one that is small, or as one that is too large to be kept in memory.
func parse(text []byte, large bool) (*ovsdb.Snapshot, error) {
	if large {
		return ovsdb.ParseInPlace(bytes.NewReader(text))
	}
	return ovsdb.ParseFile("x.db", bytes.NewReader(text))
}

// settled compares the file of a running member with what it serves, as soon
// as it stands still, and returns the number of rows.
func settled(t *testing.T, what string, m *ovsdbtest.Server) int {
	t.Helper()
	var diff string
	for range 100 {
		before := index(t, m)
		live := liveState(t, m, open(t, m.File))
		snap := open(t, m.File)
		got := fileState(t, snap)
		if diff = gocmp.Diff(live, got); diff == "" {
			return len(got)
		}
		if index(t, m) == before {
			break
		}
	}
	t.Errorf("%s: (-live +file)\n%s", what, diff)
	return 0
}

// index returns the last entry that the member has applied.
func index(t testing.TB, m *ovsdbtest.Server) int {
	t.Helper()
	reply := ovsdbtest.Run(t, "ovsdb-client", "transact", m.Remote(),
		`["_Server",{"op":"select","table":"Database","columns":["index"],"where":[["name","==","`+m.DB+`"]]}]`)
	n, err := strconv.Atoi(regexp.MustCompile(`"index":(\d+)`).FindStringSubmatch(reply)[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// work makes n transactions that insert, change and delete rows, with sets,
// maps and references in them.
func work(leader *ovsdbtest.Server, r *rand.Rand, n int) {
	for range n {
		leader.Transact(someWork(r)...)
	}
}

func someWork(r *rand.Rand) []string {
	name := fmt.Sprintf("s%d", r.IntN(20))
	where := `"where":[["name","==","` + name + `"]]`
	switch r.IntN(6) {
	case 0, 1:
		return []string{`{"op":"insert","table":"Logical_Switch","row":{"name":"` + name + `","other_config":["map",[["a","1"],["b","é\n\"x\""]]],"ports":["set",[["named-uuid","p"],["named-uuid","q"]]]}}`,
			`{"op":"insert","table":"Logical_Switch_Port","uuid-name":"p","row":{"name":"` + fmt.Sprint(name, "-", r.Int64()) + `","tag":7,"up":true,"addresses":["set",["x","y"]]}}`,
			`{"op":"insert","table":"Logical_Switch_Port","uuid-name":"q","row":{"name":"` + fmt.Sprint(name, "-", r.Int64()) + `","type":"router","options":["map",[["k","1"],["l","2"]]]}}`}
	case 2:
		return []string{`{"op":"delete","table":"Logical_Switch",` + where + `}`}
	case 3:
		return []string{`{"op":"mutate","table":"Logical_Switch",` + where + `,"mutations":[["other_config","delete",["set",["a"]]],["other_config","insert",["map",[["c` + strconv.Itoa(r.IntN(9)) + `","3"]]]]]}`}
	case 4:
		return []string{`{"op":"update","table":"Logical_Switch",` + where + `,"row":{"other_config":["map",[]]}}`}
	}
	return []string{`{"op":"update","table":"Logical_Switch_Port","where":[["type","==","router"]],"row":{"addresses":["set",["z","x"]],"tag":["set",[]],"options":["map",[["k","` + strconv.Itoa(r.IntN(9)) + `"]]]}}`}
}

// setIDs fills a column that convert drops.
const setIDs = `{"op":"update","table":"Logical_Switch_Port","where":[],"row":{"external_ids":["map",[["a","b"]]]}}`

// convert gives the Northbound schema a column and a table less, a column
// more, and one that has become optional.
func convert(t *testing.T, leader *ovsdbtest.Server) {
	t.Helper()
	ovsdbtest.Run(t, "ovsdb-client", "convert", leader.Remote(), edited(t, ovsdbtest.Northbound, func(tables map[string]any) {
		delete(columns(tables, "Logical_Switch_Port"), "external_ids")
		delete(columns(tables, "Logical_Switch"), "copp")
		delete(columns(tables, "Logical_Router"), "copp")
		delete(tables, "Copp")
		columns(tables, "Logical_Switch_Port")["colour"] = map[string]any{"type": "string"}
		columns(tables, "Logical_Switch_Port")["type"] = map[string]any{"type": map[string]any{"key": "string", "min": 0, "max": 1}}
	}))
}

// TestClusterFiles reads the files of three members while their cluster goes
// through what clusters go through, and compares all rows with what each serves.
func TestClusterFiles(t *testing.T) {
	t.Parallel()
	cluster := ovsdbtest.StartCluster(t, ovsdbtest.Northbound, 3)
	r := rand.New(rand.NewPCG(1, 2))
	compared, rows := 0, 0
	check := func(what string) {
		t.Helper()
		for i, m := range cluster.Members {
			if m.Running() {
				compared++
				rows += settled(t, fmt.Sprintf("%s: member %d", what, i), m)
			}
		}
	}
	check("empty")
	work(cluster.Leader(), r, 30)
	check("transactions")

	killed := cluster.Leader()
	killed.Kill()
	last := fileState(t, open(t, killed.File))
	if diff := gocmp.Diff(last, liveState(t, cluster.Followers()[0], open(t, killed.File))); diff != "" {
		t.Errorf("the leader was killed at rest: (-file +others)\n%s", diff)
	}
	work(cluster.Leader(), r, 10)
	check("leader killed")
	if diff := gocmp.Diff(last, fileState(t, open(t, killed.File))); diff != "" {
		t.Errorf("the file of the killed leader has changed: %s", diff)
	}
	killed.Restart()
	waitFor(t, "the member to be back", func() bool { return len(cluster.Followers()) == 2 })
	work(cluster.Leader(), r, 10)
	check("leader back")

	for _, m := range cluster.Members {
		m.Appctl("ovsdb-server/compact", m.DB)
	}
	check("compacted")
	work(cluster.Leader(), r, 10)
	check("transactions after compaction")

	cluster.Leader().Transact(setIDs)
	convert(t, cluster.Leader())
	check("converted")
	if open(t, cluster.Members[0].File).Has("Copp", "") {
		t.Error("the schema is the one before the conversion")
	}
	follower := cluster.Followers()[0]
	follower.Kill()
	leader := cluster.Leader()
	for range 5 {
		leader.Transact(`{"op":"insert","table":"Logical_Switch","row":{"name":"after"}}`)
	}
	check("follower killed")
	leader.Appctl("ovsdb-server/compact", leader.DB)
	follower.Restart()
	waitFor(t, "the member to be back", func() bool { return len(cluster.Followers()) == 2 })
	cluster.Leader().Transact(`{"op":"delete","table":"Logical_Switch","where":[["name","==","after"]]}`)
	check("snapshot installed")

	for i, m := range cluster.Members {
		ovsdbtest.SameEverywhere(t, m, nb.LogicalSwitch{}, nb.LogicalSwitchPort{})
		compared++
		rows += settled(t, fmt.Sprintf("at the end: member %d", i), m)
	}
	t.Logf("%d files with %d rows compared", compared, rows)
	if compared < 25 || rows < 200 {
		t.Error("too little was compared")
	}
}

// TestClusteredSouthbound compares the files of what ovn-northd makes, which
// has all kinds of columns and references.
func TestClusteredSouthbound(t *testing.T) {
	t.Parallel()
	north := ovsdbtest.StartCluster(t, ovsdbtest.Northbound, 1).Leader()
	south := ovsdbtest.StartCluster(t, ovsdbtest.Southbound, 1).Leader()
	stop := ovsdbtest.Northd(t, north, south)
	ovnnb := func(args ...string) {
		t.Helper()
		ovsdbtest.Run(t, "ovn-nbctl", append([]string{"--db=" + north.Remote(), "--wait=sb"}, args...)...)
	}
	for i := range 3 {
		ls, port, lrp := fmt.Sprint("ls", i), fmt.Sprint("p", i), fmt.Sprint("lrp", i)
		ovnnb("--may-exist", "lr-add", "lr", "--", "ls-add", ls, "--", "lsp-add", ls, port,
			"--", "lsp-set-addresses", port, fmt.Sprintf("00:00:00:00:00:%02x 10.0.%d.1 fd00:%d::1", i, i, i),
			"--", "lrp-add", "lr", lrp, fmt.Sprintf("00:00:00:00:01:%02x", i), fmt.Sprintf("10.0.%d.254/24", i), fmt.Sprintf("fd00:%d::ff/64", i),
			"--", "acl-add", ls, "to-lport", "1001", "ip6", "drop",
			"--", "lb-add", fmt.Sprint("lb", i), "[fd00::1]:80", "[fd00:1::2]:80", "--", "ls-lb-add", ls, fmt.Sprint("lb", i))
	}
	ovnnb("lsp-del", "p0", "--", "lr-nat-add", "lr", "snat", "172.16.0.1", "10.0.0.0/16")
	stop()
	for _, s := range []*ovsdbtest.Server{north, south} {
		rows := settled(t, s.DB, s)
		s.Appctl("ovsdb-server/compact", s.DB)
		if compacted := settled(t, s.DB+" compacted", s); compacted != rows || rows < 10 {
			t.Errorf("%s: %d rows, then %d", s.DB, rows, compacted)
		}
		t.Logf("%s: %d rows", s.DB, rows)
	}
}

// TestWholeColumns reads what servers wrote before they recorded differences.
func TestWholeColumns(t *testing.T) {
	dir := ovsdbtest.Dir(t)
	file := filepath.Join(dir, "db")
	ovsdbtest.Run(t, "ovsdb-tool", "create-cluster", file, ovsdbtest.Northbound, "tcp:"+ovsdbtest.Address(t, "::1"))
	s := ovsdbtest.Serve(t, dir, file, "OVN_Northbound", "--disable-file-column-diff")
	waitFor(t, "the server to lead", func() bool { return strings.Contains(s.Appctl("cluster/status", s.DB), "Role: leader") })
	work(s, rand.New(rand.NewPCG(9, 1)), 30)
	if settled(t, "whole columns", s) < 5 {
		t.Error("too little was compared")
	}
	text, err := os.ReadFile(file)
	if err != nil || bytes.Contains(text, []byte("_is_diff")) {
		t.Errorf("the file holds differences (%v)", err)
	}
}

// TestOverwrittenEntries has a leader write what never becomes committed, then
// a new leader write something else in its place.
func TestOverwrittenEntries(t *testing.T) {
	t.Parallel()
	cluster := ovsdbtest.StartCluster(t, ovsdbtest.Northbound, 3)
	old := cluster.Leader()
	old.Transact(`{"op":"insert","table":"Logical_Switch","row":{"name":"kept"}}`)
	old.Appctl("cluster/failure-test", "stop-raft-rpc")
	for range 2 {
		// The leader takes it into its log and waits for the others in vain.
		request := `["` + old.DB + `",{"op":"insert","table":"Logical_Switch","row":{"name":"lost"}}]`
		if err := exec.Command("ovsdb-client", "-t", "1", "transact", old.Remote(), request).Run(); err == nil {
			t.Log("a write was answered though the leader is alone")
		}
	}
	snap := open(t, old.File)
	if got := names(t, snap); len(got) != 1 || got[0] != "kept" {
		t.Errorf("rows %q, want those that are committed", got)
	}
	if n := snap.Notice(); !strings.Contains(n, "beyond the last known commit") || !strings.Contains(n, "left out") {
		t.Errorf("notice %q", n)
	}
	t.Logf("cut off: %s", snap.Notice())

	waitFor(t, "another leader", func() bool {
		for _, m := range cluster.Members {
			if m != old && strings.Contains(m.Appctl("cluster/status", m.DB), "Role: leader") {
				m.Transact(`{"op":"insert","table":"Logical_Switch","row":{"name":"new"}}`)
				return true
			}
		}
		return false
	})
	cluster.Join(old)
	waitFor(t, "the new row", func() bool { return len(names(t, open(t, old.File))) == 2 })
	settled(t, "the old leader", old)
	text, err := os.ReadFile(old.File)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(text, []byte(`"lost"`)) {
		t.Error("the file does not hold the overwritten entries: nothing was tested")
	}
	if n := open(t, old.File).Notice(); n != "" {
		t.Errorf("notice %q", n)
	}
	old.Kill()
	if got := names(t, open(t, old.File)); len(got) != 2 {
		t.Errorf("rows %q", got)
	}
}

// frames returns where the records of a file begin, and its end.
func frames(t testing.TB, text []byte) []int {
	t.Helper()
	var starts []int
	for at := 0; ; {
		starts = append(starts, at)
		if at == len(text) {
			return starts
		}
		line, _, _ := bytes.Cut(text[at:], []byte("\n"))
		var n int
		var magic, sum string
		if _, err := fmt.Sscanf(string(line), "OVSDB %s %d %s", &magic, &n, &sum); err != nil {
			t.Fatalf("byte %d: %q: %v", at, line, err)
		}
		at += len(line) + 1 + n
	}
}

// history runs a cluster of n and returns the file of a member, with the state
// that it had at each index of the log.
func history(t *testing.T, n int) (text []byte, states map[int]state) {
	t.Helper()
	cluster := ovsdbtest.StartCluster(t, ovsdbtest.Northbound, n)
	leader := cluster.Leader()
	m := leader
	if n > 1 {
		m = cluster.Followers()[0]
	}
	r := rand.New(rand.NewPCG(3, uint64(n)))
	work(leader, r, 10)
	waitFor(t, "the member to follow", func() bool { return index(t, m) == index(t, leader) })
	m.Appctl("ovsdb-server/compact", m.DB)
	states = map[int]state{index(t, m): liveState(t, m, open(t, m.File))}
	for i := range 40 {
		switch i {
		case 19:
			leader.Transact(setIDs)
		case 20:
			convert(t, leader)
		default:
			leader.Transact(someWork(r)...)
		}
		waitFor(t, "the member to follow", func() bool { return index(t, m) == index(t, leader) })
		states[index(t, m)] = liveState(t, m, open(t, m.File))
	}
	text, err := os.ReadFile(m.File)
	if err != nil {
		t.Fatal(err)
	}
	return text, states
}

var (
	commitIndex = regexp.MustCompile(`\{"commit_index":(\d+)\}`)
	prevIndex   = regexp.MustCompile(`"prev_index":(\d+)`)
	entryIndex  = regexp.MustCompile(`"index":(\d+)\}`)
)

// stateIndex returns the index of the state that a member with this file has:
// the last one committed, or the last one where it needs no other member.
func stateIndex(text []byte, alone bool) int {
	last := 0
	patterns := []*regexp.Regexp{prevIndex, commitIndex}
	if alone {
		patterns = append(patterns, entryIndex)
	}
	for _, p := range patterns {
		for _, m := range p.FindAllSubmatch(text, -1) {
			n, _ := strconv.Atoi(string(m[1]))
			last = max(last, n)
		}
	}
	return last
}

// TestClusterFileDamage cuts files at every record and anywhere, and flips
// bytes: the rows are those of the state that the server had at that point,
// and damage is reported.
func TestClusterFileDamage(t *testing.T) {
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d members", n), func(t *testing.T) {
			t.Parallel()
			text, states := history(t, n)
			starts := frames(t, text)
			r := rand.New(rand.NewPCG(5, uint64(n)))
			refused, damaged, read, noticed := 0, 0, 0, 0
			try := func(what string, text []byte, whole int, sound bool) {
				t.Helper()
				snap, err := parse(text, (refused+read)%2 == 0)
				if err != nil {
					if whole >= starts[1] {
						t.Errorf("%s: %v", what, err)
					}
					refused++
					return
				}
				if sound != (snap.Damage() == "") {
					t.Errorf("%s: damage %q", what, snap.Damage())
				}
				if snap.Damage() != "" {
					damaged++
				}
				if snap.Notice() != "" {
					noticed++
				}
				at := stateIndex(text[:whole], n == 1)
				want := states[at]
				for want == nil && at > 0 { // entries without data
					at--
					want = states[at]
				}
				if diff := gocmp.Diff(want, fileState(t, snap)); diff != "" {
					t.Errorf("%s: not the state %d (-live +file)\n%s", what, at, diff)
				}
				read++
			}
			// whole returns the length of the sound records before a byte.
			whole := func(at int) int {
				n, found := slices.BinarySearch(starts, at)
				if found {
					return at
				}
				return starts[n-1]
			}
			for _, at := range starts {
				try(fmt.Sprintf("cut after the record that ends at byte %d", at), text[:at], at, true)
			}
			// The snapshot at the beginning is most of the file, but one record.
			anywhere := func() int {
				if r.IntN(5) == 0 {
					return r.IntN(len(text))
				}
				return starts[1] + r.IntN(len(text)-starts[1])
			}
			for range 1000 {
				at := anywhere()
				try(fmt.Sprintf("cut at byte %d", at), text[:at], whole(at), whole(at) == at)
			}
			for range 1000 {
				at := anywhere()
				flipped := bytes.Clone(text)
				flipped[at] ^= 1 << r.IntN(8)
				if strings.EqualFold(string(flipped), string(text)) && at < whole(at)+len("OVSDB CLUSTER 0123456 ")+40 {
					continue // a checksum may be in capitals
				}
				try(fmt.Sprintf("bit flipped in byte %d", at), flipped, whole(at), false)
			}
			t.Logf("%d bytes, %d records, %d states: %d times read, %d with damage reported, %d with entries left out; %d times refused", len(text), len(starts)-1, len(states), read, damaged, noticed, refused)
			if read < 1000 || damaged < 500 {
				t.Error("too little was tried")
			}
		})
	}
}

// raftRecord frames text as a record of a clustered file.
func raftRecord(text string) string {
	text += "\n"
	return fmt.Sprintf("OVSDB CLUSTER %d %x\n%s", len(text), sha1.Sum([]byte(text)), text)
}

// TestJoiningFile refuses the file of a server before it has joined.
func TestJoiningFile(t *testing.T) {
	file := filepath.Join(ovsdbtest.Dir(t), "db")
	ovsdbtest.Run(t, "ovsdb-tool", "join-cluster", file, "OVN_Northbound", "tcp:127.0.0.1:6644", "tcp:127.0.0.1:6643")
	_, err := ovsdb.OpenFile(file)
	if !errors.Is(err, ovsdb.ErrNotJoined) || !strings.Contains(err.Error(), "another member") {
		t.Errorf("error %v", err)
	}
}

// TestLeftCluster reads the file of a server that is a member no more.
func TestLeftCluster(t *testing.T) {
	t.Parallel()
	cluster := ovsdbtest.StartCluster(t, ovsdbtest.Northbound, 3)
	cluster.Leader().Transact(`{"op":"insert","table":"Logical_Switch","row":{"name":"a"}}`)
	gone := cluster.Followers()[0]
	gone.Appctl("cluster/leave", gone.DB)
	var notice string
	waitFor(t, "the member to leave", func() bool { notice = open(t, gone.File).Notice(); return strings.Contains(notice, "left its cluster") })
	if got := names(t, open(t, gone.File)); len(got) != 1 {
		t.Errorf("rows %q", got)
	}
}
