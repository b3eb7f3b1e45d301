package anonymize

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/pattern"
	"github.com/ovnctl/ovnctl/pkg/secret"
)

// A frame is an object or array around a place in JSON.
type frame struct {
	object bool
	key    string // of an object: the key before the place
	index  int    // of an array
	first  string // its first element, if a string
}

// A place is where a string of JSON is.
type place struct {
	frames []frame
	isKey  bool
}

func (p *place) top() *frame {
	if len(p.frames) == 0 {
		return &frame{}
	}
	return &p.frames[len(p.frames)-1]
}

// keys returns the keys of the objects around the place, without the array of a clustered database's record.
func (p *place) keys() []string {
	var path []string
	for i := range p.frames {
		if f := &p.frames[i]; f.object && (i < len(p.frames)-1 || !p.isKey) {
			path = append(path, f.key)
		}
	}
	if len(path) > 0 && (path[0] == "data" || path[0] == "prev_data") {
		path = path[1:]
	}
	return path
}

// strings calls with for each string of JSON and appends the JSON with what it returns. The rest, numbers and signs, stays; text
// that is no JSON is one more string.
func (r *Redactor) strings(out, in []byte, with func(p *place, s string) string) []byte {
	p := &place{}
	for i := 0; i < len(in); {
		switch c := in[i]; c {
		case '{', '[':
			p.frames = append(p.frames, frame{object: c == '{'})
			p.isKey = c == '{'
		case '}', ']':
			if len(p.frames) > 0 {
				p.frames = p.frames[:len(p.frames)-1]
			}
			p.isKey = false
		case ':':
			p.isKey = false
		case ',':
			p.isKey = p.top().object
			p.top().index++
		case '"':
			end := stringEnd(in, i)
			var s string
			if json.Unmarshal(in[i:end], &s) != nil {
				return r.text(out, in[i:], names)
			}
			shown := with(p, s)
			if top := p.top(); p.isKey {
				top.key = s
			} else if !top.object && top.index == 0 {
				top.first = s
			}
			out = quote(out, shown)
			i = end
			continue
		default:
			if n := literal(in[i:]); n > 0 {
				out = append(out, in[i:i+n]...)
				i += n
				continue
			}
			return r.text(out, in[i:], names) // this is no JSON
		}
		out = append(out, in[i])
		i++
	}
	return out
}

func stringEnd(in []byte, from int) int {
	for i := from + 1; i < len(in); i++ {
		switch in[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(in)
}

// quote appends a string as JSON, with <, > and & unescaped as OVSDB has them.
func quote(out []byte, s string) []byte {
	if !strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c == '"' || c == '\\' || c > '~' }) {
		return append(append(append(out, '"'), s...), '"')
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string can be encoded
	return append(out, bytes.TrimRight(b.Bytes(), "\n")...)
}

var literals = pattern.New(`^(?:[ \t\r\n]+|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null)`)

func literal(in []byte) int {
	at := literals.Get().FindIndex(in[:min(len(in), 400)])
	if at == nil {
		return 0
	}
	return at[1]
}

// as returns a string replaced.
func (r *Redactor) as(s string, m mode) string {
	if s == "" {
		return s
	}
	return string(r.text(nil, secret.Text([]byte(s)), m))
}

var isUUID = pattern.New(`^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// record returns a database file's record, replaced: rows, {TABLE: {UUID: {COLUMN: VALUE}}}, or a schema or other header.
func (r *Redactor) record(text []byte) []byte {
	if len(bytes.TrimSpace(text)) > 0 && bytes.TrimSpace(text)[0] != '{' {
		return r.text(nil, secret.Text(text), names)
	}
	return r.strings(nil, text, func(p *place, s string) string {
		path := p.keys()
		if p.isKey && len(path) == 3 || len(path) < 3 || !isUUID.Get().MatchString(path[1]) {
			return r.as(s, prose)
		}
		return r.cell(p, path[0], path[2], s)
	})
}

// tables returns what `ovsdb-client dump -f json` prints, replaced: a table a line.
func (r *Redactor) tables(text []byte) []byte {
	var out []byte
	for line := range bytes.Lines(text) {
		var t struct {
			Caption  string
			Headings []string
		}
		if json.Unmarshal(line, &t) != nil {
			out = r.text(out, secret.Text(line), names)
			continue
		}
		table := strings.TrimSuffix(t.Caption, " table")
		out = r.strings(out, line, func(p *place, s string) string {
			if len(p.frames) < 3 || p.frames[0].key != "data" || p.frames[2].index >= len(t.Headings) {
				return r.as(s, prose)
			}
			return r.cell(p, table, t.Headings[p.frames[2].index], s)
		})
	}
	return out
}

// cell returns a string in a column, replaced.
func (r *Redactor) cell(p *place, table, column, s string) string {
	top := *p.top()
	if !top.object && top.index == 0 && slices.Contains([]string{"set", "map", "uuid", "named-uuid"}, s) {
		return s
	}
	if n := len(p.frames); n > 2 && !top.object && !p.frames[n-2].object && !p.frames[n-3].object && p.frames[n-3].first == "map" {
		if top.index == 0 {
			return r.key(s)
		}
		return r.mapped(column, top.first, s)
	}
	return r.as(s, columnMode(table, column))
}

func columnMode(table, column string) mode {
	switch {
	case languages.Get()[column]:
		return language
	case enumerating.Get()[column], column == "name" && slices.Contains([]string{"DHCP_Options", "DHCPv6_Options", "RBAC_Role"}, table):
		return prose
	}
	return names
}

// key returns a map's key, replaced unless it is known.
func (r *Redactor) key(s string) string {
	if keys.Get()[normal(s)] {
		return s
	}
	for _, prefix := range []string{"ct-zone-", "ovn-bridge-mappings-", "associated_sg_", "ovn-encap-ip-", "ovn-encap-type-"} {
		if rest, ok := strings.CutPrefix(s, prefix); ok {
			return prefix + r.as(rest, names)
		}
	}
	return r.as(s, names)
}

// mapped returns the value of a map's key, replaced.
func (r *Redactor) mapped(column, key, s string) string {
	switch {
	case secret.Key(key) && s != "":
		return secret.Hidden
	case keys.Get()[normal(key)] && isNumber(s):
		return s
	case enumerating.Get()[column] && keys.Get()[normal(key)], enumeratingKeys.Get()[normal(key)]:
		return r.as(s, prose)
	}
	return r.as(s, names)
}

func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil && !strings.ContainsAny(s, "xXpPnN_")
}

// holdsName reports whether a field of this program's documents holds a name.
func holdsName(field string) bool {
	switch field {
	case "name", "link", "netns", "dev", "master", "parent", "node":
		return true
	}
	return false
}

// document returns one of this program's JSON files, replaced, or a control command's request and reply.
func (r *Redactor) document(text []byte) []byte {
	head, rest := text, []byte(nil)
	if text[0] == '[' {
		if n := bytes.IndexByte(text, '\n'); n >= 0 && json.Valid(text[:n]) { // a request
			head, rest = text[:n], text[n:]
		}
	}
	if !json.Valid(head) {
		return r.text(nil, secret.Text(text), prose)
	}
	out := r.strings(nil, secret.Text(head), func(p *place, s string) string {
		if top := p.top(); !p.isKey && top.object && holdsName(top.key) && len(p.frames) > 1 && rest == nil {
			return r.as(s, names)
		}
		return r.as(s, prose)
	})
	return r.text(out, secret.Text(rest), prose)
}
