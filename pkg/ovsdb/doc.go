// Package ovsdb reads and writes one OVSDB database (RFC 7047, ovsdb(7)): from
// a server, or from a database file or dump where there is no server.
//
// # The struct is the query
//
// A row is a struct with column names as tags. What is asked for is the
// intersection of these columns with the schema at hand, so that one struct
// serves every release: a column that the schema lacks stays empty, and Has
// tells it apart from an empty one.
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
// Fields are string, int, bool, float64, UUID, a Set of these for columns of
// any number of values (optional ones, too), or a map. Values are data: none
// is interpreted.
//
// # Consistency
//
// All queries of one Select or Load travel in one transaction: the rows are of
// one moment. A server works on one transaction at a time, so big tables are
// better asked for in parts.
//
// # Files
//
// OpenFile reads standalone and clustered files, compacted or not, plain or
// compressed. The file of a member of a cluster gives the rows that the member
// serves when it starts from that file: what the file knows to be committed. Of
// what lies beyond, Notice tells; another member's file may know more.
package ovsdb
