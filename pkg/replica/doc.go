// Package replica keeps a live replica of some tables of a database, and hands out every change of a row once.
//
// A change is what differs between two states of the replica, never what a server says has happened. So it makes no
// difference whether the changes came one by one, or the connection broke, the leader of the cluster changed or the server
// was restarted or upgraded in between, and all rows had to be read again: no change is lost, none comes twice. Only states
// that the server itself passed over, since it merges changes for a client that lags, are never seen.
//
// # Why libovsdb, and which part of it
//
// Rows are kept in the models of libovsdb, made at run time: a struct for each table, with the columns that both
// our row and the server's schema have. Its mapper reads the rows, its updates apply the differences that a server sends.
// Its client is left out: it cannot reach a server through another host's socket, does not bound a reply, drops events
// that its reader is slow to take, forgets which rows went away while it was disconnected, and brings the clients and
// parsers of other protocols, which every start of the program would have to pay for.
package replica
