package southbound

import (
	"fmt"
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

Clients of a cluster remember how far they have read, and refuse servers that are
behind that. After a restore all are.`,
	Run: func(p *doctor.Pass) {
		for _, h := range p.Hosts {
			for _, c := range []struct{ daemon, database, ask string }{
				{"ovn-controller", "OVN_Southbound", "connection-status"},
				{"ovn-northd", "OVN_Southbound", "sb-connection-status"},
				{"ovn-northd", "OVN_Northbound", "nb-connection-status"},
			} {
				refusesRebuilt(p, h, c.daemon, c.database, c.ask)
			}
		}
	},
}

func refusesRebuilt(p *doctor.Pass, h *snapshot.Host, daemon, database, ask string) {
	d, err := h.Daemon(daemon)
	if err != nil || d.Liveness != snapshot.Answers {
		return // whether it should run is said elsewhere
	}
	state, err := h.Control(daemon, ask)
	if err != nil || strings.TrimSpace(state) == "connected" {
		return
	}
	object := doctor.Object{Kind: "daemon", Name: daemon, Node: h.Name}
	lines, err := h.LogLines(daemon)
	if err != nil {
		p.Unknown(object, fmt.Errorf("%s is not connected to %s, why is in its log: %w", daemon, database, err))
		return
	}
	stale := doctor.Recent(lines, p.Now().Add(-time.Hour), func(l snapshot.LogLine) bool {
		return strings.Contains(l.Text, "clustered database server has stale data") && logOf(l.Text, database)
	})
	if len(stale) == 0 {
		return
	}
	last := stale[len(stale)-1]
	p.Report(doctor.Finding{
		Object: object,
		Also:   []doctor.Object{{Kind: "node", Name: h.Name}, {Kind: "database", Name: database}},
		Title:  fmt.Sprintf("%s on %s refuses every server of %s: they have less than it has read before", daemon, h.Name, database),
		Evidence: []doctor.Evidence{
			{Source: doctor.Other(ask + " of " + daemon + " on " + h.Name), Says: strings.TrimSpace(state)},
			{Source: doctor.Log(daemon), Says: last.Raw},
		},
		Cause:  database + " was built anew or restored from a copy while the daemon ran",
		Effect: rebuiltEffect(daemon),
		Fix:    catalog.ResetClusterState.With(daemon, database),
	})
}

func rebuiltEffect(daemon string) string {
	if daemon == "ovn-northd" {
		return "no change of the Northbound reaches the nodes"
	}
	return "the node goes on with old flows: no new pod, policy or route comes into effect there"
}

// logOf says whether a client's log line, which begins with the server's address,
// is about a database; an address that does not tell may be any.
func logOf(text, database string) bool {
	address, _, _ := strings.Cut(text, ": ")
	other := map[string][]string{"OVN_Northbound": {"ovnsb_db.sock", ":6642"}, "OVN_Southbound": {"ovnnb_db.sock", ":6641"}}
	for _, mark := range other[database] {
		if strings.HasSuffix(address, mark) {
			return false
		}
	}
	return true
}
