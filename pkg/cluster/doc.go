// Package cluster finds and opens one deployment as it can be read from here:
// its zones, each with a Northbound and a Southbound database, and its nodes.
//
// # Where things are found
//
// What a [Config] names comes first, then the environment (OVN_NB_DB, OVN_SB_DB, OVS_RUNDIR, OVN_RUNDIR), then the
// local Open_vSwitch database (external_ids ovn-remote and ovn-nb, the SSL table), then the directories where
// distributions keep their sockets, then the root directories of daemons that run in containers.
//
// # What cannot be read
//
// A source that was named, or is on this host, and cannot be read is a [Problem]. It never keeps the others from
// being read. A missing source that nobody named is a note. [Open] fails only if nothing can be read.
//
// # Zones
//
// A zone is a Northbound, a Southbound and the nodes whose chassis are in it.
// Most deployments are one zone; with OVN interconnect each node is its own.
package cluster
