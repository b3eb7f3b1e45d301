package catalog

import (
	"fmt"
	"path"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

const compactedStays = "what is dropped is the history of changes, which nothing needs"

// CompactDatabase writes a database's file anew, without its history.
var CompactDatabase = &fixes.Repair{
	Name: "compact-database",
	Doc: `Write a database's file anew, without its history

Tells the server to compact its file, as it does by itself from time to time. The
server answers nobody meanwhile: some seconds for a large one. It needs room for
the new file beside the old one, and refuses without.`,
	Params: []fixes.Param{databaseParam},
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "db-disk-full-or-corrupt",
	OneWay: compactedStays,
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		database, err := databaseNamed(a["DATABASE"])
		if err != nil {
			return nil, err
		}
		h, s, err := localServer(d, database)
		if err != nil {
			return nil, err
		}
		if s.File == "" {
			return nil, fmt.Errorf("%s: its file was not found on %s", database, h.Name)
		}
		space, err := h.Space(path.Dir(s.File))
		if err != nil {
			return nil, err
		}
		need := h.SnapshotSize(*s)
		if space.Free < need {
			return nil, fixes.Refuse("make room there first: old logs, core files, copies of databases",
				"%s has %s free and the new file may take %s", path.Dir(s.File), snapshot.Bytes(space.Free), snapshot.Bytes(need))
		}
		return &fixes.Plan{
			Title:   "compact the file of " + database,
			Host:    h.Name,
			Touches: "no traffic; the server answers nobody for as long as it takes",
			Steps: []fixes.Step{fixes.Control{
				Daemon: s.Control, Command: "ovsdb-server/compact", Args: []string{database},
				What: "write " + s.File + " anew without its history", Why: compactedStays,
			}},
		}, nil
	},
}
