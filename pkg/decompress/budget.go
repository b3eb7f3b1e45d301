package decompress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
)

// mostTime is how long one input is unpacked.
const mostTime = 15 * time.Minute

// A Budget bounds the unpacking of one whole input, however often it is packed: what is unpacked at all depths together
// is measured against what was read of the outermost file, and what is kept counts when it is written. It ends with its
// context.
type Budget struct {
	ctx    context.Context
	until  time.Time
	limit  Limit
	bytes  int64 // that may be kept
	items  int64 // that may be met
	outer  int64 // bytes read of the outermost file
	passed int64 // bytes unpacked, at all depths
	kept   int64
	met    int64
}

// NewBudget returns the budget of one input: bytes may be kept of it, and items met in it.
func NewBudget(ctx context.Context, limit Limit, bytes, items int64) *Budget {
	return &Budget{ctx: ctx, until: time.Now().Add(mostTime), limit: limit, bytes: bytes, items: items}
}

// Outer counts the outermost file.
func (b *Budget) Outer(r io.Reader) io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		if err := b.going(); err != nil {
			return 0, err
		}
		n, err := r.Read(p)
		b.outer += int64(n)
		return n, err
	})
}

// Unpack reads r, unpacked if it is compressed, within the budget.
func (b *Budget) Unpack(r io.Reader) (io.Reader, error) {
	in := bufio.NewReaderSize(r, 64<<10)
	magic, _ := in.Peek(Magic)
	f := formatOf(magic)
	if f == nil {
		return in, nil
	}
	unpacked, err := f.open(in)
	if err != nil {
		return nil, fmt.Errorf("compressed with %s: %w", f.name, err)
	}
	return readerFunc(func(p []byte) (int, error) {
		n, err := unpacked.Read(p)
		b.passed += int64(n)
		if over := b.over(b.passed); over != nil {
			return 0, over
		}
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			return n, errors.New("the compressed file is cut short")
		case err != nil && !errors.Is(err, io.EOF):
			return n, fmt.Errorf("compressed with %s: %w", f.name, err)
		}
		return n, err
	}), nil
}

// Keep counts bytes that are about to be written.
func (b *Budget) Keep(n int) error {
	b.kept += int64(n)
	if b.kept > b.bytes {
		return fmt.Errorf("%w: more than %d bytes", ErrTooLarge, b.bytes)
	}
	return b.over(b.kept)
}

// Meet counts an item: a file, directory or link, kept or not, and the bytes of its name.
func (b *Budget) Meet(name int) error {
	b.met += 1 + int64(name)/64
	if b.met > b.items {
		return fmt.Errorf("%w: more than %d entries", ErrTooLarge, b.items)
	}
	return b.going()
}

// over reports an amount that is out of proportion to what was read.
func (b *Budget) over(n int64) error {
	if n > b.limit.Free && n > b.limit.Ratio*b.outer {
		return fmt.Errorf("%w: %d bytes out of %d", ErrTooLarge, n, b.outer)
	}
	return b.going()
}

// going reports why unpacking must end.
func (b *Budget) going() error {
	if err := b.ctx.Err(); err != nil {
		return err
	}
	if time.Now().After(b.until) {
		return fmt.Errorf("%w: it takes longer than %s to unpack", ErrTooLarge, mostTime)
	}
	return nil
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }
