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
	tables map[string]*bytes.Buffer // each table's rows, without the closing bracket
}

func newTransaction() *transaction { return &transaction{map[string]*bytes.Buffer{}} }

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

// remove deletes a row.
func (t *transaction) remove(id RowID) { t.member(id).WriteString("null") }

// write ends the transaction and writes its record.
func (t *transaction) write(w io.Writer) error {
	var text bytes.Buffer
	text.WriteString(`{"_date":` + strconv.FormatInt(time.Now().UnixMilli(), 10) + `,"_comment":"backup by ovnctl"`)
	for _, table := range slices.Sorted(maps.Keys(t.tables)) {
		text.WriteString("," + strconv.Quote(table) + ":")
		text.Write(t.tables[table].Bytes())
		text.WriteByte('}')
	}
	text.WriteString("}\n")
	return writeLine(w, text.Bytes())
}
