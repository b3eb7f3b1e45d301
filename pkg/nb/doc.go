// Package nb has the rows of OVN_Northbound: what the cloud management system asked for.
//
// A table is in the file that its name begins or ends with, else beside the table that refers to it (tables.go lists all):
// the struct with the columns of ovn-nb(5) of every release since 20.12, and its projections, rows with fewer columns for
// one question, since a server is busy with each column of each row. Columns that the server lacks stay empty. A comment
// after a reference names the table that it refers to.
package nb
