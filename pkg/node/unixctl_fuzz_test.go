package node

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// FuzzUnixctl gives what a daemon may reply to a control command, whole or cut short: it is text or an error, in time.
func FuzzUnixctl(f *testing.F) {
	for _, reply := range []string{
		`{"id":0,"result":"ovs-vswitchd (Open vSwitch) 3.1.0\n","error":null}`, `{"id":0,"result":null,"error":"unknown command"}`,
		`{"id":0,"result":{"a":[1,2]},"error":null}`, `{"id":0,"result":"\ud800"}`, `[]`, `{"result":`, "", "null", `{"error":{"x":"y"}}`,
		`{"id":0,"result":"` + strings.Repeat("x", 1000) + `","error":null}`,
	} {
		f.Add([]byte(reply))
	}
	path := filepath.Join(f.TempDir(), "ctl")
	listener, err := net.Listen("unix", path)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = listener.Close() })
	f.Fuzz(func(t *testing.T, reply []byte) {
		go func() {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write(reply)
			_ = c.Close()
		}()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		text, err := unixctl(ctx, path, "ovs-vswitchd", "version", nil)
		if ctx.Err() != nil {
			t.Fatalf("%.100q: no end: %v", reply, err)
		}
		if err != nil && text != "" {
			t.Errorf("%.100q: an answer and an error: %.100q, %v", reply, text, err)
		}
	})
}
