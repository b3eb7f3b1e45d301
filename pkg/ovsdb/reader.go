package ovsdb

import (
	"context"
	"fmt"
	"reflect"
	"time"
)

// A Reader is one database from any source: a Client asks a server, a Snapshot holds the rows of a file or a
// dump.
type Reader interface {
	// Name returns the database's name: OVN_Northbound, OVN_Southbound, Open_vSwitch.
	Name() string
	// Origin returns where the rows come from, for people: a remote or a path.
	Origin() string
	// Version returns the version of the schema, empty if unknown.
	Version() string
	// Has reports whether the schema has the column; an empty column asks for the table.
	Has(table, column string) bool
	// Select fills the rows of all queries from one transaction, that is, one
	// consistent state of the database. After an error no rows have changed.
	Select(ctx context.Context, queries ...*Query) error
	// Status returns that of the server that the rows last came from; zero for files.
	Status() Status
	// Close ends the connection, if any. It does not wait for the server.
	Close() error
}

// Status is a server's role in its cluster, from its _Server database.
type Status struct {
	Clustered bool // a member of a RAFT cluster
	Leader    bool // the cluster's leader, or a standalone server
	Connected bool // in touch with the majority, or a standalone server
	// Index is the last log entry that the member has applied.
	Index int
	// Stale means that the member is cut off from its cluster: the rows are from before that.
	Stale bool
	// Behind counts the log entries that another member that replied has and this one lacks; 0 if none is known.
	Behind int
	// Age is the time since the member was last seen in touch with the majority; 0 if never.
	Age time.Duration
}

// A Row is a struct for the rows of one table. Its fields, including those of embedded structs, carry column
// names as tags, `ovsdb:"name"`; Table has a value receiver.
//
// A set or map that is usually empty can be `ovsdb:"name,sparse"`: a server is asked for it only in rows where
// it is not. The server builds and frees JSON for each column of each row: empty columns are a fifth of the
// cost of reading the ports of a large cluster. UUIDs cost it most, _uuid too, which it is asked for
// only if a field has it.
type Row interface {
	Table() string
}

// A Key is a row of T's table of which only the UUID is read.
type Key[T Row] struct {
	UUID UUID `ovsdb:"_uuid"`
}

// Table returns T's table.
func (Key[T]) Table() string { var row T; return row.Table() }

// A Query asks for the rows of one table.
type Query struct {
	Rows  any         // *[]T, where T is a Row; replaced by the rows found
	Where []Condition // all must hold; none asks for all rows
}

// A Condition restricts the rows, RFC 7047 section 5.1. Function is ==, !=, <,
// <=, >, >=, includes or excludes. Value is a string, int, bool, float64, UUID
// or a slice or map of these.
type Condition struct {
	Column   string
	Function string
	Value    any
}

// Where returns the condition `column function value`.
func Where(column, function string, value any) Condition {
	return Condition{column, function, value}
}

// Load fills every slice of the struct that tables points to, from one transaction. The slices' elements are
// Rows. Missing tables and columns stay empty: Has tells them apart from empty ones.
func Load(ctx context.Context, r Reader, tables any) error {
	v := reflect.ValueOf(tables)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("load: want a pointer to a struct of slices, not %T", tables)
	}
	v = v.Elem()
	queries := make([]*Query, v.NumField())
	for i := range queries {
		if !v.Type().Field(i).IsExported() {
			return fmt.Errorf("load: field %s of %T is not exported", v.Type().Field(i).Name, tables)
		}
		queries[i] = &Query{Rows: v.Field(i).Addr().Interface()}
	}
	return r.Select(ctx, queries...)
}

// Find returns the rows of T's table for which all conditions hold.
func Find[T Row](ctx context.Context, r Reader, where ...Condition) ([]T, error) {
	var rows []T
	err := r.Select(ctx, &Query{Rows: &rows, Where: where})
	return rows, err
}
