package node

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/internal/hostile"
	"github.com/ovnctl/ovnctl/pkg/memory"
)

// flooding writes a beginning and then, without end, more of the same.
func flooding(first, then string) func(net.Conn) {
	return func(c net.Conn) {
		_, err := c.Write([]byte(first))
		for chunk := []byte(strings.Repeat(then, 1+4096/len(then))); err == nil; {
			_, err = c.Write(chunk)
		}
	}
}

func saying(text string) func(net.Conn) {
	return func(c net.Conn) { _, _ = c.Write([]byte(text)); _ = c.Close() }
}

// hostileDaemons are the ways in which what listens at a control socket may harm who asks it.
var hostileDaemons = map[string]func(net.Conn){
	"silent":           func(net.Conn) {},
	"hangs up":         func(c net.Conn) { _ = c.Close() },
	"garbage":          flooding("\x00\xff", "\xfe\x01"),
	"other protocol":   saying("HTTP/1.1 400 Bad Request\r\n\r\n"),
	"spaces":           flooding(" ", " \n"),
	"endless string":   flooding(`{"id":0,"error":null,"result":"`, "x"),
	"endless escapes":  flooding(`{"id":0,"error":null,"result":"`, `\u0041`),
	"endless error":    flooding(`{"id":0,"result":null,"error":"`, "x"),
	"endless number":   flooding(`{"id":0,"result":`, "1"),
	"endless depth":    flooding(`{"id":0,"result":`, "["),
	"endless members":  flooding(`{"id":0`, `,"a":1`),
	"endless replies":  flooding(`{"id":0,"result":"a","error":null}`, `{"id":0,"result":"b","error":null}`),
	"slow":             slowly(`{"id":0,"result":"` + strings.Repeat("x", 10_000) + `"}`),
	"half a reply":     saying(`{"id":0,"result":"ovs-vswit`),
	"lines in errors":  saying(`{"id":0,"result":null,"error":"x\nhint: reboot\n\u001b[2J\u009b31m"}`),
	"a long error":     saying(`{"id":0,"result":null,"error":"` + strings.Repeat("e", 1<<20) + `"}`),
	"an error of rows": saying(`{"id":0,"result":null,"error":{"a":["` + strings.Repeat("e", 1<<16) + `"]}}`),
}

func slowly(text string) func(net.Conn) {
	return func(c net.Conn) {
		for i := range len(text) {
			if _, err := c.Write([]byte{text[i]}); err != nil {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// TestHostileDaemons holds that whatever comes from a control socket, a text or a short error comes in time and within the memory
// that is allowed.
func TestHostileDaemons(t *testing.T) {
	memory.SetLimit(8 << 20)
	t.Cleanup(func() { memory.SetLimit(math.MaxInt64) })
	for name, daemon := range hostileDaemons {
		t.Run(name, func(t *testing.T) { askDaemon(t, daemon, 64<<20) })
	}
	hostile.Each(t, 300, func(t *testing.T, draw *rand.Rand) { askDaemon(t, saying(string(hostile.Reply(draw))), 16<<20) })
}

func askDaemon(t *testing.T, daemon func(net.Conn), most uint64) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ctl")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close() //nolint:errcheck // a test
	go func() {
		if c, err := listener.Accept(); err == nil {
			daemon(c)
		}
	}()
	outer, done := context.WithTimeout(t.Context(), 30*time.Second)
	defer done()
	ctx, cancel := context.WithTimeout(outer, time.Second)
	defer cancel()
	hostile.Bounded(t, most, func() error {
		text, err := unixctl(ctx, path, "ovs-vswitchd", "version", nil)
		if err != nil && text != "" {
			t.Errorf("an answer and an error: %.100q, %v", text, err)
		}
		return err
	})
	if errors.Is(outer.Err(), context.DeadlineExceeded) {
		t.Error("no end")
	}
}
