package decode

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/release"
)

// A Row is a Southbound row, other than a logical flow, that a flow was made from.
type Row struct {
	Table string // "Port_Binding"
	UUID  ovsdb.UUID
	Name  string // "default_web"; the address if learned
	Owner Owner  // may be none
	Text  string // "port default_web"
}

// Prefix returns the first 32 bits of a row's UUID, which ovn-controller uses as cookie of the row's flows; false if
// the UUID is invalid.
func Prefix(uuid ovsdb.UUID) (uint32, bool) {
	if len(uuid) != 36 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(uuid[:8]), 16, 32)
	return uint32(n), err == nil
}

// parseHint parses a stage-hint, the first 8 hexadecimal digits of a Northbound row's UUID.
func parseHint(hint string) (uint32, bool) {
	if len(hint) != 8 {
		return 0, false
	}
	n, err := strconv.ParseUint(hint, 16, 32)
	return uint32(n), err == nil
}

func (l *Logical) indexRows(rows Southbound) {
	add := func(r Row) {
		if prefix, ok := Prefix(r.UUID); ok {
			l.rows[prefix] = append(l.rows[prefix], r)
		}
	}
	for _, r := range rows.Ports {
		owner := PortOwner(r.LogicalPort, r.ExternalIDs)
		add(Row{r.Table(), r.UUID, r.LogicalPort, owner, line("port "+r.LogicalPort, owner.String())})
	}
	for _, r := range rows.Groups {
		text := "multicast group " + r.Name
		if d := l.datapaths[r.Datapath]; d != nil {
			text += " of " + d.String()
		}
		add(Row{r.Table(), r.UUID, r.Name, Owner{}, text})
	}
	for _, r := range rows.Chassis {
		name := cmp.Or(r.Hostname, r.Name)
		add(Row{r.Table(), r.UUID, name, Owner{}, "chassis " + name})
	}
	for _, r := range rows.MACBindings {
		add(Row{r.Table(), r.UUID, r.IP, Owner{}, fmt.Sprintf("%s is at %s behind %s (learned)", r.IP, r.MAC, r.LogicalPort)})
	}
	for _, r := range rows.StaticMACBindings {
		add(Row{r.Table(), r.UUID, r.IP, Owner{}, fmt.Sprintf("%s is at %s behind %s (static)", r.IP, r.MAC, r.LogicalPort)})
	}
	for _, r := range rows.FDBs {
		port := fmt.Sprintf("port %d", r.PortKey)
		if p := l.Port(uint64(r.DPKey), uint64(r.PortKey)); p != nil {
			port = p.String()
		}
		add(Row{r.Table(), r.UUID, r.MAC, Owner{}, fmt.Sprintf("%s is behind %s (learned)", r.MAC, port)})
	}
	for _, r := range rows.LoadBalancers {
		owner := serviceOf(r.Name)
		add(Row{r.Table(), r.UUID, r.Name, owner, line(fmt.Sprintf("load balancer %q", r.Name), owner.String())})
	}
}

// madeFrom maps ovn-controller's own tables to the database tables that their flows are made from.
var madeFrom = lazy.Value[map[release.PhysicalTable][]string]{Make: func() map[release.PhysicalTable][]string {
	return map[release.PhysicalTable][]string{
		release.MACBinding: {"MAC_Binding", "Static_MAC_Binding"}, release.MACLookup: {"MAC_Binding", "Static_MAC_Binding"},
		release.MACCacheUse: {"MAC_Binding", "Static_MAC_Binding"},
		release.GetFDB:      {"FDB"}, release.LookupFDB: {"FDB"},
		release.ChkLBHairpin: {"Load_Balancer"}, release.ChkLBReply: {"Load_Balancer"},
		release.CtSNATHairpin: {"Load_Balancer"}, release.ChkLBAffinity: {"Load_Balancer"},
	}
}}

// Rows returns the rows, other than logical flows, whose UUID begins with a cookie, those that fit the table first.
// The table may be empty. Rows that do not fit are omitted if others do.
func (l *Logical) Rows(cookie uint64, at release.PhysicalTable) []Row {
	if cookie == 0 || cookie > 0xffffffff {
		return nil
	}
	rows := l.rows[uint32(cookie)]
	tables := madeFrom.Get()[at]
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

// kinds maps tables to readable names.
var kinds = lazy.Value[map[string]string]{Make: func() map[string]string {
	return map[string]string{
		"Port_Binding": "port", "Multicast_Group": "multicast group", "Chassis": "chassis",
		"MAC_Binding": "MAC binding", "Static_MAC_Binding": "static MAC binding", "FDB": "FDB entry",
		"Load_Balancer": "load balancer",
	}
}}

// object returns the row as an Object, for flows that come from no Northbound row, or none that is known.
func (r Row) object() Object {
	return Object{Kind: kinds.Get()[r.Table], Name: r.Name, UUID: r.UUID, Owner: r.Owner, Text: r.Text}
}
