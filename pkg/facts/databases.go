package facts

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// ConfDB is the file of a host's Open_vSwitch database.
type ConfDB struct {
	Path string
	Text []byte // nil if it does not exist
	// Damage is why the server would not start with it, or what it would lose; empty if intact.
	Damage string
	// Rows are those that a server starting from it has; nil if none.
	Rows *ovsdb.Snapshot
}

// ReadConfDB reads the file, wherever the host has it.
func ReadConfDB(h *snapshot.Host) (*ConfDB, error) {
	places := []string{path.Join(cmp.Or(h.Dirs().OVSDB, "/etc/openvswitch"), "conf.db"), "/var/lib/openvswitch/conf.db"}
	for _, place := range places {
		text, err := h.File(place)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		c := &ConfDB{Path: place, Text: text}
		if text == nil {
			c.Text = []byte{}
		}
		rows, err := ovsdb.ParseFile(place, bytes.NewReader(text))
		switch {
		case len(text) == 0:
			c.Damage = "the file is empty"
		case err != nil:
			c.Damage = strings.TrimPrefix(err.Error(), place+": ")
		default:
			c.Rows, c.Damage = rows, rows.Damage()
		}
		return c, nil
	}
	return &ConfDB{Path: places[0]}, nil
}

// TransientPorts returns the transient ports of a server that starts from the file.
func (c *ConfDB) TransientPorts(d *snapshot.Deployment) ([]string, error) {
	if c.Rows == nil {
		return nil, nil
	}
	var rows struct{ Ports []vswitch.Port }
	if err := ovsdb.Load(d.Context(), c.Rows, &rows); err != nil {
		return nil, err
	}
	var list []string
	for _, p := range rows.Ports {
		if p.OtherConfig["transient"] == "true" {
			list = append(list, p.Name)
		}
	}
	return list, nil
}

// LostSwitch is a node with a new, empty database that the Southbound knows.
type LostSwitch struct {
	Chassis  string // Chassis.name
	Host     string // Chassis.hostname
	Remote   string // external_ids:ovn-remote of another node; empty if none was read
	Type, IP string // of its Encaps
	Mappings string // ovn-bridge-mappings
	Datapath string // of its bridges
}

// ReadLostSwitch returns what the Southbound knows of a node whose database is empty. It is nil if the database is
// not empty, or the node is not in the Southbound.
func ReadLostSwitch(d *snapshot.Deployment, h *snapshot.Host) (*LostSwitch, error) {
	s, err := h.Switch()
	if err != nil || !isNew(s) {
		return nil, err
	}
	id := s.ID("system-id")
	if text, err := h.File(path.Join(cmp.Or(h.Dirs().Etc, "/etc"), "openvswitch/system-id.conf")); err == nil && strings.TrimSpace(string(text)) != "" {
		id = strings.TrimSpace(string(text))
	}
	for _, z := range d.Zones {
		south, err := z.Southbound()
		if err != nil {
			return nil, err
		}
		c := south.ChassisNamed(id)
		if c == nil || snapshot.Elsewhere(c) {
			continue
		}
		l := &LostSwitch{Chassis: c.Name, Host: c.Hostname, Mappings: c.OtherConfig["ovn-bridge-mappings"], Datapath: c.OtherConfig["datapath-type"]}
		var types []string
		for _, e := range south.EncapsOf(c) {
			l.IP = cmp.Or(l.IP, e.IP)
			if e.IP == l.IP {
				types = append(types, e.Type)
			}
		}
		l.Type = strings.Join(types, ",")
		for _, other := range d.Hosts {
			if o, err := other.Switch(); err == nil && other != h && l.Remote == "" {
				l.Remote = o.ID("ovn-remote")
			}
		}
		return l, nil
	}
	return nil, nil
}

// isNew reports whether a node's database has only what ovn-controller itself would create.
func isNew(s *snapshot.Switch) bool {
	if len(s.OpenvSwitch) == 0 {
		return false
	}
	for key := range s.OpenvSwitch[0].ExternalIDs {
		if strings.HasPrefix(key, "ovn-") {
			return false
		}
	}
	return !slices.ContainsFunc(s.Bridges, func(b vswitch.BridgeBrief) bool { return b.Name != s.IntegrationBridge("") || len(b.Ports) > 1 })
}

// SchemaFiles returns the paths where packages install the schema of a database.
func SchemaFiles(database string) []string {
	switch database {
	case "OVN_Northbound":
		return []string{"/usr/share/ovn/ovn-nb.ovsschema", "/usr/share/openvswitch/ovn-nb.ovsschema", "/usr/local/share/ovn/ovn-nb.ovsschema"}
	case "OVN_Southbound":
		return []string{"/usr/share/ovn/ovn-sb.ovsschema", "/usr/share/openvswitch/ovn-sb.ovsschema", "/usr/local/share/ovn/ovn-sb.ovsschema"}
	}
	return []string{"/usr/share/openvswitch/vswitch.ovsschema", "/usr/local/share/openvswitch/vswitch.ovsschema"}
}

// InstalledSchema returns the schema of a database installed on a host; file is empty if none of [SchemaFiles]
// exists.
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
