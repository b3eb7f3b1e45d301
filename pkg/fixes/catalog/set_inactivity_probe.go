package catalog

import (
	"fmt"
	"strconv"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// SetInactivityProbe sets how long a database's server waits for a silent client.
var SetInactivityProbe = &fixes.Repair{
	Name: "set-inactivity-probe",
	Doc: `Set how long a database's server waits for a silent client

Sets Connection.inactivity_probe of every row, to 60000 ms unless MILLISECONDS says
otherwise. How long the clients wait is set elsewhere: external_ids:ovn-remote-probe-interval
of a node, and options:northd_probe_interval of NB_Global.`,
	Params: []fixes.Param{databaseParam, {Name: "MILLISECONDS", Doc: "60000 by default; 0 turns it off", Optional: true}},
	Class:  fixes.Ask,
	Risk:   fixes.Low,
	Check:  "connection-inactivity-probe-too-short",
	Plan: onConnections(func(z *snapshot.Zone, database string, rows []snapshot.Connection, a fixes.Args) (*fixes.Plan, error) {
		probe := 60000
		if text := a["MILLISECONDS"]; text != "" {
			var err error
			if probe, err = strconv.Atoi(text); err != nil || probe < 0 {
				return nil, fmt.Errorf("%q is not a number of milliseconds", text)
			}
		}
		if len(rows) == 0 {
			return nil, fixes.Refuse(fixes.Command("add a row first: ovnctl fix %s %s", ListenDatabase.Name, database),
				"%s has no Connection row: its addresses are on the server's command line, where the probe cannot be set", database)
		}
		step := fixes.Rows{DB: database, Zone: z.Name, What: fmt.Sprintf("set inactivity_probe of all connections to %d ms", probe)}
		for _, c := range rows {
			if len(c.Probe) == 1 && c.Probe.Get() == probe {
				continue
			}
			step.Changes = append(step.Changes, fixes.Change{
				Table: "Connection", UUID: c.UUID,
				Before: fixes.Row{"inactivity_probe": []int(c.Probe)}, After: fixes.Row{"inactivity_probe": []int{probe}},
			})
			name := string(c.UUID)
			if len(rows) == 1 {
				name = "."
			}
			step.Classic = append(step.Classic, fmt.Sprintf("%s set connection %s inactivity_probe=%d", databaseTool(database), name, probe))
		}
		if len(step.Changes) == 0 {
			return nil, fixes.Refuse("", "all connections of %s have inactivity_probe=%d", database, probe)
		}
		return &fixes.Plan{
			Title:   fmt.Sprintf("let the server of %s wait %d ms for a silent client", database, probe),
			Touches: "no traffic; connected clients stay connected",
			Steps:   []fixes.Step{step},
		}, nil
	}),
}
