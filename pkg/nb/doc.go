// Package nb holds the rows of OVN_Northbound that ovnctl reads: what the cloud
// management system asked for. The fields are the columns of ovn-nb(5) of every
// release since 20.12; those that the server at hand lacks stay empty. A
// comment after a reference names the table that it refers to.
package nb
