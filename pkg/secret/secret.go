// Package secret decides what is a secret and hides it: in output, plans, journals and captures alike.
//
// A secret is known by its name: a key, column, option or setting that names a token, password, secret, psk or key-data, in
// whatever case. A private key is known by its form too. The value becomes [Hidden]; the name stays.
package secret

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// Hidden stands for a secret.
const Hidden = "<hidden>"

// words are the parts of a name that make its value a secret. This is the one list.
const words = `(?:token|password|secret|psk|key-data)`

// name matches a name with one of the words, as written in text.
const name = `[\w.-]*` + words + `[\w.-]*"?`

var (
	word       = regexp.MustCompile(`(?i)` + words)
	privateKey = regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)`)
	assigned   = regexp.MustCompile(`(?i)(` + name + `=)("[^"\n]*"|[^=\s,}"][^\s,}"]*)`)
	quoted     = regexp.MustCompile(`(?i)(\["[^"\n]*` + words + `[^"\n]*",\s*")(?:[^"\\\n]|\\.)*(")`)

	// In files and logs.
	setting = regexp.MustCompile(`(?im)^(\s*-?\s*` + name + `\s*:\s*)\S.*$`)
	logged  = regexp.MustCompile(`(?i)(` + name + `\s*:\s+)("[^"\n]*"|[^\s,}"]+)`)
	keyFile = regexp.MustCompile(`(?im)^(\s*(?:private-?key|wep-key\d)\s*[=:]\s*)[^/\s].*$`) // a path is not secret

	// In a line to be changed: wherever the value is.
	line = regexp.MustCompile(`(?im)^[^#\n]*` + words + `[\w.-]*"?\s*[=:]\s*\S.*$`)
)

// Key reports whether a value of this name is secret.
func Key(name string) bool { return word.MatchString(name) }

// Map returns m with its secrets hidden; nil for an empty map. It leaves m as it is.
func Map(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	shown := make(map[string]string, len(m))
	for k, v := range m {
		shown[k] = value(k, v)
	}
	return shown
}

func value(key, v string) string {
	if Key(key) {
		return Hidden
	}
	return privateKey.ReplaceAllLiteralString(v, Hidden)
}

// Args returns the arguments of a command with their secrets hidden: OPTION=SECRET and OPTION SECRET.
func Args(args []string) []string {
	shown := slices.Clone(args)
	for i, a := range args {
		key, _, pair := strings.Cut(a, "=")
		switch {
		case pair && Key(key):
			shown[i] = key + "=" + Hidden
		case i > 0 && strings.HasPrefix(args[i-1], "-") && !strings.Contains(args[i-1], "=") && Key(args[i-1]):
			shown[i] = Hidden
		default:
			shown[i] = string(Text([]byte(a)))
		}
	}
	return shown
}

// Text returns what a daemon or command printed with its secrets hidden: private keys and KEY=VALUE.
func Text(text []byte) []byte {
	text = privateKey.ReplaceAllLiteral(text, []byte(Hidden))
	return assigned.ReplaceAll(text, []byte("${1}"+Hidden))
}

// File returns a settings file or log with its secrets hidden: as Text, and KEY: VALUE.
func File(text []byte) []byte {
	text = Text(text)
	for _, r := range []*regexp.Regexp{setting, keyFile, logged} {
		text = r.ReplaceAll(text, []byte("${1}"+Hidden))
	}
	return text
}

// InFile reports whether lines of a file hold a secret. It errs on the safe side where File keeps the rest of a line.
func InFile(lines string) bool {
	return line.MatchString(lines) || privateKey.MatchString(lines) || keyFile.MatchString(lines)
}

// Record returns a database file's record with its secrets hidden. Nothing else changes: the text need not be valid
// JSON.
func Record(text []byte) []byte {
	return quoted.ReplaceAll(Text(text), []byte("${1}"+Hidden+"${2}")) // Text: comments quote commands
}

// Datum returns a column's value in OVSDB's notation with the secrets in its map hidden.
func Datum(text string) string {
	// A scalar is no map: long ones are not searched.
	text = strings.TrimLeft(text, " \t\r\n")
	if !strings.HasPrefix(text, "[") || strings.HasPrefix(text, `["uuid",`) || !Key(text) && !strings.Contains(text, "PRIVATE KEY") {
		return text
	}
	var datum any
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&datum) != nil {
		return text
	}
	var shown bytes.Buffer
	encoder := json.NewEncoder(&shown)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(Hide(datum)) != nil {
		return text
	}
	return strings.TrimSuffix(shown.String(), "\n")
}

// Hide hides the secrets in the maps of an OVSDB value, row or table that encoding/json has read, in place, and returns it.
// A map is ["map",[[KEY,VALUE],…]].
func Hide(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, column := range v {
			v[name] = Hide(column)
		}
	case []any:
		if hidePair(v) {
			return v
		}
		for i, e := range v {
			v[i] = Hide(e)
		}
	}
	return v
}

// hidePair reports whether v is [KEY,VALUE] of strings, and hides its secret.
func hidePair(v []any) bool {
	if len(v) != 2 {
		return false
	}
	key, ok1 := v[0].(string)
	text, ok2 := v[1].(string)
	if ok1 && ok2 {
		v[1] = value(key, text)
	}
	return ok1 && ok2
}
