package fixes

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

func owner(info fs.FileInfo) (uid, gid int) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid), int(st.Gid)
	}
	return os.Getuid(), os.Getgid()
}

// copyAttributes gives a file the extended attributes of another, such as the label
// of SELinux.
func copyAttributes(from, to string) error {
	buf := make([]byte, 64<<10)
	n, err := syscall.Listxattr(from, buf)
	if errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	if err != nil {
		return &fs.PathError{Op: "listxattr", Path: from, Err: err}
	}
	value := make([]byte, 64<<10)
	for name := range strings.SplitSeq(strings.TrimSuffix(string(buf[:n]), "\x00"), "\x00") {
		if name == "" {
			continue
		}
		n, err := syscall.Getxattr(from, name, value)
		if err == nil {
			err = syscall.Setxattr(to, name, value[:n], 0)
		}
		if err != nil && !errors.Is(err, syscall.ENOTSUP) {
			return &fs.PathError{Op: "setxattr " + name, Path: to, Err: err}
		}
	}
	return nil
}
