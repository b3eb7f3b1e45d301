package fixes

import (
	"context"
	"fmt"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/lazy"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// DeleteRow returns the change that deletes a row, which undo inserts again. In are the columns that refer to it;
// without any the whole database is searched. The server also deletes rows that only it refers to: use [DeleteRows] for
// such a row.
func DeleteRow(ctx context.Context, r ovsdb.Reader, table string, id ovsdb.UUID, in ...Ref) (Change, error) {
	changes, err := deletion(ctx, r, table, id, in, false)
	if err != nil {
		return Change{}, err
	}
	return changes[0], nil
}

// DeleteRows returns the changes that delete a row and those that only it refers to: a Chassis with its Encaps, a Port
// with its Interfaces. Undo inserts all of them.
func DeleteRows(ctx context.Context, r ovsdb.Reader, table string, id ovsdb.UUID, in ...Ref) ([]Change, error) {
	return deletion(ctx, r, table, id, in, true)
}

// A schemaReader reads raw rows and knows the references between them.
type schemaReader interface {
	rawReader
	Tables() ovsdb.Tables
}

// byDaemons are columns, besides the ephemeral ones, that a daemon fills in: they neither guard a row nor are restored
// with it.
var byDaemons = lazy.Value[map[string][]string]{Make: func() map[string][]string {
	return map[string][]string{
		"Interface": {"ofport", "error", "mac_in_use", "ifindex", "admin_state", "link_state", "link_speed", "duplex", "mtu", "statistics", "status"},
		"Port":      {"statistics", "status", "rstp_statistics", "rstp_status", "bond_active_slave"},
		"Bridge":    {"datapath_id", "datapath_version", "status", "rstp_status"},

		"Logical_Switch_Port": {"up", "dynamic_addresses"},
		"Logical_Router_Port": {"ipv6_prefix", "status"},

		"Chassis":         {"nb_cfg"},
		"Chassis_Private": {"nb_cfg_timestamp"},
		"MAC_Binding":     {"timestamp"},
		"FDB":             {"timestamp"},
	}
}}

func deletion(ctx context.Context, r ovsdb.Reader, table string, id ovsdb.UUID, in []Ref, children bool) ([]Change, error) {
	db, ok := r.(schemaReader)
	if !ok {
		return nil, fmt.Errorf("%s at %s is not a server: its rows cannot be deleted", r.Name(), r.Origin())
	}
	schema := db.Tables()
	kept := schema.Columns[table]
	if kept == nil {
		return nil, fmt.Errorf("%s has no table %s", r.Name(), table)
	}
	var names []string
	for column, stays := range kept {
		if stays && !slices.Contains(byDaemons.Get()[table], column) {
			names = append(names, column)
		}
	}
	slices.Sort(names)
	rows, err := db.Raw(ctx, ovsdb.Lookup{Table: table, Columns: names, Where: row(id)})
	if err != nil {
		return nil, err
	}
	if len(rows[0]) == 0 {
		return nil, fmt.Errorf("%s does not have row %s", table, id)
	}
	c := Change{Table: table, UUID: id, Before: Row{}, In: in}
	for _, name := range names {
		c.Before[name] = rows[0][0][name]
	}
	if in == nil {
		if c.In, err = referrers(ctx, db, schema, table, id); err != nil {
			return nil, err
		}
	}
	all := []Change{c}
	if !children {
		return all, nil
	}
	for _, ref := range schema.References {
		if ref.Table != table || ref.Weak || schema.Rooted(ref.To) || !slices.Contains(names, ref.Column) {
			continue
		}
		for _, child := range rows[0][0][ref.Column].UUIDs() {
			by, err := referrers(ctx, db, schema, ref.To, child)
			if err != nil {
				return nil, err
			}
			if slices.ContainsFunc(by, func(r Ref) bool { return r.UUID != id }) {
				continue // another row refers to it
			}
			below, err := deletion(ctx, r, ref.To, child, []Ref{}, true)
			if err != nil {
				return nil, err
			}
			all = append(all, below...)
		}
	}
	return all, nil
}

// referrers returns the columns that refer to a row.
func referrers(ctx context.Context, db schemaReader, schema ovsdb.Tables, table string, id ovsdb.UUID) ([]Ref, error) {
	var lookups []ovsdb.Lookup
	var asked []ovsdb.Reference
	for _, ref := range schema.References {
		if ref.To != table {
			continue
		}
		l := ovsdb.Lookup{Table: ref.Table, Columns: []string{}, Where: []ovsdb.Condition{ovsdb.Where(ref.Column, "includes", ovsdb.Set[ovsdb.UUID]{id})}}
		if ref.Map { // by a value, which no condition can select
			l = ovsdb.Lookup{Table: ref.Table, Columns: []string{ref.Column}}
		}
		lookups = append(lookups, l)
		asked = append(asked, ref)
	}
	if len(lookups) == 0 {
		return []Ref{}, nil
	}
	rows, err := db.Raw(ctx, lookups...)
	if err != nil {
		return nil, err
	}
	found := []Ref{}
	for i, ref := range asked {
		for _, r := range rows[i] {
			switch {
			case !ref.Map:
				found = append(found, Ref{ref.Table, r.UUID(), ref.Column})
			case slices.Contains(r[ref.Column].UUIDs(), id):
				return nil, Refuse("delete it with the classic commands", "%s %.8s refers to %s %.8s from a map, which undo cannot restore", ref.Table, r.UUID(), table, id)
			}
		}
	}
	return found, nil
}
