package replica

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/ovn-kubernetes/libovsdb/model"
	libovsdb "github.com/ovn-kubernetes/libovsdb/ovsdb"
	"github.com/ovn-kubernetes/libovsdb/updates"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// A Change is a row before and after. Old is nil for a new row, New for a removed one.
type Change struct {
	Table    string
	UUID     ovsdb.UUID
	Old, New ovsdb.Row
}

// A State is what an Update says of the connection.
type State int

// The states in which updates come.
const (
	Changed State = iota // rows have changed
	Initial              // all rows there are, once at the start
	Resumed              // connected again: the changes are those since the last update
	Lost                 // disconnected: there are no changes until Resumed
)

// An Update is what happened to the replica at one time.
type Update struct {
	Time      time.Time
	State     State
	Changes   []Change // in the order of the tables asked for
	Origin    string   // the server
	Clustered bool     // it is a member of a cluster
	Leader    bool     // it leads that
	Err       error    // why the connection was lost
}

// Follow calls deliver with all rows of these tables, then with their changes, until the context ends or the server
// cannot be followed. A row says which columns matter; those that the server lacks stay empty. Deliver is called
// from one goroutine; the server waits for it.
func Follow(ctx context.Context, client *ovsdb.Client, rows []ovsdb.Row, deliver func(Update)) error {
	r := &replica{wanted: rows}
	state := Initial
	return client.Follow(ctx, func(feed *ovsdb.Feed, began func()) error {
		return r.follow(ctx, feed, state, func(u Update) {
			state = Resumed
			began()
			deliver(u)
		})
	}, func(err error) {
		deliver(Update{Time: time.Now(), State: Lost, Origin: r.origin, Err: err})
	})
}

// A replica is the rows as last known.
type replica struct {
	wanted []ovsdb.Row
	models *models
	rows   map[string]map[string]model.Model // by table and UUID
	last   string                            // names the state on the server
	origin string
}

// follow follows one server until the connection breaks.
func (r *replica) follow(ctx context.Context, feed *ovsdb.Feed, state State, deliver func(Update)) error {
	var err error
	m := r.models
	if m == nil || m.schema != string(feed.Schema()) {
		if m, err = newModels(feed.Schema(), r.wanted); err != nil {
			return err
		}
		r.last = "" // the rows are to be read again, with other columns
	}
	batch, err := feed.Start(ctx, r.last, m.lookups()...)
	if err != nil {
		return err
	}
	clustered, leader := feed.Clustered()
	r.origin = feed.Origin()
	var changes []Change
	if batch.Whole {
		changes, err = r.replace(m, batch.Rows)
	} else {
		changes, err = r.apply(batch.Rows)
	}
	for {
		if err != nil {
			r.last = "" // what is known may be wrong: compare with all there is
			return fmt.Errorf("%s: %w", feed.Origin(), err)
		}
		r.last = batch.Last
		if state != Changed || len(changes) > 0 {
			deliver(Update{Time: time.Now(), State: state, Changes: changes, Origin: feed.Origin(), Clustered: clustered, Leader: leader})
		}
		state = Changed
		if batch, err = feed.Next(ctx); err != nil {
			return err
		}
		changes, err = r.apply(batch.Rows)
	}
}

// replace takes all rows, and returns how they differ from those before.
func (r *replica) replace(m *models, text []byte) ([]Change, error) {
	now := &replica{models: m, rows: map[string]map[string]model.Model{}}
	if _, err := now.apply(text); err != nil {
		return nil, err
	}
	var changes []Change
	for name := range m.tables {
		for id, row := range now.rows[name] {
			c := Change{Table: name, UUID: ovsdb.UUID(id), New: m.row(name, row)}
			if old := r.rows[name][id]; old != nil {
				c.Old = r.models.row(name, old)
			}
			if !reflect.DeepEqual(c.Old, c.New) {
				changes = append(changes, c)
			}
		}
	}
	for name, rows := range r.rows {
		for id, row := range rows {
			if now.rows[name][id] == nil {
				changes = append(changes, Change{Table: name, UUID: ovsdb.UUID(id), Old: r.models.row(name, row)})
			}
		}
	}
	r.models, r.rows = m, now.rows
	r.sort(changes)
	return changes, nil
}

// apply takes the changes that a server sent.
func (r *replica) apply(text []byte) (changes []Change, err error) {
	// The mapper panics where a server sends what its schema does not allow.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("rows that the schema does not allow: %v", p)
		}
	}()
	var tables libovsdb.TableUpdates2
	if err := json.Unmarshal(text, &tables); err != nil {
		return nil, err
	}
	for name, rows := range tables {
		if r.models.tables[name] == nil {
			return nil, fmt.Errorf("table %.40q was not asked for", name)
		}
		if r.rows[name] == nil {
			r.rows[name] = map[string]model.Model{}
		}
		for id, row := range rows {
			c, err := r.change(name, id, row)
			if err != nil {
				return nil, err
			}
			if c.Old != nil || c.New != nil {
				changes = append(changes, c)
			}
		}
	}
	r.sort(changes)
	return changes, nil
}

// change takes the change of one row. It is empty if nothing differs.
func (r *replica) change(name, id string, row *libovsdb.RowUpdate2) (Change, error) {
	c := Change{Table: name, UUID: ovsdb.UUID(id)}
	current := r.rows[name][id]
	if row == nil || current == nil && (row.Modify != nil || row.Initial == nil && row.Insert == nil) {
		return c, fmt.Errorf("table %s, row %.40q: a change of a row that is not known", name, id)
	}
	var u updates.ModelUpdates
	if err := u.AddRowUpdate2(r.models.db, name, id, current, *row); err != nil {
		return c, err
	}
	return c, u.ForEachModelUpdate(name, func(_ string, _, now model.Model) error {
		if current != nil {
			c.Old = r.models.row(name, current)
		}
		if now == nil {
			delete(r.rows[name], id)
			return nil
		}
		r.rows[name][id] = now
		c.New = r.models.row(name, now)
		return nil
	})
}

// sort orders changes by table as asked for, then by UUID.
func (r *replica) sort(changes []Change) {
	order := map[string]int{}
	for i, row := range r.wanted {
		order[row.Table()] = i
	}
	slices.SortFunc(changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(order[a.Table], order[b.Table]), cmp.Compare(a.UUID, b.UUID))
	})
}
