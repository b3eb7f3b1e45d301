package ovsdb

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"

	"github.com/ovnctl/ovnctl/pkg/decompress"
)

// inMemory is the maximum size of a file or stream kept in memory; of a larger one, rows are read again on
// demand.
const inMemory = 8 << 20

// texts are the rows' texts, for random access: those of a file and, from madeAt on, those in no file.
type texts struct {
	file io.ReaderAt
	made spool

	closer io.Closer // of the file; nil if there is nothing to close
}

// madeAt is beyond the end of any file.
const madeAt = int64(maxFile) * 2

// A place is where a text is. The sum detects a file that has changed since it was checked.
type place struct {
	at     int64
	length uint32
	sum    uint32
}

var sums = crc32.MakeTable(crc32.Castagnoli)

func newPlace(at int64, text []byte) (place, error) {
	if int64(len(text)) > math.MaxUint32 {
		return place{}, ErrTooLarge
	}
	return place{at, uint32(len(text)), crc32.Checksum(text, sums)}, nil
}

func (p place) end() int64 { return p.at + int64(p.length) }

// add stores a text that is in no file.
func (t *texts) add(text []byte) (place, error) {
	p, err := newPlace(madeAt+t.made.size, text)
	if err == nil {
		_, err = t.made.Write(text)
	}
	return p, err
}

// ReadAt reads bytes known to exist: EOF means that the file has shrunk.
func (t *texts) ReadAt(b []byte, at int64) (n int, err error) {
	if at >= madeAt {
		return t.made.ReadAt(b, at-madeAt)
	}
	n, err = t.file.ReadAt(b, at)
	if errors.Is(err, io.EOF) && n < len(b) {
		err = errChanged
	}
	if n == len(b) {
		err = nil
	}
	return n, err
}

// read returns one text.
func (t *texts) read(p place) ([]byte, error) {
	text := make([]byte, p.length)
	if _, err := t.ReadAt(text, p.at); err != nil {
		return nil, err
	}
	return p.sound(text)
}

// sound returns the text read from the place if its checksum matches.
func (p place) sound(text []byte) ([]byte, error) {
	if crc32.Checksum(text, sums) != p.sum {
		return nil, errChanged
	}
	return text, nil
}

var errChanged = errors.New("the file has changed since it was opened: try again, or with a copy of it")

const (
	// most is the maximum size of one read for several texts.
	most = 256 << 10
	// gap is the maximum gap between two texts read together.
	gap = 4 << 10
)

// each calls visit for rows in the order of their places; a text is valid until visit returns.
func (t *texts) each(rows []rowText, visit func(id rowID, text []byte) error) error {
	var b []byte
	for len(rows) > 0 {
		at, end := rows[0].at, rows[0].end()
		n := 1
		for n < len(rows) && rows[n].at-end <= gap && rows[n].end()-at <= most {
			end = rows[n].end()
			n++
		}
		b = slices.Grow(b[:0], int(end-at))[:end-at]
		if _, err := t.ReadAt(b, at); err != nil {
			return err
		}
		for _, r := range rows[:n] {
			text, err := r.sound(b[r.at-at : r.end()-at])
			if err == nil {
				err = visit(r.id, text)
			}
			if err != nil {
				return err
			}
		}
		rows = rows[n:]
	}
	return nil
}

// noTexts returns texts for a snapshot without a file.
func noTexts() *texts { return &texts{made: spool{keep: inMemory}} }

func (t *texts) close() error {
	err := t.made.close()
	if t.closer != nil {
		err = errors.Join(err, t.closer.Close())
	}
	return err
}

// A spool keeps up to keep bytes in memory, and moves to a temporary file beyond that.
type spool struct {
	keep  int64
	size  int64
	start []byte
	file  *decompress.File
}

func (s *spool) Write(b []byte) (n int, err error) {
	switch {
	case s.file != nil:
		n, err = s.file.WriteAt(b, s.size)
	case s.size+int64(len(b)) <= s.keep:
		s.start = append(s.start, b...)
		n = len(b)
	default:
		if s.file, err = decompress.Spool(); err != nil {
			return 0, err
		}
		if _, err = s.file.WriteAt(s.start, 0); err == nil {
			s.start = nil
			n, err = s.file.WriteAt(b, s.size)
		}
	}
	s.size += int64(n)
	return n, err
}

// reserve makes room in memory for so many bytes more, if they may be kept there.
func (s *spool) reserve(n int64) {
	if s.file == nil && s.size+n <= s.keep {
		s.start = slices.Grow(s.start, int(n))
	}
}

func (s *spool) ReadAt(b []byte, at int64) (int, error) {
	if s.file != nil {
		return s.file.ReadAt(b, at)
	}
	return bytes.NewReader(s.start).ReadAt(b, at)
}

func (s *spool) close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// source makes r a file of texts, and returns it for reading from the start. Input that has no random access,
// is compressed, or is small enough to keep, is copied.
func source(r io.Reader, keep int64) (*texts, io.Reader, error) {
	closer, _ := r.(io.Closer)
	if file := inPlace(r, keep); file != nil {
		return &texts{file: file, made: spool{keep: keep}, closer: closer}, io.NewSectionReader(file, 0, file.Size()), nil
	}
	copied := &spool{keep: keep}
	t := &texts{file: copied, made: spool{keep: keep}, closer: closerFunc(copied.close)}
	in, err := decompress.NewReader(io.LimitReader(r, maxFile), unpacking)
	var broken error
	if err == nil {
		broken, err = copied.take(io.LimitReader(in, maxFile))
	}
	if closer != nil {
		_ = closer.Close() // only read, and to the end
	}
	if err != nil {
		_ = t.close()
		return nil, nil, err
	}
	whole := io.NewSectionReader(copied, 0, copied.size)
	if broken == nil {
		return t, whole, nil
	}
	return t, io.MultiReader(whole, failing{broken}), nil
}

type closerFunc func() error

func (f closerFunc) Close() error { return f() }

// A failing reader returns the error with which a stream broke off.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// take copies all of r. A failure of r is not an error: what came before is kept.
func (s *spool) take(r io.Reader) (broken, err error) {
	b := make([]byte, 64<<10)
	for {
		n, broken := r.Read(b)
		if _, err := s.Write(b[:n]); err != nil {
			return nil, fmt.Errorf("cannot unpack it into a temporary file: %w (TMPDIR names a directory with more room)", err)
		}
		if errors.Is(broken, io.EOF) {
			return nil, nil
		}
		if broken != nil {
			return broken, nil
		}
	}
}

// inPlace returns the rest of r if that is a plain file too large to keep, else nil.
func inPlace(r io.Reader, keep int64) *io.SectionReader {
	at, ok := r.(interface {
		io.ReaderAt
		io.Seeker
	})
	if !ok {
		return nil
	}
	start, err := at.Seek(0, io.SeekCurrent)
	if err != nil { // a pipe
		return nil
	}
	end, err := at.Seek(0, io.SeekEnd)
	if _, back := at.Seek(start, io.SeekStart); err != nil || back != nil {
		return nil
	}
	file := io.NewSectionReader(at, start, min(end-start, maxFile))
	magic := make([]byte, decompress.Magic)
	if n, _ := file.ReadAt(magic, 0); file.Size() <= keep || decompress.Packed(magic[:n]) {
		return nil
	}
	return file
}
