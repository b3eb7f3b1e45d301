package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"

	"github.com/vishvananda/netlink"
)

func (l *local) Pod(ctx context.Context, link string) (*PodNet, error) {
	pod, err := l.pod(ctx, link)
	if err != nil {
		return nil, fmt.Errorf("pod behind %s: %w", link, err)
	}
	return pod, nil
}

func (l *local) pod(ctx context.Context, link string) (*PodNet, error) {
	there, here, err := l.podNetns(ctx, link)
	if err != nil {
		return nil, err
	}
	pod := &PodNet{Netns: there.name}
	err = there.inside(func() (err error) {
		if pod.Network, err = readNetwork(""); err != nil {
			return err
		}
		pod.Sockets = readSockets()
		if chains, err := readFirewall(ctx); err == nil {
			pod.Firewall = emptyNotNull(chains)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	pod.route = func(_ context.Context, q RouteQuery) (r *Route, err error) {
		err = there.inside(withHandle(func(h *netlink.Handle) (err error) {
			r, err = router{h}.lookup(q)
			return err
		}))
		if err != nil {
			return nil, fmt.Errorf("route lookup for %s in %s: %w", q, there.name, err)
		}
		return r, nil
	}
	return pod, pod.findLink(here)
}

func (l *local) Sockets(context.Context) (list []Socket, err error) {
	err = l.inside(func() error {
		if list = readSockets(); list == nil {
			return unavailable("sockets of %s: /proc/net cannot be read", l.Name())
		}
		return nil
	})
	return list, err
}

// readSockets reads the sockets of the thread's namespace; nil if they are not readable.
func readSockets() []Socket {
	var list []Socket
	for i, table := range socketTables {
		text, err := readProc("/proc/thread-self/net/"+table.name, nil)
		if err != nil && i == 0 {
			return nil
		}
		list = append(list, parseSockets(string(text), table.protocol, table.state)...)
	}
	return emptyNotNull(list)
}

// findNetns finds the namespace that h's namespace calls nsid, among the named ones and those of visible
// processes. It caches the numbers of all it meets: a node has a hundred pods.
func (l *local) findNetns(ctx context.Context, h *netlink.Handle, nsid int) (netnsFile, error) {
	l.spaces.Lock()
	defer l.spaces.Unlock()
	if f, ok := l.spaces.peers[nsid]; ok {
		if id, err := f.idSeenFrom(h); err == nil && id == nsid {
			return f, nil
		}
	}
	l.spaces.peers = map[int]netnsFile{}
	seen := map[netnsFile]bool{}
	var denied error
	patterns := []string{"run/netns/*", "var/run/docker/netns/*", "proc/[0-9]*/ns/net"}
	for i := range patterns {
		patterns[i] = filepath.Join(l.HostRoot, "/", patterns[i])
	}
	if l.HostRoot != "" {
		// The host's root may hold no procfs while its namespaces are visible here: the number identifies the
		// namespace.
		patterns = append(patterns, "/run/netns/*", "/proc/[0-9]*/ns/net")
	}
	for _, pattern := range patterns {
		paths, _ := filepath.Glob(pattern)
		for _, path := range paths {
			if ctx.Err() != nil {
				return netnsFile{}, ctx.Err()
			}
			f, err := statNetns(path)
			if errors.Is(err, fs.ErrPermission) {
				denied = fmt.Errorf("%w: run as root", err)
			}
			identity := netnsFile{dev: f.dev, ino: f.ino}
			if err != nil || seen[identity] {
				continue
			}
			seen[identity] = true
			if id, err := f.idSeenFrom(h); err == nil && id >= 0 {
				l.spaces.peers[id] = f
			}
		}
		if f, ok := l.spaces.peers[nsid]; ok {
			return f, nil
		}
	}
	if denied != nil {
		return netnsFile{}, denied
	}
	return netnsFile{}, fmt.Errorf("network namespace %d is neither in /run/netns nor of a process seen here: %w", nsid, syscall.ENOENT)
}
