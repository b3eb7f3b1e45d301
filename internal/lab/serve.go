package lab

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// serveAll replies on the topology's ports, TCP and UDP, in every pod, on every node, on the internet host and on the fabric.
func serveAll(s *State) error {
	for _, host := range s.Topology.hosts() {
		err := s.InNamespace(host, func() error { return serve(host, s.Topology.ports()) })
		if err != nil {
			return err
		}
	}
	return nil
}

// hosts returns everything that replies to probes.
func (t Topology) hosts() []string {
	hosts := []string{fabric, internet}
	for _, n := range t.Nodes {
		hosts = append(hosts, n.Name)
	}
	for _, p := range t.Pods {
		if p.In == "" {
			hosts = append(hosts, p.Name)
		}
	}
	return hosts
}

// ports returns the ports on which hosts reply.
func (t Topology) ports() []int {
	if len(t.Ports) > 0 {
		return t.Ports
	}
	return Ports
}

func serve(host string, ports []int) error {
	for _, port := range ports {
		address := net.JoinHostPort("", strconv.Itoa(port))
		l, err := net.Listen("tcp", address)
		if err != nil {
			return fmt.Errorf("serve on %s: %w", host, err)
		}
		go serveTCP(l, host)
		for _, network := range []string{"udp4", "udp6"} {
			c, err := net.ListenPacket(network, address)
			if err != nil {
				return fmt.Errorf("serve on %s: %w", host, err)
			}
			if err := askWhere(c.(*net.UDPConn), network); err != nil {
				return fmt.Errorf("serve on %s: %w", host, err)
			}
			go serveUDP(c.(*net.UDPConn), host)
		}
	}
	return nil
}

// serveTCP replies to each line with the same line and the host's name.
func serveTCP(l net.Listener, host string) {
	for {
		c, err := l.Accept()
		if err != nil {
			time.Sleep(10 * time.Millisecond) // perhaps out of file descriptors; the listener lives as long as the keeper
			continue
		}
		go func() {
			defer func() { _ = c.Close() }()
			_ = c.SetDeadline(time.Now().Add(10 * time.Second))
			line, err := bufio.NewReader(io.LimitReader(c, 1024)).ReadString('\n')
			if err == nil {
				_, _ = fmt.Fprintf(c, "%s %s\n", line[:len(line)-1], host)
			}
		}()
	}
}

// serveUDP replies to each datagram with the same bytes and the host's name, from the address it was sent to: otherwise
// a host with several addresses would reply from the one the route prefers.
func serveUDP(c *net.UDPConn, host string) {
	buf, control := make([]byte, 2048), make([]byte, 128)
	for {
		n, cn, _, from, err := c.ReadMsgUDP(buf, control)
		if err != nil {
			time.Sleep(time.Millisecond) // an ICMP error for an earlier reply
			continue
		}
		_, _, _ = c.WriteMsgUDP(append(buf[:n:n], " "+host...), replyFrom(control[:cn]), from)
	}
}

// askWhere makes a socket report a datagram's destination address (ip(7), ipv6(7)).
func askWhere(c *net.UDPConn, network string) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var set error
	err = raw.Control(func(fd uintptr) {
		if network == "udp4" {
			set = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_PKTINFO, 1)
			return
		}
		set = unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_RECVPKTINFO, 1)
	})
	return errors.Join(err, set)
}

// replyFrom turns a datagram's control message into one that sends the reply from the same address, by any link.
func replyFrom(control []byte) []byte {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return nil
	}
	for _, m := range messages {
		switch {
		case m.Header.Level == unix.IPPROTO_IP && m.Header.Type == unix.IP_PKTINFO && len(m.Data) >= unix.SizeofInet4Pktinfo:
			info := &unix.Inet4Pktinfo{Spec_dst: [4]byte(m.Data[8:12])}
			return unix.PktInfo4(info)
		case m.Header.Level == unix.IPPROTO_IPV6 && m.Header.Type == unix.IPV6_PKTINFO && len(m.Data) >= unix.SizeofInet6Pktinfo:
			info := &unix.Inet6Pktinfo{Addr: [16]byte(m.Data[:16])}
			return unix.PktInfo6(info)
		}
	}
	return nil
}
