//go:build lab

package ovsdb_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb/ovsdbtest"
)

const (
	stop   = syscall.SIGSTOP
	resume = syscall.SIGCONT
)

// silent returns the address of a server that accepts and says nothing.
func silent(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = c.Close() })
		}
	}()
	return l.Addr().String()
}

func TestDialErrors(t *testing.T) {
	s := ovsdbtest.Start(t, ovsdbtest.Northbound)
	dir := ovsdbtest.Dir(t)
	left := filepath.Join(dir, "left")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: left, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	_ = l.Close()
	tests := []struct {
		name, db, remotes string
		err, hint         string
		is                error
		within            time.Duration
	}{
		{"no socket", "OVN_Northbound", "unix:" + dir + "/none", "OVN_Northbound at unix:" + dir + "/none: no such socket", "is the server running", os.ErrNotExist, time.Second},
		{"left over", "OVN_Northbound", "unix:" + left, "connection refused", "left over from a server that has ended", syscall.ECONNREFUSED, time.Second},
		{"refused", "OVN_Northbound", "tcp:" + ovsdbtest.Address(t, "127.0.0.1"), "connection refused", "no server listens", syscall.ECONNREFUSED, time.Second},
		{"refused over IPv6", "OVN_Northbound", "tcp:" + ovsdbtest.Address(t, "::1"), "connection refused", "no server listens", syscall.ECONNREFUSED, time.Second},
		{"silent", "OVN_Northbound", "tcp:" + silent(t), "no reply within the time limit", "stopped, busy or cut off", context.DeadlineExceeded, 3 * time.Second},
		{"other database", "OVN_Southbound", s.Remote(), "the server does not have this database, it has OVN_Northbound", "6641", ovsdb.ErrNotServed, time.Second},
		{"not OVSDB", "OVN_Northbound", "tcp:" + chatter(t, "HTTP/1.1 400 Bad Request\r\n\r\n"), "does not speak OVSDB", "ssl:", nil, time.Second},
		{"closes at once", "OVN_Northbound", "tcp:" + chatter(t, ""), "the server closed the connection", "ended or was restarted", io.ErrUnexpectedEOF, time.Second},
		{"no remote", "OVN_Northbound", " , ", "no remote given", "", nil, time.Second},
		{"no host", "OVN_Northbound", "tcp::6641", "host or port missing", "", nil, time.Second},
		{"no address", "OVN_Northbound", "tcp:", "host or port missing", "", nil, time.Second},
		{"long path", "OVN_Northbound", "unix:/" + strings.Repeat("x", 200), "the path is too long", "107 bytes", nil, time.Second},
		{"default port", "OVN_Northbound", "tcp:[::1]", "tcp:[::1]: connection refused", "no server listens", syscall.ECONNREFUSED, time.Second},
		{"no brackets", "OVN_Northbound", "tcp:::1:6641", "an IPv6 address in brackets", "", nil, time.Second},
		{"passive", "OVN_Northbound", "ptcp:6641", "that is what a server listens on, give tcp:", "", nil, time.Second},
		{"nonsense", "OVN_Northbound", "http://x", "want unix:PATH, tcp:HOST:PORT or ssl:HOST:PORT", "", nil, time.Second},
		{"ssl without files", "OVN_Northbound", "ssl:127.0.0.1:6641", "ssl needs the CA certificate (-C)", "-p KEY -c CERTIFICATE", nil, time.Second},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			began := time.Now()
			_, err := ovsdb.Dial(t.Context(), ovsdb.Config{DB: test.db, Remotes: test.remotes, Timeout: time.Second})
			if took := time.Since(began); took > test.within {
				t.Errorf("took %v", took)
			}
			var e *ovsdb.Error
			if !errors.As(err, &e) {
				t.Fatalf("error %v is no *ovsdb.Error", err)
			}
			if !strings.Contains(e.Error(), test.err) || !strings.Contains(e.Hint, test.hint) {
				t.Errorf("error %q, hint %q", e, e.Hint)
			}
			if (e.Hint == "") != (test.hint == "") {
				t.Errorf("hint %q, want %q", e.Hint, test.hint)
			}
			if test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("error %v is not %v", err, test.is)
			}
			if e.Database != test.db {
				t.Errorf("database %q", e.Database)
			}
		})
	}
}

// chatter returns the address of a server that says text and hangs up.
func chatter(t testing.TB, text string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			buf := make([]byte, 1024)
			_, _ = c.Read(buf)
			_, _ = io.WriteString(c, text)
			_ = c.Close()
		}
	}()
	return l.Addr().String()
}

// TestPermission dials as a user who may not open the socket: this binary runs
// once more as nobody.
func TestPermission(t *testing.T) {
	if remote := os.Getenv("DIAL_AS_NOBODY"); remote != "" {
		_, err := ovsdb.Dial(t.Context(), ovsdb.Config{DB: "OVN_Northbound", Remotes: remote, Timeout: time.Second})
		var e *ovsdb.Error
		if !errors.As(err, &e) {
			t.Fatalf("error %v", err)
		}
		if !errors.Is(err, os.ErrPermission) || !strings.Contains(e.Hint, "run as root") {
			t.Errorf("error %v, hint %q", err, e.Hint)
		}
		return
	}
	s := ovsdbtest.Start(t, ovsdbtest.Northbound)
	if err := os.Chmod(s.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(s.Socket, 0o700); err != nil {
		t.Fatal(err)
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(s.Dir, "test")
	if err := os.WriteFile(binary, self, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "-test.run=^TestPermission$", "-test.v")
	cmd.Dir = s.Dir
	cmd.Env = append(os.Environ(), "DIAL_AS_NOBODY="+s.Remote())
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestPermission") {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
}

// TestList has servers before the good one that refuse or are silent.
func TestList(t *testing.T) {
	s := ovsdbtest.Start(t, ovsdbtest.Northbound)
	other := ovsdbtest.Start(t, ovsdbtest.OpenvSwitch)
	tests := []struct {
		name, before string
		within       time.Duration
	}{
		{"silent", "tcp:" + silent(t), 500 * time.Millisecond},
		{"three silent", "tcp:" + silent(t) + ",tcp:" + silent(t) + ", tcp:" + silent(t), 1200 * time.Millisecond},
		{"refusing", "tcp:" + ovsdbtest.Address(t, "127.0.0.1"), 200 * time.Millisecond},
		{"no socket", "unix:/nonexistent", 200 * time.Millisecond},
		{"another database", other.Remote(), 200 * time.Millisecond},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			best := time.Hour // of three: the machine may be busy
			for range 3 {
				began := time.Now()
				c := dial(t, ovsdb.Config{DB: s.DB, Remotes: test.before + "," + s.Remote(), Timeout: 10 * time.Second})
				best = min(best, time.Since(began))
				if c.Origin() != s.Remote() {
					t.Errorf("connected to %s", c.Origin())
				}
			}
			if best > test.within {
				t.Errorf("took %v, want %v at most", best, test.within)
			}
		})
	}
	_, err := ovsdb.Dial(t.Context(), ovsdb.Config{DB: s.DB, Remotes: "unix:/nonexistent," + other.Remote(), Timeout: time.Second})
	if err == nil || !strings.Contains(err.Error(), "unix:/nonexistent: no such socket; "+other.Remote()+": the server does not have") {
		t.Errorf("all fail: %v", err)
	}
}

// TestRestart reads on after the server was restarted between two commands.
func TestRestart(t *testing.T) {
	s := ovsdbtest.Start(t, ovsdbtest.Northbound)
	c := dial(t, ovsdb.Config{DB: s.DB, Remotes: s.Remote(), Timeout: 5 * time.Second})
	for range 3 {
		s.Restart()
		if _, err := ovsdb.Find[logicalSwitch](t.Context(), c); err != nil {
			t.Fatal(err)
		}
		s.Restart()
		if _, err := c.Transact(t.Context(), ovsdb.Insert("Logical_Switch", "", map[string]any{"name": "x"})); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(names(t, c)); n != 3 {
		t.Errorf("%d rows, want 3", n)
	}
	s.Kill()
	_, err := ovsdb.Find[logicalSwitch](t.Context(), c)
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("server gone: %v", err)
	}
}

// fillSwitches makes a reply of some megabytes.
func fillSwitches(t testing.TB, s *ovsdbtest.Server, n int) {
	t.Helper()
	c := dial(t, ovsdb.Config{DB: s.DB, Remotes: s.Remote(), Timeout: 30 * time.Second})
	var ops []ovsdb.Operation
	for i := range n {
		ops = append(ops, ovsdb.Insert("Logical_Switch", "", map[string]any{
			"name": fmt.Sprintf("s%d", i), "other_config": map[string]string{"padding": strings.Repeat("x", 200)},
		}))
	}
	if _, err := c.Transact(t.Context(), ops...); err != nil {
		t.Fatal(err)
	}
}

// TestStopped meets a server that stops in the middle of a large reply, and a
// network that does.
func TestStopped(t *testing.T) {
	s := ovsdbtest.Start(t, ovsdbtest.Northbound)
	fillSwitches(t, s, 20000)
	half, _ := relay(t, s.Socket, 1<<20, nil)
	stopping, _ := relay(t, s.Socket, 1<<20, func() { s.Signal(stop) })
	for name, socket := range map[string]string{"the server stops": stopping, "the network stops": half} {
		t.Run(name, func(t *testing.T) {
			c := dial(t, ovsdb.Config{DB: s.DB, Remotes: "unix:" + socket, Timeout: 2 * time.Second})
			began := time.Now()
			_, err := ovsdb.Find[logicalSwitch](t.Context(), c)
			took := time.Since(began)
			s.Signal(resume)
			if !errors.Is(err, context.DeadlineExceeded) || took < 1500*time.Millisecond || took > 4*time.Second {
				t.Errorf("after %v: %v", took, err)
			}
		})
	}
	// With another server in the list the read goes on there.
	c := dial(t, ovsdb.Config{DB: s.DB, Remotes: "unix:" + half + "," + s.Remote(), Timeout: 10 * time.Second})
	if n := len(names(t, c)); n != 20000 || c.Origin() != s.Remote() {
		t.Errorf("%d rows from %s", n, c.Origin())
	}
	unanswered, _ := relay(t, s.Socket, 40<<10, nil)
	// A write that the server has but does not answer is of unknown outcome.
	c = dial(t, ovsdb.Config{DB: s.DB, Remotes: "unix:" + unanswered, Timeout: time.Second})
	big := make([]ovsdb.Operation, 2000)
	for i := range big {
		big[i] = ovsdb.Insert("Logical_Switch", "", map[string]any{"name": "unknown"})
	}
	_, err := c.Transact(t.Context(), big...)
	if !errors.Is(err, ovsdb.ErrUnknownOutcome) {
		t.Errorf("write without a reply: %v", err)
	}
	back := dial(t, ovsdb.Config{DB: s.DB, Remotes: s.Remote(), Timeout: 5 * time.Second})
	if n := len(names(t, back)); n != 22000 {
		t.Errorf("%d rows, want 22000: the write was made once", n)
	}
}

// TestWriteToStopped writes to a server that does not answer: it is asked for
// its state first, so that nothing has been sent.
func TestWriteToStopped(t *testing.T) {
	s := ovsdbtest.Start(t, ovsdbtest.Northbound)
	c := dial(t, ovsdb.Config{DB: s.DB, Remotes: s.Remote(), Timeout: time.Second})
	s.Signal(stop)
	_, err := c.Transact(t.Context(), ovsdb.Insert("Logical_Switch", "", map[string]any{"name": "x"}))
	s.Signal(resume)
	if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ovsdb.ErrUnknownOutcome) {
		t.Errorf("error %v", err)
	}
	if n := len(names(t, c)); n != 0 {
		t.Errorf("%d rows", n)
	}
}

// relay forwards what a server says up to a number of bytes; then it calls then
// and goes on, or nothing comes any more if that is nil. It counts its clients.
func relay(t testing.TB, socket string, limit int64, then func()) (path string, clients *atomic.Int32) {
	t.Helper()
	path = filepath.Join(ovsdbtest.Dir(t), "relay")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	clients = new(atomic.Int32)
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			clients.Add(1)
			server, err := net.Dial("unix", socket)
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(server, client)
				_ = server.Close()
				_ = client.Close()
			}()
			go func() {
				_, err := io.CopyN(client, server, limit)
				if err == nil && then != nil {
					then()
					_, _ = io.Copy(client, server)
				}
			}()
		}
	}()
	return path, clients
}

// TestBounds refuses a reply above the limit.
func TestBounds(t *testing.T) {
	s := ovsdbtest.Start(t, ovsdbtest.Northbound)
	fillSwitches(t, s, 2000)
	c := dial(t, ovsdb.Config{DB: s.DB, Remotes: s.Remote(), Timeout: 5 * time.Second, MaxReply: 100 << 10})
	_, err := ovsdb.Find[logicalSwitch](t.Context(), c)
	if !errors.Is(err, ovsdb.ErrTooLarge) {
		t.Errorf("large reply: %v", err)
	}
}

// TestEcho outlives the server's inactivity probe while nothing is asked.
func TestEcho(t *testing.T) {
	t.Parallel()
	s := ovsdbtest.Start(t, ovsdbtest.Northbound, "--remote=db:OVN_Northbound,NB_Global,connections")
	probed := filepath.Join(s.Dir, "probed")
	s.Transact(`{"op":"insert","table":"NB_Global","row":{"connections":["named-uuid","c"]}}`,
		fmt.Sprintf(`{"op":"insert","table":"Connection","uuid-name":"c","row":{"target":"punix:%s","inactivity_probe":1000}}`, probed))
	waitFor(t, "the server to listen", func() bool { _, err := os.Stat(probed); return err == nil })
	counted, clients := relay(t, probed, 1<<30, nil)
	c := dial(t, ovsdb.Config{DB: s.DB, Remotes: "unix:" + counted, Timeout: time.Second})
	idle, err := net.Dial("unix", probed)
	if err != nil {
		t.Fatal(err)
	}
	defer idle.Close()
	began := time.Now()
	if _, err := io.Copy(io.Discard, idle); err != nil || time.Since(began) < time.Second {
		t.Fatalf("a client that does not answer was left alone for %v: %v", time.Since(began), err)
	}
	time.Sleep(time.Second)
	names(t, c)
	if n := clients.Load(); n != 1 {
		t.Errorf("the client connected %d times: it did not answer the probes", n)
	}
}

// TestClose closes in the middle of all that can be under way, and leaves no
// goroutine behind.
func TestClose(t *testing.T) {
	s := ovsdbtest.Start(t, ovsdbtest.Northbound)
	before := runtime.NumGoroutine()
	for range 20 {
		c, err := ovsdb.Dial(t.Context(), ovsdb.Config{DB: s.DB, Remotes: "unix:/nonexistent," + s.Remote(), Timeout: 5 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		names(t, c)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if _, err := ovsdb.Find[logicalSwitch](t.Context(), c); !errors.Is(err, ovsdb.ErrClosed) {
			t.Errorf("select after close: %v", err)
		}
	}
	for range 5 {
		_, err := ovsdb.Dial(t.Context(), ovsdb.Config{DB: s.DB, Remotes: "tcp:" + silent(t), Timeout: 20 * time.Millisecond})
		if err == nil {
			t.Error("dialled a silent server")
		}
	}
	c := dial(t, ovsdb.Config{DB: s.DB, Remotes: s.Remote(), Timeout: 30 * time.Second})
	s.Signal(stop)
	defer s.Signal(resume)
	asked := make(chan error)
	go func() {
		_, err := ovsdb.Find[logicalSwitch](context.Background(), c)
		asked <- err
	}()
	time.Sleep(50 * time.Millisecond)
	began := time.Now()
	_ = c.Close()
	if err := <-asked; !errors.Is(err, ovsdb.ErrClosed) {
		t.Errorf("select while closing: %v", err)
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("Close took %v", took)
	}
	// The silent listeners' accept loops are the test's own.
	waitFor(t, "the goroutines to end", func() bool { return runtime.NumGoroutine() <= before+5 })
}

// TestCancel ends a call with its context.
func TestCancel(t *testing.T) {
	s := ovsdbtest.Start(t, ovsdbtest.Northbound)
	c := dial(t, ovsdb.Config{DB: s.DB, Remotes: s.Remote(), Timeout: 30 * time.Second})
	s.Signal(stop)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	began := time.Now()
	_, err := ovsdb.Find[logicalSwitch](ctx, c)
	if !errors.Is(err, context.Canceled) || time.Since(began) > time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
	s.Signal(resume)
	names(t, c)
}
