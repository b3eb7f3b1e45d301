package ovs

import (
	"errors"
	"fmt"
	"path"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var ConfDBLostOrCorrupt = &doctor.Check{
	Name:     "conf-db-lost-or-corrupt",
	Category: "ovs",
	Doc: `The node's Open_vSwitch database is lost, damaged or not served

Everything that Open vSwitch is to do is in conf.db. A file that is damaged is often noticed only at the next
start; one that is lost is made anew, empty, with the node's old name.`,
	Causes: []string{"transient-default-self-reference", "transient-default-glued-or-commented"},
	Settle: true,
	Run:    lookForConfDB,
}

func lookForConfDB(p *doctor.Pass) {
	any := false
	for _, h := range p.Hosts {
		c, err := catalog.ReadConfDB(h)
		if err != nil {
			if !errors.Is(err, node.ErrUnavailable) {
				any = true
				p.Unknown(doctor.NodeObject(h.Name), err)
			}
			continue
		}
		server, err := h.Daemon("ovsdb-server")
		if err != nil {
			continue
		}
		meant, err := h.Meant("ovsdb-server")
		if err != nil && c.Text == nil || len(meant) == 0 && c.Text == nil {
			continue
		}
		any = true
		object := doctor.Object{Kind: "file", Name: c.Path, Node: h.Name}
		f := doctor.Finding{Object: object, Also: []doctor.Object{doctor.NodeObject(h.Name), {Kind: "database", Name: "Open_vSwitch", Node: h.Name}}, Fix: catalog.RestoreConfDB.With()}
		runs := server.Liveness == snapshot.Answers
		switch {
		case runs && contained(h):
			// The container has a file system of its own.
		case c.Text == nil && runs:
			f.Title = fmt.Sprintf("the file of the Open_vSwitch database of %s is gone, though ovsdb-server still serves it", h.Name)
			f.Evidence = []doctor.Evidence{{Source: doctor.File(c.Path, 0), Says: "does not exist"}, {Source: doctor.Other("ovsdb-server"), Says: string(server.Liveness)}}
			f.Cause = "somebody removed it; the server keeps the rows in memory and in a file without a name"
			f.Effect = "none now; at the next start of ovsdb-server the node has no bridge, no port and no settings"
			p.Report(f)
			continue
		case c.Damage != "":
			f.Title = fmt.Sprintf("%s of %s is damaged: %s", c.Path, h.Name, c.Damage)
			f.Evidence = []doctor.Evidence{{Source: doctor.File(c.Path, 0), Says: fmt.Sprintf("%d bytes: %s", len(c.Text), c.Damage)}, {Source: doctor.Other("ovsdb-server"), Says: string(server.Liveness)}}
			f.Cause = "a disk that failed or was full, a crash while it was written, or somebody edited it"
			f.Effect = "none now; at the next start of ovsdb-server what stands behind the damage is lost"
			if !runs {
				f.Effect = "ovsdb-server does not start, or starts without what stands behind the damage; nothing on the node can be changed or forwarded"
			}
			p.Report(f)
			continue
		}
		if !runs {
			if len(meant) == 0 {
				continue
			}
			f.Title = fmt.Sprintf("ovsdb-server of %s %s", h.Name, server.Liveness)
			f.Evidence = append((&doctor.SilentDaemon{Host: h, Daemon: "ovsdb-server", State: server, Expected: meant}).Evidence(), doctor.Evidence{Source: doctor.File(c.Path, 0), Says: "is sound"})
			if c.Text == nil {
				f.Evidence[len(f.Evidence)-1].Says = "does not exist"
			}
			f.Cause = "it ended, or was ended, and nothing started it again"
			f.Effect = "nothing can be changed on the node's switch; ovs-vswitchd and ovn-controller stand still or do not start"
			if server.Liveness == snapshot.Hung {
				f.Cause, f.Fix, f.Next = "it hangs, or is stopped", nil, "see what it waits for: a disk that hangs, a debugger"
				f.Lasting = true
			}
			if c := doctor.InContainer(h, "ovsdb-server"); c != nil {
				f.Fix, f.Next = nil, fmt.Sprintf("restart its container (process %d, %s)", c.PID, c.Cgroup)
			}
			p.Report(f)
			continue
		}
		l, err := catalog.ReadLostSwitch(p.Deployment, h)
		if err != nil || l == nil {
			continue // which reading fails, others say
		}
		f.Object = doctor.Object{Kind: "database", Name: "Open_vSwitch", Node: h.Name}
		f.Also = []doctor.Object{doctor.NodeObject(h.Name), object, {Kind: "chassis", Name: l.Chassis}}
		f.Title = fmt.Sprintf("the Open_vSwitch database of %s is new and empty, though the Southbound knows the node", h.Name)
		f.Evidence = []doctor.Evidence{
			{Source: doctor.OVS("Open_vSwitch", ""), Says: "no bridge but perhaps that which ovn-controller makes, and no setting of OVN in external_ids"},
			{Source: doctor.SB("Chassis", l.Chassis), Says: fmt.Sprintf("hostname=%s, encap %s %s, ovn-bridge-mappings=%q", l.Host, l.Type, l.IP, l.Mappings)},
		}
		if found, err := h.Glob(path.Join(path.Dir(c.Path), "conf.db?*")); err == nil && len(found) > 0 {
			f.Evidence = append(f.Evidence, doctor.Evidence{Source: doctor.Other("directory " + path.Dir(c.Path)), Says: "also has " + doctor.AtMost(found, 5)})
		}
		f.Cause = "conf.db was lost, and Open vSwitch made a new one at its start"
		f.Effect = "the node has no bridge, no tunnel and no port; its pods have no network"
		f.Fix = catalog.RestoreSwitchConfig.With()
		if l.Remote == "" {
			f.Fix, f.Next = nil, "ovnctl fix restore-switch-config tcp:HOST:6642, with ovn-remote as another node has it"
		}
		p.Report(f)
	}
	if !any {
		p.Skip("the file of no Open_vSwitch database can be read from here")
	}
}

// contained says whether the host's Open vSwitch is in a container, as far as can be seen.
func contained(h *snapshot.Host) bool {
	c, _, err := catalog.Contained(h)
	return err == nil && c
}
