package decompress

import (
	"os"
	"syscall"
)

// free returns the bytes that are free on a file's disk.
func free(f *os.File) (bytes int64, known bool) {
	var disk syscall.Statfs_t
	if err := syscall.Fstatfs(int(f.Fd()), &disk); err != nil {
		return 0, false
	}
	return int64(disk.Bavail) * int64(disk.Bsize), true //nolint:unconvert // uint32 on s390x
}
