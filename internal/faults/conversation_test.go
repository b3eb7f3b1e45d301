//go:build lab

package faults

import (
	"net"
	"strings"
	"sync/atomic"
	"time"
)

// A conversation is a UDP client in a pod that goes on sending from one port.
type conversation struct {
	conn net.Conn
	last atomic.Value // the answer last seen
	stop chan struct{}
	want string // who answers when the fault is fixed
}

// converse starts a conversation of a pod with an address, and waits for the first answer.
func (s *scene) converse(pod, address string) *conversation {
	s.Helper()
	c := &conversation{stop: make(chan struct{})}
	c.last.Store("")
	err := s.InNamespace(pod, func() (err error) {
		c.conn, err = net.Dial("udp", address)
		return err
	})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(c.end)
	go func() {
		for {
			select {
			case <-c.stop:
				return
			case <-time.After(100 * time.Millisecond):
				_, _ = c.conn.Write([]byte("who is there\n"))
			}
		}
	}()
	go func() {
		b := make([]byte, 2000)
		for {
			n, err := c.conn.Read(b)
			if err != nil && strings.Contains(err.Error(), "closed") {
				return
			}
			if n > 0 {
				c.last.Store(string(b[:n]))
			}
		}
	}()
	s.until("the conversation is answered", func() bool { return c.answer() != "" })
	return c
}

// answer is what was heard last.
func (c *conversation) answer() string { return c.last.Load().(string) }

// end closes the conversation; it may be called more than once.
func (c *conversation) end() {
	select {
	case <-c.stop:
	default:
		close(c.stop)
		_ = c.conn.Close()
	}
}
