package catalog

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// SetTransientDefault writes the option to the default file.
var SetTransientDefault = &fixes.Repair{
	Name: "set-transient-default",
	Doc: `Make Open vSwitch remove transient ports when it starts

On Debian and Ubuntu adds the option --delete-transient-ports to OVS_CTL_OPTS in
/etc/default/openvswitch-switch, after the options that are there. Broken forms of it
are rewritten: a reference to the variable itself, which systemd does not expand; a
line that is glued to another; a value that systemd or ovs-ctl reads differently than
meant; a setting that a later line overrides. Comments stay.

On hosts with rpm packages ovs-delete-transient-ports.service does the work: it is
unmasked if it is masked, and if the package has none the option goes into OPTIONS
of /etc/sysconfig/openvswitch.

Nothing is restarted. It acts at the next start of ovsdb-server, on Debian at every
start including that of a package upgrade: then the uplink leaves the bridge until its
owner adds it again.`,
	Class: fixes.Ask,
	Risk:  fixes.Low,
	Check: "transient-default-missing",
	Also:  []string{"transient-default-self-reference", "transient-default-wrong-file-rhel", "transient-default-glued-or-commented"},
	Plan: func(d *snapshot.Deployment, _ fixes.Args) (*fixes.Plan, error) {
		h, err := local(d)
		if err != nil {
			return nil, err
		}
		s, switchErr := h.Switch()
		var all, pods []string
		if switchErr == nil {
			all, pods = facts.TransientPorts(s)
		}
		if err := checkOnHost(h, pods); err != nil {
			return nil, err
		}
		t, err := facts.ReadTransientDefault(h)
		if err != nil {
			return nil, err
		}
		if switchErr != nil && t.Stops == "" {
			return nil, switchErr // a line that stops Open vSwitch is why there is no database to read
		}
		return planTransientDefault(t, h, all, pods)
	},
}

// checkOnHost refuses if Open vSwitch runs in a container.
func checkOnHost(h *snapshot.Host, pods []string) error {
	contained, by, err := facts.Contained(h)
	if err != nil && !errors.Is(err, node.ErrUnavailable) {
		return err
	}
	const instead = "leave the option out of the container's start; see ovnctl explain transient-scrubs-live-pods"
	switch {
	case !contained:
		return nil
	case len(pods) > 0:
		return fixes.Refuse(instead, "Open vSwitch of %s runs in a container (%s): with the option, restarting that container would delete %s of live pods (%s)",
			h.Name, by, plural(len(pods), "port"), several(pods))
	}
	return fixes.Refuse(instead, "Open vSwitch of %s runs in a container (%s): it does not read the host's default file", h.Name, by)
}

// planTransientDefault is what makes the option work on a host with these transient ports, some of them of pods.
func planTransientDefault(t *facts.TransientDefault, h *snapshot.Host, all, pods []string) (*fixes.Plan, error) {
	plan := &fixes.Plan{Host: h.Name, Touches: "nothing now"}
	starts := t.Stops == ""
	switch {
	case t.Form == facts.TransientWorks && t.Wrong == "":
		return nil, fixes.Refuse("", "%s line %d already has the option", t.File, t.Line)
	case t.Otherwise != "" && starts && t.Form == facts.TransientMissing:
		return nil, fixes.Refuse("", "%s deletes transient ports", t.Otherwise)
	case t.Wrong != "" && t.Deleted() && starts:
		plan.Title, plan.Steps = "remove "+facts.DeleteTransient+" from "+t.Wrong, cleanWrongFile(t)
		return plan, nil
	case t.Unit == "present" && starts:
		return nil, fixes.Refuse("", "%s deletes transient ports at boot, and the options are correct", facts.TransientUnitName)
	case t.Distribution.Family == "rpm" && t.Unit == "masked" && starts:
		plan.Title = "let " + facts.TransientUnitName + " delete transient ports at boot"
		plan.Touches = "nothing now; the next boot deletes " + portList(all)
		plan.Steps = append([]fixes.Step{fixes.Service{Daemon: strings.TrimSuffix(facts.TransientUnitName, ".service"), Action: fixes.Unmask}}, cleanWrongFile(t)...)
		plan.Warnings = []string{"somebody masked the unit: if that was on purpose, leave it masked"}
		return plan, nil
	}
	after, notes, err := rewritten(t)
	if err != nil {
		return nil, err
	}
	plan.Title = fmt.Sprintf("set %s in %s", facts.DeleteTransient, t.File)
	if len(all) > 0 {
		plan.Touches = "nothing now; the next start of ovsdb-server deletes " + portList(all)
	}
	plan.Warnings = notes
	if t.Distribution.Family == "debian" {
		plan.Warnings = append(plan.Warnings, "the option acts at every start of ovsdb-server, including that of a package upgrade: a transient uplink leaves its bridge until its owner adds it again")
	}
	if len(pods) > 0 {
		plan.Warnings = append(plan.Warnings, fmt.Sprintf("%s of pods are also transient (%s): restarting ovsdb-server cuts these pods off until they are re-created", plural(len(pods), "port"), several(pods)))
	}
	plan.Steps = append([]fixes.Step{fixes.File{Path: t.File, Before: t.Text, After: after, What: fmt.Sprintf("write %s to %s of %s", facts.DeleteTransient, t.Variable, t.File)}}, cleanWrongFile(t)...)
	return plan, nil
}

// portList names ports: "port p0", "ports p0, p1".
func portList(ports []string) string {
	switch len(ports) {
	case 0:
		return "nothing"
	case 1:
		return "port " + ports[0]
	}
	return "ports " + several(ports)
}
