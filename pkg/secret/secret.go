// Package secret decides what is a secret and hides it: in output, plans, journals and captures alike.
//
// A secret is known by what marks it: the name of its key, column, option, setting or header; the frame of a private key; the
// user part of a URL; or a form that only secrets have, such as an access key's prefix or the disorder of a random string. The
// marks count escaped and in base64 too. What is hidden becomes [Hidden]; its name stays.
package secret

import (
	"maps"
	"slices"
	"strings"
	"unicode"
)

// Hidden stands for a secret.
const Hidden = "<hidden>"

// This is the one list of names. within make a name secret wherever they are in it, words if they are a whole word of it:
// "my-auth" and "basicAuth", but not "author".
var (
	within = []string{
		"token", "password", "passwd", "passphrase", "secret", "psk", "credential", "authorization", "bearer",
		"key-data", "key_data", "keydata", "api-key", "api_key", "apikey", "access-key", "access_key", "accesskey", "wep-key",
	}
	words = []string{"pwd", "auth", "creds"}
	// paths are settings whose value is a secret unless it says where one is.
	paths = []string{"private-key", "private_key", "privatekey"}
)

// Key reports whether a value of this name is secret.
func Key(name string) bool {
	lower := strings.ToLower(name)
	if containsAny(lower, within) {
		return true
	}
	return slices.ContainsFunc(words, func(w string) bool { return hasWord(name, lower, w) })
}

func containsAny(text string, parts []string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(text, p) })
}

// hasWord reports whether w is a word of a name, between other characters than letters or marked by its capital.
func hasWord(name, lower, w string) bool {
	for from := 0; ; {
		at := strings.Index(lower[from:], w)
		if at < 0 || len(lower) != len(name) {
			return false
		}
		at += from
		end := at + len(w)
		begins := at == 0 || !letter(name[at-1]) || unicode.IsUpper(rune(name[at])) && unicode.IsLower(rune(name[at-1]))
		ends := end == len(name) || !letter(name[end]) || unicode.IsUpper(rune(name[end])) && unicode.IsLower(rune(name[end-1]))
		if begins && ends {
			return true
		}
		from = at + 1
	}
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// hides reports whether a value is hidden because of its name.
func hides(key, v string) bool {
	if !holdsMark(key) {
		return false // as nearly all
	}
	return Key(key) || v != "" && containsAny(strings.ToLower(key), paths) && !isPath(v)
}

// isPath reports whether a private key's value says where the key is.
func isPath(v string) bool {
	return strings.HasPrefix(v, "/") || strings.HasPrefix(v, ".") || strings.HasPrefix(v, "db:") || strings.HasSuffix(v, ".pem") || strings.HasSuffix(v, ".key") ||
		strings.HasPrefix(v, "$") || strings.HasPrefix(v, "<")
}

// Map returns m with its secrets hidden; nil for an empty map. It leaves m as it is, and returns m itself if there is no secret in
// it: nothing may be written to what it returns.
func Map(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	var shown map[string]string
	for k, v := range m {
		hidden := value(k, v)
		if hidden == v {
			continue
		}
		if shown == nil {
			shown = maps.Clone(m)
		}
		shown[k] = hidden
	}
	if shown == nil {
		return m
	}
	return shown
}

func value(key, v string) string {
	if hides(key, v) {
		return Hidden
	}
	return String(v)
}

// Args returns the arguments of a command with their secrets hidden: OPTION=SECRET and OPTION SECRET.
func Args(args []string) []string {
	shown := slices.Clone(args)
	for i, a := range args {
		key, v, pair := strings.Cut(a, "=")
		switch {
		case pair && hides(key, v):
			shown[i] = key + "=" + Hidden
		case i > 0 && strings.HasPrefix(args[i-1], "-") && !strings.Contains(args[i-1], "=") && hides(args[i-1], a):
			shown[i] = Hidden
		default:
			shown[i] = String(a)
		}
	}
	return shown
}

// Text returns any text with its secrets hidden: what a daemon or command printed, a file, a log, a record of a database file,
// JSON. Nothing else changes, and the text need not be whole.
func Text(text []byte) []byte {
	found := find(text, 0)
	if len(found) == 0 {
		return text
	}
	out := make([]byte, 0, len(text))
	last := 0
	for _, s := range found {
		out = append(append(out, text[last:s.from]...), s.with...)
		last = s.to
	}
	return append(out, text[last:]...)
}

// String is Text.
func String(text string) string {
	if len(text) < 8 {
		return text // no room for a mark and a secret
	}
	b := []byte(text)
	shown := Text(b)
	if len(shown) == len(b) && &shown[0] == &b[0] {
		return text
	}
	return string(shown)
}

// In reports whether a text holds a secret.
func In(text string) bool { return len(find([]byte(text), 0)) > 0 }

// Hide hides the secrets in an OVSDB value, row or table that encoding/json has read, in place, and returns it. A map is
// ["map",[[KEY,VALUE],…]].
func Hide(v any) any {
	switch v := v.(type) {
	case string:
		return String(v)
	case map[string]any:
		for name, column := range v {
			v[name] = Hide(column)
		}
	case []any:
		if hideMap(v) {
			return v
		}
		for i, e := range v {
			v[i] = Hide(e)
		}
	}
	return v
}

// hideMap reports whether v is a map, and hides its secrets.
func hideMap(v []any) bool {
	if len(v) != 2 || v[0] != "map" {
		return false
	}
	pairs, ok := v[1].([]any)
	for _, p := range pairs {
		pair, _ := p.([]any)
		if len(pair) != 2 {
			continue
		}
		key, _ := pair[0].(string)
		if text, isText := pair[1].(string); isText {
			pair[1] = value(key, text)
		}
	}
	return ok
}
