package facts

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"path"
	"strings"

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

// TransientPorts are those of a server that starts from the file.
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
