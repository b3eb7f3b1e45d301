package ovsdb

import (
	"cmp"
	"encoding/hex"
	"slices"
)

// A table locates the texts of its rows, each an object of the columns without their default value.
type table struct {
	rows    map[rowID]place
	changed map[rowID]map[string]datum // changes by later transactions, which override the texts
}

func newTable() *table { return &table{map[rowID]place{}, map[rowID]map[string]datum{}} }

func (t *table) has(id rowID) bool {
	if t == nil {
		return false
	}
	_, ok := t.rows[id]
	return ok
}

// set overrides a column.
func (t *table) set(id rowID, column string, d datum) {
	if t.changed[id] == nil {
		t.changed[id] = map[string]datum{}
	}
	t.changed[id][column] = d
}

func (t *table) delete(id rowID) {
	delete(t.rows, id)
	delete(t.changed, id)
}

// A rowText locates the text of a row.
type rowText struct {
	id rowID
	place
}

// texts returns the texts of all rows, in file order.
func (t *table) texts() []rowText {
	if t == nil {
		return nil
	}
	all := make([]rowText, 0, len(t.rows))
	for id, p := range t.rows {
		all = append(all, rowText{id, p})
	}
	slices.SortFunc(all, func(a, b rowText) int { return cmp.Compare(a.at, b.at) })
	return all
}

// A rowID is a UUID in binary. It sorts like the UUID.
type rowID [16]byte

// id returns the bytes of a UUID; false if it is malformed.
func (u UUID) id() (id rowID, ok bool) { return parseRowID([]byte(u)) }

func parseRowID(text []byte) (id rowID, ok bool) {
	if !validUUID(string(text)) {
		return id, false
	}
	n := 0
	for _, part := range uuidParts {
		m, _ := hex.Decode(id[n:], text[part[0]:part[1]])
		n += m
	}
	return id, true
}

// uuidParts are the bounds of the digit groups in a UUID's text.
var uuidParts = [][2]int{{0, 8}, {9, 13}, {14, 18}, {19, 23}, {24, 36}}

// UUID returns the text form.
func (id rowID) UUID() UUID {
	text := []byte("00000000-0000-0000-0000-000000000000")
	n := 0
	for _, part := range uuidParts {
		digits := part[1] - part[0]
		hex.Encode(text[part[0]:], id[n:n+digits/2])
		n += digits / 2
	}
	return UUID(text)
}
