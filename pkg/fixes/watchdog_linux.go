package fixes

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A watchdog rolls back a run, or its undo, unless it is confirmed in time, even if ovnctl, the login and the
// connection are gone by then. It runs in the host's PID namespace and outside the login's control group: as a
// transient systemd unit, or as a process that leaves both.

// watchStage selects the part of its start that a watchdog carries out.
const watchStage = "OVNCTL_WATCH_STAGE"

// A post is where a watchdog reports that it is running, or why not.
type post struct {
	Process
	Error string `json:"error,omitempty"`
}

func (j *Journal) post(id int) string { return filepath.Join(j.dir, fmt.Sprintf("%05d.watch", id)) }

// Arm starts the watchdog of a run: ovnctl itself with args and the run's number,
// which call [Journal.Watch]. It is running when Arm returns.
func (j *Journal) Arm(ctx context.Context, t *Target, args []string, id int) error {
	if err := watchable(t); err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	if err := j.reserve(id); err != nil {
		return err
	}
	args = append(slices.Clone(args), strconv.Itoa(id))
	var start *exec.Cmd
	if t.transient() {
		words := []string{"--quiet", "--collect", "--unit", fmt.Sprintf("ovnctl-watchdog-%d-%d", id, os.Getpid()), "--setenv=" + watchStage + "=watch"}
		for _, e := range environment() {
			words = append(words, "--setenv="+e)
		}
		start = exec.CommandContext(ctx, "systemd-run", append(append(words, "--", program), args...)...)
	} else {
		start = exec.Command(program, args...)
		start.Env = append(environment(), watchStage+"=leave")
		start.Dir = "/"
		start.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	if out, err := start.CombinedOutput(); err != nil {
		return fmt.Errorf("start it: %w: %s", err, strings.TrimSpace(string(out)))
	}
	var p post
	within, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	err = wait(within, 20*time.Millisecond, func() (bool, error) {
		p = j.reported(id)
		return p != post{}, nil
	})
	switch {
	case err != nil:
		return fmt.Errorf("it did not report: %w", err)
	case p.Error != "":
		return errors.New(p.Error)
	case !p.alive():
		return errors.New("it ended at once")
	}
	return nil
}

// environment returns what a watchdog needs to know.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(e string) bool {
		return !strings.HasPrefix(e, "OVS_") && !strings.HasPrefix(e, "OVN_") && !strings.HasPrefix(e, "PATH=")
	})
}

// reported returns the report of a run's watchdog; zero if none yet.
func (j *Journal) reported(id int) (p post) {
	if text, err := os.ReadFile(j.post(id)); err == nil {
		_ = json.Unmarshal(text, &p)
	}
	return p
}

// watched reports whether the watchdog of a run is running.
func (j *Journal) watched(id int) bool {
	p := j.reported(id)
	return p != post{} && p.Error == "" && p.alive()
}

// The inode numbers of the kernel's initial namespaces.
const (
	firstPIDNamespace    = "pid:[4026531836]"
	firstCgroupNamespace = "cgroup:[4026531835]"
)

// watchable returns why no watchdog can run on this host, nil if one can.
func watchable(t *Target) error {
	ours, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return err
	}
	theirs, err := os.Readlink(filepath.Join("/", t.Root, "proc/1/ns/pid"))
	if err != nil { // the root has no /proc of its own
		theirs = firstPIDNamespace
		foreign := errors.Is(err, fs.ErrPermission) && os.Geteuid() == 0 // the /proc is of another namespace
		if t.Root == "" && !foreign {
			theirs = ours
		}
	}
	if ours != theirs && ours != firstPIDNamespace {
		return errors.New("ovnctl runs in its own PID namespace, and a watchdog would end with it\nhint: run it on the host, or in a pod with hostPID")
	}
	return nil
}

// Survives returns why no watchdog started here would outlive this process and its login, nil if one would. It moves this
// process out of the login's control groups.
func Survives(root string) error {
	t := &Target{Root: root}
	if err := watchable(t); err != nil || t.transient() {
		return err
	}
	return leaveCgroups()
}

// transient reports whether systemd can start a unit in our namespaces.
func (t *Target) transient() bool {
	if t.Root != "" && t.Root != "/" || !t.systemd() {
		return false
	}
	for _, ns := range []string{"net", "mnt", "pid"} {
		ours, err := os.Readlink("/proc/self/ns/" + ns)
		theirs, err2 := os.Readlink("/proc/1/ns/" + ns)
		if err != nil || err2 != nil || ours != theirs {
			return false
		}
	}
	_, err := exec.LookPath("systemd-run")
	return err == nil
}

// Watch is the watchdog: it returns when the run is over. Open is called first,
// while the network is still whole.
func (j *Journal) Watch(ctx context.Context, id int, open func(context.Context) (*Target, error)) error {
	if os.Getenv(watchStage) == "leave" {
		return j.leave(id)
	}
	p := post{Process: thisProcess(0)}
	t, err := open(ctx)
	if err != nil {
		p.Error = err.Error()
	}
	if err := errors.Join(err, j.report(id, p)); err != nil {
		return err
	}
	defer func() { _ = os.Remove(j.post(id)) }()
	start := time.Now()
	last, seen := start, 0 // when the last event was seen here: the clock by which it was written may be set meanwhile
	for {
		r, err := j.run(id)
		if err != nil {
			return err
		}
		if !r.armed() {
			return nil
		}
		p := r.process()
		limit := start.Add(p.within() + grace)
		if len(r.Events) != seen {
			last, seen = time.Now(), len(r.Events)
		}
		if s := r.State(); s == Verified || s == TakenBack {
			limit = last.Add(p.within() + time.Second)
		}
		alive := p.alive()
		if !alive || time.Now().After(limit) {
			reason, why := CutOff, "the run was cut off"
			if alive {
				reason, why = NotConfirmed, "not confirmed in time"
				_ = syscall.Kill(p.PID, syscall.SIGKILL)
			}
			if done, err := j.rescue(ctx, id, t, reason, why); done || err != nil {
				return err
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// grace is how long a run's steps and check may take, before the time to confirm.
const grace = 30 * time.Second

// rescue rolls the run back, or restores it if it was being undone. It reports whether the watchdog is done: another
// run may be at it.
func (j *Journal) rescue(ctx context.Context, id int, t *Target, reason Reason, why string) (bool, error) {
	if err := j.Lock(ctx); err != nil {
		return false, nil
	}
	defer j.Unlock()
	r, err := j.run(id)
	if err != nil || !r.armed() {
		return true, err
	}
	t.process = strconv.Itoa(id)
	e := &engine{Journal: j, t: t, run: r}
	if r.undoer() != nil {
		err = e.redo(ctx, reason, why)
	} else {
		err = e.revert(ctx, reason, why)
	}
	return !errors.Is(err, errNow), nil
}

// postSize is the size of every post.
const postSize = 512

// reserve makes an empty post. On a full disk Arm then fails, rather than a watchdog that cannot report it.
func (j *Journal) reserve(id int) error {
	if err := ignoreMissing(os.Remove(j.post(id))); err != nil {
		return err
	}
	text := append([]byte("{}"), bytes.Repeat([]byte(" "), postSize-2)...)
	if err := os.WriteFile(j.post(id), text, 0o600); err != nil {
		return errors.Join(err, os.Remove(j.post(id)))
	}
	return nil
}

// report fills in the post made by Arm.
func (j *Journal) report(id int, p post) error {
	p.Error = p.Error[:min(len(p.Error), postSize/2)]
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(j.post(id), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(append(text, bytes.Repeat([]byte(" "), max(0, postSize-len(text)))...), 0)
	return errors.Join(err, f.Close())
}

// leave moves the process out of the login's control groups, and starts the watchdog as an orphan in a session of its
// own.
func (j *Journal) leave(id int) error {
	err := leaveCgroups()
	if err == nil {
		exe, exeErr := os.Executable()
		if exeErr != nil {
			return exeErr
		}
		next := exec.Command(exe, os.Args[1:]...)
		next.Dir = "/"
		next.Env = append(os.Environ(), watchStage+"=watch")
		next.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err = next.Start(); err == nil {
			return nil
		}
	}
	return j.report(id, post{Error: err.Error()})
}

// leaveCgroups moves this process to the root of every hierarchy that it is not in yet. One that was put into a container stays in
// its control groups: it cannot leave them, and they end with the container, not with the login.
func leaveCgroups() error {
	if putIntoContainer() {
		return nil
	}
	mounts, err := cgroupMounts()
	if err != nil {
		return err
	}
	inside, err := cgroupsOf("self")
	if err != nil {
		return err
	}
	for hierarchy, at := range inside {
		if outermost(at) {
			continue
		}
		failed := errors.New("not mounted")
		for _, m := range mounts[hierarchy] {
			if failed = os.WriteFile(filepath.Join(m, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())+"\n"), 0); failed == nil {
				break
			}
		}
		if failed != nil {
			failed = leaveUnmounted(hierarchy)
		}
		if now, err := cgroupsOf("self"); err != nil || !outermost(now[hierarchy]) {
			if hierarchy == "" {
				hierarchy = "unified"
			}
			return fmt.Errorf("the watchdog cannot leave the control group %s of hierarchy %s, and would end with the login: %w", at, hierarchy, cmp.Or(errors.Join(err, failed), errNamespace))
		}
	}
	return nil
}

// errNamespace is why a control group is left and / is still not the host's.
var errNamespace = errors.New("it is in a namespace of its own")

// putIntoContainer reports whether this process was started from outside in a container that is a node, as docker exec and
// lxc-attach do: none of its ancestors is the container's first process, with which the container ends. One with the host's
// network is no node: it may be replaced while the host goes on, and the journal with it.
func putIntoContainer() bool {
	if ns, err := os.Readlink("/proc/self/ns/pid"); err != nil || ns == firstPIDNamespace || hostNetwork() {
		return false
	}
	for pid := os.Getpid(); ; {
		parent, err := parentOf(pid)
		switch {
		case err != nil || parent == 1 || pid == 1:
			return false
		case parent == 0:
			return true
		}
		pid = parent
	}
}

// hostNetwork reports whether this process is in the kernel's first network namespace, or may be: there alone /proc/sys/net has
// what holds for all of them.
func hostNetwork() bool {
	_, err := os.Stat("/proc/sys/net/core/netdev_max_backlog")
	return !errors.Is(err, fs.ErrNotExist)
}

// parentOf returns the parent of a process, 0 if that is outside its PID namespace.
func parentOf(pid int) (int, error) {
	fields := statOf(pid)
	if len(fields) < 2 {
		return 0, fmt.Errorf("process %d: it has ended", pid)
	}
	return strconv.Atoi(fields[1])
}

// leaveUnmounted leaves a hierarchy missing from this mount namespace: it mounts it where no other process sees it.
func leaveUnmounted(hierarchy string) error {
	left := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with its namespace
		left <- func() error {
			if err := syscall.Unshare(syscall.CLONE_NEWNS); err != nil {
				return err
			}
			if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
				return err
			}
			const place = "/sys/fs" // always exists; hidden from this thread alone
			kind, option := "cgroup2", ""
			if hierarchy != "" {
				kind, option = "cgroup", hierarchy
			}
			if err := syscall.Mount(kind, place, kind, 0, option); err != nil {
				return fmt.Errorf("mount it: %w", err)
			}
			return os.WriteFile(place+"/cgroup.procs", []byte(strconv.Itoa(os.Getpid())+"\n"), 0)
		}()
	}()
	return <-left
}

// outermost reports whether a control group is the whole host's. In a cgroup namespace / is where the namespace begins.
func outermost(group string) bool {
	if ns, err := os.Readlink("/proc/self/ns/cgroup"); err == nil && ns != firstCgroupNamespace {
		return strings.HasPrefix(group, "/..")
	}
	return group == "/"
}

// cgroupsOf returns a process's control groups by hierarchy: the version 1 controllers as the kernel names them, empty
// for version 2.
func cgroupsOf(pid string) (map[string]string, error) {
	text, err := os.ReadFile("/proc/" + pid + "/cgroup")
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) == 3 {
			all[parts[1]] = parts[2]
		}
	}
	return all, nil
}

// cgroupMounts returns where each hierarchy is mounted, outermost first.
func cgroupMounts() (map[string][]string, error) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	found := map[string][]string{}
	roots := map[string]string{}
	for line := range strings.Lines(string(text)) {
		left, right, ok := strings.Cut(line, " - ")
		mount, source := strings.Fields(left), strings.Fields(right)
		if !ok || len(mount) < 5 || len(source) < 3 {
			continue
		}
		roots[mount[4]] = mount[3]
		switch source[0] {
		case "cgroup2":
			found[""] = append(found[""], mount[4])
		case "cgroup":
			controllers := slices.DeleteFunc(strings.Split(source[2], ","), func(option string) bool { return option == "rw" || option == "ro" })
			name := strings.Join(controllers, ",")
			found[name] = append(found[name], mount[4])
		}
	}
	for _, places := range found {
		slices.SortStableFunc(places, func(a, b string) int { // "/../.." is above "/", and "/" above "/user.slice"
			return rank(roots[a]) - rank(roots[b])
		})
	}
	return found, nil
}

func rank(root string) int {
	if n := strings.Count(root, "/.."); n > 0 {
		return -n
	}
	return len(root)
}
