// Package nb has the rows of OVN_Northbound: what the cloud management system asked for.
//
// Each table is a file of its own: the struct with all columns of ovn-nb(5) of every release since 20.12, and beside it its
// projections, rows with fewer columns for one question, since a server is busy with each column of each row. Columns that
// the server at hand lacks stay empty. A comment after a reference names the table that it refers to.
package nb
