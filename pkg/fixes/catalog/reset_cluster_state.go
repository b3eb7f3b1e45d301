package catalog

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

const forgottenState = "what the daemon forgets is how far the old database had come"

// ResetClusterState makes a daemon take a database that was rebuilt.
var ResetClusterState = &fixes.Repair{
	Name: "reset-cluster-state",
	Doc: `Make a daemon take a database that was rebuilt

A client of a cluster remembers how far it has read and refuses servers that are
behind that, so that it never goes back in time. After a database was restored or
built anew all servers are behind. This makes the daemon forget what it
remembers; it connects at once. It touches no traffic.`,
	Params: []fixes.Param{
		{Name: "DAEMON", Doc: "ovn-controller or ovn-northd"},
		{Name: "DATABASE", Doc: "OVN_Southbound, or of ovn-northd OVN_Northbound", Optional: true},
	},
	Class:  fixes.Auto,
	Risk:   fixes.Low,
	Check:  "clients-refuse-rebuilt-db",
	OneWay: forgottenState,
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		daemon, database := a["DAEMON"], "OVN_Southbound"
		if a["DATABASE"] != "" {
			var err error
			if database, err = databaseNamed(a["DATABASE"]); err != nil {
				return nil, err
			}
		}
		command := "sb-cluster-state-reset"
		switch {
		case daemon != "ovn-controller" && daemon != "ovn-northd":
			return nil, fmt.Errorf("no client %q of these databases; there are ovn-controller and ovn-northd", daemon)
		case database == "OVN_Northbound" && daemon == "ovn-controller":
			return nil, fmt.Errorf("ovn-controller does not read OVN_Northbound")
		case database == "OVN_Northbound":
			command = "nb-cluster-state-reset"
		}
		h := d.Local()
		if h == nil {
			return nil, fixes.Refuse("run it on the daemon's host", "no daemon can be told anything from here")
		}
		state, err := h.Daemon(daemon)
		if err != nil {
			return nil, err
		}
		if state.Liveness != snapshot.Answers {
			return nil, fixes.Refuse("", "%s on %s %s", daemon, h.Name, state.Liveness)
		}
		return &fixes.Plan{
			Title:   fmt.Sprintf("make %s on %s take %s as it is now", daemon, h.Name, database),
			Host:    h.Name,
			Touches: "no traffic",
			Steps: []fixes.Step{fixes.Control{
				Daemon: daemon, Command: command,
				What: "make " + daemon + " forget how far it had read " + database,
				Why:  forgottenState,
			}},
		}, nil
	},
}
