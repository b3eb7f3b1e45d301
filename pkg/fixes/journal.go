package fixes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A Journal is a directory in which every change is written down before it is
// made: a file per run, a line of JSON per event. What is not there was not done.
type Journal struct {
	dir  string
	lock *os.File
}

// DefaultState is where the journal lies when nothing else is said.
const DefaultState = "/var/lib/ovnctl"

// OpenJournal opens the journal in a state directory and makes what is missing.
func OpenJournal(state string) (*Journal, error) {
	dir := filepath.Join(state, "journal")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return &Journal{dir: dir}, nil
}

// ReadJournal opens a journal that may not be there, for reading.
func ReadJournal(state string) *Journal { return &Journal{dir: filepath.Join(state, "journal")} }

// A Busy error is another run that is under way.
type Busy struct{ PID string }

func (b *Busy) Error() string {
	return fmt.Sprintf("another ovnctl, process %s, is mending this host now", b.PID)
}

// patienceForLock is how long a run waits for another one.
const patienceForLock = 5 * time.Second

// Lock keeps other runs off the host until Unlock or the end of the process. A run
// that takes longer than a moment is not waited for: the error is a *Busy.
func (j *Journal) Lock(ctx context.Context) error {
	failpoint("before the lock")
	f, err := os.OpenFile(filepath.Join(j.dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	within, cancel := context.WithTimeout(ctx, patienceForLock)
	defer cancel()
	err = wait(within, 50*time.Millisecond, func() (bool, error) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		who, _ := os.ReadFile(f.Name())
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
	Step  int    `json:"step,omitempty"` // from 1, of a step's events
	Text  string `json:"text,omitempty"` // why, in words

	Run    *Header  `json:"run,omitempty"`    // of Planned
	By     *Process `json:"by,omitempty"`     // of Undoing under a watchdog: who takes the run back
	Action *written `json:"action,omitempty"` // of Begun: the step as it is carried out
}

// A Process carries out a run, or takes it back.
type Process struct {
	PID     int     `json:"pid"`
	Since   string  `json:"since"`             // when it started
	Seconds float64 `json:"seconds,omitempty"` // in which what can cut the host off must be confirmed
}

func thisProcess(within time.Duration) Process {
	return Process{PID: os.Getpid(), Since: startTime(os.Getpid()), Seconds: within.Seconds()}
}

func (p Process) alive() bool { return startTime(p.PID) == p.Since }

func (p Process) within() time.Duration { return time.Duration(p.Seconds * float64(time.Second)) }

// State is what an event says.
type State string

// States of a run and of its steps.
const (
	Planned   State = "planned"
	Armed     State = "armed" // the watchdog watches
	Begun     State = "begun"
	Done      State = "done"
	Verified  State = "verified"
	Confirmed State = "confirmed"
	Undoing   State = "undoing"    // and why
	TakenBack State = "taken back" // of a step, or of the whole run, which has yet to be confirmed
	Undone    State = "undone"
	Stuck     State = "stuck" // it can be neither finished nor taken back, and why
)

// A Header is what is known of a run before it changes anything.
type Header struct {
	ID       int      `json:"id"`
	Repair   string   `json:"repair"`
	Args     []string `json:"args"`
	Title    string   `json:"title"`
	Host     string   `json:"host,omitempty"`
	Object   string   `json:"object,omitempty"` // of the finding that it mends
	Checks   []string `json:"checks,omitempty"` // that must pass afterwards
	Sources  []string `json:"sources,omitempty"`
	Cuts     bool     `json:"cuts,omitempty"`
	Answered []string `json:"answered,omitempty"` // before a run that cuts, of what can confirm it
	Process
	Boot     string    `json:"boot"`
	Commands []string  `json:"commands,omitempty"`
	Steps    []written `json:"steps"`
	OneWay   string    `json:"oneWay,omitempty"` // why it cannot be undone
	NoUndo   string    `json:"noUndo,omitempty"` // why it is not to be, though its steps could
}

// A Run is a run as the journal has it.
type Run struct {
	Header
	Events []Event

	file string
	torn bool // its last line is not whole
}

// State is the last one of the whole run.
func (r *Run) State() State {
	s := Planned
	for _, e := range r.Events {
		if e.Step == 0 {
			s = e.State
		}
	}
	return s
}

// When is the time of the last event.
func (r *Run) When() string { return r.Events[len(r.Events)-1].Time }

// Why is the text of the last event that has one.
func (r *Run) Why() string {
	for _, e := range slices.Backward(r.Events) {
		if e.Text != "" {
			return e.Text
		}
	}
	return ""
}

// armed says whether the run ended without an end: it must be finished or taken back.
func (r *Run) armed() bool {
	switch r.State() {
	case Undone, Stuck, Confirmed:
		return false
	case Verified:
		return r.Cuts
	}
	return true
}

// Open says whether the run was cut off: the next run on this host finishes it or
// takes it back.
func (r *Run) Open() bool { return r.armed() && !r.process().alive() }

// process is who is at the run: who carries it out, or takes it back.
func (r *Run) process() Process {
	if by := r.undoer(); by != nil {
		return *by
	}
	return r.Process
}

// undoer is who takes the run back under a watchdog; nil: nobody does.
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

// rebooted says whether the host has booted since the run.
func (r *Run) rebooted() bool { return r.Boot != "" && r.Boot != bootID() }

// kept says whether what the run did is there, and can be undone.
func (r *Run) kept() bool {
	if !slices.ContainsFunc(r.Events, func(e Event) bool { return e.State == Begun }) {
		return false // all was done already
	}
	s := r.State()
	return s == Confirmed || s == Verified && !r.Cuts
}

// begun are the steps that were begun, as they were carried out, by number, and
// which of them are done or taken back again.
func (r *Run) begun() (steps map[int]action, ended map[int]State, err error) {
	steps, ended = map[int]action{}, map[int]State{}
	for _, e := range r.Events {
		switch e.State {
		case Begun:
			if steps[e.Step], err = e.Action.action(); err != nil {
				return nil, nil, err
			}
			delete(ended, e.Step)
		case Done, TakenBack:
			ended[e.Step] = e.State
		}
	}
	return steps, ended, nil
}

// Runs are all runs in the order of their numbers.
func (j *Journal) Runs() ([]*Run, error) {
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
		r, err := readRun(filepath.Join(j.dir, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("journal: %s: %w", filepath.Join(j.dir, e.Name()), err)
		}
		if r != nil {
			runs = append(runs, r)
		}
	}
	slices.SortFunc(runs, func(a, b *Run) int { return a.ID - b.ID })
	return runs, nil
}

// readRun reads a run's file. A last line that is cut off does not count; a file
// without a whole first line is of a run that never began, and nil.
func readRun(file string) (*Run, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	r := &Run{file: file}
	for line := range bytes.Lines(text) {
		if line[len(line)-1] != '\n' {
			r.torn = true
			break
		}
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("line %d: %w", len(r.Events)+1, err)
		}
		r.Events = append(r.Events, e)
	}
	if len(r.Events) == 0 {
		return nil, nil
	}
	if r.Events[0].Run == nil {
		return nil, errors.New("line 1: not the beginning of a run")
	}
	r.Header = *r.Events[0].Run
	return r, nil
}

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
	h.Boot = bootID()
	r := &Run{Header: h, file: filepath.Join(j.dir, fmt.Sprintf("%05d-%s.jsonl", h.ID, h.Repair))}
	return r, r.note(Event{State: Planned, Run: &h})
}

// note writes an event and returns when it is on the disk.
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
	f, err := os.OpenFile(r.file, flags, 0o600)
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

// appendLine puts a line behind the last whole one, or nothing.
func appendLine(f *os.File, line []byte) error {
	text, err := os.ReadFile(f.Name())
	if err != nil {
		return err
	}
	end := int64(bytes.LastIndexByte(text, '\n') + 1)
	if err := f.Truncate(end); err != nil {
		return err
	}
	half := len(line) / 2 // the tests end the process in the middle of a line
	if _, err := f.WriteAt(line[:half], end); err != nil {
		return errors.Join(err, f.Truncate(end))
	}
	failpoint("journal: half a line")
	if _, err := f.WriteAt(line[half:], end+int64(half)); err != nil {
		return errors.Join(err, f.Truncate(end))
	}
	return nil
}

// bootID changes each time the host boots.
func bootID() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(text))
}
