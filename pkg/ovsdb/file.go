package ovsdb

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

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
	defer f.Close()
	return ParseFile(path, f)
}

// ParseFile is OpenFile for a file that is open already; origin is its name
// in messages.
func ParseFile(origin string, r io.Reader) (*Snapshot, error) {
	s, err := parseFile(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", origin, err)
	}
	s.origin = origin
	return s, nil
}

func parseFile(r io.Reader) (*Snapshot, error) {
	in, err := decompress.NewReader(io.LimitReader(r, maxFile), unpacking)
	if err != nil {
		return nil, err
	}
	f := &fileReader{in: bufio.NewReaderSize(io.LimitReader(in, maxFile), 64<<10)}
	text, err := f.next()
	if errors.Is(err, io.EOF) {
		err = errors.New("the file is empty")
	}
	if err != nil {
		return nil, err
	}
	s := &Snapshot{tables: map[string]map[UUID]*record{}}
	record, end := s.commit, func() error { return nil }
	if f.magic == clustered {
		log, err := newRaftLog(s, text)
		if err != nil {
			return nil, err
		}
		record, end = log.record, log.end
	} else if s.schema, err = parseSchema(text); err != nil {
		return nil, err
	}
	err = f.each(record)
	if endErr := end(); err == nil {
		err = endErr
	}
	if err != nil && s.empty() {
		return nil, fmt.Errorf("no rows: %w", err)
	}
	if err != nil {
		s.damage = err.Error() + "; only what came before it was read"
	}
	if s.schema == nil {
		return nil, errors.New("the file holds no schema yet; read the file of another member of the cluster")
	}
	return s, nil
}

// The magic words of the two kinds of files.
const (
	standalone = "JSON"
	clustered  = "CLUSTER"
)

// A fileReader reads the records of a log, ovsdb(5) "Log File Format".
type fileReader struct {
	in    *bufio.Reader
	at    int64  // bytes read
	start int64  // of the record that next read last
	count int    // records begun
	magic string // of the first record
}

// each calls record for the records up to the end of the log.
func (f *fileReader) each(record func(text []byte) error) error {
	for {
		text, err := f.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = record(text)
		}
		if err != nil {
			return fmt.Errorf("record %d at byte %d: %w", f.count, f.start, err)
		}
	}
}

// maxHeader bounds the line before a record.
const maxHeader = 200

// next returns the JSON text of the next record; io.EOF at the end of the log.
func (f *fileReader) next() ([]byte, error) {
	f.start = f.at
	header, err := f.header()
	if err != nil {
		return nil, err
	}
	f.count++
	fields := strings.Fields(header)
	if len(fields) != 4 || fields[0] != "OVSDB" {
		return nil, fmt.Errorf("not an OVSDB record (%.40q)", header)
	}
	if fields[1] != standalone && fields[1] != clustered || f.count > 1 && fields[1] != f.magic {
		return nil, fmt.Errorf("unknown kind of record %.20q", fields[1])
	}
	f.magic = fields[1]
	length, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil || length < 0 || length > maxFile {
		return nil, fmt.Errorf("length %.20q of the record: %w", fields[2], ErrTooLarge)
	}
	// The length is only a claim: memory grows with what is there.
	var text bytes.Buffer
	n, err := io.CopyN(&text, f.in, length)
	f.at += n
	if errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("cut short: %d of %d bytes", n, length)
	}
	if err != nil {
		return nil, err
	}
	sum := sha1.Sum(text.Bytes())
	if !strings.EqualFold(hex.EncodeToString(sum[:]), fields[3]) {
		return nil, errors.New("damaged: the checksum does not match")
	}
	return text.Bytes(), nil
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

// A change is what a transaction makes of one row; no text deletes it.
type change struct {
	table string
	id    UUID
	text  []byte
}

// commit applies one transaction, or nothing of it.
func (s *Snapshot) commit(text []byte) error {
	var changes []change
	var date int64
	diff := false
	in := scanner{b: text}
	err := in.object(nil, func(key string) (err error) {
		switch {
		case key == "_date":
			date, err = in.integer()
		case key == "_is_diff":
			diff, err = in.boolean()
		case strings.HasPrefix(key, "_"):
			err = in.skip()
		default:
			changes, err = s.changes(&in, key, changes)
		}
		return err
	})
	if err == nil {
		err = in.end()
	}
	if err != nil {
		return err
	}
	for _, c := range changes {
		if err := s.check(c); err != nil {
			return err
		}
	}
	for _, c := range changes {
		s.apply(c, diff)
	}
	if date > 0 {
		s.time = fileTime(date)
	}
	return nil
}

// fileTime reads _date: milliseconds, in files of before 2.? seconds.
func fileTime(date int64) time.Time {
	if date < 1<<32 {
		return time.Unix(date, 0)
	}
	return time.UnixMilli(date)
}

func (s *Snapshot) changes(in *scanner, table string, changes []change) ([]change, error) {
	if s.schema.table(table) == nil {
		return nil, fmt.Errorf("table %q is not in the schema", table)
	}
	err := in.object(nil, func(id string) error {
		if !validUUID(id) {
			return fmt.Errorf("table %s: row %.40q: not a UUID", table, id)
		}
		text, err := in.raw()
		if string(text) == "null" {
			text = nil
		}
		changes = append(changes, change{table, UUID(strings.ToLower(id)), text})
		return err
	})
	return changes, err
}

// check refuses what apply could not make a row of. The values of new rows
// are looked at when they are loaded.
func (s *Snapshot) check(c change) error {
	if c.text == nil {
		return nil
	}
	_, old := s.tables[c.table][c.id]
	names := s.schema.Tables[c.table].names
	in := scanner{b: c.text}
	err := in.object(names, func(column string) error {
		if s.schema.Tables[c.table].Columns[column] == nil {
			return fmt.Errorf("no such column: %q", column)
		}
		if !old {
			return in.skip()
		}
		_, err := in.datum()
		return err
	})
	if err != nil {
		return fmt.Errorf("table %s: row %s: %w", c.table, c.id, err)
	}
	return nil
}

// apply takes a change that check has passed.
func (s *Snapshot) apply(c change, diff bool) {
	rows := s.tables[c.table]
	if rows == nil {
		rows = map[UUID]*record{}
		s.tables[c.table] = rows
	}
	if c.text == nil {
		delete(rows, c.id)
		return
	}
	r := rows[c.id]
	if r == nil {
		rows[c.id] = &record{text: c.text}
		return
	}
	if r.changed == nil {
		r.changed = map[string]datum{}
	}
	in := scanner{b: c.text}
	_ = in.object(nil, func(column string) error {
		d, err := in.datum()
		if err != nil {
			return err
		}
		schema := s.schema.Tables[c.table].Columns[column]
		if diff && schema.composite() {
			old, err := r.column(column, schema)
			if err != nil {
				return err
			}
			old.apply(d)
			d = old
		}
		r.changed[column] = d
		return nil
	})
}
