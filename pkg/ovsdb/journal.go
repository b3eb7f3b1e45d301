package ovsdb

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// A Journal writes a database as it changes, as ovsdb-server does: a standalone file, ovsdb(5), that begins with the
// schema and all rows and goes on with a transaction for each Batch. Cut off after any record, the file is the database
// as of then.
type Journal struct {
	// Hide, if not nil, replaces what is secret in the text of a row.
	Hide func(row string) string
}

// The comments of records: people see them with ovsdb-tool show-log.
const (
	wholeComment   = "all rows, by ovnctl"
	changesComment = "changes, by ovnctl"
	aliveComment   = "no change, by ovnctl"
)

// recordSize is about how many bytes of rows a record has: a reader holds one at a time.
const recordSize = 1 << 20

// Everything returns what Feed.Start is asked for to get all columns of all tables that the schema has.
func Everything(schemaText []byte) ([]Lookup, error) {
	declared, err := parseSchema(schemaText)
	if err != nil {
		return nil, err
	}
	var all []Lookup
	for _, table := range slices.Sorted(maps.Keys(declared.Tables)) {
		all = append(all, Lookup{Table: table, Columns: slices.Sorted(maps.Keys(declared.Tables[table].Columns))})
	}
	return all, nil
}

// Begin writes the schema and the rows of a Batch that is Whole.
func (j *Journal) Begin(w io.Writer, date time.Time, schemaText []byte, rows []byte) error {
	if err := beginFile(w, schemaText); err != nil {
		return err
	}
	return j.records(w, date, wholeComment, rows)
}

// beginFile writes a schema whose columns are all kept in the file.
func beginFile(w io.Writer, schemaText []byte) error {
	declared, err := KeepAll(schemaText)
	if err != nil {
		return err
	}
	return writeRecord(w, declared)
}

// Add writes the changes of a Batch as one transaction.
func (j *Journal) Add(w io.Writer, date time.Time, rows []byte) error {
	return j.records(w, date, changesComment, rows)
}

// Alive writes that nothing has changed until a time.
func (j *Journal) Alive(w io.Writer, date time.Time) error {
	return transactionOf(date, aliveComment).write(w)
}

// records writes rows in the notation of update2, of which ovsdb(5) has the same differences. Those of a whole database
// become several transactions.
func (j *Journal) records(w io.Writer, date time.Time, comment string, rows []byte) error {
	diff := comment == changesComment
	begun := false
	t := transactionOf(date, comment)
	t.diff = diff
	in := &scanner{b: rows}
	err := in.object(nil, func(table string) error {
		return in.object(nil, func(text string) error {
			uuid := UUID(strings.ToLower(text))
			if _, ok := uuid.id(); !ok {
				return in.fail("a UUID")
			}
			id := RowID{table, uuid}
			err := in.object(nil, func(how string) error {
				row, err := in.raw()
				if err != nil {
					return err
				}
				switch how {
				case "initial", "insert":
					t.put(id, j.hidden(row))
				case "modify":
					t.put(id, j.hiddenDifference(row))
				case "delete":
					t.remove(id)
				default:
					return in.fail("initial, insert, modify or delete")
				}
				return nil
			})
			if err == nil && !diff && t.size() > recordSize {
				begun, err = true, t.write(w)
				t = transactionOf(date, comment)
			}
			return err
		})
	})
	if err == nil {
		err = in.end()
	}
	if err != nil || begun && len(t.tables) == 0 {
		return err
	}
	return t.write(w)
}

func (j *Journal) hidden(row []byte) []byte {
	if j.Hide == nil {
		return row
	}
	return []byte(j.Hide(string(row)))
}

// hiddenDifference is hidden for the difference of a row. A difference removes the elements that are there already: with a
// secret hidden on both sides it would remove one that was replaced. So it says nothing of secrets in columns of
// several values: they stay as they were in the last state of all rows.
func (j *Journal) hiddenDifference(row []byte) []byte {
	if hidden := j.hidden(row); bytes.Equal(hidden, row) {
		return row
	}
	var columns map[string]json.RawMessage
	if json.Unmarshal(row, &columns) != nil {
		return []byte("{}")
	}
	for name, value := range columns {
		shown := j.shown(name, value)
		var kind string
		var of []json.RawMessage
		if bytes.Equal(shown, value) || elements(value, &kind, &of) != nil {
			columns[name] = shown // a single value: the new one
			continue
		}
		columns[name] = compact([]any{kind, slices.DeleteFunc(of, func(e json.RawMessage) bool {
			alone := compact([]any{kind, []json.RawMessage{e}})
			return !bytes.Equal(j.shown(name, alone), alone)
		})})
	}
	return compact(columns)
}

// shown returns a column's value with its secrets hidden.
func (j *Journal) shown(column string, value json.RawMessage) json.RawMessage {
	var hidden map[string]json.RawMessage
	if json.Unmarshal(j.hidden(compact(map[string]json.RawMessage{column: value})), &hidden) != nil {
		return json.RawMessage(`""`)
	}
	return hidden[column]
}

// compact returns the JSON of what was parsed from JSON, with <, > and & as they are.
func compact(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return json.RawMessage("{}")
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}

// Rewrite writes the rows as the beginning of a Journal of that date, under the schema as a server sends it.
func (s *Snapshot) Rewrite(ctx context.Context, w io.Writer, date time.Time, schemaText []byte) error {
	if err := beginFile(w, schemaText); err != nil {
		return err
	}
	if err := transactionOf(date, wholeComment).write(w); err != nil { // there may be no rows
		return err
	}
	for _, table := range slices.Sorted(maps.Keys(s.tables)) {
		t := transactionOf(date, wholeComment)
		err := s.EachRaw(table, func(row Raw) error {
			t.set(RowID{table, row.UUID()}, row)
			if t.size() < recordSize {
				return nil
			}
			err := t.write(w)
			t = transactionOf(date, wholeComment)
			if err == nil {
				err = context.Cause(ctx)
			}
			return err
		})
		if err == nil && len(t.tables) > 0 {
			err = t.write(w)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
