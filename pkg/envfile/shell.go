package envfile

import (
	"maps"
	"strings"
)

// shell parses the assignments of a text as sh does when it sources it: quotes, $NAME of earlier assignments (else
// empty), comments, "export". Commands are skipped; a value that would come from one is Ignored.
func shell(text []byte) []Assignment {
	r := shellReader{text: string(text), vars: map[string]string{}}
	for r.pos < len(r.text) {
		r.command()
	}
	return r.found
}

type shellReader struct {
	text   string
	pos    int
	vars   map[string]string
	found  []Assignment
	unsure bool // only a shell knows the word's value
}

func (r *shellReader) more() bool { return r.pos < len(r.text) }

// command reads to the end of a simple command.
func (r *shellReader) command() {
	var pending []Assignment
	ran := false
	vars := maps.Clone(r.vars)
	for r.more() {
		switch c := r.text[r.pos]; {
		case c == '\n' || c == ';' || c == '&' || c == '|':
			r.pos++
			r.assign(pending, vars, ran)
			return
		case c == ' ' || c == '\t' || c == '\r' && strings.HasPrefix(r.text[r.pos:], "\r\n"):
			r.pos++
		case strings.HasPrefix(r.text[r.pos:], "\\\n"):
			r.pos += 2
		case c == '#':
			for r.more() && r.text[r.pos] != '\n' {
				r.pos++
			}
		default:
			if a, ok := r.assignment(ran); ok {
				pending = append(pending, a)
				continue
			}
			start := r.pos
			w := r.word()
			ran = ran || w != "export" && w != "readonly"
			if r.pos == start { // a character that does not begin a word: a bracket, a redirection
				r.pos++
			}
		}
	}
	r.assign(pending, vars, ran)
}

// assignment reads NAME=VALUE if it comes next. After a program's name there is none.
func (r *shellReader) assignment(ran bool) (Assignment, bool) {
	r.unsure = false
	start := r.pos
	name := r.text[start:]
	if i := strings.IndexFunc(name, func(c rune) bool { return !isName("a" + string(c)) }); i >= 0 {
		name = name[:i]
	}
	if ran || !isName(name) || !strings.HasPrefix(r.text[start+len(name):], "=") {
		return Assignment{}, false
	}
	r.pos += len(name) + 1
	value := r.word()
	if !r.unsure {
		r.vars[name] = value
	}
	return Assignment{
		Name: name, Value: value, Line: 1 + strings.Count(r.text[:start], "\n"),
		Start: strings.LastIndexByte(r.text[:start], '\n') + 1, Ignored: r.unsure,
	}, true
}

// assign keeps a command's assignments. Those before a program's name apply to that program only and leave the
// variables as before.
func (r *shellReader) assign(all []Assignment, before map[string]string, ran bool) {
	if ran {
		r.vars = before
		return
	}
	end := len(r.text)
	if i := strings.IndexByte(r.text[r.pos:], '\n'); i >= 0 {
		end = r.pos + i + 1
	}
	if r.pos > 0 && r.text[r.pos-1] == '\n' {
		end = r.pos
	}
	for _, a := range all {
		a.End = end
		r.found = append(r.found, a)
	}
}

// word reads a word and expands it.
func (r *shellReader) word() string {
	var b strings.Builder
	for r.more() {
		switch c := r.text[r.pos]; c {
		case ' ', '\t', '\n', ';', '&', '|', '<', '>', '(', ')':
			return b.String()
		case '\'':
			r.pos++
			end := strings.IndexByte(r.text[r.pos:], '\'')
			if end < 0 {
				r.unsure = true
				end = len(r.text) - r.pos
			}
			b.WriteString(r.text[r.pos : r.pos+end])
			r.pos = min(r.pos+end+1, len(r.text))
		case '"':
			r.pos++
			r.quoted(&b)
		case '\\':
			r.pos++
			if r.more() && r.text[r.pos] != '\n' {
				b.WriteByte(r.text[r.pos])
			}
			r.pos = min(r.pos+1, len(r.text))
		case '$', '`':
			b.WriteString(r.expand())
		case '\r':
			r.pos++
			if !r.more() || r.text[r.pos] != '\n' {
				b.WriteByte(c)
			}
		default:
			b.WriteByte(c)
			r.pos++
		}
	}
	return b.String()
}

func (r *shellReader) quoted(b *strings.Builder) {
	for r.more() {
		switch c := r.text[r.pos]; c {
		case '"':
			r.pos++
			return
		case '$', '`':
			b.WriteString(r.expand())
		case '\\':
			r.pos++
			r.escaped(b)
		default:
			b.WriteByte(c)
			r.pos++
		}
	}
	r.unsure = true // no closing quote
}

// escaped reads what follows a backslash within double quotes.
func (r *shellReader) escaped(b *strings.Builder) {
	if !r.more() {
		return
	}
	c := r.text[r.pos]
	r.pos++
	if c == '\n' {
		return
	}
	if strings.IndexByte("\"\\`$", c) < 0 {
		b.WriteByte('\\')
	}
	b.WriteByte(c)
}

// expand reads what begins with "$" or a backquote.
func (r *shellReader) expand() string {
	if r.text[r.pos] == '`' {
		r.unsure = true
		end := strings.IndexByte(r.text[r.pos+1:], '`')
		r.pos = min(r.pos+end+2, len(r.text))
		if end < 0 {
			r.pos = len(r.text)
		}
		return ""
	}
	r.pos++
	rest := r.text[r.pos:]
	if strings.HasPrefix(rest, "{") {
		end := strings.IndexByte(rest, '}')
		if end < 0 {
			r.unsure = true
			return "$"
		}
		r.pos += end + 1
		if name := rest[1:end]; isName(name) {
			return r.vars[name]
		}
		name, or, ok := strings.Cut(rest[1:end], ":-")
		if ok && isName(name) && !strings.ContainsAny(or, "$`\"'\\") {
			if v := r.vars[name]; v != "" {
				return v
			}
			return or
		}
		r.unsure = true
		return ""
	}
	n := 0
	for n < len(rest) && isName(rest[:n+1]) {
		n++
	}
	if n == 0 {
		if strings.HasPrefix(rest, "(") || rest != "" && strings.IndexByte("@*#?!$-0123456789", rest[0]) >= 0 {
			r.unsure = true
		}
		return "$"
	}
	r.pos += n
	return r.vars[rest[:n]]
}

// LastShell returns the assignment that takes effect in a shell, or nil.
func LastShell(text []byte, name string) *Assignment { return last(shell(text), name) }
