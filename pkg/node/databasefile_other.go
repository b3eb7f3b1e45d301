//go:build !linux

package node

import "os"

// DatabaseFiles opens a database server's files, which are known on Linux only.
func DatabaseFiles(string) []*os.File { return nil }
