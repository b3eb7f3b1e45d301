package northbound

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/doctor"
	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes/catalog"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/pattern"
	"github.com/ovnctl/ovnctl/pkg/release"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

var DatabaseNeedsUpgrade = &doctor.Check{
	Name:     "database-needs-upgrade",
	Category: "nb",
	Doc: `A database has the schema of an older release

The daemons of a newer release run on it, but features that need new columns do not work.`,
	Host: func(p *doctor.Pass, h *snapshot.Host) {
		if db, err := h.OVSDB(); err == nil {
			oldSchema(p, h, db, doctor.Object{Kind: "database", Name: "Open_vSwitch", Node: h.Name}, []doctor.Object{doctor.NodeObject(h.Name)})
		}
		reported := map[string]bool{}
		for _, daemon := range []string{"ovn-controller", "ovn-northd"} {
			missesColumns(p, h, daemon, reported)
		}
	},
	Run: func(p *doctor.Pass) {
		reported := map[string]bool{}
		for _, s := range p.Servers() {
			if reported[s.Database] || !s.Host.Local {
				continue
			}
			for z := range p.ZonesOf(s.Host) {
				if db, err := doctor.DatabaseReader(z, s.Database); err == nil {
					reported[s.Database] = oldSchema(p, s.Host, db, s.Object(), s.Also())
				}
			}
		}
		p.Findings = slices.DeleteFunc(p.Findings, func(f doctor.Finding) bool { return f.Reason == columns && reported[f.Object.Name] })
	},
}

// columns is the reason of findings about what a daemon misses in a database: if its schema is old, that says it all.
const columns = "columns"

// oldSchema compares a database's schema with the one installed on its host.
func oldSchema(p *doctor.Pass, h *snapshot.Host, db ovsdb.Reader, object doctor.Object, also []doctor.Object) bool {
	if db.Version() == "" {
		return false
	}
	file, version, err := facts.InstalledSchema(h, db.Name())
	if err != nil || file == "" {
		return false // no schema is installed, as in some packages and containers
	}
	if !release.Older(db.Version(), version) {
		return false
	}
	f := doctor.Finding{
		Result: doctor.Warning,
		Object: object,
		Also:   append(also, doctor.DatabaseObject(db.Name())),
		Reason: "schema",
		Title:  fmt.Sprintf("%s has schema %s, but %s has %s installed", db.Name(), db.Version(), h.Name, version),
		Evidence: []doctor.Evidence{
			doctor.Command("ovsdb-client get-schema-version " + db.Origin() + " " + db.Name()).Says(db.Version()),
			doctor.File(file, 0).On(h.Name).Says("version " + version),
		},
		Cause:  "the packages were upgraded, but the database was not converted: its server was not restarted, or not by ovn-ctl or ovs-ctl",
		Effect: "features that need new columns do not work, without an error",
	}
	f.Fix = catalog.UpgradeDatabase.With(db.Name()).At(h.Name)
	p.Report(f)
	return true
}

var lacks = pattern.New(`^(\S+) table in (\S+) database lacks (\S+) column \(database needs upgrade\?\)|^(\S+) database lacks (\S+) table \(database needs upgrade\?\)`)

// missesColumns reports columns that a daemon needs and its database lacks.
func missesColumns(p *doctor.Pass, h *snapshot.Host, daemon string, reported map[string]bool) {
	if !doctor.Replies(h, daemon) {
		return
	}
	lines, err := h.LogLines(daemon)
	if err != nil {
		return
	}
	for _, l := range lines {
		x := lacks.Get().FindStringSubmatch(l.Text)
		if x == nil {
			continue
		}
		name, table, column := cmp.Or(x[2], x[4]), cmp.Or(x[1], x[5]), x[3]
		if reported[name] || !stillLacks(p, h, name, table, column) {
			continue
		}
		reported[name] = true
		what := "table " + table
		if column != "" {
			what = "column " + column + " of " + table
		}
		p.Report(doctor.Finding{
			Result:   doctor.Warning,
			Object:   doctor.DatabaseObject(name),
			Also:     []doctor.Object{doctor.NodeObject(h.Name), doctor.DaemonObject(h, daemon)},
			Reason:   columns,
			Title:    fmt.Sprintf("%s lacks the %s, which %s on %s uses", name, what, daemon, h.Name),
			Evidence: []doctor.Evidence{doctor.Log(daemon).On(h.Name).Says(l.Raw)},
			Cause:    "the daemon is of a newer release than the database: it was upgraded first, or the database was not converted",
			Effect:   "features that need it do not work",
			Next:     "finish the upgrade: on the database's host, with the new packages, ovnctl fix " + catalog.UpgradeDatabase.Name + " " + name,
		})
	}
}

// stillLacks reports whether a database lacks a column now.
func stillLacks(p *doctor.Pass, h *snapshot.Host, name, table, column string) bool {
	if name == "Open_vSwitch" {
		db, err := h.OVSDB()
		return err == nil && !db.Has(table, column)
	}
	for z := range p.ZonesOf(h) {
		if db, err := doctor.DatabaseReader(z, name); err == nil && !db.Has(table, column) {
			return true
		}
	}
	return false
}
