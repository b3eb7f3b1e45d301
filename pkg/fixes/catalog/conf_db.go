package catalog

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// ConfDB is the file of a host's Open_vSwitch database.
type ConfDB struct {
	Path string
	Text []byte // nil: there is no such file
	// Damage is why the server would not start with it, or what it would lose;
	// empty: it is sound.
	Damage string
	// Rows are those that a server would have that starts from it; nil: none.
	Rows *ovsdb.Snapshot
}

// ReadConfDB reads the file, wherever the host keeps it.
func ReadConfDB(h *snapshot.Host) (*ConfDB, error) {
	places := []string{path.Join(cmp.Or(h.Dirs().OVSDB, "/etc/openvswitch"), "conf.db"), "/var/lib/openvswitch/conf.db"}
	for _, place := range places {
		text, err := h.File(place)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		c := &ConfDB{Path: place, Text: text}
		if text == nil {
			c.Text = []byte{}
		}
		rows, err := ovsdb.ParseFile(place, bytes.NewReader(text))
		switch {
		case len(text) == 0:
			c.Damage = "the file is empty"
		case err != nil:
			c.Damage = strings.TrimPrefix(err.Error(), place+": ")
		default:
			c.Rows, c.Damage = rows, rows.Damage()
		}
		return c, nil
	}
	return &ConfDB{Path: places[0]}, nil
}

// transientIn are the transient ports that a server would have that starts from the file.
func (c *ConfDB) transientIn(d *snapshot.Deployment) ([]string, error) {
	if c.Rows == nil {
		return nil, nil
	}
	var rows struct{ Ports []vswitch.Port }
	if err := ovsdb.Load(d.Context(), c.Rows, &rows); err != nil {
		return nil, err
	}
	var list []string
	for _, p := range rows.Ports {
		if p.OtherConfig["transient"] == "true" {
			list = append(list, p.Name)
		}
	}
	return list, nil
}

// keepName sees to it that the node keeps its system-id: ovs-ctl takes that of
// system-id.conf whenever it starts ovsdb-server, and makes up one where there is no such file.
func (c *ConfDB) keepName(d *snapshot.Deployment, h *snapshot.Host) ([]fixes.Step, error) {
	file := path.Join(cmp.Or(h.Dirs().Etc, "/etc"), "openvswitch/system-id.conf")
	text, err := optional(h.File(file))
	if err != nil {
		return nil, err
	}
	kept := strings.TrimSpace(string(text))
	id := ""
	if c.Rows != nil {
		rows, err := ovsdb.Find[vswitch.OpenvSwitch](d.Context(), c.Rows)
		if err != nil {
			return nil, err
		}
		if len(rows) > 0 {
			id = rows[0].ExternalIDs["system-id"]
		}
	}
	switch {
	case id == "" && kept == "":
		return nil, fixes.Refuse("write the node's system-id, which is the name of its chassis, into "+file, "%s is not there: the start would give %s a new system-id", file, h.Name)
	case id == "" || id == kept:
		return nil, nil
	case kept != "":
		return nil, fixes.Refuse("write the right one into "+file, "%s says %s, the database's file %s: the start would rename the node", file, kept, id)
	}
	return []fixes.Step{fixes.File{Path: file, Before: text, After: []byte(id + "\n"), What: "keep the node's system-id in " + file}}, nil
}

// RestoreConfDB makes the local database work again.
var RestoreConfDB = &fixes.Repair{
	Name: "restore-switch-database",
	Doc: `Make the node's Open_vSwitch database work again

While ovsdb-server runs, it has all rows in memory: it is told to write its file anew, and nothing is lost. Where it
does not run, the file is kept beside as conf.db.damaged, one that cannot be read at all is removed, and ovsdb-server
is started; system-id.conf stays, so that the node keeps its name. What the new database lacks finds the next doctor.

It refuses where the start would delete transient ports. On Debian it would with --delete-transient-ports.`,
	Class:  fixes.Ask,
	Risk:   fixes.High,
	Check:  "conf-db-lost-or-corrupt",
	OneWay: "a daemon that was started is not stopped again",
	Plan: func(d *snapshot.Deployment, _ fixes.Args) (*fixes.Plan, error) {
		h, err := local(d)
		if err != nil {
			return nil, err
		}
		c, err := ReadConfDB(h)
		if err != nil {
			return nil, err
		}
		if err := notContained(h, "ovsdb-server"); err != nil && !errors.Is(err, node.ErrUnavailable) {
			return nil, err
		}
		server, err := h.Daemon("ovsdb-server")
		if err != nil {
			return nil, err
		}
		plan := &fixes.Plan{Host: h.Name}
		sound := c.Text != nil && c.Damage == ""
		switch {
		case server.Liveness == snapshot.Answers && sound:
			return nil, fixes.Refuse("", "%s of %s is sound, and ovsdb-server runs", c.Path, h.Name)
		case server.Liveness == snapshot.Hung:
			return nil, fixes.Refuse("see what it waits for: a disk that hangs, a debugger", "ovsdb-server of %s does not answer; it may still have what the file lacks", h.Name)
		case server.Liveness == snapshot.Answers:
			plan.Title = "write " + c.Path + " anew from what ovsdb-server has"
			plan.Touches = "nothing"
			plan.Steps = []fixes.Step{fixes.Control{
				Daemon: "ovsdb-server", Command: "ovsdb-server/compact", What: "write the database's file anew", Why: "a damaged file is not made again",
			}}
			return plan, nil
		}
		ports, err := c.transientIn(d)
		if err != nil {
			return nil, err
		}
		if t, err := ReadTransientDefault(h); err == nil {
			if t.Stops != "" {
				return nil, fixes.Refuse("ovnctl fix set-transient-default", "%s keeps Open vSwitch from starting: %s", t.File, t.Stops)
			}
			if t.Form == TransientWorks && len(ports) > 0 {
				return nil, fixes.Refuse("at the console, or where the node may lose its network: systemctl start ovsdb-server; then see that their owner adds them again",
					"the start of ovsdb-server would delete the transient %s", orNone(ports))
			}
		}
		plan.Title = "start ovsdb-server of " + h.Name
		plan.Touches = "none that flows now"
		name, err := c.keepName(d, h)
		if err != nil {
			return nil, err
		}
		plan.Steps = append(plan.Steps, name...)
		if c.Damage != "" {
			kept := c.Path + ".damaged"
			if before, err := optional(h.File(kept)); err != nil || before != nil {
				return nil, fixes.Refuse("move it away first", "%s is there already, of an earlier damage", kept)
			}
			plan.Title = "keep the damaged " + c.Path + " aside, and start ovsdb-server"
			plan.Steps = append(plan.Steps, fixes.File{Path: kept, After: c.Text, What: "keep " + c.Path + " as " + path.Base(kept)})
			if c.Rows == nil {
				plan.Steps = append(plan.Steps, fixes.File{Path: c.Path, Before: c.Text, What: "remove " + c.Path + ", of which nothing can be read"})
				plan.Warnings = append(plan.Warnings, "the new database has no bridge and no port: those of pods come back when the pods are made again, bridges and settings by ovnctl fix restore-switch-config")
			} else {
				plan.Warnings = append(plan.Warnings, "what was written behind the damage is lost: "+c.Damage)
			}
		}
		plan.Steps = append(plan.Steps, fixes.Service{Daemon: "ovsdb-server", Action: fixes.Start})
		if len(ports) > 0 {
			plan.Warnings = append(plan.Warnings, "transient ports in it, which a start with --delete-transient-ports would delete: "+several(ports))
		}
		return plan, nil
	},
}

// LostSwitch is a node whose database is new and empty, though the Southbound knows the node.
type LostSwitch struct {
	Chassis  string // Chassis.name
	Host     string // Chassis.hostname
	Remote   string // external_ids:ovn-remote of another node; empty: none was read
	Type, IP string // of its Encaps
	Mappings string // ovn-bridge-mappings
	Datapath string // datapath type of its bridges
}

// ReadLostSwitch finds what the Southbound knows of a node whose database has
// nothing; nil: its database has something, or the Southbound does not know it.
func ReadLostSwitch(d *snapshot.Deployment, h *snapshot.Host) (*LostSwitch, error) {
	s, err := h.Switch()
	if err != nil {
		return nil, err
	}
	if len(s.OpenvSwitch) == 0 {
		return nil, nil
	}
	for key := range s.OpenvSwitch[0].ExternalIDs {
		if strings.HasPrefix(key, "ovn-") {
			return nil, nil
		}
	}
	for _, b := range s.Bridges { // ovn-controller makes its own by itself
		if b.Name != s.IntegrationBridge("") || len(b.Ports) > 1 {
			return nil, nil
		}
	}
	id := s.ID("system-id")
	if text, err := h.File(path.Join(cmp.Or(h.Dirs().Etc, "/etc"), "openvswitch/system-id.conf")); err == nil && strings.TrimSpace(string(text)) != "" {
		id = strings.TrimSpace(string(text))
	}
	for _, z := range d.Zones {
		south, err := z.Southbound()
		if err != nil {
			return nil, err
		}
		c := south.ChassisNamed(id)
		if c == nil || snapshot.Elsewhere(c) {
			continue
		}
		l := &LostSwitch{Chassis: c.Name, Host: c.Hostname, Mappings: c.OtherConfig["ovn-bridge-mappings"], Datapath: c.OtherConfig["datapath-type"]}
		var types []string
		for _, e := range south.EncapsOf(c) {
			l.IP = cmp.Or(l.IP, e.IP)
			if e.IP == l.IP {
				types = append(types, e.Type)
			}
		}
		l.Type = strings.Join(types, ",")
		for _, other := range d.Hosts {
			if o, err := other.Switch(); err == nil && other != h && l.Remote == "" {
				l.Remote = o.ID("ovn-remote")
			}
		}
		return l, nil
	}
	return nil, nil
}

// RestoreSwitchConfig gives a node whose database was lost its settings and provider bridges back.
var RestoreSwitchConfig = &fixes.Repair{
	Name: "restore-switch-config",
	Doc: `Give a node whose database was lost its settings back

From the node's chassis in the Southbound: the type and address of its tunnels, its bridge mappings and the bridges
that they name. ovn-remote is not in the Southbound: it is an argument, or that of another node that can be read.
ovn-controller makes the integration bridge by itself. Uplinks and addresses are found missing by the next doctor;
ports of pods come back when the pods are made again.`,
	Params: []fixes.Param{{Name: "REMOTE", Doc: "external_ids:ovn-remote, as the other nodes have it: tcp:HOST:6642 or ssl:HOST:6642, a comma list of all members", Optional: true}},
	Class:  fixes.Ask,
	Risk:   fixes.High,
	Check:  "conf-db-lost-or-corrupt",
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		h, err := local(d)
		if err != nil {
			return nil, err
		}
		l, err := ReadLostSwitch(d, h)
		if err != nil {
			return nil, err
		}
		if l == nil {
			return nil, fixes.Refuse("", "the database of %s is not empty, or the Southbound does not know the node", h.Name)
		}
		remote := cmp.Or(a["REMOTE"], l.Remote)
		if remote == "" {
			return nil, fixes.Refuse("ovnctl fix restore-switch-config tcp:HOST:6642, as `ovs-vsctl get Open_vSwitch . external_ids:ovn-remote` says on another node", "the Southbound does not say how it is reached, and no other node was read")
		}
		if err := ovsdb.CheckRemotes(remote); err != nil {
			return nil, err
		}
		if l.IP == "" {
			return nil, fixes.Refuse("set it by hand: ovnctl fix set-chassis-key", "the Southbound has no tunnel endpoint of chassis %s", l.Chassis)
		}
		s, err := h.Switch()
		if err != nil {
			return nil, err
		}
		root := s.OpenvSwitch[0]
		change := fixes.Change{Table: "Open_vSwitch", UUID: root.UUID, Before: fixes.Row{}, After: fixes.Row{}}
		step := fixes.Rows{DB: "Open_vSwitch", What: "give the node its settings and bridges back"}
		set := func(key, value string) {
			var before any
			if was, ok := root.ExternalIDs[key]; ok {
				before = was
			}
			if value == "" || before == value {
				return
			}
			change.Before["external_ids:"+key], change.After["external_ids:"+key] = before, value
			step.Classic = append(step.Classic, fixes.Command("ovs-vsctl set Open_vSwitch . external_ids:%s=%s", key, value))
		}
		set("system-id", l.Chassis)
		set("hostname", l.Host)
		set("ovn-remote", remote)
		set("ovn-encap-type", l.Type)
		set("ovn-encap-ip", l.IP)
		set("ovn-bridge-mappings", l.Mappings)
		if l.Datapath == "netdev" {
			set("ovn-bridge-datapath-type", l.Datapath)
		}
		step.Changes = append(step.Changes, change)
		for i, mapping := range strings.Split(l.Mappings, ",") {
			_, bridge, ok := strings.Cut(mapping, ":")
			if !ok || bridge == "" {
				continue
			}
			// A bridge with its own port, as ovs-vsctl add-br makes it.
			b, p, n := ovsdb.Named(fmt.Sprintf("bridge%d", i)), ovsdb.Named(fmt.Sprintf("port%d", i)), ovsdb.Named(fmt.Sprintf("interface%d", i))
			row := fixes.Row{"name": bridge, "ports": []ovsdb.UUID{p}}
			if l.Datapath == "netdev" {
				row["datapath_type"] = l.Datapath
			}
			step.Changes = append(step.Changes,
				fixes.Change{Table: "Interface", UUID: n, After: fixes.Row{"name": bridge, "type": "internal"}},
				fixes.Change{Table: "Port", UUID: p, After: fixes.Row{"name": bridge, "interfaces": []ovsdb.UUID{n}}},
				fixes.Change{Table: "Bridge", UUID: b, After: row, In: []fixes.Ref{{Table: "Open_vSwitch", UUID: root.UUID, Column: "bridges"}}},
			)
			step.Classic = append(step.Classic, fixes.Command("ovs-vsctl add-br %s", bridge))
		}
		return &fixes.Plan{
			Title: "give " + h.Name + " its settings and bridges back", Host: h.Name, Steps: []fixes.Step{step},
			Touches:  "none that flows now",
			Warnings: []string{"uplinks, the addresses of bridges and the ports of pods are not in the Southbound: run ovnctl doctor again afterwards"},
		}, nil
	},
}
