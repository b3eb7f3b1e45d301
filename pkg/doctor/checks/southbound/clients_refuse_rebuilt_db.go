package southbound

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var ClientsRefuseRebuiltDB = &doctor.Check{
	Name:     "clients-refuse-rebuilt-db",
	Category: "sb",
	Doc: `A daemon refuses a database that was rebuilt

Clients of a cluster remember how far they have read and refuse servers that are behind
that. After a restore every server is behind.`,
	Run: func(p *doctor.Pass) {
		for _, h := range p.Hosts {
			for _, c := range []struct{ daemon, database, command string }{
				{"ovn-controller", "OVN_Southbound", "connection-status"},
				{"ovn-northd", "OVN_Southbound", "sb-connection-status"},
				{"ovn-northd", "OVN_Northbound", "nb-connection-status"},
			} {
				refusesRebuilt(p, h, c.daemon, c.database, c.command)
			}
		}
	},
}

func refusesRebuilt(p *doctor.Pass, h *snapshot.Host, daemon, database, command string) {
	if !doctor.Replies(h, daemon) {
		return // other checks report a daemon that is down
	}
	state, err := h.Control(daemon, command)
	if err != nil || strings.TrimSpace(state) == "connected" {
		return
	}
	lines, err := h.LogLines(daemon)
	if err != nil {
		p.Unknown(doctor.DaemonObject(h, daemon), fmt.Errorf("%s is not connected to %s, and its log cannot be read: %w", daemon, database, err))
		return
	}
	stale := doctor.Recent(lines, p.Now().Add(-time.Hour), func(l snapshot.LogLine) bool {
		return strings.Contains(l.Text, "clustered database server has stale data") && mayBeAbout(l.Text, database)
	})
	if len(stale) == 0 {
		return
	}
	p.Report(doctor.Finding{
		Object: doctor.DaemonObject(h, daemon),
		Reason: doctor.DatabasePart(database), // ovn-northd is a client of both
		Also:   []doctor.Object{doctor.NodeObject(h.Name), doctor.DatabaseObject(database)},
		Title:  fmt.Sprintf("%s on %s refuses every server of %s: their data is older than what it has read", daemon, h.Name, database),
		Evidence: []doctor.Evidence{
			doctor.Reply(daemon, command).On(h.Name).Says(strings.TrimSpace(state)),
			doctor.Log(daemon).On(h.Name).Says(stale[len(stale)-1].Raw),
		},
		Cause:  database + " was rebuilt or restored from a copy while the daemon ran",
		Effect: rebuiltEffect(daemon),
		Fix:    catalog.ResetClusterState.With(daemon, database),
	})
}

func rebuiltEffect(daemon string) string {
	if daemon == "ovn-northd" {
		return "no change to the Northbound reaches the nodes"
	}
	return "the node keeps its old flows: new pods, policies and routes have no effect there"
}

// mayBeAbout reports whether a client's log line, which begins with the server's address, may be about a database: the
// default socket and port of the other one rule it out.
func mayBeAbout(text, database string) bool {
	address, _, _ := strings.Cut(text, ": ")
	other := map[string][]string{"OVN_Northbound": {"ovnsb_db.sock", ":6642"}, "OVN_Southbound": {"ovnnb_db.sock", ":6641"}}
	return !slices.ContainsFunc(other[database], func(end string) bool { return strings.HasSuffix(address, end) })
}
