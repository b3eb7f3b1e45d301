package catalog

import (
	"fmt"
	"path"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

const compactedStays = "the history of changes is deleted, which nothing needs"

// CompactDatabase rewrites a database's file without its history.
var CompactDatabase = &fixes.Repair{
	Name: "compact-database",
	Doc: `Rewrite a database's file without its history

Tells the server to compact its file, as it does itself from time to time. Meanwhile the
server does not reply, for some seconds if the database is large. It refuses if there is
no room for the new file next to the old one.`,
	Params: []fixes.Param{databaseParam},
	Local:  true,
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "db-disk-full-or-corrupt",
	OneWay: compactedStays,
	Plan: onServer(func(h *snapshot.Host, s *snapshot.Server, _ fixes.Args) (*fixes.Plan, error) {
		if s.File == "" {
			return nil, fmt.Errorf("%s: file not found on %s", s.Database, h.Name)
		}
		space, err := h.Space(path.Dir(s.File))
		if err != nil {
			return nil, err
		}
		need := h.SnapshotSize(*s)
		if space.Free < need {
			return nil, fixes.Refuse("free some space first: old logs, core files, copies of databases",
				"%s has %s free and the new file may take %s", path.Dir(s.File), snapshot.Bytes(space.Free), snapshot.Bytes(need))
		}
		return &fixes.Plan{
			Title:   "compact the file of " + s.Database,
			Host:    h.Name,
			Touches: "no traffic; the server does not reply until it is done",
			Steps: []fixes.Step{fixes.Control{
				Daemon: s.Control, Command: "ovsdb-server/compact", Args: []string{s.Database},
				What: "rewrite " + s.File + " without its history", Why: compactedStays,
			}},
		}, nil
	}),
}
