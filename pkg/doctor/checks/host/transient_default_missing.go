package host

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
)

var TransientDefaultMissing = &doctor.Check{
	Name:     "transient-default-missing",
	Category: "node-os",
	Doc: `Nothing removes the transient ports at boot

Ports that are marked other_config:transient=true are meant to be gone after a reboot,
so that the host gets its network first and their owner adds them again. Open vSwitch
does that only if it is told to: by --delete-transient-ports in its default file on
Debian and Ubuntu, by ovs-delete-transient-ports.service of the rpm packages.`,
	Causes: []string{"transient-default-wrong-file-rhel"},
	Run: func(p *doctor.Pass) {
		transientDefaults(p, func(t transient) {
			if t.unread != nil {
				p.Unknown(doctor.NodeObject(t.host.Name), t.unread)
				return
			}
			if len(t.ports) == 0 || t.contained || t.Deleted() || t.Form != catalog.TransientMissing {
				return
			}
			f := doctor.Finding{
				Title:  fmt.Sprintf("%s has transient ports, and nothing removes them at boot", t.host.Name),
				Effect: transientEffect,
				Cause:  fmt.Sprintf("%s does not set %s in %s", t.File, catalog.DeleteTransient, t.Variable),
				Fix:    catalog.SetTransientDefault.With(),
			}
			f.Object, f.Also = t.file(t.File)
			f.Evidence = []doctor.Evidence{t.marked()}
			switch {
			case t.Text == nil:
				f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.File(t.File, 0), Says: "does not exist"})
			case t.Value == "":
				f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.File(t.File, 0), Says: t.Variable + " is not set"})
			default:
				f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.File(t.File, 0), Says: fmt.Sprintf("%s=%q", t.Variable, t.Value)})
			}
			if t.Distribution.Family == "rpm" {
				says := "there is none"
				if t.Unit == "masked" {
					says = "masked"
					f.Cause = "ovs-delete-transient-ports.service is masked"
				}
				f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Other("unit ovs-delete-transient-ports.service"), Says: says})
			}
			p.Report(f)
		})
	},
}
