// Package decompress reads gzip, zstd, xz and bzip2. It detects the format by the first bytes, never by a file's
// name, and bounds untrusted input.
package decompress

import (
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
)

// ErrTooLarge reports input that unpacks to more than is sensible.
var ErrTooLarge = errors.New("too large")

// A Limit bounds unpacking: Free bytes in any case, beyond that Ratio for each byte read.
type Limit struct {
	Free  int64
	Ratio int64
}

// NewReader reads r, unpacked if it is compressed. It holds only memory: there is nothing to close.
func NewReader(r io.Reader, limit Limit) (io.Reader, error) {
	b := NewBudget(context.Background(), limit, 1<<62, 1<<62)
	return b.Unpack(b.Outer(r))
}

// Magic is how many bytes identify the format.
const Magic = 6

// Packed reports whether data that begins so is compressed.
func Packed(magic []byte) bool { return formatOf(magic) != nil }

type format struct {
	name, magic string
	open        func(io.Reader) (io.Reader, error)
}

// formatOf returns the format of data that begins so, or nil.
func formatOf(magic []byte) *format {
	for i, f := range formats {
		if bytes.HasPrefix(magic, []byte(f.magic)) {
			return &formats[i]
		}
	}
	return nil
}

var formats = []format{
	{"gzip", "\x1f\x8b", func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }},
	{"zstd", "\x28\xb5\x2f\xfd", func(r io.Reader) (io.Reader, error) {
		// More than one decoder would need a Close; zstd -d refuses larger windows too.
		return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(128<<20))
	}},
	// The window that xz asks for, at most 4 GiB, takes memory only where written to.
	{"xz", "\xfd7zXZ\x00", func(r io.Reader) (io.Reader, error) { return xz.NewReader(r) }},
	{"bzip2", "BZh", func(r io.Reader) (io.Reader, error) { return bzip2.NewReader(r), nil }},
}
