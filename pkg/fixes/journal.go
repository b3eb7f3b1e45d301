package fixes

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A Journal is a directory that records every change before it is made: one file per run, one JSON line per event.
type Journal struct {
	dir     string
	machine string // the host's machine-id; empty if unknown
	lock    *os.File

	patience time.Duration // for tests, in place of the constant
}

// DefaultState is the directory of the journal unless another one is named.
const DefaultState = "/var/lib/ovnctl"

// OpenJournal opens the journal in a state directory, and creates it. It is of the host whose file system is at root;
// empty: /. The directory must belong to us alone: whoever can write to it decides what undo does.
func OpenJournal(state, root string) (*Journal, error) {
	j := ReadJournal(state, root)
	if err := os.MkdirAll(j.dir, 0o700); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return j, j.private()
}

// ReadJournal opens a journal for reading. It need not exist.
func ReadJournal(state, root string) *Journal {
	return &Journal{dir: filepath.Join(state, "journal"), machine: machineID(root)}
}

// A Busy error means that another ovnctl is repairing this host.
type Busy struct{ PID string }

func (b *Busy) Error() string {
	return fmt.Sprintf("another ovnctl, process %s, is repairing this host\nhint: try again when it has ended", b.PID)
}

// patienceForLock is how long a run waits for another one.
const patienceForLock = 5 * time.Second

// Lock keeps other runs off the host until Unlock or the end of the process. It waits a few seconds for another run;
// then the error is a *Busy.
func (j *Journal) Lock(ctx context.Context) error {
	failpoint("before the lock")
	f, err := openOwn(filepath.Join(j.dir, "lock"), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return fmt.Errorf("journal: lock: %w", err)
	}
	within, cancel := context.WithTimeout(ctx, cmp.Or(j.patience, patienceForLock))
	defer cancel()
	err = wait(within, 50*time.Millisecond, func() (bool, error) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		who, _ := io.ReadAll(io.LimitReader(f, 32))
		_ = f.Close()
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			return &Busy{PID: string(bytes.TrimSpace(who))}
		}
		return fmt.Errorf("journal: lock: %w", err)
	}
	j.lock = f
	_ = f.Truncate(0)
	_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	failpoint("locked")
	return nil
}

// Unlock lets other runs in.
func (j *Journal) Unlock() {
	if j.lock != nil {
		_ = j.lock.Close()
		j.lock = nil
	}
}

// An Event is a line of a run's journal.
type Event struct {
	Time  string `json:"time"` // RFC 3339
	State State  `json:"state"`
	Step  int    `json:"step,omitempty"` // from 1, in a step's events
	Text  string `json:"text,omitempty"` // why, in words

	Reason Reason   `json:"reason,omitempty"` // for Undoing and Undone, and for Confirmed after a failed undo
	Run    *Header  `json:"run,omitempty"`    // for Planned
	By     *Process `json:"by,omitempty"`     // for Undoing under a watchdog: who undoes the run
	Action *written `json:"action,omitempty"` // for Begun: the step as carried out
}

// A Process carries out a run, or undoes it.
type Process struct {
	PID     int     `json:"pid"`
	Since   string  `json:"since"`             // when it started
	Seconds float64 `json:"seconds,omitempty"` // to confirm a run that can cut the host off
}

func thisProcess(within time.Duration) Process {
	return Process{PID: os.Getpid(), Since: startTime(os.Getpid()), Seconds: within.Seconds()}
}

func (p Process) alive() bool { return startTime(p.PID) == p.Since }

func (p Process) within() time.Duration { return time.Duration(p.Seconds * float64(time.Second)) }

// State is the kind of an event.
type State string

// States of a run and of its steps.
const (
	Planned   State = "planned"
	Armed     State = "armed" // the watchdog is running
	Begun     State = "begun"
	Done      State = "done"
	Verified  State = "verified"
	Confirmed State = "confirmed"
	Undoing   State = "undoing"
	TakenBack State = "taken back" // a step is undone, or the whole run, which has yet to be confirmed
	Undone    State = "undone"
	Stuck     State = "stuck" // it can be neither finished nor rolled back
)

// A Header describes a run before it changes anything.
type Header struct {
	ID       int       `json:"id"`
	Repair   string    `json:"repair"`
	Args     []string  `json:"args"`
	Title    string    `json:"title"`
	Host     string    `json:"host,omitempty"`
	Machine  string    `json:"machine,omitempty"` // machine-id of the host that ovnctl ran on
	Subject            // of the finding that it fixes
	Checks   []string  `json:"checks,omitempty"` // that verify it
	Sources  []string  `json:"sources,omitempty"`
	Cuts     bool      `json:"cuts,omitempty"`
	Answered []Witness `json:"answered,omitempty"` // that replied before a run that cuts
	Process
	Boot     string    `json:"boot"`
	Commands []string  `json:"commands,omitempty"`
	Steps    []written `json:"steps"`
	OneWay   string    `json:"oneWay,omitempty"` // why it cannot be undone
	NoUndo   string    `json:"noUndo,omitempty"` // why undo refuses, although each step could be undone
}

// A Run is one run of the journal.
type Run struct {
	Header
	Events []Event

	// Damage is why the run can only be read: a line of its file is unreadable, or it is another host's. It is neither
	// finished nor undone.
	Damage error

	file string
}

// State returns the last state of the whole run.
func (r *Run) State() State {
	s := Planned
	for _, e := range r.Events {
		if e.Step == 0 {
			s = e.State
		}
	}
	return s
}

// When returns the time of the last event, RFC 3339; empty if none is readable.
func (r *Run) When() string {
	for _, e := range slices.Backward(r.Events) {
		if e.Time != "" {
			return e.Time
		}
	}
	return ""
}

// Reason returns the last reason in an event.
func (r *Run) Reason() Reason {
	for _, e := range slices.Backward(r.Events) {
		if e.Reason != "" {
			return e.Reason
		}
	}
	return ""
}

// Why returns the last nonempty event text.
func (r *Run) Why() string {
	for _, e := range slices.Backward(r.Events) {
		if e.Text != "" {
			return e.Text
		}
	}
	return ""
}

// armed reports whether the run is not over: it must be finished or rolled back.
func (r *Run) armed() bool {
	switch r.State() {
	case Undone, Stuck, Confirmed:
		return false
	case Verified:
		return r.Cuts && r.Damage == nil
	}
	return r.Damage == nil
}

// Open reports whether the run was interrupted: the next run on this host finishes it or rolls it back.
func (r *Run) Open() bool { return r.armed() && !r.process().alive() }

// process returns the process that carries the run out, or undoes it.
func (r *Run) process() Process {
	if by := r.undoer(); by != nil {
		return *by
	}
	return r.Process
}

// undoer returns the process that undoes the run under a watchdog, nil if none does.
func (r *Run) undoer() *Process {
	if s := r.State(); s != Undoing && s != TakenBack {
		return nil
	}
	for _, e := range slices.Backward(r.Events) {
		if e.State == Undoing {
			return e.By
		}
	}
	return nil
}

// lost reports whether a boot since the run has undone a step.
func (r *Run) lost(a Step) bool { return !a.Summary().lasts && r.Boot != "" && r.Boot != bootID() }

// kept reports whether the run's changes are in place and can be undone.
func (r *Run) kept() bool {
	if r.Damage != nil || !slices.ContainsFunc(r.Events, func(e Event) bool { return e.State == Begun }) {
		return false // there was nothing left to do
	}
	s := r.State()
	return s == Confirmed || s == Verified && !r.Cuts
}

// begun returns the started steps, as carried out, by number, and which of them are Done or TakenBack.
func (r *Run) begun() (steps map[int]Step, ended map[int]State, err error) {
	steps, ended = map[int]Step{}, map[int]State{}
	for _, e := range r.Events {
		switch e.State {
		case Begun:
			if steps[e.Step], err = e.Action.read(); err != nil {
				return nil, nil, err
			}
			delete(ended, e.Step)
		case Done, TakenBack:
			ended[e.Step] = e.State
		}
	}
	return steps, ended, nil
}

// Runs returns all runs in the order of their numbers. One that can only be read in part has Damage.
func (j *Journal) Runs() ([]*Run, error) {
	if err := j.private(); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(j.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	var runs []*Run
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".jsonl" {
			continue
		}
		r := readRun(filepath.Join(j.dir, e.Name()))
		if r == nil {
			continue
		}
		if r.Damage == nil && r.Machine != "" && j.machine != "" && r.Machine != j.machine {
			r.Damage = fmt.Errorf("it is another host's: its machine-id is %.8s, and this host's is %.8s", r.Machine, j.machine)
		}
		runs = append(runs, r)
	}
	slices.SortFunc(runs, func(a, b *Run) int { return a.ID - b.ID })
	return runs, nil
}

// readRun reads a run's file, ignoring an incomplete last line. A run without a complete first line never began: it is
// nil. What is unreadable is the run's Damage.
func readRun(file string) *Run {
	r := &Run{file: file}
	text, err := readOwn(file)
	if err != nil {
		r.damaged(err)
		r.nameByFile()
		return r
	}
	number := 0
	for line := range bytes.Lines(text) {
		if line[len(line)-1] != '\n' {
			break
		}
		number++
		e, err := readEvent(line)
		if err == nil && number == 1 && e.Run == nil {
			err = errors.New("not the beginning of a run")
		}
		if err == nil && number == 1 {
			r.Header = *e.Run
		}
		if err == nil && e.State == Begun && (e.Step < 1 || e.Step > len(r.Steps)) {
			err = fmt.Errorf("the run has no step %d", e.Step)
		}
		if err != nil {
			r.damaged(fmt.Errorf("line %d: %w", number, err))
			continue
		}
		r.Events = append(r.Events, e)
	}
	if number == 0 {
		return nil
	}
	r.nameByFile()
	return r
}

func (r *Run) damaged(err error) {
	if r.Damage == nil {
		r.Damage = fmt.Errorf("%s: %w", r.file, err)
	}
}

// nameByFile gives a run whose beginning is unreadable the number and the repair in its file's name.
func (r *Run) nameByFile() {
	number, repair, _ := strings.Cut(strings.TrimSuffix(filepath.Base(r.file), ".jsonl"), "-")
	id, err := strconv.Atoi(number)
	switch {
	case err != nil || id <= 0:
		r.damaged(errors.New("its name is not NUMBER-REPAIR"))
	case r.ID == 0:
		r.ID, r.Repair, r.Title = id, repair, repair
	case r.ID != id:
		r.damaged(fmt.Errorf("its number is %d", r.ID))
		r.ID = id
	}
}

// readEvent reads a line.
func readEvent(line []byte) (e Event, err error) {
	if err := json.Unmarshal(line, &e); err != nil {
		return e, err
	}
	if _, err := time.Parse(time.RFC3339Nano, e.Time); err != nil {
		return e, fmt.Errorf("%q is not a time", e.Time)
	}
	switch {
	case e.State == "":
		return e, errors.New("no state")
	case e.State == Begun && e.Action == nil:
		return e, errors.New("a step began, and the line does not say which")
	case e.State == Begun:
		_, err = e.Action.read()
	}
	if e.Reason == "" {
		e.Reason = reasonOfText(e)
	}
	return e, err
}

// reasonOfText returns the reason of an event whose journal has it only as text, as earlier releases wrote it.
func reasonOfText(e Event) Reason {
	if e.State != Undoing && e.State != Undone {
		return ""
	}
	for text, reason := range map[string]Reason{
		"asked for": Asked, "the run was cut off": CutOff, "not confirmed: ": NotConfirmed, "it was not confirmed in time": NotConfirmed,
		"the check does not pass afterwards": NotVerified, "no watchdog can be armed": NotWatched,
	} {
		if strings.HasPrefix(e.Text, text) {
			return reason
		}
	}
	return ""
}

// ErrNoRun means that the journal has no run to undo.
var ErrNoRun = errors.New("the journal has no run that could be undone")

// Last returns the run with a number, or for 0 the last one whose changes are in place.
func (j *Journal) Last(id int) (*Run, error) {
	runs, err := j.Runs()
	if err != nil {
		return nil, err
	}
	for _, r := range slices.Backward(runs) {
		switch {
		case id == r.ID && r.Damage != nil:
			return nil, &UndoError{r, r.Damage.Error()}
		case id == r.ID && !r.kept():
			return nil, &UndoError{r, "it is " + string(r.State()) + " already"}
		case id == r.ID, id == 0 && r.kept():
			return r, nil
		}
	}
	if id != 0 {
		return nil, fmt.Errorf("the journal has no run %d", id)
	}
	return nil, ErrNoRun
}

// Describe returns a run's steps in words, one line each.
func (r *Run) Describe() []string {
	var lines []string
	for _, w := range r.Steps {
		if a, err := w.read(); err == nil {
			lines = append(lines, strings.TrimSpace(a.Summary().What))
		}
	}
	return lines
}

// Call returns the call that the run carried out.
func (r *Run) Call() *Call { return &Call{Repair: r.Repair, Args: r.Args} }

func (j *Journal) run(id int) (*Run, error) {
	runs, err := j.Runs()
	if err != nil {
		return nil, err
	}
	for _, r := range runs {
		if r.ID == id {
			return r, nil
		}
	}
	return nil, fmt.Errorf("the journal has no run %d", id)
}

// begin writes the first line of a new run.
func (j *Journal) begin(h Header) (*Run, error) {
	entries, err := os.ReadDir(j.dir)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	for _, e := range entries {
		number, _, _ := strings.Cut(e.Name(), "-")
		if n, err := strconv.Atoi(number); err == nil {
			h.ID = max(h.ID, n)
		}
	}
	h.ID++
	j.forgetRefusal()
	h.Boot, h.Machine = bootID(), j.machine
	r := &Run{Header: h, file: filepath.Join(j.dir, fmt.Sprintf("%05d-%s.jsonl", h.ID, h.Repair))}
	return r, r.note(Event{State: Planned, Run: &h})
}

// note writes an event and syncs it to disk.
func (r *Run) note(e Event) error {
	name := string(e.State)
	if e.Step > 0 {
		name = fmt.Sprintf("%s %d", name, e.Step)
	}
	failpoint("journal: before " + name)
	e.Time = time.Now().UTC().Format(time.RFC3339Nano)
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	flags := os.O_RDWR
	if e.State == Planned {
		flags |= os.O_CREATE | os.O_EXCL
	}
	f, err := openOwn(r.file, flags)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	if err := appendLine(f, append(line, '\n')); err != nil {
		err = errors.Join(fmt.Errorf("journal: %w", err), f.Close())
		if e.State == Planned { // the run never began
			_ = os.Remove(r.file)
		}
		return err
	}
	failpoint("journal: written " + name)
	err = errors.Join(f.Sync(), f.Close())
	if err == nil && e.State == Planned {
		err = syncDir(filepath.Dir(r.file))
	}
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	failpoint("journal: on disk " + name)
	r.Events = append(r.Events, e)
	return nil
}

// appendLine writes a line after the last complete one, or nothing.
func appendLine(f *os.File, line []byte) error {
	text, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	end := int64(bytes.LastIndexByte(text, '\n') + 1)
	if err := f.Truncate(end); err != nil {
		return err
	}
	half := len(line) / 2 // tests kill the process in the middle of a line
	if _, err := f.WriteAt(line[:half], end); err != nil {
		return errors.Join(err, f.Truncate(end))
	}
	failpoint("journal: half a line")
	if _, err := f.WriteAt(line[half:], end+int64(half)); err != nil {
		return errors.Join(err, f.Truncate(end))
	}
	return nil
}
