package ovsdb

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// State returns all rows by table and UUID, with all columns but those that
// lacks names: as text, which is equal where the values are.
func (s *Snapshot) State(lacks func(table, column string) bool) (map[string]string, error) {
	rows := map[string]string{}
	for table, records := range s.tables {
		columns := s.schema.Tables[table].Columns
		for id, r := range records {
			var text strings.Builder
			for _, name := range slices.Sorted(maps.Keys(columns)) {
				if name == "_uuid" || lacks(table, name) {
					continue
				}
				d, err := r.column(name, columns[name])
				if err != nil {
					return nil, fmt.Errorf("%s %s: %w", table, id, err)
				}
				fmt.Fprintf(&text, "%s=%s\n", name, d.text(true))
			}
			rows[table+" "+string(id)] = text.String()
		}
	}
	return rows, nil
}
