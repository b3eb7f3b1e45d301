package catalog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/sb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// ListenDatabase makes a database's server listen on the network.
var ListenDatabase = &fixes.Repair{
	Name: "listen-database",
	Doc: `Make a database's server listen on the network

Adds a Connection row to those that exist: pssl:6641 or pssl:6642 if the server has a
key and a certificate, else ptcp: with the same port, which lets everybody who reaches
the port change everything. TARGET says otherwise: ptcp:6642:172.30.0.2, for instance,
listens on one address only. With several zones (OVN interconnect) it changes the
database of this host's zone, and refuses if that zone is this host alone.`,
	Params: []fixes.Param{databaseParam, {Name: "TARGET", Doc: "pssl:PORT[:ADDRESS] or ptcp:PORT[:ADDRESS]", Optional: true}},
	Class:  fixes.Ask,
	Risk:   fixes.Medium,
	Check:  "db-not-listening-tcp",
	Plan: onConnections(func(z *snapshot.Zone, database string, rows []snapshot.Connection, a fixes.Args) (*fixes.Plan, error) {
		if err := neededByOthers(z, database); err != nil {
			return nil, err
		}
		target, err := listenTarget(z, database, a["TARGET"])
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(rows, func(c snapshot.Connection) bool { return c.Target == target }) {
			return nil, fixes.Refuse("look at the log of the server: something else may use the port", "%s already has a connection %s", database, target)
		}
		global, err := z.GlobalRow(database)
		if err != nil {
			return nil, err
		}
		if at := listensAt(z.Deployment(), database, portOf(target)); at != "" {
			return nil, fixes.Refuse("change it there (ovn-ctl: --db-nb-addr, --db-sb-addr), or remove it with ovsdb-server/remove-remote first",
				"the server's command line has %s, and it cannot listen on one port twice", at)
		}
		plan := &fixes.Plan{
			Title:   fmt.Sprintf("make the server of %s listen at %s", database, target),
			Touches: "no traffic",
			Steps:   []fixes.Step{listenStep(z, database, global, rows, target)},
		}
		if strings.HasPrefix(target, "ptcp:") {
			plan.Warnings = append(plan.Warnings, "ptcp: authenticates nobody: whoever reaches the port can change everything; with a key and a certificate use pssl:")
		}
		return plan, nil
	}),
}

// neededByOthers refuses for a zone of one node: all its clients are there, and other zones never read its databases.
func neededByOthers(z *snapshot.Zone, database string) error {
	south, err := z.Southbound()
	if err != nil || !slices.ContainsFunc(south.Chassis, func(c sb.Chassis) bool { return c.OtherConfig["is-remote"] == "true" }) {
		return nil // not seen, or no zone of several
	}
	own := slices.Collect(south.OwnChassis())
	if len(own) != 1 {
		return nil
	}
	return fixes.Refuse("", "this zone's %s serves one node, %s, whose daemons reach it at its local socket; the nodes of other zones have databases of their own", database, own[0].Hostname)
}

// listenStep adds a connection, or changes the one with the same port: a server cannot listen on it twice.
func listenStep(z *snapshot.Zone, database string, global ovsdb.UUID, rows []snapshot.Connection, target string) fixes.Rows {
	step := fixes.Rows{
		DB: database, Zone: z.Name, What: "add the connection " + target,
		Changes: []fixes.Change{{
			Table: "Connection", UUID: ovsdb.Named("connection"), After: fixes.Row{"target": target},
			In: []fixes.Ref{{Table: globalTable(database), UUID: global, Column: "connections"}},
		}},
		Classic: []string{databaseTool(database) + fixes.Command(" -- --id=@c create Connection target=%s -- add %s . connections @c", strconv.Quote(target), globalTable(database))},
	}
	for _, c := range rows {
		if passive(c.Target) && portOf(c.Target) == portOf(target) {
			step.What = fmt.Sprintf("change the connection %s to %s", c.Target, target)
			step.Changes = []fixes.Change{{Table: "Connection", UUID: c.UUID, Before: fixes.Row{"target": c.Target}, After: fixes.Row{"target": target}}}
			step.Classic = []string{databaseTool(database) + fixes.Command(" set Connection %s target=%s", c.UUID, strconv.Quote(target))}
		}
	}
	return step
}

// passive reports whether a target is a listening one.
func passive(target string) bool {
	return strings.HasPrefix(target, "ptcp:") || strings.HasPrefix(target, "pssl:")
}

// portOf returns the port of a listening target: "6642" of ptcp:6642:127.0.0.1.
func portOf(target string) string {
	parts := strings.SplitN(target, ":", 3)
	if len(parts) < 2 {
		return ""
	}
	return parts[1]
}

// listensAt returns the target with a port on a server's own command line; empty if none.
func listensAt(d *snapshot.Deployment, database, port string) string {
	h := d.Local()
	if h == nil {
		return ""
	}
	s, err := h.Server(database)
	if err != nil || s == nil {
		return ""
	}
	text, err := h.Control(s.Control, "ovsdb-server/list-remotes")
	if err != nil {
		return ""
	}
	for remote := range strings.FieldsSeq(text) {
		if passive(remote) && portOf(remote) == port {
			return remote
		}
	}
	return ""
}

// listenTarget returns the target to listen on: the given one, else pssl: if the server has a certificate, else ptcp:.
func listenTarget(z *snapshot.Zone, database, given string) (string, error) {
	if given != "" {
		if !passive(given) {
			return "", fmt.Errorf("%q: a server listens at ptcp:PORT[:ADDRESS] or pssl:PORT[:ADDRESS]", given)
		}
		return given, nil
	}
	port := "6642"
	if database == "OVN_Northbound" {
		port = "6641"
	}
	if z.HasSSL(database) || hasCertificate(z.Deployment().Local(), database) {
		return "pssl:" + port, nil
	}
	return "ptcp:" + port, nil
}

// hasCertificate reports whether a host's server of a database has a certificate on its command line.
func hasCertificate(h *snapshot.Host, database string) bool {
	if h == nil {
		return false
	}
	s, err := h.Server(database)
	if err != nil || s == nil {
		return false
	}
	return slices.ContainsFunc(h.ServerArgs(*s), func(arg string) bool {
		file, ok := strings.CutPrefix(arg, "--certificate=")
		return ok && !strings.HasPrefix(file, "db:")
	})
}
