package ovsdb

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// ParseInPlace reads a file as if it were too large to be kept in memory.
func ParseInPlace(r io.Reader) (*Snapshot, error) { return parseFile(r, 0) }

// State returns all rows by table and UUID, with all columns but those that
// lacks names: as text, which is equal where the values are.
func (s *Snapshot) State(lacks func(table, column string) bool) (map[string]string, error) {
	rows := map[string]string{}
	for table, t := range s.tables {
		columns := s.schema.Tables[table].Columns
		err := s.texts.each(t.texts(), func(id rowID, row []byte) error {
			r := record{id, row, t.changed[id]}
			var text strings.Builder
			for _, name := range slices.Sorted(maps.Keys(columns)) {
				if name == "_uuid" || lacks(table, name) {
					continue
				}
				d, err := r.column(name, s.schema.Tables[table])
				if err != nil {
					return fmt.Errorf("%s %s: %w", table, id.UUID(), err)
				}
				fmt.Fprintf(&text, "%s=%s\n", name, d.text(true))
			}
			rows[table+" "+string(id.UUID())] = text.String()
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}
