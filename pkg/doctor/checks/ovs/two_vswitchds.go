package ovs

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var TwoVSwitchds = &doctor.Check{
	Name:     "two-vswitchds",
	Category: "ovs",
	Doc: `Two ovs-vswitchd run on one node

After a move of Open vSwitch between host and container both may run. Only one has the database's
lock; the next restart decides which.`,
	Settle: true,
	Run: func(p *doctor.Pass) {
		for d := range doctor.EachHost(p, "no host here runs ovs-vswitchd, as far as can be read", func(h *snapshot.Host) (*vswitchds, bool) {
			d, err := h.Daemon("ovs-vswitchd")
			if err != nil && !errors.Is(err, node.ErrUnavailable) {
				p.Unknown(doctor.NodeObject(h.Name), err)
			}
			return &vswitchds{h, d, doctor.ProcessesOf(h, "ovs-vswitchd")}, len(d.Sockets) > 0
		}) {
			if d.several() {
				p.Report(d.finding())
			}
		}
	},
}

// vswitchds are the ovs-vswitchd of a host.
type vswitchds struct {
	host      *snapshot.Host
	state     snapshot.Daemon
	processes []node.Process
}

// several reports whether more than one runs. With --monitor there is a parent that only watches, so two processes are
// two daemons only if one is in a container and one is not.
func (d *vswitchds) several() bool {
	inContainer := func(p node.Process) bool { return p.Container }
	onHost := func(p node.Process) bool { return !p.Container }
	return len(d.state.Answering()) > 1 || len(d.state.Sockets) > 0 && slices.ContainsFunc(d.processes, inContainer) && slices.ContainsFunc(d.processes, onHost)
}

func (d *vswitchds) finding() doctor.Finding {
	f := doctor.Finding{
		Object: doctor.DaemonObject(d.host, "ovs-vswitchd"),
		Also:   []doctor.Object{doctor.NodeObject(d.host.Name)},
		Title:  fmt.Sprintf("two ovs-vswitchd run on %s", d.host.Name),
		Cause:  "Open vSwitch was moved between host and container, or was started by hand, and the first was not stopped",
		Effect: "one of them is disabled; the next restart decides which, and commands may reach the wrong one",
		Next:   "stop the one that was started by hand: ovs-appctl -t SOCKET exit; see first which of the two has the ports: ovs-appctl -t SOCKET dpif/show",
	}
	for _, s := range d.state.Answering() {
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Socket("control socket " + s.Path), Says: "replies, " + s.Version})
	}
	for _, process := range d.processes {
		where := "on the host"
		if process.Container {
			where = "in a container"
			f.Next = "stop the one that should not run, and keep it from coming back: `systemctl disable --now openvswitch-switch` (rpm: openvswitch) for the host's, or take the node out of the daemon set for the container's; see first which of the two has the ports: ovs-appctl -t SOCKET dpif/show"
		}
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Process(process.PID), Says: fmt.Sprintf("%s, cgroup %s: %s", where, process.Cgroup, strings.Join(process.Args, " "))})
	}
	line, pid := d.disabled()
	if line != "" {
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Log("ovs-vswitchd"), Says: line})
	}
	if slices.ContainsFunc(d.processes, func(p node.Process) bool { return p.Container }) {
		return f
	}
	for _, s := range d.state.Answering() {
		if strconv.Itoa(s.PID) == pid {
			f.Next = fmt.Sprintf("stop the one that is disabled, and see what started it: ovs-appctl -t %s exit", s.Path)
		}
	}
	return f
}

// disabled is the log's last line about a disabled ovs-vswitchd, and the pid in it.
func (d *vswitchds) disabled() (line, pid string) {
	log, err := d.host.Log("ovs-vswitchd")
	if err != nil {
		return "", ""
	}
	for _, line := range slices.Backward(strings.Split(strings.TrimSpace(log), "\n")) {
		if strings.Contains(line, "another ovs-vswitchd process is running, disabling this process") {
			_, rest, _ := strings.Cut(line, "(pid ")
			pid, _, _ = strings.Cut(rest, ")")
			return line, pid
		}
	}
	return "", ""
}
