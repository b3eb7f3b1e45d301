package fixes

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
	"github.com/ovnctl/ovnctl/pkg/snapshot"
)

// A Target is what steps act on: this host, and the databases of the deployment.
type Target struct {
	// Host is the local host; nil if ovnctl reads only databases.
	Host *snapshot.Host
	// Root is the host's root directory as this process sees it; empty: /.
	Root string

	zones   []*snapshot.Zone
	process string // in the names of this run's temporary files

	steps    []Step // of the run that is being undone
	rollback bool   // it is undone because it failed, not because somebody asked
}

// On returns the target of plans made from d. The local host's root directory is at root.
func On(d *snapshot.Deployment, root string) *Target {
	return &Target{Host: d.Local(), Root: root, zones: d.Zones}
}

// A database can be read and written.
type database interface {
	ovsdb.Reader
	Transact(ctx context.Context, ops ...ovsdb.Operation) ([]ovsdb.Result, error)
}

// database returns the database that a step names.
func (t *Target) database(name, zone string) (database, error) {
	r, err := t.reader(name, zone)
	if err != nil {
		return nil, err
	}
	db, ok := r.(database)
	if !ok {
		return nil, fmt.Errorf("%s at %s can be read only", name, r.Origin())
	}
	return db, nil
}

func (t *Target) reader(name, zone string) (ovsdb.Reader, error) {
	if name == "Open_vSwitch" {
		if t.Host == nil {
			return nil, errors.New("the Open_vSwitch database of this host was not read")
		}
		return t.Host.OVSDB()
	}
	for _, z := range t.zones {
		if z.Name != zone {
			continue
		}
		if name == "OVN_Northbound" {
			return z.NB()
		}
		return z.SB()
	}
	return nil, fmt.Errorf("%s of zone %q was not read", name, zone)
}

// node is the local host itself.
func (t *Target) node() (node.Host, error) {
	if t.Host == nil {
		return nil, errors.New("this host was not read")
	}
	return t.Host.Node(), nil
}

// wait calls holds until it is true or the context ends.
func wait(ctx context.Context, pause time.Duration, holds func() (bool, error)) error {
	for {
		ok, err := holds()
		if ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}
