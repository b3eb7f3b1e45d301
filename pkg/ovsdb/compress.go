package ovsdb

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// The checksum and the UUID in each record keep a real file from shrinking by
// more than maxRatio; below minBomb it does not matter.
const (
	maxRatio = 200
	minBomb  = 64 << 20
)

// uncompressed returns what r holds, unpacked if its first bytes say that it
// is compressed.
func uncompressed(r io.Reader) (io.Reader, error) {
	packed := &counter{in: io.LimitReader(r, maxFile)}
	in := bufio.NewReader(packed)
	magic, _ := in.Peek(4)
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		unpacked, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("compressed with gzip: %w", err)
		}
		return &bounded{in: unpacked, packed: packed}, nil
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return nil, errors.New("compressed with zstd, which is not read yet; unpack it with `zstd -d`")
	}
	return in, nil
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

// A bounded reader unpacks until that is out of proportion.
type bounded struct {
	in     io.Reader
	packed *counter
	n      int64
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.in.Read(p)
	b.n += int64(n)
	if b.n > minBomb && b.n > maxRatio*b.packed.n {
		return 0, fmt.Errorf("%w: %d bytes out of %d compressed ones", ErrTooLarge, b.n, b.packed.n)
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return n, errors.New("the compressed file is cut short")
	case err != nil && !errors.Is(err, io.EOF):
		return n, fmt.Errorf("compressed with gzip: %w", err)
	}
	return n, err
}
