package decode

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/ovnctl/ovnctl/pkg/nb"
	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// An Object is what a flow was made for, in the words of whoever asked for it:
// a row of the Northbound, or, where it says nothing, of the Southbound.
type Object struct {
	Kind   string // ACL, load balancer, NAT, route, policy, switch port, …
	Name   string
	UUID   ovsdb.UUID
	Owner  string // what the CMS calls it, "NetworkPolicy shop/web"; may be empty
	Holder string // what holds it, "port group a123", "router GR_node1"; may be empty
	Text   string // all of it in one line
	// Row is the row itself, an nb.ACL and so on; nil for the Southbound's.
	Row ovsdb.Row
}

// Objects finds the Northbound rows behind stage-hints. A hint is the beginning
// of a UUID and says nothing of the table: those that the stage may come from
// are looked at first. Of each table the UUIDs are read once, and of the rows
// only those that are asked for. It is safe for concurrent use.
type Objects struct {
	reader ovsdb.Reader

	mu      sync.Mutex
	uuids   map[string]map[uint32][]ovsdb.UUID // by table
	objects map[ovsdb.UUID]Object
	names   map[string]ovsdb.UUID // by table and name; empty for what is not there
	holders holders
	failure string
}

// NewObjects reads from a Northbound database. A nil reader knows no object.
func NewObjects(r ovsdb.Reader) *Objects {
	return &Objects{reader: r, uuids: map[string]map[uint32][]ovsdb.UUID{}, objects: map[ovsdb.UUID]Object{}, names: map[string]ovsdb.UUID{}}
}

// Of returns the objects that a logical flow with that stage-name and
// stage-hint may come from, almost always one. An empty hint means that the
// flow comes from no single object. With none found, unknown says why.
func (o *Objects) Of(ctx context.Context, stage, hint string) (objects []Object, unknown string) {
	if hint == "" {
		return nil, ""
	}
	prefix, ok := ParseHint(hint)
	if !ok {
		return nil, fmt.Sprintf("stage-hint %q is not the beginning of a UUID", hint)
	}
	if o == nil || o.reader == nil {
		return nil, "OVN_Northbound was not read"
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if objects = o.among(ctx, tablesOf(stage), prefix); len(objects) > 0 {
		return objects, ""
	}
	// Some flows of every datapath hint at the datapath itself, and if many
	// share the flow, at any of them: that is nobody's wish.
	if len(o.find(ctx, switches, prefix))+len(o.find(ctx, routers, prefix)) > 0 {
		return nil, ""
	}
	if objects = o.among(ctx, tables, prefix); len(objects) > 0 {
		return objects, ""
	}
	if o.failure != "" {
		return nil, o.failure
	}
	return nil, fmt.Sprintf("no row of OVN_Northbound begins with %s: it was deleted, or ovn-northd lags behind", hint)
}

// Named returns the row of one of the tables whose rows have names of their own,
// such as an address set that a match names: Address_Set, Port_Group,
// Logical_Switch_Port and Logical_Router_Port. It reports false if there is none,
// or none could be read.
func (o *Objects) Named(ctx context.Context, tableName, name string) (Object, bool) {
	if o == nil || o.reader == nil {
		return Object{}, false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	key := tableName + " " + name
	uuid, known := o.names[key]
	for _, t := range []table{addressSets, portGroups, switchPorts, routerPorts} {
		if t.name != tableName {
			continue
		}
		if !known {
			found, err := t.named(ctx, o.reader, name)
			if err != nil {
				return Object{}, false
			}
			if len(found) == 1 {
				uuid = found[0]
			}
			o.names[key] = uuid
		}
		if uuid != "" {
			return o.object(ctx, t, uuid)
		}
	}
	return Object{}, false
}

// among returns the objects of the first table that has any.
func (o *Objects) among(ctx context.Context, tables []table, prefix uint32) []Object {
	for _, t := range tables {
		var objects []Object
		for _, uuid := range o.find(ctx, t, prefix) {
			if object, ok := o.object(ctx, t, uuid); ok {
				objects = append(objects, object)
			}
		}
		if len(objects) > 0 {
			return objects
		}
	}
	return nil
}

// find returns the rows of a table whose UUID begins with prefix.
func (o *Objects) find(ctx context.Context, t table, prefix uint32) []ovsdb.UUID {
	if _, ok := o.uuids[t.name]; !ok && o.failure == "" {
		uuids, err := t.uuids(ctx, o.reader)
		if err != nil {
			o.fail(err)
		}
		index := make(map[uint32][]ovsdb.UUID, len(uuids))
		for _, uuid := range uuids {
			if p, ok := Prefix(uuid); ok {
				index[p] = append(index[p], uuid)
			}
		}
		o.uuids[t.name] = index
	}
	return o.uuids[t.name][prefix]
}

func (o *Objects) object(ctx context.Context, t table, uuid ovsdb.UUID) (Object, bool) {
	if _, known := o.objects[uuid]; !known && o.failure == "" {
		o.read(ctx, t, uuid)
	}
	object, ok := o.objects[uuid]
	return object, ok
}

// read reads rows of a table in one transaction.
func (o *Objects) read(ctx context.Context, t table, uuids ...ovsdb.UUID) {
	objects, err := t.read(lookup{ctx, o.reader, &o.holders}, uuids)
	if err != nil {
		o.fail(err)
	}
	for _, object := range objects {
		o.objects[object.UUID] = object
	}
}

// prefetch reads the objects of many flows at once: one by one they cost a round
// trip each.
func (o *Objects) prefetch(ctx context.Context, evidence []Evidence) {
	if o == nil || o.reader == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	wanted, asked := map[string][]ovsdb.UUID{}, map[ovsdb.UUID]bool{}
	named := map[string]table{}
	for _, e := range evidence {
		if len(e.Rows) == 0 {
			continue
		}
		ids := e.Rows[0].ExternalIDs
		prefix, ok := ParseHint(ids["stage-hint"])
		if !ok {
			continue
		}
		for _, t := range tablesOf(ids["stage-name"]) {
			uuids := o.find(ctx, t, prefix)
			for _, uuid := range uuids {
				if _, known := o.objects[uuid]; !known && !asked[uuid] {
					asked[uuid] = true
					wanted[t.name], named[t.name] = append(wanted[t.name], uuid), t
				}
			}
			if len(uuids) > 0 {
				break
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		for batch := range slices.Chunk(wanted[name], maxBatch) {
			if o.failure == "" {
				o.read(ctx, named[name], batch...)
			}
		}
	}
}

// maxBatch is how many rows one transaction asks for: a server does one thing at
// a time.
const maxBatch = 256

func (o *Objects) fail(err error) {
	if o.failure == "" {
		o.failure = fmt.Sprintf("OVN_Northbound could not be read: %v", err)
	}
}

// A table is one that hints may point into.
type table struct {
	name  string
	uuids func(context.Context, ovsdb.Reader) ([]ovsdb.UUID, error)
	named func(context.Context, ovsdb.Reader, string) ([]ovsdb.UUID, error)
	read  func(lookup, []ovsdb.UUID) ([]Object, error)
}

// key is a row of T's table of which only the UUID is read.
type key[T ovsdb.Row] struct {
	UUID ovsdb.UUID `ovsdb:"_uuid"`
}

// Table returns T's.
func (key[T]) Table() string { var row T; return row.Table() }

func keys[T ovsdb.Row](ctx context.Context, r ovsdb.Reader, where ...ovsdb.Condition) ([]ovsdb.UUID, error) {
	rows, err := ovsdb.Find[key[T]](ctx, r, where...)
	uuids := make([]ovsdb.UUID, len(rows))
	for i, row := range rows {
		uuids[i] = row.UUID
	}
	return uuids, err
}

// holder is a row of T's table as far as it tells who it is.
type holder[T ovsdb.Row] struct {
	UUID        ovsdb.UUID        `ovsdb:"_uuid"`
	Name        string            `ovsdb:"name"`
	ExternalIDs map[string]string `ovsdb:"external_ids"`
}

// Table returns T's.
func (holder[T]) Table() string { var row T; return row.Table() }

// tableOf makes the table of rows of type T, which describe turns into objects.
func tableOf[T ovsdb.Row](describe func(T, lookup) Object) table {
	var zero T
	return table{
		name:  zero.Table(),
		uuids: func(ctx context.Context, r ovsdb.Reader) ([]ovsdb.UUID, error) { return keys[T](ctx, r) },
		named: func(ctx context.Context, r ovsdb.Reader, name string) ([]ovsdb.UUID, error) {
			return keys[T](ctx, r, ovsdb.Where("name", "==", name))
		},
		read: func(l lookup, uuids []ovsdb.UUID) ([]Object, error) {
			found := make([][]T, len(uuids))
			queries := make([]*ovsdb.Query, len(uuids))
			for i, uuid := range uuids {
				queries[i] = &ovsdb.Query{Rows: &found[i], Where: []ovsdb.Condition{ovsdb.Where("_uuid", "==", uuid)}}
			}
			if err := l.reader.Select(l.ctx, queries...); err != nil {
				return nil, err
			}
			var objects []Object
			for i, rows := range found {
				for _, row := range rows {
					object := describe(row, l)
					object.UUID, object.Row = uuids[i], row
					objects = append(objects, object)
				}
			}
			return objects, nil
		},
	}
}

// lookup finds what holds a row.
type lookup struct {
	ctx     context.Context
	reader  ovsdb.Reader
	holders *holders
}

// heldBy returns the row of T's table with uuid among column, zero if there is
// none: a holder that cannot be read is left out of the text.
func heldBy[T ovsdb.Row](l lookup, column string, uuid ovsdb.UUID) holder[T] {
	var zero T
	if !l.reader.Has(zero.Table(), column) {
		return holder[T]{}
	}
	if name, ids, known := l.holders.find(l, zero.Table(), column, uuid); known {
		return holder[T]{Name: name, ExternalIDs: ids}
	}
	rows, err := ovsdb.Find[holder[T]](l.ctx, l.reader, ovsdb.Where(column, "includes", uuid))
	if err != nil || len(rows) == 0 {
		return holder[T]{}
	}
	return rows[0]
}

func onRouter(l lookup, column string, uuid ovsdb.UUID) (text, owner string) {
	router := heldBy[nb.LogicalRouter](l, column, uuid)
	if router.Name == "" {
		return "", ""
	}
	return "router " + router.Name, Owner(router.ExternalIDs)
}

func onSwitch(l lookup, column string, uuid ovsdb.UUID) (text, owner string) {
	sw := heldBy[nb.LogicalSwitch](l, column, uuid)
	if sw.Name == "" {
		return "", ""
	}
	return "switch " + sw.Name, Owner(sw.ExternalIDs)
}

// line joins what is not empty as in `head (a, b)`.
func line(head string, details ...string) string {
	details = slices.DeleteFunc(details, func(s string) bool { return s == "" })
	if len(details) == 0 {
		return head
	}
	return head + " (" + strings.Join(details, ", ") + ")"
}

// shortName is the name of a row that has none: what ovn-nbctl takes for it.
func shortName(uuid ovsdb.UUID) string {
	if len(uuid) < 8 {
		return string(uuid)
	}
	return string(uuid[:8])
}
