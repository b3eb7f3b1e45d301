package ovsdb

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

var errSyntax = errors.New("malformed JSON")

// A scanner walks JSON text once without building a tree: rows go from the reply straight into structs. It
// never recurses on the input, so hostile nesting is harmless.
type scanner struct {
	b []byte
	i int
	// in, if not nil, has the rest of a text too large to hold at once.
	in   io.Reader
	gone int64    // bytes released so far
	keep bool     // something refers into b: release nothing
	seen interned // if nil, each string is a new one
}

func (s *scanner) fail(want string) error {
	if s.i >= len(s.b) {
		return fmt.Errorf("%w: want %s at the end", errSyntax, want)
	}
	return fmt.Errorf("%w: want %s at byte %d, found %q", errSyntax, want, s.gone+int64(s.i), s.b[s.i])
}

// piece is how much of a large text is read at a time.
const piece = 64 << 10

// more reads more text behind b; false at the end. Positions in b stay valid.
func (s *scanner) more() bool {
	for s.in != nil {
		n := len(s.b)
		s.b = slices.Grow(s.b, piece)
		read, err := s.in.Read(s.b[n : n+piece])
		s.b = s.b[:n+read]
		if err != nil {
			s.in = nil // which knows of its error
		}
		if read > 0 {
			return true
		}
	}
	return false
}

// release frees the text before the scanner, once that is worth it.
func (s *scanner) release() {
	if s.in == nil || s.keep || s.i < piece {
		return
	}
	s.gone += int64(s.i)
	s.b = s.b[:copy(s.b, s.b[s.i:])]
	s.i = 0
}

// peek returns the first byte of the next token, 0 at the end.
func (s *scanner) peek() byte {
	for ; s.i < len(s.b) || s.more(); s.i++ {
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

// rawString returns the text between the quotes and whether it has escapes.
func (s *scanner) rawString() (raw []byte, escaped bool, err error) {
	if !s.take('"') {
		return nil, false, s.fail("a string")
	}
	start := s.i
	// Most strings hold no escapes: they end at the first quote.
	if n := bytes.IndexByte(s.b[start:], '"'); n >= 0 && bytes.IndexByte(s.b[start:start+n], '\\') < 0 {
		s.i += n + 1
		return s.b[start : start+n], false, nil
	}
	for ; s.i < len(s.b) || s.more(); s.i++ {
		switch s.b[s.i] {
		case '"':
			raw = s.b[start:s.i]
			s.i++
			return raw, escaped, nil
		case '\\':
			escaped = true
			s.i++
		}
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
		if text, ok := unescape(raw); ok {
			return text, nil
		}
		var text string
		if err := json.Unmarshal(bytes.TrimSpace(s.b[start:s.i]), &text); err != nil {
			return "", fmt.Errorf("%w: bad string: %w", errSyntax, err)
		}
		return text, nil
	}
	if !utf8.Valid(raw) {
		return strings.ToValidUTF8(string(raw), "\uFFFD"), nil
	}
	return s.seen.text(raw), nil
}

// unescape returns a string with only one-letter escapes, such as the quotes in logical flows. It is false for
// others, and for malformed ones.
func unescape(raw []byte) (text string, ok bool) {
	if !utf8.Valid(raw) {
		return "", false
	}
	var room [512]byte
	plain := room[:0]
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case c < ' ':
			return "", false
		case c == '\\':
			if i++; i == len(raw) {
				return "", false
			}
			at := strings.IndexByte(`"\/bfnrt`, raw[i])
			if at < 0 {
				return "", false
			}
			c = "\"\\/\b\f\n\r\t"[at]
		}
		plain = append(plain, c)
	}
	return string(plain), true
}

// key is str for column names: those in names cost no allocation.
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
	for ; s.i < len(s.b) || s.more(); s.i++ {
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

// null skips null, if that is next.
func (s *scanner) null() bool {
	s.peek()
	start := s.i
	if string(s.word()) == "null" {
		return true
	}
	s.i = start
	return false
}

// skip skips one value of any kind.
func (s *scanner) skip() error {
	depth := 0
	for {
		s.release()
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
	text, _, err := s.text(s.skip)
	return text, err
}

// text returns the text that value skips, and its offset.
func (s *scanner) text(value func() error) (text []byte, at int64, err error) {
	defer func(kept bool) { s.keep = kept }(s.keep)
	s.keep = true
	s.peek()
	start := s.i
	if err := value(); err != nil {
		return nil, 0, err
	}
	return s.b[start:s.i], s.gone + int64(start), nil
}

// object calls member after each key; member must consume the value.
func (s *scanner) object(names map[string]string, member func(key string) error) error {
	return s.members(func() error {
		key, err := s.key(names)
		if err != nil {
			return err
		}
		if !s.take(':') {
			return s.fail("a colon")
		}
		return member(key)
	})
}

// members calls member before each key of an object; member must consume it, and its value.
func (s *scanner) members(member func() error) error {
	if !s.take('{') {
		return s.fail("an object")
	}
	if s.take('}') {
		return nil
	}
	for {
		if err := member(); err != nil {
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
