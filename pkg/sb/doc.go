// Package sb has the rows of OVN_Southbound: the physical network, what is bound where, and the logical flows.
//
// Each table is a file of its own: the struct with all columns of ovn-sb(5) of every release since 20.12, and beside it its
// projections, rows with fewer columns for one question. Columns that the server at hand lacks stay empty. A comment after
// a reference names the table that it refers to.
package sb
