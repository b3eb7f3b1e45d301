package node

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// earBuffer holds bursts of packets until they are read.
const earBuffer = 4 << 20

// An ear is a packet(7) socket on all links of a network namespace, or a raw(7) socket, to which its kernel delivers what is for
// itself.
type ear struct {
	file  *os.File
	raw   syscall.RawConn
	links map[int]string
	pod   string // the host's link, if this is the namespace at its other end
	// Of a raw socket: AF_INET or AF_INET6, and the IP protocol.
	family, protocol int
}

func (l *local) Listen(ctx context.Context, w Watch, see func(Frame)) (*Listening, error) {
	filter := markFilter(w.Words, 8, markEnd)
	inner := markFilter(w.Words, 0, markEnd-headerIPv6) // of packets without their IPv6 header
	var ears []*ear
	closeAll := func() {
		for _, e := range ears {
			_ = e.file.Close()
		}
	}
	open := func(in netnsFile, pod string) error {
		return in.inside(func() error {
			e := &ear{pod: pod}
			if err := e.open(filter); err != nil {
				return err
			}
			ears = append(ears, e)
			for _, protocol := range w.Protocols {
				for family, filter := range map[int][]unix.SockFilter{unix.AF_INET: filter, unix.AF_INET6: inner} {
					e := &ear{pod: pod, family: family, protocol: protocol}
					err := e.openRaw(filter)
					if errors.Is(err, unix.EAFNOSUPPORT) { // a kernel without IPv6
						continue
					}
					if err != nil {
						return err
					}
					ears = append(ears, e)
				}
			}
			return nil
		})
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
	err = attach(fd, filter)
	if err == nil {
		err = os.NewSyscallError("bind", unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: htons(unix.ETH_P_ALL)}))
	}
	return e.adopt(fd, "packet socket", err)
}

// openRaw opens the raw socket in the current namespace.
func (e *ear) openRaw(filter []unix.SockFilter) error {
	fd, err := unix.Socket(e.family, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, e.protocol)
	if err != nil {
		return fmt.Errorf("raw socket: %w", err)
	}
	err = attach(fd, filter)
	if err == nil && e.family == unix.AF_INET6 {
		err = os.NewSyscallError("ask for addresses", unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1))
	}
	return e.adopt(fd, "raw socket", err)
}

func attach(fd int, filter []unix.SockFilter) error {
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, earBuffer) // else it has what others have
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	return os.NewSyscallError("attach a filter", unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &prog))
}

// adopt takes over a socket, or closes it if it could not be prepared.
func (e *ear) adopt(fd int, name string, err error) error {
	if err != nil {
		_ = unix.Close(fd)
		return err
	}
	e.file = os.NewFile(uintptr(fd), name)
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
	if e.family != 0 {
		return e.receiveRaw(fd, buf)
	}
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

const headerIPv6 = 40 // bytes

// receiveRaw receives what the kernel delivered. Of IPv6 it keeps the header to itself, ipv6(7): its addresses are put back.
func (e *ear) receiveRaw(fd int, buf []byte) (Frame, error) {
	f := Frame{Link: e.pod, Pod: e.pod != "", Delivered: true, Protocol: unix.ETH_P_IP}
	data, beside := buf, make([]byte, unix.CmsgSpace(unix.SizeofInet6Pktinfo))
	if e.family == unix.AF_INET6 {
		f.Protocol, data = unix.ETH_P_IPV6, buf[headerIPv6:]
	}
	var n, m int
	var from unix.Sockaddr
	err := error(unix.EINTR)
	for errors.Is(err, unix.EINTR) {
		n, m, _, from, err = unix.Recvmsg(fd, data, beside, 0)
	}
	if err != nil {
		return Frame{}, err
	}
	f.Data = data[:n]
	if e.family == unix.AF_INET {
		return f, nil
	}
	f.Data = buf[:headerIPv6+n]
	buf[0], buf[6] = 6<<4, byte(e.protocol)
	binary.BigEndian.PutUint16(buf[4:], uint16(n))
	if a, ok := from.(*unix.SockaddrInet6); ok {
		copy(buf[8:24], a.Addr[:])
	}
	messages, err := unix.ParseSocketControlMessage(beside[:m])
	if err != nil {
		return Frame{}, err
	}
	for _, m := range messages {
		if m.Header.Type == unix.IPV6_PKTINFO && len(m.Data) >= unix.SizeofInet6Pktinfo {
			copy(buf[24:40], m.Data)
		}
	}
	return f, nil
}

// markFilter is the classic BPF program that accepts packets with one of the words at an even offset in a range. A load beyond the
// packet's end rejects it, so offsets come in order. The kernel makes fifteen instructions of a load and, before Linux 6.7, has
// room for 2,500: a word that was loaded is compared as often as it can be, with whole words first.
func markFilter(words []Word, from, end int) []unix.SockFilter {
	const whole = ^uint32(0)
	words = slices.SortedStableFunc(slices.Values(words), func(a, b Word) int { return cmp.Compare(b.Mask, a.Mask) })
	var p []unix.SockFilter
	for at := from; at < end; at += 2 {
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

// refusedByRules returns why the current namespace does not route a packet of TCP or UDP. A raw socket's packet has neither protocol nor
// ports for ip-rule(8).
func refusedByRules(p []byte) error {
	var family, proto byte = unix.AF_INET, p[9]
	src, dst, ports := p[12:16], p[16:20], p[min(len(p), int(p[0]&15)*4):]
	if p[0]>>4 == 6 {
		family, proto = unix.AF_INET6, p[6]
		src, dst, ports = p[8:24], p[24:40], p[40:]
	}
	if proto != unix.IPPROTO_TCP && proto != unix.IPPROTO_UDP || len(ports) < 4 {
		return nil
	}
	ask := func(more ...nl.NetlinkRequestData) error {
		req := nl.NewNetlinkRequest(unix.RTM_GETROUTE, 0)
		req.AddData(&nl.RtMsg{RtMsg: unix.RtMsg{Family: family, Dst_len: uint8(8 * len(dst)), Src_len: uint8(8 * len(src))}})
		req.AddData(nl.NewRtAttr(unix.RTA_DST, dst))
		req.AddData(nl.NewRtAttr(unix.RTA_SRC, src))
		for _, m := range more {
			req.AddData(m)
		}
		_, err := req.Execute(unix.NETLINK_ROUTE, 0)
		return err
	}
	err := ask(nl.NewRtAttr(unix.RTA_IP_PROTO, []byte{proto}), nl.NewRtAttr(unix.RTA_SPORT, ports[:2]), nl.NewRtAttr(unix.RTA_DPORT, ports[2:4]))
	switch {
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EHOSTUNREACH), errors.Is(err, unix.ENETUNREACH):
		return err
	case errors.Is(err, unix.EINVAL) && ask() == nil: // a black hole
		return err
	}
	return nil
}

// sendIP sends a packet with its IP header from the current namespace, by its routes, IPsec policies and neighbours.
func sendIP(p []byte) error {
	family := unix.AF_INET
	var from, plain, to unix.Sockaddr
	var beside []byte
	switch {
	case len(p) >= 20 && p[0]>>4 == 4:
		from, plain = &unix.SockaddrInet4{Addr: [4]byte(p[12:16])}, &unix.SockaddrInet4{Addr: [4]byte(p[16:20])}
		to, beside = plain, protocolMessage(p[9])
	case len(p) >= headerIPv6 && p[0]>>4 == 6:
		family, from, plain = unix.AF_INET6, &unix.SockaddrInet6{Addr: [16]byte(p[8:24])}, &unix.SockaddrInet6{Addr: [16]byte(p[24:40])}
		to = &unix.SockaddrInet6{Addr: [16]byte(p[24:40]), Port: int(p[6])}
	default:
		return errors.New("send: not an IP packet")
	}
	if err := refusedByRules(p); err != nil {
		return fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	fd, err := unix.Socket(family, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_RAW)
	if err != nil {
		return fmt.Errorf("raw socket: %w: run as root", err)
	}
	defer unix.Close(fd)    //nolint:errcheck // nothing is left to write
	_ = unix.Bind(fd, from) // else the kernel chooses a route as if from no address; it fails for one that is not the host's
	// Rules and policies ask for the protocol, which the kernel does not read in the header. Before Linux 6.4 it cannot be told.
	err = unix.Sendmsg(fd, p, beside, to, 0)
	if errors.Is(err, unix.EINVAL) {
		err = unix.Sendto(fd, p, 0, plain)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	return nil
}

// protocolMessage tells a raw socket the protocol of a packet with its header, as IP_PROTOCOL of linux/in.h does.
func protocolMessage(protocol byte) []byte {
	b := make([]byte, unix.CmsgSpace(4))
	h := (*unix.Cmsghdr)(unsafe.Pointer(&b[0]))
	h.Level, h.Type = unix.IPPROTO_IP, unix.IP_PROTOCOL
	h.SetLen(unix.CmsgLen(4))
	binary.NativeEndian.PutUint32(b[unix.CmsgLen(0):], uint32(protocol))
	return b
}
