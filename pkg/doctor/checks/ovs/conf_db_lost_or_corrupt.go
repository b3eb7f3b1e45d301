package ovs

import (
	"errors"
	"fmt"
	"path"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var ConfDBLostOrCorrupt = &doctor.Check{
	Name:     "conf-db-lost-or-corrupt",
	Category: "ovs",
	Doc: `The node's Open_vSwitch database is lost, damaged or not served

conf.db holds all of Open vSwitch's configuration. Damage is often noticed only at the next start; a lost
file is created again, empty, with the node's old name.`,
	Causes: []string{"transient-default-self-reference", "transient-default-glued-or-commented"},
	Settle: true,
	Host: doctor.On("no Open_vSwitch database file can be read from here", readConfDB, func(p *doctor.Pass, c *confDB) {
		if f, ok := c.finding(p); ok {
			p.Report(f)
		}
	}),
}

// confDB is a host's database file with its server.
type confDB struct {
	*facts.ConfDB
	host     *snapshot.Host
	server   snapshot.Daemon
	expected []string // why the server should run
}

func readConfDB(p *doctor.Pass, h *snapshot.Host) (*confDB, bool) {
	c, err := facts.ReadConfDB(h)
	if errors.Is(err, node.ErrUnavailable) {
		return nil, false
	}
	if err != nil {
		p.Unknown(doctor.NodeObject(h.Name), err)
		return nil, true
	}
	server, err := h.Daemon("ovsdb-server")
	if err != nil {
		return nil, false
	}
	expected, err := h.Meant("ovsdb-server")
	if (err != nil || len(expected) == 0) && c.Text == nil {
		return nil, false
	}
	return &confDB{c, h, server, expected}, true
}

func (c *confDB) finding(p *doctor.Pass) (doctor.Finding, bool) {
	runs := c.server.Liveness == snapshot.Answers
	f := doctor.Finding{
		Object: doctor.Object{Kind: "file", Name: c.Path, Node: c.host.Name},
		Also:   []doctor.Object{doctor.NodeObject(c.host.Name), {Kind: "database", Name: "Open_vSwitch", Node: c.host.Name}},
		Fix:    catalog.RestoreConfDB.With(),
	}
	contained, _, err := facts.Contained(c.host)
	visible := !runs || err != nil || !contained // a container has its own file system
	switch {
	case visible && runs && c.Text == nil:
		f.Reason = "file-removed"
		f.Title = fmt.Sprintf("the file of the Open_vSwitch database of %s was removed; ovsdb-server still serves it", c.host.Name)
		f.Evidence = []doctor.Evidence{{Source: doctor.File(c.Path, 0), Says: "does not exist"}, c.serverEvidence()}
		f.Cause = "somebody removed it; the server keeps the rows in memory and in the unlinked file"
		f.Effect = "none now; at the next start of ovsdb-server the node has no bridge, no port and no settings"
	case visible && c.Damage != "":
		f.Reason = "damaged"
		f.Title = fmt.Sprintf("%s of %s is damaged: %s", c.Path, c.host.Name, c.Damage)
		f.Evidence = []doctor.Evidence{{Source: doctor.File(c.Path, 0), Says: fmt.Sprintf("%d bytes: %s", len(c.Text), c.Damage)}, c.serverEvidence()}
		f.Cause = "a disk that failed or was full, a crash during a write, or an edit by hand"
		f.Effect = "none now; at the next start of ovsdb-server all behind the damage is lost"
		if !runs {
			f.Effect = "ovsdb-server does not start, or starts without all behind the damage; nothing on the node can be changed or forwarded"
		}
	case !runs && len(c.expected) == 0:
		return f, false
	case !runs:
		c.notServed(&f)
	default:
		return c.empty(p)
	}
	return f, true
}

func (c *confDB) serverEvidence() doctor.Evidence {
	if c.server.Version == "" {
		return doctor.Evidence{Source: doctor.Reply("ovsdb-server", "version"), Says: "no reply"}
	}
	return doctor.Evidence{Source: doctor.Reply("ovsdb-server", "version"), Says: c.server.Version}
}

// notServed fills in the finding of a file whose server does not reply.
func (c *confDB) notServed(f *doctor.Finding) {
	f.Reason = "not-running"
	f.Title = fmt.Sprintf("ovsdb-server of %s does not run", c.host.Name)
	file := doctor.Evidence{Source: doctor.File(c.Path, 0), Says: "is intact"}
	if c.Text == nil {
		file.Says = "does not exist"
	}
	silent := &doctor.SilentDaemon{Host: c.host, Daemon: "ovsdb-server", State: c.server, Expected: c.expected}
	f.Evidence = append(silent.Evidence(), file)
	f.Cause = "it exited or was stopped, and nothing started it again"
	f.Effect = "nothing in the node's Open vSwitch can be changed; ovs-vswitchd and ovn-controller stand still or do not start"
	if c.server.Liveness == snapshot.Hung {
		f.Reason, f.Lasting = "hangs", true
		f.Title = fmt.Sprintf("ovsdb-server of %s does not reply", c.host.Name)
		f.Cause, f.Fix, f.Next = "it hangs, or is stopped by a signal", nil, "see what it waits for: a disk that hangs, a debugger"
	}
	if process := doctor.InContainer(c.host, "ovsdb-server"); process != nil {
		f.Fix, f.Next = nil, fmt.Sprintf("restart its container (process %d, %s)", process.PID, process.Cgroup)
	}
}

// empty returns the finding of a recreated database of a node that the Southbound knows.
func (c *confDB) empty(p *doctor.Pass) (doctor.Finding, bool) {
	l, err := facts.ReadLostSwitch(p.Deployment, c.host)
	if err != nil || l == nil {
		return doctor.Finding{}, false // other checks report what cannot be read
	}
	f := doctor.Finding{
		Object: doctor.Object{Kind: "database", Name: "Open_vSwitch", Node: c.host.Name},
		Also:   []doctor.Object{doctor.NodeObject(c.host.Name), {Kind: "file", Name: c.Path, Node: c.host.Name}, {Kind: "chassis", Name: l.Chassis}},
		Title:  fmt.Sprintf("the Open_vSwitch database of %s is new and empty, and the Southbound knows the node", c.host.Name),
		Evidence: []doctor.Evidence{
			{Source: doctor.Setting("external_ids"), Says: "no setting of OVN, and no bridge but perhaps the one that ovn-controller makes"},
			{Source: doctor.SB("Chassis", l.Chassis), Says: fmt.Sprintf("hostname=%s, encap %s %s, ovn-bridge-mappings=%q", l.Host, l.Type, l.IP, l.Mappings)},
		},
		Cause:  "conf.db was lost, and Open vSwitch created a new one when it started",
		Effect: "the node has no bridge, no tunnel and no port; its pods have no network",
		Fix:    catalog.RestoreSwitchConfig.With(),
	}
	if found, err := c.host.Glob(path.Join(path.Dir(c.Path), "conf.db?*")); err == nil && len(found) > 0 {
		f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Directory(path.Dir(c.Path)), Says: "also has " + doctor.AtMost(found, 5)})
	}
	if l.Remote == "" {
		f.Fix, f.Next = nil, "ovnctl fix restore-switch-config tcp:HOST:6642, with ovn-remote as another node has it"
	}
	return f, true
}
