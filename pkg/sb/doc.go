// Package sb has the rows of OVN_Southbound: the physical network, what is bound where, and the logical flows.
//
// A table's file is named after it, or else is that of the table that refers to it (tables.go lists all). It
// holds the struct with the columns of ovn-sb(5) of every release since 20.12, and its projections: rows with
// fewer columns for one purpose. Columns that the server lacks stay empty. A comment after a reference names
// the table that it refers to.
package sb
