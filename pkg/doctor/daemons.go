package doctor

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// A SilentDaemon is a daemon that should run on a host and does not reply.
type SilentDaemon struct {
	*snapshot.Host
	Daemon   string          // its program: "ovn-controller"
	State    snapshot.Daemon // as its control sockets show it
	Expected []string        // why it should run: "the pidfile …"
}

// OnSilentDaemon is the Host of a check that looks at a daemon which should run on a host and does not reply. A host where that cannot be
// read is reported as unknown.
func OnSilentDaemon(daemon string, look func(*Pass, *SilentDaemon)) func(*Pass, *snapshot.Host) {
	return On("no host that should run "+daemon+" can be read from here", func(p *Pass, h *snapshot.Host) (*SilentDaemon, bool) {
		return silentDaemon(p, h, daemon)
	}, look)
}

func silentDaemon(p *Pass, h *snapshot.Host, daemon string) (d *SilentDaemon, applies bool) {
	state, err := h.Daemon(daemon)
	switch {
	case errors.Is(err, snapshot.ErrNoSwitch), errors.Is(err, node.ErrUnavailable) && !h.Local:
		return nil, false
	case err != nil:
		p.Unknown(NodeObject(h.Name), err)
		return nil, false
	case state.Liveness == snapshot.Answers:
		return nil, true
	}
	expected, ok := Need(p, NodeObject(h.Name), func() ([]string, error) { return h.Meant(daemon) })
	if !ok || len(expected) == 0 {
		return nil, false
	}
	return &SilentDaemon{h, daemon, state, expected}, true
}

// Object is the daemon on its host.
func (d *SilentDaemon) Object() Object { return DaemonObject(d.Host, d.Daemon) }

// Evidence returns the daemon's sockets, its processes and the end of its log.
func (d *SilentDaemon) Evidence() []Evidence {
	var list []Evidence
	for i, s := range d.State.Sockets {
		// A dead process's socket means nothing beside a live one's, and of several the last is enough.
		if s.State != node.Hung && (d.State.Liveness == snapshot.Hung || i < len(d.State.Sockets)-1) {
			continue
		}
		e := Evidence{Source: Socket("control socket " + s.Path), Says: string(s.State)}
		switch s.State {
		case node.Hung:
			e.Says = "accepts the connection and does not reply"
		case node.Refused:
			e.Says = "refuses the connection: its process has ended"
		case node.NoSocket:
			e.Source = File(s.Path, 0)
		}
		list = append(list, e)
	}
	if len(d.State.Sockets) == 0 {
		list = append(list, Evidence{Source: Other("run directory"), Says: "has no control socket of " + d.Daemon})
		list = append(list, Evidence{Source: Other(strings.Join(d.Expected, ", ")), Says: "shows that it should run here"})
	}
	for _, p := range ProcessesOf(d.Host, d.Daemon) {
		says := "state " + p.State
		switch p.State {
		case "T", "t":
			says = "stopped by a signal or a debugger (state " + p.State + ")"
		case "D":
			says = "waits in the kernel for a disk or a device (state D)"
		}
		list = append(list, Evidence{Source: Process(p.PID), Says: says})
	}
	if line := lastTrouble(d.Host, d.Daemon); line != "" {
		list = append(list, Evidence{Source: Log(d.Daemon), Says: line})
	}
	return list
}

// Finding reports that the daemon does not run, or hangs. The fix starts it, unless it runs in a container.
func (d *SilentDaemon) Finding(effect string, fix *fixes.Call) Finding {
	f := Finding{
		Object:   d.Object(),
		Reason:   "not-running",
		Also:     []Object{NodeObject(d.Name)},
		Title:    fmt.Sprintf("%s of %s does not run", d.Daemon, d.Name),
		Evidence: d.Evidence(),
		Cause:    "it exited or was stopped, and nothing started it again",
		Effect:   effect,
		Fix:      fix,
	}
	if d.State.Liveness == snapshot.Hung {
		f.Reason, f.Lasting = "hangs", true
		f.Title = fmt.Sprintf("%s of %s does not reply", d.Daemon, d.Name)
		f.Cause = "it hangs, or is stopped by a signal"
	}
	if c := InContainer(d.Host, d.Daemon); c != nil {
		f.Fix, f.Next = nil, fmt.Sprintf("restart its container (process %d, %s)", c.PID, c.Cgroup)
	}
	return f
}

// Replies reports whether a host's daemon replies; false if that cannot be read.
func Replies(h *snapshot.Host, daemon string) bool {
	d, err := h.Daemon(daemon)
	return err == nil && d.Liveness == snapshot.Answers
}

// ControllerReplies reports whether ovn-controller replies.
func ControllerReplies(h *snapshot.Host) bool {
	d, err := h.Daemon("ovn-controller")
	return err == nil && d.Liveness != snapshot.Refused
}

// ProcessesOf returns a daemon's processes; none if they cannot be read.
func ProcessesOf(h *snapshot.Host, daemon string) []node.Process {
	all, err := h.Processes()
	if err != nil {
		return nil
	}
	var list []node.Process
	for _, p := range all {
		if p.Name == daemon && p.State != "Z" {
			list = append(list, p)
		}
	}
	return list
}

// InContainer returns a daemon's process that runs in a container; nil if none.
func InContainer(h *snapshot.Host, daemon string) *node.Process {
	for _, p := range ProcessesOf(h, daemon) {
		if p.Container {
			return &p
		}
	}
	return nil
}

// lastTrouble returns the line at the end of a daemon's log that shows why it ended; empty if none.
func lastTrouble(h *snapshot.Host, daemon string) string {
	log, err := h.Log(daemon)
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(log), "\n")
	for _, line := range lines[max(0, len(lines)-5):] {
		for _, word := range []string{"|EMER|", "core dumped", "Segmentation", "assertion", "exiting with", "terminating with signal", "|fatal_signal|"} {
			if strings.Contains(line, word) {
				return line
			}
		}
	}
	return ""
}
