// Package record keeps what happens to a deployment in a directory, and opens any moment of it like a capture.
//
// A record is a ring, bounded by size and age:
//
//	record.json                        marks the directory
//	databases/nb.db/TIME.db            a Northbound from that time on: an ovsdb-server file, ovsdb(5), that begins with
//	databases/nb.db/TIME.db.zst        all rows and has a transaction for each change; packed once the next has begun
//	databases/ZONE/sb.db/TIME.db       likewise, of one of several zones
//	nodes/TIME.tar.zst                 what the nodes replied, complete at that time: a capture without databases
//
// A moment has of each database the file that begins last before it, cut off after the last transaction until then, and the
// last replies of the nodes. Files begin anew now and then, so that a moment opens fast and the oldest can go. All of them can
// be read with the tools of OVS, and with tar.
//
// A record that was cut off, in whatever write, holds all that was written before: each transaction has a checksum, and every
// other file gets its name when it is complete.
package record
