package decompress

import (
	"os"

	"golang.org/x/sys/unix"
)

// free returns the bytes that are free on a file's disk.
func free(f *os.File) (bytes int64, known bool) {
	var disk unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &disk); err != nil {
		return 0, false
	}
	return int64(disk.Bavail) * disk.Bsize, true
}
