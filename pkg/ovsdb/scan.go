package ovsdb

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

var errSyntax = errors.New("malformed JSON")

// A scanner walks JSON text once, without building a tree: rows go from the
// server's reply straight into structs. Nothing in it recurses on the input,
// so that a hostile depth costs nothing.
type scanner struct {
	b []byte
	i int
	// seen, if not nil, holds short strings met before, which are then not
	// allocated again: rows repeat names, keys and stages by the thousand.
	seen map[string]string
}

// seen is bounded in number and length of the strings.
const (
	maxSeen       = 4096
	maxSeenLength = 40
)

func (s *scanner) fail(want string) error {
	if s.i >= len(s.b) {
		return fmt.Errorf("%w: want %s at the end", errSyntax, want)
	}
	return fmt.Errorf("%w: want %s at byte %d, found %q", errSyntax, want, s.i, s.b[s.i])
}

// peek returns the first byte of the next token, 0 at the end.
func (s *scanner) peek() byte {
	for ; s.i < len(s.b); s.i++ {
		switch s.b[s.i] {
		case ' ', '\t', '\n', '\r':
		default:
			return s.b[s.i]
		}
	}
	return 0
}

func (s *scanner) take(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.i++
	return true
}

func (s *scanner) end() error {
	if s.peek() != 0 || s.i < len(s.b) {
		return s.fail("the end")
	}
	return nil
}

// rawString returns what stands between the quotes and whether it holds escapes.
func (s *scanner) rawString() (raw []byte, escaped bool, err error) {
	if !s.take('"') {
		return nil, false, s.fail("a string")
	}
	start := s.i
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case '"':
			raw = s.b[start:s.i]
			s.i++
			return raw, escaped, nil
		case '\\':
			escaped = true
			s.i++
		}
		s.i++
	}
	s.i = len(s.b)
	return nil, false, s.fail("the end of a string")
}

func (s *scanner) str() (string, error) {
	start := s.i
	raw, escaped, err := s.rawString()
	if err != nil {
		return "", err
	}
	if escaped {
		var text string
		if err := json.Unmarshal(bytes.TrimSpace(s.b[start:s.i]), &text); err != nil {
			return "", fmt.Errorf("%w: bad string: %w", errSyntax, err)
		}
		return text, nil
	}
	if !utf8.Valid(raw) {
		return strings.ToValidUTF8(string(raw), "\uFFFD"), nil
	}
	if s.seen == nil || len(raw) > maxSeenLength {
		return string(raw), nil
	}
	if text, ok := s.seen[string(raw)]; ok {
		return text, nil
	}
	text := string(raw)
	if len(s.seen) < maxSeen {
		s.seen[text] = text
	}
	return text, nil
}

// key is str for the names of columns: those in names cost no allocation.
func (s *scanner) key(names map[string]string) (string, error) {
	start := s.i
	raw, escaped, err := s.rawString()
	if err != nil {
		return "", err
	}
	if name, ok := names[string(raw)]; ok && !escaped {
		return name, nil
	}
	s.i = start
	return s.str()
}

// word returns the next number, true, false or null as text.
func (s *scanner) word() []byte {
	s.peek()
	start := s.i
	for ; s.i < len(s.b); s.i++ {
		c := s.b[s.i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && c != '-' && c != '+' && c != '.' && c != 'E' {
			break
		}
	}
	return s.b[start:s.i]
}

func (s *scanner) integer() (int64, error) {
	start := s.i
	w := s.word()
	n, err := strconv.ParseInt(string(w), 10, 64)
	if err == nil {
		return n, nil
	}
	// The C library prints large numbers as reals, such as 1e+15.
	if f, ferr := strconv.ParseFloat(string(w), 64); ferr == nil && f == float64(int64(f)) && f < 1<<62 && f > -1<<62 {
		return int64(f), nil
	}
	s.i = start
	return 0, s.fail("an integer")
}

func (s *scanner) real() (float64, error) {
	start := s.i
	f, err := strconv.ParseFloat(string(s.word()), 64)
	if err != nil {
		s.i = start
		return 0, s.fail("a number")
	}
	return f, nil
}

func (s *scanner) boolean() (bool, error) {
	start := s.i
	switch string(s.word()) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	s.i = start
	return false, s.fail("true or false")
}

// skip passes over one value of any kind.
func (s *scanner) skip() error {
	depth := 0
	for {
		switch s.peek() {
		case 0:
			return s.fail("a value")
		case '"':
			if _, _, err := s.rawString(); err != nil {
				return err
			}
		case '{', '[':
			depth++
			s.i++
			continue
		case '}', ']':
			if depth == 0 {
				return s.fail("a value")
			}
			depth--
			s.i++
		case ',', ':':
			if depth == 0 {
				return s.fail("a value")
			}
			s.i++
			continue
		default:
			if len(s.word()) == 0 {
				return s.fail("a value")
			}
		}
		if depth == 0 {
			return nil
		}
	}
}

// raw returns the text of the next value.
func (s *scanner) raw() ([]byte, error) {
	s.peek()
	start := s.i
	if err := s.skip(); err != nil {
		return nil, err
	}
	return s.b[start:s.i], nil
}

// object calls member after each key; member must consume the value.
func (s *scanner) object(names map[string]string, member func(key string) error) error {
	if !s.take('{') {
		return s.fail("an object")
	}
	if s.take('}') {
		return nil
	}
	for {
		key, err := s.key(names)
		if err != nil {
			return err
		}
		if !s.take(':') {
			return s.fail("a colon")
		}
		if err := member(key); err != nil {
			return err
		}
		if s.take('}') {
			return nil
		}
		if !s.take(',') {
			return s.fail("a comma")
		}
	}
}

// array calls element before each element; element must consume it.
func (s *scanner) array(element func() error) error {
	if !s.take('[') {
		return s.fail("an array")
	}
	if s.take(']') {
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		if s.take(']') {
			return nil
		}
		if !s.take(',') {
			return s.fail("a comma")
		}
	}
}

// tagged consumes `["set",`, `["map",` or `["uuid",` and leaves the scanner at
// what follows; at anything else it moves nothing and returns false.
func (s *scanner) tagged(tag string) bool {
	start := s.i
	if s.take('[') {
		if raw, escaped, err := s.rawString(); err == nil && !escaped && string(raw) == tag && s.take(',') {
			return true
		}
	}
	s.i = start
	return false
}

func (s *scanner) closeTag() error {
	if !s.take(']') {
		return s.fail("a closing bracket")
	}
	return nil
}
