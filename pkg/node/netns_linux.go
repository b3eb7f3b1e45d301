package node

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

func statNetns(path string) (netnsFile, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return netnsFile{}, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	f := netnsFile{path: path, dev: st.Dev, ino: st.Ino}
	// A short name to display: pod1 for /run/netns/pod1, /proc/1/ns/net.
	if strings.Contains(path, "/netns/") {
		f.name = filepath.Base(path)
	} else {
		f.name = path[max(strings.LastIndex(path, "/proc/"), 0):]
	}
	return f, nil
}

func (f netnsFile) open() (netns.NsHandle, error) {
	ns, err := netns.GetFromPath(f.path)
	if err != nil {
		return ns, fmt.Errorf("network namespace %s: %w", f.name, err)
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(ns), &st); err != nil || st.Dev != f.dev || st.Ino != f.ino {
		_ = ns.Close()
		return netns.None(), fmt.Errorf("network namespace %s: gone", f.name)
	}
	return ns, nil
}

// idSeenFrom is the number by which the namespace of h knows f, negative if it does not.
func (f netnsFile) idSeenFrom(h *netlink.Handle) (int, error) {
	ns, err := f.open()
	if err != nil {
		return -1, err
	}
	defer ns.Close() //nolint:errcheck // only read
	return h.GetNetNsIdByFd(int(ns))
}

// inside runs do in the namespace: the sockets it opens, the commands it starts and the files below /proc/sys/net
// it reads belong to the namespace.
func (f netnsFile) inside(do func() error) error {
	if f.path == "" {
		return do()
	}
	ns, err := f.open()
	if err != nil {
		return err
	}
	defer ns.Close() //nolint:errcheck // only read
	result := make(chan error, 1)
	go func() {
		// The thread ends with this goroutine: it is never unlocked, so no other goroutine can end up in the
		// namespace.
		runtime.LockOSThread()
		if err := netns.Set(ns); err != nil {
			result <- fmt.Errorf("network namespace %s: %w: run as root", f.name, err)
			return
		}
		result <- do()
	}()
	return <-result
}

// withHandle runs do with a netlink handle of the current namespace.
func withHandle(do func(*netlink.Handle) error) func() error {
	return func() error {
		h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
		if err != nil {
			return err
		}
		defer h.Close()
		if err := h.SetSocketTimeout(defaultTimeout); err != nil {
			return err
		}
		return do(h)
	}
}

// inside runs do in the host's network: in the namespace of ovs-vswitchd if visible, else of the host's first
// process.
func (l *local) inside(do func() error) error {
	f, err := l.ownOrHost()
	if err != nil {
		return err
	}
	return f.inside(do)
}

// netns is the namespace of the host's network, the zero value if it is ours. It is looked up again only when
// gone: each lookup costs ovs-vswitchd a connection, and doctor queries the kernel twenty times.
func (l *local) netns() (netnsFile, error) {
	l.spaces.Lock()
	known := l.spaces.host
	l.spaces.Unlock()
	if is, err := statNetns(known.path); err == nil && is == known {
		return known, nil
	}
	f, err := l.findHostNetns() // unlocked: it waits for daemons
	l.spaces.Lock()
	l.spaces.host = f
	l.spaces.Unlock()
	return f, err
}

func (l *local) findHostNetns() (netnsFile, error) {
	var f netnsFile
	of := func(socket string) bool {
		pid := listener(socket)
		if pid == 0 {
			return false
		}
		var err error
		f, err = statNetns(fmt.Sprintf("/proc/%d/ns/net", pid))
		return err == nil
	}
	for path := range controlSockets(l.OVSRunDir, "ovs-vswitchd") {
		if of(path) {
			return f, nil
		}
	}
	if of(filepath.Join(l.OVSRunDir, "db.sock")) {
		return f, nil
	}
	proc := ProcRoot(l.HostRoot)
	if l.HostRoot == "" || proc == "/proc" { // without a proc of its own it is the host we run on
		return netnsFile{}, nil
	}
	return statNetns(filepath.Join(proc, "1/ns/net"))
}

// listener is the PID, as numbered here, of the process listening on a socket, which no pidfile gives; 0 if there
// is none or its PID namespace is not visible.
func listener(path string) int {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	conn, err := dialUnix(ctx, path)
	if err != nil {
		return 0
	}
	defer conn.Close() //nolint:errcheck // only asked about
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return 0
	}
	var peer *unix.Ucred
	err2 := raw.Control(func(fd uintptr) { peer, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err != nil || err2 != nil {
		return 0
	}
	return int(peer.Pid)
}
