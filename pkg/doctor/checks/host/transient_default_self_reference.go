package host

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
)

var TransientDefaultSelfReference = &doctor.Check{
	Name:     "transient-default-self-reference",
	Category: "node-os",
	Doc: `The default file refers to its own variable, and Open vSwitch will not start

A line such as OVS_CTL_OPTS="$OVS_CTL_OPTS --delete-transient-ports" is right for a shell.
systemd expands nothing in an EnvironmentFile: ovs-ctl gets the word $OVS_CTL_OPTS, takes
it for a second command and ends.`,
	Run: func(p *doctor.Pass) {
		transientDefaults(p, func(t transient) {
			if t.Form != catalog.TransientSelfReference || t.contained {
				return
			}
			f := doctor.Finding{
				Title:    fmt.Sprintf("%s line %d refers to %s itself, which systemd does not expand", t.File, t.Line, t.Variable),
				Evidence: []doctor.Evidence{t.line(t.Line)},
				Cause:    "the line was written for a shell; systemd passes the dollar sign on as it stands",
				Effect:   "Open vSwitch does not start at the next boot or package upgrade, and nothing that lies on its bridges has a network",
				Fix:      catalog.SetTransientDefault.With(),
			}
			if t.Stops != "" {
				f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Other("ovs-ctl, with the words that systemd makes of it"), Says: t.Stops})
			}
			f.Object, f.Also = t.file(t.File)
			p.Report(f)
		})
	},
}
