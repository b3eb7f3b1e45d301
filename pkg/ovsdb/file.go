package ovsdb

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/decompress"
)

// maxFile bounds what is read of one file or dump, in bytes.
const maxFile = 4 << 30

// unpacking bounds the size of an unpacked file: the checksum and UUID in each record keep a real one from
// compressing further.
var unpacking = decompress.Limit{Free: 64 << 20, Ratio: 200}

// OpenFile reads a database file, ovsdb(5): standalone (including the output of `ovsdb-client backup`) or of a
// cluster member; either may be compressed with gzip, zstd, xz or bzip2. From a clustered file it takes what
// the file knows to be committed; Notice reports the rest. A truncated or damaged file gives what came before
// the damage; see Damage. If that is no row at all, it is an error.
func OpenFile(path string) (*Snapshot, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return ParseFile(path, f)
}

// ParseFile is OpenFile for an open file; origin names it in messages. It takes ownership of r: rows of a
// large file are read from r on demand, and r is closed, if possible, at once or with the snapshot.
func ParseFile(origin string, r io.Reader) (*Snapshot, error) {
	s, err := parseFile(r, inMemory)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", origin, err)
	}
	s.origin = origin
	return s, nil
}

// parseFile parses a file, keeping up to keep bytes of it in memory.
func parseFile(r io.Reader, keep int64) (*Snapshot, error) {
	file, in, err := source(r, keep)
	if err != nil {
		return nil, err
	}
	s := &Snapshot{texts: file, tables: map[string]*table{}}
	if err := s.parse(in); err != nil {
		_ = s.Close()
		return nil, err
	}
	return s, nil
}

// parse parses the records of a file, which also go into the snapshot's texts.
func (s *Snapshot) parse(in io.Reader) error {
	f := &fileReader{in: bufio.NewReaderSize(in, piece)}
	first, err := f.next()
	if errors.Is(err, io.EOF) {
		err = errors.New("the file is empty")
	}
	if err != nil {
		return err
	}
	record, end := s.record, func() error { return nil }
	if f.magic == clustered {
		log := &raftLog{snap: s}
		if err := f.read(first, log.header); err != nil {
			return err
		}
		record, end = log.record, log.end
	} else if err := f.read(first, s.declare); err != nil {
		return err
	}
	err = f.each(record)
	if endErr := end(); err == nil {
		err = endErr
	}
	if err != nil && s.empty() {
		return fmt.Errorf("no rows: %w", err)
	}
	if err != nil {
		s.damage = err.Error() + "; only what came before it was read"
	}
	if s.schema == nil {
		return errors.New("the file holds no schema yet; read the file of another member of the cluster")
	}
	return nil
}

// The magic words of the two kinds of files.
const (
	standalone = "JSON"
	clustered  = "CLUSTER"
)

// A logRecord is a record of a log, ovsdb(5) "Log File Format", without its text.
type logRecord struct {
	at, length int64  // of the text
	sum        string // SHA-1, in hexadecimal
}

// use parses a record's text, and returns a function to apply it once the checksum matches.
type use func(r logRecord, in *scanner) (apply func() error, err error)

// A fileReader reads the records of a log, ovsdb(5) "Log File Format".
type fileReader struct {
	in    *bufio.Reader
	at    int64  // bytes read so far
	start int64  // of the record last read by next
	count int    // records started
	magic string // of the first record
	b     []byte // buffer for record text
}

// each reads all records of the log.
func (f *fileReader) each(use use) error {
	for {
		r, err := f.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = f.read(r, use)
		}
		if err != nil {
			return fmt.Errorf("record %d at byte %d: %w", f.count, f.start, err)
		}
	}
}

// maxHeader bounds the line before a record.
const maxHeader = 200

// next reads the line before a record; it returns io.EOF at the end of the log.
func (f *fileReader) next() (r logRecord, err error) {
	f.start = f.at
	header, err := f.header()
	if err != nil {
		return r, err
	}
	f.count++
	fields := strings.Fields(header)
	if len(fields) != 4 || fields[0] != "OVSDB" {
		return r, fmt.Errorf("not an OVSDB record (%.40q)", header)
	}
	if fields[1] != standalone && fields[1] != clustered || f.count > 1 && fields[1] != f.magic {
		return r, fmt.Errorf("unknown kind of record %.20q", fields[1])
	}
	f.magic = fields[1]
	r = logRecord{at: f.at, sum: fields[3]}
	r.length, err = strconv.ParseInt(fields[2], 10, 64)
	if err != nil || r.length < 0 || r.length > maxFile {
		return r, fmt.Errorf("length %.20q of the record: %w", fields[2], ErrTooLarge)
	}
	return r, nil
}

func (f *fileReader) header() (string, error) {
	var line []byte
	for {
		c, err := f.in.ReadByte()
		if err != nil {
			if errors.Is(err, io.EOF) && len(bytes.TrimSpace(line)) > 0 {
				return "", errors.New("cut short in the line before a record")
			}
			return "", err
		}
		f.at++
		if c == '\n' {
			return string(line), nil
		}
		if line = append(line, c); len(line) > maxHeader {
			return "", fmt.Errorf("not an OVSDB record (%.40q)", line)
		}
	}
}

// read reads the text of the record found by next.
func (f *fileReader) read(r logRecord, use use) error {
	f.at += r.length
	return r.read(f.in, &f.b, use)
}

// read passes the text of a record to use; b is a buffer to reuse. The length is only a claim: memory grows
// with the actual data.
func (r logRecord) read(text io.Reader, b *[]byte, use use) error {
	t := &recordText{in: text, left: r.length, hash: sha1.New()}
	in := &scanner{b: (*b)[:0], in: t}
	apply, err := use(r, in)
	if *b = in.b; cap(*b) > 16*piece { // for one large row
		*b = nil
	}
	_, _ = io.Copy(io.Discard, t) // the hash covers everything
	switch {
	case t.err != nil:
		return t.err
	case t.left > 0:
		return fmt.Errorf("cut short: %d of %d bytes", r.length-t.left, r.length)
	case !strings.EqualFold(hex.EncodeToString(t.hash.Sum(nil)), r.sum):
		return errors.New("damaged: the checksum does not match")
	case err != nil:
		return err
	}
	return apply()
}

// A recordText reads the rest of a record's text and hashes it.
type recordText struct {
	in   io.Reader
	left int64
	hash hash.Hash
	err  error
}

func (t *recordText) Read(b []byte) (int, error) {
	if t.left == 0 || t.err != nil {
		return 0, io.EOF
	}
	n, err := t.in.Read(b[:min(int64(len(b)), t.left)])
	t.left -= int64(n)
	t.hash.Write(b[:n])
	if err != nil && !errors.Is(err, io.EOF) {
		t.err = err
	}
	return n, err
}

// declare parses the schema, the first record of a standalone file.
func (s *Snapshot) declare(_ logRecord, in *scanner) (func() error, error) {
	declared, err := in.schema()
	if err == nil {
		err = in.end()
	}
	return func() error { s.schema = declared; return nil }, err
}

// record parses any other record of a standalone file.
func (s *Snapshot) record(r logRecord, in *scanner) (func() error, error) {
	t, err := s.transaction(in, r.at)
	if err == nil {
		err = in.end()
	}
	return func() error { return s.commit(t) }, err
}
