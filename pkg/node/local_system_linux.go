package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ProcRoot is where the processes of the host at root are visible: in its proc if mounted there, else in ours.
func ProcRoot(root string) string {
	return kernelRoot(root, "/proc", unix.PROC_SUPER_MAGIC)
}

func kernelRoot(root, dir string, magic int64) string {
	var st unix.Statfs_t
	if at := filepath.Join("/", root, dir); root != "" && unix.Statfs(at, &st) == nil && int64(st.Type) == magic { //nolint:unconvert // differs by architecture
		return at
	}
	return dir
}

// readKernel reads a kernel file below /proc or /sys.
func (l *local) readKernel(path string) (b []byte, err error) {
	inside := func() error {
		if rest, ok := strings.CutPrefix(path, "/proc/net/"); ok { // a link to the first thread's
			path = "/proc/thread-self/net/" + rest
		}
		b, err = readBounded(path, maxFile)
		return err
	}
	switch {
	case strings.HasPrefix(path, "/proc/net/"), strings.HasPrefix(path, "/proc/sys/net/"):
		return b, l.inside(inside)
	case strings.HasPrefix(path, "/proc/"):
		path = ProcRoot(l.HostRoot) + strings.TrimPrefix(path, "/proc")
	default:
		path = kernelRoot(l.HostRoot, "/sys", unix.SYSFS_MAGIC) + strings.TrimPrefix(path, "/sys")
	}
	return readBounded(path, maxFile)
}

// run executes a command of the host: with a host root, in the host itself.
func (l *local) run(ctx context.Context, name string, args ...string) ([]byte, error) {
	if l.HostRoot == "" {
		return run(ctx, name, args...)
	}
	for _, dir := range []string{"/usr/bin", "/bin", "/usr/sbin", "/sbin"} {
		if fi, err := os.Stat(Resolve(l.HostRoot, filepath.Join(dir, name))); err == nil && fi.Mode()&0o111 != 0 {
			return run(ctx, "chroot", append([]string{l.HostRoot, filepath.Join(dir, name)}, args...)...)
		}
	}
	return nil, fmt.Errorf("%s: %w", name, exec.ErrNotFound)
}

func (l *local) Space(_ context.Context, path string) (Space, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(Resolve(l.HostRoot, path), &st); err != nil {
		return Space{}, &fs.PathError{Op: "statfs", Path: path, Err: err}
	}
	return Space{Size: int64(st.Blocks) * int64(st.Frsize), Free: int64(st.Bavail) * int64(st.Frsize)}, nil //nolint:unconvert // uint32 on s390x
}

func (l *local) Processes(ctx context.Context) ([]Process, error) {
	proc := ProcRoot(l.HostRoot)
	host, err := l.netns()
	if err == nil && host.path == "" {
		host, err = statNetns("/proc/thread-self/ns/net")
	}
	if err != nil {
		return nil, fmt.Errorf("processes of %s: %w", l.Name(), err)
	}
	pids, err := daemonPIDs(proc)
	if err != nil {
		return nil, fmt.Errorf("processes of %s: %w", l.Name(), err)
	}
	ours := l.runDirs()
	var buf []byte
	read := func(pid, name string) string {
		b, err := readProc(filepath.Join(proc, pid, name), buf)
		if err != nil {
			return "" // the process is gone or not visible
		}
		buf = b[:0]
		return string(b)
	}
	link := func(pid, name string) string {
		to, _ := os.Readlink(filepath.Join(proc, pid, name))
		return to
	}
	boot := bootTime(read("", "stat"))
	firstCgroup, firstPidNS := mainCgroup(read("1", "cgroup")), link("1", "ns/pid")
	if firstPidNS == "" { // not visible
		firstPidNS = link("self", "ns/pid")
	}
	var list []Process
	for _, pid := range pids {
		at := strconv.Itoa(pid)
		p := Process{PID: pid, Args: splitArgs(read(at, "cmdline"))}
		var ok bool
		if p.Name, ok = daemonProgram(p.Args); !ok {
			continue
		}
		p.RunDir = runDirOf(p.Name, strings.SplitSeq(read(at, "environ"), "\x00"))
		ns, err := statNetns(filepath.Join(proc, at, "ns/net"))
		if err != nil {
			continue
		}
		if (ns.dev != host.dev || ns.ino != host.ino) && !ours.have(filepath.Join(proc, at, "root"), p.RunDir) {
			continue
		}
		p.Exe, p.Deleted = strings.CutSuffix(link(at, "exe"), " (deleted)")
		p.Cgroup = mainCgroup(read(at, "cgroup"))
		p.Container = contained(p.Cgroup, firstCgroup, link(at, "ns/pid"), firstPidNS)
		p.State, p.Started = parseStat(read(at, "stat"), boot)
		list = append(list, p)
	}
	sortProcesses(list)
	return list, ctx.Err()
}

// daemonPIDs lists the processes whose name may be a daemon's. A host has thousands of others.
func daemonPIDs(proc string) ([]int, error) {
	dir, err := os.Open(proc)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var pids []int
	var comm []byte
	threads := kernelThreads(proc)
	for _, name := range names {
		pid, ok := parsePID(name)
		if !ok || threads[name] {
			continue
		}
		if comm, err = readProc(proc+"/"+name+"/comm", comm[:0]); err == nil && daemonComm(strings.TrimSpace(string(comm))) {
			pids = append(pids, pid)
		} // else it is another's, gone, or not visible
	}
	return pids, nil
}

// kernelThreads are the children of kthreadd, always process 2 where visible: often most of a host's processes. It
// is empty where the kernel does not list children.
func kernelThreads(proc string) map[string]bool {
	threads := map[string]bool{}
	if comm, err := readProc(proc+"/2/comm", nil); err != nil || string(comm) != "kthreadd\n" {
		return threads
	}
	list, _ := readProc(proc+"/2/task/2/children", nil)
	for pid := range strings.FieldsSeq(string(list)) {
		threads[pid] = true
	}
	return threads
}

// readProc appends to b a file that the kernel generates on read, without os.File's overhead for regular files:
// they are read by the hundred.
func readProc(path string, b []byte) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return b, err
	}
	defer unix.Close(fd) //nolint:errcheck // only read
	for len(b) <= maxFile {
		b = slices.Grow(b, 512)
		n, err := unix.Read(fd, b[len(b):cap(b)])
		if err != nil || n == 0 {
			return b, err
		}
		b = b[:len(b)+n]
	}
	return b, fmt.Errorf("%s: larger than %d bytes", path, maxFile)
}

// runDirs are the host's run directories.
type runDirs []fs.FileInfo

func (l *local) runDirs() runDirs {
	var dirs runDirs
	for _, dir := range []string{l.OVSRunDir, l.OVNRunDir} {
		if fi, err := os.Stat(dir); err == nil {
			dirs = append(dirs, fi)
		}
	}
	return dirs
}

// have reports whether one of them is where a process with that root has its sockets.
func (dirs runDirs) have(root, dir string) bool {
	if dir == "" {
		return false
	}
	fi, err := os.Stat(Resolve(root, dir))
	return err == nil && slices.ContainsFunc(dirs, func(own fs.FileInfo) bool { return os.SameFile(own, fi) })
}

func (l *local) Features(_ context.Context, link string) (features map[string]bool, err error) {
	if !validLink(link) {
		return nil, badName("link", link)
	}
	err = l.inside(func() error {
		features, err = readFeatures(link)
		return err
	})
	if errors.Is(err, unix.ENODEV) {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, fmt.Errorf("offloads of %s: %w", link, err)
	}
	return features, nil
}
