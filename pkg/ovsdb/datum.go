package ovsdb

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// A datum is the value of a column of any type, RFC 7047 section 5.1: canonical element text to map value.
// Values are equal if their data are.
type datum map[string]string

func (s *scanner) datum() (datum, error) {
	d := datum{}
	switch {
	case s.tagged("set"):
		err := s.array(func() error {
			atom, err := s.atom()
			d[atom] = ""
			return err
		})
		if err != nil {
			return nil, err
		}
		return d, s.closeTag()
	case s.tagged("map"):
		err := s.array(func() error {
			if !s.take('[') {
				return s.fail("a pair")
			}
			key, err := s.atom()
			if err != nil {
				return err
			}
			if !s.take(',') {
				return s.fail("a comma")
			}
			if d[key], err = s.atom(); err != nil {
				return err
			}
			return s.closeTag()
		})
		if err != nil {
			return nil, err
		}
		return d, s.closeTag()
	}
	atom, err := s.atom()
	if err != nil {
		return nil, err
	}
	d[atom] = ""
	return d, nil
}

// atom returns the canonical text of an atomic value.
func (s *scanner) atom() (string, error) {
	switch c := s.peek(); {
	case c == '"':
		text, err := s.str()
		if err != nil {
			return "", err
		}
		quoted, err := json.Marshal(text)
		return string(quoted), err
	case c == '[':
		id, err := s.uuid()
		return `["uuid","` + string(id) + `"]`, err
	case c == 't' || c == 'f':
		b, err := s.boolean()
		return strconv.FormatBool(b), err
	}
	start := s.i
	if n, err := s.integer(); err == nil {
		return strconv.FormatInt(n, 10), nil
	}
	s.i = start
	f, err := s.real()
	return strconv.FormatFloat(f, 'g', -1, 64), err
}

func parseDatum(text []byte) (datum, error) {
	s := scanner{b: text}
	d, err := s.datum()
	if err == nil {
		err = s.end()
	}
	return d, err
}

// apply applies a difference to d, see `_is_diff` in ovsdb(5): elements in both are removed, others added; a
// pair with another value replaces the old one.
func (d datum) apply(diff datum) {
	for key, value := range diff {
		if old, ok := d[key]; ok && old == value {
			delete(d, key)
		} else {
			d[key] = value
		}
	}
}

// text returns d in OVSDB's notation, in the server's order.
func (d datum) text(isMap bool) []byte {
	keys := slices.SortedFunc(maps.Keys(d), compareAtoms)
	if !isMap && len(keys) == 1 {
		return []byte(keys[0])
	}
	out := []byte(`["set",[`)
	if isMap {
		out = []byte(`["map",[`)
	}
	for i, key := range keys {
		if i > 0 {
			out = append(out, ',')
		}
		if isMap {
			out = fmt.Appendf(out, "[%s,%s]", key, d[key])
		} else {
			out = append(out, key...)
		}
	}
	return append(out, "]]"...)
}

func compareAtoms(a, b string) int {
	if x, y, ok := numbers(a, b); ok {
		return cmp.Compare(x, y)
	}
	// Without the closing quotes, which would sort as characters.
	return cmp.Compare(a[:len(a)-1], b[:len(b)-1])
}

func numbers(a, b string) (x, y float64, ok bool) {
	x, err1 := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return x, y, err1 == nil && err2 == nil
}

// holds evaluates `column function value`, RFC 7047 section 5.1.
func (d datum) holds(function string, value datum) (bool, error) {
	switch function {
	case "==":
		return maps.Equal(d, value), nil
	case "!=":
		return !maps.Equal(d, value), nil
	case "includes":
		return value.among(d) == len(value), nil
	case "excludes":
		return value.among(d) == 0, nil
	}
	if len(value) != 1 || len(d) > 1 {
		return false, fmt.Errorf("%s compares single numbers only", function)
	}
	// An optional column without a value compares as false.
	for a := range d {
		for b := range value {
			x, y, ok := numbers(a, b)
			if !ok {
				return false, fmt.Errorf("%s compares numbers only", function)
			}
			switch function {
			case "<":
				return x < y, nil
			case "<=":
				return x <= y, nil
			case ">":
				return x > y, nil
			case ">=":
				return x >= y, nil
			}
		}
	}
	return false, nil
}

// among counts the elements of d that other has, too.
func (d datum) among(other datum) int {
	n := 0
	for key, value := range d {
		if v, ok := other[key]; ok && v == value {
			n++
		}
	}
	return n
}
