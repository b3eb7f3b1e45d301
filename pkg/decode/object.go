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

// An Object is what a flow is for, in its owner's terms: a row of the Northbound, or, if that has none, of the
// Southbound.
//
// It is part of the JSON of decoded flows and of traces: docs/json.md.
type Object struct {
	Kind   string     `json:"kind"` // ACL, load balancer, NAT, route, policy, switch port, …
	Name   string     `json:"name"`
	UUID   ovsdb.UUID `json:"uuid"`
	Owner  Owner      `json:"owner"` // may be none
	Holder Holder     `json:"-"`     // may be none
	Text   string     `json:"text"`  // the whole object in one line
	// Row is the row itself, such as an nb.ACL; nil for Southbound rows.
	Row ovsdb.Row `json:"-"`
}

// Objects finds the Northbound rows behind stage-hints. A hint is a UUID prefix and does not name the table: the
// tables that the stage may come from are searched first. UUIDs are read once per table, rows only on demand. It is
// safe for concurrent use.
type Objects struct {
	reader ovsdb.Reader

	mu      sync.Mutex
	uuids   map[string]map[uint32][]ovsdb.UUID // by table
	objects map[ovsdb.UUID]Object
	names   map[string]ovsdb.UUID // by table and name; empty if not found
	holders holders
	failure string
}

// NewObjects reads from a Northbound database. A nil reader finds no object.
func NewObjects(r ovsdb.Reader) *Objects {
	return &Objects{reader: r, uuids: map[string]map[uint32][]ovsdb.UUID{}, objects: map[ovsdb.UUID]Object{}, names: map[string]ovsdb.UUID{}}
}

// Of returns the objects that a logical flow with that stage-name and stage-hint may come from, almost always one. An
// empty hint means that the flow comes from no single object. If none is found, unknown is the reason.
func (o *Objects) Of(ctx context.Context, stage, hint string) (objects []Object, unknown string) {
	if hint == "" {
		return nil, ""
	}
	prefix, ok := parseHint(hint)
	if !ok {
		return nil, fmt.Sprintf("stage-hint %q does not begin a UUID", hint)
	}
	if o == nil || o.reader == nil {
		return nil, "OVN_Northbound was not read"
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if objects = o.among(ctx, tablesOf(stage), prefix); len(objects) > 0 {
		return objects, ""
	}
	// Some flows of every datapath have the datapath itself as hint, or any one of several if they share the flow: no
	// object is behind those.
	if len(o.find(ctx, switches, prefix))+len(o.find(ctx, routers, prefix)) > 0 {
		return nil, ""
	}
	if objects = o.among(ctx, tables, prefix); len(objects) > 0 {
		return objects, ""
	}
	if o.failure != "" {
		return nil, o.failure
	}
	return nil, fmt.Sprintf("no row of OVN_Northbound begins with %s: it was removed, or ovn-northd lags behind", hint)
}

// aclPriority is what ovn-northd adds to an ACL's priority, ovn-northd(8).
const aclPriority = 1000

// ACL returns the ACL behind a logical flow whose hint matches no row: ovn-northd keeps a flow when a CMS recreates
// its ACL with the same match. The ACL has the flow's priority, direction and match; ok is false unless there is
// exactly one.
func (o *Objects) ACL(ctx context.Context, stage, match string, priority int) (object Object, ok bool) {
	if o == nil || o.reader == nil || !strings.Contains(stage, "_acl") {
		return Object{}, false
	}
	direction := "to-lport"
	if strings.HasPrefix(stage, "ls_in") {
		direction = "from-lport"
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	key := fmt.Sprintf("ACL %s %d %s", direction, priority, match)
	uuid, known := o.names[key]
	if !known {
		var rows []nb.ACLBrief
		query := &ovsdb.Query{Rows: &rows, Where: []ovsdb.Condition{ovsdb.Where("priority", "==", priority-aclPriority), ovsdb.Where("direction", "==", direction)}}
		if err := o.reader.Select(ctx, query); err != nil {
			return Object{}, false
		}
		rows = slices.DeleteFunc(rows, func(r nb.ACLBrief) bool { return match != r.Match && !strings.HasSuffix(match, "("+r.Match+")") })
		if len(rows) == 1 {
			uuid = rows[0].UUID
		}
		o.names[key] = uuid
	}
	if uuid == "" {
		return Object{}, false
	}
	return o.object(ctx, acls, uuid)
}

// Named returns a row that has a name of its own, such as an address set used in a match: Address_Set, Port_Group,
// Logical_Switch_Port or Logical_Router_Port. It returns false if not found or not read.
func (o *Objects) Named(ctx context.Context, tableName, name string) (Object, bool) {
	if o == nil || o.reader == nil {
		return Object{}, false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	key := tableName + " " + name
	uuid, known := o.names[key]
	for _, t := range []table{addressSets, portGroups, switchPorts, routerPorts} {
		if t.name() != tableName {
			continue
		}
		if !known {
			query, uuids := t.uuids(ovsdb.Where("name", "==", name))
			if err := o.reader.Select(ctx, query); err != nil {
				return Object{}, false
			}
			if found := uuids(); len(found) == 1 {
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

// find returns the UUIDs in a table that begin with prefix.
func (o *Objects) find(ctx context.Context, t table, prefix uint32) []ovsdb.UUID {
	o.index(ctx, t)
	return o.uuids[t.name()][prefix]
}

// index reads the UUIDs of tables in one transaction, each table once.
func (o *Objects) index(ctx context.Context, tables ...table) {
	var names []string
	var queries []*ovsdb.Query
	var read []func() []ovsdb.UUID
	for _, t := range tables {
		if _, known := o.uuids[t.name()]; known || slices.Contains(names, t.name()) {
			continue
		}
		query, uuids := t.uuids()
		names, queries, read = append(names, t.name()), append(queries, query), append(read, uuids)
	}
	if len(names) == 0 || o.failure != "" {
		return
	}
	if err := o.reader.Select(ctx, queries...); err != nil {
		o.fail(err)
	}
	for i, name := range names {
		uuids := read[i]()
		index := make(map[uint32][]ovsdb.UUID, len(uuids))
		for _, uuid := range uuids {
			if p, ok := Prefix(uuid); ok {
				index[p] = append(index[p], uuid)
			}
		}
		o.uuids[name] = index
	}
}

func (o *Objects) object(ctx context.Context, t table, uuid ovsdb.UUID) (Object, bool) {
	if _, known := o.objects[uuid]; !known && o.failure == "" {
		o.read(ctx, []place{{t, uuid}})
	}
	object, ok := o.objects[uuid]
	return object, ok
}

// A place identifies a row.
type place struct {
	table
	uuid ovsdb.UUID
}

// read reads rows and their holders in one transaction.
func (o *Objects) read(ctx context.Context, places []place) {
	queries, take := o.holders.expect(o.reader, places)
	objects := make([]func(*holders) []Object, len(places))
	for i, p := range places {
		var query *ovsdb.Query
		query, objects[i] = p.read(p.uuid)
		queries = append(queries, query)
	}
	if err := o.reader.Select(ctx, queries...); err != nil {
		o.fail(err)
		return
	}
	take()
	for _, describe := range objects {
		for _, object := range describe(&o.holders) {
			o.objects[object.UUID] = object
		}
	}
}

// A Hint is what a logical flow says of the row that it was made for, in its external_ids: stage-name and stage-hint.
type Hint struct{ Stage, Prefix string }

func (o *Objects) prefetch(ctx context.Context, evidence []Evidence) {
	var hints []Hint
	for _, e := range evidence {
		if len(e.Rows) > 0 {
			ids := e.Rows[0].ExternalIDs
			hints = append(hints, Hint{ids["stage-name"], ids["stage-hint"]})
		}
	}
	o.Prefetch(ctx, hints)
}

// Prefetch reads the objects of many flows at once, to save a round trip each.
func (o *Objects) Prefetch(ctx context.Context, hints []Hint) {
	if o == nil || o.reader == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	stages := map[string][]uint32{}
	for _, h := range hints {
		if prefix, ok := parseHint(h.Prefix); ok {
			stages[h.Stage] = append(stages[h.Stage], prefix)
		}
	}
	if len(stages) == 0 {
		return
	}
	needed := []table{switches, routers}
	for stage := range stages {
		needed = append(needed, tablesOf(stage)...)
	}
	o.index(ctx, needed...)
	var wanted []place
	asked := map[ovsdb.UUID]bool{}
	want := func(tables []table, prefix uint32) bool {
		for _, t := range tables {
			uuids := o.find(ctx, t, prefix)
			for _, uuid := range uuids {
				if _, known := o.objects[uuid]; !known && !asked[uuid] {
					asked[uuid] = true
					wanted = append(wanted, place{t, uuid})
				}
			}
			if len(uuids) > 0 {
				return true
			}
		}
		return false
	}
	var elsewhere []uint32
	for _, stage := range slices.Sorted(maps.Keys(stages)) {
		for _, prefix := range stages[stage] {
			if !want(tablesOf(stage), prefix) && len(o.find(ctx, switches, prefix))+len(o.find(ctx, routers, prefix)) == 0 {
				elsewhere = append(elsewhere, prefix)
			}
		}
	}
	if len(elsewhere) > 0 {
		o.index(ctx, tables...)
	}
	for _, prefix := range elsewhere {
		want(tables, prefix)
	}
	for batch := range slices.Chunk(wanted, maxBatch) {
		if o.failure == "" {
			o.read(ctx, batch)
		}
	}
}

// maxBatch limits the rows of one transaction: a server handles one at a time.
const maxBatch = 256

func (o *Objects) fail(err error) {
	if o.failure == "" {
		o.failure = fmt.Sprintf("OVN_Northbound could not be read: %v", err)
	}
}

// A table is one that hints may refer to. It provides a query and a function that turns the rows into the result.
type table interface {
	name() string
	holders() []reference // to this table's rows
	uuids(where ...ovsdb.Condition) (*ovsdb.Query, func() []ovsdb.UUID)
	read(uuid ovsdb.UUID) (*ovsdb.Query, func(*holders) []Object)
}

// rowsOf is the table of rows of type T.
type rowsOf[T ovsdb.Row] struct {
	describe func(T, *holders) Object
	held     []reference // by these
}

func (t rowsOf[T]) name() string {
	var zero T
	return zero.Table()
}

func (t rowsOf[T]) holders() []reference { return t.held }

func (t rowsOf[T]) uuids(where ...ovsdb.Condition) (*ovsdb.Query, func() []ovsdb.UUID) {
	var rows []ovsdb.Key[T]
	return &ovsdb.Query{Rows: &rows, Where: where}, func() []ovsdb.UUID {
		uuids := make([]ovsdb.UUID, len(rows))
		for i, row := range rows {
			uuids[i] = row.UUID
		}
		return uuids
	}
}

func (t rowsOf[T]) read(uuid ovsdb.UUID) (*ovsdb.Query, func(*holders) []Object) {
	var rows []T
	return &ovsdb.Query{Rows: &rows, Where: []ovsdb.Condition{ovsdb.Where("_uuid", "==", uuid)}}, func(h *holders) []Object {
		var objects []Object
		for _, row := range rows {
			object := t.describe(row, h)
			object.UUID, object.Row = uuid, row
			objects = append(objects, object)
		}
		return objects
	}
}

// line joins the non-empty arguments as `head (a, b)`.
func line(head string, details ...string) string {
	details = slices.DeleteFunc(details, func(s string) bool { return s == "" })
	if len(details) == 0 {
		return head
	}
	return head + " (" + strings.Join(details, ", ") + ")"
}

// shortName returns a name for a row that has none, as ovn-nbctl accepts it.
func shortName(uuid ovsdb.UUID) string {
	if len(uuid) < 8 {
		return string(uuid)
	}
	return string(uuid[:8])
}
