//go:build lab

package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/internal/turn"
)

// An intrusion is what somebody else does on the host or in a database after a repair, and how it is taken back.
type intrusion struct {
	what        string
	make, clear func()
	there       func() bool
}

// TestUndo carries out every reversible repair, has somebody else change something next to it or what it wrote, and undoes
// the repair: either the state is that from before the repair with the other change still in it, or undo refuses and the
// state is as it was.
//
// Each run makes a tenth of the faults; OVNCTL_FAULTS=all makes all, OVNCTL_SEED repeats a run.
func TestUndo(t *testing.T) {
	all := os.Getenv("OVNCTL_FAULTS") == "all"
	seed := turn.Seed(t)
	for _, st := range stages() {
		t.Run(st.name, func(t *testing.T) {
			t.Parallel()
			var l *lab.Lab
			for i := range st.faults {
				f := &st.faults[i]
				draw := drawOf(seed, "undo "+st.name+"/"+f.title())
				if !all && (!everyRun(st.name+"/"+f.title()) || draw.IntN(10) > 0) {
					continue
				}
				if l == nil {
					l = labtest.Own(t, st.topology, st.options)
					s := &scene{T: t, Lab: l, ctx: t.Context()}
					if st.prepare != nil {
						st.prepare(s)
					}
					s.grown()
				}
				whole := t.Run(f.title(), func(t *testing.T) {
					ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
					defer cancel()
					m := &matrix{scene: &scene{T: t, Lab: l, ctx: ctx, fault: f, repair: f.repair}}
					m.intrude()
				})
				if !whole {
					l = nil
				}
			}
		})
	}
}

// intrude makes the fault and tries each intrusion.
func (m *matrix) intrude() {
	if m.fault.like != "" {
		m.Skip("the same repair as of " + m.fault.like)
	}
	m.possible()
	m.fault.make(m.scene)
	if m.repair == nil {
		m.fault.mend(m.scene)
		m.Skip("advice only")
	}
	defer m.end()
	if m.oneWay() {
		m.Skip("cannot be undone")
	}
	m.there()
	m.before = m.settled()
	m.says(0, "FIXED", m.command()...)
	several := len(m.intrusions(m.settled())) // while what the repair wrote is there
	m.says(0, "UNDONE", undo...)
	for i := range several {
		m.there()
		m.says(0, "FIXED", m.command()...)
		now := m.intrusions(m.settled()) // a new row has another UUID each time
		if i >= len(now) {
			m.Fatalf("the repair once changed %d kinds of things, and now %d", i+1, len(now))
		}
		x := now[i]
		x.make()
		m.undoBeside(x)
		if m.Failed() {
			return
		}
	}
}

// undoBeside undoes the repair beside an intrusion.
func (m *matrix) undoBeside(x intrusion) {
	m.Helper()
	beside := m.settled()
	code, out := m.ovnctl(undo...)
	switch code {
	case 0:
		m.Logf("%s: undone beside it", x.what)
		if !x.there() {
			m.Errorf("%s: undo took it along and said:\n%s", x.what, out)
		}
		x.clear()
	case 4:
		m.Logf("%s: refused: %s", x.what, strings.TrimSpace(out))
		if left := m.within(differencesTo(beside)); len(left) > 0 {
			m.Errorf("%s: undo refused and changed:\n%s\n%s", x.what, strings.Join(left, "\n"), out)
		}
		x.clear()
		m.says(0, "UNDONE", undo...)
	default:
		m.Errorf("%s: exit %d:\n%s", x.what, code, out)
	}
	if left := m.within(differencesTo(m.before)); len(left) > 0 {
		m.Errorf("%s: after undo and without it:\n%s", x.what, strings.Join(left, "\n"))
	}
}

// intrusions are the changes next to what the repair changes: in its rows, on its links, in its files.
func (m *matrix) intrusions(fixed map[string]string) (all []intrusion) {
	m.Helper()
	kinds := map[string]bool{}
	for _, key := range changedKeys(m.before, fixed) {
		if strings.HasPrefix(key, controllers) {
			continue // what others write there goes with the port, whoever changes what it follows from
		}
		words := strings.Fields(key)
		kind := words[0]
		if len(words) > 1 && words[0] != "file" {
			kind += words[1]
		}
		if words[0] == "ip" {
			kind = "ip"
		}
		if kinds[kind] {
			continue
		}
		kinds[kind] = true
		switch {
		case words[0] == "file":
			all = append(all, m.anotherLine(words[1]))
			all = append(all, m.changedLine(words[1], m.before[key])...)
		case words[0] == "ip":
			all = append(all, m.anotherAddress(fixed)...)
		case fixed[key] != "" && strings.Contains(fixed[key], "external_ids="):
			all = append(all, m.anotherKey(words[0], words[1], key))
			all = append(all, m.changedKey(words[0], words[1], key, m.before[key], fixed[key])...)
		}
	}
	return all
}

// changedKeys are the keys of the state that a repair has added or changed.
func changedKeys(before, after map[string]string) (keys []string) {
	for key, value := range after {
		if before[key] != value {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// editing reads and writes a file of the fault's host.
func (m *matrix) editing(file string) (read func() string, write func(string)) {
	path := filepath.Join(m.Dir, m.fault.on, file)
	read = func() string {
		text, err := os.ReadFile(path)
		if err != nil {
			m.Fatal(err)
		}
		return string(text)
	}
	write = func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			m.Fatal(err)
		}
	}
	return read, write
}

// changedLine is another end of the first line that the repair wrote into a file.
func (m *matrix) changedLine(file, before string) []intrusion {
	read, write := m.editing(file)
	for line := range strings.Lines(read()) {
		line = strings.TrimSpace(line)
		if line == "" || strings.Contains(before, line) {
			continue
		}
		other := line + " # somebody else"
		return []intrusion{{
			what: "another end of a line in " + file, there: func() bool { return strings.Contains(read(), other) },
			make: func() { write(strings.Replace(read(), line, other, 1)) }, clear: func() { write(strings.Replace(read(), other, line, 1)) },
		}}
	}
	return nil
}

func (m *matrix) anotherLine(file string) intrusion {
	const line = "# somebody else\n"
	read, write := m.editing(file)
	return intrusion{
		what: "a line in " + file, there: func() bool { return strings.Contains(read(), line) },
		make: func() { write(read() + line) }, clear: func() { write(strings.Replace(read(), line, "", 1)) },
	}
}

// rowOf returns the UUID in a key of the state.
func rowOf(key string) string { return strings.TrimSuffix(key[strings.LastIndex(key, `","`)+3:], `"]`) }

// row runs a command of the C tool for a database.
func (m *matrix) row(db, command string) string {
	tool := map[string]string{"OVN_Northbound": "ovn-nbctl --db=" + m.nbOf(), "OVN_Southbound": "ovn-sbctl --db=" + m.SB(), "Open_vSwitch": "ovs-vsctl --no-wait --db=" + m.ovsOf()}[db]
	if m.TLS {
		private, cert, ca := m.Keys("client")
		tool += fmt.Sprintf(" -p %s -c %s -C %s", private, cert, ca)
	}
	return m.sh(m.fault.on, "%s %s", tool, command)
}

// mapColumn is a column of a row of the state whose value is a map.
var mapColumn = regexp.MustCompile(`(?:^| )([a-z_]+)=(\["map",\[.*?\]\]\])`)

// mapsOf returns the maps of a row of the state, by column.
func mapsOf(row string) map[string]map[string]string {
	out := map[string]map[string]string{}
	for _, at := range mapColumn.FindAllStringSubmatch(row, -1) {
		var value []json.RawMessage
		var pairs [][2]string
		if json.Unmarshal([]byte(at[2]), &value) != nil || len(value) != 2 || json.Unmarshal(value[1], &pairs) != nil {
			continue
		}
		out[at[1]] = map[string]string{}
		for _, p := range pairs {
			out[at[1]][p[0]] = p[1]
		}
	}
	return out
}

// changedKey is another value of a key that the repair wrote into a row that was there before.
func (m *matrix) changedKey(db, table, key, before, fixed string) []intrusion {
	if before == "" {
		return nil
	}
	id, was, is := rowOf(key), mapsOf(before), mapsOf(fixed)
	for _, column := range slices.Sorted(maps.Keys(is)) {
		for _, name := range slices.Sorted(maps.Keys(is[column])) {
			value := is[column][name]
			if old, ok := was[column][name]; ok && old == value {
				continue
			}
			set := func(value string) { m.row(db, fmt.Sprintf(`set %s %s '%s:"%s"="%s"'`, table, id, column, name, value)) }
			return []intrusion{{
				what: "another value of " + name + " in " + column + " of " + table,
				make: func() { set("somebody-else") },
				there: func() bool {
					return strings.Contains(m.row(db, "--if-exists get "+table+" "+id+" "+column), "somebody-else")
				},
				clear: func() { set(value) },
			}}
		}
	}
	return nil
}

// anotherKey is a key in the external_ids of a row.
func (m *matrix) anotherKey(db, table, key string) intrusion {
	id := rowOf(key)
	run := func(command string) string { return m.row(db, command) }
	return intrusion{
		what:  "a key in external_ids of " + table,
		make:  func() { run("set " + table + " " + id + " external_ids:somebody=else") },
		there: func() bool { return strings.Contains(run("--if-exists get "+table+" "+id+" external_ids"), "somebody") },
		clear: func() { run("--if-exists remove " + table + " " + id + " external_ids somebody") },
	}
}

// anotherAddress is a second address in the network that the repair gives to a link, one of another network, and a
// route over a neighbour.
func (m *matrix) anotherAddress(fixed map[string]string) (all []intrusion) {
	m.Helper()
	var given []string
	for line := range strings.Lines(fixed["ip -4 addr"]) {
		if f := strings.Fields(line); len(f) > 3 && f[0] == "inet" && !strings.Contains(m.before["ip -4 addr"], strings.TrimSpace(line)) {
			given = f
			break
		}
	}
	if given == nil {
		return nil
	}
	link := given[len(given)-1]
	network, length, _ := strings.Cut(given[1], "/")
	near := network[:strings.LastIndex(network, ".")]
	add := func(what, family, words string) {
		verb, noun, _ := strings.Cut(words, " ")
		all = append(all, intrusion{
			what: what, make: func() { m.sh(m.fault.on, "ip %s %s add %s dev %s", family, verb, noun, link) },
			there: func() bool {
				return strings.Contains(m.sh(m.fault.on, "ip %s %s show; ip %s route show", family, verb, family), strings.Fields(noun)[0])
			},
			clear: func() { m.sh(m.fault.on, "ip %s %s del %s dev %s", family, verb, noun, link) },
		})
	}
	add("a secondary address", "-4", fmt.Sprintf("addr %s.77/%s", near, length))
	add("an address of another network", "-4", "addr 198.51.100.7/24")
	add("a route over a neighbour", "-4", fmt.Sprintf("route 198.51.100.0/24 via %s.1", near))
	return all
}
