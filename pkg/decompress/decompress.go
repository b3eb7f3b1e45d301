// Package decompress reads gzip, zstd, xz and bzip2. It detects the format by the first bytes, never by a file's
// name, and bounds untrusted input.
package decompress

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"

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
	packed := &counter{in: r}
	in := bufio.NewReaderSize(packed, 64<<10)
	magic, _ := in.Peek(Magic)
	f := formatOf(magic)
	if f == nil {
		return in, nil
	}
	unpacked, err := f.open(in)
	if err != nil {
		return nil, fmt.Errorf("compressed with %s: %w", f.name, err)
	}
	return &bounded{in: unpacked, format: f.name, packed: packed, limit: limit}, nil
}

// Magic is how many bytes identify the format.
const Magic = 6

// Packed reports whether data that begins so is compressed.
func Packed(magic []byte) bool { return formatOf(magic) != nil }

// Spool returns a temporary file for unpacked data. It has no name, so nothing is left behind.
func Spool() (*os.File, error) {
	f, err := os.CreateTemp("", "ovnctl-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

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

type counter struct {
	in io.Reader
	n  int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	c.n += int64(n)
	return n, err
}

// A bounded reader unpacks until it exceeds its limit.
type bounded struct {
	in     io.Reader
	format string
	packed *counter
	limit  Limit
	n      int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.in.Read(p)
	b.n += int64(n)
	if b.n > b.limit.Free && b.n > b.limit.Ratio*b.packed.n {
		return 0, fmt.Errorf("%w: %d bytes out of %d compressed ones", ErrTooLarge, b.n, b.packed.n)
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return n, errors.New("the compressed file is cut short")
	case err != nil && !errors.Is(err, io.EOF):
		return n, fmt.Errorf("compressed with %s: %w", b.format, err)
	}
	return n, err
}
