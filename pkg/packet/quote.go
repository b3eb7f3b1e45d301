package packet

import (
	"encoding/json"
	"fmt"
	"strings"
)

// A SyntaxError is a fault in a text, with its place.
type SyntaxError struct {
	Text   string // the input
	Offset int    // of the fault, in bytes
	Msg    string
}

func (e *SyntaxError) Error() string {
	near := e.Text[min(max(e.Offset, 0), len(e.Text)):]
	if len(near) > 40 {
		near = near[:40] + "…"
	}
	return fmt.Sprintf("%s at offset %d near %q", e.Msg, e.Offset, near)
}

// QuoteName writes the name of a port or table as the OVS tools do: unquoted if it is a letter followed by letters and
// digits, else as a JSON string.
func QuoteName(name string) string {
	if plainName(name) {
		return name
	}
	var b strings.Builder
	name = strings.ToValidUTF8(name, "\ufffd")
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(name); err != nil {
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// UnquoteName reads a name written by QuoteName.
func UnquoteName(s string) (string, error) {
	if !strings.HasPrefix(s, `"`) {
		if s == "" || strings.ContainsAny(s, "\",()= \t\r\n") {
			return "", &SyntaxError{Text: s, Msg: "bad name"}
		}
		return strings.ToValidUTF8(s, "\ufffd"), nil
	}
	var name string
	if err := json.Unmarshal([]byte(s), &name); err != nil || name == "" {
		return "", &SyntaxError{Text: s, Msg: "bad quoted name"}
	}
	return name, nil
}

func plainName(name string) bool {
	for i := range len(name) {
		c := name[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	_, reserved := reservedPort(name) // as ParsePort takes it
	return name != "" && !reserved
}
