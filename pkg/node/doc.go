// Package node reads one host beyond its databases: the daemons' control
// sockets, the switch's OpenFlow tables as text, and the kernel's links,
// addresses, routes and address translation.
//
// A [Host] answers the same whether it is the host ovnctl runs on ([Local]),
// one behind a command prefix ([Remote]), or a directory that a [Recorder]
// filled ([Offline]): equal state gives equal values. What a source does not
// hold is [ErrUnavailable], with what would settle it; it is never an empty
// answer.
//
// Nothing here changes a host but [ChangeNetwork], which pkg/fixes calls. Nothing
// here parses OpenFlow.
package node
