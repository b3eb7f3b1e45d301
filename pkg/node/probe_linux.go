package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// earBuffer holds bursts of packets until they are read.
const earBuffer = 4 << 20

// An ear is a packet(7) socket on all links of a network namespace.
type ear struct {
	file  *os.File
	raw   syscall.RawConn
	links map[int]string
	pod   string // the host's link, if this is the namespace at its other end
}

func (l *local) Listen(ctx context.Context, w Watch, see func(Frame)) (*Listening, error) {
	filter := markFilter(w.Words)
	var ears []*ear
	closeAll := func() {
		for _, e := range ears {
			_ = e.file.Close()
		}
	}
	open := func(in netnsFile, pod string) error {
		e := &ear{pod: pod}
		err := in.inside(func() error { return e.open(filter) })
		if err == nil {
			ears = append(ears, e)
		}
		return err
	}
	host, err := l.ownOrHost()
	if err == nil {
		err = open(host, "")
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", l.Name(), err)
	}
	unread := map[string]string{}
	for _, link := range w.Pods {
		there, _, err := l.podNetns(ctx, link)
		if err == nil {
			err = open(there, link)
		}
		if err != nil {
			unread[link] = err.Error()
		}
	}
	var running sync.WaitGroup
	for _, e := range ears {
		running.Go(func() { e.listen(see) })
	}
	end := func() {
		for _, e := range ears {
			_ = e.file.SetReadDeadline(time.Unix(1, 0))
		}
		running.Wait()
	}
	var once sync.Once
	timer := time.AfterFunc(w.For, end)
	return &Listening{Unread: unread, stop: func() error {
		once.Do(func() {
			timer.Stop()
			end()
			closeAll()
		})
		return nil
	}}, nil
}

// ownOrHost is the namespace of the host's network, the zero value if it is ours.
func (l *local) ownOrHost() (netnsFile, error) {
	f, err := l.netns()
	if err != nil {
		return netnsFile{}, err
	}
	ours, err := statNetns("/proc/thread-self/ns/net")
	if err == nil && ours.dev == f.dev && ours.ino == f.ino {
		return netnsFile{}, nil
	}
	return f, nil
}

func htons(v uint16) uint16 { return v<<8 | v>>8 }

// open opens the socket in the current namespace.
func (e *ear) open(filter []unix.SockFilter) error {
	links, err := net.Interfaces()
	if err != nil {
		return err
	}
	e.links = map[int]string{}
	for _, l := range links {
		e.links[l.Index] = l.Name
	}
	// Protocol 0 receives nothing until it is bound, when the filter is in place. SOCK_DGRAM strips the link-layer
	// header.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("packet socket: %w: run as root", err)
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, earBuffer) // else it has what others have
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	err = os.NewSyscallError("attach a filter", unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &prog))
	if err == nil {
		err = os.NewSyscallError("bind", unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: htons(unix.ETH_P_ALL)}))
	}
	if err != nil {
		_ = unix.Close(fd)
		return err
	}
	e.file = os.NewFile(uintptr(fd), "packet socket")
	e.raw, err = e.file.SyscallConn()
	return err
}

// listen reports packets until the socket's deadline, and then those that are still queued.
func (e *ear) listen(see func(Frame)) {
	var f Frame
	var err error
	take := func(fd uintptr) bool {
		f, err = e.receive(int(fd))
		return !errors.Is(err, unix.EAGAIN)
	}
	for range maxFrames {
		if e.raw.Read(take) != nil {
			break // the deadline
		}
		if err != nil {
			return
		}
		see(f)
	}
	_ = e.raw.Control(func(fd uintptr) {
		for n := 0; n < maxFrames && take(fd) && err == nil; n++ {
			see(f)
		}
	})
}

func (e *ear) receive(fd int) (Frame, error) {
	buf := make([]byte, frameSize)
	for {
		n, from, err := unix.Recvfrom(fd, buf, 0)
		if errors.Is(err, unix.EINTR) || errors.Is(err, unix.ENETDOWN) { // a link went down
			continue
		}
		at, ok := from.(*unix.SockaddrLinklayer)
		if err != nil || !ok {
			return Frame{}, errors.Join(err)
		}
		f := Frame{Link: e.links[at.Ifindex], Out: at.Pkttype == unix.PACKET_OUTGOING, Protocol: htons(at.Protocol), Data: buf[:n]}
		if e.pod != "" {
			f.Link, f.Pod = e.pod, true
		}
		return f, nil
	}
}

// markFilter is the classic BPF program that accepts packets with one of the words at an even offset. A load beyond the
// packet's end rejects it, so offsets come in order. The kernel makes fifteen instructions of a load and, before Linux 6.7, has
// room for 2,500: a word that was loaded is compared as often as it can be, with whole words first.
func markFilter(words []Word) []unix.SockFilter {
	const whole = ^uint32(0)
	words = slices.SortedStableFunc(slices.Values(words), func(a, b Word) int { return cmp.Compare(b.Mask, a.Mask) })
	var p []unix.SockFilter
	for at := 8; at < markEnd; at += 2 {
		var tests []unix.SockFilter
		loaded := false
		for _, w := range words {
			if !loaded {
				tests = append(tests, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: uint32(at)})
			}
			if loaded = w.Mask == whole; !loaded {
				tests = append(tests, unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: w.Mask})
			}
			tests = append(tests, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: w.Value & w.Mask})
		}
		last := len(tests) - 1
		for i := range tests { // to the acceptance behind them, which the last one skips
			if tests[i].Code == unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K {
				tests[i].Jt = uint8(last - i)
			}
		}
		tests[last].Jf = 1
		p = append(append(p, tests...), unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: frameSize})
	}
	return append(p, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K})
}

// podNetns finds the namespace at the other end of a veth, and the veth itself.
func (l *local) podNetns(ctx context.Context, link string) (there netnsFile, here Link, err error) {
	err = l.inside(withHandle(func(h *netlink.Handle) error {
		end, err := h.LinkByName(link)
		if err != nil {
			return err
		}
		here = linkOf(end, nil)
		if err := podLink(&here); err != nil {
			return err
		}
		there, err = l.findNetns(ctx, h, *here.PeerNetns)
		return err
	}))
	return there, here, err
}

func (l *local) Send(ctx context.Context, s Sending) error {
	in, err := l.ownOrHost()
	if err == nil && s.Pod != "" {
		in, _, err = l.podNetns(ctx, s.Pod)
	}
	if err != nil {
		return fmt.Errorf("send from %s: %w", l.Name(), err)
	}
	return in.inside(func() error {
		for i, p := range s.Packets {
			if i > 0 {
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(s.Interval):
				}
			}
			if err := sendIP(p); err != nil {
				return err
			}
		}
		return nil
	})
}

// sendIP sends a packet with its IP header from the current namespace, by its routes and neighbours.
func sendIP(p []byte) error {
	family, to := unix.AF_INET, unix.Sockaddr(nil)
	switch {
	case len(p) >= 20 && p[0]>>4 == 4:
		to = &unix.SockaddrInet4{Addr: [4]byte(p[16:20])}
	case len(p) >= 40 && p[0]>>4 == 6:
		family, to = unix.AF_INET6, &unix.SockaddrInet6{Addr: [16]byte(p[24:40])}
	default:
		return errors.New("send: not an IP packet")
	}
	fd, err := unix.Socket(family, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_RAW)
	if err != nil {
		return fmt.Errorf("raw socket: %w: run as root", err)
	}
	defer unix.Close(fd) //nolint:errcheck // nothing is left to write
	if err := unix.Sendto(fd, p, 0, to); err != nil {
		return fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	return nil
}
