//go:build !failpoints

package ovsdb

import "net"

// breakable is where the tests cut a connection; here it is nothing.
func breakable(c net.Conn) net.Conn { return c }
