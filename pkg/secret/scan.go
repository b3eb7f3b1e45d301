package secret

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ovnctl/ovnctl/pkg/lazy"
)

// A span of a text is a secret. with is what to write instead.
type span struct {
	from, to int
	with     string
}

// find returns the secrets in a text, in order, none within another. nested counts the layers of base64 around the text.
func find(text []byte, nested int) []span {
	var found []span
	found = append(found, named(text)...)
	found = append(found, frames(text)...)
	found = append(found, userinfo(text)...)
	found = append(found, shaped(text, nested)...)
	slices.SortFunc(found, func(a, b span) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) })
	var apart []span
	for _, s := range found {
		switch last := len(apart) - 1; {
		case string(text[s.from:s.to]) == s.with || s.from == s.to:
		case last >= 0 && s.from < apart[last].to:
			apart[last].to = max(apart[last].to, s.to)
		default:
			apart = append(apart, s)
		}
	}
	return apart
}

// marks are all parts of names that may make a value secret, by their first two letters, small.
var marks = lazy.Value[map[[2]byte][][]byte]{Make: func() map[[2]byte][][]byte {
	by := map[[2]byte][][]byte{}
	for _, m := range slices.Concat(within, words, paths) {
		by[[2]byte{m[0], m[1]}] = append(by[[2]byte{m[0], m[1]}], []byte(m))
	}
	return by
}}

// beginsMark says which two bytes may begin a mark: most of a text is passed over by it.
var beginsMark = lazy.Value[*[1 << 16]bool]{Make: func() *[1 << 16]bool {
	begin := new([1 << 16]bool)
	for b := range marks.Get() {
		for _, first := range []byte{b[0], b[0] - 'a' + 'A'} {
			for _, second := range []byte{b[1], b[1] - 'a' + 'A'} {
				begin[int(first)<<8|int(second)] = true
			}
		}
	}
	return begin
}}

// marked returns the length of the mark at the start of text; 0 if there is none.
func marked(text []byte) int {
	for _, m := range marks.Get()[[2]byte{text[0] | 0x20, text[1] | 0x20}] {
		if len(text) >= len(m) && bytes.EqualFold(text[:len(m)], m) {
			return len(m)
		}
	}
	return 0
}

// holdsMark reports whether a mark may be anywhere in text.
func holdsMark(text string) bool {
	begins := beginsMark.Get()
	for i := 0; i+1 < len(text); i++ {
		if text[i] >= utf8.RuneSelf { // it may have a small letter of a mark
			return true
		}
		if begins[int(text[i])<<8|int(text[i+1])] && marked([]byte(text[i:])) > 0 {
			return true
		}
	}
	return false
}

func inName(c byte) bool {
	return letter(c) || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.'
}

// named finds the values of names that make them secret.
func named(text []byte) []span {
	var found []span
	begins := beginsMark.Get()
	for i := 0; i+1 < len(text); i++ {
		if !begins[int(text[i])<<8|int(text[i+1])] {
			continue
		}
		n := marked(text[i:])
		if n == 0 {
			continue
		}
		from, to := i, i+n
		for from > 0 && inName(text[from-1]) {
			from--
		}
		for to < len(text) && inName(text[to]) {
			to++
		}
		name := string(text[from:to])
		if s, ok := valueOf(text, from, to); ok && hides(name, string(text[s.from:s.to])) && !describes(name, text[s.from:s.to]) {
			found = append(found, s)
			to = max(to, s.to)
		}
		i = to - 1
	}
	return found
}

// describes reports whether a value is no secret but a part of a database's schema, or columns that a role may be authorized by.
func describes(name string, value []byte) bool {
	if bytes.HasPrefix(value, []byte(`{"type"`)) || bytes.HasPrefix(value, []byte("{")) && bytes.HasPrefix(bytes.TrimSpace(value[1:]), []byte(`"type"`)) {
		return true
	}
	return name == "authorization" && (bytes.HasPrefix(value, []byte(`["set"`)) || len(value) < shortest && !mixed(value) && !bytes.Contains(value, []byte(" ")))
}

// A scanner reads what follows a name.
type scanner struct {
	text []byte
	at   int
}

func (s *scanner) peek() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

func (s *scanner) has(prefix string) bool { return bytes.HasPrefix(s.text[s.at:], []byte(prefix)) }

func (s *scanner) blanks(lines bool) (some bool) {
	for c := s.peek(); c == ' ' || c == '\t' || lines && (c == '\n' || c == '\r'); c = s.peek() {
		s.at++
		some = true
	}
	return some
}

// quote reads a quotation mark with the backslashes before it; it returns "" if there is none.
func (s *scanner) quote() string {
	end := s.at
	for end < len(s.text) && s.text[end] == '\\' {
		end++
	}
	if end == len(s.text) || s.text[end] != '"' && s.text[end] != '\'' {
		return ""
	}
	q := string(s.text[s.at : end+1])
	s.at = end + 1
	return q
}

// quoteBefore returns the quotation mark that ends at an offset.
func quoteBefore(text []byte, end int) string {
	if end == 0 || text[end-1] != '"' && text[end-1] != '\'' {
		return ""
	}
	from := end - 1
	for from > 0 && text[from-1] == '\\' {
		from--
	}
	return string(text[from:end])
}

// valueOf finds the value of the name at text[from:to].
func valueOf(text []byte, from, to int) (span, bool) {
	s := &scanner{text, to}
	quoted := ""
	if q := quoteBefore(text, from); q != "" && s.has(q) {
		quoted = q
		s.at += len(q)
	}
	if from > 0 && text[from-1] == '<' && s.peek() == '>' { // an element
		s.at++
		end := bytes.IndexAny(text[s.at:], "<\n")
		return span{s.at, s.at + end, Hidden}, end > 0
	}
	blank := s.blanks(false)
	colon := false
	switch {
	case s.has("=="), s.has("=~"), s.has("::"):
		return span{}, false
	case s.has("=>"), s.has(":="):
		s.at += 2
	case s.has("%3D"), s.has("%3d"), s.has("%3A"), s.has("%3a"):
		s.at += 3
	case s.peek() == '=':
		s.at++
	case s.peek() == ':':
		s.at++
		colon = true
	case quoted != "" && s.peek() == ',' && pairs(text, from, quoted):
		s.at++
		s.blanks(true)
		if !s.has(quoted) {
			return span{}, false
		}
	case blank && text[from] == '-' && !s.option(): // --option value
	case blank && quoted == "" && (s.peek() == '"' || s.peek() == '\''): // ipsec.secrets
	default:
		return span{}, false
	}
	s.blanks(quoted != "")
	return s.value(quoted, colon, colon && begins(text, from))
}

// option reports whether an option of a command line begins here: --name, or a dash and one letter. A value may begin with a
// dash, too.
func (s *scanner) option() bool {
	rest := s.text[s.at:]
	if len(rest) < 2 || rest[0] != '-' {
		return false
	}
	return rest[1] == '-' && len(rest) > 2 && letter(rest[2]) || letter(rest[1]) && (len(rest) == 2 || strings.IndexByte(" \t\r\n='\"", rest[2]) >= 0)
}

// pairs reports whether the quoted name at an offset is the first of two in brackets, or an option among arguments: not one of a
// set of two.
func pairs(text []byte, from int, quoted string) bool {
	if text[from] == '-' {
		return true
	}
	before := bytes.TrimRight(text[:from-len(quoted)], " \t\r\n")
	before, ok := bytes.CutSuffix(before, []byte("["))
	return ok && !bytes.HasSuffix(before, []byte("set"+quoted+","))
}

// begins reports whether a name begins its line.
func begins(text []byte, from int) bool {
	before := text[max(0, from-200):from]
	before = before[bytes.LastIndexByte(before, '\n')+1:]
	return len(bytes.Trim(before, " \t-\"'")) == 0
}

// value reads the value at the scanner.
func (s *scanner) value(quoted string, colon, line bool) (span, bool) {
	from := s.at
	if q := s.quote(); q != "" {
		from = s.at
		end := closing(s.text, from, q)
		return span{from, end, Hidden}, end > from && s.text[from] != '\n'
	}
	switch c := s.peek(); {
	case c == 0 || c == '\n' || c == '\r' || c == '\\':
		return span{}, false
	case (c == '|' || c == '>') && line:
		return s.block()
	case quoted != "" && (c == '{' || c == '['):
		end := s.bracket()
		return span{from, end, quoted + Hidden + quoted}, end > from
	}
	end := s.bare(colon)
	switch strings.ToLower(string(s.text[from:end])) {
	case "", "true", "false", "null", "none", "yes", "no":
		return span{}, false
	}
	return span{from, end, quoted + Hidden + quoted}, true
}

// closing returns the offset of the quotation mark that closes a string, or of the end of its line.
func closing(text []byte, from int, q string) int {
	slashes := 0
	for i := from; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\n':
			return i
		case c == '\\':
			slashes++
			continue
		case c == q[len(q)-1] && slashes%(2*len(q)) == len(q)-1:
			return i - slashes + (slashes - (len(q) - 1))
		}
		slashes = 0
	}
	return len(text)
}

// block reads the lines of a block of YAML: those that are indented further than its name.
func (s *scanner) block() (span, bool) {
	line := s.text[:s.at]
	indent := func(l []byte) int { return len(l) - len(bytes.TrimLeft(l, " -")) }
	own := indent(line[bytes.LastIndexByte(line, '\n')+1:])
	at := bytes.IndexByte(s.text[s.at:], '\n')
	if at < 0 {
		return span{}, false
	}
	from := s.at + at + 1
	end := from
	for l := range bytes.Lines(s.text[from:]) {
		if len(bytes.TrimSpace(l)) > 0 && indent(l) <= own {
			break
		}
		end += len(l)
	}
	return span{from, end, strings.Repeat(" ", own+2) + Hidden + "\n"}, end > from
}

// bracket returns the end of the list or object at the scanner.
func (s *scanner) bracket() int {
	depth := 0
	for i := s.at; i < len(s.text); i++ {
		switch s.text[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(s.text)
}

// bare returns the end of a value without quotation marks: where something else begins. After a colon it may have several words.
func (s *scanner) bare(colon bool) int {
	for i := s.at; i < len(s.text); i++ {
		rest := s.text[i+1:]
		switch c := s.text[i]; c {
		case '\n', '\r', '"', '\'':
			return i
		case ' ', '\t':
			if !colon {
				return i
			}
		case '\\':
			if len(rest) > 0 && strings.IndexByte(`nrt"'`, rest[0]) >= 0 {
				return i
			}
		case ',', ';', '&', '<':
			if ends(rest) || assigns(rest) {
				return i
			}
		case '}', ']', ')':
			if ends(rest) {
				return i
			}
		}
	}
	return len(s.text)
}

// ends reports whether nothing of a value can follow.
func ends(rest []byte) bool {
	return len(rest) == 0 || strings.IndexByte(" \t\r\n,;}])\"'\\", rest[0]) >= 0
}

// assigns reports whether another name and value follow.
func assigns(rest []byte) bool {
	n := 0
	for n < len(rest) && inName(rest[n]) {
		n++
	}
	return n > 0 && n < len(rest) && (rest[n] == '=' || rest[n] == ':')
}

// frames finds private keys by the lines around them, also where those are escaped. A key whose end is missing ends where no
// more of it can follow.
func frames(text []byte) []span {
	var found []span
	const begin, end = "-----BEGIN ", "-----END "
	for from := 0; ; {
		at := bytes.Index(text[from:], []byte(begin))
		if at < 0 {
			return found
		}
		at += from
		from = at + len(begin)
		kind, rest, ok := bytes.Cut(text[from:], []byte("-----"))
		if !ok || len(kind) > 60 || !bytes.Contains(kind, []byte("PRIVATE KEY")) {
			continue
		}
		stop := len(text) - len(rest)
		for stop < len(text) && (inName(text[stop]) || bytes.IndexByte([]byte("+/= \t\r\n\\:,"), text[stop]) >= 0) && !bytes.HasPrefix(text[stop:], []byte(end)) {
			stop++
		}
		if tail := text[stop:]; bytes.HasPrefix(tail, []byte(end)) {
			if n := bytes.Index(tail[len(end):], []byte("-----")); n >= 0 {
				stop += len(end) + n + len("-----")
			}
		}
		for stop > from && text[stop-1] == '\\' { // of the quotation mark that follows
			stop--
		}
		found = append(found, span{at, stop, Hidden})
		from = stop
	}
}

// userinfo finds the user parts of URLs.
func userinfo(text []byte) []span {
	var found []span
	for _, mark := range []string{"://", `:\/\/`, "%3A%2F%2F", "%3a%2f%2f"} {
		for from := 0; ; {
			at := bytes.Index(text[from:], []byte(mark))
			if at < 0 {
				break
			}
			from += at + len(mark)
			authority := text[from:]
			if end := bytes.IndexAny(authority, "/?# \t\r\n\"'<>\\,"); end >= 0 {
				authority = authority[:end]
			}
			if end := bytes.LastIndexByte(authority, '@'); end > 0 {
				found = append(found, span{from, from + end, Hidden})
			} else if end := bytes.Index(authority, []byte("%40")); end > 0 {
				found = append(found, span{from, from + end, Hidden})
			}
		}
	}
	return found
}
