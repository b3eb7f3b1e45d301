package host

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
)

// TransientDefaultGluedOrCommented looks for the transient-ports option in lines that do not set it.
var TransientDefaultGluedOrCommented = &doctor.Check{
	Name:     "transient-default-glued-or-commented",
	Category: "node-os",
	Doc: `The transient-ports option is written but not in force

It is only in a comment; it was appended to the line of another setting; it is quoted or
spelt so that systemd or ovs-ctl reads something else; or a later line sets the variable again.`,
	Run: func(p *doctor.Pass) {
		for t := range transientDefaults(p) {
			if !t.Deleted() || t.Stops != "" {
				notInForce(p, t)
			}
		}
	},
}

func notInForce(p *doctor.Pass, t *transient) {
	f := t.finding(t.File)
	f.Evidence = []doctor.Evidence{t.line(t.Line)}
	idle := t.unread == nil && len(t.ports) == 0 && t.Stops == ""
	switch t.Form {
	case facts.TransientGlued:
		f.Reason = "glued"
		f.Title = fmt.Sprintf("%s is glued to another line of %s and not in force", facts.DeleteTransient, t.File)
		f.Cause = "the setting was appended to a line that did not end in a newline"
	case facts.TransientCommented:
		if idle {
			return
		}
		f.Reason = "commented"
		f.Title = fmt.Sprintf("%s is only in a comment of %s", facts.DeleteTransient, t.File)
		f.Cause = "the line begins with #; a program that searches for the text takes the option for set"
	case facts.TransientQuoted:
		f.Reason = "quoted"
		f.Title = fmt.Sprintf("%s line %d is not read as intended", t.File, t.Line)
		f.Cause = fmt.Sprintf("systemd reads %s=%q", t.Variable, t.Value)
		if t.Value == "" {
			f.Cause = "systemd does not read the line as a setting of " + t.Variable
		}
	case facts.TransientOverridden:
		f.Reason = "overridden"
		f.Title = fmt.Sprintf("%s sets %s twice, and the last line lacks %s", t.File, t.Variable, facts.DeleteTransient)
		f.Cause = "the last line wins"
		f.Evidence = append(f.Evidence, t.value())
	default:
		return
	}
	switch {
	case t.Stops != "":
		f.Effect = noStartEffect
		f.Evidence = append(f.Evidence, t.noStart())
	case idle:
		f.Result, f.Effect = doctor.Warning, noPortEffect
		fallthrough
	default:
		f.Evidence = append(f.Evidence, t.marked())
	}
	p.Report(f)
}
