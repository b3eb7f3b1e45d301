//go:build lab

package ovsdb_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
)

// TestLabFiles reads the files of all databases of a lab, and compares all rows with what their servers serve.
func TestLabFiles(t *testing.T) {
	for _, members := range []int{0, 3} {
		t.Run(fmt.Sprintf("%d members", members), func(t *testing.T) {
			labFiles(t, lab.OVNKubernetes(), lab.Options{Cluster: members})
		})
	}
}

// A servedFile is a database of a lab: where it is served, and in which file it lies.
type servedFile struct{ host, db, run, socket, control, file string }

func servedFiles(l *lab.Lab) []servedFile {
	var all []servedFile
	for _, host := range l.Centrals() {
		for db, short := range map[string]string{"OVN_Northbound": "nb", "OVN_Southbound": "sb"} {
			run := filepath.Join(l.Dir, host, "run/ovn")
			name := "ovn" + short + "_db"
			all = append(all, servedFile{host, db, run, name + ".sock", name + ".ctl", filepath.Join(l.Dir, host, "var/lib/ovn", name+".db")})
		}
	}
	for _, n := range l.Topology.Nodes {
		run := filepath.Join(l.Dir, n.Name, "run/openvswitch")
		all = append(all, servedFile{n.Name, "Open_vSwitch", run, "db.sock", "ovsdb-server.*.ctl", filepath.Join(l.Dir, n.Name, "etc/openvswitch/conf.db")})
	}
	slices.SortFunc(all, func(a, b servedFile) int { return strings.Compare(a.file, b.file) })
	return all
}

func labFiles(t *testing.T, topology lab.Topology, o lab.Options) {
	l := labtest.Own(t, topology, o)
	files, rows := 0, 0
	check := func(what string) {
		t.Helper()
		for _, f := range servedFiles(l) {
			files++
			rows += f.compare(t, l, what)
		}
	}
	check("as the lab came up")
	damage := func(what string) {
		for _, f := range servedFiles(l) {
			if o.Cluster == 0 && o.Release == "" && (f.host == "central" || f.host == topology.Nodes[0].Name) {
				t.Run(f.db+" "+what, func(t *testing.T) { damagedFile(t, f) })
			}
		}
	}
	damage("grown")
	for _, f := range servedFiles(l) {
		controls, err := filepath.Glob(filepath.Join(f.run, f.control))
		if err != nil || len(controls) != 1 {
			t.Fatalf("%s on %s: control sockets %v, %v", f.db, f.host, controls, err)
		}
		f.do(t, l, "ovs-appctl", "-t", controls[0], "ovsdb-server/compact", f.db)
	}
	check("compacted")
	if _, err := l.Run(t.Context(), "central", "ovn-nbctl", "--timeout=30", "--wait=sb", "ls-add", "more", "--", "lsp-add", "more", "more-1", "--", "lsp-set-addresses", "more-1", "unknown"); err != nil {
		t.Fatal(err)
	}
	check("written to after compaction")
	t.Logf("%d files, %d rows compared", files, rows)
	if rows < 100*files {
		t.Error("too little was compared")
	}
	damage("compacted")
}

func (f servedFile) do(t *testing.T, l *lab.Lab, args ...string) string {
	t.Helper()
	out, err := l.Run(t.Context(), f.host, args...)
	if err != nil {
		t.Fatalf("%s on %s: %v", f.db, f.host, err)
	}
	return out
}

// compare compares the file with what is served, as soon as it stands still, and returns the number of rows.
func (f servedFile) compare(t *testing.T, l *lab.Lab, what string) int {
	t.Helper()
	var diff string
	for range 50 {
		snap := open(t, f.file)
		text := f.do(t, l, "ovsdb-client", "dump", "-f", "json", "unix:"+filepath.Join(f.run, f.socket), f.db)
		dump, err := ovsdb.ParseDump(f.db, "dump", strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		live, err := dump.State(func(table, column string) bool { return !snap.Has(table, column) })
		if err != nil {
			t.Fatal(err)
		}
		got := fileState(t, snap)
		if diff = gocmp.Diff(state(live), got); diff == "" {
			return len(got)
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("%s: %s on %s: (-served +file)\n%s", what, f.db, f.host, diff)
	return 0
}

// damagedFile cuts a standalone file at every record and anywhere, and flips bits: what is read are the rows of
// the sound records before, which a server that is given those serves, and damage is reported.
func damagedFile(t *testing.T, f servedFile) {
	text, err := os.ReadFile(f.file)
	if err != nil {
		t.Fatal(err)
	}
	starts := frames(t, text)
	states := make([]state, len(starts))
	for i := 1; i < len(starts); i++ {
		snap, err := parse(text[:starts[i]], i%2 == 0)
		if err != nil || snap.Damage() != "" {
			t.Fatalf("cut after record %d: %v, damage %q", i, err, snap.Damage())
		}
		states[i] = fileState(t, snap)
	}
	r := rand.New(rand.NewPCG(7, uint64(len(text))))
	for _, i := range []int{1, 2, 1 + r.IntN(len(starts)-1), len(starts) - 1} {
		if i >= len(starts) {
			continue
		}
		dir := ovsdbtest.Dir(t)
		file := filepath.Join(dir, "cut.db")
		if err := os.WriteFile(file, text[:starts[i]], 0o600); err != nil {
			t.Fatal(err)
		}
		s := ovsdbtest.Serve(t, dir, file, f.db)
		if diff := gocmp.Diff(liveState(t, s, open(t, file)), states[i]); diff != "" {
			t.Errorf("cut after record %d of %d: (-served +file)\n%s", i, len(starts)-1, diff)
		}
	}
	refused, read := 0, 0
	try := func(what string, damaged []byte, at int, sound bool) {
		t.Helper()
		i, found := slices.BinarySearch(starts, at)
		if !found {
			i--
		}
		snap, err := parse(damaged, at%2 == 0)
		if err != nil {
			refused++
			if i >= 1 && len(states[i]) > 0 { // a schema without rows is no answer
				t.Errorf("%s: %v", what, err)
			}
			return
		}
		read++
		if sound != (snap.Damage() == "") {
			t.Errorf("%s: damage %q", what, snap.Damage())
		}
		if diff := gocmp.Diff(states[i], fileState(t, snap)); diff != "" {
			t.Errorf("%s: not the rows of the %d records before: %s", what, i, diff)
		}
	}
	for range 1000 {
		at := r.IntN(len(text))
		try(fmt.Sprintf("cut at byte %d", at), text[:at], at, slices.Contains(starts, at))
		at = r.IntN(len(text))
		flipped := bytes.Clone(text)
		flipped[at] ^= 1 << r.IntN(8)
		if bytes.EqualFold(flipped, text) { // a checksum may be in capitals
			continue
		}
		try(fmt.Sprintf("bit flipped in byte %d", at), flipped, at, false)
	}
	t.Logf("%d bytes, %d records: %d times read, %d times refused", len(text), len(starts)-1, read, refused)
}
