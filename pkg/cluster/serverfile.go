package cluster

import (
	"cmp"
	"context"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// serverFile opens the file to which a server on this host writes a database, which costs the server nothing. It has
// all that was committed until now, and maybe more, which the server reports next. A cluster member's file does not
// tell what is committed.
func serverFile(remote string, client *ovsdb.Client) *ovsdb.Snapshot {
	socket, local := strings.CutPrefix(remote, "unix:")
	if !local || client.Status().Clustered {
		return nil
	}
	var found *ovsdb.Snapshot
	for _, f := range node.DatabaseFiles(socket) {
		if found != nil {
			_ = f.Close()
			continue
		}
		db, err := ovsdb.ParseFile(remote, f)
		switch {
		case err != nil:
		case db.Name() == client.Name() && db.Version() == client.Version() && db.Damage() == "":
			found = db
		default:
			_ = db.Close()
		}
	}
	return found
}

// inFile reports whether the server's file has all of a table.
func (r *databaseReader) inFile(table string) bool {
	if r.file == nil || table == logicalFlow && r.Flows != AllFlows {
		return false
	}
	for _, kept := range r.client.Tables().Columns[table] {
		if !kept {
			return false
		}
	}
	return true
}

// copyTable copies a table from the server's file, some rows at a time.
func (r *databaseReader) copyTable(ctx context.Context, table string, write func([]ovsdb.Raw) error) error {
	var rows []ovsdb.Raw
	err := r.file.EachRaw(table, func(row ovsdb.Raw) error {
		if rows = append(rows, row); len(rows) < largest {
			return nil
		}
		defer func() { rows = rows[:0] }()
		return cmp.Or(context.Cause(ctx), write(rows))
	})
	if err == nil && len(rows) > 0 {
		err = write(rows)
	}
	return err
}
