package catalog

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// RestoreSwitchConfig restores the settings and provider bridges of a node whose database was lost.
var RestoreSwitchConfig = &fixes.Repair{
	Name: "restore-switch-config",
	Doc: `Restore the settings of a node whose database was lost

From the node's chassis in the Southbound: the type and address of its tunnels, its bridge mappings and the bridges
that they name. ovn-remote is not in the Southbound: it is REMOTE, or that of another node that can be read.
ovn-controller creates the integration bridge itself. Run doctor again afterwards: it finds missing uplinks and
addresses. Ports of pods come back when the pods are re-created.`,
	Params: []fixes.Param{{Name: "REMOTE", Doc: "external_ids:ovn-remote of the other nodes: tcp:HOST:6642 or ssl:HOST:6642, a comma list of all members", Optional: true}},
	Local:  true,
	Class:  fixes.Ask,
	Risk:   fixes.High,
	Check:  "conf-db-lost-or-corrupt",
	Plan: onNode(func(h *snapshot.Host, a fixes.Args) (*fixes.Plan, error) {
		l, err := facts.ReadLostSwitch(h.Deployment(), h)
		if err != nil {
			return nil, err
		}
		if l == nil {
			return nil, fixes.Refuse("", "the database of %s is not empty, or the Southbound does not know the node", h.Name)
		}
		l.Remote = cmp.Or(a["REMOTE"], l.Remote)
		if l.Remote == "" {
			return nil, fixes.Refuse("ovnctl fix restore-switch-config tcp:HOST:6642, with what `ovs-vsctl get Open_vSwitch . external_ids:ovn-remote` shows on another node", "the Southbound does not hold its own address, and no other node was read")
		}
		if err := ovsdb.CheckRemotes(l.Remote); err != nil {
			return nil, err
		}
		if l.IP == "" {
			return nil, fixes.Refuse("set it by hand: ovnctl fix set-chassis-key", "the Southbound has no tunnel address of chassis %s", l.Chassis)
		}
		s, err := h.Switch()
		if err != nil {
			return nil, err
		}
		return &fixes.Plan{
			Title: "restore the settings and bridges of " + h.Name, Host: h.Name, Steps: []fixes.Step{restoreSwitch(l, &s.OpenvSwitch[0])},
			Touches:  "nothing that flows now",
			Warnings: []string{"uplinks, the addresses of bridges and the ports of pods are not in the Southbound: run ovnctl doctor again afterwards"},
		}, nil
	}),
}

// restoreSwitch returns the step that sets what the database lost.
func restoreSwitch(l *facts.LostSwitch, root *vswitch.OpenvSwitch) fixes.Rows {
	step := fixes.Rows{DB: "Open_vSwitch", What: "restore the node's settings and bridges"}
	columns := fixes.Row{}
	set := func(key, value string) {
		if value == "" || root.ExternalIDs[key] == value {
			return
		}
		columns["external_ids:"+key] = value
		step.Classic = append(step.Classic, fixes.Command("ovs-vsctl set Open_vSwitch . external_ids:%s=%s", key, value))
	}
	set("system-id", l.Chassis)
	set("hostname", l.Host)
	set("ovn-remote", l.Remote)
	set("ovn-encap-type", l.Type)
	set("ovn-encap-ip", l.IP)
	set("ovn-bridge-mappings", l.Mappings)
	if l.Datapath == "netdev" {
		set("ovn-bridge-datapath-type", l.Datapath)
	}
	step.Changes = append(step.Changes, fixes.Changed(root, columns))
	for i, mapping := range strings.Split(l.Mappings, ",") {
		_, bridge, ok := strings.Cut(mapping, ":")
		if !ok || bridge == "" {
			continue
		}
		// A bridge with its own port, as ovs-vsctl add-br creates it.
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
	return step
}
