package catalog

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/fixes"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
	"github.com/ovnctl/ovnctl/pkg/vswitch"
)

// ConfDB is the file of a host's Open_vSwitch database.
type ConfDB struct {
	Path string
	Text []byte // nil: it does not exist
	// Damage is why the server would not start with it, or what it would lose;
	// empty: it is intact.
	Damage string
	// Rows are those that a server has which starts from it; nil: none.
	Rows *ovsdb.Snapshot
}

// ReadConfDB reads the file, wherever the host keeps it.
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

// transientIn are the transient ports of a server that starts from the file.
func (c *ConfDB) transientIn(d *snapshot.Deployment) ([]string, error) {
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

// keepName is what it takes for the node to keep its system-id: ovs-ctl takes the one of
// system-id.conf whenever it starts ovsdb-server, and makes one up without the file.
func keepName(c *ConfDB, d *snapshot.Deployment, h *snapshot.Host) ([]fixes.Step, error) {
	file := path.Join(cmp.Or(h.Dirs().Etc, "/etc"), "openvswitch/system-id.conf")
	text, err := optional(h.File(file))
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
