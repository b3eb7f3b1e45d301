package host

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
)

// TransientDefaultMissing looks for hosts that keep their transient ports at boot.
var TransientDefaultMissing = &doctor.Check{
	Name:     "transient-default-missing",
	Category: "node-os",
	Doc: `Nothing removes the transient ports at boot

Ports with other_config:transient=true should be gone after a reboot, so that the host
gets its network first and their owner adds them again. Open vSwitch removes them only
if told to: on Debian and Ubuntu by --delete-transient-ports in its default file, on rpm
hosts by ovs-delete-transient-ports.service.`,
	Causes: []string{"transient-default-wrong-file-rhel"},
	Run: func(p *doctor.Pass) {
		for t := range transientDefaults(p) {
			if t.unread != nil {
				p.Unknown(doctor.NodeObject(t.host.Name), t.unread)
				continue
			}
			if len(t.ports) == 0 || t.Deleted() || t.Form != facts.TransientMissing {
				continue
			}
			f := t.finding(t.File)
			f.Title = fmt.Sprintf("%s has transient ports, and nothing removes them at boot", t.host.Name)
			f.Cause = fmt.Sprintf("%s does not set %s in %s", t.File, facts.DeleteTransient, t.Variable)
			f.Evidence = []doctor.Evidence{t.marked(), t.value()}
			if t.Distribution.Family == "rpm" {
				f.Evidence = append(f.Evidence, t.unit())
			}
			if t.Unit == "masked" {
				f.Cause = "ovs-delete-transient-ports.service is masked"
			}
			p.Report(f)
		}
	},
}
