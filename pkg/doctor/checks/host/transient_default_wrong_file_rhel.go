package host

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
)

// TransientDefaultWrongFileRHEL looks for the transient-ports option in a file that rpm packages do not read.
var TransientDefaultWrongFileRHEL = &doctor.Check{
	Name:     "transient-default-wrong-file-rhel",
	Category: "node-os",
	Doc: `The transient-ports option is in a file that rpm packages do not read

The units of the rpm packages read /etc/openvswitch/default.conf, /etc/sysconfig/openvswitch and
/run/openvswitch.useropts. Nothing reads /etc/default/openvswitch.`,
	Run: func(p *doctor.Pass) {
		for t := range transientDefaults(p) {
			if t.Wrong == "" {
				continue
			}
			f := t.finding(t.Wrong)
			f.Title = fmt.Sprintf("%s has %s, but nothing reads that file on %s", t.Wrong, facts.DeleteTransient, t.Distribution.Name)
			f.Evidence = []doctor.Evidence{{Source: doctor.File(t.Wrong, t.WrongLine), Says: t.WrongText()}}
			f.Cause = "the file is that of Debian's packages; rpm packages read " + t.File
			switch {
			case t.Deleted():
				f.Result = doctor.Warning
				f.Effect = "none: the transient ports are removed at boot without it; the file misleads whoever reads it"
				if t.Unit == "present" {
					f.Evidence = append(f.Evidence, t.unit())
				}
			case t.unread == nil && len(t.ports) == 0:
				f.Result, f.Effect = doctor.Warning, noPortEffect
				fallthrough
			default:
				f.Evidence = append(f.Evidence, t.marked(), t.unit())
			}
			p.Report(f)
		}
	},
}
