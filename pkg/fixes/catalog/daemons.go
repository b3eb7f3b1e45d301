package catalog

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// daemonStaysUp is why the start of a daemon cannot be undone.
const daemonStaysUp = "a daemon that was started is not stopped again"

// startDaemon returns the plan that makes a host's daemon reply again: a stopped one is started, a hung one is killed
// and started. It refuses one that replies, and one in a container, which is not the host's to start.
func startDaemon(h *snapshot.Host, daemon, touches string) (*fixes.Plan, error) {
	if err := notContained(h, daemon); err != nil {
		return nil, err
	}
	d, err := h.Daemon(daemon)
	if err != nil {
		return nil, err
	}
	meant, err := h.Meant(daemon)
	if err != nil {
		return nil, err
	}
	switch {
	case d.Liveness == snapshot.Answers:
		return nil, fixes.Refuse("", "%s of %s is running", daemon, h.Name)
	case len(meant) == 0:
		return nil, fixes.Refuse("", "%s is not meant to run on %s: it is not installed there", daemon, h.Name)
	case d.Liveness != snapshot.Hung:
		return &fixes.Plan{Title: "start " + daemon, Host: h.Name, Touches: touches, Steps: []fixes.Step{fixes.Service{Daemon: daemon, Action: fixes.Start}}}, nil
	}
	plan := &fixes.Plan{
		Title: "kill " + daemon + ", which does not reply, and start it", Host: h.Name, Touches: touches,
		Steps: []fixes.Step{fixes.Service{Daemon: daemon, Action: fixes.Replace}},
	}
	processes, _ := h.Processes() // only for the warning
	for _, p := range processes {
		if p.Name == daemon && (p.State == "T" || p.State == "t") {
			plan.Warnings = append(plan.Warnings, fmt.Sprintf("process %d is stopped, perhaps by a debugger: `kill -CONT %d` would resume it as it is", p.PID, p.PID))
		}
	}
	return plan, nil
}

// notContained refuses a daemon that runs in a container.
func notContained(h *snapshot.Host, daemon string) error {
	processes, err := h.Processes()
	if err != nil {
		return err
	}
	for _, p := range processes {
		if p.Name == daemon && p.Container {
			return fixes.Refuse("restart its container or pod: `crictl ps`, `kubectl -n NAMESPACE delete pod POD`, `docker restart`",
				"%s of %s runs in a container (process %d, %s), which ovnctl does not restart", daemon, h.Name, p.PID, p.Cgroup)
		}
	}
	return nil
}

// chassisUp waits until the node's chassis has caught up; no step if its zone was not read.
func chassisUp(h *snapshot.Host) []fixes.Step {
	name, _, err := h.ChassisName()
	if err != nil || name == "" {
		return nil
	}
	if south, err := h.Southbound(); err != nil || south.ChassisNamed(name) == nil {
		return nil
	}
	return []fixes.Step{fixes.Await{What: "chassis " + name + " has caught up", Chassis: name, Zone: h.Zone().Name}}
}
