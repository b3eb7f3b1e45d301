package node

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// spool is a file in memory, of which there is nothing left when it is closed. Kernels before 3.17 have none.
func spool() (*os.File, error) {
	fd, err := unix.MemfdCreate("ovnctl", unix.MFD_CLOEXEC|unix.MFD_NOEXEC_SEAL)
	if errors.Is(err, unix.EINVAL) { // kernels before 6.3 know no such seal, later ones warn of a file without it
		fd, err = unix.MemfdCreate("ovnctl", unix.MFD_CLOEXEC)
	}
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	return os.NewFile(uintptr(fd), "memfd:ovnctl"), nil
}
