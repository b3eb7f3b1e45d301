package node

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
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
		pod.Network.Sysctl = map[string]string{}
		paths := append(echoIgnored[:], defaultTTL, hopLimit("all"), hopLimit("default"))
		for _, l := range pod.Network.Links {
			paths = append(paths, hopLimit(l.Name))
		}
		for _, path := range paths {
			if text, err := readProc("/proc/sys/"+path, nil); err == nil {
				pod.Network.Sysctl[path] = strings.TrimSpace(string(text))
			}
		}
		pod.Sockets = readSockets()
		if chains, err := readFirewall(ctx); err == nil {
			pod.Firewall = emptyNotNull(chains)
		}
		if err := pod.findLink(here); err != nil {
			return err
		}
		if features, err := readFeatures(pod.Link.Name); err == nil {
			pod.LeavesChecksums = leavesChecksums(features)
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
	return pod, nil
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
	list := []Socket{}
	for _, p := range receiving {
		sockets, err := p.diagnosed()
		if err != nil { // no tcp_diag or udp_diag in this kernel
			if sockets, err = p.listed(); err != nil {
				return nil
			}
		}
		list = append(list, sockets...)
	}
	return sortSockets(list)
}

// receiving are the protocols, and the state of sockets that receive.
var receiving = []receivers{{"tcp", unix.IPPROTO_TCP, 10}, {"udp", unix.IPPROTO_UDP, 7}} // TCP_LISTEN, TCP_CLOSE

type receivers struct {
	name   string
	number uint8
	state  uint8
}

// listed reads the sockets of the thread's namespace from /proc/net. To list those of TCP the kernel walks the host's table of all
// connections, half a million buckets, for each namespace again.
func (p receivers) listed() ([]Socket, error) {
	var list []Socket
	for _, table := range socketTables {
		if table.protocol != p.name {
			continue
		}
		text, err := readProc("/proc/thread-self/net/"+table.name, nil)
		if err != nil && table.name == p.name {
			return nil, err
		}
		list = append(list, parseSockets(string(text), table.protocol, table.state)...)
	}
	return list, nil
}

// diagnosed reads the sockets of the thread's namespace by sock_diag(7).
func (p receivers) diagnosed() ([]Socket, error) {
	const v6only = 11 // INET_DIAG_SKV6ONLY
	var list []Socket
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		req := nl.NewNetlinkRequest(nl.SOCK_DIAG_BY_FAMILY, unix.NLM_F_DUMP)
		// struct inet_diag_req_v2: family, protocol, extensions, padding, states, and an empty socket identity
		question := binary.NativeEndian.AppendUint32([]byte{family, p.number, 0, 0}, 1<<p.state)
		req.AddRawData(append(question, make([]byte, 48)...))
		msgs, err := req.Execute(unix.NETLINK_INET_DIAG, nl.SOCK_DIAG_BY_FAMILY)
		if err != nil {
			return nil, err
		}
		for _, m := range msgs {
			// struct inet_diag_msg: family, state, timer, retransmissions, then ports and addresses in network order, the interface,
			// a cookie and five numbers; then attributes
			const size = 72
			if len(m) < size {
				return nil, fmt.Errorf("sock_diag: a reply of %d bytes", len(m))
			}
			address := m[8:12]
			if m[0] == unix.AF_INET6 {
				address = m[8:24]
			}
			a, _ := netip.AddrFromSlice(address)
			s := Socket{Protocol: p.name, Local: netip.AddrPortFrom(a.Unmap(), binary.BigEndian.Uint16(m[4:]))}
			if link := binary.NativeEndian.Uint32(m[40:]); link != 0 {
				if i, err := net.InterfaceByIndex(int(link)); err == nil {
					s.Link = i.Name
				}
			}
			s.Full = p.name == "tcp" && binary.NativeEndian.Uint32(m[56:]) > binary.NativeEndian.Uint32(m[60:])
			attributes, err := nl.ParseRouteAttr(m[size:])
			if err != nil {
				return nil, fmt.Errorf("sock_diag: %w", err)
			}
			s.V6Only = a == netip.IPv6Unspecified() && slices.ContainsFunc(attributes, func(x syscall.NetlinkRouteAttr) bool {
				return x.Attr.Type == v6only && len(x.Value) == 1 && x.Value[0] == 1
			})
			if !slices.Contains(list, s) {
				list = append(list, s)
			}
		}
	}
	return list, nil
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
