//go:build lab && linux

package ovsdb

import (
	"fmt"
	"net"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// TestTurnOfStranger holds that another user of the host who takes the names of turns keeps nobody waiting, and does not
// keep ovnctl's own processes from taking turns as long as one name is left.
func TestTurnOfStranger(t *testing.T) {
	tests := []struct {
		name  string
		take  func(t *testing.T, address string)
		names int
		turns bool // others still wait for each other
	}{
		{"accepts", listenAsNobody, 1, true},
		{"does not listen", bindAsNobody, 1, true},
		{"takes all", listenAsNobody, mostNames, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			name := fmt.Sprintf("test-%s-%d", t.Name(), time.Now().UnixNano())
			for i := range tt.names {
				tt.take(t, fmt.Sprintf("@ovnctl-%s-%d", name, i))
			}
			lock, free := lockTurn(name)
			if !free {
				t.Fatal("a stranger has the turn")
			}
			defer lock.Close() //nolint:errcheck // a test
			other, free := lockTurn(name)
			if free == tt.turns {
				t.Errorf("another process has the turn at the same time: %v", free)
			}
			if other != nil {
				_ = other.Close()
			}
		})
	}
}

// asNobody runs f with the rights of nobody, in a thread that ends with it.
func asNobody(t *testing.T, f func() error) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked
		const nobody, same = 65534, ^uintptr(0)
		if _, _, err := syscall.RawSyscall(syscall.SYS_SETRESUID, same, nobody, same); err != 0 {
			done <- err
			return
		}
		done <- f()
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

func listenAsNobody(t *testing.T, address string) {
	t.Helper()
	asNobody(t, func() error {
		l, err := net.Listen("unix", address)
		if err == nil {
			t.Cleanup(func() { _ = l.Close() })
		}
		return err
	})
}

func bindAsNobody(t *testing.T, address string) {
	t.Helper()
	asNobody(t, func() error {
		fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		t.Cleanup(func() { _ = syscall.Close(fd) })
		return syscall.Bind(fd, &syscall.SockaddrUnix{Name: address})
	})
}
