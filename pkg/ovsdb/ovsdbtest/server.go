// Package ovsdbtest starts real ovsdb-server processes for tests.
package ovsdbtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// Schemas of the installed Open vSwitch and OVN.
const (
	Northbound  = "/usr/share/ovn/ovn-nb.ovsschema"
	Southbound  = "/usr/share/ovn/ovn-sb.ovsschema"
	OpenvSwitch = "/usr/share/openvswitch/vswitch.ovsschema"
)

// A Server is a running ovsdb-server, ended with the test.
type Server struct {
	Dir     string // holds the files below; short enough for unix sockets
	Socket  string // path of the unix socket
	Control string // path of the control socket
	File    string // the database's file
	DB      string // the database's name
	Process *os.Process

	t    testing.TB
	args []string
	done chan struct{}
}

// Dir makes a directory with a short path, removed with the test: unix sockets
// allow 107 bytes, which t.TempDir may exceed.
func Dir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ovsdb")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// Start creates a database with the schema and serves it on a unix socket; args are further options of
// ovsdb-server(1).
func Start(t testing.TB, schema string, args ...string) *Server {
	t.Helper()
	dir := Dir(t)
	file := filepath.Join(dir, "db")
	Run(t, "ovsdb-tool", "create", file, schema)
	return Serve(t, dir, file, schemaName(t, schema), args...)
}

// Serve starts a server for an existing database file.
func Serve(t testing.TB, dir, file, db string, args ...string) *Server {
	t.Helper()
	s := &Server{
		Dir:     dir,
		Socket:  filepath.Join(dir, "sock"),
		Control: filepath.Join(dir, "ctl"),
		File:    file,
		DB:      db,
		t:       t,
		args:    args,
	}
	s.Restart()
	t.Cleanup(s.Kill)
	return s
}

// Remote returns the server's unix: remote.
func (s *Server) Remote() string { return "unix:" + s.Socket }

// ListenTCP makes the server also listen on a loopback port, and returns that remote, which does not reveal
// the server's process.
func (s *Server) ListenTCP() string {
	s.t.Helper()
	address := Address(s.t, "127.0.0.1")
	s.Appctl("ovsdb-server/add-remote", Passive("tcp", address))
	return "tcp:" + address
}

// Restart starts the server, also after Kill, and waits until it listens.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	_ = os.Remove(s.Socket)
	_ = os.Remove(s.Control)
	args := append([]string{
		s.File, "--remote=punix:" + s.Socket, "--unixctl=" + s.Control,
		"--no-chdir", "-vconsole:off", "--log-file=" + filepath.Join(s.Dir, "log"),
	}, s.args...)
	cmd := exec.Command("ovsdb-server", args...)
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.Process = cmd.Process
	s.done = make(chan struct{})
	done := s.done
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
	for range 3000 { // half a minute: a server loads its file first
		// The control socket is the last to listen. The other one does so while the server
		// is still busy with a large file: attempts would fill its queue.
		if listens(s.Control) && listens(s.Socket) {
			return
		}
		select {
		case <-done:
			log, _ := os.ReadFile(filepath.Join(s.Dir, "log"))
			s.t.Fatalf("ovsdb-server %s ended:\n%s", strings.Join(args, " "), log)
		case <-time.After(10 * time.Millisecond):
		}
	}
	s.t.Fatalf("ovsdb-server does not listen on %s", s.Socket)
}

// listens reports whether the socket accepts: its file exists a moment before the server listens.
func listens(socket string) bool {
	c, err := net.Dial("unix", socket)
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}

// Kill kills the server like kill -9 and waits until it is gone.
func (s *Server) Kill() {
	if s.done == nil {
		return
	}
	_ = s.Process.Kill()
	<-s.done
	s.done = nil
}

// Running reports whether the process has been started and not killed.
func (s *Server) Running() bool { return s.done != nil }

// Signal sends a signal, such as SIGSTOP. Kill works on a stopped server.
func (s *Server) Signal(signal os.Signal) {
	s.t.Helper()
	if err := s.Process.Signal(signal); err != nil {
		s.t.Fatal(err)
	}
}

// Appctl sends a command to the server's control socket.
func (s *Server) Appctl(command string, args ...string) string {
	s.t.Helper()
	return Run(s.t, "ovs-appctl", append([]string{"-T", "10", "-t", s.Control, command}, args...)...)
}

// Transact runs operations, given as JSON, with ovsdb-client(1) and returns its output. An error in it fails
// the test.
func (s *Server) Transact(operations ...string) string {
	s.t.Helper()
	request := fmt.Sprintf("[%q,%s]", s.DB, strings.Join(operations, ","))
	reply := Run(s.t, "ovsdb-client", "transact", s.Remote(), request)
	if strings.Contains(reply, `"error":"`) {
		s.t.Fatalf("transact %s: %s", request, reply)
	}
	return reply
}

// Dial connects to the server.
func (s *Server) Dial() *ovsdb.Client {
	s.t.Helper()
	return Dial(s.t, s.DB, s.Remote())
}

// Dial connects to a database until the test ends.
func Dial(t testing.TB, db, remote string) *ovsdb.Client {
	t.Helper()
	c, err := ovsdb.Dial(t.Context(), ovsdb.Config{DB: db, Remotes: remote, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// Run runs a command and returns its standard output; failure fails the test.
func Run(t testing.TB, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %.300s: %v\n%s", name, strings.Join(args, " "), err, stderr.Bytes())
	}
	return string(out)
}

func schemaName(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	return schema.Name
}
