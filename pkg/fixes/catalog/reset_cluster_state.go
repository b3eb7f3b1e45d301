package catalog

import (
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

const forgottenState = "the daemon forgets how far it had read the old database, which nothing needs"

// ResetClusterState makes a daemon accept a database that was rebuilt.
var ResetClusterState = &fixes.Repair{
	Name: "reset-cluster-state",
	Doc: `Make a daemon accept a database that was rebuilt

A client of a cluster remembers how far it has read and refuses servers that are
behind, so that it never goes back in time. After a database was restored or rebuilt
all servers are behind. This makes the daemon forget how far it had read, so that it
connects at once. It touches no traffic.`,
	Params: []fixes.Param{
		{Name: "DAEMON", Doc: "ovn-controller or ovn-northd"},
		{Name: "DATABASE", Doc: "OVN_Southbound, or for ovn-northd OVN_Northbound", Optional: true},
	},
	Local:  true,
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
			return nil, fixes.Refuse("run it on the daemon's host", "this is not a host with daemons")
		}
		state, err := h.Daemon(daemon)
		if err != nil {
			return nil, err
		}
		if state.Liveness != snapshot.Answers {
			return nil, fixes.Refuse("", "%s on %s %s", daemon, h.Name, state.Liveness)
		}
		return &fixes.Plan{
			Title:   fmt.Sprintf("make %s on %s accept %s as it is now", daemon, h.Name, database),
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
