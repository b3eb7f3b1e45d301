package record

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/ovnctl/ovnctl/pkg/decompress"
)

// Limits for the file of a database: those of database files everywhere.
var (
	unpacking = decompress.Limit{Free: 64 << 20, Ratio: 200}
	maxLog    = int64(4 << 30)
)

// An entry is a transaction in the file of a database.
type entry struct {
	time time.Time
	same bool   // it only says that nothing has changed
	end  int64  // of its record, unpacked
	text []byte // of the transaction; nil if it is not wanted or too large
}

// mostText bounds the text of one transaction that is looked into.
const mostText = 16 << 20

// errCut reports that a file ends within a record, as it does if the recorder was killed.
var errCut = errors.New("cut short")

// scan calls visit for each sound transaction of a file, in order, until visit returns false. A file that ends with part of
// a record has all before it, and errCut; a damaged one likewise, with another error.
func scan(r io.Reader, texts bool, visit func(entry) bool) error {
	unpacked, err := decompress.NewReader(r, unpacking)
	if err != nil {
		return err
	}
	in := bufio.NewReaderSize(io.LimitReader(unpacked, maxLog), 256<<10)
	var at int64
	for n := 0; ; n++ {
		line, err := in.ReadSlice('\n')
		switch {
		case errors.Is(err, io.EOF) && len(line) == 0:
			return nil
		case errors.Is(err, io.EOF):
			return errCut
		case err != nil:
			return fmt.Errorf("byte %d: %w", at, err)
		}
		at += int64(len(line))
		length, sum, ok := header(string(line))
		if !ok {
			if len(bytes.Trim(line, "\x00\n")) == 0 { // blocks that the file system had promised, and no more
				return errCut
			}
			return fmt.Errorf("byte %d: not a record of a database", at)
		}
		e := entry{end: at + length}
		hash := sha1.New()
		const peeked = 128
		head, _ := in.Peek(int(min(length, peeked)))
		date, ok := dateOf(head)
		var text io.Writer = io.Discard
		var kept bytes.Buffer
		if texts && length <= mostText {
			text = &kept
		}
		if copied, err := io.Copy(io.MultiWriter(hash, text), io.LimitReader(in, length)); err != nil || copied < length {
			if err == nil || errors.Is(err, io.ErrUnexpectedEOF) {
				err = errCut
			}
			return err
		}
		if hex.EncodeToString(hash.Sum(nil)) != sum {
			if _, err := in.Peek(1); errors.Is(err, io.EOF) {
				return errCut
			}
			return fmt.Errorf("byte %d: the checksum does not match", at)
		}
		at = e.end
		if n == 0 { // the schema
			continue
		}
		if !ok {
			return fmt.Errorf("byte %d: a transaction without a time", at)
		}
		e.time, e.text = date, kept.Bytes()
		e.same = length <= peeked && bytes.Count(head, []byte("{")) == 1 // no table
		if !visit(e) {
			return nil
		}
	}
}

// header parses the line before a record.
func header(line string) (length int64, sum string, ok bool) {
	fields := strings.Fields(line)
	if len(fields) != 4 || fields[0] != "OVSDB" || fields[1] != "JSON" {
		return 0, "", false
	}
	length, err := strconv.ParseInt(fields[2], 10, 64)
	return length, strings.ToLower(fields[3]), err == nil && length >= 0 && length <= maxLog
}

// dateOf returns the time of a transaction, which is its first member.
func dateOf(head []byte) (time.Time, bool) {
	rest, ok := bytes.CutPrefix(head, []byte(`{"_date":`))
	digits := bytes.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if !ok || digits <= 0 {
		return time.Time{}, false
	}
	ms, err := strconv.ParseInt(string(rest[:digits]), 10, 64)
	return time.UnixMilli(ms), err == nil && ms < 1<<45 // a year that time.Time can print
}

// tables returns how many rows of each table a transaction changes.
func (e entry) tables() map[string]int {
	var members map[string]json.RawMessage
	if json.Unmarshal(e.text, &members) != nil {
		return nil
	}
	counts := map[string]int{}
	for name, text := range members {
		var rows map[string]json.RawMessage
		if !strings.HasPrefix(name, "_") && json.Unmarshal(text, &rows) == nil {
			counts[name] = len(rows)
		}
	}
	return counts
}
