package ovsdb

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
)

// mostNames is how many names a turn has: any user of this host can take one, so those of strangers are passed over.
const mostNames = 8

// lockTurn takes a name that only one process of the network namespace can have, until it ends. If there is no such
// thing, or strangers have all names, everybody has the turn.
func lockTurn(name string) (lock io.Closer, free bool) {
	for i := range mostNames {
		address := &net.UnixAddr{Name: fmt.Sprintf("@ovnctl-%s-%d", name, i), Net: "unix"}
		l, err := listen(address)
		switch {
		case err == nil:
			go greet(l)
			return l, true
		case !errors.Is(err, syscall.EADDRINUSE):
			return io.NopCloser(nil), true
		case trusted(address):
			return nil, false
		}
	}
	return io.NopCloser(nil), true
}

// listen takes a name. One that is taken and refuses connections may just have become free.
func listen(address *net.UnixAddr) (*net.UnixListener, error) {
	l, err := net.ListenUnix("unix", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		if _, refused := holder(address); errors.Is(refused, syscall.ECONNREFUSED) {
			return net.ListenUnix("unix", address)
		}
	}
	return l, err
}

// greet accepts connections, by which others see whose the name is.
func greet(l *net.UnixListener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		_ = c.Close()
	}
}

// trusted reports whether root or this user has the name.
func trusted(address *net.UnixAddr) bool {
	uid, err := holder(address)
	return err == nil && (uid == 0 || int(uid) == os.Geteuid())
}

// holder returns the user who has the name, from the kernel.
func holder(address *net.UnixAddr) (uid uint32, err error) {
	// Non-blocking: a stranger's full queue would hold a dialer of package net up.
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer syscall.Close(fd) //nolint:errcheck // nothing was written
	if err := syscall.Connect(fd, &syscall.SockaddrUnix{Name: address.Name}); err != nil {
		return 0, err
	}
	peer, err := syscall.GetsockoptUcred(fd, syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	if err != nil {
		return 0, err
	}
	return peer.Uid, nil
}
