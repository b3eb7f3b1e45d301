//go:build lab

package faults

import (
	"crypto/rand"
	"encoding/binary"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// leases says whether OVN offers a pod an address: a DHCPDISCOVER goes out of its
// interface, and a DHCPOFFER has to come back.
func (s *scene) leases(name string) bool {
	s.Helper()
	pod, ok := s.Topology.Pod(name)
	if !ok {
		s.Fatalf("there is no pod %s", name)
	}
	mac, err := net.ParseMAC(pod.MAC)
	if err != nil {
		s.Fatal(err)
	}
	offered := false
	err = s.InNamespace(pod.Name, func() error {
		offered, err = offer(mac)
		return err
	})
	if err != nil {
		s.Fatal(err)
	}
	return offered
}

func offer(mac net.HardwareAddr) (bool, error) {
	link, err := net.InterfaceByName("eth0")
	if err != nil {
		return false, err
	}
	all := int(binary.NativeEndian.Uint16([]byte{0, unix.ETH_P_ALL}))
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, all)
	if err != nil {
		return false, err
	}
	defer func() { _ = unix.Close(fd) }()
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: uint16(all), Ifindex: link.Index}); err != nil {
		return false, err
	}
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 100_000}); err != nil {
		return false, err
	}
	var xid [4]byte
	_, _ = rand.Read(xid[:])
	if _, err := unix.Write(fd, discover(mac, xid)); err != nil {
		return false, err
	}
	b := make([]byte, 2000)
	for deadline := time.Now().Add(time.Second); time.Now().Before(deadline); {
		n, err := unix.Read(fd, b)
		if err != nil || n < 14+20+8+240 {
			continue
		}
		dhcp := b[14+20+8 : n]
		if b[14+20+3] == 68 && dhcp[0] == 2 && [4]byte(dhcp[4:8]) == xid {
			return true, nil
		}
	}
	return false, nil
}

// discover is the frame of a DHCPDISCOVER.
func discover(mac net.HardwareAddr, xid [4]byte) []byte {
	dhcp := make([]byte, 240)
	copy(dhcp, []byte{1, 1, 6, 0})
	copy(dhcp[4:], xid[:])
	dhcp[10] = 0x80 // the answer is to be broadcast
	copy(dhcp[28:], mac)
	copy(dhcp[236:], []byte{0x63, 0x82, 0x53, 0x63})
	dhcp = append(dhcp, 53, 1, 1, 55, 3, 1, 3, 6, 255)

	udp := make([]byte, 8, 8+len(dhcp))
	copy(udp, []byte{0, 68, 0, 67})
	binary.BigEndian.PutUint16(udp[4:], uint16(8+len(dhcp)))
	udp = append(udp, dhcp...)

	ip := []byte{0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255}
	binary.BigEndian.PutUint16(ip[2:], uint16(20+len(udp)))
	var sum uint32
	for i := 0; i < 20; i += 2 {
		sum += uint32(binary.BigEndian.Uint16(ip[i:]))
	}
	sum = sum>>16 + sum&0xffff
	binary.BigEndian.PutUint16(ip[10:], ^uint16(sum+sum>>16))

	frame := append([]byte{255, 255, 255, 255, 255, 255}, mac...)
	frame = append(frame, 8, 0)
	return append(append(frame, ip...), udp...)
}
