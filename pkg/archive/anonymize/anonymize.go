// Package anonymize redacts a capture so that it does not reveal whose it is: it replaces addresses and names, the
// same everywhere, so that queries have the same results.
//
// # What is replaced
//
// Addresses keep the relations of their prefixes and the first byte (IPv4) or two (IPv6); MAC addresses keep whether
// they are multicast. Names are replaced word by word: the words of names, hostnames and values of external_ids, but
// for those that OVN, the CMS and this program use themselves ("join", "br-int", "NetworkPolicy"). UUIDs stay: rows
// refer to each other by them.
//
// # What is left out
//
// Logs, raw database files and comments of packet filter rules: they hold names of deleted objects, found nowhere
// else.
//
// The key is random and not saved.
package anonymize

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/ovnctl/ovnctl/pkg/ovsdb"
)

// A Redactor replaces equal text by equal text. It must have seen everything before it replaces anything.
type Redactor struct {
	addresses
	words     map[string]string // with replacements
	protected map[string]bool   // words to keep
}

// New returns a Redactor with its own key.
func New() *Redactor {
	r := &Redactor{addresses: newAddresses(), words: map[string]string{}, protected: map[string]bool{}}
	for _, w := range strings.Fields(known) {
		r.protected[w] = true
	}
	return r
}

// See notes the addresses and names in a file.
func (r *Redactor) See(name string, content []byte) {
	if leaves(name, content) {
		return
	}
	r.seeAddresses(content)
	if !bytes.HasPrefix(content, []byte("OVSDB ")) {
		for line := range bytes.Lines(content) { // a dump has one table per line
			r.seeTable(line)
		}
		return
	}
	ovsdb.RewriteRecords(content, func(record []byte) []byte {
		var v any
		if json.Unmarshal(record, &v) == nil {
			r.seeRecord(v)
		}
		return record
	})
}

// SeeName notes a name that is in no database.
func (r *Redactor) SeeName(name string) { r.seeWords(name) }

// leaves reports whether a file is left out.
func leaves(name string, content []byte) bool {
	return strings.Contains(name, "/logs/") || strings.Contains(name, "/var/log/") || strings.Contains(name, "/files/") && bytes.HasPrefix(content, []byte("OVSDB "))
}

// named are the columns that hold names.
var named = map[string]bool{"name": true, "hostname": true, "external_ids": true, "logical_port": true, "parent_name": true}

// seeRecord looks for rows: {TABLE: {UUID: {COLUMN: VALUE}}}.
func (r *Redactor) seeRecord(v any) {
	tables, _ := v.(map[string]any)
	for table, rows := range tables {
		r.protect(table)
		all, _ := rows.(map[string]any)
		for _, row := range all {
			columns, _ := row.(map[string]any)
			for column, value := range columns {
				r.seeColumn(table, column, value)
			}
		}
	}
}

// seeTable looks for rows in a line of what `ovsdb-client dump -f json` prints.
func (r *Redactor) seeTable(line []byte) {
	var t struct {
		Headings []string
		Data     [][]any
		Caption  string
	}
	if !bytes.HasPrefix(line, []byte("{")) || json.Unmarshal(line, &t) != nil {
		return
	}
	for _, row := range t.Data {
		for i, value := range row {
			if i < len(t.Headings) {
				r.seeColumn(strings.TrimSuffix(t.Caption, " table"), t.Headings[i], value)
			}
		}
	}
}

var quotedName = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[$@][\w.-]+|/\*.*?\*/`)

func (r *Redactor) seeColumn(table, column string, value any) {
	r.protect(column)
	switch {
	case table == "Logical_Flow": // keep the words of OVN's language
		text, _ := value.(string)
		r.protect(quotedName.ReplaceAllString(text, " "))
	case named[column]:
		r.seeValue(value)
	}
	r.protectKeys(value)
}

// protectKeys keeps the keys of maps: ["map",[[KEY,VALUE],…]].
func (r *Redactor) protectKeys(value any) {
	v, _ := value.([]any)
	if len(v) != 2 || v[0] != "map" {
		return
	}
	pairs, _ := v[1].([]any)
	for _, p := range pairs {
		if pair, _ := p.([]any); len(pair) == 2 {
			key, _ := pair[0].(string)
			if name, ok := strings.CutPrefix(key, "ct-zone-"); ok { // of a port, in OVN up to 23.09
				r.seeWords(name)
			} else {
				r.protect(key)
			}
		}
	}
}

// seeValue notes the words of a column's strings, in maps of the values only.
func (r *Redactor) seeValue(value any) {
	switch v := value.(type) {
	case string:
		r.seeWords(v)
	case []any:
		if len(v) == 2 && v[0] == "uuid" {
			return
		}
		if len(v) != 2 || v[0] != "set" && v[0] != "map" {
			for _, e := range v {
				r.seeValue(e)
			}
			return
		}
		list, _ := v[1].([]any)
		for _, e := range list {
			if pair, _ := e.([]any); v[0] == "map" && len(pair) == 2 {
				r.seeValue(pair[1])
			} else if v[0] == "set" {
				r.seeValue(e)
			}
		}
	}
}

var (
	word   = regexp.MustCompile(`[A-Za-z0-9]+`)
	number = regexp.MustCompile(`^(?:[0-9]+|0x[0-9a-fA-F]+)$`)
	uuid   = regexp.MustCompile(`[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
)

func (r *Redactor) protect(text string) {
	for _, w := range word.FindAllString(text, -1) {
		r.protected[w] = true
	}
}

func (r *Redactor) seeWords(text string) {
	text = uuid.ReplaceAllString(text, " ")
	text = address.ReplaceAllString(text, " ")
	for _, w := range word.FindAllString(text, -1) {
		if len(w) > 1 && !number.MatchString(w) {
			r.words[w] = ""
		}
	}
}

// settle chooses all replacements, once.
func (r *Redactor) settle() {
	if r.settled {
		return
	}
	r.settleAddresses()
	for _, w := range slices.Sorted(maps.Keys(r.words)) {
		if r.protected[w] || r.protected[strings.ToLower(w)] {
			delete(r.words, w)
			continue
		}
		r.words[w] = "n" + r.letters(w)
	}
}

var comment = regexp.MustCompile(`(comment\s+\\?")(?:[^"\\]|\\[^"])*(\\?")|(--comment\s+)[^\s"]+`)

// Text returns a text with everything replaced.
func (r *Redactor) Text(text []byte) []byte {
	r.settle()
	text = comment.ReplaceAll(text, []byte("${1}${2}${3}"))
	text = r.replaceAddresses(text)
	var out []byte
	last := 0
	kept := uuid.FindAllIndex(text, -1)
	for _, at := range word.FindAllIndex(text, -1) {
		for len(kept) > 0 && kept[0][1] <= at[0] {
			kept = kept[1:]
		}
		if len(kept) > 0 && at[0] >= kept[0][0] {
			continue
		}
		if other := r.words[string(text[at[0]:at[1]])]; other != "" {
			out = append(append(out, text[last:at[0]]...), other...)
			last = at[1]
		}
	}
	return append(out, text[last:]...)
}

// File returns a file with everything replaced.
func (r *Redactor) File(content []byte) []byte {
	if bytes.HasPrefix(content, []byte("OVSDB ")) {
		return ovsdb.RewriteRecords(content, r.Text)
	}
	return r.Text(content)
}
