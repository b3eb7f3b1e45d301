package cluster

import (
	"context"
	"fmt"

	"github.com/ovnctl/ovnctl/pkg/held"
	"github.com/ovnctl/ovnctl/pkg/node"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// A Dumped is the database of a node on another host, of which the host keeps the dump: its rows are parsed again when somebody reads them.
type Dumped struct {
	name, origin string
	rows         *held.Value[ovsdb.Snapshot]
}

// dumped returns the database of a host that keeps what it has read once.
func dumped(host node.Host, first *ovsdb.Snapshot) *Dumped {
	d := &Dumped{name: first.Name(), origin: first.Origin()}
	d.rows = held.New(first, func() (*ovsdb.Snapshot, error) {
		db, err := host.Vswitch(context.Background()) // reads nothing
		if err != nil {
			return nil, err
		}
		again, ok := db.(*ovsdb.Snapshot)
		if !ok {
			return nil, fmt.Errorf("%s: not a dump any more", d.origin)
		}
		return again, nil
	})
	return d
}

// Name implements [ovsdb.Reader].
func (d *Dumped) Name() string { return d.name }

// Origin implements [ovsdb.Reader].
func (d *Dumped) Origin() string { return d.origin }

// Version implements [ovsdb.Reader]; a dump has none.
func (d *Dumped) Version() string { return "" }

// Stays says that the rows are the same whenever they are read, as [held.Stays] asks.
func (d *Dumped) Stays() {}

// Has implements [ovsdb.Reader].
func (d *Dumped) Has(table, column string) bool {
	s, err := d.rows.Get()
	return err == nil && s.Has(table, column)
}

// Select implements [ovsdb.Reader].
func (d *Dumped) Select(ctx context.Context, queries ...*ovsdb.Query) error {
	s, err := d.rows.Get()
	if err != nil {
		return err
	}
	return s.Select(ctx, queries...)
}

// Status implements [ovsdb.Reader]; zero.
func (d *Dumped) Status() ovsdb.Status { return ovsdb.Status{} }

// Close implements [ovsdb.Reader].
func (d *Dumped) Close() error { return nil }
