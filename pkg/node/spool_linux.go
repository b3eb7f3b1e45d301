package node

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// spool returns a file in memory that vanishes when closed. Kernels before 3.17 have none.
func spool() (*os.File, error) {
	fd, err := unix.MemfdCreate("ovnctl", unix.MFD_CLOEXEC|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // kernels before 6.3 lack this seal; later ones warn about a file without it
		fd, err = unix.MemfdCreate("ovnctl", unix.MFD_CLOEXEC)
	}
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	return os.NewFile(uintptr(fd), "memfd:ovnctl"), nil
}
