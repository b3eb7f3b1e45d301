package snapshot

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/node"
)

// Control is a daemon's reply to a control command that changes nothing. A daemon
// that was silent once in this look is not asked again.
func (h *Host) Control(daemon, command string, args ...string) (string, error) {
	return read(&h.memo, question{daemon, strings.Join(append([]string{command}, args...), "\x00")}, func() (string, error) {
		if !h.Local { // a daemon that does not reply there would keep a shell from the checks that find that out
			if err := h.speaks(daemon); err != nil {
				return "", err
			}
		}
		return h.ask(daemon, func(ctx context.Context) (string, error) {
			return h.node.Host.Control(ctx, daemon, command, args...)
		})
	})
}

// ask asks a daemon something, for as long as it is not known to be silent: whether it answers at all is found out
// meanwhile. It mostly does.
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

// speaks says why a daemon would not answer; nil: it may.
func (h *Host) speaks(daemon string) error {
	if _, silent := h.silent.Load(daemon); silent {
		return silentError{daemon, h.Name}
	}
	d, err := h.Daemon(daemon)
	switch {
	case err != nil: // asking it will say why
		return nil
	case d.Liveness == Hung:
		return silentError{daemon, h.Name}
	case d.Liveness == Refused:
		return fmt.Errorf("%s on %s: %w", daemon, h.Name, ErrNotRunning)
	}
	return nil
}

// A silentError says that a daemon was not asked because it let the question
// before time out: it is context.DeadlineExceeded, too.
type silentError struct{ daemon, host string }

func (e silentError) Error() string { return e.daemon + " on " + e.host + " does not answer" }
func (e silentError) Unwrap() error { return context.DeadlineExceeded }

// ErrNotRunning says that a daemon was not asked because it does not run.
var ErrNotRunning = errors.New("the daemon is not running")

// heard remembers of a daemon that it let a request time out.
func (h *Host) heard(daemon string, err error) {
	if errors.Is(err, context.DeadlineExceeded) && h.d.ctx.Err() == nil {
		h.silent.Store(daemon, true)
	}
}

// Liveness is what a daemon's control sockets say of it.
type Liveness string

// A daemon's states. A pidfile proves nothing; the socket decides.
const (
	Answers Liveness = "answers"
	Refused Liveness = "does not run" // no socket, or nobody behind it
	Hung    Liveness = "does not answer"
)

// A Daemon is a daemon as its control sockets show it.
type Daemon struct {
	Liveness
	Version string // "3.1.0", of one that answers
	// Sockets are all control sockets of that name, those left by processes that
	// are gone among them, and a pidfile without a socket. Two that answer are
	// two daemons.
	Sockets []node.Daemon
}

// Answering are the sockets behind which a daemon answers.
func (d Daemon) Answering() []node.Daemon {
	var list []node.Daemon
	for _, s := range d.Sockets {
		if s.State == node.Answers {
			list = append(list, s)
		}
	}
	return list
}

// Daemons are all programs with a control socket or a pidfile in the run
// directories of Open vSwitch and OVN. Where one was silent in the first look the
// second has the same answer: nobody waits for it twice.
func (h *Host) Daemons() ([]node.Daemon, error) {
	return Derive(h, "", func() ([]node.Daemon, error) {
		if h.before != nil {
			all, err := h.before.Daemons()
			if err == nil && slices.ContainsFunc(all, func(d node.Daemon) bool { return d.State == node.Hung }) {
				return all, nil
			}
		}
		return h.node.Host.Daemons(h.d.ctx)
	})
}

// Daemon is a daemon by name: "ovs-vswitchd", "ovsdb-server", "ovn-controller",
// "ovn-northd", "ovnnb_db", "ovnsb_db", "ovn-ic". The error is for a source that
// cannot tell; that a daemon does not run is an answer. Whether it is meant to
// run tells Meant.
func (h *Host) Daemon(name string) (Daemon, error) {
	return Derive(h, name, func() (Daemon, error) {
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

// savedDaemon takes a daemon's saved reply for the daemon, where nothing else was
// saved.
func (h *Host) savedDaemon(name string, why error) (Daemon, error) {
	text, err := h.node.Host.Control(h.d.ctx, name, "version")
	if err != nil {
		return Daemon{}, why
	}
	line, _, _ := strings.Cut(text, "\n")
	return Daemon{Liveness: Answers, Version: line[strings.LastIndexByte(line, ' ')+1:]}, nil
}

// Meant lists what speaks for a host being meant to run a daemon; nothing: it is
// not. It does not say whether it runs. The error is for what could not be read,
// where nothing else speaks for it.
func (h *Host) Meant(daemon string) ([]string, error) {
	return Derive(h, daemon, func() ([]string, error) {
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
