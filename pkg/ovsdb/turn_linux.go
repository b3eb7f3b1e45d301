package ovsdb

import (
	"errors"
	"io"
	"net"
	"syscall"
)

// lockTurn takes a name that only one process of the network namespace can have, until it ends. If there is no such
// thing, everybody has the turn.
func lockTurn(name string) (lock io.Closer, free bool) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: "@ovnctl-" + name, Net: "unix"})
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, false
	case err != nil:
		return io.NopCloser(nil), true
	}
	return l, true
}
