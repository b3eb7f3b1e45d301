package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// registry holds a link to the directory of each lab on this machine.
const registry = "/run/ovnctl-lab"

// State is what a lab stores on disk so that another process can use or remove it: DIR/lab.json.
type State struct {
	Prefix   string   // prefix of its network namespaces' names
	Dir      string   // absolute
	Topology Topology // as built
	Release  Release
	Cluster  int // see [Options]
	TLS      bool
	Datapath string  // type of all bridges: netdev or system
	Owner    Process // the lab ends with it; zero: the lab stays until taken down
	Keeper   Process
}

// A Process is one process, distinguished from a later one with the same PID by its start time.
type Process struct {
	PID   int
	Start uint64 // clock ticks since boot, field 22 of proc_pid_stat(5)
}

func thisProcess() Process { return processOf(os.Getpid()) }

func processOf(pid int) Process {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Process{}
	}
	// The command name may contain blanks and parentheses; the fields follow the last one.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" {
		return Process{}
	}
	start, err := strconv.ParseUint(fields[19], 10, 64)
	if err != nil {
		return Process{}
	}
	return Process{PID: pid, Start: start}
}

func (p Process) alive() bool { return p.PID > 0 && processOf(p.PID) == p }

// kill ends the process, and only it: a file descriptor pins its identity between check and signal.
func (p Process) kill() {
	if p.PID <= 0 {
		return
	}
	fd, err := unix.PidfdOpen(p.PID, 0)
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(fd) }()
	if p.alive() {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	}
}

func (s *State) path() string { return filepath.Join(s.Dir, "lab.json") }

func (s *State) save() error {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	tmp := s.path() + ".tmp"
	if err := os.WriteFile(tmp, b, 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, s.path())
}

func loadState(dir string) (*State, error) {
	b, err := os.ReadFile(filepath.Join(dir, "lab.json"))
	if err != nil {
		return nil, fmt.Errorf("lab in %s: %w", dir, err)
	}
	s := &State{}
	if err := json.Unmarshal(b, s); err != nil {
		return nil, fmt.Errorf("lab in %s: %w", dir, err)
	}
	if abs, err := filepath.Abs(dir); err != nil || s.Dir != abs {
		return nil, fmt.Errorf("lab in %s: its state belongs to %s", dir, s.Dir)
	}
	return s, nil
}

// namespaces lists the network namespaces with the lab's prefix.
func (s *State) namespaces() []string {
	all, _ := filepath.Glob(filepath.Join(netnsDir, s.Prefix+"-*"))
	for i := range all {
		all[i] = filepath.Base(all[i])
	}
	return all
}

// remove removes the whole lab: processes, network namespaces, files. It may be retried after a failure.
func (s *State) remove() error {
	if s.Keeper != thisProcess() {
		s.Keeper.kill()
	}
	names := s.namespaces()
	inodes := map[uint64]bool{}
	for _, n := range names {
		if fi, err := os.Stat(filepath.Join(netnsDir, n)); err == nil {
			inodes[fi.Sys().(*syscall.Stat_t).Ino] = true
		}
	}
	if err := endProcessesIn(inodes); err != nil {
		return err
	}
	var errs []error
	for _, n := range names {
		path := filepath.Join(netnsDir, n)
		if err := unix.Unmount(path, unix.MNT_DETACH); err != nil && !errors.Is(err, unix.EINVAL) {
			errs = append(errs, fmt.Errorf("unmount %s: %w", path, err))
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	if err := os.RemoveAll(s.Dir); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(registry, s.Prefix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_ = os.Remove(registry) // succeeds for the last lab
	return nil
}

// enroll links the lab into the registry.
func (s *State) enroll() error {
	for {
		if err := os.MkdirAll(registry, 0o755); err != nil {
			return err
		}
		// The last lab to go may remove the directory in between.
		if err := os.Symlink(s.Dir, filepath.Join(registry, s.Prefix)); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
}

// removeForSure removes a lab whose owner may have been killed while building it: commands it had started may still
// run, and are caught a moment later.
func (s *State) removeForSure() error {
	var err error
	for range 20 {
		err = s.remove()
		time.Sleep(100 * time.Millisecond)
		_, gone := os.Stat(s.Dir)
		if err == nil && len(s.namespaces()) == 0 && errors.Is(gone, fs.ErrNotExist) {
			return nil
		}
	}
	return err
}

// endProcessesIn ends all processes whose network namespace has one of the inodes, and waits until they are gone.
func endProcessesIn(inodes map[uint64]bool) error {
	deadline := time.Now().Add(10 * time.Second)
	for {
		left := processesIn(inodes)
		if len(left) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("processes %v of the lab do not end", left)
		}
		for _, p := range left {
			p.kill()
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func processesIn(inodes map[uint64]bool) []Process {
	entries, _ := os.ReadDir("/proc")
	var found []Process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		fi, err := os.Stat(fmt.Sprintf("/proc/%d/ns/net", pid))
		if err != nil || !inodes[fi.Sys().(*syscall.Stat_t).Ino] {
			continue
		}
		if p := processOf(pid); p.alive() {
			found = append(found, p)
		}
	}
	return found
}

// List returns the labs that are up on this machine.
func List() ([]*State, error) {
	links, err := os.ReadDir(registry)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var labs []*State
	for _, l := range links {
		dir, err := os.Readlink(filepath.Join(registry, l.Name()))
		if err != nil {
			continue
		}
		if s, err := loadState(dir); err == nil && s.Prefix == l.Name() {
			labs = append(labs, s)
		}
	}
	return labs, nil
}

// reap removes the labs whose owner and keeper are both gone.
func reap() error {
	labs, err := List()
	if err != nil {
		return err
	}
	var errs []error
	for _, s := range labs {
		if s.Owner != (Process{}) && !s.Owner.alive() && !s.Keeper.alive() {
			errs = append(errs, s.removeForSure())
		}
	}
	return errors.Join(errs...)
}
