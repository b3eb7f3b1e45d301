package lab

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// netnsDir is where ip-netns(8) keeps its names.
const netnsDir = "/run/netns"

// InNamespace runs f inside the network namespace of a host or pod. Sockets that f itself opens stay in that namespace;
// those opened by goroutines of f do not.
func (s *State) InNamespace(host string, f func() error) error {
	return inNamespace(s.Prefix+"-"+host, f)
}

// inNamespace runs f on a thread inside the network namespace. Sockets that f opens stay in it.
func inNamespace(name string, f func() error) error {
	ns, err := os.Open(filepath.Join(netnsDir, name))
	if err != nil {
		return fmt.Errorf("network namespace %s: %w", name, err)
	}
	defer func() { _ = ns.Close() }()
	done := make(chan error)
	go onThread(func() {
		if err := unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET); err != nil {
			done <- fmt.Errorf("enter network namespace %s: %w", name, err)
			return
		}
		done <- f()
	})
	return <-done
}

// onThread runs f on a thread that ends with it, so its namespace cannot leak. It is never the process's first thread,
// which cannot end and whose namespace counts as the process's.
func onThread(f func()) {
	runtime.LockOSThread()
	if unix.Gettid() != unix.Getpid() {
		f()
		return // still locked, so the thread ends
	}
	other := make(chan struct{})
	go func() {
		defer close(other)
		onThread(f)
	}()
	<-other
	runtime.UnlockOSThread()
}
