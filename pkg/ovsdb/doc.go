// Package ovsdb reads and writes one OVSDB database (RFC 7047, ovsdb(7)): from
// a server, or from a database file or dump where there is no server.
//
// # The struct is the query
//
// A row is a struct with column names as tags. A query reads those of its columns that the schema has, so one
// struct serves every release: a column that the schema lacks stays empty, and Has tells it apart from an
// empty one.
//
//	type Chassis struct {
//		UUID ovsdb.UUID `ovsdb:"_uuid"`
//		Name string     `ovsdb:"name"`
//	}
//
//	func (Chassis) Table() string { return "Chassis" }
//
//	all, err := ovsdb.Find[Chassis](ctx, db)
//
// Fields are string, int, bool, float64, UUID, a Set of these for columns with any number of values (including
// optional ones), or a map. Values are not interpreted.
//
// # Consistency
//
// All queries of one Select or Load run in one transaction, so the rows are consistent. A server runs one
// transaction at a time, so split queries of big tables.
//
// # Files
//
// OpenFile reads standalone and clustered files, compacted or not, plain or compressed. A cluster member's
// file gives the rows that the member would serve on starting from it: those that the file knows to be
// committed. Notice reports what lies beyond; another member's file may know more.
package ovsdb
