package ovnexpr

import "strings"

// Expand replaces the template variables ^NAME in a match or actions with their values, as ovn-controller does before
// parsing. A variable without a value stays, and a text that does not tokenize stays whole; parsing the result reports
// both. Variables in strings and comments are ignored.
func Expand(text string, value func(name string) (string, bool)) string {
	if !strings.Contains(text, "^") {
		return text
	}
	expanded, err := expand(text, value)
	if err != nil {
		return text
	}
	return expanded
}

func expand(text string, value func(name string) (string, bool)) (s string, err error) {
	defer recoverSyntax(&err)
	var b strings.Builder
	from := 0
	for l := newLexer(text); l.tok.kind != end; l.next() {
		if l.tok.kind != template {
			continue
		}
		if v, ok := value(l.tok.text); ok {
			b.WriteString(text[from:l.tok.Start])
			b.WriteString(v)
			from = l.tok.End
		}
	}
	b.WriteString(text[from:])
	return b.String(), nil
}
