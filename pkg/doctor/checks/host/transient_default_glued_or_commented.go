package host

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
)

var TransientDefaultGluedOrCommented = &doctor.Check{
	Name:     "transient-default-glued-or-commented",
	Category: "node-os",
	Doc: `The transient-ports option is written, but not in force

It stands in a comment alone; it was appended to the line of another setting; it is quoted or
spelt so that systemd or ovs-ctl reads something else; or a later line sets the variable again.`,
	Run: func(p *doctor.Pass) {
		transientDefaults(p, func(t transient) {
			if t.contained {
				return
			}
			f := doctor.Finding{Evidence: []doctor.Evidence{t.line(t.Line)}, Effect: transientEffect, Fix: catalog.SetTransientDefault.With()}
			if t.Deleted() && t.Stops == "" {
				return
			}
			idle := t.unread == nil && len(t.ports) == 0 && t.Stops == ""
			switch t.Form {
			case catalog.TransientGlued:
				f.Title = fmt.Sprintf("%s is glued to another line of %s and is not in force", catalog.DeleteTransient, t.File)
				f.Cause = "the setting was appended to a line that did not end in a newline"
			case catalog.TransientCommented:
				if idle {
					return
				}
				f.Title = fmt.Sprintf("%s stands in a comment of %s alone", catalog.DeleteTransient, t.File)
				f.Cause = "the line begins with #; a program that looks for the text takes it for done"
			case catalog.TransientQuoted:
				f.Title = fmt.Sprintf("%s line %d is not read as it was meant", t.File, t.Line)
				f.Cause = fmt.Sprintf("systemd reads %s=%q", t.Variable, t.Value)
				if t.Value == "" {
					f.Cause = "systemd does not take the line for a setting of " + t.Variable
				}
			case catalog.TransientOverridden:
				f.Title = fmt.Sprintf("%s sets %s twice, and the last line is without %s", t.File, t.Variable, catalog.DeleteTransient)
				f.Cause = "the last one wins"
				f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.File(t.File, 0), Says: fmt.Sprintf("in force is %s=%q", t.Variable, t.Value)})
			default:
				return
			}
			if t.Stops != "" {
				f.Effect = "Open vSwitch does not start at the next boot or package upgrade, and nothing that lies on its bridges has a network"
				f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Other("ovs-ctl, with the words that systemd makes of it"), Says: t.Stops})
			} else {
				f.Evidence = append(f.Evidence, t.marked())
			}
			if idle {
				f.Result = doctor.Warning
				f.Effect = "none now: no port is transient; the option would not act if one were"
			}
			f.Object, f.Also = t.file(t.File)
			p.Report(f)
		})
	},
}
