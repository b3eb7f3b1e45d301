package envfile

import (
	"bytes"
	"slices"
	"strings"
)

// An Assignment is a setting in a file as one of the readers parses it.
type Assignment struct {
	Name  string
	Value string
	Line  int // where it begins, from 1
	// Start and End bound its bytes: whole lines with their newlines.
	Start, End int
	// Ignored: its name is invalid ("export X"), so the reader warns and goes on.
	Ignored bool
}

// A Comment is one line, or several if the line ends in a backslash.
type Comment struct {
	Text       string
	Line       int
	Start, End int
}

// File is a file as systemd reads it.
type File struct {
	Assignments []Assignment
	Comments    []Comment
}

// Last returns the assignment to a name that takes effect, or nil.
func (f File) Last(name string) *Assignment { return last(f.Assignments, name) }

func last(all []Assignment, name string) *Assignment {
	for i := range slices.Backward(all) {
		if all[i].Name == name && !all[i].Ignored {
			return &all[i]
		}
	}
	return nil
}

// Line returns line n, counted from 1, without its end.
func Line(text []byte, n int) string {
	lines := bytes.Split(text, []byte("\n"))
	if n < 1 || n > len(lines) {
		return ""
	}
	return strings.TrimRight(string(lines[n-1]), "\r")
}

// Systemd parses a text as EnvironmentFile= does. Set long for systemd up to 253, where a comment that ends in a
// backslash continues on the next line.
func Systemd(text []byte, long bool) File {
	r := systemdReader{text: string(text), line: 1, long: long}
	for r.pos < len(r.text) {
		r.entry()
	}
	return r.file
}

type systemdReader struct {
	text string
	pos  int
	line int // of pos
	long bool
	file File
}

func newline(c byte) bool { return c == '\n' || c == '\r' }
func blank(c byte) bool   { return c == ' ' || c == '\t' || newline(c) }

// next consumes a byte.
func (r *systemdReader) next() byte {
	c := r.text[r.pos]
	r.pos++
	if c == '\n' {
		r.line++
	}
	return c
}

func (r *systemdReader) more() bool { return r.pos < len(r.text) }

// entry reads a comment, an assignment or a line that is neither.
func (r *systemdReader) entry() {
	for r.more() && blank(r.text[r.pos]) {
		r.next()
	}
	if !r.more() {
		return
	}
	line := r.line
	start := strings.LastIndexByte(r.text[:r.pos], '\n') + 1
	if c := r.text[r.pos]; c == '#' || c == ';' {
		begin := r.pos
		r.comment()
		r.file.Comments = append(r.file.Comments, Comment{
			Text: strings.TrimRight(r.text[begin:r.pos], "\r\n"), Line: line, Start: start, End: r.lineEnd(),
		})
		return
	}
	begin, end := r.pos, r.pos
	for {
		if !r.more() {
			return
		}
		c := r.next()
		if newline(c) {
			return
		}
		if c == '=' {
			break
		}
		end = r.pos
	}
	name := strings.TrimRight(r.text[begin:end], " \t")
	value := r.value()
	r.file.Assignments = append(r.file.Assignments, Assignment{
		Name: name, Value: value, Line: line, Start: start, End: r.lineEnd(), Ignored: !isName(name),
	})
}

// lineEnd returns pos, after the "\n" that follows a "\r".
func (r *systemdReader) lineEnd() int {
	if r.more() && r.pos > 0 && r.text[r.pos-1] == '\r' && r.text[r.pos] == '\n' {
		r.next()
	}
	return r.pos
}

func (r *systemdReader) comment() {
	escaped := false
	for r.more() {
		c := r.next()
		switch {
		case newline(c) && !(escaped && r.long):
			return
		case escaped:
			escaped = false
		default:
			escaped = c == '\\'
		}
	}
}

// value reads what follows "=", to the end of its last line.
func (r *systemdReader) value() string {
	var b []byte
	for r.more() {
		// Pieces may be quoted until the first bare character; blanks between them are dropped.
		switch c := r.next(); {
		case newline(c):
			return string(b)
		case c == '\'':
			for r.more() && r.text[r.pos] != '\'' {
				b = append(b, r.next())
			}
			if r.more() {
				r.next()
			}
		case c == '"':
			b = r.double(b)
		case blank(c):
		default:
			r.pos--
			return r.bare(b)
		}
	}
	return string(b)
}

// double reads up to the closing quote.
func (r *systemdReader) double(b []byte) []byte {
	for r.more() {
		c := r.next()
		if c == '"' {
			break
		}
		if c != '\\' || !r.more() {
			b = append(b, c)
			continue
		}
		switch c := r.next(); {
		case strings.IndexByte("\"\\`$", c) >= 0:
			b = append(b, c)
		case c != '\n':
			b = append(b, '\\', c)
		}
	}
	return b
}

// bare reads to the end of the line, including quotes, and drops trailing blanks.
func (r *systemdReader) bare(b []byte) string {
	keep := len(b)
	for r.more() {
		c := r.next()
		if c == '\\' && r.more() {
			if c := r.next(); !newline(c) {
				b = append(b, c)
			}
			keep = len(b)
			continue
		}
		if newline(c) {
			break
		}
		b = append(b, c)
		if !blank(c) {
			keep = len(b)
		}
	}
	return string(b[:keep])
}

func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// Words splits a value as systemd does if it is a word of its own in a unit's command, systemd.service(5): at blanks,
// respecting and removing quotes.
func Words(value string) []string {
	var words []string
	var word []byte
	in, quote, escaped := false, byte(0), false
	for i := range len(value) {
		c := value[i]
		switch {
		case escaped:
			word, escaped = append(word, c), false
		case c == '\\':
			in, escaped = true, true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word = append(word, c)
		case c == '\'' || c == '"':
			in, quote = true, c
		case blank(c):
			if in {
				words = append(words, string(word))
			}
			in, word = false, nil
		default:
			in, word = true, append(word, c)
		}
	}
	if in {
		words = append(words, string(word))
	}
	return words
}

// Quote quotes a value so that systemd and a shell read it alike.
func Quote(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`").Replace(value) + `"`
}

// Replace replaces text[start:end], whole lines, by other lines. These and the text before them end in a newline.
func Replace(text []byte, start, end int, lines string) []byte {
	var b []byte
	b = append(b, text[:start]...)
	if lines != "" {
		if len(b) > 0 && b[len(b)-1] != '\n' {
			b = append(b, '\n')
		}
		b = append(b, strings.TrimRight(lines, "\n")...)
		b = append(b, '\n')
	}
	return append(b, text[end:]...)
}
