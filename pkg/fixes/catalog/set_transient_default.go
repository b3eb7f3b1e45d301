package catalog

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// SetTransientDefault writes the option into the default file.
var SetTransientDefault = &fixes.Repair{
	Name: "set-transient-default",
	Doc: `Make Open vSwitch remove transient ports when it starts

On Debian and Ubuntu the option --delete-transient-ports goes into OVS_CTL_OPTS of
/etc/default/openvswitch-switch, with the options that are there written out. Broken
forms of it are rewritten: a reference to the variable itself, which systemd does not
expand; a line that is glued to another; a value that systemd or ovs-ctl reads
otherwise than it was meant; a setting that a later line overrides. A comment stays.

On hosts with rpm packages ovs-delete-transient-ports.service does the work: it is
unmasked if it is masked, and where the package has none the option goes into OPTIONS
of /etc/sysconfig/openvswitch.

Nothing is restarted. It acts at the next start of ovsdb-server: on Debian at each one,
that of a package upgrade included, when the uplink leaves the bridge until its owner
adds it again.`,
	Class: fixes.Ask,
	Risk:  fixes.Low,
	Check: "transient-default-missing",
	Also:  []string{"transient-default-self-reference", "transient-default-wrong-file-rhel", "transient-default-glued-or-commented"},
	Plan: func(d *snapshot.Deployment, _ fixes.Args) (*fixes.Plan, error) {
		h, err := local(d)
		if err != nil {
			return nil, err
		}
		contained, by, err := Contained(h)
		if err != nil && !errors.Is(err, node.ErrUnavailable) {
			return nil, err
		}
		s, switchErr := h.Switch()
		var all, pods []string
		if switchErr == nil {
			all, pods = TransientPorts(s)
		}
		if contained {
			instead := "leave the option out of the container's start; see ovnctl explain transient-scrubs-live-pods"
			if len(pods) > 0 {
				return nil, fixes.Refuse(instead, "Open vSwitch of %s runs in a container (%s): with the option a restart of that container would delete %s of live pods (%s)",
					h.Name, by, plural(len(pods), "port"), several(pods))
			}
			return nil, fixes.Refuse(instead, "Open vSwitch of %s runs in a container (%s): it does not read the host's default file", h.Name, by)
		}
		t, err := ReadTransientDefault(h)
		if err != nil {
			return nil, err
		}
		if switchErr != nil && t.Stops == "" {
			return nil, switchErr // with a line that keeps it from starting there is no database to ask
		}
		if t.Form == TransientWorks && t.Wrong == "" {
			return nil, fixes.Refuse("", "%s line %d has the option already", t.File, t.Line)
		}
		if t.Otherwise != "" && t.Stops == "" && t.Form == TransientMissing {
			return nil, fixes.Refuse("", "%s deletes transient ports", t.Otherwise)
		}
		plan := &fixes.Plan{Host: h.Name, Touches: "nothing now"}
		if t.Wrong != "" && t.Deleted() && t.Stops == "" {
			plan.Title, plan.Steps = "take "+DeleteTransient+" out of "+t.Wrong, t.clean()
			return plan, nil
		}
		if t.Unit == "present" && t.Stops == "" {
			return nil, fixes.Refuse("", "%s deletes transient ports at boot, and the options are in order", transientUnitName)
		}
		if t.Distribution.Family == "rpm" && t.Unit == "masked" && t.Stops == "" {
			plan.Title = "let " + transientUnitName + " delete transient ports at boot"
			plan.Touches = fmt.Sprintf("nothing now; at the next boot %s is deleted", orNone(all))
			plan.Steps = append([]fixes.Step{fixes.Service{Daemon: strings.TrimSuffix(transientUnitName, ".service"), Action: fixes.Unmask}}, t.clean()...)
			plan.Warnings = []string{"somebody masked the unit; if that was meant, leave it so"}
			return plan, nil
		}
		after, notes, err := t.Mended()
		if err != nil {
			return nil, err
		}
		plan.Title = fmt.Sprintf("set %s in %s", DeleteTransient, t.File)
		if len(all) > 0 {
			plan.Touches = fmt.Sprintf("nothing now; at the next start of ovsdb-server %s is deleted", orNone(all))
		}
		plan.Warnings = notes
		if t.Distribution.Family == "debian" {
			plan.Warnings = append(plan.Warnings, "the option acts at every start of ovsdb-server, a package upgrade's included: an uplink that is transient leaves its bridge until its owner adds it again")
		}
		if len(pods) > 0 {
			plan.Warnings = append(plan.Warnings, fmt.Sprintf("%s of pods are transient, too (%s): a restart of ovsdb-server cuts these pods off until they are made again", plural(len(pods), "port"), several(pods)))
		}
		plan.Steps = append([]fixes.Step{fixes.File{Path: t.File, Before: t.Text, After: after, What: fmt.Sprintf("write %s into %s of %s", DeleteTransient, t.Variable, t.File)}}, t.clean()...)
		return plan, nil
	},
}
