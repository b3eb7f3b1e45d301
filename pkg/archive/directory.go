package archive

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// A directory is a store in the file system. No symbolic link leads out of it.
type directory struct{ root *os.Root }

func openDirectory(path string) (store, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return directory{root}, nil
}

func (d directory) open(name string) (io.ReadCloser, error) {
	// Non-blocking: a FIFO in a foreign directory must not hang us.
	f, err := d.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

var errNotRegular = errors.New("not a regular file")

func (d directory) list(name string) ([]string, error) {
	// Open only a directory: a FIFO would wait for a writer.
	f, err := d.root.OpenFile(name, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(maxNodes)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return names, err
}

func (d directory) stat(name string) (fs.FileInfo, error) { return d.root.Stat(name) }
func (d directory) close() error                          { return d.root.Close() }
