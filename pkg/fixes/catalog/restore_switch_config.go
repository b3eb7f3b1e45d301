package catalog

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

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
