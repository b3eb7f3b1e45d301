package ovsdb

import (
	"bytes"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"
)

// A RowID names a row of a database.
type RowID struct {
	Table string
	UUID  UUID
}

// A transaction is the text of a record of a standalone file, ovsdb(5) "Standalone Format", under
// construction.
type transaction struct {
	date    time.Time
	comment string
	diff    bool                     // new values of columns with several are differences
	tables  map[string]*bytes.Buffer // each table's rows, without the closing bracket
}

func newTransaction() *transaction {
	return transactionOf(time.Now(), "backup by ovnctl")
}

func transactionOf(date time.Time, comment string) *transaction {
	return &transaction{date: date, comment: comment, tables: map[string]*bytes.Buffer{}}
}

// size returns the length of the rows.
func (t *transaction) size() (n int) {
	for _, rows := range t.tables {
		n += rows.Len()
	}
	return n
}

// member starts a row.
func (t *transaction) member(id RowID) *bytes.Buffer {
	b := t.tables[id.Table]
	if b == nil {
		b = bytes.NewBufferString("{")
		t.tables[id.Table] = b
	} else {
		b.WriteByte(',')
	}
	b.WriteString(strconv.Quote(string(id.UUID)))
	b.WriteByte(':')
	return b
}

// set writes a new row, or new values of an existing one.
func (t *transaction) set(id RowID, row Raw) {
	b := t.member(id)
	separator := byte('{')
	for _, column := range slices.Sorted(maps.Keys(row)) {
		if column == "_uuid" {
			continue
		}
		b.WriteByte(separator)
		b.WriteString(strconv.Quote(column))
		b.WriteByte(':')
		b.WriteString(string(row[column]))
		separator = ','
	}
	if separator == '{' {
		b.WriteByte('{')
	}
	b.WriteByte('}')
}

// put writes a row in the notation of the file.
func (t *transaction) put(id RowID, row []byte) { t.member(id).Write(row) }

// remove deletes a row.
func (t *transaction) remove(id RowID) { t.member(id).WriteString("null") }

// write ends the transaction and writes its record.
func (t *transaction) write(w io.Writer) error {
	var text bytes.Buffer
	text.WriteString(`{"_date":` + strconv.FormatInt(t.date.UnixMilli(), 10) + `,"_comment":` + strconv.Quote(t.comment))
	if t.diff {
		text.WriteString(`,"_is_diff":true`)
	}
	for _, table := range slices.Sorted(maps.Keys(t.tables)) {
		text.WriteString("," + strconv.Quote(table) + ":")
		text.Write(t.tables[table].Bytes())
		text.WriteByte('}')
	}
	text.WriteString("}\n")
	return writeLine(w, text.Bytes())
}
