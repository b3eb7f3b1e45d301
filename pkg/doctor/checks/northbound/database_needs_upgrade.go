package northbound

import (
	"cmp"
	"fmt"
	"regexp"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/release"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var DatabaseNeedsUpgrade = &doctor.Check{
	Name:     "database-needs-upgrade",
	Category: "nb",
	Doc: `A database has the schema of an older release

The daemons of a newer release run on it, without what needs the new columns.`,
	Run: func(p *doctor.Pass) {
		told := map[string]bool{}
		for _, s := range p.Servers() {
			if told[s.Database] {
				continue
			}
			for _, z := range p.Zones {
				if db, err := doctor.ZoneReader(z, s.Database); err == nil && s.Host.Local {
					told[s.Database] = oldSchema(p, s.Host, db, s.Object(), s.Concerns())
				}
			}
		}
		for _, h := range p.Hosts {
			if db, err := h.OVSDB(); err == nil {
				oldSchema(p, h, db, doctor.Object{Kind: "database", Name: "Open_vSwitch", Node: h.Name}, []doctor.Object{{Kind: "node", Name: h.Name}})
			}
			for _, daemon := range []string{"ovn-controller", "ovn-northd"} {
				missesColumns(p, h, daemon, told)
			}
		}
	},
}

// oldSchema compares a database's schema with the one that its host has installed.
func oldSchema(p *doctor.Pass, h *snapshot.Host, db ovsdb.Reader, object doctor.Object, also []doctor.Object) bool {
	if db.Version() == "" {
		return false
	}
	file, version, err := catalog.InstalledSchema(h, db.Name())
	if err != nil {
		return false // a package without schemas, or a container's: nothing to compare with
	}
	if !release.Older(db.Version(), version) {
		return false
	}
	p.Report(doctor.Finding{
		Result: doctor.Warning,
		Object: object,
		Also:   append(also, doctor.DatabaseObject(db.Name())),
		Title:  fmt.Sprintf("%s has schema %s, and %s has %s installed", db.Name(), db.Version(), h.Name, version),
		Evidence: []doctor.Evidence{
			{Source: doctor.Other("schema of " + db.Name() + " at " + db.Origin()), Says: "version " + db.Version()},
			{Source: doctor.Other("file " + file + " on " + h.Name), Says: "version " + version},
		},
		Cause:  "the packages were upgraded, and the database was not converted: the server was not started again, or by something else than ovn-ctl or ovs-ctl",
		Effect: "what the new release needs new columns for does not work; nothing says so",
		Fix:    catalog.UpgradeDatabase.With(db.Name()),
	})
	return true
}

var lacks = regexp.MustCompile(`^(\S+) table in (\S+) database lacks (\S+) column \(database needs upgrade\?\)|^(\S+) database lacks (\S+) table \(database needs upgrade\?\)`)

// missesColumns looks whether a daemon runs without columns that it asked for.
func missesColumns(p *doctor.Pass, h *snapshot.Host, daemon string, told map[string]bool) {
	d, err := h.Daemon(daemon)
	if err != nil || d.Liveness != snapshot.Answers {
		return
	}
	lines, err := h.LogLines(daemon)
	if err != nil {
		return
	}
	for _, l := range lines {
		x := lacks.FindStringSubmatch(l.Text)
		if x == nil {
			continue
		}
		name, table, column := cmp.Or(x[2], x[4]), cmp.Or(x[1], x[5]), x[3]
		if told[name] || !stillLacks(p, h, name, table, column) {
			continue
		}
		told[name] = true
		what := "table " + table
		if column != "" {
			what = "column " + column + " of " + table
		}
		p.Report(doctor.Finding{
			Result:   doctor.Warning,
			Object:   doctor.DatabaseObject(name),
			Also:     []doctor.Object{{Kind: "node", Name: h.Name}, {Kind: "daemon", Name: daemon, Node: h.Name}},
			Title:    fmt.Sprintf("%s lacks what %s on %s asks for: %s", name, daemon, h.Name, what),
			Evidence: []doctor.Evidence{{Source: doctor.Log(daemon).On(h.Name), Says: l.Raw}},
			Cause:    "the daemon is of a newer release than the database: it was upgraded first, or the database was not converted",
			Effect:   "what needs it does not work",
			Next:     "finish the upgrade: on the database's host, with the new packages, ovnctl fix " + catalog.UpgradeDatabase.Name + " " + name,
		})
	}
}

// stillLacks says that a database lacks a column now.
func stillLacks(p *doctor.Pass, h *snapshot.Host, name, table, column string) bool {
	if name == "Open_vSwitch" {
		db, err := h.OVSDB()
		return err == nil && !db.Has(table, column)
	}
	for _, z := range p.Zones {
		if db, err := doctor.ZoneReader(z, name); err == nil && !db.Has(table, column) {
			return true
		}
	}
	return false
}
