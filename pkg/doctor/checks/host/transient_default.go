package host

import (
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/envfile"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// transient is what Open vSwitch does with a host's transient ports when it starts.
type transient struct {
	*facts.TransientDefault
	host   *snapshot.Host
	ports  []string // those that are transient now
	unread error    // why the ports are not known
}

// What follows if the option is not in force, and if Open vSwitch cannot start with it.
const (
	transientEffect = "the ports are still in the bridge after a reboot: the distribution configures the uplink while it is a port, and the node has no network"
	noStartEffect   = "Open vSwitch does not start at the next boot or package upgrade, and all that is on its bridges is without network"
	noPortEffect    = "none now: no port is transient; the option would not work if one were"
)

// transientDefaults are the hosts with a default file of Open vSwitch that can be read. Hosts where Open vSwitch runs in
// a container are left out: it does not read the file.
func transientDefaults(p *doctor.Pass) iter.Seq[*transient] {
	return doctor.EachHost(p, "no host here has a default file of the Debian or rpm packages of Open vSwitch", func(h *snapshot.Host) (*transient, bool) {
		t := &transient{host: h}
		s, err := h.Switch()
		if errors.Is(err, snapshot.ErrNoSwitch) {
			return nil, false
		}
		if t.unread = err; err == nil {
			t.ports, _ = facts.TransientPorts(s)
		}
		contained, _, err := facts.Contained(h)
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
		case contained:
			return nil, true
		}
		return t, true
	})
}

// finding begins a finding of a file of the host.
func (t *transient) finding(file string) doctor.Finding {
	return doctor.Finding{
		Object: doctor.Object{Kind: "file", Name: file, Node: t.host.Name},
		Also:   []doctor.Object{doctor.NodeObject(t.host.Name)},
		Effect: transientEffect,
		Fix:    catalog.SetTransientDefault.With(),
	}
}

// line is a line of the default file.
func (t *transient) line(number int) doctor.Evidence {
	return doctor.Evidence{Source: doctor.File(t.File, number), Says: strings.TrimSpace(envfile.Line(t.Text, number))}
}

// value is the value of the variable as systemd reads it.
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

// noStart is what ovs-ctl replies to the options as systemd passes them.
func (t *transient) noStart() doctor.Evidence {
	return doctor.Evidence{Source: doctor.Other("ovs-ctl with the options as systemd passes them"), Says: t.Stops}
}

// unit is the state of the unit that removes the ports on rpm hosts.
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

// marked are the ports that are transient.
func (t *transient) marked() doctor.Evidence {
	switch {
	case t.unread != nil:
		return doctor.Evidence{Source: doctor.OVS("Open_vSwitch", ""), Says: "not read: " + t.unread.Error()}
	case len(t.ports) == 0:
		return doctor.Evidence{Source: doctor.OVS("Port", ""), Says: "none has other_config:transient=true"}
	}
	return doctor.Evidence{Source: doctor.OVS("Port", doctor.AtMost(t.ports, 5)), Says: "other_config:transient=true"}
}
