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

// unpacking bounds what a compressed file becomes: the checksum and the UUID in
// each record keep a real one from shrinking further.
var unpacking = decompress.Limit{Free: 64 << 20, Ratio: 200}

// OpenFile reads a database file, ovsdb(5): a standalone one, also as
// `ovsdb-client backup` writes it, or that of a member of a cluster; either may
// be compressed with gzip, zstd, xz or bzip2. Of a clustered file it takes what the file knows to
// be committed, and Notice says what is beyond. A file cut short or damaged gives
// what came before, and Damage says so; when that is no row at all, it is an error.
func OpenFile(path string) (*Snapshot, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return ParseFile(path, f)
}

// ParseFile is OpenFile for a file that is open already; origin is its name
// in messages. It takes r over: rows of a large file are read from it when they are
// asked for, and it is closed, if it can be, at once or with the snapshot.
func ParseFile(origin string, r io.Reader) (*Snapshot, error) {
	s, err := parseFile(r, inMemory)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", origin, err)
	}
	s.origin = origin
	return s, nil
}

// parseFile reads a file, and keeps one of that size in memory.
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

// parse takes the records of a file, which are in the snapshot's texts, too.
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

// use makes something of a record's text, and returns what to do once the text has
// proved to be sound.
type use func(r logRecord, in *scanner) (apply func() error, err error)

// A fileReader reads the records of a log, ovsdb(5) "Log File Format".
type fileReader struct {
	in    *bufio.Reader
	at    int64  // bytes read
	start int64  // of the record that next read last
	count int    // records begun
	magic string // of the first record
	b     []byte // for the text of records
}

// each reads the records up to the end of the log.
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

// next reads the line before a record; io.EOF at the end of the log.
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

// read reads the text of the record that next has come to.
func (f *fileReader) read(r logRecord, use use) error {
	f.at += r.length
	return r.read(f.in, &f.b, use)
}

// read gives use the text of a record; b is memory that may be used for it. The
// length is only a claim: memory grows with what is there.
func (r logRecord) read(text io.Reader, b *[]byte, use use) error {
	t := &recordText{in: text, left: r.length, hash: sha1.New()}
	in := &scanner{b: (*b)[:0], in: t}
	apply, err := use(r, in)
	if *b = in.b; cap(*b) > 16*piece { // for one large row
		*b = nil
	}
	_, _ = io.Copy(io.Discard, t) // the hash is of all
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

// A recordText is what is left of a record's text, and the hash of what was read.
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

// declare takes the schema, the first record of a standalone file.
func (s *Snapshot) declare(_ logRecord, in *scanner) (func() error, error) {
	declared, err := in.schema()
	if err == nil {
		err = in.end()
	}
	return func() error { s.schema = declared; return nil }, err
}

// record takes any other record of a standalone file.
func (s *Snapshot) record(r logRecord, in *scanner) (func() error, error) {
	t, err := s.transaction(in, r.at)
	if err == nil {
		err = in.end()
	}
	return func() error { return s.commit(t) }, err
}
