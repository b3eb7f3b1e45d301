package catalog

import (
	"fmt"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/facts"
	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/release"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

const newColumns = "what daemons write to new columns would be lost"

// UpgradeDatabase gives a database the schema of the release that is installed.
var UpgradeDatabase = &fixes.Repair{
	Name: "upgrade-database",
	Doc: `Give a database the schema of the release that is installed

Writes a copy of the database, then makes its server convert it to the schema in
/usr/share/ovn or /usr/share/openvswitch, as ovn-ctl and ovs-ctl do when they start a
server. The server closes the connections of its clients, which reconnect. It refuses
if the installed schema is older, or cannot hold the data.`,
	Params: []fixes.Param{{Name: "DATABASE", Doc: "OVN_Northbound, OVN_Southbound (nb, sb) or Open_vSwitch"}},
	Local:  true,
	Class:  fixes.Ask,
	Risk:   fixes.High,
	Check:  "database-needs-upgrade",
	OneWay: newColumns,
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		h := d.Local()
		if h == nil {
			return nil, fixes.Refuse("run it on the host of the database", "this is not a host of a database")
		}
		database, zone, db, err := databaseToUpgrade(d, h, a["DATABASE"])
		if err != nil {
			return nil, err
		}
		file, version, err := facts.InstalledSchema(h, database)
		if err != nil {
			return nil, err
		}
		if file == "" {
			return nil, fixes.Refuse("install the package that contains it, or let ovn-ctl convert the database when it starts the server",
				"%s has no schema of %s installed (%s)", h.Name, database, strings.Join(facts.SchemaFiles(database), ", "))
		}
		if db.Version() == version {
			return nil, fixes.Refuse("", "%s already has schema %s", database, version)
		}
		if release.Older(version, db.Version()) {
			return nil, fixes.Refuse("install the packages of the database's release", "%s has schema %s, which is newer than the installed %s", database, db.Version(), version)
		}
		backup := fmt.Sprintf("/var/lib/ovnctl/backup/%s-%s-%s.db", database, db.Version(), d.Now().UTC().Format("20060102T150405Z"))
		return &fixes.Plan{
			Title:   fmt.Sprintf("convert %s from schema %s to %s", database, db.Version(), version),
			Host:    h.Name,
			Touches: "no traffic; all clients of the database reconnect",
			Steps: []fixes.Step{fixes.Convert{
				DB: database, Zone: zone, From: db.Version(), To: version, Schema: file, Backup: backup,
			}},
			Warnings: []string{"in a cluster all members must run a server of the new release"},
		}, nil
	},
}

// databaseToUpgrade returns the database of this host that an argument names.
func databaseToUpgrade(d *snapshot.Deployment, h *snapshot.Host, arg string) (name, zone string, db ovsdb.Reader, err error) {
	if strings.EqualFold(arg, "Open_vSwitch") {
		db, err = h.OVSDB()
		return "Open_vSwitch", "", db, err
	}
	if name, err = databaseNamed(arg); err != nil {
		return "", "", nil, fmt.Errorf("%w, and Open_vSwitch", err)
	}
	if _, _, err = localServer(d, name); err != nil {
		return "", "", nil, err
	}
	z, db, err := zoneOf(d, name)
	if err != nil {
		return "", "", nil, err
	}
	return name, z.Name, db, nil
}
