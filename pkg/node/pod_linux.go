package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

func (l *local) Pod(ctx context.Context, link string) (*PodNet, error) {
	h, err := l.netlink()
	if err != nil {
		return nil, fmt.Errorf("pod behind %s: %w", link, err)
	}
	defer h.Close()
	end, err := h.LinkByName(link)
	if err != nil {
		return nil, fmt.Errorf("pod behind %s: %w", link, err)
	}
	here := linkOf(end, nil)
	if err := podLink(&here); err != nil {
		return nil, err
	}
	ns, err := l.findNetns(ctx, h, *here.PeerNetns)
	if err != nil {
		return nil, fmt.Errorf("pod behind %s: %w", link, err)
	}
	there, err := ns.handle()
	if err != nil {
		return nil, fmt.Errorf("pod behind %s: %s: %w", link, ns.name, err)
	}
	defer there.Close()
	pod := &PodNet{Netns: ns.name}
	if pod.Network, err = readNetwork(there); err != nil {
		return nil, fmt.Errorf("pod behind %s: %s: %w", link, ns.name, err)
	}
	if err := pod.findLink(here); err != nil {
		return nil, err
	}
	pod.route = func(_ context.Context, q RouteQuery) (*Route, error) {
		h, err := ns.handle()
		if err != nil {
			return nil, fmt.Errorf("pod behind %s: %s: %w", link, ns.name, err)
		}
		defer h.Close()
		return lookup(h, q)
	}
	return pod, nil
}

// A netnsFile is a network namespace by the file that stands for it. Handles
// are opened when needed, so that nothing stays open.
type netnsFile struct {
	path, name string
	dev, ino   uint64
}

func (f netnsFile) open() (netns.NsHandle, error) {
	ns, err := netns.GetFromPath(f.path)
	if err != nil {
		return ns, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(int(ns), &st); err != nil || uint64(st.Dev) != f.dev || st.Ino != f.ino {
		ns.Close()
		return netns.None(), errors.New("the namespace is gone")
	}
	return ns, nil
}

func (f netnsFile) handle() (*netlink.Handle, error) {
	ns, err := f.open()
	if err != nil {
		return nil, err
	}
	defer ns.Close()
	return timed(netlink.NewHandleAt(ns, unix.NETLINK_ROUTE))
}

// findNetns finds the namespace that the one of h calls nsid, among the named
// ones and those of the processes that can be seen.
func (l *local) findNetns(ctx context.Context, h *netlink.Handle, nsid int) (netnsFile, error) {
	seen := map[[2]uint64]bool{}
	var denied error
	for _, pattern := range []string{"run/netns/*", "var/run/docker/netns/*", "proc/[0-9]*/ns/net"} {
		paths, _ := filepath.Glob(filepath.Join(l.HostRoot, "/", pattern))
		for _, path := range paths {
			if ctx.Err() != nil {
				return netnsFile{}, ctx.Err()
			}
			var st unix.Stat_t
			if err := unix.Stat(path, &st); err != nil {
				if errors.Is(err, fs.ErrPermission) {
					denied = fmt.Errorf("%s: %w: run as root", path, err)
				}
				continue
			}
			f := netnsFile{path: path, dev: uint64(st.Dev), ino: st.Ino}
			if seen[[2]uint64{f.dev, f.ino}] {
				continue
			}
			seen[[2]uint64{f.dev, f.ino}] = true
			if id, err := f.idSeenFrom(h); err == nil && id == nsid {
				f.name = netnsName(path)
				return f, nil
			}
		}
	}
	if denied != nil {
		return netnsFile{}, denied
	}
	return netnsFile{}, fmt.Errorf("network namespace %d is neither in /run/netns nor of a process seen here: %w", nsid, syscall.ENOENT)
}

func (f netnsFile) idSeenFrom(h *netlink.Handle) (int, error) {
	ns, err := f.open()
	if err != nil {
		return -1, err
	}
	defer ns.Close()
	return h.GetNetNsIdByFd(int(ns))
}

// netnsName is a short name for people: pod1 of /run/netns/pod1.
func netnsName(path string) string {
	if strings.Contains(path, "/netns/") {
		return filepath.Base(path)
	}
	return path[max(strings.LastIndex(path, "/proc/"), 0):]
}
