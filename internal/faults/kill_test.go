//go:build lab

package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
	"github.com/ovnctl/ovnctl/internal/turn"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
)

// killable is ovnctl with failpoints in it.
var killable = sync.OnceValues(func() (string, error) {
	path := program + "-failpoints"
	build := exec.Command("go", "build", "-buildvcs=false", "-tags", "failpoints", "-o", path, "../../cmd/ovnctl")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

// kills counts the cases.
var kills atomic.Int64

// TestKill cuts every repair of the catalogue off at every point: the process is killed before and after each
// step, write and sync of the journal, lock and check, and so is its undo; the database connection is cut in mid-transaction, with
// half of the request sent and with the reply lost; the disk is full, the file cannot be written. After the next run
// the host and the databases are as they were before, or the fault is gone and can be undone to what was before:
// no row, address, route, rule or line of a file is lost.
//
// A part of the cases is drawn by a seed that is printed; OVNCTL_KILLS=all takes all, OVNCTL_SEED repeats. Of the repairs whose
// cases take minutes, one takes its turn in each run, with a few of them: OVNCTL_TURN is its number.
func TestKill(t *testing.T) {
	binary, err := killable()
	if err != nil {
		t.Fatal(err)
	}
	all := os.Getenv("OVNCTL_KILLS") == "all"
	seed, slowOne := turn.Seed(t), ""
	if !all {
		slow := slowToKill()
		takesTurn := turn.Takes(t, len(slow))
		slowOne = slow[slices.IndexFunc(slow, func(fault string) bool { return takesTurn(slices.Index(slow, fault)) })]
		t.Logf("the turn is that of %s", slowOne)
	}
	t.Cleanup(func() { // after all stages
		if !t.Failed() {
			t.Logf("%d cases, none of which lost anything", kills.Load())
		}
	})
	for _, st := range stages() {
		t.Run(st.name, func(t *testing.T) {
			t.Parallel()
			var l *lab.Lab
			undone := map[string]bool{}
			for i := range st.faults {
				f := &st.faults[i]
				title := st.name + "/" + f.title()
				draw, part := drawOf(seed, title), 0.4
				switch {
				case all:
					part = 1
				case title == slowOne:
					part = 0.1
				case !everyRun(title) || draw.IntN(10) > 0: // a tenth of the faults, and then two fifths of the cases
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
					ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
					defer cancel()
					m := &matrix{scene: &scene{T: t, Lab: l, ctx: ctx, fault: f, repair: f.repair, binary: binary}, undone: undone}
					m.chosen = func() bool { return draw.Float64() < part }
					m.run()
				})
				if !whole { // what follows shall not suffer from it
					l = nil
				}
			}
		})
	}
}

// grown waits until every ovn-controller takes patch ports away when their bridge is no longer mapped. One that has
// started lately does not (daemon_started_recently in its ovn-util.c), and then what a fault breaks still changes long
// after the fault was found.
func (s *scene) grown() {
	s.Helper()
	const patches = "ovs-vsctl --bare --columns=name find Interface type=patch"
	mapped := map[string]string{}
	for _, node := range s.Topology.Nodes {
		if value := s.sh(node.Name, "ovs-vsctl --if-exists get Open_vSwitch . external_ids:ovn-bridge-mappings"); value != "" && s.sh(node.Name, patches) != "" {
			mapped[node.Name] = value
			s.set(node.Name, "ovn-bridge-mappings", "")
		}
	}
	for node, value := range mapped {
		s.until("the patch ports of "+node+" are gone", func() bool {
			s.sh(node, "ovs-vsctl set Open_vSwitch . external_ids:turn=$(date +%%N)") // it counts its turns
			return s.sh(node, patches) == ""
		})
		s.sh(node, "ovs-vsctl remove Open_vSwitch . external_ids turn -- set Open_vSwitch . external_ids:ovn-bridge-mappings=%s", value)
		s.until("the patch ports of "+node+" are back", func() bool { return s.sh(node, patches) != "" })
	}
}

// slowToKill are the first faults of the repairs of which none is drawn in every run.
func slowToKill() (slow []string) {
	seen := map[string]bool{}
	for _, quick := range []bool{true, false} {
		for _, st := range stages() {
			for _, f := range st.faults {
				title := st.name + "/" + f.title()
				if f.repair == nil || f.like != "" || f.twoReleases || seen[f.repair[0]] || everyRun(title) != quick {
					continue
				}
				seen[f.repair[0]] = true
				if !quick {
					slow = append(slow, title)
				}
			}
		}
	}
	return slow
}

// neverKilled are the repairs that are not under TestKill, and why.
var neverKilled = map[string]string{
	"delete-fdb":            "no fault of the labs leaves such a row; it deletes one row, as delete-mac-binding does, which is",
	"vxlan-mode-off":        "its fault is advice on the labs; it sets one key of one row, as set-inactivity-probe does, which is",
	"ignore-northd-version": "its fault takes two releases beside each other; it sets one key of one row, as set-chassis-key does, which is",
	"restore-switch-config": "its fault is a database that is new; it writes the rows of a copy in one transaction",
	"stop-checksum-offload": "TestStopChecksumOffload makes the fault on a lab of its own",
	"load-modules":          "the kernel is that of the machine; labs do not change it",
	"modules-at-boot":       "the kernel is that of the machine; it writes one file, as set-transient-default does, which is",
}

// TestKillsAll holds that every repair of the catalogue is under TestKill, in turn at least, or has a reason not to be.
func TestKillsAll(t *testing.T) {
	killed := map[string]bool{}
	for _, st := range stages() {
		for _, f := range st.faults {
			if f.repair != nil && f.like == "" {
				killed[f.repair[0]] = true
			}
		}
	}
	for _, r := range catalog.Repairs {
		if killed[r.Name] == (neverKilled[r.Name] != "") {
			t.Errorf("%s: TestKill has it: %v; why not: %q", r.Name, killed[r.Name], neverKilled[r.Name])
		}
	}
	t.Logf("%d repairs, %d of them under TestKill, %d in turn", len(catalog.Repairs), len(killed), len(slowToKill()))
}

// everyRun says whether cases of a fault are drawn in every run of the tests. The others restart daemons or servers between the
// cases, which takes minutes: they take turns, and OVNCTL_KILLS=all has them all.
func everyRun(fault string) bool {
	return slices.ContainsFunc([]string{
		"chassis/localnet", "chassis/missing-external-ids", "chassis/port-not-bound", "daemons/transient-default", "databases/connection",
		"egress/", "hostnet-kube-ovn/", "kube-ovn/", "neutron/", "northbound/", "openstack/", "vxlan/",
	}, func(prefix string) bool { return strings.HasPrefix(fault, prefix) })
}

// A matrix is all the ways in which one repair is cut off.
type matrix struct {
	*scene
	chosen func() bool
	before map[string]string // with the fault
	undone map[string]bool   // the repairs of the stage whose undo was killed everywhere, which one fault of each shows
}

func (m *matrix) run() {
	if m.fault.like != "" {
		m.Skip("the same repair as of " + m.fault.like)
	}
	m.possible()
	m.fault.make(m.scene)
	if m.repair == nil {
		m.fault.mend(m.scene)
		m.Skip("advice only")
	}
	m.there()
	m.before = m.settled()
	fix, back := m.passages()
	m.alongside("", fix, func() []string { return m.command() })
	if !m.undone[m.repair[0]] {
		m.undone[m.repair[0]] = true
		m.alongside("undo ", back, func() []string { m.says(0, "FIXED", m.command()...); return undo })
	}
	for _, pages := range []int{1, 2, 3, 4} {
		if m.chosen() {
			m.attempt(fmt.Sprintf("journal's disk full after %d pages", pages), func() bool { return m.full(pages) })
		}
	}
	for _, path := range m.edited() {
		for _, how := range []string{"immutable", "full"} {
			if m.chosen() {
				m.attempt(path+" "+how, func() bool { return m.unwritable(path, how) })
			}
		}
	}
	if m.chosen() {
		m.attempt("two at once", m.two)
	}
	m.end()
}

// alongside cuts a command off at each point of its passage. Ready makes it possible, and says what it is.
func (m *matrix) alongside(what string, p passage, ready func() []string) {
	for _, point := range p.points {
		if m.chosen() {
			m.attempt(what+"killed at "+point, func() bool { return m.kill(point, ready()...) })
		}
	}
	for n := 1; n <= p.writes; n++ {
		for _, half := range []string{"request", "reply"} {
			if m.chosen() {
				m.attempt(fmt.Sprintf("%sconnection cut at the %s of write %d", what, half, n), func() bool { return m.cut(n, half, ready()...) })
			}
		}
	}
}

// end leaves the lab whole for the next fault.
func (m *matrix) end() {
	if m.oneWay() || m.fault.mend == nil {
		if code, out := m.ovnctl(m.command()...); code != 0 {
			m.Fatalf("fix at the end: exit %d:\n%s", code, out)
		}
	}
	if m.fault.mend != nil {
		m.fault.mend(m.scene)
	}
	m.forget("ovn-controller.log") // a gateway that has moved with every case is a fault of its own
	m.healthy("after all cases")
}

func (m *matrix) command() []string {
	return append(append([]string{"fix"}, m.repair...), "--yes", "--max-risk", "high")
}

// settled is the state once it has not changed by itself for five looks.
func (m *matrix) settled() map[string]string {
	last, same := m.state(), 0
	m.until("the state settles", func() bool {
		now := m.state()
		same++
		if len(differences(last, now)) > 0 {
			same = 0
		}
		last = now
		return same == 5
	})
	return last
}

// attempt is one case. The repair is cut off; what comes next recovers; then nothing may be lost.
func (m *matrix) attempt(name string, cutOff func() bool) {
	if m.Failed() {
		return
	}
	m.there() // daemons may be slow to follow what the last undo took back
	kills.Add(1)
	start, earlier := time.Now(), len(m.runs())
	defer func() { m.Logf("%4.1f s  %s", time.Since(start).Seconds(), name) }()
	if !cutOff() {
		m.Errorf("%s: it was not cut off", name)
		return
	}
	if code, out := m.ovnctl("fix", "recover"); code != 0 {
		m.Fatalf("%s: recover: exit %d:\n%s\n%s", name, code, out, m.journal())
	}
	if !kept(m.runs()[earlier:]) {
		if left := m.within(differencesTo(m.before)); len(left) > 0 {
			m.Fatalf("%s: neither as before nor repaired:\n%s\n%s", name, strings.Join(left, "\n"), m.journal())
		}
		if m.oneWay() && m.passes() { // a daemon that was started before the rest failed still runs
			m.again()
		}
		return
	}
	if !m.passes() {
		m.Fatalf("%s: the journal says that it is repaired, and the fault is there:\n%s", name, m.journal())
	}
	if m.oneWay() {
		m.again()
		return
	}
	if code, out := m.ovnctl(m.undoLast()...); code != 0 {
		m.Fatalf("%s: undo: exit %d:\n%s\n%s", name, code, out, m.journal())
	}
	if left := m.within(differencesTo(m.before)); len(left) > 0 {
		m.Fatalf("%s: after undo:\n%s\n%s", name, strings.Join(left, "\n"), m.journal())
	}
}

// runs are the journal's, in their order.
func (m *matrix) runs() []*fixes.Run {
	runs, err := fixes.ReadJournal(m.stateDir(), filepath.Join(m.Dir, m.fault.on)).Runs()
	if err != nil {
		m.Fatal(err)
	}
	return runs
}

// undoLast undoes the last run that did something, whatever was refused since.
func (m *matrix) undoLast() []string {
	for _, r := range slices.Backward(m.runs()) {
		if kept([]*fixes.Run{r}) && slices.ContainsFunc(r.Events, func(e fixes.Event) bool { return e.State == fixes.Begun }) {
			return []string{"fix", "undo", strconv.Itoa(r.ID), "--yes"}
		}
	}
	m.Fatal("the journal has no run that did something")
	return nil
}

// kept says whether the change of one of the runs is there.
func kept(runs []*fixes.Run) bool {
	return slices.ContainsFunc(runs, func(r *fixes.Run) bool {
		return r.State() == fixes.Verified || r.State() == fixes.Confirmed
	})
}

// again makes the fault again after a repair that cannot be undone.
func (m *matrix) again() {
	if m.fault.again != nil {
		m.fault.again(m.scene)
	} else {
		if m.fault.mend != nil {
			m.fault.mend(m.scene)
		}
		m.fault.make(m.scene)
	}
	m.there()
	m.before = m.settled()
}

// there waits until the fault is found; whether anything else is, is TestFaults' question.
func (m *matrix) there() {
	m.until("doctor finds "+m.fault.check, func() bool { return !m.passes() })
}

func differencesTo(want map[string]string) func(map[string]string) []string {
	return func(got map[string]string) []string { return differences(want, got) }
}

// within looks until nothing differs, for as long as daemons on a busy machine may take, and returns what still does.
func (m *matrix) within(differ func(map[string]string) []string) []string {
	deadline := time.Now().Add(20 * time.Second)
	for {
		left := differ(m.state())
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// passes says whether the fault is gone.
func (m *matrix) passes() bool {
	return m.missing(m.fault.check, m.examine(append([]string{"--only", m.fault.check}, m.fault.args...)...)) != ""
}

func (m *matrix) journal() string {
	files, _ := filepath.Glob(filepath.Join(m.stateDir(), "journal", "*.jsonl"))
	if len(files) == 0 {
		return ""
	}
	text, _ := os.ReadFile(files[len(files)-1])
	return string(text)
}

func (m *matrix) stateDir() string { return filepath.Join(m.Dir, m.fault.on, "var/lib/ovnctl") }

// start runs the program that has failpoints, with variables.
func (m *matrix) start(variables []string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	m.Helper()
	path, err := killable()
	if err != nil {
		m.Fatal(err)
	}
	cmd := m.Program(m.ctx, m.fault.on, append(append([]string{"env"}, variables...), append([]string{path}, m.flags(args...)...)...)...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		m.Fatal(err)
	}
	return cmd, &out
}

// A passage is what a command passes on its way: the failpoints, and so many requests that change something in a
// database.
type passage struct {
	points []string
	writes int
}

// passages carries the repair out once and takes it back.
func (m *matrix) passages() (fix, back passage) {
	fix = m.passage(m.command()...)
	if m.oneWay() {
		m.again()
		return fix, back
	}
	back = m.passage(undo...)
	if left := m.within(differencesTo(m.before)); len(left) > 0 {
		m.Fatalf("after undo:\n%s", strings.Join(left, "\n"))
	}
	return fix, back
}

func (m *matrix) passage(args ...string) (p passage) {
	passed, out, err := m.passing(nil, args...)
	if err != nil {
		m.Fatalf("ovnctl %s: %v:\n%s", strings.Join(args, " "), err, out)
	}
	for _, point := range passed {
		switch what, _, _ := strings.Cut(point, " "); what {
		case "write":
			p.writes++
		case "sent":
		default:
			p.points = append(p.points, point)
		}
	}
	return p
}

// passing runs ovnctl and returns the points that it passes.
func (m *matrix) passing(variables []string, args ...string) (points []string, out string, err error) {
	m.Helper()
	list := m.points()
	_ = os.Remove(list)
	cmd, printed := m.start(append(variables, "OVNCTL_FAILPOINTS="+list), args...)
	err = cmd.Wait()
	text, readErr := os.ReadFile(list)
	if readErr != nil { // it ended before the first
		m.Fatalf("ovnctl %s: %v, %v:\n%s", strings.Join(args, " "), err, readErr, printed)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n"), printed.String(), err
}

func (m *matrix) kill(point string, args ...string) bool {
	number, _, _ := strings.Cut(point, " ")
	cmd, out := m.start([]string{"OVNCTL_FAILPOINT=" + number}, args...)
	err := cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signaled() {
		return true
	}
	m.Logf("%s: %v:\n%s", strings.Join(args, " "), err, out)
	return false
}

// cut breaks the connection at a request that changes something: half of the request goes out, or the reply is lost.
func (m *matrix) cut(n int, what string, args ...string) bool {
	passed, out, _ := m.passing([]string{fmt.Sprintf("OVNCTL_FAILCUT=%s %d", what, n)}, args...)
	if slices.Contains(passed, "cut") {
		return true
	}
	m.Logf("fix:\n%s", out)
	return false
}

// full gives the journal a disk of so many pages. A repair that fits in goes through.
func (m *matrix) full(pages int) bool {
	if err := os.MkdirAll(m.stateDir(), 0o755); err != nil {
		m.Fatal(err)
	}
	dir := filepath.Join(m.stateDir(), "journal")
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("mode=700,size=%d", pages*os.Getpagesize())); err != nil {
		m.Fatal(err)
	}
	cmd, out := m.start(nil, m.command()...)
	_ = cmd.Wait()
	code := cmd.ProcessState.ExitCode()
	// The disk has room again; what the journal holds is what the next run sees.
	if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT, "size=1m"); err != nil {
		m.Fatal(err)
	}
	if rcode, rout := m.ovnctl("fix", "recover"); rcode != 0 {
		m.Fatalf("recover: exit %d:\n%s", rcode, rout)
	}
	done := kept(m.runs())
	if done && !m.oneWay() {
		if ucode, uout := m.ovnctl(undo...); ucode != 0 {
			m.Fatalf("undo: exit %d:\n%s", ucode, uout)
		}
	}
	if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil { // and with it what attempt would ask
		m.Fatal(err)
	}
	if code != 0 && code != 4 {
		m.Fatalf("fix on a full disk: exit %d, want 4:\n%s", code, out)
	}
	if done && m.oneWay() {
		m.again()
	}
	return true
}

// edited are the files of the host that the repair changes.
func (m *matrix) edited() []string {
	code, out := m.ovnctl(append(append([]string{"fix"}, m.repair...), "--dry-run", "-o", "json", "--max-risk", "high")...)
	var doc struct {
		Fixes []struct {
			Plan struct{ Steps []struct{ Diff []string } }
		}
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil || code != 0 || len(doc.Fixes) != 1 {
		m.Fatalf("dry run: exit %d: %v\n%s", code, err, out)
	}
	var paths []string
	for _, s := range doc.Fixes[0].Plan.Steps {
		if len(s.Diff) > 0 && len(s.Diff[0]) > 3 && s.Diff[0][2] == '/' {
			path, _, _ := strings.Cut(s.Diff[0][2:], " ")
			paths = append(paths, path)
		}
	}
	return paths
}

// unwritable makes a file immutable, or fills the disk that it lies on.
func (m *matrix) unwritable(path, how string) bool {
	root := filepath.Join(m.Dir, m.fault.on)
	file := filepath.Join(root, path)
	dir := filepath.Dir(file)
	if _, err := os.Stat(dir); err != nil {
		return true // it will be made
	}
	if how == "full" {
		size := fmt.Sprintf("size=%d", 64*os.Getpagesize())
		copied := filepath.Join(m.Dir, "full")
		if err := errors.Join(os.MkdirAll(copied, 0o755), syscall.Mount("tmpfs", copied, "tmpfs", 0, size)); err != nil {
			m.Fatal(err)
		}
		if out, err := exec.Command("cp", "-a", dir+"/.", copied).CombinedOutput(); err != nil {
			m.Fatalf("%v: %s", err, out)
		}
		fill, err := os.Create(filepath.Join(copied, "fill"))
		if err != nil {
			m.Fatal(err)
		}
		_, _ = io.Copy(fill, io.LimitReader(zeros{}, 64<<20))
		_ = fill.Close()
		if err := syscall.Mount(copied, dir, "", syscall.MS_BIND, ""); err != nil {
			m.Fatal(err)
		}
		defer func() {
			_ = syscall.Unmount(dir, syscall.MNT_DETACH)
			_ = syscall.Unmount(copied, syscall.MNT_DETACH)
		}()
	} else {
		if err := syscall.Mount(dir, dir, "", syscall.MS_BIND, ""); err != nil {
			m.Fatal(err)
		}
		if err := syscall.Mount("", dir, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
			m.Fatal(err)
		}
		defer func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) }()
	}
	cmd, out := m.start(nil, m.command()...)
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 4 && (code != 0 || how != "full") { // a full disk lets a file be removed
		m.Fatalf("fix of a file that cannot be written: exit %d, want 4:\n%s", code, out)
	} else if code == 0 && !m.oneWay() { // what was done was done to the full disk, which goes
		if code, out := m.ovnctl("fix", "undo", "--yes"); code != 0 {
			m.Fatalf("undo on a full disk: exit %d:\n%s", code, out)
		}
	}
	return true
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// two runs the repair twice at once: one does it, the other waits or refuses, and nothing is done twice.
func (m *matrix) two() bool {
	first, _ := m.start(nil, m.command()...)
	second, _ := m.start(nil, m.command()...)
	err1, err2 := first.Wait(), second.Wait()
	if err1 != nil && err2 != nil {
		m.Fatalf("neither of two runs at once did it: %v, %v", err1, err2)
	}
	return true
}
