package fixes

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// mostJournal is the size of the longest journal of one run that is read.
const mostJournal = 64 << 20

// private refuses a journal that others could have written. It need not exist.
func (j *Journal) private() error {
	for _, dir := range []string{filepath.Dir(j.dir), j.dir} {
		info, err := os.Lstat(dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return fmt.Errorf("journal: %w", err)
		case info.Mode()&fs.ModeSymlink != 0:
			return fmt.Errorf("journal: %s is a link\nhint: name the directory itself with --state-dir", dir)
		case !info.IsDir():
			return fmt.Errorf("journal: %s is not a directory", dir)
		case info.Mode()&0o022 != 0:
			return fmt.Errorf("journal: others can write to %s, mode %s\nhint: chmod go-w %s", dir, info.Mode(), dir)
		}
		if err := ours(info); err != nil {
			return fmt.Errorf("journal: %s %w", dir, err)
		}
	}
	return nil
}

// ours reports why a file of the journal is not ours or root's.
func ours(info fs.FileInfo) error {
	if uid, _ := owner(info); uid != 0 && uid != os.Geteuid() {
		return fmt.Errorf("belongs to user %d, who could write what undo does", uid)
	}
	return nil
}

// openOwn opens a regular file of the journal, and never what a link leads to.
func openOwn(name string, flags int) (*os.File, error) {
	f, err := os.OpenFile(name, flags|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", name)
	}
	if err == nil {
		if err = ours(info); err != nil {
			err = fmt.Errorf("%s %w", name, err)
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// readOwn reads a file of the journal.
func readOwn(name string) ([]byte, error) {
	f, err := openOwn(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, mostJournal+1))
	if err == nil && len(text) > mostJournal {
		err = fmt.Errorf("it is longer than %d MB", mostJournal>>20)
	}
	return text, errors.Join(err, f.Close())
}

// machineID returns the machine-id of the host whose file system is at root, machine-id(5); empty if it has none.
func machineID(root string) string {
	text, err := os.ReadFile(filepath.Join("/", root, "etc/machine-id"))
	if id := string(bytes.TrimSpace(text)); err == nil && len(id) == 32 {
		return id
	}
	return ""
}

// bootID changes each time the host boots.
func bootID() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(text))
}
