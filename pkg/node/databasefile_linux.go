package node

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// standaloneMagic is how a database file begins that is not a cluster member's, ovsdb(5).
const standaloneMagic = "OVSDB JSON "

// DatabaseFiles opens the standalone database files which the process that listens on a
// socket has open itself, whatever their names are by now; none where there is no
// such process, or it is out of sight.
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
