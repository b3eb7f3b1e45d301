package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// schemaFiles are the paths at which packages install the schema of a database.
func schemaFiles(database string) []string {
	switch database {
	case "OVN_Northbound", "OVN_Southbound":
		name := "ovn-" + strings.ToLower(strings.TrimPrefix(databaseTool(database), "ovn-")[:2]) + ".ovsschema"
		return []string{"/usr/share/ovn/" + name, "/usr/share/openvswitch/" + name, "/usr/local/share/ovn/" + name}
	}
	return []string{"/usr/share/openvswitch/vswitch.ovsschema", "/usr/local/share/openvswitch/vswitch.ovsschema"}
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
	return "", "", fixes.Refuse("install the package that contains it, or let ovn-ctl convert the database when it starts the server",
		"%s has no schema of %s installed (%s)", h.Name, database, strings.Join(schemaFiles(database), ", "))
}
