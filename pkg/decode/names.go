package decode

import (
	"maps"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/release"
	"github.com/ovnctl/ovnctl/pkg/sb"
)

// Southbound holds the rows that names come from, as loaded by ovsdb.Load. The numbers of an empty table get no
// names.
type Southbound struct {
	Global            []sb.Global
	Datapaths         []sb.DatapathBinding
	Ports             []sb.PortBindingNames
	Groups            []sb.MulticastGroup
	Chassis           []sb.Chassis
	Encaps            []sb.Encap
	MACBindings       []sb.MACBinding
	StaticMACBindings []sb.StaticMACBinding
	FDBs              []sb.FDB
	LoadBalancers     []sb.LoadBalancerName
}

// A Datapath is a logical switch or router as in the Southbound.
type Datapath struct {
	UUID ovsdb.UUID // of the Datapath_Binding
	Key  uint64     // tunnel key: metadata, and the VNI in Geneve
	Kind Kind
	Name string     // for display
	NB   ovsdb.UUID // of the Logical_Switch or Logical_Router; may be empty
}

// String formats the datapath, for example "switch node1".
func (d *Datapath) String() string {
	if d.Kind == "" {
		return "datapath " + d.Name
	}
	return string(d.Kind) + " " + d.Name
}

// A Port is a logical port as in the Southbound.
type Port struct {
	UUID     ovsdb.UUID // of the Port_Binding
	Name     string     // Port_Binding.logical_port
	Type     string     // Port_Binding.type
	Key      uint64     // tunnel key within the datapath: reg14, reg15
	Datapath *Datapath  // nil if its Datapath_Binding is missing
	Chassis  string     // name of the claiming chassis; may be empty
	Owner    Owner      // may be none
}

// String formats the port, for example "port default_web".
func (p *Port) String() string { return "port " + p.Name }

// A Group is a multicast group of a datapath.
type Group struct {
	UUID     ovsdb.UUID
	Name     string // _MC_flood etc.
	Key      uint64
	Datapath *Datapath
	Ports    []*Port
}

// String formats the group, for example "multicast group _MC_flood".
func (g *Group) String() string { return "multicast group " + g.Name }

// Logical is the Southbound's part of the names, the same for every chassis. It is immutable; the zero value has no
// names.
type Logical struct {
	datapaths      map[ovsdb.UUID]*Datapath
	byKey          map[uint64]*Datapath
	ports          map[portKey]*Port
	byDatapathName map[string]*Datapath
	byName         map[string]*Port
	groups         map[portKey]*Group
	hostnames      map[string]string // of chassis, by name
	rows           map[uint32][]Row  // by the first 32 bits of the UUID
	northd         release.Version   // of ovn-northd; zero if unknown; a chassis may run another
}

type portKey struct {
	datapath uint64
	key      uint64
}

// NewLogical joins the rows of a Southbound database.
func NewLogical(rows Southbound) *Logical {
	l := &Logical{
		datapaths: map[ovsdb.UUID]*Datapath{}, byKey: map[uint64]*Datapath{}, byDatapathName: map[string]*Datapath{},
		ports: map[portKey]*Port{}, byName: map[string]*Port{}, groups: map[portKey]*Group{},
		hostnames: map[string]string{}, rows: map[uint32][]Row{},
	}
	for _, g := range rows.Global {
		l.northd = release.Parse(g.Options["northd_internal_version"])
	}
	for i := range rows.Datapaths {
		d := newDatapath(&rows.Datapaths[i])
		l.datapaths[d.UUID], l.byKey[d.Key] = d, d
		l.byDatapathName[rows.Datapaths[i].ExternalIDs["name"]] = d
	}
	names := map[ovsdb.UUID]string{}
	for _, c := range rows.Chassis {
		names[c.UUID], l.hostnames[c.Name] = c.Name, c.Hostname
	}
	bindings := map[ovsdb.UUID]*Port{}
	for _, row := range rows.Ports {
		p := &Port{
			UUID: row.UUID, Name: row.LogicalPort, Type: row.Type, Key: uint64(row.TunnelKey),
			Datapath: l.datapaths[row.Datapath], Chassis: names[row.Chassis.Get()],
			Owner: PortOwner(row.LogicalPort, row.ExternalIDs),
		}
		l.byName[p.Name], bindings[p.UUID] = p, p
		if p.Datapath != nil {
			l.ports[portKey{p.Datapath.Key, p.Key}] = p
		}
	}
	for _, row := range rows.Groups {
		g := &Group{UUID: row.UUID, Name: row.Name, Key: uint64(row.TunnelKey), Datapath: l.datapaths[row.Datapath]}
		for _, uuid := range row.Ports {
			if p := bindings[uuid]; p != nil {
				g.Ports = append(g.Ports, p)
			}
		}
		if g.Datapath != nil {
			l.groups[portKey{g.Datapath.Key, g.Key}] = g
		}
	}
	l.indexRows(rows)
	return l
}

func newDatapath(row *sb.DatapathBinding) *Datapath {
	d := &Datapath{UUID: row.UUID, Key: uint64(row.TunnelKey)}
	switch ids := row.ExternalIDs; {
	case ids["logical-switch"] != "":
		d.Kind, d.NB = Switch, ovsdb.UUID(strings.ToLower(ids["logical-switch"]))
	case ids["logical-router"] != "":
		d.Kind, d.NB = Router, ovsdb.UUID(strings.ToLower(ids["logical-router"]))
	}
	// Since 25.09 these are separate columns.
	switch row.Type.Get() {
	case "logical-switch":
		d.Kind = Switch
	case "logical-router":
		d.Kind = Router
	}
	if nb := row.NBUUID.Get(); nb != "" {
		d.NB = nb
	}
	// name2 is the readable name if name is the CMS's key, as with Neutron.
	d.Name = row.ExternalIDs["name"]
	if d.Name == "" {
		d.Name = string(d.UUID)
	}
	if human := row.ExternalIDs["name2"]; human != "" {
		d.Name = human + " (" + d.Name + ")"
	}
	return d
}

// Datapath finds a datapath by its tunnel key, as in metadata and Geneve's VNI; nil if not found.
func (l *Logical) Datapath(key uint64) *Datapath {
	return l.byKey[key]
}

// Port finds a logical port by its tunnel key in a datapath, as in reg14 and reg15; nil if not found.
func (l *Logical) Port(datapath, key uint64) *Port {
	return l.ports[portKey{datapath, key}]
}

// PortsCalled returns the logical ports that a text may refer to: the one with that name, else those whose owner has
// it, as "shop/web" or "Pod shop/web".
func (l *Logical) PortsCalled(text string) []*Port {
	if p := l.byName[text]; p != nil {
		return []*Port{p}
	}
	var ports []*Port
	for _, name := range slices.Sorted(maps.Keys(l.byName)) {
		if p := l.byName[name]; text != "" && (p.Owner.String() == text || p.Owner.FullName() == text) {
			ports = append(ports, p)
		}
	}
	return ports
}

// Group finds a multicast group by its tunnel key in a datapath, as in reg15; nil if not found.
func (l *Logical) Group(datapath, key uint64) *Group {
	return l.groups[portKey{datapath, key}]
}
