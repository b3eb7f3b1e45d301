package ovsdb

import (
	"fmt"
	"strings"
	"sync"
)

// schema is a database's schema: its tables and their columns.
type schema struct {
	Name    string
	Version string
	Tables  map[string]*tableSchema
}

type tableSchema struct {
	Columns map[string]*columnSchema
	IsRoot  bool

	naming sync.Once
	named  map[string]string
}

// names returns the column names, for scanner.key.
func (t *tableSchema) names() map[string]string {
	t.naming.Do(func() {
		t.named = make(map[string]string, len(t.Columns))
		for name := range t.Columns {
			t.named[name] = name
		}
	})
	return t.named
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

// composite reports whether the column can hold more than one value; changes to such columns are recorded as
// differences, others as the new value.
func (c *columnSchema) composite() bool { return c.value != "" || c.max > 1 }

// optional reports whether the column is a "set" or "map" that can be empty.
func (c *columnSchema) optional(kind string) bool {
	return c.min == 0 && (c.value != "") == (kind == "map")
}

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

// rooted returns which tables are in the root set: all, in an old schema that marks none.
func (s *schema) rooted() func(table string) bool {
	marked := map[string]bool{}
	for name, t := range s.Tables {
		if t.IsRoot {
			marked[name] = true
		}
	}
	return func(table string) bool { return len(marked) == 0 || marked[table] }
}

// parseSchema parses the schema of a server or a file, RFC 7047 section 3.2. Every command waits for it for
// each database it opens, so unused parts are skipped.
func parseSchema(data []byte) (*schema, error) {
	s := &schema{Tables: map[string]*tableSchema{}}
	in := &scanner{b: data, seen: internText(len(data))}
	err := in.object(nil, func(key string) (err error) {
		switch key {
		case "name":
			s.Name, err = in.str()
		case "version":
			s.Version, err = in.str()
		case "tables":
			return in.object(nil, func(name string) (err error) {
				if err := identifier(name); err != nil {
					return err
				}
				if s.Tables[name], err = in.table(); err != nil {
					return fmt.Errorf("table %s: %w", name, err)
				}
				return nil
			})
		default:
			return in.skip()
		}
		return err
	})
	if err == nil {
		err = in.end()
	}
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	if identifier(s.Name) != nil || len(s.Tables) == 0 {
		return nil, fmt.Errorf("schema: no name or no tables")
	}
	return s, nil
}

// identifier refuses what is not the name of a table or column, RFC 7047 section 3.1; it stands in messages.
func identifier(name string) error {
	other := func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}
	if name == "" || len(name) > 200 || strings.ContainsFunc(name, other) {
		return fmt.Errorf("%.40q is not the name of a table or column", name)
	}
	return nil
}

// schema parses a schema that is part of a larger text.
func (s *scanner) schema() (*schema, error) {
	text, err := s.raw()
	if err != nil {
		return nil, err
	}
	return parseSchema(text)
}

// table parses a table's schema.
func (s *scanner) table() (*tableSchema, error) {
	t := &tableSchema{Columns: map[string]*columnSchema{}}
	return t, s.object(nil, func(key string) (err error) {
		switch key {
		case "columns":
			return s.object(nil, func(name string) (err error) {
				if err := identifier(name); err != nil {
					return err
				}
				if t.Columns[name], err = s.column(); err != nil {
					return fmt.Errorf("column %s: %w", name, err)
				}
				return nil
			})
		case "isRoot":
			t.IsRoot, err = s.boolean()
			return err
		}
		return s.skip()
	})
}

// column parses a column's schema.
func (s *scanner) column() (*columnSchema, error) {
	c := &columnSchema{min: 1, max: 1}
	return c, s.object(nil, func(key string) (err error) {
		switch key {
		case "type":
			return s.columnType(c)
		case "ephemeral":
			c.ephemeral, err = s.boolean()
			return err
		}
		return s.skip()
	})
}

func (s *scanner) columnType(c *columnSchema) (err error) {
	if s.peek() == '"' {
		c.key, err = s.str()
		return err
	}
	return s.object(nil, func(key string) (err error) {
		switch key {
		case "key":
			c.key, c.keyRef, err = s.baseType()
		case "value":
			c.value, c.valueRef, err = s.baseType()
		case "min":
			c.min, err = s.count()
		case "max":
			c.max, err = s.count()
		default:
			return s.skip()
		}
		return err
	})
}

// baseType parses the name of an atomic type and what it refers to; restrictions are left to the server.
func (s *scanner) baseType() (name string, refers reference, err error) {
	if s.peek() == '"' {
		name, err = s.str()
		return name, refers, err
	}
	err = s.object(nil, func(key string) (err error) {
		switch key {
		case "type":
			name, err = s.str()
		case "refTable":
			refers.table, err = s.str()
		case "refType":
			var strength string
			strength, err = s.str()
			refers.weak = strength == "weak"
		default:
			return s.skip()
		}
		return err
	})
	return name, refers, err
}

// count parses a column's minimum or maximum number of values.
func (s *scanner) count() (int, error) {
	if s.peek() != '"' {
		n, err := s.integer()
		return int(n), err
	}
	word, err := s.str()
	if err == nil && word != "unlimited" {
		err = fmt.Errorf("%q is not a number of values", word)
	}
	return unlimited, err
}
