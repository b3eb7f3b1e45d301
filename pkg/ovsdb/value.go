package ovsdb

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// UUID identifies a row, in its lower-case text form. A new row is referred to within its own transaction by
// Named.
type UUID string

// Named returns a reference to the row that the same transaction inserts under that uuid-name.
func Named(name string) UUID { return UUID(namedPrefix + name) }

// No text form of a UUID holds an @.
const namedPrefix = "@"

// A Set is a column with any number of values. Optional columns are sets, too: empty means absent, which
// differs from the zero value.
type Set[T string | int | bool | float64 | UUID] []T

// Has reports whether v is among the values.
func (s Set[T]) Has(v T) bool { return slices.Contains(s, v) }

// Get returns the first value, or the zero value of an empty set.
func (s Set[T]) Get() T {
	var v T
	if len(s) > 0 {
		v = s[0]
	}
	return v
}

func (s *scanner) uuid() (UUID, error) {
	if !s.tagged("uuid") {
		return "", s.fail(`["uuid", …]`)
	}
	start := s.i
	raw, escaped, err := s.rawString()
	if escaped {
		s.i = start
		var text string
		text, err = s.str()
		raw = []byte(text)
	}
	if err != nil {
		return "", err
	}
	valid, capital := isUUID(raw)
	if !valid {
		s.i = start
		return "", s.fail("a UUID")
	}
	if capital {
		raw = bytes.ToLower(raw)
	}
	return UUID(s.seen.text(raw)), s.closeTag()
}

func validUUID(text string) bool {
	valid, _ := isUUID(text)
	return valid
}

// isUUID reports whether text is a UUID, and whether some of its digits are capitals.
func isUUID[T string | []byte](text T) (valid, capital bool) {
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return false, false
	}
	all, wrong := byte(0), 0
	for i := range len(text) {
		kind := hexDigit[text[i]]
		all |= kind
		if kind == 0 {
			wrong++
		}
	}
	return wrong == 4, all&2 != 0
}

// hexDigit is 1 for the digits of a number to the base of 16, 2 for its capitals.
var hexDigit = [256]byte{
	'0': 1, '1': 1, '2': 1, '3': 1, '4': 1, '5': 1, '6': 1, '7': 1, '8': 1, '9': 1,
	'a': 1, 'b': 1, 'c': 1, 'd': 1, 'e': 1, 'f': 1, 'A': 2, 'B': 2, 'C': 2, 'D': 2, 'E': 2, 'F': 2,
}

func (s *scanner) int() (int, error) {
	n, err := s.integer()
	return int(n), err
}

// scanSet parses a set, or the bare element that stands for a set of one.
func scanSet[T string | int | bool | float64 | UUID](s *scanner, dst *Set[T], atom func() (T, error)) error {
	*dst = nil
	if !s.tagged("set") {
		v, err := atom()
		if err != nil {
			return err
		}
		*dst = Set[T]{v}
		return nil
	}
	err := s.array(func() error {
		v, err := atom()
		*dst = append(*dst, v)
		return err
	})
	if err != nil {
		return err
	}
	return s.closeTag()
}

// scanOne parses a scalar. A release may have made the column optional: no value is then the zero value, and
// more than one an error.
func scanOne[T any](s *scanner, dst *T, atom func() (T, error)) error {
	var zero T
	*dst = zero
	var err error
	if !s.tagged("set") {
		*dst, err = atom()
		return err
	}
	n := 0
	err = s.array(func() error {
		if n++; n > 1 {
			return fmt.Errorf("want one value, found more")
		}
		var err error
		*dst, err = atom()
		return err
	})
	if err != nil {
		return err
	}
	return s.closeTag()
}

func scanMap[K, V string | int | UUID](s *scanner, dst *map[K]V, key func() (K, error), value func() (V, error)) error {
	*dst = nil
	if !s.tagged("map") {
		return s.fail("a map")
	}
	err := s.array(func() error {
		if !s.take('[') {
			return s.fail("a pair")
		}
		k, err := key()
		if err != nil {
			return err
		}
		if !s.take(',') {
			return s.fail("a comma")
		}
		v, err := value()
		if err != nil {
			return err
		}
		if *dst == nil {
			*dst = map[K]V{}
		}
		(*dst)[k] = v
		return s.closeTag()
	})
	if err != nil {
		return err
	}
	return s.closeTag()
}

// scanInto parses the value of one column into the field at dst.
func scanInto(s *scanner, dst any) error {
	switch dst := dst.(type) {
	case *string:
		return scanOne(s, dst, s.str)
	case *int:
		return scanOne(s, dst, s.int)
	case *bool:
		return scanOne(s, dst, s.boolean)
	case *float64:
		return scanOne(s, dst, s.real)
	case *UUID:
		return scanOne(s, dst, s.uuid)
	case *Set[string]:
		return scanSet(s, dst, s.str)
	case *Set[int]:
		return scanSet(s, dst, s.int)
	case *Set[bool]:
		return scanSet(s, dst, s.boolean)
	case *Set[float64]:
		return scanSet(s, dst, s.real)
	case *Set[UUID]:
		return scanSet(s, dst, s.uuid)
	case *map[string]string:
		return scanMap(s, dst, s.str, s.str)
	case *map[string]int:
		return scanMap(s, dst, s.str, s.int)
	case *map[string]UUID:
		return scanMap(s, dst, s.str, s.uuid)
	case *map[int]string:
		return scanMap(s, dst, s.int, s.str)
	case *map[int]int:
		return scanMap(s, dst, s.int, s.int)
	case *map[int]UUID:
		return scanMap(s, dst, s.int, s.uuid)
	}
	return fmt.Errorf("no column fits a field of type %T", dst)
}

// wire returns v as a value that encoding/json writes in OVSDB's notation.
func wire(v any) (any, error) {
	switch v := v.(type) {
	case UUID:
		if name, ok := strings.CutPrefix(string(v), namedPrefix); ok {
			return []any{"named-uuid", name}, nil
		}
		return []any{"uuid", string(v)}, nil
	case string, int, bool, float64, int64, Value:
		return v, nil
	}
	rv := reflect.ValueOf(v)
	switch rv.Kind() {
	case reflect.Slice:
		elems := make([]any, rv.Len())
		for i := range elems {
			var err error
			if elems[i], err = wire(rv.Index(i).Interface()); err != nil {
				return nil, err
			}
		}
		return []any{"set", elems}, nil
	case reflect.Map:
		pairs := make([]any, 0, rv.Len())
		for it := rv.MapRange(); it.Next(); {
			key, err := wire(it.Key().Interface())
			if err != nil {
				return nil, err
			}
			value, err := wire(it.Value().Interface())
			if err != nil {
				return nil, err
			}
			pairs = append(pairs, [2]any{key, value})
		}
		return []any{"map", pairs}, nil
	}
	return nil, fmt.Errorf("a column cannot hold a %T", v)
}

// wireRow is wire for the columns of a row.
func wireRow(row map[string]any) (map[string]any, error) {
	out := make(map[string]any, len(row))
	for _, column := range slices.Sorted(maps.Keys(row)) {
		v, err := wire(row[column])
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", column, err)
		}
		out[column] = v
	}
	return out, nil
}
