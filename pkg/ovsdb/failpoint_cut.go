//go:build failpoints

package ovsdb

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// changes counts this process's requests that change a database.
var changes atomic.Int64

// changing holds the strings that mark a request as a change.
var changing = [][]byte{
	[]byte(`"op":"insert"`), []byte(`"op":"update"`), []byte(`"op":"mutate"`), []byte(`"op":"delete"`), []byte(`"method":"convert"`),
}

// breakable returns a connection that breaks at the change whose number follows the word in OVNCTL_FAILCUT:
// "request 2" sends half of it, "reply 2" loses the server's reply. The file in OVNCTL_FAILPOINTS lists the
// requests and the break. [PauseAt] waits before a request and takes its name, "write 2".
func breakable(c net.Conn) net.Conn { return &breakableConn{Conn: c} }

type breakableConn struct {
	net.Conn
	cut, deaf atomic.Bool
}

// NetConn returns the connection below TLS, for hanging up.
func (b *breakableConn) NetConn() net.Conn {
	if t, ok := b.Conn.(interface{ NetConn() net.Conn }); ok {
		return t.NetConn()
	}
	return b.Conn
}

func (b *breakableConn) Write(text []byte) (int, error) {
	which := ""
	for _, op := range changing {
		if bytes.Contains(text, op) {
			which = strconv.FormatInt(changes.Add(1), 10)
			list("write " + which)
			PauseAt("write " + which)
			break
		}
	}
	switch os.Getenv("OVNCTL_FAILCUT") {
	case "request " + which:
		b.cut.Store(true)
		list("cut")
		_, _ = b.Conn.Write(text[:len(text)/2])
		hangUp(b.Conn)
		return len(text), nil // as if the peer had just gone
	case "reply " + which:
		b.deaf.Store(true)
	}
	n, err := b.Conn.Write(text)
	if which != "" {
		list("sent " + which)
	}
	return n, err
}

// PauseAt waits at the point that OVNCTL_FAILPAUSE names, by the start of its name with _ for blanks. It creates the file that
// stands behind the name, and goes on when that is removed.
func PauseAt(name string) {
	pause, file, ok := strings.Cut(os.Getenv("OVNCTL_FAILPAUSE"), " ")
	if !ok || !strings.HasPrefix(name, strings.ReplaceAll(pause, "_", " ")) {
		return
	}
	if f, err := os.Create(file); err == nil {
		_ = f.Close()
	}
	for _, err := os.Stat(file); err == nil; _, err = os.Stat(file) {
		time.Sleep(20 * time.Millisecond)
	}
}

// list adds a line to the file in OVNCTL_FAILPOINTS.
func list(line string) {
	f, err := os.OpenFile(os.Getenv("OVNCTL_FAILPOINTS"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err == nil {
		fmt.Fprintln(f, line)
		_ = f.Close()
	}
}

func (b *breakableConn) Read(chunk []byte) (int, error) {
	n, err := b.Conn.Read(chunk)
	if b.deaf.Load() && err == nil {
		list("cut")
		hangUp(b.Conn)
		return 0, io.EOF
	}
	if b.cut.Load() && err != nil {
		err = io.EOF
	}
	return n, err
}
