package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ovnctl/ovnctl/pkg/escape"
	"github.com/ovnctl/ovnctl/pkg/memory"
)

// MostConnections is the most tracked connections a daemon may have for us to list them all: ovs-vswitchd lists
// them in its main thread and serves no other request meanwhile.
const MostConnections = 50_000

// maxReply bounds a daemon's reply to one command, in bytes.
const maxReply = 64 << 20

// mostReply is maxReply, or less if that does not fit into what is left of the memory: as it comes, unpacked, and what
// is made of it.
func mostReply() int64 { return min(maxReply, max(0, memory.Left()/3)) }

// A ControlError is a daemon's refusal of a control command, in its own words.
type ControlError struct {
	Daemon  string
	Command string
	Text    string
}

// mostWords is what an error says of a daemon's words, in bytes: a screen.
const mostWords = 1000

func (e *ControlError) Error() string {
	text := strings.TrimSpace(e.Text)
	if len(text) > mostWords {
		text = strings.ToValidUTF8(text[:mostWords], "") + "…"
	}
	return fmt.Sprintf("%s: %s: %s", e.Daemon, e.Command, escape.Line(text))
}

// checkControl refuses a request that no daemon could accept; names become part of paths and, on other nodes, of
// commands.
func checkControl(daemon, command string, args []string) error {
	if daemon == "" || strings.Trim(daemon, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "" || daemon[0] == '-' {
		return fmt.Errorf("control command: %q is not the name of a daemon", daemon)
	}
	if command == "" || command[0] == '-' {
		return fmt.Errorf("%s: %q is not a control command", daemon, command)
	}
	for _, s := range append([]string{command}, args...) {
		if strings.ContainsRune(s, 0) {
			return fmt.Errorf("%s: %s: argument holds a NUL byte", daemon, command)
		}
	}
	return nil
}

// survives refuses a command that a daemon may not survive: ovs-vswitchd lists the connections of a userspace datapath by
// a walk from one to the next. When 4.0.0 crashed, with connections that came and went, the pointer to the next was text
// of the list itself: the memory of one that had ended. Options and zones do not change the walk.
func survives(ctx context.Context, h Host, daemon, command string, args []string) error {
	if command != "dpctl/dump-conntrack" || !slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "netdev@") }) {
		return nil
	}
	reply, err := h.Control(ctx, daemon, "version")
	if err != nil {
		return err
	}
	if version := versionOf(reply); strings.HasPrefix(version, "4.") { // no release is known to have it repaired
		return fmt.Errorf("%s: %s: not asked: Open vSwitch %s may crash as it lists connections of a userspace datapath", daemon, command, version)
	}
	return nil
}

// ovnDaemon reports whether a daemon's sockets are in OVN_RUNDIR.
func ovnDaemon(daemon string) bool { return strings.HasPrefix(daemon, "ovn") }

// controlSockets yields a daemon's control sockets in dir, the most likely first: that of the pidfile, the one
// without a pid, then others by age. A pidfile proves nothing: it may be stale or from another PID namespace. The
// directory is read only if the caller goes beyond the first.
func controlSockets(dir, daemon string) iter.Seq[string] {
	return func(yield func(string) bool) {
		var likely []string
		if pid, ok := readPid(filepath.Join(dir, daemon+".pid")); ok {
			likely = append(likely, daemon+"."+strconv.Itoa(pid)+".ctl")
		}
		likely = append(likely, daemon+".ctl")
		for _, name := range likely {
			if path := filepath.Join(dir, name); isSocket(path) && !yield(path) {
				return
			}
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			return
		}
		entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
			pid, ok := strings.CutPrefix(e.Name(), daemon+".")
			pid, ok2 := strings.CutSuffix(pid, ".ctl")
			_, err := strconv.Atoi(pid)
			return !ok || !ok2 || err != nil || slices.Contains(likely, e.Name())
		})
		slices.SortFunc(entries, func(a, b fs.DirEntry) int { return modTime(b).Compare(modTime(a)) })
		for _, e := range entries {
			if path := filepath.Join(dir, e.Name()); isSocket(path) && !yield(path) {
				return
			}
		}
	}
}

func isSocket(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.Mode().Type() == fs.ModeSocket
}

func modTime(e fs.DirEntry) time.Time {
	fi, err := e.Info()
	if err != nil {
		return time.Time{}
	}
	return fi.ModTime()
}

func readPid(path string) (int, bool) {
	b, err := readBounded(path, 64)
	if err != nil {
		return 0, false
	}
	return parsePID(strings.TrimSpace(string(b)))
}

func parsePID(s string) (int, bool) {
	pid, err := strconv.Atoi(s)
	return pid, err == nil && pid > 0
}

// control asks the first of a daemon's sockets that has a listener.
func control(ctx context.Context, dir, daemon, command string, args []string) (string, error) {
	var refused error
	for path := range controlSockets(dir, daemon) {
		reply, err := unixctl(ctx, path, daemon, command, args)
		if !errors.Is(err, syscall.ECONNREFUSED) {
			return reply, err
		}
		if refused == nil {
			refused = fmt.Errorf("%s: nothing listens on %s, the daemon that made it is gone: %w", daemon, path, err)
		}
	}
	if refused == nil {
		refused = noSocket(dir, daemon)
	}
	return "", refused
}

func noSocket(dir, daemon string) error {
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("%s: no control socket: %w", daemon, err)
	}
	if pid, ok := readPid(filepath.Join(dir, daemon+".pid")); ok {
		return fmt.Errorf("%s: no control socket in %s although its pidfile says %d, the daemon is gone or hides its sockets: %w", daemon, dir, pid, fs.ErrNotExist)
	}
	return fmt.Errorf("%s: no control socket in %s, the daemon is not running here: %w", daemon, dir, fs.ErrNotExist)
}

// unixctl makes one request of the daemons' control protocol: JSON-RPC without
// framing, one object each way.
func unixctl(ctx context.Context, path, daemon, command string, args []string) (string, error) {
	conn, err := dialUnix(ctx, path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", daemon, silent(ctx, command, err))
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()

	if args == nil {
		args = []string{}
	}
	request := struct {
		ID     int      `json:"id"`
		Method string   `json:"method"`
		Params []string `json:"params"`
	}{0, command, args}
	if err := json.NewEncoder(conn).Encode(request); err != nil {
		return "", fmt.Errorf("%s: %w", daemon, silent(ctx, command, err))
	}
	var reply struct{ Result, Error json.RawMessage }
	most := mostReply()
	bounded := &io.LimitedReader{R: conn, N: most}
	if err := json.NewDecoder(bounded).Decode(&reply); err != nil {
		if bounded.N <= 0 {
			return "", fmt.Errorf("%s: the reply to %q is larger than %d MiB", daemon, command, most>>20)
		}
		return "", fmt.Errorf("%s: %w", daemon, silent(ctx, command, err))
	}
	if text := replyText(reply.Error); text != "" {
		return "", &ControlError{Daemon: daemon, Command: command, Text: strings.TrimRight(text, "\n")}
	}
	return replyText(reply.Result), nil
}

// replyText returns a reply member's text: a string as is, "" for null, and the JSON itself for newer daemons'
// structured replies.
func replyText(raw json.RawMessage) string {
	var s *string
	if err := json.Unmarshal(raw, &s); err != nil {
		return string(raw)
	}
	if s == nil {
		return ""
	}
	return *s
}

// silent explains an error from the context's end: the kernel accepted the connection for the daemon, which did
// not reply.
func silent(ctx context.Context, request string, err error) error {
	if ctx.Err() == nil {
		return fmt.Errorf("%s: %w", request, err)
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("no reply to %s in time, the daemon is stopped or busy: %w", request, ctx.Err())
	}
	return fmt.Errorf("%s: %w", request, ctx.Err())
}

// dialUnix connects to a socket whose path may exceed the 107 bytes of an address: it then goes through the
// directory's descriptor.
func dialUnix(ctx context.Context, path string) (net.Conn, error) {
	if len(path) > 107 {
		dir, err := os.Open(filepath.Dir(path))
		if err != nil {
			return nil, err
		}
		defer dir.Close()
		path = fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path))
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	for errors.Is(err, syscall.EAGAIN) { // the listener's backlog is full: it is busy or hung
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
		conn, err = new(net.Dialer).DialContext(ctx, "unix", path)
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("%w: run as root", err)
	}
	return conn, err
}

// readBounded reads a regular file of at most limit bytes.
func readBounded(path string, limit int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil {
		return nil, err
	} else if !fi.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file", path)
	}
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("%s: larger than %d bytes", path, limit)
	}
	return b, nil
}
