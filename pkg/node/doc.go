// Package node reads one host beyond its databases: the daemons' control sockets, the switch's OpenFlow tables as
// text, and the kernel's links, addresses, routes and address translation.
//
// A [Host] gives the same results whether it is the host ovnctl runs on ([Local]), one behind a command prefix
// ([Remote]), or a directory that a [Recorder] filled ([Offline]): equal state gives equal values. Anything a
// source lacks is [ErrUnavailable], with what would provide it, never an empty result.
//
// Nothing here changes a host except [ChangeNetwork], which pkg/fixes calls. Nothing here parses OpenFlow.
package node
