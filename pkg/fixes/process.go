package fixes

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/node"
)

// pid returns the process in a daemon's pidfile, if it is that daemon.
func (t *Target) pid(daemon string) int {
	dirs := t.dirs()
	dir := dirs.OVSRun
	if strings.HasPrefix(daemon, "ovn") {
		dir = dirs.OVNRun
	}
	text, err := os.ReadFile(filepath.Join(dir, daemon+".pid"))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(text)))
	if err != nil {
		return 0
	}
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil || !strings.HasPrefix(daemon, string(bytes.TrimSpace(name))) {
		return 0
	}
	return pid
}

// dirs returns the run directories as this process sees them.
func (t *Target) dirs() node.Dirs {
	d := node.Dirs{OVSRun: os.Getenv("OVS_RUNDIR"), OVNRun: os.Getenv("OVN_RUNDIR")}
	if d.OVSRun == "" {
		d.OVSRun = node.Resolve(t.Root, node.DefaultOVSRunDir)
	}
	if d.OVNRun == "" {
		d.OVNRun = node.Resolve(t.Root, node.DefaultOVNRunDir)
	}
	return d
}

// procWords returns the NUL-terminated words of a process's file.
func procWords(pid int, file string) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if err != nil {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
}

// statOf returns the fields of a process behind its name, proc_pid_stat(5); none if it does not run.
func statOf(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:])) // the name may have blanks and brackets
}

// startTime returns when a process started, in ticks since boot, empty if it does not run. Together with the PID it
// identifies a process.
func startTime(pid int) string {
	fields := statOf(pid)
	if len(fields) < 20 || fields[0] == "X" || fields[0] == "Z" && !threadsLeft(pid) {
		return ""
	}
	return fields[19]
}

// threadsLeft reports whether a process whose first thread is dead has others, which still hold its files and so its
// pidfile's lock.
func threadsLeft(pid int) bool {
	stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return false
	}
	for _, name := range stats {
		text, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		state := strings.TrimSpace(string(text[bytes.LastIndexByte(text, ')')+1:]))
		if state != "" && state[0] != 'Z' && state[0] != 'X' {
			return true
		}
	}
	return false
}

// foreign reports whether a process runs in a container: in another PID namespace
// than PID 1.
func foreign(pid int) bool {
	theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
	if err != nil {
		return false
	}
	ours, err := os.Readlink("/proc/1/ns/pid")
	if err != nil { // only root may read it
		ours, err = os.Readlink("/proc/self/ns/pid")
	}
	return err == nil && theirs != ours
}
