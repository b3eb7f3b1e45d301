package catalog

import (
	"cmp"
	"errors"
	"path"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// RestoreConfDB makes the local database work again.
var RestoreConfDB = &fixes.Repair{
	Name: "restore-switch-database",
	Doc: `Make the node's Open_vSwitch database work again

While ovsdb-server runs it has all rows in memory: it is told to rewrite its file, and nothing is lost. If it does not
run, the file is kept as conf.db.damaged, a file that cannot be read at all is removed, and ovsdb-server is started;
system-id.conf stays, so that the node keeps its name. Run doctor again afterwards: it finds what the new database lacks.

It refuses if the start would delete transient ports, as it does on Debian with --delete-transient-ports.`,
	Local:  true,
	Class:  fixes.Ask,
	Risk:   fixes.High,
	Check:  "conf-db-lost-or-corrupt",
	OneWay: daemonStaysUp,
	Plan: onNode(func(h *snapshot.Host, _ fixes.Args) (*fixes.Plan, error) {
		c, err := facts.ReadConfDB(h)
		if err != nil {
			return nil, err
		}
		if err := notContained(h, "ovsdb-server"); err != nil && !errors.Is(err, node.ErrUnavailable) {
			return nil, err
		}
		server, err := h.Daemon("ovsdb-server")
		if err != nil {
			return nil, err
		}
		switch {
		case server.Liveness == snapshot.Hung:
			return nil, fixes.Refuse("see what it waits for: a disk that hangs, a debugger", "ovsdb-server of %s does not reply; it may still have what the file lacks", h.Name)
		case server.Liveness != snapshot.Answers:
			return startOVSDB(c, h.Deployment(), h)
		case c.Text != nil && c.Damage == "":
			return nil, fixes.Refuse("", "%s of %s is intact, and ovsdb-server runs", c.Path, h.Name)
		}
		return &fixes.Plan{
			Title: "rewrite " + c.Path + " from what ovsdb-server has in memory", Host: h.Name, Touches: "nothing",
			Steps: []fixes.Step{fixes.Control{
				Daemon: "ovsdb-server", Command: "ovsdb-server/compact", What: "rewrite the database's file", Why: "a damaged file is not restored",
			}},
		}, nil
	}),
}

// startOVSDB returns the plan that starts ovsdb-server, and sets a damaged file aside.
func startOVSDB(c *facts.ConfDB, d *snapshot.Deployment, h *snapshot.Host) (*fixes.Plan, error) {
	ports, err := c.TransientPorts(d)
	if err != nil {
		return nil, err
	}
	if err := checkStart(h, ports); err != nil {
		return nil, err
	}
	plan := &fixes.Plan{Title: "start ovsdb-server of " + h.Name, Host: h.Name, Touches: "nothing that flows now"}
	if plan.Steps, err = keepName(c, d, h); err != nil {
		return nil, err
	}
	if c.Damage != "" {
		kept := c.Path + ".damaged"
		if before, err := h.OptionalFile(kept); err != nil || before != nil {
			return nil, fixes.Refuse("move it away first", "%s already exists, from an earlier damage", kept)
		}
		plan.Title = "keep the damaged " + c.Path + " aside, and start ovsdb-server"
		plan.Steps = append(plan.Steps, fixes.File{Path: kept, After: c.Text, What: "keep " + c.Path + " as " + path.Base(kept)})
		lost := "what was written after the damage is lost: " + c.Damage
		if c.Rows == nil {
			plan.Steps = append(plan.Steps, fixes.File{Path: c.Path, Before: c.Text, What: "remove " + c.Path + ", which cannot be read"})
			lost = "the new database has no bridges and no ports: those of pods come back when the pods are re-created, bridges and settings with ovnctl fix restore-switch-config"
		}
		plan.Warnings = append(plan.Warnings, lost)
	}
	plan.Steps = append(plan.Steps, fixes.Service{Daemon: "ovsdb-server", Action: fixes.Start})
	if len(ports) > 0 {
		plan.Warnings = append(plan.Warnings, "it has transient ports, which a start with --delete-transient-ports would delete: "+several(ports))
	}
	return plan, nil
}

// checkStart refuses if ovsdb-server would not start, or would delete transient ports on start.
func checkStart(h *snapshot.Host, ports []string) error {
	t, err := facts.ReadTransientDefault(h)
	switch {
	case err != nil:
		return nil // starting it will show
	case t.Stops != "":
		return fixes.Refuse("ovnctl fix set-transient-default", "%s keeps Open vSwitch from starting: %s", t.File, t.Stops)
	case t.Form == facts.TransientWorks && len(ports) > 0:
		return fixes.Refuse("systemctl start ovsdb-server at the console, or where the node may lose its network; then make sure that their owner adds them again",
			"starting ovsdb-server would delete the transient %s", portList(ports))
	}
	return nil
}

// keepName returns what the node needs to keep its system-id: ovs-ctl takes it from system-id.conf whenever it starts
// ovsdb-server, and makes one up without the file.
func keepName(c *facts.ConfDB, d *snapshot.Deployment, h *snapshot.Host) ([]fixes.Step, error) {
	file := path.Join(cmp.Or(h.Dirs().Etc, "/etc"), "openvswitch/system-id.conf")
	text, err := h.OptionalFile(file)
	if err != nil {
		return nil, err
	}
	kept := strings.TrimSpace(string(text))
	id := ""
	if c.Rows != nil {
		rows, err := ovsdb.Find[vswitch.OpenvSwitch](d.Context(), c.Rows)
		if err != nil {
			return nil, err
		}
		if len(rows) > 0 {
			id = rows[0].ExternalIDs["system-id"]
		}
	}
	switch {
	case id == "" && kept == "":
		return nil, fixes.Refuse("write the node's system-id, the name of its chassis, to "+file, "%s does not exist: the start would give %s a new system-id", file, h.Name)
	case id == "" || id == kept:
		return nil, nil
	case kept != "":
		return nil, fixes.Refuse("write the right one to "+file, "%s has system-id %s, the database's file has %s: the start would rename the node", file, kept, id)
	}
	return []fixes.Step{fixes.File{Path: file, Before: text, After: []byte(id + "\n"), What: "keep the node's system-id in " + file}}, nil
}
