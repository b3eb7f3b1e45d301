package decompress

import (
	"fmt"
	"io/fs"
	"os"
)

// spare is the room that unpacking leaves on the disk of the temporary files, and stride is how often it looks.
const (
	spare  = 256 << 20
	stride = 16 << 20
)

// A File is a temporary file for unpacked data. It has no name, so nothing is left behind.
type File struct {
	*os.File
	dir  string
	next int64 // bytes that may be written before the next look at the disk
}

// Spool returns a temporary file: in $TMPDIR, else in /var/tmp, which is on a disk, else in /tmp, which may be memory.
func Spool() (*File, error) {
	dir := os.Getenv("TMPDIR")
	if dir == "" {
		dir = "/var/tmp"
	}
	f, err := os.CreateTemp(dir, "ovnctl-*")
	if err != nil && os.Getenv("TMPDIR") == "" {
		dir = os.TempDir()
		f, err = os.CreateTemp(dir, "ovnctl-*")
	}
	if err != nil { // %v: that the file named by the user is missing is something else
		return nil, fmt.Errorf("no directory for temporary files: %v\nhint: TMPDIR=DIRECTORY names one", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		_ = f.Close()
		return nil, err
	}
	return &File{File: f, dir: dir}, nil
}

// WriteAt writes unless that fills the disk.
func (f *File) WriteAt(b []byte, at int64) (int, error) {
	if f.next -= int64(len(b)); f.next < 0 {
		if left, known := free(f.File); known && left < spare+int64(len(b)) {
			return 0, &fs.PathError{Op: "write", Path: f.dir, Err: fmt.Errorf("only %d MB are left on the disk\nhint: TMPDIR=DIRECTORY names one with more room", left>>20)}
		}
		f.next = stride
	}
	return f.File.WriteAt(b, at)
}
