package host

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
)

// TransientDefaultSelfReference looks for default files with which Open vSwitch does not start.
var TransientDefaultSelfReference = &doctor.Check{
	Name:     "transient-default-self-reference",
	Category: "node-os",
	Doc: `The default file refers to its own variable, and Open vSwitch does not start

A line such as OVS_CTL_OPTS="$OVS_CTL_OPTS --delete-transient-ports" is right for a shell.
systemd expands nothing in an EnvironmentFile: ovs-ctl gets the word $OVS_CTL_OPTS, takes
it for a second command and exits.`,
	Run: func(p *doctor.Pass) {
		for t := range transientDefaults(p) {
			if t.Form != facts.TransientSelfReference {
				continue
			}
			f := t.finding(t.File)
			f.Title = fmt.Sprintf("%s line %d refers to %s itself, which systemd does not expand", t.File, t.Line, t.Variable)
			f.Evidence = []doctor.Evidence{t.line(t.Line)}
			f.Cause = "the line was written for a shell; systemd passes on the dollar sign as it is"
			f.Effect = noStartEffect
			if t.Stops != "" {
				f.Evidence = append(f.Evidence, t.noStart())
			}
			p.Report(f)
		}
	},
}
