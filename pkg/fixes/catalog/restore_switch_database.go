package catalog

import (
	"errors"
	"path"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// RestoreConfDB makes the local database work again.
var RestoreConfDB = &fixes.Repair{
	Name: "restore-switch-database",
	Doc: `Make the node's Open_vSwitch database work again

While ovsdb-server runs, it has all rows in memory: it is told to write its file anew, and nothing is lost. Where it
does not run, the file is kept beside as conf.db.damaged, one that cannot be read at all is removed, and ovsdb-server
is started; system-id.conf stays, so that the node keeps its name. What the new database lacks finds the next doctor.

It refuses where the start would delete transient ports. On Debian it would with --delete-transient-ports.`,
	Class:  fixes.Ask,
	Risk:   fixes.High,
	Check:  "conf-db-lost-or-corrupt",
	OneWay: "a daemon that was started is not stopped again",
	Plan: func(d *snapshot.Deployment, _ fixes.Args) (*fixes.Plan, error) {
		h, err := local(d)
		if err != nil {
			return nil, err
		}
		c, err := ReadConfDB(h)
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
		plan := &fixes.Plan{Host: h.Name}
		sound := c.Text != nil && c.Damage == ""
		switch {
		case server.Liveness == snapshot.Answers && sound:
			return nil, fixes.Refuse("", "%s of %s is sound, and ovsdb-server runs", c.Path, h.Name)
		case server.Liveness == snapshot.Hung:
			return nil, fixes.Refuse("see what it waits for: a disk that hangs, a debugger", "ovsdb-server of %s does not answer; it may still have what the file lacks", h.Name)
		case server.Liveness == snapshot.Answers:
			plan.Title = "write " + c.Path + " anew from what ovsdb-server has"
			plan.Touches = "nothing"
			plan.Steps = []fixes.Step{fixes.Control{
				Daemon: "ovsdb-server", Command: "ovsdb-server/compact", What: "write the database's file anew", Why: "a damaged file is not made again",
			}}
			return plan, nil
		}
		ports, err := c.transientIn(d)
		if err != nil {
			return nil, err
		}
		if t, err := ReadTransientDefault(h); err == nil {
			if t.Stops != "" {
				return nil, fixes.Refuse("ovnctl fix set-transient-default", "%s keeps Open vSwitch from starting: %s", t.File, t.Stops)
			}
			if t.Form == TransientWorks && len(ports) > 0 {
				return nil, fixes.Refuse("at the console, or where the node may lose its network: systemctl start ovsdb-server; then see that their owner adds them again",
					"the start of ovsdb-server would delete the transient %s", orNone(ports))
			}
		}
		plan.Title = "start ovsdb-server of " + h.Name
		plan.Touches = "none that flows now"
		name, err := c.keepName(d, h)
		if err != nil {
			return nil, err
		}
		plan.Steps = append(plan.Steps, name...)
		if c.Damage != "" {
			kept := c.Path + ".damaged"
			if before, err := optional(h.File(kept)); err != nil || before != nil {
				return nil, fixes.Refuse("move it away first", "%s is there already, of an earlier damage", kept)
			}
			plan.Title = "keep the damaged " + c.Path + " aside, and start ovsdb-server"
			plan.Steps = append(plan.Steps, fixes.File{Path: kept, After: c.Text, What: "keep " + c.Path + " as " + path.Base(kept)})
			if c.Rows == nil {
				plan.Steps = append(plan.Steps, fixes.File{Path: c.Path, Before: c.Text, What: "remove " + c.Path + ", of which nothing can be read"})
				plan.Warnings = append(plan.Warnings, "the new database has no bridge and no port: those of pods come back when the pods are made again, bridges and settings by ovnctl fix restore-switch-config")
			} else {
				plan.Warnings = append(plan.Warnings, "what was written behind the damage is lost: "+c.Damage)
			}
		}
		plan.Steps = append(plan.Steps, fixes.Service{Daemon: "ovsdb-server", Action: fixes.Start})
		if len(ports) > 0 {
			plan.Warnings = append(plan.Warnings, "transient ports in it, which a start with --delete-transient-ports would delete: "+several(ports))
		}
		return plan, nil
	},
}
