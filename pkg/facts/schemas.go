package facts

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// SchemaFiles are the paths at which packages install the schema of a database.
func SchemaFiles(database string) []string {
	switch database {
	case "OVN_Northbound":
		return []string{"/usr/share/ovn/ovn-nb.ovsschema", "/usr/share/openvswitch/ovn-nb.ovsschema", "/usr/local/share/ovn/ovn-nb.ovsschema"}
	case "OVN_Southbound":
		return []string{"/usr/share/ovn/ovn-sb.ovsschema", "/usr/share/openvswitch/ovn-sb.ovsschema", "/usr/local/share/ovn/ovn-sb.ovsschema"}
	}
	return []string{"/usr/share/openvswitch/vswitch.ovsschema", "/usr/local/share/openvswitch/vswitch.ovsschema"}
}

// InstalledSchema is the schema of a database that a host has installed; no file: none of [SchemaFiles] exists.
func InstalledSchema(h *snapshot.Host, database string) (file, version string, err error) {
	for _, file := range SchemaFiles(database) {
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
	return "", "", nil
}
