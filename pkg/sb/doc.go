// Package sb holds the rows of OVN_Southbound that ovnctl reads: the physical
// network, the logical flows, and what binds them. The fields are the columns
// of ovn-sb(5) of every release since 20.12; those that the server at hand
// lacks stay empty. A comment after a reference names the table that it refers to.
package sb
