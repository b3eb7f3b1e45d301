package host

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
)

var TransientDefaultWrongFileRHEL = &doctor.Check{
	Name:     "transient-default-wrong-file-rhel",
	Category: "node-os",
	Doc: `The transient-ports option is in a file that rpm packages do not read

The units of the rpm packages read /etc/openvswitch/default.conf, /etc/sysconfig/openvswitch and
/run/openvswitch.useropts. What is written into /etc/default/openvswitch is read by nobody.`,
	Run: func(p *doctor.Pass) {
		transientDefaults(p, func(t transient) {
			if t.Wrong == "" || t.contained {
				return
			}
			f := doctor.Finding{
				Title:    fmt.Sprintf("%s has %s, but nothing reads that file on %s", t.Wrong, catalog.DeleteTransient, t.Distribution.Name),
				Evidence: []doctor.Evidence{{Source: doctor.File(t.Wrong, t.WrongLine), Says: t.WrongText()}},
				Cause:    "the file is that of Debian's packages; rpm packages read " + t.File,
			}
			f.Object, f.Also = t.file(t.Wrong)
			if t.Deleted() {
				f.Result = doctor.Warning
				f.Effect = "none: the transient ports are removed at boot without it; the next reader of the file is misled"
				f.Fix = catalog.SetTransientDefault.With()
				if t.Unit == "present" {
					f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Other("unit ovs-delete-transient-ports.service"), Says: "present, runs once at each boot"})
				}
			} else {
				f.Effect = transientEffect
				f.Evidence = append(f.Evidence, t.marked())
				says := "there is none"
				if t.Unit == "masked" {
					says = "masked"
				}
				f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Other("unit ovs-delete-transient-ports.service"), Says: says})
				f.Fix = catalog.SetTransientDefault.With()
				if t.unread == nil && len(t.ports) == 0 {
					f.Result = doctor.Warning
					f.Effect = "none now: no port is transient; the option would not act if one were"
				}
			}
			p.Report(f)
		})
	},
}
