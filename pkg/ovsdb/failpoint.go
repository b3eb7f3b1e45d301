//go:build !failpoints

package ovsdb

import "net"

// breakable is where tests cut a connection; a no-op here.
func breakable(c net.Conn) net.Conn { return c }
