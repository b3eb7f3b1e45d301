package lab

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"
)

// serveAll answers on [Ports], TCP and UDP, in every pod, on every node and on the internet host.
func serveAll(s *State) error {
	for _, host := range s.Topology.hosts() {
		err := s.InNamespace(host, func() error { return serve(host) })
		if err != nil {
			return err
		}
	}
	return nil
}

// hosts are all places that answer probes.
func (t Topology) hosts() []string {
	hosts := []string{internet}
	for _, n := range t.Nodes {
		hosts = append(hosts, n.Name)
	}
	for _, p := range t.Pods {
		hosts = append(hosts, p.Name)
	}
	return hosts
}

func serve(host string) error {
	for _, port := range Ports {
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
			go serveUDP(c, host)
		}
	}
	return nil
}

// serveTCP answers each line with the same line and the host's name.
func serveTCP(l net.Listener, host string) {
	for {
		c, err := l.Accept()
		if err != nil {
			time.Sleep(10 * time.Millisecond) // out of file descriptors, perhaps; the listener itself lives as long as the keeper
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

// serveUDP answers each datagram with the same bytes and the host's name.
func serveUDP(c net.PacketConn, host string) {
	buf := make([]byte, 2048)
	for {
		n, from, err := c.ReadFrom(buf)
		if err != nil {
			time.Sleep(time.Millisecond) // an ICMP error for an earlier answer
			continue
		}
		_, _ = c.WriteTo(append(buf[:n:n], " "+host...), from)
	}
}
