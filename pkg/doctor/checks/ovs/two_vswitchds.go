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
	Doc: `Two ovs-vswitchd work on one node

After a move between Open vSwitch on the host and in a container both may run. Only one can hold the
database's lock; which, the next restart decides.`,
	Settle: true,
	Run:    lookForTwo,
}

func lookForTwo(p *doctor.Pass) {
	any := false
	for _, h := range p.Hosts {
		d, err := h.Daemon("ovs-vswitchd")
		if err != nil {
			if !errors.Is(err, node.ErrUnavailable) {
				any = true
				p.Unknown(doctor.NodeObject(h.Name), err)
			}
			continue
		}
		if len(d.Sockets) == 0 {
			continue
		}
		any = true
		evidenceOfTwo(p, h, d)
	}
	if !any {
		p.Skip("no host here runs ovs-vswitchd, as far as can be read")
	}
}

func evidenceOfTwo(p *doctor.Pass, h *snapshot.Host, d snapshot.Daemon) {
	processes := doctor.ProcessesOf(h, "ovs-vswitchd")
	f := doctor.Finding{
		Object: doctor.DaemonObject(h, "ovs-vswitchd"),
		Also:   []doctor.Object{doctor.NodeObject(h.Name)},
		Title:  fmt.Sprintf("two ovs-vswitchd run on %s", h.Name),
		Cause:  "Open vSwitch was moved between host and container, or was started by hand, and the first was not stopped",
		Effect: "one of them is disabled; which, the next restart decides, and commands may reach the wrong one",
	}
	for _, s := range d.Answering() {
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Other("control socket " + s.Path), Says: fmt.Sprintf("answers, %s", s.Version)})
	}
	// With --monitor there is a parent that only watches: two processes are two switches if none is the other's.
	host, contained := 0, 0
	for _, process := range processes {
		says := "on the host, control group " + process.Cgroup
		if process.Container {
			says = "in a container, control group " + process.Cgroup
			contained++
		} else {
			host++
		}
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Other(fmt.Sprintf("process %d", process.PID)), Says: says + ": " + strings.Join(process.Args, " ")})
	}
	disabled := ""
	if log, err := h.Log("ovs-vswitchd"); err == nil {
		lines := strings.Split(strings.TrimSpace(log), "\n")
		for _, line := range slices.Backward(lines) {
			if strings.Contains(line, "another ovs-vswitchd process is running, disabling this process") {
				f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Log("ovs-vswitchd"), Says: line})
				if _, pid, ok := strings.Cut(line, "(pid "); ok {
					disabled, _, _ = strings.Cut(pid, ")")
				}
				break
			}
		}
	}
	if len(d.Answering()) < 2 && (host == 0 || contained == 0) {
		return
	}
	f.Next = "stop the one that is not meant to run, and keep it from coming back: `systemctl disable --now openvswitch-switch` (rpm: openvswitch) for that of the host, or take the node out of the daemon set for that of the container; look first which of the two holds the ports: ovs-appctl -t SOCKET dpif/show"
	if contained == 0 {
		f.Next = "end the one that was started by hand: ovs-appctl -t SOCKET exit; look first which of the two holds the ports: ovs-appctl -t SOCKET dpif/show"
		for _, s := range d.Answering() {
			if strconv.Itoa(s.PID) == disabled {
				f.Next = fmt.Sprintf("end the one that is disabled, and see what started it: ovs-appctl -t %s exit", s.Path)
			}
		}
	}
	p.Report(f)
}
