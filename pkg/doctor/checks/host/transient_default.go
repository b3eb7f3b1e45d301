package host

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/envfile"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// transient is how Open vSwitch treats a host's transient ports when it starts.
type transient struct {
	*facts.TransientDefault
	host   *snapshot.Host
	ports  []string // currently transient ports
	unread error    // why the ports are unknown
}

// The effects of the option not being in force, and of Open vSwitch failing to start with it.
const (
	transientEffect = "the ports are still in the bridge after a reboot: the distribution configures the uplink while it is a port, and the node has no network"
	noStartEffect   = "Open vSwitch does not start at the next boot or package upgrade, and all that is on its bridges is without network"
	noPortEffect    = "none now: no port is transient; the option would not work if one were"
)

// onTransientDefault is the Host of a check that looks at a host's Open vSwitch default file. Hosts with Open vSwitch in a
// container, or started by a script of its own, are left out: it does not read the file.
func onTransientDefault(look func(*doctor.Pass, *transient)) func(*doctor.Pass, *snapshot.Host) {
	return doctor.On("no host here has a default file of the Debian or rpm packages of Open vSwitch", transientOf, look)
}

func transientOf(p *doctor.Pass, h *snapshot.Host) (t *transient, applies bool) {
	t = &transient{host: h}
	s, err := h.Switch()
	if errors.Is(err, snapshot.ErrNoSwitch) {
		return nil, false
	}
	if t.unread = err; err == nil {
		t.ports, _ = facts.TransientPorts(s)
	}
	elsewhere, _, err := facts.Contained(h)
	if err == nil && !elsewhere {
		elsewhere, err = facts.StartedOtherwise(h)
	}
	if err != nil && !errors.Is(err, node.ErrUnavailable) {
		p.Unknown(doctor.NodeObject(h.Name), err)
		return nil, false
	}
	t.TransientDefault, err = facts.ReadTransientDefault(h)
	switch {
	case errors.Is(err, facts.ErrOtherDistribution), err != nil && t.unread != nil:
		return nil, false
	case err != nil:
		p.Unknown(doctor.NodeObject(h.Name), err)
		return nil, false
	case elsewhere, !t.Judged(): // another script starts it, with options of its own
		return nil, true
	}
	return t, true
}

// finding starts a finding about a file of the host.
func (t *transient) finding(file string) doctor.Finding {
	return doctor.Finding{
		Object: doctor.Object{Kind: "file", Name: file, Node: t.host.Name},
		Also:   []doctor.Object{doctor.NodeObject(t.host.Name)},
		Effect: transientEffect,
		Fix:    catalog.SetTransientDefault.With(),
	}
}

// line returns a line of the default file.
func (t *transient) line(number int) doctor.Evidence {
	return doctor.Evidence{Source: doctor.File(t.File, number), Says: strings.TrimSpace(envfile.Line(t.Text, number))}
}

// value returns the variable's value as systemd reads it.
func (t *transient) value() doctor.Evidence {
	e := doctor.Evidence{Source: doctor.File(t.File, 0), Says: fmt.Sprintf("%s=%q", t.Variable, t.Value)}
	switch {
	case t.Text == nil:
		e.Says = "does not exist"
	case t.Value == "":
		e.Says = t.Variable + " is not set"
	}
	return e
}

// noStart returns ovs-ctl's reply to the options as systemd passes them.
func (t *transient) noStart() doctor.Evidence {
	return doctor.Evidence{Source: doctor.Other("ovs-ctl with the options as systemd passes them"), Says: t.Stops}
}

// unit returns the state of the unit that removes the ports on rpm hosts.
func (t *transient) unit() doctor.Evidence {
	e := doctor.Evidence{Source: doctor.Unit("ovs-delete-transient-ports.service"), Says: "does not exist"}
	switch t.Unit {
	case "masked":
		e.Says = "masked"
	case "present":
		e.Says = "present, runs once at each boot"
	}
	return e
}

// marked returns the ports that are transient.
func (t *transient) marked() doctor.Evidence {
	switch {
	case t.unread != nil:
		return doctor.Evidence{Source: doctor.OVS("Open_vSwitch", ""), Says: "not read: " + t.unread.Error()}
	case len(t.ports) == 0:
		return doctor.Evidence{Source: doctor.OVS("Port", ""), Says: "none has other_config:transient=true"}
	}
	return doctor.Evidence{Source: doctor.OVS("Port", doctor.AtMost(t.ports, 5)), Says: "other_config:transient=true"}
}

var TransientDefaultMissing = &doctor.Check{
	Name:     "transient-default-missing",
	Category: "node-os",
	Doc: `Nothing removes the transient ports at boot

Ports with other_config:transient=true should be gone after a reboot, so that the host
gets its network first and their owner adds them again. Open vSwitch removes them only
if told to: on Debian and Ubuntu by --delete-transient-ports in its default file, on rpm
hosts by ovs-delete-transient-ports.service.`,
	Causes: []string{"transient-default-wrong-file-rhel"},
	Host: onTransientDefault(func(p *doctor.Pass, t *transient) {
		if t.Deleted() || t.Form != facts.TransientMissing {
			return // whichever ports are transient
		}
		if t.unread != nil {
			p.Unknown(doctor.NodeObject(t.host.Name), t.unread)
			return
		}
		if len(t.ports) == 0 {
			return
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
	}),
}

var TransientDefaultSelfReference = &doctor.Check{
	Name:     "transient-default-self-reference",
	Category: "node-os",
	Doc: `The default file refers to its own variable, and Open vSwitch does not start

A line such as OVS_CTL_OPTS="$OVS_CTL_OPTS --delete-transient-ports" is right for a shell.
systemd expands nothing in an EnvironmentFile: ovs-ctl gets the word $OVS_CTL_OPTS, takes
it for a second command and exits.`,
	Host: onTransientDefault(func(p *doctor.Pass, t *transient) {
		if t.Form != facts.TransientSelfReference {
			return
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
	}),
}

var TransientDefaultWrongFileRHEL = &doctor.Check{
	Name:     "transient-default-wrong-file-rhel",
	Category: "node-os",
	Doc: `The transient-ports option is in a file that rpm packages do not read

The units of the rpm packages read /etc/openvswitch/default.conf, /etc/sysconfig/openvswitch and
/run/openvswitch.useropts. Nothing reads /etc/default/openvswitch.`,
	Host: onTransientDefault(func(p *doctor.Pass, t *transient) {
		if t.Wrong == "" {
			return
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
	}),
}

var TransientDefaultGluedOrCommented = &doctor.Check{
	Name:     "transient-default-glued-or-commented",
	Category: "node-os",
	Doc: `The transient-ports option is written but not in force

It is only in a comment; it was appended to the line of another setting; it is quoted or
spelt so that systemd or ovs-ctl reads something else; or a later line sets the variable again.`,
	Host: onTransientDefault(notInForce),
}

func notInForce(p *doctor.Pass, t *transient) {
	if t.Deleted() && t.Stops == "" {
		return
	}
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
