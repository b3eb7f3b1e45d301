package text

import "strings"

// A form is the notation of a key and its value.
type form uint8

const (
	assigned form = iota // key=value
	written              // set_field:VALUE->key, load:VALUE->key[lo..hi]
	acted                // key:value
	called               // key(value)
	now                  // key[lo..hi] is now VALUE, in a trace
	spaced               // key value
)

// A token is a key and its value in a line.
type token struct {
	form       form
	key, value string
	lo, bits   int // the bits of key that the value covers, if not all: lowest and count
	start, end int // offsets of the token in the line
	depth      int // number of enclosing parentheses
}

// scan appends the tokens of a line. It visits each byte a bounded number of times, whatever the line holds.
func scan(line string, tokens []token) []token {
	depth := 0
	for i := 0; i < len(line); {
		c := line[i]
		switch {
		case c == '(' || c == '{':
			depth++
			i++
		case c == ')' || c == '}':
			depth = max(depth-1, 0)
			i++
		case c == '"':
			i = quoted(line, i)
		case !letter(c) && !digit(c):
			i++
		default:
			start := i
			for i++; i < len(line) && (letter(line[i]) || digit(line[i])); i++ {
			}
			t := token{key: line[start:i], start: start, depth: depth}
			if i == len(line) || digit(c) || !t.read(line, i) { // no word starts with a digit
				continue
			}
			tokens = append(tokens, t)
			if t.form != called {
				i = t.end
			}
		}
	}
	return tokens
}

// read reads what follows the key, which ends at i. It reports whether that is a value.
func (t *token) read(line string, i int) bool {
	switch line[i] {
	case '=':
		t.form, t.value, t.end = assigned, "", i+1
		if t.key == "actions" || i+1 < len(line) && (line[i+1] == '(' || line[i+1] == '{') {
			return true // a list follows
		}
		t.end = valueEnd(line, i+1)
		t.value = line[i+1 : t.end]
	case ':':
		t.form, t.value, t.end = acted, "", i+1
		if t.key == "actions" || i+1 < len(line) && line[i+1] == ' ' {
			return true
		}
		t.end = valueEnd(line, i+1)
		t.value = line[i+1 : t.end]
		if t.key == "set_field" || t.key == "load" {
			return t.writes()
		}
	case '(':
		end := strings.IndexAny(line[i+1:], "(){}")
		if end < 0 || line[i+1+end] != ')' {
			return false
		}
		t.form, t.end = called, i+1+end+1
		t.value = line[i+1 : t.end-1]
	case '[':
		n := t.span(line[i:])
		rest, ok := strings.CutPrefix(line[i+n:], " is now ")
		if n == 0 || !ok {
			return false
		}
		at := len(line) - len(rest)
		t.form, t.end = now, valueEnd(line, at)
		t.value = line[at:t.end]
	case ' ':
		switch t.key {
		case "table", "cookie", "priority", "vni":
		default:
			return false
		}
		if i+1 >= len(line) || !digit(line[i+1]) {
			return false
		}
		t.form, t.end = spaced, valueEnd(line, i+1)
		t.value = strings.TrimRight(line[i+1:t.end], ".:")
		t.end = i + 1 + len(t.value)
	default:
		return false
	}
	return true
}

// writes turns set_field:VALUE->key into the key it writes.
func (t *token) writes() bool {
	i := strings.LastIndex(t.value, "->")
	if i < 0 {
		return false
	}
	key := t.value[i+2:]
	t.form, t.value = written, t.value[:i]
	if b := strings.IndexByte(key, '['); b >= 0 {
		if t.key = key; t.span(key[b:]) == 0 {
			return false
		}
		key = key[:b]
	}
	t.key = key
	return true
}

// span parses "[a..b]", "[a]" or "[]" and returns its length, 0 if invalid.
func (t *token) span(s string) int {
	end := strings.IndexByte(s[:min(len(s), 16)], ']')
	if end < 0 {
		return 0
	}
	first, last, several := strings.Cut(s[1:end], "..")
	if first == "" {
		return end + 1
	}
	if !several {
		last = first
	}
	lo, ok1 := number(first)
	hi, ok2 := number(last)
	if !ok1 || !ok2 || hi < lo || hi > 1<<10 {
		return 0
	}
	t.lo, t.bits = int(lo), int(hi-lo)+1
	return end + 1
}

// valueEnd returns the end of the value that begins at i.
func valueEnd(line string, i int) int {
	for i < len(line) {
		switch line[i] {
		case ',', ' ', '\t', ')', '}', '(', '{':
			return i
		case '"':
			i = quoted(line, i)
			continue
		}
		i++
	}
	return i
}

// maxQuoted limits a quoted name, and thus how often a byte is visited.
const maxQuoted = 1 << 10

// quoted returns the offset after the quoted string that begins at i; an unterminated one does not count.
func quoted(line string, i int) int {
	for j := i + 1; j < min(len(line), i+maxQuoted); j++ {
		switch line[j] {
		case '\\':
			j++
		case '"':
			return j + 1
		}
	}
	return i + 1
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }

// number parses a 64-bit number, decimal or hexadecimal with 0x.
func number(s string) (uint64, bool) {
	if hex, ok := strings.CutPrefix(s, "0x"); ok {
		return digits(hex, 16)
	}
	return digits(s, 10)
}

func digits(s string, base uint64) (n uint64, ok bool) {
	if s == "" || len(s) > 19 || base == 16 && len(s) > 16 {
		return 0, false
	}
	for _, c := range []byte(s) {
		d := uint64(c - '0')
		if d > 9 {
			if d = uint64(c|0x20-'a') + 10; c|0x20 < 'a' || d >= base {
				return 0, false
			}
		}
		n = n*base + d
	}
	return n, true
}
