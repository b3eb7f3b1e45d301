package decode

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// A Row is a Southbound row that a flow was made from, other than a logical
// flow.
type Row struct {
	Table string // "Port_Binding"
	UUID  ovsdb.UUID
	Name  string // "default_web"; of a learned row, its address
	Text  string // "port default_web"
}

// Prefix returns the first 32 bits of a row's UUID, which ovn-controller uses
// as the cookie of the flows it makes from it; false if the UUID is none.
func Prefix(uuid ovsdb.UUID) (uint32, bool) {
	if len(uuid) != 36 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(uuid[:8]), 16, 32)
	return uint32(n), err == nil
}

// ParseHint reads a stage-hint, the first 8 hexadecimal digits of a Northbound
// row's UUID.
func ParseHint(hint string) (uint32, bool) {
	if len(hint) != 8 {
		return 0, false
	}
	n, err := strconv.ParseUint(hint, 16, 32)
	return uint32(n), err == nil
}

func (l *Logical) indexRows(rows Southbound) {
	add := func(table string, uuid ovsdb.UUID, name, text string) {
		if prefix, ok := Prefix(uuid); ok {
			l.rows[prefix] = append(l.rows[prefix], Row{table, uuid, name, text})
		}
	}
	for _, r := range rows.Ports {
		add(r.Table(), r.UUID, r.LogicalPort, "port "+r.LogicalPort)
	}
	for _, r := range rows.Groups {
		text := "multicast group " + r.Name
		if d := l.datapaths[r.Datapath]; d != nil {
			text += " of " + d.String()
		}
		add(r.Table(), r.UUID, r.Name, text)
	}
	for _, r := range rows.Chassis {
		add(r.Table(), r.UUID, r.Name, "chassis "+r.Name)
	}
	for _, r := range rows.MACBindings {
		add(r.Table(), r.UUID, r.IP, fmt.Sprintf("%s is at %s behind %s (learned)", r.IP, r.MAC, r.LogicalPort))
	}
	for _, r := range rows.StaticMACBindings {
		add(r.Table(), r.UUID, r.IP, fmt.Sprintf("%s is at %s behind %s (static)", r.IP, r.MAC, r.LogicalPort))
	}
	for _, r := range rows.FDBs {
		text := fmt.Sprintf("%s behind port %d", r.MAC, r.PortKey)
		if p := l.Port(uint64(r.DPKey), uint64(r.PortKey)); p != nil {
			text = fmt.Sprintf("%s behind %s", r.MAC, p.Name)
		}
		add(r.Table(), r.UUID, r.MAC, text+" (learned)")
	}
	for _, r := range rows.LoadBalancers {
		add(r.Table(), r.UUID, r.Name, fmt.Sprintf("load balancer %q", r.Name))
	}
}

// madeFrom says which tables' rows the flows of ovn-controller's own tables
// are made from.
var madeFrom = map[PhysicalTable][]string{
	MACBinding: {"MAC_Binding", "Static_MAC_Binding"}, MACLookup: {"MAC_Binding", "Static_MAC_Binding"},
	MACCacheUse: {"MAC_Binding", "Static_MAC_Binding"},
	GetFDB:      {"FDB"}, LookupFDB: {"FDB"},
	ChkLBHairpin: {"Load_Balancer"}, ChkLBReply: {"Load_Balancer"},
	CtSNATHairpin: {"Load_Balancer"}, ChkLBAffinity: {"Load_Balancer"},
}

// Rows returns the rows, other than logical flows, whose UUID begins with a
// cookie; those that fit the table first of all. The table may be empty. Rows
// that do not fit are left out where others do.
func (l *Logical) Rows(cookie uint64, at PhysicalTable) []Row {
	if l == nil || cookie == 0 || cookie > 0xffffffff {
		return nil
	}
	rows := l.rows[uint32(cookie)]
	tables := madeFrom[at]
	if tables == nil {
		return slices.Clone(rows)
	}
	var fitting []Row
	for _, r := range rows {
		if slices.Contains(tables, r.Table) {
			fitting = append(fitting, r)
		}
	}
	if fitting == nil {
		return slices.Clone(rows)
	}
	return fitting
}

// kinds names the tables of rows for people.
var kinds = map[string]string{
	"Port_Binding": "port", "Multicast_Group": "multicast group", "Chassis": "chassis",
	"MAC_Binding": "MAC binding", "Static_MAC_Binding": "static MAC binding", "FDB": "FDB entry",
	"Load_Balancer": "load balancer",
}

// Object returns the row as an Object, for flows that come from nothing in the
// Northbound or from nothing that says so.
func (r Row) Object() Object {
	return Object{Kind: kinds[r.Table], Name: r.Name, UUID: r.UUID, Text: r.Text}
}
