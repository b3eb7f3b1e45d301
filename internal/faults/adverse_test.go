//go:build lab

package faults

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ovnctl/ovnctl/internal/lab"
	"github.com/ovnctl/ovnctl/internal/lab/labtest"
)

// disabled is a fault of the Northbound alone, whose repair is one transaction.
func disabled() *fault {
	return &fault{
		check: "port-administratively-disabled", on: "central", restless: announced,
		make: func(s *scene) {
			s.sh("central", "ovn-nbctl --timeout=60 --db=%s %s --wait=hv lsp-set-enabled shop_web-1 disabled", s.NB(), s.keys())
		},
		repair: []string{"enable-port", "shop_web-1"},
	}
}

// keys are the flags of the C tools on a lab with TLS.
func (s *scene) keys() string {
	if !s.TLS {
		return ""
	}
	private, cert, ca := s.Keys("client")
	return "-p " + private + " -c " + cert + " -C " + ca
}

// adverse makes the fault on a lab for cases of it.
func adverse(t *testing.T, o lab.Options) *matrix {
	binary, err := killable()
	if err != nil {
		t.Fatal(err)
	}
	l := labtest.Own(t, lab.OVNKubernetes(), o)
	ctx, cancel := context.WithTimeout(t.Context(), lab.Allow(10*time.Minute))
	t.Cleanup(cancel)
	f := disabled()
	m := &matrix{scene: &scene{T: t, Lab: l, ctx: ctx, fault: f, repair: f.repair, binary: binary}}
	f.make(m.scene)
	m.there()
	m.before = m.settled()
	return m
}

// while runs a command, and does something else when it has come to a point. Once both have ended, it returns what ovnctl printed.
func (m *matrix) while(point string, args []string, do func(resume func())) string {
	m.Helper()
	hold := filepath.Join(m.Dir, "hold")
	_ = os.Remove(m.points())
	cmd, out := m.start([]string{"OVNCTL_FAILPAUSE=" + point + " " + hold, "OVNCTL_FAILPOINTS=" + m.points()}, args...)
	m.until("ovnctl is at "+point, func() bool { return exists(hold) })
	do(func() { _ = os.Remove(hold) })
	_ = os.Remove(hold)
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 0 && code != 3 && code != 4 || strings.Contains(out.String(), "panic:") {
		m.Fatalf("ovnctl %s at %s: exit %d:\n%s", strings.Join(args, " "), point, code, out)
	}
	return out.String()
}

// points is the file of the points that ovnctl has passed.
func (m *matrix) points() string { return filepath.Join(m.Dir, "failpoints") }

// asks waits until a request that changes something is on its way.
func (m *matrix) asks() {
	m.Helper()
	m.until("the request is sent", func() bool {
		text, _ := os.ReadFile(m.points())
		return strings.Contains(string(text), "sent ")
	})
}

// TestLeaderChange has a RAFT cluster change its leader while a repair, and its undo, are under way: before the transaction, with
// it on its way to a leader that dies, and after it. Nothing is done twice, half or by halves: recover, and the host is as before or
// repaired and can be undone.
func TestLeaderChange(t *testing.T) {
	m := adverse(t, lab.Options{Cluster: 3, TLS: true})
	overthrow := func(func()) { m.overthrow("nb") }
	dies := func(resume func()) {
		old := ""
		m.until("there is a leader", func() bool { old = m.leader("nb"); return old != "" })
		m.signal(old, "nb", syscall.SIGSTOP)
		resume()
		m.asks()
		m.stopServer(old, "nb", syscall.SIGKILL)
		m.startServer(old, "nb")
		m.until("there is a leader again", func() bool { return m.leader("nb") != "" })
	}
	for _, c := range []struct {
		name, point string
		do          func(resume func())
	}{
		{"leader changes before the transaction", "journal:_on_disk_begun_1", overthrow},
		{"leader changes after the transaction", "step_1_done", overthrow},
		{"leader changes before it is verified", "before_verify", overthrow},
		{"leader dies with the transaction", "write_1", dies},
	} {
		m.attempt(c.name, func() bool { m.while(c.point, m.command(), c.do); return true })
	}
	for _, c := range []struct {
		name, point string
		do          func(resume func())
	}{
		{"leader changes before the undo", "before_step_1_is_taken_back", overthrow},
		{"leader changes after the undo", "step_1_taken_back", overthrow},
		{"leader dies with the undo", "write_1", dies},
	} {
		m.attempt(c.name, func() bool {
			m.says(0, "FIXED", m.command()...)
			m.while(c.point, undo, c.do)
			return true
		})
	}
}

// TestServerKilled kills the Northbound's ovsdb-server in mid-transaction: with the request in its socket, and in the middle of
// writing it to its file, so that the file ends with half a record. It is started again at once, or after ovnctl has given up.
func TestServerKilled(t *testing.T) {
	m := adverse(t, lab.Options{})
	unread := func(again func()) func(func()) {
		return func(resume func()) {
			m.signal("central", "nb", syscall.SIGSTOP)
			resume()
			m.asks()
			m.stopServer("central", "nb", syscall.SIGKILL)
			again()
		}
	}
	start := func() { m.startServer("central", "nb") }
	for _, c := range []struct {
		name string
		args []string
	}{{"the repair", m.command()}, {"the undo", undo}} {
		ready := func() {
			if c.args[1] == "undo" {
				m.says(0, "FIXED", m.command()...)
			}
		}
		m.attempt("server killed with "+c.name+" unread", func() bool {
			ready()
			m.while("write_1", c.args, unread(start))
			return true
		})
		m.attempt("server killed with "+c.name+" unread, and back late", func() bool {
			ready()
			out := m.while("write_1", c.args, unread(func() {}))
			start()
			if !strings.Contains(out, "the rows could not be read back: ") {
				m.Errorf("nobody could read the rows, but:\n%s", out)
			}
			return true
		})
		m.attempt("server killed with "+c.name+" half written", func() bool {
			ready()
			m.while("write_1", c.args, m.halfWritten)
			return true
		})
	}
	m.end()
}

// halfWritten has the Northbound's server die while it writes a transaction to its file: the file may not grow by more than some
// bytes, and the kernel ends who tries (setrlimit(2), RLIMIT_FSIZE). Its monitor starts it again.
func (m *matrix) halfWritten(resume func()) {
	m.Helper()
	pid := m.pid("central", "ovnnb_db")
	file, err := os.Stat(m.dbFile("central", "nb"))
	if err != nil {
		m.Fatal(err)
	}
	limit := unix.Rlimit{Cur: uint64(file.Size()) + 20, Max: unix.RLIM_INFINITY}
	if err := unix.Prlimit(pid, unix.RLIMIT_FSIZE, &limit, nil); err != nil {
		m.Fatal(err)
	}
	resume()
	m.until("the server has died and its monitor has started it again", func() bool {
		text, err := os.ReadFile(filepath.Join(m.Dir, "central/run/ovn/ovnnb_db.pid"))
		return err == nil && strings.TrimSpace(string(text)) != "" && m.pid("central", "ovnnb_db") != pid
	})
}
