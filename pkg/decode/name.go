package decode

import (
	"strings"

	"github.com/ovnctl/ovnctl/pkg/lazy"
)

// A Name is the meaning of one number in a text. It is part of the JSON of decoded text: docs/json.md.
type Name struct {
	At    int    `json:"at"`    // byte offset just after the number
	Field string `json:"field"` // what the number is: metadata, reg15, table, cookie, in_port, …
	Value string `json:"value"` // as written in the text
	Name  string `json:"name"`  // "switch node1"
}

// A NamedText is a text with the names of its numbers, ordered by offset.
type NamedText struct {
	Text  string
	Names []Name
}

// String returns the text with its names in angle brackets.
func (t NamedText) String() string {
	var b strings.Builder
	from := 0
	for _, n := range t.Names {
		b.WriteString(t.Text[from:n.At])
		b.WriteString(n.InBrackets())
		from = n.At
	}
	b.WriteString(t.Text[from:])
	return b.String()
}

// InBrackets returns the name in angle brackets, with any of its own replaced.
func (n Name) InBrackets() string { return "<" + brackets.Get().Replace(n.Name) + ">" }

var brackets = lazy.Value[*strings.Replacer]{Make: func() *strings.Replacer {
	return strings.NewReplacer("<", "‹", ">", "›")
}}
