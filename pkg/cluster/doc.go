// Package cluster finds and opens one deployment as it can be read from here:
// its zones, each with a Northbound and a Southbound database, and its nodes.
//
// # Where things are found
//
// What a [Config] names is used. Otherwise the environment (OVN_NB_DB,
// OVN_SB_DB, OVS_RUNDIR, OVN_RUNDIR), then what the local Open_vSwitch database
// says (external_ids ovn-remote and ovn-nb, the SSL table), then the places
// where distributions keep their sockets, then the root directories of daemons
// that run in containers.
//
// # What cannot be read
//
// A part that was named, or is of this host, and cannot be read is a [Problem].
// It never keeps the other parts from being read. What nobody named and nobody
// knows of is a note. Only when there is nothing at all does [Open] fail.
//
// # Zones
//
// A zone is a Northbound, a Southbound and the nodes whose chassis are in it.
// Most deployments are one zone; with OVN interconnect each node is its own.
package cluster
