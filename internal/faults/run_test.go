//go:build lab

package faults

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/internal/turn"
	"github.com/ovnctl/ovnctl/pkg/doctor"
)

// A stage is a lab with the faults that are made on it, one after the other.
type stage struct {
	name     string // of the topic
	topology lab.Topology
	options  lab.Options
	prepare  func(*scene) // what the lab is before any fault; nil: as it comes
	faults   []fault
}

// program is ovnctl as it is built from this tree.
var program string

func TestMain(m *testing.M) {
	if program = os.Getenv("OVNCTL_PROGRAM"); program != "" { // built elsewhere: a machine of package machine has no Go
		os.Exit(m.Run())
	}
	dir, err := os.MkdirTemp("", "ovnctl-faults-")
	if err != nil {
		panic(err)
	}
	program = filepath.Join(dir, "ovnctl")
	build := exec.Command("go", append([]string{"build", "-buildvcs=false", "-o", program}, append(buildFlags, "../../cmd/ovnctl")...)...)
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build ovnctl: %v: %s\n", err, out)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// TestFaults makes each fault for real: doctor finds it and nothing else that it does not explain, the repair mends
// it, packets flow again, a second run finds nothing, and what can be undone is undone to equal values.
//
// Each run makes a third of the faults: run N makes every third one, starting with the N-th, so that three runs in a row make
// all. OVNCTL_TURN is N, which is printed; OVNCTL_FAULTS=all makes all.
func TestFaults(t *testing.T) {
	makes := turn.Takes(t, 3)
	for number, st := range stages() {
		t.Run(st.name, func(t *testing.T) {
			t.Parallel() // labs do not know of each other, and most of the time is waiting
			l := labtest.Own(t, st.topology, st.options)
			if st.prepare != nil {
				st.prepare(&scene{T: t, Lab: l, ctx: t.Context()})
			}
			for i := range st.faults {
				f := &st.faults[i]
				if !makes(number + i) {
					continue
				}
				if !t.Run(f.title(), func(t *testing.T) { f.play(t, l) }) { // what it left behind is not the next one's
					l = labtest.Own(t, st.topology, st.options)
				}
			}
		})
	}
}

// drawOf draws for one fault, whatever other faults are run: the seed alone repeats its cases.
func drawOf(seed uint64, fault string) *rand.Rand {
	h := fnv.New64a()
	_, _ = io.WriteString(h, fault)
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// possible skips a fault that cannot be made on this machine.
func (s *scene) possible() {
	if s.fault.userspace && s.Datapath != "netdev" {
		s.Skip("the kernel's datapath has no such thing")
	}
	if !s.fault.twoReleases {
		return
	}
	if _, err := lab.Installed(s.ctx, otherRelease); err != nil || s.Release.Root != "" {
		s.Skipf("needs the release %s beside that of the lab: %v", otherRelease, err)
	}
}

// otherRelease is the second one, of a fault that takes two.
const otherRelease = "trixie"

// title is the fault's name in the tests.
func (f *fault) title() string {
	if f.name == "" {
		return f.check
	}
	return f.check + "/" + f.name
}

// play is the whole life of a fault on a lab.
func (f *fault) play(t *testing.T, l *lab.Lab) {
	ctx, cancel := context.WithTimeout(t.Context(), lab.Allow(4*time.Minute))
	defer cancel()
	s := &scene{T: t, Lab: l, ctx: ctx, fault: f, repair: f.repair}
	s.possible()
	s.forgetElections() // earlier faults made them
	s.healthy("before the fault")
	made := false
	defer func() { // one that fails leaves the lab to the next as it found it
		if made && s.Failed() {
			s.clear()
		}
	}()
	made = true
	f.make(s)
	s.found(f.check)
	for _, p := range f.lost {
		s.until(p.String()+" is lost", func() bool { return !s.flows(p) })
	}
	if s.repair == nil {
		f.mend(s)
		s.verifyFixed()
		return
	}
	broken := s.state()
	code, out := s.ovnctl(append([]string{"fix"}, append(s.repair, "--yes", "--max-risk", "high")...)...)
	if code != 0 {
		s.Fatalf("fix %s: exit %d:\n%s", strings.Join(s.repair, " "), code, out)
	}
	s.verifyFixed()
	if s.oneWay() {
		if code, _ := s.ovnctl("fix", "undo", "--yes"); code != 4 {
			s.Errorf("undo of what cannot be undone: exit %d, want 4", code)
		}
		if f.mend != nil {
			f.mend(s)
		}
		return
	}
	if code, out := s.ovnctl("fix", "undo", "--yes"); code != 0 {
		s.Fatalf("undo: exit %d:\n%s", code, out)
	}
	s.found(cmp.Or(f.undone, f.check))
	s.same("after undo", broken)
	if f.mend != nil {
		f.mend(s)
	} else if code, out := s.ovnctl(append([]string{"fix"}, append(s.repair, "--yes", "--max-risk", "high")...)...); code != 0 {
		s.Fatalf("fix again: exit %d:\n%s", code, out)
	}
	s.verifyFixed()
}

// forgetElections empties the logs of a cluster's servers: the elections that a fault and its repair make are no fault that is left.
func (s *scene) forgetElections() {
	s.Helper()
	if len(s.Centrals()) > 1 {
		s.forget("ovsdb-server-*.log")
	}
}

// forget empties logs of OVN on all hosts: what they tell counts for minutes or days.
func (s *scene) forget(name string) {
	s.Helper()
	logs, err := filepath.Glob(filepath.Join(s.Dir, "*/var/log/*", name))
	if err != nil {
		s.Fatal(err)
	}
	for _, log := range logs {
		if err := os.Truncate(log, 0); err != nil {
			s.Fatal(err)
		}
	}
}

// clear takes back a fault that was not fixed, as far as it can.
func (s *scene) clear() {
	if s.fault.mend != nil {
		s.fault.mend(s)
	} else if s.repair != nil {
		s.ovnctl(append([]string{"fix"}, append(s.repair, "--yes", "--max-risk", "high")...)...)
	}
}

// verifyFixed waits until packets flow and doctor finds nothing.
func (s *scene) verifyFixed() {
	s.Helper()
	for _, p := range s.fault.lost {
		s.until(p.String()+" flows again", func() bool { return s.flows(p) })
	}
	if !s.fault.elections {
		s.forgetElections()
	}
	s.healthy("after the repair")
}

// oneWay says whether the journal's last run cannot be undone.
func (s *scene) oneWay() bool {
	r := repairNamed(s.repair[0])
	if r == nil {
		s.Fatalf("there is no repair %q", s.repair[0])
	}
	return r.OneWay != ""
}

// healthy is that doctor finds nothing; what has just been changed may take a moment to be everywhere.
func (s *scene) healthy(when string) {
	s.Helper()
	var last doctor.Report
	deadline := time.Now().Add(s.Allow(30 * time.Second))
	for {
		last = s.examine(s.fault.args...)
		if !last.Worst().Fault() {
			return
		}
		if time.Now().After(deadline) {
			s.Fatalf("%s: doctor finds on a healthy lab:\n%s", when, text(last))
		}
		time.Sleep(300 * time.Millisecond)
	}
}

// found is that a check of doctor finds the fault, and nothing else that the fault does not explain.
func (s *scene) found(check string) {
	s.Helper()
	var problem string
	var last doctor.Report
	deadline := time.Now().Add(s.Allow(40 * time.Second))
	for {
		last = s.examine(s.fault.args...)
		if problem = s.missing(check, last); problem == "" {
			return
		}
		if time.Now().After(deadline) {
			s.Fatalf("%s:\n%s", problem, text(last))
		}
		time.Sleep(300 * time.Millisecond)
	}
}

// missing says what is wrong with a report of the fault, which a check finds; empty: nothing.
func (s *scene) missing(check string, r doctor.Report) string {
	f := s.fault
	want := f.result
	if want == "" {
		want = doctor.Error
	}
	found := false
	for _, top := range r.Findings {
		switch {
		case !top.Result.Fault():
		case top.Check == check, top.Check == f.kernel && s.Datapath != "netdev":
			if top.Result == want && strings.Contains(top.Object.String(), f.object) {
				found = true
				if s.repair != nil && top.Fix != nil && top.Fix.Repair != s.repair[0] {
					return fmt.Sprintf("the finding proposes %s, want %s", top.Fix.Repair, s.repair[0])
				}
				if s.repair != nil && top.Fix == nil {
					return "the finding proposes no repair"
				}
			}
		case f.also[top.Check] == "" && top.Result == doctor.Error:
			return fmt.Sprintf("%s is found beside it, and Causes does not explain it", top.Check)
		}
	}
	if !found {
		return fmt.Sprintf("%s %s is not found", want, check)
	}
	return ""
}

// examine runs doctor on the fault's host.
func (s *scene) examine(args ...string) doctor.Report {
	s.Helper()
	code, out := s.ovnctl(append([]string{"doctor", "-o", "json"}, args...)...)
	var doc struct {
		doctor.Report
		Error string
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code == 2 || code == 4 {
		s.Fatalf("doctor: exit %d, %v:\n%s", code, err, out)
	}
	if (code == 1) != doc.Worst().AtLeast(doctor.Error) {
		s.Errorf("doctor: exit %d with a worst result of %s", code, doc.Worst())
	}
	uniqueIDs(s, doc.Findings, map[doctor.ID]bool{})
	return doc.Report
}

// uniqueIDs fails the test if two faults in a report have the same identity.
func uniqueIDs(t testing.TB, findings []doctor.Finding, seen map[doctor.ID]bool) {
	t.Helper()
	for i := range findings {
		f := &findings[i]
		if f.Result.Fault() && seen[f.ID()] {
			t.Errorf("two findings are %+v: %s", f.ID(), f.Title)
		}
		seen[f.ID()] = true
		uniqueIDs(t, f.Consequences, seen)
	}
}

// ovnctl runs the program on the fault's host and returns its exit code and output.
func (s *scene) ovnctl(args ...string) (int, string) {
	s.Helper()
	host := s.fault.on
	args = s.flags(args...)
	cmd := s.Program(s.ctx, host, slices.Concat([]string{cmp.Or(s.binary, program)}, args, s.Flags())...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.Fatal(err)
	}
	if strings.Contains(errs.String(), "panic:") {
		s.Fatalf("%s", errs.String())
	}
	if args[0] == "fix" {
		return cmd.ProcessState.ExitCode(), out.String() + errs.String()
	}
	return cmd.ProcessState.ExitCode(), out.String()
}

// flags are the arguments of ovnctl on the fault's host, with where everything is.
func (s *scene) flags(args ...string) []string {
	host := s.fault.on
	flags := []string{"--host-root", filepath.Join(s.Dir, host)}
	if args[0] == "fix" {
		flags = append(flags, "--state-dir", filepath.Join(s.Dir, host, "var/lib/ovnctl"))
	}
	if s.Topology.OVN {
		flags = append(flags, "--nb", s.NB(), "--sb", s.SB())
	}
	if s.TLS {
		key, cert, ca := s.Keys("client")
		flags = append(flags, "-p", key, "-c", cert, "-C", ca)
	}
	if s.fault.patience != "" {
		flags = append(flags, "--timeout", s.fault.patience)
	}
	return slices.Concat(args[:1], flags, args[1:]) // what the caller says wins
}

// text is a report as a person reads it.
func text(r doctor.Report) string {
	var b strings.Builder
	var show func([]doctor.Finding, string)
	show = func(fs []doctor.Finding, indent string) {
		for _, f := range fs {
			if f.Result == doctor.Skipped {
				continue
			}
			fmt.Fprintf(&b, "%s%s %s [%s]: %s\n", indent, f.Result, f.Check, f.Object, f.Title)
			for _, e := range f.Evidence {
				fmt.Fprintf(&b, "%s    %s: %s\n", indent, e.Source, e.Says)
			}
			show(f.Consequences, indent+"  ")
		}
	}
	show(r.Findings, "  ")
	return b.String()
}

// volatile are columns that change by themselves.
var volatile = map[string][]string{
	"NB_Global": {"nb_cfg", "nb_cfg_timestamp", "sb_cfg", "sb_cfg_timestamp", "hv_cfg", "hv_cfg_timestamp"}, "SB_Global": {"nb_cfg"},
	"Chassis_Private": {"nb_cfg", "nb_cfg_timestamp"}, "Chassis": {"nb_cfg"}, "MAC_Binding": {"timestamp"}, "FDB": {"timestamp"},
	"Interface": {"statistics", "status", "bfd_status", "link_resets", "ifindex", "mac_in_use", "ofport", "admin_state", "link_state", "link_speed", "duplex", "mtu", "error"},
	"Port":      {"statistics", "status"}, "Bridge": {"status", "datapath_id"}, "Open_vSwitch": {"next_cfg", "cur_cfg", "statistics"},
	"Connection": {"status", "is_connected"}, "Manager": {"status", "is_connected"}, "BFD": {"status"}, "Logical_Switch_Port": {"up"}, "Port_Binding": {"up"},
}

// byController are keys of external_ids that ovn-controller writes when it has done something.
var byController = regexp.MustCompile(`,?\["(ovn-installed|ovn-installed-ts|ovn-nb-cfg|ovn-nb-cfg-ts|ovn-startup-ts|ct-zone-[^"]*)","[^"]*"\]`)

// state is all that a repair may change on the fault's host and in the databases: rows but for what changes by itself,
// links, addresses, routes and rules of both families, files below the host's root with their mode and owner.
func (s *scene) state() map[string]string {
	s.Helper()
	out := map[string]string{}
	for db, remote := range map[string]string{"OVN_Northbound": s.nbOf(), "Open_vSwitch": s.ovsOf()} {
		if remote != "" {
			s.rows(out, db, remote)
		}
	}
	nameControllersPorts(out)
	if s.Topology.OVN {
		s.southbound(out)
	}
	questions := []string{"-4 addr", "-6 addr", "-4 route show table all", "-6 route show table all", "-4 rule", "-6 rule"}
	text, err := s.Lab.Run(s.ctx, s.fault.on, append([]string{"sh", "-ec", `for q; do ip $q; printf '\001'; done`, "sh"}, questions...)...)
	if err != nil {
		s.Fatal(err)
	}
	answers := strings.Split(text, "\x01")
	for i, q := range questions {
		out["ip "+q] = sortedLines(answers[i])
	}
	s.files(out)
	for _, beginning := range s.fault.restless {
		maps.DeleteFunc(out, func(key, _ string) bool { return strings.HasPrefix(key, beginning) })
	}
	return out
}

func (s *scene) nbOf() string {
	if !s.Topology.OVN {
		return ""
	}
	return s.NB()
}

func (s *scene) ovsOf() string {
	if slices.Contains(s.Centrals(), s.fault.on) {
		return ""
	}
	return "unix:" + filepath.Join(s.Dir, s.fault.on, "run/openvswitch/db.sock")
}

func (s *scene) rows(out map[string]string, db, remote string) {
	s.Helper()
	text, err := s.Lab.Run(s.ctx, s.fault.on, s.databaseClient("dump", "-f", "json", remote, db)...)
	if err != nil {
		out[db] = "cannot be read"
		return
	}
	for line := range strings.Lines(text) {
		var table struct {
			Headings []string
			Data     [][]json.RawMessage
			Caption  string
		}
		if err := json.Unmarshal([]byte(line), &table); err != nil {
			s.Fatal(err)
		}
		name := strings.TrimSuffix(table.Caption, " table")
		for _, row := range table.Data {
			key, words := "", []string{}
			for i, column := range table.Headings {
				if column == "_uuid" {
					key = string(row[i])
				}
				if !slices.Contains(volatile[name], column) && column != "_version" {
					words = append(words, column+"="+string(row[i]))
				}
			}
			out[db+" "+name+" "+key] = byController.ReplaceAllString(strings.Join(words, " "), "")
		}
	}
}

func (s *scene) files(out map[string]string) {
	s.Helper()
	root := filepath.Join(s.Dir, s.fault.on)
	for _, dir := range []string{"etc/default", "etc/sysconfig", "etc/modules-load.d", "etc/openvswitch/system-id.conf", "etc/netplan", "etc/network", "etc/systemd"} {
		_ = filepath.WalkDir(filepath.Join(root, dir), func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil
			}
			info, err := d.Info()
			if err != nil {
				return nil
			}
			b, err := os.ReadFile(path)
			if to, none := os.Readlink(path); none == nil {
				b, err = []byte("link to "+to), nil
			}
			if err != nil {
				return nil
			}
			out["file "+strings.TrimPrefix(path, root)] = fmt.Sprintf("%s %s", info.Mode(), b)
			return nil
		})
	}
}

// same compares the state with an earlier one.
func (s *scene) same(when string, want map[string]string) {
	s.Helper()
	var problems []string
	deadline := time.Now().Add(s.Allow(10 * time.Second))
	for {
		if problems = differences(want, s.state()); len(problems) == 0 {
			return
		}
		if time.Now().After(deadline) {
			s.Errorf("%s the state is another:\n%s", when, strings.Join(problems, "\n"))
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
}

func differences(want, got map[string]string) []string {
	var out []string
	for key, w := range want {
		if g, ok := got[key]; !ok {
			out = append(out, "gone: "+key+": "+w)
		} else if g != w {
			out = append(out, fmt.Sprintf("changed: %s:\n    was %s\n    is  %s", key, w, g))
		}
	}
	for key, g := range got {
		if _, ok := want[key]; !ok && !strings.HasPrefix(key, learned) {
			out = append(out, "new: "+key+": "+g)
		}
	}
	slices.Sort(out)
	return out
}

// sortedLines is what ip prints, without what changes by itself: indexes of links come first, lifetimes count down.
func sortedLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, l := range lines {
		if at := strings.Index(l, "expires"); at >= 0 {
			lines[i] = l[:at]
		}
	}
	return strings.Join(lines, "\n")
}
