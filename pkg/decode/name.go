package decode

import "strings"

// A Name says what one number of a text means. It is part of the JSON of decoded
// text: docs/json.md.
type Name struct {
	At    int    `json:"at"`    // the byte of the text behind the number
	Field string `json:"field"` // what the number is: metadata, reg15, table, cookie, in_port, …
	Value string `json:"value"` // as it is written there
	Name  string `json:"name"`  // "switch node1"
}

// A NamedText is a text with the names of its numbers, in the order of their
// places.
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

// InBrackets returns the name in angle brackets, of which it holds none itself.
func (n Name) InBrackets() string { return "<" + brackets.Replace(n.Name) + ">" }

var brackets = strings.NewReplacer("<", "‹", ">", "›")
