package snapshot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/node"
)

// Control returns a daemon's reply to a read-only control command. A daemon that did not reply once in this sample is
// not asked again.
func (h *Host) Control(daemon, command string, args ...string) (string, error) {
	return read(&h.memo, question{daemon, strings.Join(append([]string{command}, args...), "\x00")}, func() (string, error) {
		if !h.Local { // a silent remote daemon would block a shell that the checks detecting it need
			if err := h.speaks(daemon); err != nil {
				return "", err
			}
		}
		return h.ask(daemon, func(ctx context.Context) (string, error) {
			return h.node.Host.Control(ctx, daemon, command, args...)
		})
	})
}

// ask asks a daemon something unless it is known not to reply, and meanwhile finds out whether it replies at all.
// It mostly does.
func (h *Host) ask(daemon string, question func(context.Context) (string, error)) (string, error) {
	if _, silent := h.silent.Load(daemon); silent {
		return "", silentError{daemon, h.Name}
	}
	ctx, cancel := context.WithCancel(h.d.ctx)
	defer cancel()
	go func() {
		if h.speaks(daemon) != nil {
			cancel()
		}
	}()
	reply, err := question(ctx)
	if err == nil {
		return reply, nil
	}
	if why := h.speaks(daemon); why != nil {
		return "", why
	}
	h.heard(daemon, err)
	return "", err
}

// speaks returns why a daemon would not reply; nil if it may.
func (h *Host) speaks(daemon string) error {
	if _, silent := h.silent.Load(daemon); silent {
		return silentError{daemon, h.Name}
	}
	d, err := h.Daemon(daemon)
	switch {
	case err != nil: // the question itself will return why
		return nil
	case d.Liveness == Hung:
		return silentError{daemon, h.Name}
	case d.Liveness == Refused:
		return fmt.Errorf("%s on %s: %w", daemon, h.Name, ErrNotRunning)
	}
	return nil
}

// A silentError means that a daemon was not asked because an earlier request timed out: it is
// context.DeadlineExceeded, too.
type silentError struct{ daemon, host string }

func (e silentError) Error() string { return e.daemon + " on " + e.host + " does not answer" }
func (e silentError) Unwrap() error { return context.DeadlineExceeded }

// ErrNotRunning means that a daemon was not asked because it does not run.
var ErrNotRunning = errors.New("the daemon is not running")

// heard records that a request to a daemon timed out.
func (h *Host) heard(daemon string, err error) {
	if errors.Is(err, context.DeadlineExceeded) && h.d.ctx.Err() == nil {
		h.silent.Store(daemon, true)
	}
}

// Liveness is a daemon's state according to its control sockets.
type Liveness string

// A daemon's states. A pidfile proves nothing; the socket decides.
const (
	Answers Liveness = "answers"
	Refused Liveness = "does not run" // no socket, or nobody listens on it
	Hung    Liveness = "does not answer"
)

// A Daemon is a daemon as its control sockets show it.
type Daemon struct {
	Liveness
	Version string // "3.1.0", if it replies
	// Sockets are all control sockets of that name, including those left by dead processes, and a pidfile without a
	// socket. Two that reply are two daemons.
	Sockets []node.Daemon
}

// Answering returns the sockets on which a daemon replies.
func (d Daemon) Answering() []node.Daemon {
	var list []node.Daemon
	for _, s := range d.Sockets {
		if s.State == node.Answers {
			list = append(list, s)
		}
	}
	return list
}

// Daemons returns all programs with a control socket or pidfile in the run directories of Open vSwitch and OVN. If
// one did not reply in the first sample, the second reuses the result: nobody waits for it twice.
func (h *Host) Daemons() ([]node.Daemon, error) {
	return Distil(h, "", func() ([]node.Daemon, error) {
		if h.before != nil {
			all, err := h.before.Daemons()
			if err == nil && slices.ContainsFunc(all, func(d node.Daemon) bool { return d.State == node.Hung }) {
				return all, nil
			}
		}
		return h.node.Host.Daemons(h.d.ctx)
	})
}

// Daemon returns a daemon by name: "ovs-vswitchd", "ovsdb-server", "ovn-controller", "ovn-northd", "ovnnb_db",
// "ovnsb_db", "ovn-ic". An error means that the source cannot tell; a daemon that does not run is no error. Meant
// reports whether it should run.
func (h *Host) Daemon(name string) (Daemon, error) {
	return Distil(h, name, func() (Daemon, error) {
		all, err := h.Daemons()
		if errors.Is(err, node.ErrUnavailable) {
			return h.savedDaemon(name, err)
		}
		if err != nil {
			return Daemon{}, err
		}
		d := Daemon{Liveness: Refused}
		for _, s := range all {
			if s.Name != name {
				continue
			}
			d.Sockets = append(d.Sockets, s)
			switch {
			case s.State == node.Answers:
				d.Liveness, d.Version = Answers, s.Version
			case s.State == node.Hung && d.Liveness == Refused:
				d.Liveness = Hung
			}
		}
		return d, nil
	})
}

// savedDaemon takes a daemon's saved reply as proof of the daemon, if nothing else was saved.
func (h *Host) savedDaemon(name string, why error) (Daemon, error) {
	text, err := h.node.Host.Control(h.d.ctx, name, "version")
	if err != nil {
		return Daemon{}, why
	}
	line, _, _ := strings.Cut(text, "\n")
	return Daemon{Liveness: Answers, Version: line[strings.LastIndexByte(line, ' ')+1:]}, nil
}

// Meant returns the reasons why a host is meant to run a daemon; none: it is not. It does not report whether it runs.
// The error is for what could not be read, if no other reason was found.
func (h *Host) Meant(daemon string) ([]string, error) {
	return Distil(h, daemon, func() ([]string, error) {
		var why []string
		var errs []error
		all, err := h.Daemons()
		if err != nil {
			errs = append(errs, err)
		}
		for _, d := range all {
			if d.Name != daemon {
				continue
			}
			if d.State == node.NoSocket {
				why = append(why, "the pidfile "+d.Path)
			} else {
				why = append(why, "the control socket "+d.Path)
			}
		}
		units := map[string]string{
			"ovs-vswitchd": "ovs-vswitchd.service", "ovsdb-server": "ovsdb-server.service", "ovn-controller": "ovn-controller.service",
			"ovn-northd": "ovn-northd.service", "ovnnb_db": "ovn-ovsdb-server-nb.service", "ovnsb_db": "ovn-ovsdb-server-sb.service",
		}
		if name := units[daemon]; name != "" {
			if u, err := h.Unit(name); err == nil && (u.File == "enabled" || u.Active == "active" || u.Active == "failed") {
				why = append(why, fmt.Sprintf("the service %s is %s and %s", name, u.File, u.Active))
			}
		}
		switch daemon {
		case "ovs-vswitchd", "ovsdb-server":
			if _, err := h.Switch(); err == nil {
				why = append(why, "its Open_vSwitch database")
			} else if !errors.Is(err, ErrNoSwitch) {
				if paths, err := h.Glob(h.Dirs().OVSDB + "/conf.db"); err == nil && len(paths) > 0 {
					why = append(why, "the file "+paths[0])
				}
				errs = append(errs, err)
			}
		case "ovn-controller":
			s, err := h.Switch()
			switch {
			case err != nil && !errors.Is(err, ErrNoSwitch):
				errs = append(errs, err)
			case err == nil && len(s.OpenvSwitch) > 0:
				if remote := s.OpenvSwitch[0].ExternalIDs["ovn-remote"]; remote != "" {
					why = append(why, "external_ids:ovn-remote="+remote)
				}
			}
			for _, z := range h.d.Zones {
				south, err := z.Southbound()
				if err != nil || h.SystemID == "" {
					continue
				}
				if south.ChassisNamed(h.SystemID) != nil {
					why = append(why, "its chassis in the Southbound")
				}
			}
		case "ovnnb_db", "ovnsb_db":
			if paths, err := h.Glob(h.Dirs().OVNDB + "/" + daemon + ".db"); err == nil && len(paths) > 0 {
				why = append(why, "the file "+paths[0])
			}
		case "ovn-northd":
			if _, err := h.Log("ovn-northd"); err == nil {
				why = append(why, "its log")
			}
		}
		if len(why) > 0 {
			return why, nil
		}
		return nil, errors.Join(errs...)
	})
}
