package doctor

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// silent calls f for each host that is meant to run a daemon which does not
// answer, with what speaks for it being meant.
func (p *Pass) SilentDaemons(daemon string, f func(*snapshot.Host, snapshot.Daemon, []string)) {
	any := false
	for _, h := range p.Hosts {
		d, err := h.Daemon(daemon)
		if err != nil {
			if !errors.Is(err, snapshot.ErrNoSwitch) && (h.Local || !errors.Is(err, node.ErrUnavailable)) {
				any = true
				p.Unknown(NodeObject(h.Name), err)
			}
			continue
		}
		if d.Liveness == snapshot.Answers {
			any = true
			continue
		}
		meant, err := h.Meant(daemon)
		if err != nil {
			any = true
			p.Unknown(NodeObject(h.Name), err)
			continue
		}
		if len(meant) == 0 {
			continue
		}
		any = true
		f(h, d, meant)
	}
	if !any {
		p.Skip("no host that is meant to run " + daemon + " can be read from here")
	}
}

func DaemonObject(h *snapshot.Host, daemon string) Object {
	return Object{Kind: "daemon", Name: daemon, Node: h.Name}
}

// silence is what is seen of a daemon that does not answer.
func SilenceEvidence(h *snapshot.Host, daemon string, d snapshot.Daemon, meant []string) []Evidence {
	var list []Evidence
	for i, s := range d.Sockets {
		// What dead processes have left says nothing where one lives, and one of them says enough.
		if s.State != node.Hung && (d.Liveness == snapshot.Hung || i < len(d.Sockets)-1) {
			continue
		}
		source := "control socket " + s.Path
		if s.State == node.NoSocket {
			source = "pidfile " + s.Path
		}
		says := string(s.State)
		switch s.State {
		case node.Hung:
			says = "takes the connection and stays silent"
		case node.Refused:
			says = "nobody listens: its process is gone"
		}
		list = append(list, Evidence{Source: Other(source), Says: says})
	}
	if len(d.Sockets) == 0 {
		list = append(list, Evidence{Source: Other("run directory"), Says: "has no control socket of " + daemon})
		list = append(list, Evidence{Source: Other(strings.Join(meant, ", ")), Says: "says that it is meant to run here"})
	}
	for _, p := range ProcessesOf(h, daemon) {
		says := fmt.Sprintf("state %s", p.State)
		switch p.State {
		case "T", "t":
			says = "stopped (state " + p.State + "): by a signal or a debugger"
		case "D":
			says = "waits for the kernel (state D), a disk or a device"
		}
		list = append(list, Evidence{Source: Other(fmt.Sprintf("process %d", p.PID)), Says: says})
	}
	if line := lastTrouble(h, daemon); line != "" {
		list = append(list, Evidence{Source: Log(daemon), Says: line})
	}
	return list
}

// processesOf are the processes of a daemon; none where they cannot be read.
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

// inContainer is the process of a daemon in a container; nil: there is none.
func InContainer(h *snapshot.Host, daemon string) *node.Process {
	for _, p := range ProcessesOf(h, daemon) {
		if p.Container {
			return &p
		}
	}
	return nil
}

// lastTrouble is what a daemon's log says at its end, if that is why it ended.
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
