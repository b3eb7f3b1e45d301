package catalog

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// revived is the step that makes a daemon of the host answer again: one that does
// not run is started, one that hangs is ended and started. It refuses for one
// that answers, and for one in a container, which is not the host's to start.
func revived(h *snapshot.Host, daemon string) (fixes.Service, []string, error) {
	s := fixes.Service{Daemon: daemon, Action: fixes.Start}
	if err := notContained(h, daemon); err != nil {
		return s, nil, err
	}
	d, err := h.Daemon(daemon)
	if err != nil {
		return s, nil, err
	}
	meant, err := h.Meant(daemon)
	if err != nil {
		return s, nil, err
	}
	var warnings []string
	switch {
	case d.Liveness == snapshot.Answers:
		return s, nil, fixes.Refuse("", "%s of %s runs", daemon, h.Name)
	case len(meant) == 0:
		return s, nil, fixes.Refuse("", "%s is not meant to run on %s: nothing of it is there", daemon, h.Name)
	case d.Liveness == snapshot.Hung:
		s.Action = fixes.Replace
		if processes, err := h.Processes(); err == nil {
			for _, p := range processes {
				if p.Name == daemon && (p.State == "T" || p.State == "t") {
					warnings = append(warnings, fmt.Sprintf("process %d is stopped, perhaps by a debugger: `kill -CONT %d` would let it go on as it is", p.PID, p.PID))
				}
			}
		}
	}
	return s, warnings, nil
}

// notContained refuses for a daemon that runs in a container, or is kept there by a script.
func notContained(h *snapshot.Host, daemon string) error {
	processes, err := h.Processes()
	if err != nil {
		return err
	}
	for _, p := range processes {
		if p.Name == daemon && p.Container {
			return fixes.Refuse("restart its container or pod: `crictl ps`, `kubectl -n NAMESPACE delete pod POD`, `docker restart`",
				"%s of %s runs in a container (process %d, %s): it is left to whoever runs that", daemon, h.Name, p.PID, p.Cgroup)
		}
	}
	return nil
}

// chassisUp waits until the node's chassis has caught up; nothing where its zone is not read.
func chassisUp(h *snapshot.Host) []fixes.Step {
	z := h.Zone()
	if z == nil {
		return nil
	}
	name, _, err := h.ChassisName()
	if err != nil || name == "" {
		return nil
	}
	if s, err := z.Southbound(); err != nil || s.ChassisNamed(name) == nil {
		return nil
	}
	return []fixes.Step{fixes.Await{What: "chassis " + name + " has caught up", Chassis: name, Zone: z.Name}}
}
