package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/release"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// schemaFiles are where packages put the schema of a database.
func schemaFiles(database string) []string {
	switch database {
	case "OVN_Northbound", "OVN_Southbound":
		name := "ovn-" + strings.ToLower(strings.TrimPrefix(databaseTool(database), "ovn-")[:2]) + ".ovsschema"
		return []string{"/usr/share/ovn/" + name, "/usr/share/openvswitch/" + name, "/usr/local/share/ovn/" + name}
	}
	return []string{"/usr/share/openvswitch/vswitch.ovsschema", "/usr/local/share/openvswitch/vswitch.ovsschema"}
}

const noWayBack = "what daemons write into new columns would be lost with them"

// UpgradeDatabase gives a database the schema of the release that is installed.
var UpgradeDatabase = &fixes.Repair{
	Name: "upgrade-database",
	Doc: `Give a database the schema of the release that is installed

Writes a copy of the database, then has its server convert it to the schema in
/usr/share/ovn or /usr/share/openvswitch, as ovn-ctl and ovs-ctl do when they start a
server. The server ends the connections of its clients, which connect anew. It
refuses where the installed schema is the older one, or cannot hold what is there.`,
	Params: []fixes.Param{{Name: "DATABASE", Doc: "OVN_Northbound, OVN_Southbound (nb, sb) or Open_vSwitch"}},
	Class:  fixes.Ask,
	Risk:   fixes.High,
	Check:  "database-needs-upgrade",
	OneWay: noWayBack,
	Plan: func(d *snapshot.Deployment, a fixes.Args) (*fixes.Plan, error) {
		h := d.Local()
		if h == nil {
			return nil, fixes.Refuse("run it on the host of the database", "this is no host of a database")
		}
		database, zone, db, err := databaseToUpgrade(d, h, a["DATABASE"])
		if err != nil {
			return nil, err
		}
		file, version, err := InstalledSchema(h, database)
		if err != nil {
			return nil, err
		}
		if db.Version() == version {
			return nil, fixes.Refuse("", "%s has schema %s already", database, version)
		}
		if release.Older(version, db.Version()) {
			return nil, fixes.Refuse("install the packages of the release that the database is of", "%s has schema %s, which is newer than the installed %s", database, db.Version(), version)
		}
		backup := fmt.Sprintf("/var/lib/ovnctl/backup/%s-%s-%s.db", database, db.Version(), d.Now().UTC().Format("20060102T150405Z"))
		return &fixes.Plan{
			Title:   fmt.Sprintf("convert %s from schema %s to %s", database, db.Version(), version),
			Host:    h.Name,
			Touches: "no traffic; all clients of the database connect anew",
			Steps: []fixes.Step{fixes.Convert{
				DB: database, Zone: zone, From: db.Version(), To: version, Schema: file, Backup: backup,
			}},
			Warnings: []string{"of a cluster all members must run a server of the new release"},
		}, nil
	},
}

// databaseToUpgrade is the database that an argument means, on this host.
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

// InstalledSchema is the schema of a database that a host has installed.
func InstalledSchema(h *snapshot.Host, database string) (file, version string, err error) {
	for _, file := range schemaFiles(database) {
		text, err := h.File(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", "", err
		}
		var schema struct{ Name, Version string }
		if err := json.Unmarshal(text, &schema); err != nil || schema.Name != database {
			return "", "", fmt.Errorf("%s is not the schema of %s", file, database)
		}
		return file, schema.Version, nil
	}
	return "", "", fixes.Refuse("install the package that brings it, or name none: ovn-ctl converts when it starts the server",
		"%s has no schema of %s installed (%s)", h.Name, database, strings.Join(schemaFiles(database), ", "))
}
