package ovsdb

import (
	"encoding/json"
	"fmt"
)

// schema is what a database says of itself: its tables and their columns.
type schema struct {
	Name    string                  `json:"name"`
	Version string                  `json:"version"`
	Tables  map[string]*tableSchema `json:"tables"`
}

type tableSchema struct {
	Columns map[string]*columnSchema `json:"columns"`
	IsRoot  bool                     `json:"isRoot"`
	names   map[string]string        // the columns by themselves, for scanner.key
}

// columnSchema is the type of a column. The key and value are atomic types;
// value is empty unless the column is a map.
type columnSchema struct {
	key, value string
	min, max   int
	ephemeral  bool // lost when the server restarts, and never in a file

	keyRef, valueRef reference // what a UUID refers to
}

// A reference is what a column of UUIDs refers to, if it has a table.
type reference struct {
	table string
	weak  bool
}

const unlimited = int(^uint(0) >> 1)

// composite columns hold more than one value; their changes are recorded as
// differences, those of others by the new value.
func (c *columnSchema) composite() bool { return c.value != "" || c.max > 1 }

func (s *schema) table(name string) *tableSchema {
	if s == nil {
		return nil
	}
	return s.Tables[name]
}

func (s *schema) has(table, column string) bool {
	t := s.table(table)
	if t == nil {
		return false
	}
	return column == "" || column == "_uuid" || t.Columns[column] != nil
}

// rooted returns which tables' rows live without being referred to: all do in
// a schema of old that marks no table so.
func (s *schema) rooted() func(table string) bool {
	marked := map[string]bool{}
	for name, t := range s.Tables {
		if t.IsRoot {
			marked[name] = true
		}
	}
	return func(table string) bool { return len(marked) == 0 || marked[table] }
}

func parseSchema(data []byte) (*schema, error) {
	var s schema
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	if s.Name == "" || len(s.Tables) == 0 {
		return nil, fmt.Errorf("schema: no name or no tables")
	}
	for name, t := range s.Tables {
		if t == nil {
			return nil, fmt.Errorf("schema: table %s: not an object", name)
		}
		t.names = map[string]string{}
		for column, c := range t.Columns {
			if c == nil {
				return nil, fmt.Errorf("schema: table %s: column %s: not an object", name, column)
			}
			t.names[column] = column
		}
	}
	return &s, nil
}

// UnmarshalJSON reads a column's declaration, RFC 7047 section 3.2.
func (c *columnSchema) UnmarshalJSON(data []byte) error {
	var declared struct {
		Type      json.RawMessage `json:"type"`
		Ephemeral bool            `json:"ephemeral"`
	}
	if err := json.Unmarshal(data, &declared); err != nil {
		return err
	}
	c.ephemeral = declared.Ephemeral
	c.min, c.max = 1, 1
	if json.Unmarshal(declared.Type, &c.key) == nil {
		return nil
	}
	var full struct {
		Key   baseType        `json:"key"`
		Value baseType        `json:"value"`
		Min   *int            `json:"min"`
		Max   json.RawMessage `json:"max"`
	}
	if err := json.Unmarshal(declared.Type, &full); err != nil {
		return err
	}
	c.key, c.keyRef = full.Key.name, full.Key.refers
	c.value, c.valueRef = full.Value.name, full.Value.refers
	if full.Min != nil {
		c.min = *full.Min
	}
	switch {
	case string(full.Max) == `"unlimited"`:
		c.max = unlimited
	case len(full.Max) > 0:
		return json.Unmarshal(full.Max, &c.max)
	}
	return nil
}

// A baseType is the name of an atomic type, whose restrictions are the
// server's matter, and what it refers to.
type baseType struct {
	name   string
	refers reference
}

func (b *baseType) UnmarshalJSON(data []byte) error {
	if json.Unmarshal(data, &b.name) == nil {
		return nil
	}
	var full struct {
		Type     string `json:"type"`
		RefTable string `json:"refTable"`
		RefType  string `json:"refType"`
	}
	if err := json.Unmarshal(data, &full); err != nil {
		return err
	}
	b.name = full.Type
	b.refers = reference{full.RefTable, full.RefType == "weak"}
	return nil
}
