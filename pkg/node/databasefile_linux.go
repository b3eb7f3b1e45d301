package node

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// standaloneMagic starts a database file that is not a cluster member's, ovsdb(5).
const standaloneMagic = "OVSDB JSON "

// DatabaseFiles opens the standalone database files that the process listening on a socket has open, even if
// renamed since; none if there is no such process or it is not visible.
func DatabaseFiles(socket string) (files []*os.File) {
	pid := listener(socket)
	if pid == 0 {
		return nil
	}
	open, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, path := range open {
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
			continue
		}
		f, err := os.Open(path)
		if err != nil {
			continue
		}
		magic := make([]byte, len(standaloneMagic))
		if _, err := io.ReadFull(io.NewSectionReader(f, 0, int64(len(magic))), magic); err != nil || string(magic) != standaloneMagic {
			_ = f.Close()
			continue
		}
		files = append(files, f)
	}
	return files
}
